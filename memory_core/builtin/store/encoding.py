"""Byte layouts of columns that hold numbers: the units of a chunk, the line numbers of a file."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence

from memory_core.builtin.store.damage import DamagedRow
from memory_core.records import Unit

UNIT_BYTES = 16  # of one unit: four int32


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
