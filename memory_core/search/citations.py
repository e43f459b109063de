"""Citations of session logs: hits that name lines of the indexed text get the lines of the log."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache

from memory_core.records import Hit
from memory_core.sources.session_logs import SOURCE, is_log
from memory_core.stores.interface import Reader


def cite(reader: Reader, hits: Iterable[Hit]) -> list[Hit]:
    """Replace the lines of hits in sessions by those of the log; return other hits as they are.

    Args:
        reader: The one that the hits were found through.
        hits: As `search` returns them.
    """
    lines = cache(lambda path: reader.load_log_lines(SOURCE, path))
    return [_cite_log(hit, lines(hit.path)) if is_log(hit.path) else hit for hit in hits]


def _cite_log(hit: Hit, lines: Sequence[int]) -> Hit:
    return replace(hit, start_line=lines[hit.start_line - 1], end_line=lines[hit.end_line - 1])
