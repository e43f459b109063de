"""Check and normalise what a provider sent. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from memory_core.errors import InvalidEmbedding

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Row = NDArray[np.float32]


def decoded(value: object, *, provider: str) -> Row:
    """One vector as it stands in JSON: a list of numbers, or base64 of little-endian float32.

    Raises:
        InvalidEmbedding: It is neither.
    """
    import base64
    import binascii

    import numpy as np

    try:
        if isinstance(value, str):
            return np.frombuffer(base64.b64decode(value, validate=True), dtype="<f4").astype(np.float32, copy=False)
        row = np.asarray(value, dtype=np.float32)
    except (binascii.Error, TypeError, ValueError) as error:
        raise InvalidEmbedding(provider, "a vector came back that is no list of numbers") from error
    if row.ndim != 1 or not row.size:
        raise InvalidEmbedding(provider, "a vector came back that is empty or no list of numbers")
    return row


def checked(rows: Sequence[Row], *, count: int, dimensions: int, provider: str) -> list[Row | InvalidEmbedding]:
    """Unit rows for the vectors of one answer.

    Args:
        rows: As they came.
        count: How many texts were sent.
        dimensions: What every vector must have; 0 when that is not known yet.

    Returns:
        For every text its row of unit length, zeros for a vector without direction, or the error for a vector that is
        not finite.

    Raises:
        InvalidEmbedding: The answer as a whole is wrong: its count, or its dimensions.
    """
    if len(rows) != count:
        raise InvalidEmbedding(provider, f"{count} texts were sent and {len(rows)} vectors came back")
    wrong = {len(row) for row in rows} - {dimensions or len(rows[0])}
    if wrong:
        raise InvalidEmbedding(
            provider,
            f"vectors of {wrong.pop()} dimensions came back instead of {dimensions or len(rows[0])}",
            action="Set memorySearch.outputDimensionality to what the model gives, or remove it.",
        )
    return [_unit(row, provider) for row in rows]


def _unit(row: Row, provider: str) -> Row | InvalidEmbedding:
    import numpy as np

    # float64, so that squares of large values do not overflow and those of small ones do not vanish.
    exact = row.astype(np.float64)
    length = float(np.linalg.norm(exact))
    if not np.isfinite(length):
        return InvalidEmbedding(provider, "a vector came back with values that are not finite")
    return (exact / length).astype(np.float32) if length > 0 else np.zeros_like(row)


def mean(rows: Sequence[Row], weights: Sequence[float]) -> Row:
    """The weighted mean direction of unit rows, of unit length; zeros when they cancel out.

    For a text too long for its model, embedded in parts (github.com/openai/openai-cookbook, "Embedding long inputs").
    """
    import numpy as np

    total = np.average(np.stack(rows), axis=0, weights=weights)
    length = float(np.linalg.norm(total))
    return (total / length).astype(np.float32) if length > 1e-6 else np.zeros_like(rows[0])


def shortened(row: Row, dimensions: int) -> Row:
    """The first dimensions of a vector of a Matryoshka model; `checked` makes it of unit length again."""
    return row[:dimensions] if dimensions else row
