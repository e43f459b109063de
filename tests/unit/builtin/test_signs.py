"""Signs pick what an exact comparison finds, and agree with vec0 on the order of bits."""

from __future__ import annotations

from contextlib import closing

import apsw
import numpy as np
import pytest

from memory_core.stores.sqlite import load_vec0
from memory_core.stores.sqlite.signs import Signs, pack, to_words


def test_they_are_packed_as_vec0_does() -> None:
    rows = np.random.default_rng(1).normal(size=(3, 64)).astype("<f4")
    rows[0, :5] = 0.0
    with closing(apsw.Connection(":memory:")) as connection:
        if (problem := load_vec0(connection, None)) is not None:
            pytest.skip(problem)
        packed = [connection.execute("SELECT vec_quantize_binary(?)", (row.tobytes(),)).get for row in rows]
    assert [row.tobytes() for row in pack(rows)] == packed


@pytest.mark.parametrize("dimensions", [100, 256])
def test_nine_of_ten_nearest_and_more_are_among_the_picked(dimensions: int) -> None:
    rng = np.random.default_rng(2)
    rows = rng.normal(size=(20_000, 40)) @ rng.normal(size=(40, dimensions))
    rows = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    signs, ids = Signs.empty(dimensions), np.arange(1, 20_001) * 3
    for first in range(0, 20_000, 7_000):  # in steps, as they grow
        step = slice(first, first + 7_000)
        signs = signs.add(ids[step], to_words(pack(rows[step])), int(ids[step][-1]))
    found = 0
    for number in range(50):
        query = rows[number] + 0.3 * rows[-number - 1]
        best = np.argsort(-(rows @ query))[:10]
        picked = signs.pick(query.astype(np.float32), 600)
        assert len(picked) == 600
        found += len(set(ids[best].tolist()) & set(picked.tolist()))
    assert found / 500 >= 0.98


@pytest.mark.parametrize("dimensions", [8, 100, 256])
def test_those_with_the_greatest_sum_over_their_signs_are_picked(dimensions: int) -> None:
    rng = np.random.default_rng(3)
    rows, query = rng.normal(size=(900, dimensions)).astype(np.float32), rng.normal(size=dimensions).astype(np.float32)
    signs = Signs.empty(dimensions).add(np.arange(900), to_words(pack(rows)), 899)
    sums = ((rows > 0) * query).sum(axis=1)
    picked = signs.pick(query, 300)
    assert len(picked) == 300
    assert sums[picked].min() >= np.sort(sums)[-300] - 1e-4  # of equals either


def test_few_are_picked_whole() -> None:
    rows = np.eye(8, 64, dtype=np.float32)
    signs = Signs.empty(64).add(np.arange(8), to_words(pack(rows)), 7)
    assert signs.pick(rows[0], 20).tolist() == list(range(8))
    assert Signs.empty(64).pick(rows[0], 20).tolist() == []
