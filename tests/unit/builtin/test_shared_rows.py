"""Rows that states share are those that each state would hold alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from memory_core.stores.sqlite import encoding
from memory_core.stores.sqlite.encoding import RowLayout, find_length, pack_embeddings, unpack_embeddings
from memory_core.stores.sqlite.shared_rows import SharedRows

if TYPE_CHECKING:
    import pytest

DIMENSIONS = 8
WIDE = 64  # from which int8 is worth it


def _make_rows(count: int, seed: int) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
    return np.random.default_rng(seed).standard_normal((count, DIMENSIONS), np.float32)


@given(
    first=st.integers(1, 60),
    changes=st.lists(st.tuples(st.integers(0, 40), st.integers(0, 12)), max_size=8),
    coarse=st.booleans(),
)
def test_rows_that_stay_as_they_are_stored_are_those_that_were_packed(
    first: int, changes: list[tuple[int, int]], coarse: bool
) -> None:
    layout = RowLayout(WIDE, find_length(WIDE, coarse=coarse))

    def pack(count: int, seed: int) -> np.ndarray[tuple[int, int], np.dtype[np.uint8]]:
        rows = np.random.default_rng(seed).standard_normal((count, WIDE), np.float32)
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        return layout.read(b"".join(pack_embeddings(rows, coarse=coarse)))

    stored, query = pack(first, 0), _make_rows(WIDE, 1)[:, 0]
    rows = SharedRows(stored, layout=layout)
    for number, (dropped, added) in enumerate(changes):
        order = np.random.default_rng(number).permutation(len(stored))[dropped:]
        rows = rows.choose(order, more := pack(added, number + 2))
        stored = np.concatenate([stored[order], more])
    wide = unpack_embeddings([row.tobytes() for row in stored], WIDE).reshape(-1, WIDE)
    some = np.arange(len(wide))[::-2]
    assert len(rows) == len(wide)
    assert np.array_equal(rows.take(None), wide)
    assert np.array_equal(rows.take(some), wide[some])
    assert np.array_equal(rows.compare(query, some), np.einsum("ij,j->i", wide[some], query))
    assert np.array_equal(np.concatenate([wide[:0], *rows.steps()]), wide)
    assert np.array_equal(rows.compare(query, None), np.einsum("ij,j->i", wide, query))


def test_more_rows_than_are_widened_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoding, "_STEP_BYTES", 4 * WIDE * 10)
    layout = RowLayout(WIDE, find_length(WIDE, coarse=True))
    numbers = np.random.default_rng(0).standard_normal((95, WIDE), np.float32)
    stored = layout.read(b"".join(pack_embeddings(numbers, coarse=True)))
    query = _make_rows(WIDE, 1)[:, 0]
    assert np.array_equal(layout.multiply(stored, query), np.einsum("ij,j->i", layout.widen(stored), query))


@given(first=st.integers(1, 60), changes=st.lists(st.tuples(st.integers(0, 40), st.integers(0, 12)), max_size=8))
def test_every_state_has_the_rows_that_were_chosen(first: int, changes: list[tuple[int, int]]) -> None:
    expected = _make_rows(first, 0)
    query = _make_rows(1, 1)[0]
    states = [(SharedRows(expected), expected)]
    for number, (dropped, added) in enumerate(changes):
        order = np.random.default_rng(number).permutation(len(expected))[dropped:]
        more = _make_rows(added, number + 2) if added else np.zeros((0, 0), np.float32)
        rows = states[-1][0].choose(order, more)
        expected = np.concatenate([expected[order], more]) if added else expected[order]
        states.append((rows, expected))
    for rows, alone in states:  # also the older ones, whose rows newer ones share
        some = np.arange(len(alone))[::-2]
        assert len(rows) == len(alone)
        assert np.array_equal(rows.take(None), alone)
        assert np.array_equal(rows.take(some), alone[some])
        assert np.array_equal(rows.compare(query, None), np.einsum("ij,j->i", alone, query))
        assert np.array_equal(rows.compare(query, some), np.einsum("ij,j->i", alone[some], query))


def test_a_state_that_keeps_few_rows_does_not_hold_the_others() -> None:
    everything = _make_rows(100, 0)
    many, few = (SharedRows(everything).choose(np.arange(count), _make_rows(1, 1)) for count in (90, 10))
    assert not np.shares_memory(many.take(None), many.take(None))  # put together from what it shares and its own
    assert np.shares_memory(few.take(None), few.take(None))
