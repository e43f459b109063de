"""Byte layouts of columns that hold numbers: the units of a chunk, the line numbers of a file, embeddings."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from memory_core.builtin.store.damage import DamagedRow
from memory_core.embeddings.vectors import as_rows, to_int8, widen
from memory_core.records import Unit

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

UNIT_BYTES = 16  # of one unit: four int32
COARSE_FROM = 64  # dimensions; of 4, the length of an int8 row would be that of a float16 row
FACTOR_BYTES = 4


def pack_units(units: Iterable[Unit]) -> bytes:
    """Return units as int32 quadruples."""
    return array("i", [n for u in units for n in (u.start, u.end, u.first_line, u.last_line)]).tobytes()


def unpack_units(blob: bytes) -> list[Unit]:
    """Return the inverse of `pack_units`.

    Raises:
        DamagedRow: These are no units.
    """
    if len(blob) % UNIT_BYTES:
        raise DamagedRow("units are cut off")
    numbers = iter(array("i", blob))
    return [*map(Unit._make, zip(numbers, numbers, numbers, numbers, strict=True))]


def pack_lines(lines: Sequence[int]) -> bytes | None:
    """Return line numbers as uint32; None for none."""
    return array("I", lines).tobytes() or None


def unpack_lines(blob: bytes | None) -> Sequence[int]:
    """Return the inverse of `pack_lines`.

    Raises:
        DamagedRow: These are no line numbers.
    """
    if blob and len(blob) % 4:
        raise DamagedRow("line numbers are cut off")
    return array("I", blob or b"")


def pack_embeddings(rows: NDArray[np.float32], *, coarse: bool = False) -> Iterator[bytes]:
    """Yield rows as little-endian float16: half the size, and the same ranking (tests/benchmarks/RETRIEVAL.md).

    Args:
        rows: Of unit length, or all zero.
        coarse: Yield int8 and a float32 factor instead, if there are dimensions enough: half the size once more.
    """
    if not coarse or rows.shape[1] < COARSE_FROM:
        return (row.tobytes() for row in rows.astype("<f2"))
    numbers, factors = to_int8(rows)
    return (row.tobytes() + factor.tobytes() for row, factor in zip(numbers, factors.astype("<f4"), strict=True))


def unpack_embeddings(blobs: Sequence[bytes], dimensions: int) -> NDArray[np.float32]:
    """Return the inverse of `pack_embeddings`, shape (n, dimensions); (0, 0) for none. Older rows may be float32.

    Raises:
        DamagedRow: One has another length.
    """
    import numpy as np

    lengths = {len(blob) for blob in blobs}
    if not lengths <= {find_length(dimensions, coarse=True), 2 * dimensions, 4 * dimensions}:
        raise DamagedRow("an embedding has another length than those of its model")
    if len(lengths) > 1:
        return np.concatenate([unpack_embeddings([blob], dimensions) for blob in blobs])
    if 2 * dimensions in lengths:
        halves = np.frombuffer(b"".join(blobs), dtype="<f2").astype(np.float16, copy=False)
        return widen(halves).reshape(len(blobs), dimensions)
    if 4 * dimensions in lengths or not lengths:
        return as_rows(blobs)
    packed = np.frombuffer(b"".join(blobs), dtype=[("numbers", "i1", (dimensions,)), ("factor", "<f4")])
    found: NDArray[np.float32] = packed["numbers"].astype(np.float32)
    found *= packed["factor"][:, None]
    return found


def find_length(dimensions: int, *, coarse: bool) -> int:
    """Return the number of bytes of a packed embedding; see `pack_embeddings`."""
    return dimensions + FACTOR_BYTES if coarse and dimensions >= COARSE_FROM else 2 * dimensions
