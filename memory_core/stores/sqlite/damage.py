"""Rows that no sync has written: found where they are read, so that a damaged index is made anew, not quoted.

SQLite sees damage to its own structure. It does not see flipped bits inside of a text, a vector or a number.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from operator import le

from memory_core.records import Unit
from memory_core.stores.values import digest_chunk

_REPLACED = (
    "\ufffd"  # stands in a stored text for what SQLite does not take, so that its digest is that of another text
)


class DamagedRow(Exception):
    """A row holds what no sync has written. A store turns this into StoreCorrupt."""


@contextlib.contextmanager
def translate_bad_text() -> Iterator[None]:
    """Turn the driver's error about a text that is not UTF-8 into ours.

    Raises:
        DamagedRow: A text that was read is not UTF-8.
    """
    try:
        yield
    except UnicodeDecodeError as error:
        raise DamagedRow("a text is not UTF-8") from error


def check_chunk(key: bytes, context: str, text: str, units: Sequence[Unit]) -> None:
    """Check the columns of a chunk that has units.

    Args:
        key: The digest of its context, overlap and text.
        context: The headings above it.
        text: Its lines.
        units: What is ranked.

    Raises:
        DamagedRow: The columns do not belong together.
    """
    size, last = len(text), text.count("\n")
    starts, ends, first_lines, last_lines = zip(*units, strict=True)
    ordered = all(map(le, starts, ends)) and all(map(le, first_lines, last_lines))
    if not ordered or min(starts) < 0 or min(first_lines) < 0 or max(ends) > size or max(last_lines) > last:
        raise DamagedRow("a unit lies outside of its text")
    # The number of lines that overlap is not stored. The first unit begins behind them, or after blank lines that follow.
    overlaps = range(units[0].first_line, -1, -1)
    if _REPLACED not in text and not any(digest_chunk(context, lines, text) == key for lines in overlaps):
        raise DamagedRow("a text is not what was indexed")


def check_window(first: int, last: int, units: int) -> None:
    """Check that a window lies within the units of its chunk.

    Raises:
        DamagedRow: It does not.
    """
    if not 0 <= first <= last < units:
        raise DamagedRow("a window lies outside of its text")
