"""Rows of moments and versions, read and written inside a transaction of the store, and the packing of their bytes.

A version is packed as what distinguishes it from an earlier one, its base: deflated, with the base around the change as the
dictionary.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, cast

from memory_core.history.moments import Moment, Version, repair_times
from memory_core.records import FileKey
from memory_core.stores.sqlite.connections import Connection
from memory_core.text.folding import clean

WINDOW = 16_384  # bytes of the base on each side of a change; deflate looks back over 32 kB


class DamagedBody(Exception):
    """A stored version that cannot be unpacked."""


def pack(data: bytes, base: bytes = b"") -> bytes:
    """Pack bytes; `unpack` with the same base gives them back."""
    first = _count_shared(data, base)
    last = _count_shared(data[first:][::-1], base[first:][::-1])
    deflate = zlib.compressobj(6, zlib.DEFLATED, -zlib.MAX_WBITS, 9, zdict=_cut_window(base, first))
    between = deflate.compress(data[first : len(data) - last]) + deflate.flush()
    return _pack_number(first) + _pack_number(last) + between


def unpack(body: bytes, base: bytes = b"") -> bytes:
    """Return the bytes that were packed.

    Raises:
        DamagedBody: It is damaged, or belongs to another base.
    """
    first, at = _unpack_number(body, 0)
    last, at = _unpack_number(body, at)
    if first + last > len(base):
        raise DamagedBody("a version does not fit the one that it builds upon")
    try:
        inflate = zlib.decompressobj(-zlib.MAX_WBITS, zdict=_cut_window(base, first))
        between = inflate.decompress(body[at:]) + inflate.flush()
    except zlib.error as error:
        raise DamagedBody(f"a version cannot be unpacked: {error}") from error
    if not inflate.eof:
        raise DamagedBody("a version is cut short")
    return base[:first] + between + base[len(base) - last :]


def _cut_window(base: bytes, at: int) -> bytes:
    return base[max(at - WINDOW, 0) : at + WINDOW]


def _count_shared(one: bytes, other: bytes) -> int:
    """Return the number of bytes that two begin with alike."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _pack_number(number: int) -> bytes:
    """Seven bits a byte, the lowest first; the eighth bit says that more follow."""
    packed = bytearray()
    while number > 0x7F:
        packed.append(number & 0x7F | 0x80)
        number >>= 7
    packed.append(number)
    return bytes(packed)


def _unpack_number(body: bytes, at: int) -> tuple[int, int]:
    number = shift = 0
    while at < len(body):
        byte = body[at]
        at += 1
        number |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return number, at
    raise DamagedBody("a version is cut short")


MOST_DEPTH = 64  # versions that are unpacked for one: a few milliseconds
_COLUMNS = "id, source, path, hash, mtime_ns, in_vault, since, until"
_CHAIN = (  # a version and all that it builds upon, the first of them first
    "WITH RECURSIVE chain (id, base, depth, body) AS (SELECT id, base, depth, body FROM versions WHERE id = ?"
    " UNION ALL SELECT v.id, v.base, v.depth, v.body FROM versions v JOIN chain c ON v.id = c.base)"
    " SELECT body FROM chain ORDER BY depth"
)


def load_moments(connection: Connection) -> list[Moment]:
    """Return all moments in order, their times repaired."""
    found = cast(
        "list[tuple[int, int, str]]", connection.execute("SELECT id, at_ms, origin FROM moments ORDER BY id").fetchall()
    )
    times = repair_times([at for _, at, _ in found])
    return [Moment(number, at, origin) for (number, _, origin), at in zip(found, times, strict=True)]


def load_standing(connection: Connection) -> dict[FileKey, tuple[int, bytes]]:
    """Return id and hash of the versions that stand, by note."""
    rows = connection.execute("SELECT source, path, id, hash FROM versions WHERE until IS NULL")
    return {FileKey(source, path): (number, content) for source, path, number, content in rows}


def load_alive(connection: Connection, moment: int) -> list[Version]:
    """Return the versions that stood at a moment."""
    condition = "WHERE since <= :at AND (until IS NULL OR until > :at) ORDER BY source, path"
    return _load(connection, condition, {"at": moment})


def load_versions(connection: Connection, path: str) -> list[Version]:
    """Return the versions of the notes with a path, the oldest first; its letters may be composed in several ways."""
    condition = "WHERE path = :path ORDER BY since, source"
    found = _load(connection, condition, {"path": path})
    if found or path.isascii():
        return found
    paths = [str(each) for (each,) in connection.execute("SELECT DISTINCT path FROM versions")]
    spelt = [each for each in paths if clean(each) == clean(path)]
    return _load(connection, condition, {"path": spelt[0]}) if len(spelt) == 1 else []


def load_later(connection: Connection, version: Version, limit: int) -> list[Version]:
    """Return the next versions of a note after one of it."""
    condition = "WHERE source = :source AND path = :path AND since > :since ORDER BY since LIMIT :limit"
    return _load(connection, condition, {**version.key._asdict(), "since": version.since, "limit": limit})


def load_all(connection: Connection) -> list[Version]:
    """Return all versions, the oldest first."""
    return _load(connection, "ORDER BY since, source, path", {})


def _load(connection: Connection, condition: str, values: dict[str, Any]) -> list[Version]:
    rows = connection.execute(f"SELECT {_COLUMNS} FROM versions {condition}", values)
    return [
        Version(number, FileKey(source, path), content, mtime, bool(vault), since, until)
        for number, source, path, content, mtime, vault, since, until in rows
    ]


def load_bytes(connection: Connection, version: int) -> bytes:
    """Return the bytes of a version.

    Raises:
        DamagedBody: They are damaged.
    """
    data = b""
    for (body,) in connection.execute(_CHAIN, (version,)):
        data = unpack(body, data)
    return data


def find_base(connection: Connection, key: FileKey, content: bytes) -> int | None:
    """Return the version that one of a note that did not stand should build upon: its last, or one of equal bytes elsewhere."""
    found = connection.execute(
        "SELECT id FROM versions WHERE source = ? AND path = ? ORDER BY since DESC LIMIT 1", key
    ).get
    if found is None:
        found = connection.execute("SELECT id FROM versions WHERE hash = ? LIMIT 1", (content,)).get
    return None if found is None else int(found)


def add_moment(connection: Connection, at_ms: int, origin: str, number: int | None = None) -> int:
    """Insert a moment behind all others, or with a number of its own; return its id."""
    if number is None:
        number = int(connection.execute("SELECT max(coalesce(max(id), 0), 0) + 1 FROM moments").get)
    connection.execute("INSERT INTO moments VALUES (?, ?, ?)", (number, at_ms, origin))
    return number


def add_version(
    connection: Connection, key: FileKey, data: bytes, *, content: bytes, mtime_ns: int, in_vault: bool,
    since: int, until: int | None = None, base: int | None,
) -> int:  # fmt: skip
    """Insert a version.

    Args:
        connection: Inside a write transaction.
        key: Of the note.
        data: Its bytes.
        content: Their hash.
        mtime_ns: See `Version`, as for `in_vault`, `since` and `until`.
        in_vault: See above.
        since: See above.
        until: See above.
        base: The version that it may build upon; None stores it whole.
    """
    depth = 0 if base is None else 1 + int(connection.execute("SELECT depth FROM versions WHERE id = ?", (base,)).get)
    body: bytes | None = None
    if base is not None and depth <= MOST_DEPTH:
        with suppress(DamagedBody):
            body = pack(data, load_bytes(connection, base))
    if body is None:
        depth, body = 0, pack(data)
    connection.execute(
        "INSERT INTO versions (source, path, hash, mtime_ns, in_vault, since, until, base, depth, body)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (*key, content, mtime_ns, in_vault, since, until, base if depth else None, depth, body),
    )
    return connection.last_insert_rowid()


def end_versions(connection: Connection, ids: Sequence[int], moment: int) -> None:
    """Record that versions stood only until a moment."""
    connection.executemany("UPDATE versions SET until = ? WHERE id = ?", ((moment, each) for each in ids))


def drop_before(connection: Connection, moment: int) -> int:
    """Forget all moments before one, and the versions that did not stand any more at it; return how many those were."""
    gone = [row[0] for row in connection.execute("SELECT id FROM versions WHERE until <= ?", (moment,))]
    drop_versions(connection, gone)
    connection.execute("UPDATE versions SET since = ?1 WHERE since < ?1", (moment,))
    connection.execute("DELETE FROM moments WHERE id < ?", (moment,))
    return len(gone)


def drop_moments(connection: Connection, origin: str) -> None:
    """Drop the moments of an origin with the versions that did not stand any more after them, if all others lie behind them."""
    moments = load_moments(connection)
    held = [each for each in moments if each.origin == origin]
    if held and moments[: len(held)] == held:
        gone = connection.execute("SELECT id FROM versions WHERE since <= ?", (held[-1].id,)).fetchall()
        drop_versions(connection, [row[0] for row in cast("list[tuple[int]]", gone)])
        connection.execute("DELETE FROM moments WHERE origin = ?", (origin,))


def drop_versions(connection: Connection, ids: Sequence[int]) -> None:
    """Drop versions; those that build upon them are stored anew first."""
    connection.execute("CREATE TEMP TABLE dropped (id INTEGER PRIMARY KEY)")
    try:
        connection.executemany("INSERT INTO dropped VALUES (?)", ((each,) for each in ids))
        found = connection.execute(
            "SELECT id FROM versions WHERE base IN (SELECT id FROM dropped) AND id NOT IN (SELECT id FROM dropped)"
            " ORDER BY depth DESC"
        )
        for orphan in [cast("int", row[0]) for row in found]:
            rewrite(connection, orphan, load_bytes(connection, orphan))
        connection.execute("UPDATE versions SET base = NULL WHERE id IN (SELECT id FROM dropped)")
        connection.execute("DELETE FROM versions WHERE id IN (SELECT id FROM dropped)")
    finally:
        connection.execute("DROP TABLE temp.dropped")


def rewrite(connection: Connection, version: int, data: bytes) -> None:
    """Store the bytes of a version whole; the depths of those that build upon it follow."""
    depth = int(connection.execute("SELECT depth FROM versions WHERE id = ?", (version,)).get)
    connection.execute(
        "WITH RECURSIVE above (id) AS (SELECT ?1 UNION ALL SELECT v.id FROM versions v JOIN above a ON v.base = a.id)"
        " UPDATE versions SET depth = depth - ?2 WHERE id IN (SELECT id FROM above)",
        (version, depth),
    )
    connection.execute("UPDATE versions SET base = NULL, body = ? WHERE id = ?", (pack(data), version))


def count(connection: Connection) -> int:
    """Return the number of versions."""
    return int(connection.execute("SELECT count(*) FROM versions").get)


def measure(connection: Connection) -> int:
    """Return the bytes of the file that are in use."""
    query = "SELECT (page_count - freelist_count) * page_size FROM pragma_page_count, pragma_freelist_count, pragma_page_size"
    return int(connection.execute(query).get)


def find_freeing(connection: Connection, size_bytes: int) -> int | None:
    """Return the first moment at which the versions that have ended have a size; the last one if none has, None without any."""
    query = (
        "SELECT coalesce(min(until) FILTER (WHERE freed >= ?), max(until)) FROM"
        " (SELECT until, sum(sum(length(body))) OVER (ORDER BY until) AS freed"
        " FROM versions WHERE until IS NOT NULL GROUP BY until)"
    )
    return cast("int | None", connection.execute(query, (size_bytes,)).get)
