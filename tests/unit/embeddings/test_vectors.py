"""Vectors of providers are checked before anything is compared with them."""

from __future__ import annotations

import base64
import struct
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_core.embeddings.vectors import average, check, decode, round_to_int8, shorten, to_int8
from memory_core.errors import InvalidEmbedding

if TYPE_CHECKING:
    from numpy.typing import NDArray

finite = st.floats(allow_nan=False, allow_infinity=False, width=32)
rows = st.lists(st.lists(finite, min_size=3, max_size=3), min_size=1, max_size=8)


def raw(*values: float) -> NDArray[np.float32]:
    return np.array(values, dtype=np.float32)


@given(rows)
def test_rows_are_of_unit_length_or_zero(values: list[list[float]]) -> None:
    outcomes = check([raw(*row) for row in values], count=len(values), dimensions=0, provider="p")

    for outcome, row in zip(outcomes, values, strict=True):
        assert not isinstance(outcome, InvalidEmbedding)
        assert outcome.dtype == np.float32
        expected = 1.0 if any(row) else 0.0
        assert float(np.linalg.norm(outcome)) == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), float("-inf")])
def test_a_vector_that_is_not_finite_spoils_no_other(bad: float) -> None:
    good, spoilt = check([raw(3, 4), raw(bad, 1)], count=2, dimensions=2, provider="p")

    assert not isinstance(good, InvalidEmbedding)
    assert good.tolist() == pytest.approx([0.6, 0.8])
    assert isinstance(spoilt, InvalidEmbedding)


@pytest.mark.parametrize(
    ("values", "count", "dimensions", "message"),
    [
        ([raw(1, 2)], 2, 2, "2 texts were sent and 1 vectors came back"),
        ([raw(1, 2), raw(1, 2, 3)], 2, 0, "3 dimensions came back instead of 2"),
        ([raw(1, 2)], 1, 3, "2 dimensions came back instead of 3"),
        ([], 1, 0, "0 vectors"),
    ],
)
def test_a_wrong_answer_is_refused_whole(
    values: list[NDArray[np.float32]], count: int, dimensions: int, message: str
) -> None:
    with pytest.raises(InvalidEmbedding, match=message):
        check(values, count=count, dimensions=dimensions, provider="p")


def test_base64_and_lists_decode_alike() -> None:
    packed = base64.b64encode(struct.pack("<3f", 1, 2, 3)).decode()

    assert decode(packed, provider="p").tolist() == decode([1, 2, 3], provider="p").tolist() == [1, 2, 3]


@pytest.mark.parametrize("value", ["not base64!", "AAA=", None, [], {}, [[1.0]], ["a"], 3])
def test_what_is_no_vector_is_refused(value: object) -> None:
    with pytest.raises(InvalidEmbedding):
        decode(value, provider="p")


def test_the_mean_is_weighted_and_of_unit_length() -> None:
    assert average([raw(1, 0), raw(0, 1)], [3, 4]).tolist() == pytest.approx([0.6, 0.8])
    assert average([raw(1, 0), raw(-1, 0)], [1, 1]).tolist() == [0, 0]


def test_shortened_keeps_the_first_dimensions() -> None:
    assert shorten(raw(1, 2, 3), 2).tolist() == [1, 2]
    assert shorten(raw(1, 2, 3), 0).tolist() == [1, 2, 3]


@given(rows)
def test_a_row_rounded_once_is_not_rounded_again(values: list[list[float]]) -> None:
    made = check([raw(*row) for row in values], count=len(values), dimensions=0, provider="p")
    kept = np.array([row for row in made if not isinstance(row, Exception)], np.float32).reshape(-1, 3)
    once = round_to_int8(kept)
    assert np.allclose(np.linalg.norm(once, axis=1), np.linalg.norm(kept, axis=1), atol=1e-5)
    assert np.abs(once - kept).max(initial=0) <= 2 / 127
    assert np.array_equal(to_int8(once)[0], to_int8(kept)[0])
