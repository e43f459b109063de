"""Finds out which text was purged, from a content that still holds it, such as that of a commit; pure.

Of a purged text the history keeps no more than a tag of four bits: however short the text is and however fast somebody
guesses, this tells no more than four bits of it. What recognises the text is the old version from which it was taken: a content
that is the same but for what stands at the marks holds it there, and the tag leaves out most others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import blake2b

from memory_core.text.wording import Wording

PURGED = "[purged]"  # stands in old versions where the text stood
TAGS = 16
LEAST_AROUND = 8  # letters and digits of a line that is recognised alone


def make_tag(wording: Wording) -> int:
    """Return the tag of a text: a number below `TAGS`, the same in every history."""
    return blake2b(wording.folded.encode(errors="surrogatepass"), digest_size=1, person=b"purged").digest()[0] % TAGS


def purge(data: bytes, wordings: Sequence[Wording]) -> bytes:
    """Put `PURGED` in the place of texts in the bytes of a note; a mark stays what it is."""
    text = data.decode(errors="surrogateescape")
    for wording in wordings:
        text = PURGED.join(wording.replace(part, PURGED) for part in text.split(PURGED))
    return text.encode(errors="surrogateescape")


def recover_texts(data: bytes, purged: bytes, is_known: Callable[[Wording], bool]) -> tuple[Wording, ...]:
    """Return the texts that were purged from some bytes.

    Args:
        data: The bytes of a content that may hold them.
        purged: Those of an old version with marks.
        is_known: Says of a text whether one with its tag was purged.

    Returns:
        None of them where the content is another one.
    """
    content = data.decode(errors="surrogateescape")
    parts = purged.decode(errors="surrogateescape").split(PURGED)
    if not (content.startswith(parts[0]) and content.endswith(parts[-1])):
        return ()
    for fillings in (_fill_alike(content, parts), _fill_in_turn(content, parts)):
        texts = {wording.folded: wording for each in fillings if each != PURGED and (wording := Wording(each)).folded}
        found = tuple(texts.values())
        if found and all(map(is_known, found)) and purge(data, found) == purged:
            return found
    return ()


def list_marked_lines(versions: Iterable[bytes]) -> set[bytes]:
    """Return the lines with marks whose other words are enough to tell them from most lines."""
    marked = {line for version in versions for line in version.splitlines() if PURGED.encode() in line}
    return {
        line
        for line in marked
        if sum(map(str.isalnum, line.decode(errors="replace").replace(PURGED, ""))) >= LEAST_AROUND
    }


def _fill_alike(content: str, parts: Sequence[str]) -> Iterator[str]:
    """Yield what stands between parts of a content if it is of one length everywhere."""
    marks = len(parts) - 1
    length, rest = divmod(len(content) - sum(map(len, parts)), marks)
    at = 0
    for part in parts[:-1] if length > 0 and not rest else ():
        at += len(part) + length
        yield content[at - length : at]


def _fill_in_turn(content: str, parts: Sequence[str]) -> Iterator[str]:
    """Yield what stands between parts of a content, each of which begins where it stands first."""
    at = len(parts[0])
    for part in parts[1:-1]:
        begin = content.find(part, at + 1)
        if begin < 0:
            return
        yield content[at:begin]
        at = begin + len(part)
    yield content[at : len(content) - len(parts[-1])]
