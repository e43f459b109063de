"""The calibration of cosines in a space: where unrelated texts lie, whatever the model does to all its vectors alike."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_core.embeddings import vectors
from memory_core.embeddings.vectors import estimate

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Rows = NDArray[np.float32]


def rows(count: int, *, dimensions: int = 384, subject: float = 0.0, seed: int = 1) -> Rows:
    """Directions by chance; with `subject` as the cosine that all have in common, as windows of one note do."""
    found = np.random.default_rng(seed).standard_normal((count, dimensions))
    found /= np.linalg.norm(found, axis=1, keepdims=True)
    common = np.zeros(dimensions)
    common[0] = 1
    return _unit(np.sqrt(1 - subject) * found + np.sqrt(subject) * common)


def coned(found: Rows, height: float) -> Rows:
    """Return these vectors in a space whose model adds something to every vector, so that no cosine lies below `height`."""
    added = np.full((len(found), 1), np.sqrt(height / (1 - height)))
    return _unit(np.concatenate([found, added], axis=1))


def _unit(found: NDArray[np.floating]) -> Rows:
    unit: Rows = (found / np.linalg.norm(found, axis=1, keepdims=True)).astype(np.float32)
    return unit


@pytest.mark.parametrize("height", [0.3, 0.5, 0.7, 0.8])
def test_a_cone_lifts_the_floor_and_narrows_the_span_alike(height: float) -> None:
    plain, lifted = rows(300, subject=0.18), coned(rows(300, subject=0.18), height)
    without, with_cone = estimate(plain, 300), estimate(lifted, 300)
    assert with_cone.floor == pytest.approx(height + (1 - height) * without.floor, abs=0.03)
    assert with_cone.span == pytest.approx((1 - height) * without.span, rel=0.15)


def test_few_windows_of_one_subject_are_no_cone() -> None:
    assert estimate(rows(8, subject=0.45), 8) == estimate(rows(8), 8)
    assert estimate(rows(400, subject=0.45), 400).floor > estimate(rows(400), 400).floor + 0.2


def test_a_steep_cone_shows_in_one_note() -> None:
    assert estimate(coned(rows(10, subject=0.3), 0.7), 10).floor > 0.7


def test_an_index_without_pairs_gets_the_usual() -> None:
    nothing, one, zeros = rows(0), rows(1), np.zeros((5, 384), dtype=np.float32)
    assert estimate(nothing, 0) == estimate(one, 1) == estimate(zeros, 2) == estimate(rows(2), 2)


def test_the_floor_rises_with_the_index() -> None:
    floors = [estimate(rows(50), windows).floor for windows in (10, 300, 1400, 100_000)]
    assert floors == sorted(set(floors))
    assert floors[-1] < 0.35


def test_near_copies_change_little() -> None:
    once = rows(100, subject=0.1)
    assert estimate(np.concatenate([once, once[:30]]), 130).floor == pytest.approx(estimate(once, 130).floor, abs=0.01)


@given(st.integers(0, 30), st.floats(0, 0.99), st.floats(0, 0.95), st.integers(0, 10**7))
def test_it_stays_within_reason(count: int, subject: float, height: float, windows: int) -> None:
    found = estimate(coned(rows(count, dimensions=16, subject=subject), height), windows)
    assert 0 < found.floor < found.floor + found.span <= 1
    assert found.span > 0


def test_an_estimate_outlives_small_changes() -> None:
    assert not vectors.is_outdated(100, 109)
    assert vectors.is_outdated(100, 120)
    assert vectors.is_outdated(100, 80)
    assert vectors.is_outdated(0, 1)
