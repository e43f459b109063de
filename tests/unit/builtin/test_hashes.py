"""Hashes in one piece of memory: found, kept and added as in a list of them."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_core.stores.sqlite.damage import DamagedRow
from memory_core.stores.sqlite.hashes import Hashes, join_hashes

# Halves that are the first or the last in any order of bytes, and between, so that nothing but the other half parts some.
HALVES = (bytes(8), b"\xff" * 8, b"\x80" + bytes(7), bytes(7) + b"\x80", b"abcdefgh")
FULL = st.sampled_from([first + second for first, second in product(HALVES, HALVES)])
PARTED = st.sampled_from([half + half for half in HALVES])


def listed(hashes: Hashes) -> list[bytes]:
    return [hashes[number] for number in range(len(hashes))]


@given(st.lists(PARTED, min_size=1, unique=True), st.lists(FULL))
def test_each_is_found_where_it_is(own: list[bytes], wanted: list[bytes]) -> None:
    numbers = Hashes(join_hashes(own)).find(Hashes(join_hashes(wanted)))
    assert numbers.tolist() == [own.index(each) if each in own else -1 for each in wanted]


@given(st.lists(FULL, min_size=1, unique=True), st.lists(FULL))
def test_none_is_found_where_it_is_not(own: list[bytes], wanted: list[bytes]) -> None:
    numbers = Hashes(join_hashes(own)).find(Hashes(join_hashes(wanted))).tolist()
    assert all(number < 0 or own[number] == each for number, each in zip(numbers, wanted, strict=True))


@given(st.lists(st.tuples(FULL, st.booleans())), st.lists(FULL))
def test_some_are_kept_and_more_added(own: list[tuple[bytes, bool]], more: list[bytes]) -> None:
    held = Hashes(join_hashes([each for each, _ in own]))
    chosen = held.choose(np.array([kept for _, kept in own], np.bool_), more)
    assert listed(chosen) == [each for each, kept in own if kept] + more


def test_a_hash_of_another_length_is_damage() -> None:
    with pytest.raises(DamagedRow, match="another length"):
        join_hashes([bytes(16), bytes(15)])
