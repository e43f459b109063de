"""Vectors as providers send them and as stores keep them: decode, check, normalise, pack; and what cosines of a space are worth.

Late interaction compares tokens. Of each token stores keep the signs of its vector, which order units as well as whole vectors do
(tests/benchmarks/RETRIEVAL.md): 48 bytes for one of all-MiniLM-L6-v2, 5 kB for a window of 100 tokens.

Signs of a window: for each unit the number of its tokens as uint16, little-endian; then for each token the signs of its
vector, first dimension in the highest bit, filled up to whole bytes with zeros. All is pure.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from memory_core.errors import InvalidEmbedding, ProviderError
from memory_core.records import Calibration

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from memory_core.embeddings.protocols import TokenEmbedding

    Row = NDArray[np.float32]  # shape (dimensions,)
    Rows = Row  # shape (n, dimensions)

_LARGEST_INT8 = 127
MAX_TOKENS = 256  # of a unit whose signs are kept, so that text without white space takes no more


def decode(value: object, *, provider: str) -> Row:
    """Read one vector from JSON: a list of numbers, or base64 of little-endian float32.

    Raises:
        InvalidEmbedding: The value is neither.
    """
    import base64
    import binascii

    import numpy as np

    try:
        if isinstance(value, str):
            return np.frombuffer(base64.b64decode(value, validate=True), dtype="<f4").astype(np.float32, copy=False)
        with np.errstate(over="ignore"):  # to infinity, which `check` reports
            row = np.asarray(value, dtype=np.float32)
    except (binascii.Error, TypeError, ValueError, OverflowError) as error:
        raise InvalidEmbedding(provider, "a vector came back that is no list of numbers") from error
    if row.ndim != 1 or not row.size:
        raise InvalidEmbedding(provider, "a vector came back that is empty or no list of numbers")
    return row


def check(rows: Sequence[Row], *, count: int, dimensions: int, provider: str) -> list[Row | InvalidEmbedding]:
    """Check the vectors of one answer, and bring each to unit length.

    Args:
        rows: The vectors as they came.
        count: How many texts were sent.
        dimensions: The dimensions of every vector; 0 when they are not known yet.

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
    return [_normalise(row, provider) for row in rows]


def _normalise(row: Row, provider: str) -> Row | InvalidEmbedding:
    import numpy as np

    # float64, so that squares of large values do not overflow and those of small ones do not vanish.
    exact = row.astype(np.float64)
    length = float(np.linalg.norm(exact))
    if not np.isfinite(length):
        return InvalidEmbedding(provider, "a vector came back with values that are not finite")
    return (exact / length).astype(np.float32) if length > 0 else np.zeros_like(row)


def average(rows: Sequence[Row], weights: Sequence[float]) -> Row:
    """Return the weighted mean direction of unit rows, of unit length; zeros when they cancel out.

    For a text too long for its model, embedded in parts (github.com/openai/openai-cookbook, "Embedding long inputs").
    """
    import numpy as np

    total = np.average(np.stack(rows), axis=0, weights=weights)
    length = float(np.linalg.norm(total))
    return (total / length).astype(np.float32) if length > 1e-6 else np.zeros_like(rows[0])


def join_parts(outcomes: Sequence[Row | ProviderError], weights: Sequence[float]) -> Row | ProviderError:
    """Return the vector of a text from those of its parts, see `average`; the first error if a part has one."""
    failed = next((outcome for outcome in outcomes if isinstance(outcome, ProviderError)), None)
    rows = [outcome for outcome in outcomes if not isinstance(outcome, ProviderError)]
    return failed or (rows[0] if len(rows) == 1 else average(rows, weights))


def shorten(row: Row, dimensions: int) -> Row:
    """Cut a vector of a Matryoshka model to its first dimensions; `check` brings it to unit length again."""
    return row[:dimensions] if dimensions else row


def as_rows(blobs: Sequence[bytes]) -> Rows:
    """Return stored embeddings of one space as a matrix, shape (n, dimensions)."""
    import numpy as np

    if not blobs:
        return np.zeros((0, 0), dtype=np.float32)
    return np.frombuffer(b"".join(blobs), dtype="<f4").reshape(len(blobs), -1)


def to_int8(rows: Rows) -> tuple[NDArray[np.int8], Rows]:
    """Scale every row to a largest number of 127, and round it.

    Args:
        rows: Shape (n, dimensions).

    Returns:
        The numbers, and for every row the factor, shape (n, 1), that brings them back to unit length; zeros for zeros.
    """
    import numpy as np

    largest = np.abs(rows).max(axis=1, keepdims=True, initial=0)
    numbers = np.rint(np.divide(_LARGEST_INT8 * rows, largest, out=np.zeros_like(rows), where=largest > 0))
    lengths = np.sqrt(np.einsum("ij,ij->i", numbers, numbers))[:, None]
    factors = np.divide(1, lengths, out=np.zeros_like(lengths), where=lengths > 0)
    return numbers.astype(np.int8), factors


def round_to_int8(rows: Rows) -> Rows:
    """Return rows that `to_int8` loses nothing of: those nearest to the given ones, of unit length."""
    numbers, factors = to_int8(rows)
    return numbers * factors


def pack_signs(embedding: TokenEmbedding) -> bytes:
    """Pack the signs of a window whose parts are its units; empty when the model has no vectors of tokens."""
    import numpy as np

    if embedding.tokens is None:
        return b""
    counts = np.array(embedding.counts, dtype=np.int64)
    within = np.arange(len(embedding.tokens)) - np.repeat(np.cumsum(counts) - counts, counts)
    signs = np.packbits(embedding.tokens[within < MAX_TOKENS] > 0, axis=1)
    return np.minimum(counts, MAX_TOKENS).astype("<u2").tobytes() + signs.tobytes()


def unpack_signs(packed: bytes, *, units: int, dimensions: int) -> tuple[NDArray[np.uint16], NDArray[np.uint8]]:
    """Return the number of tokens of each unit, and the signs as bits, shape (tokens, bytes of one token)."""
    import numpy as np

    counts = np.frombuffer(packed, dtype="<u2", count=units)
    return counts, np.frombuffer(packed, dtype=np.uint8, offset=2 * units).reshape(-1, (dimensions + 7) // 8)


# ---- The calibration of a vector space: what its cosines mean, estimated from the windows that an index holds of it.
#
# Every model puts unrelated texts elsewhere: all-MiniLM-L6-v2 at cosines around .1, some remote models around .7 (a cone, see
# Ethayarajh, https://arxiv.org/abs/1909.00512). Two windows of the same notes are often about one thing, so their mean says
# little; the least similar pairs show where the space begins. Above that point all models are taken to be alike: the rest of
# the way to 1 is divided as it is in all-MiniLM-L6-v2, measured on the judged conversations and the nonsense of
# tests/benchmarks.

SAMPLE = 512  # windows whose pairs are compared
UNRELATED = 2.0  # percentile of the cosines of pairs that counts as unrelated
USUAL = 0.08  # that percentile in a model without a cone: .05 to .14 on five conversations, .05 on all of them
# A few windows of one note are all alike: with 7 to 23 the percentile was up to .42 above the usual. So an excess below DOUBT
# divided by the root of the number of windows is no sign of a cone; one of 1.5 times as much is taken for a cone as a whole.
DOUBT = 1.3
FLOOR, FLOOR_GROWTH = 0.02, 0.058  # in a model without a cone; see `estimate`
SPAN = 0.45
CHANGE = 0.1  # of the number of windows, after which the estimate is repeated
DEFAULT_CALIBRATION = Calibration(floor=0.2, span=SPAN)  # serves until there is an estimate


def estimate(rows: Rows, windows: int) -> Calibration:
    """Estimate the calibration of a space.

    The best of n unrelated cosines grows with sqrt(2 ln n), as the largest of n normal values does, and so does the floor.

    Args:
        rows: Embeddings of some windows, of unit length or zero, shape (n, dimensions).
        windows: The number of windows in the index.
    """
    return calibrate(_cone(rows), windows)


def calibrate(cone: float, windows: int) -> Calibration:
    """Return the calibration of a space whose unrelated texts lie `cone` above those of a model without a cone, 0..1."""
    floor = FLOOR + FLOOR_GROWTH * math.sqrt(2 * math.log(max(windows, 2)))
    return Calibration(floor=cone + (1 - cone) * floor, span=(1 - cone) * SPAN)


def is_outdated(judged: int, windows: int) -> bool:
    """Return True if the index has grown or shrunk so much that the estimate must be repeated.

    Args:
        judged: The number of windows when the estimate was made.
        windows: Their number now.
    """
    return abs(windows - judged) > CHANGE * judged


def _cone(rows: Rows) -> float:
    """The distance of unrelated texts from their place in a model without a cone, 0..1; 0 where that is in doubt."""
    import numpy as np

    rows = rows[rows.any(axis=1)]
    if len(rows) < 2:
        return 0.0
    pairs = (rows @ rows.T)[np.triu_indices(len(rows), 1)]
    above = min((float(np.percentile(pairs, UNRELATED)) - USUAL) / (1 - USUAL), 0.99)
    certain = 3 * (above - DOUBT / math.sqrt(len(rows)))
    return max(min(certain, above), 0.0)
