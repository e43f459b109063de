"""Rows that are kept are those of the table, whatever was asked before; the table itself is not."""

from __future__ import annotations

import gc
import threading
import weakref

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_core.embeddings.token_rows import TokenRows

TOKENS, DIMENSIONS = 50, 4
IDS = st.lists(st.integers(0, TOKENS + 5), max_size=30)


def make_table(dtype: type[np.floating]) -> np.ndarray[tuple[int, int], np.dtype[np.floating]]:
    return np.random.default_rng(0).standard_normal((TOKENS, DIMENSIONS)).astype(dtype)


@given(asked=st.lists(IDS, max_size=12), most=st.integers(1, TOKENS), dtype=st.sampled_from([np.float16, np.float32]))
def test_every_row_is_that_of_the_table(asked: list[list[int]], most: int, dtype: type[np.floating]) -> None:
    table = make_table(dtype)
    rows = TokenRows(lambda: table, most=most)
    for ids in asked:
        found = rows.take(np.array(ids, np.uint16))
        assert found.dtype == np.float32
        assert np.array_equal(found, table.take(np.array(ids, np.intp), axis=0, mode="clip").astype(np.float32))


def test_rows_that_were_asked_for_are_not_read_again() -> None:
    reads = 0

    def load() -> np.ndarray[tuple[int, int], np.dtype[np.floating]]:
        nonlocal reads
        reads += 1
        return make_table(np.float16)

    rows = TokenRows(load, most=10)
    for ids in ([1, 2, 3], [3, 1], [2], [], [4, 1], [4]):
        rows.take(np.array(ids, np.uint16))
    assert reads == 2
    rows.take(np.arange(5, 12, dtype=np.uint16))  # there is no room for all
    rows.take(np.array([6, 7], np.uint16))
    assert reads == 3
    rows.take(np.array([1], np.uint16))
    assert reads == 4


def test_the_table_is_let_go_of() -> None:
    held: list[weakref.ref[object]] = []

    def load() -> np.ndarray[tuple[int, int], np.dtype[np.floating]]:
        table = make_table(np.float16)
        held.append(weakref.ref(table))
        return table

    rows = TokenRows(load)
    rows.take(np.array([1, 2], np.uint16))
    gc.collect()
    assert held[0]() is None


def test_a_caller_may_change_what_it_was_given() -> None:
    table = make_table(np.float32)
    rows = TokenRows(table.copy)
    for _ in range(3):
        found = rows.take(np.array([7], np.uint16))
        assert np.array_equal(found[0], table[7])
        found[:] = 0


def test_nobody_waits_while_another_one_reads_the_table() -> None:
    reading, may_end = threading.Event(), threading.Event()
    table = make_table(np.float16)
    slow = False

    def load() -> np.ndarray[tuple[int, int], np.dtype[np.floating]]:
        if slow:
            reading.set()
            assert may_end.wait(30)
        return table

    rows = TokenRows(load)
    rows.take(np.array([1], np.uint16))
    slow = True
    thread = threading.Thread(target=lambda: rows.take(np.array([2], np.uint16)))
    thread.start()
    try:
        assert reading.wait(30)
        assert rows.take(np.array([1], np.uint16)).shape == (1, DIMENSIONS)
    finally:
        may_end.set()
        thread.join()


def test_a_table_that_cannot_be_read_is_an_error_each_time() -> None:
    def load() -> np.ndarray[tuple[int, int], np.dtype[np.floating]]:
        raise FileNotFoundError("gone")

    rows = TokenRows(load)
    for _ in range(2):
        with pytest.raises(FileNotFoundError):
            rows.take(np.array([1], np.uint16))
