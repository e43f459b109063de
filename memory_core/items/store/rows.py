"""Rows of items: written and found inside a transaction of the store."""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, NamedTuple

from memory_core.items.mirror import RecordedLine, show
from memory_core.items.records import FORMER_AUTHORS, Draft, Item
from memory_core.records import OUTSIDERS, Origin
from memory_core.stores.sqlite.connections import Connection
from memory_core.stores.sqlite.database import get_meta, set_meta
from memory_core.stores.values import digest
from memory_core.text.folding import clean
from memory_core.text.folding import fold as fold_text
from memory_core.text.terms import write_index

ID_BYTES = 5


def fold(content: str) -> str:
    """Return the words of a fact, which are the same for equal facts: case, white space and the last full stop do not count."""
    return " ".join(clean(content).casefold().split()).rstrip(".!。！ ")


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """The items that are asked for.

    Attributes:
        scope, agent, session: Equal to this; None is any.
        tags: They have all of them.
        after, before: Unix seconds between which they were last said, `before` not included.
        settled: They are no guesses, and no other item corrects them.
        current: No other item corrects them.
    """

    scope: str | None = None
    tags: tuple[str, ...] = ()
    agent: str | None = None
    session: str | None = None
    after: float | None = None
    before: float | None = None
    settled: bool = False
    current: bool = False

    def to_condition(self) -> tuple[str, tuple[Any, ...]]:
        """Return the condition on rows of items as SQL, and its values."""
        parts = [
            ("scope = ?", self.scope),
            ("agent = ?", self.agent),
            ("key IN (SELECT item FROM sayings WHERE session = ?)", self.session),
            ("said >= ?", self.after),
            ("said < ?", self.before),
            *(("EXISTS (SELECT 1 FROM json_each(tags) WHERE value = ?)", tag) for tag in self.tags),
        ]
        used = [(text, value) for text, value in parts if value is not None]
        texts = [text for text, _ in used]
        if self.settled:
            texts.append("NOT pending")
        if self.settled or self.current:
            texts.append("superseded_by IS NULL")
        return " AND ".join(texts) or "1", tuple(value for _, value in used)


class Standing(NamedTuple):
    """The facts of an item by which it is found and ranked.

    Attributes:
        key: Its number in the file.
        reinforced: See `Item.reinforced`.
        said: See `Item.said`.
        folded: Its text and its tags, folded.
    """

    key: int
    reinforced: int
    said: float
    folded: str


def insert(connection: Connection, draft: Draft, *, agent: str, now: float) -> Item:
    """Insert a new item and return it."""
    said = now if draft.said_at is None else draft.said_at
    item = Item(
        id=secrets.token_hex(ID_BYTES), content=draft.content, scope=draft.scope, tags=draft.tags, agent=agent,
        kind=draft.kind, pending=draft.pending, created=now, updated=now, said=said, recalled=None, reinforced=0,
        origin=replace(draft.origin, at=_tell_time(said)), superseded_by=None,
    )  # fmt: skip
    restore(connection, item)
    return load_by_ids(connection, [item.id])[0]


def restore(connection: Connection, item: Item) -> None:
    """Insert an item as it was exported; one of the same id or the same fact is left as it is."""
    values = _list_values(item)
    names, marks = ", ".join(values), ", ".join("?" * len(values))
    connection.execute(f"INSERT OR IGNORE INTO items ({names}) VALUES ({marks})", (*values.values(),))
    if connection.changes():
        key = connection.last_insert_rowid()
        _add_saying(connection, key, item.origin.session, item.said)
        _put_origin(connection, key, item.origin)


def overwrite(connection: Connection, item: Item) -> None:
    """Make an item what it is on another machine, or insert it; one of the same fact gives way."""
    values = _list_values(item)
    del values["recalled"]  # what was recalled here stays known
    changed = ", ".join(f"{name} = ?" for name in values)
    connection.execute(f"UPDATE OR REPLACE items SET {changed} WHERE id = ?", (*values.values(), item.id))
    if connection.changes():
        _put_origin(connection, find_keys(connection, [item.id])[0], item.origin)
    else:
        restore(connection, item)


def _list_values(item: Item) -> dict[str, Any]:
    """Return the values of the columns of an item, by their names."""
    searched = " ".join([item.content, *item.tags])
    return {
        "id": item.id, "content": item.content, "scope": item.scope, "tags": _write_tags(item.tags), "agent": item.agent,
        "kind": item.kind, "pending": int(item.pending), "created": item.created, "updated": item.updated, "said": item.said,
        "recalled": item.recalled, "reinforced": item.reinforced, "session": item.origin.session, "speaker": item.origin.by,
        "superseded_by": item.superseded_by, "terms": write_index(searched), "folded": fold_text(searched),
        "hash": digest(fold(item.content)), "text_hash": digest(item.content),
    }  # fmt: skip


def _write_tags(tags: Sequence[str]) -> str:
    return json.dumps([*tags], ensure_ascii=False)


def reinforce(connection: Connection, key: int, draft: Draft, *, now: float) -> None:
    """Record that a fact was said again: it counts once for every further session.

    A guess is settled when it is said surely, or in another session; without sessions nobody knows that it is another one.
    What a tool or a page says settles none. A fact that the user says, too, is the user's from then on.
    """
    origin, said = draft.origin, now if draft.said_at is None else draft.said_at
    known = (
        origin.session is not None
        and connection.execute("SELECT count(*) FROM sayings WHERE item = ? AND session = ?", (key, origin.session)).get
    )
    _add_saying(connection, key, origin.session, said)
    held = json.loads(str(connection.execute("SELECT tags FROM items WHERE key = ?", (key,)).get))
    tags = list(dict.fromkeys([*held, *draft.tags]))
    connection.execute(
        "UPDATE items SET reinforced = reinforced + ?, said = max(said, ?), updated = ?, tags = ?,"
        " pending = pending AND ? WHERE key = ?",
        (
            int(not known),
            said,
            now,
            _write_tags(tags),
            int(origin.by in OUTSIDERS or (draft.pending and (bool(known) or origin.session is None))),
            key,
        ),
    )
    if origin.by == "user":
        connection.execute(
            "UPDATE items SET speaker = 'user', session = ? WHERE key = ? AND speaker <> 'user'", (origin.session, key)
        )
        if connection.changes():
            _put_origin(connection, key, replace(origin, at=_tell_time(said)))


def edit(connection: Connection, old: Item, draft: Draft, *, now: float) -> None:
    """Give an item another text, and keep what it said as an item that it corrects.

    Where another item says so already, that one stands for both.
    """
    # A revision of its own whose text comes back is not kept besides.
    connection.execute(
        "DELETE FROM items WHERE scope = ? AND hash = ? AND superseded_by = ?",
        (old.scope, digest(fold(draft.content)), old.id),
    )
    equal = find_equal(connection, old.scope, draft.content)
    other = None if equal is None else load_by_keys(connection, [equal])[equal]
    if other is not None and other.id != old.id:
        connection.execute("UPDATE items SET superseded_by = ?, updated = ? WHERE id = ?", (other.id, now, old.id))
        connection.execute(
            "UPDATE items SET superseded_by = NULL, pending = 0, updated = ? WHERE id = ?", (now, other.id)
        )
        return
    edited = replace(old, content=draft.content, updated=now, said=now, pending=False, superseded_by=None)
    overwrite(connection, edited)
    if fold(old.content) != fold(draft.content):
        origin = replace(old.origin, session=None)
        revision = replace(old, id=secrets.token_hex(ID_BYTES), superseded_by=old.id, updated=now, origin=origin)
        restore(connection, revision)


def hide(connection: Connection, ids: Iterable[str], *, now: float) -> None:
    """Turn items into guesses, which are listed and neither found nor recalled."""
    connection.executemany("UPDATE items SET pending = 1, updated = ? WHERE id = ?", [(now, each) for each in ids])


def supersede(connection: Connection, keys: Sequence[int], by: str, *, now: float) -> tuple[str, ...]:
    """Record that another item corrects some; return their ids."""
    old = load_by_keys(connection, keys)
    connection.executemany(
        "UPDATE items SET superseded_by = ?, updated = ? WHERE key = ?", [(by, now, key) for key in old]
    )
    return tuple(each.id for each in old.values())


def revive(connection: Connection, key: int, *, said: float, now: float) -> bool:
    """Let a superseded item hold again, in place of the one that holds after all corrections; return False if none did.

    Args:
        connection: Inside a write transaction.
        key: Of the item.
        said: When somebody said it again; what was said before the last correction revives nothing.
        now: The time of this change.
    """
    row = connection.execute(
        "WITH RECURSIVE heirs(id) AS (SELECT superseded_by FROM items WHERE key = ?1"
        " UNION SELECT superseded_by FROM heirs JOIN items USING (id) WHERE superseded_by IS NOT NULL)"
        " SELECT old.id, new.id, new.said FROM items old"
        " LEFT JOIN items new ON new.id IN (SELECT id FROM heirs) AND new.superseded_by IS NULL"
        " WHERE old.key = ?1 AND old.superseded_by IS NOT NULL",
        (key,),
    ).fetchone()
    if row is None or (row[2] is not None and said < float(str(row[2]))):
        return False
    connection.execute("UPDATE items SET superseded_by = NULL, updated = ? WHERE key = ?", (now, key))
    connection.execute("UPDATE items SET superseded_by = ?, updated = ? WHERE id = ?", (row[0], now, row[1]))
    return True


def promote(connection: Connection, ids: Iterable[str], *, now: float) -> list[int]:
    """Turn pending items into settled ones; return the keys of those that were pending."""
    found = connection.execute(
        "UPDATE items SET pending = 0, updated = ? WHERE pending AND id IN (SELECT value FROM json_each(?)) RETURNING key",
        (now, json.dumps([*ids])),
    )
    return [int(str(row[0])) for row in found]


def mark_recalled(connection: Connection, ids: Iterable[str], now: float) -> None:
    """Record when items were last put in front of a model."""
    connection.executemany("UPDATE items SET recalled = ? WHERE id = ?", [(now, item_id) for item_id in ids])


def delete(connection: Connection, ids: Iterable[str]) -> list[Item]:
    """Delete items with all that only they use, and return them; the caller wipes the file afterwards."""
    gone = load_by_ids(connection, ids)
    for item in gone:
        connection.execute("DELETE FROM items WHERE id = ?", (item.id,))
        connection.execute("DELETE FROM mirror WHERE item = ?", (item.id,))
    if gone:
        connection.execute("DELETE FROM embeddings WHERE hash NOT IN (SELECT text_hash FROM items)")
        set_meta(connection, "wipe", secrets.token_hex(8))  # until their bytes are overwritten
    return gone


def add_replaced(connection: Connection, ids: Iterable[str]) -> list[str]:
    """Return ids of items, and those of the items that they have replaced, and so on."""
    found = connection.execute(
        "WITH RECURSIVE found(id) AS (SELECT value FROM json_each(?)"
        " UNION SELECT items.id FROM items JOIN found ON items.superseded_by = found.id) SELECT id FROM found",
        (json.dumps([*ids]),),
    )
    return [str(row[0]) for row in found]


def leave_session(connection: Connection, session: str) -> list[str]:
    """Drop what a session said; return the ids of the items that no other session has said."""
    found = connection.execute("SELECT item FROM sayings WHERE session = ?", (session,))
    keys = [int(str(row[0])) for row in found]
    connection.execute("DELETE FROM sayings WHERE session = ?", (session,))
    alone = []
    for key, item in load_by_keys(connection, keys).items():
        if item.origin.session == session and not item.reinforced:
            alone.append(item.id)
        else:
            connection.execute(
                "UPDATE items SET reinforced = max(reinforced - 1, 0), session = nullif(session, ?) WHERE key = ?",
                (session, key),
            )
    return alone


def find_equal(connection: Connection, scope: str, content: str) -> int | None:
    """Return the key of the item of the same words in a scope, superseded or not."""
    found = connection.execute("SELECT key FROM items WHERE scope = ? AND hash = ?", (scope, digest(fold(content)))).get
    return None if found is None else int(found)


def find_keys(connection: Connection, ids: Iterable[str]) -> list[int]:
    """Return the keys of items; unknown ids are left out."""
    wanted = json.dumps(list(ids))
    found = connection.execute("SELECT key FROM items WHERE id IN (SELECT value FROM json_each(?))", (wanted,))
    return [int(str(row[0])) for row in found]


def load_by_keys(connection: Connection, keys: Sequence[int]) -> dict[int, Item]:
    """Return items by key; those that are gone are left out."""
    return _load(connection, "WHERE key IN (SELECT value FROM json_each(?))", (json.dumps(list(keys)),))


def load_by_ids(connection: Connection, ids: Iterable[str]) -> list[Item]:
    """Return items in the order of their ids, each once; unknown ids are left out."""
    wanted = list(dict.fromkeys(ids))
    rows = _load(connection, "WHERE id IN (SELECT value FROM json_each(?))", (json.dumps(wanted),))
    found = {item.id: item for item in rows.values()}
    return [found[item_id] for item_id in wanted if item_id in found]


def load_page(connection: Connection, wanted: Filter, *, limit: int, offset: int) -> list[Item]:
    """Return items, the one said last first."""
    where, values = wanted.to_condition()
    page = f"WHERE {where} ORDER BY said DESC, key DESC LIMIT ? OFFSET ?"
    return [*_load(connection, page, (*values, limit, offset)).values()]


def _load(connection: Connection, condition: str, values: Sequence[Any]) -> dict[int, Item]:
    """Return the items that meet a condition of SQL, by key."""
    rows = connection.execute(
        "SELECT key, id, content, scope, tags, agent, kind, pending, created, updated, said, recalled, reinforced, session,"
        f" speaker, superseded_by, host, path, line, at FROM items LEFT JOIN origins ON item = key {condition}",
        values,
    )
    return {int(row[0]): _to_item(row[1:]) for row in rows}


def list_standings(connection: Connection, wanted: Filter) -> list[Standing]:
    """Return the facts by which items are found and ranked, in the order of their keys."""
    where, values = wanted.to_condition()
    rows = connection.execute(f"SELECT key, reinforced, said, folded FROM items WHERE {where} ORDER BY key", values)
    return [Standing._make(row) for row in rows]


def list_former(connection: Connection) -> list[tuple[Standing, int]]:
    """Return the superseded items, each with the key of the one that holds in its place now, through all corrections."""
    found = connection.execute(
        "WITH RECURSIVE former(key, heir) AS (SELECT key, superseded_by FROM items WHERE superseded_by IS NOT NULL"
        " UNION SELECT former.key, superseded_by FROM former JOIN items ON id = heir WHERE superseded_by IS NOT NULL)"
        " SELECT old.key, old.reinforced, old.said, old.folded, new.key FROM former JOIN items old ON old.key = former.key"
        " JOIN items new ON new.id = heir AND new.superseded_by IS NULL"
    )
    return [(Standing._make(row[:-1]), int(str(row[-1]))) for row in found]


def count(connection: Connection, wanted: Filter) -> int:
    """Count items."""
    where, values = wanted.to_condition()
    return int(str(connection.execute(f"SELECT count(*) FROM items WHERE {where}", values).get))


def find_words(connection: Connection, match: str) -> set[int]:
    """Return the keys of the items that match an expression of FTS5."""
    return {
        int(str(row[0])) for row in connection.execute("SELECT rowid FROM items_fts WHERE items_fts MATCH ?", (match,))
    }


def _add_saying(connection: Connection, key: int, session: str | None, said: float) -> None:
    if session is not None:
        connection.execute("INSERT OR REPLACE INTO sayings VALUES (?, ?, ?)", (key, session, said))


def _put_origin(connection: Connection, key: int, origin: Origin) -> None:
    connection.execute(
        "INSERT OR REPLACE INTO origins VALUES (?, ?, ?, ?, ?)",
        (key, origin.host or "", origin.path or "", origin.line or 0, origin.at or ""),
    )


def _tell_time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds).astimezone().isoformat(timespec="seconds")


def _to_item(row: Sequence[Any]) -> Item:
    item_id, content, scope, tags, agent, kind, pending, *rest = row
    created, updated, said, recalled, reinforced, session, speaker, superseded_by, host, path, line, at = rest
    return Item(
        id=item_id, content=content, scope=scope, tags=tuple(json.loads(tags)), agent=agent, kind=kind,
        pending=bool(pending), created=created, updated=updated, said=said, recalled=recalled, reinforced=reinforced,
        origin=Origin(
            by=FORMER_AUTHORS.get(speaker, speaker), session=session, host=host or None, path=path or None, line=line or None,
            at=at or _tell_time(created),
        ),
        superseded_by=superseded_by,
    )  # fmt: skip


# ---- The mirror in notes: lines as they last agreed with items, and keyed hashes of forgotten texts.


def make_digest(connection: Connection, text: str) -> bytes:
    """Return the hash of a text with the key of this file."""
    key = bytes.fromhex(str(get_meta(connection, "digest_key")))
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=16, key=key).digest()


def remember_forgotten(connection: Connection, contents: Iterable[str], *, now: float) -> None:
    """Record that facts were forgotten."""
    connection.executemany(
        "INSERT OR REPLACE INTO forgotten VALUES (?, ?)", [(_digest_fact(connection, each), now) for each in contents]
    )


def allow_again(connection: Connection, content: str) -> None:
    """Record that a fact that was forgotten is wanted again."""
    connection.execute("DELETE FROM forgotten WHERE hash = ?", (_digest_fact(connection, content),))


def find_forgotten(connection: Connection, content: str) -> float | None:
    """Return when a fact was forgotten, in Unix seconds; None if it was not. Its line in a note will do."""
    found = connection.execute("SELECT at FROM forgotten WHERE hash = ?", (_digest_fact(connection, content),)).get
    return None if found is None else float(str(found))


def _digest_fact(connection: Connection, content: str) -> bytes:
    return make_digest(connection, fold(show(content)))


def load_lines(connection: Connection, note: str) -> dict[str, RecordedLine]:
    """Return what is recorded of a note, by item."""
    found = connection.execute("SELECT item, digest, marked FROM mirror WHERE note = ?", (note,))
    return {str(row[0]): RecordedLine(bytes(row[1]), bool(row[2])) for row in found}


def let_go(connection: Connection, ids: Iterable[str]) -> None:
    """Let nothing follow any more from it that the lines of items are gone."""
    connection.executemany("UPDATE mirror SET digest = x'' WHERE item = ?", [(each,) for each in ids])


def find_elsewhere(connection: Connection, note: str) -> set[str]:
    """Return the items of which other notes have a line."""
    return {str(row[0]) for row in connection.execute("SELECT item FROM mirror WHERE note <> ?", (note,))}


def put_lines(connection: Connection, note: str, lines: Mapping[str, RecordedLine]) -> None:
    """Record lines of a note."""
    connection.executemany(
        "INSERT OR REPLACE INTO mirror (item, note, digest, marked) VALUES (?, ?, ?, ?)",
        [(item, note, line.digest, int(line.marked)) for item, line in lines.items()],
    )


def find_unmirrored(connection: Connection, ids: Iterable[str]) -> list[str]:
    """Return the items of which no note has a line."""
    held = {str(row[0]) for row in connection.execute("SELECT item FROM mirror")}
    return [item for item in ids if item not in held]


def list_notes(connection: Connection) -> list[str]:
    """Return the paths of the notes that mirror items."""
    return [str(row[0]) for row in connection.execute("SELECT DISTINCT note FROM mirror ORDER BY note")]
