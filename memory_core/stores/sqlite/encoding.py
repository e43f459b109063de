"""Byte layouts of columns that hold numbers: the units of a chunk, the line numbers of a file, embeddings."""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from memory_core.embeddings.vectors import INT8_FACTOR, pack_int8, read_int8, widen
from memory_core.records import Unit
from memory_core.stores.sqlite.damage import DamagedRow

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

WIDE_UNIT, NARROW_UNIT = 16, 6  # bytes of one unit: four int32; or two uint16 and two uint8
_NARROW = b"\0"  # in front of narrow ones, which makes their length odd
COARSE_FROM = 64  # dimensions; of 4, the length of an int8 row would be that of a float16 row
_STEP_BYTES = 512 * 1024  # of float32 at a time: what a search has in the processor's caches stays there
_make_unit = partial(tuple.__new__, Unit)  # a third of the time of `Unit._make`


def pack_units(units: Sequence[Unit]) -> bytes:
    """Return units as int32 quadruples; where all fit, as all starts, ends, first and last lines of uint16 and uint8."""
    if not units:
        return b""
    starts, ends, first_lines, last_lines = zip(*units, strict=True)
    try:
        return b"".join((_NARROW, array("H", starts + ends).tobytes(), bytes(first_lines), bytes(last_lines)))
    except (OverflowError, ValueError):  # one is larger
        return array("i", [n for unit in units for n in unit]).tobytes()


def unpack_units(blob: bytes) -> list[Unit]:
    """Return the inverse of `pack_units`.

    Raises:
        DamagedRow: These are no units.
    """
    is_narrow = len(blob) % 2
    count, left = divmod(len(blob), NARROW_UNIT if is_narrow else WIDE_UNIT)
    if left != is_narrow or (is_narrow and not count):
        raise DamagedRow("units are cut off")
    if not is_narrow:
        numbers = iter(array("i", blob))
        return [*map(_make_unit, zip(numbers, numbers, numbers, numbers, strict=True))]
    places, lines = array("H", blob[1 : 4 * count + 1]), blob[4 * count + 1 :]
    return [*map(_make_unit, zip(places[:count], places[count:], lines[:count], lines[count:], strict=True))]


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
    return pack_int8(rows)


def unpack_embeddings(blobs: Sequence[bytes], dimensions: int) -> NDArray[np.float32]:
    """Return the inverse of `pack_embeddings`, shape (n, dimensions); (0, 0) for none. Older rows may be float32.

    Raises:
        DamagedRow: One has another length.
    """
    import numpy as np

    if not blobs:
        return np.zeros((0, 0), np.float32)
    if (layout := RowLayout.find({len(blob) for blob in blobs}, dimensions)) is None:
        return np.concatenate([unpack_embeddings([blob], dimensions) for blob in blobs])
    return layout.widen(layout.read(b"".join(blobs)))


@dataclass(frozen=True, slots=True)
class RowLayout:
    """The layout of embeddings that are stored alike: int8 and a factor, float16, or float32 of an older version.

    Attributes:
        dimensions: Of an embedding.
        length: Bytes of one.
    """

    dimensions: int
    length: int

    @classmethod
    def find(cls, lengths: Collection[int], dimensions: int) -> RowLayout | None:
        """Return the layout of embeddings of some lengths; None where they have several.

        Raises:
            DamagedRow: One has a length that none has.
        """
        if not {*lengths} <= {find_length(dimensions, coarse=True), 2 * dimensions, 4 * dimensions}:
            raise DamagedRow("an embedding has another length than those of its model")
        return cls(dimensions, *lengths) if len(lengths) == 1 else None

    def read(self, octets: bytes | bytearray) -> NDArray[np.uint8]:
        """Return embeddings that stand behind each other as an array, shape (n, length)."""
        import numpy as np

        return np.frombuffer(octets, np.uint8).reshape(-1, self.length)

    def multiply(self, rows: NDArray[np.uint8], query: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the products of rows of `read` and a query. Equal rows have equal ones, wherever they stand: no BLAS."""
        import numpy as np

        products = np.empty(len(rows), np.float32)
        step = max(_STEP_BYTES // (4 * self.dimensions), 1)
        for first in range(0, len(rows), step):
            some = slice(first, first + step)
            np.einsum("ij,j->i", self.widen(rows[some]), query, out=products[some])
        return products

    def widen(self, rows: NDArray[np.uint8]) -> NDArray[np.float32]:
        """Return rows of `read` as float32, shape (n, dimensions)."""
        import numpy as np

        if self.length == 2 * self.dimensions:
            return widen(rows.view("<f2").astype(np.float16, copy=False))
        if self.length == 4 * self.dimensions:
            return rows.view("<f4").astype(np.float32, copy=False)
        return read_int8(rows)


def find_length(dimensions: int, *, coarse: bool) -> int:
    """Return the number of bytes of a packed embedding; see `pack_embeddings`."""
    return dimensions + INT8_FACTOR if coarse and dimensions >= COARSE_FROM else 2 * dimensions
