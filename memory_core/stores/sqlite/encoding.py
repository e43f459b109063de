"""Byte layouts of columns that hold numbers: the units of a chunk, the line numbers of a file."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from functools import partial

from memory_core.records import Unit
from memory_core.stores.sqlite.damage import DamagedRow

WIDE_UNIT, NARROW_UNIT = 16, 6  # bytes of one unit: four int32; or two uint16 and two uint8
_NARROW = b"\0"  # in front of narrow ones, which makes their length odd
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
