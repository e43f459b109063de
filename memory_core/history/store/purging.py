"""Takes a text out of old versions, and remembers that the bytes of what was deleted have yet to be overwritten.

Of a purged text the history keeps no more than a tag of four bits: however short the text is and however fast somebody
guesses, this tells no more than four bits of it. What recognises the text later, in a commit that is imported, is the old version
from which it was taken: a content that is the same but for what stands at the marks holds it there, and the tag leaves out most
others.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple, cast

from memory_core.errors import StoreCorrupt
from memory_core.history.store import rows
from memory_core.records import FileKey
from memory_core.sources.notes import hash_bytes
from memory_core.stores.sqlite.connections import INDEX, REBUILD, Connection, open_reader, translate_errors
from memory_core.stores.sqlite.files import exists
from memory_core.text.wording import Wording

PURGED = "[purged]"  # stands in old versions where the text stood
TAGS = 16
LEAST_AROUND = 8  # letters and digits of a line that is recognised alone
EDIT = "take it out of there, then try again"


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


class Purged(NamedTuple):
    """The purges of a history, as far as they are known.

    Attributes:
        tags: Of the texts, as bits; see `make_tag`.
        notes: True if whole notes were dropped for their paths, so that nothing is left to tell them by.
        versions: The bytes of versions with marks, by note.
    """

    tags: int
    notes: bool
    versions: dict[FileKey, list[bytes]]


def rewrite_versions(connection: Connection, wording: Wording) -> list[int]:
    """Put `PURGED` in the place of a text in all versions, inside a write transaction; return the ids of those that held it.

    Raises:
        DamagedBody: One cannot be unpacked.
    """
    changed = []
    for number, old, new, body in walk(connection, lambda data: purge(data, [wording])):
        if body is not None:
            connection.execute("UPDATE versions SET hash = ?, body = ? WHERE id = ?", (hash_bytes(new), body, number))
        if old != new:
            changed.append(number)
    return changed


def walk(connection: Connection, replace: Callable[[bytes], bytes]) -> Iterator[tuple[int, bytes, bytes, bytes | None]]:
    """Yield (id, bytes, bytes as they shall be, their body if it becomes another); a version comes after its base."""
    children = defaultdict[int | None, list[int]](list)
    for number, base in connection.execute("SELECT id, base FROM versions"):
        children[base].append(number)
    waiting = [(number, b"", b"") for number in children[None]]
    while waiting:
        number, old_base, new_base = waiting.pop()
        body = cast("bytes", connection.execute("SELECT body FROM versions WHERE id = ?", (number,)).get)
        old = rows.unpack(body, old_base)
        new = replace(old)
        is_packed_alike = (old, old_base) == (new, new_base)
        yield number, old, new, None if is_packed_alike else rows.pack(new, new_base)
        waiting += [(child, old, new) for child in children[number]]


def load_purged(connection: Connection) -> Purged:
    """Return what is known of earlier purges.

    Raises:
        DamagedBody: A version cannot be unpacked.
    """
    found = dict(connection.execute("SELECT key, value FROM meta WHERE key IN ('purged_tags', 'purged_notes')"))
    tags = int(found.get("purged_tags", 0))
    versions = defaultdict[FileKey, list[bytes]](list)
    if tags:
        keys = {version.id: version.key for version in rows.load_all(connection)}
        for number, data, _, _ in walk(connection, lambda data: data):
            if PURGED.encode() in data and data not in versions[keys[number]]:
                versions[keys[number]].append(data)
    return Purged(tags, bool(int(found.get("purged_notes", 0))), dict(versions))


def find_in_rows(path: Path, holds: Callable[[str], bool]) -> bool:
    """Return True if a text of any table of a database file meets a condition; False where there is no file.

    Raises:
        StoreError: The file cannot be read.
    """
    if not exists(path):
        return False
    with closing(open_reader(path)) as connection, translate_errors(path, INDEX):
        try:
            return any(map(holds, _iterate_texts(connection)))
        except ValueError as error:
            raise StoreCorrupt(path, f"the index is damaged: {error}", action=REBUILD) from error


def _iterate_texts(connection: Connection) -> Iterator[str]:
    """Yield all texts of the tables that are no virtual ones."""
    columns = connection.execute(
        "SELECT t.name, group_concat('\"' || c.name || '\"') FROM sqlite_schema t, pragma_table_info(t.name) c"
        " WHERE t.type = 'table' AND t.rootpage > 0 AND t.name NOT LIKE 'sqlite\\_%' ESCAPE '\\' AND c.type = 'TEXT' GROUP BY 1"
    ).fetchall()
    for table, names in columns:
        for row in connection.execute(f'SELECT {names} FROM "{table}"'):
            yield from (text for text in row if isinstance(text, str))
