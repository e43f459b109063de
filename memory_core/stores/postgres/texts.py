"""Texts of chunks as the server keeps them: deflated by the agent, since what the server would do by itself saves little."""

from __future__ import annotations

from typing import TypeAlias

from memory_core.text.markdown import may_hold_links
from memory_core.text.packing import pack, unpack

COLUMNS = "c.plain, c.packed"  # of chunks `c`; what `read_text` takes
LONGEST = 1_000_000  # bytes of a text that is packed: nobody else's row inflates to more

TextColumns: TypeAlias = tuple[str, bytes | None, bool]


def write_text(text: str) -> TextColumns:
    """Return the columns `plain`, `packed` and `links` of a chunk; its text is in the shorter of the first two."""
    links = may_hold_links(text)
    octets = text.encode()
    packed = pack(text, b"") if len(octets) <= LONGEST else None
    return ("", packed, links) if packed is not None and len(packed) < len(octets) else (text, None, links)


def read_text(plain: str, packed: bytes | None) -> str:
    """Return the text of a chunk by its columns; empty if what is packed is no text, which only another tenant's may be."""
    if packed is None:
        return plain
    try:
        return unpack(packed, b"", most_bytes=LONGEST)
    except ValueError:
        return ""
