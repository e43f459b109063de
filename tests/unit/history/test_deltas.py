"""Bytes of versions: packed by what distinguishes them from an earlier one, and given back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_core.history.store.rows import DamagedBody, pack, unpack

BYTES = st.binary(max_size=200)


@given(BYTES, BYTES, BYTES, BYTES)
def test_what_is_packed_comes_back(shared: bytes, old: bytes, new: bytes, end: bytes) -> None:
    base, data = shared + old + end, shared + new + end
    assert unpack(pack(data, base), base) == data
    assert unpack(pack(data)) == data


def test_an_edit_of_a_long_note_costs_little() -> None:
    lines = [f"- the reading number {number} is {number * 7919 % 1000}\n" for number in range(5000)]
    base = "".join(lines).encode()
    lines[2500] = "- the reading number 2500 is corrected to 4\n"
    data = "".join(lines).encode()
    assert len(pack(data, base)) < 60
    assert unpack(pack(data, base), base) == data


@pytest.mark.parametrize("cut", [0, 1, 5])
def test_a_damaged_body_is_told(cut: int) -> None:
    body = pack(b"some text that is long enough to be compressed, and more", b"some text")
    with pytest.raises(DamagedBody):
        unpack(body[:cut], b"some text")
    with pytest.raises(DamagedBody):
        unpack(body, b"other")
