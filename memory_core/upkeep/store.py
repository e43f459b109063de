"""The file of `tidy`: what it has read of the notes, what it proposes, what was settled, and what was changed."""

from __future__ import annotations

import json
import secrets
import time
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import asdict
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple, cast

from memory_core.stores.sqlite.connections import Connection, FileKind, cut_log
from memory_core.stores.sqlite.database import Database, get_meta, set_meta
from memory_core.upkeep.outdated import Pair
from memory_core.upkeep.proposals import CitedLine, Proposal
from memory_core.upkeep.statements import Statement, Value

TIDY = FileKind(
    noun="file of tidy",
    application_id=0x4D454D54,  # "MEMT"
    repair="delete it, and run: memory-core tidy",
    retry="free some space, then run: memory-core tidy",
    empty="nothing is proposed yet",
    fill="run: memory-core tidy",
)
_FIRST = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE notes (                    -- as they were last read
  path   TEXT PRIMARY KEY,
  stamp  TEXT NOT NULL,
  hash   TEXT NOT NULL,
  marks  TEXT NOT NULL                  -- JSON: see findings.read_marks
) STRICT, WITHOUT ROWID;
CREATE TABLE statements (
  id     INTEGER PRIMARY KEY,
  path   TEXT NOT NULL,
  digest INTEGER NOT NULL,              -- the same for the same fact in other words of the same stems
  body   TEXT NOT NULL                  -- JSON of the statement
) STRICT;
CREATE INDEX statements_path ON statements (path);
CREATE INDEX statements_digest ON statements (digest) WHERE digest != 0;
CREATE TABLE terms (term INTEGER NOT NULL, statement INTEGER NOT NULL, PRIMARY KEY (term, statement)) STRICT, WITHOUT ROWID;
CREATE TABLE pairs (                    -- an older statement, and one that may replace it
  old    INTEGER NOT NULL,
  new    INTEGER NOT NULL,
  score  REAL NOT NULL,
  body   TEXT NOT NULL,                 -- JSON of the judgement
  PRIMARY KEY (old, new)
) STRICT, WITHOUT ROWID;
CREATE INDEX pairs_new ON pairs (new);
CREATE TABLE proposals (                -- kind: that of the proposal, or 'accepted' as long as its edit is not undone
  id     TEXT PRIMARY KEY,
  path   TEXT NOT NULL,
  kind   TEXT NOT NULL,
  body   TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX proposals_path ON proposals (path);
CREATE TABLE settled (id TEXT PRIMARY KEY, at REAL NOT NULL) STRICT, WITHOUT ROWID;  -- never again; ids are keyed hashes
CREATE TABLE edits (                    -- what was accepted; the text itself is in the note and in its history
  id       INTEGER PRIMARY KEY,
  at       REAL NOT NULL,
  proposal TEXT NOT NULL,
  path     TEXT NOT NULL,
  start    INTEGER NOT NULL,            -- byte of the note
  old      BLOB NOT NULL,
  new      BLOB NOT NULL,
  hash     BLOB NOT NULL,               -- of the note after the edit
  done     INTEGER NOT NULL             -- 0: begun, 1: made, 2: undone
) STRICT;
"""
_SECOND = """
ALTER TABLE pairs ADD COLUMN date TEXT NOT NULL DEFAULT '';  -- of the newer statement
ALTER TABLE pairs ADD COLUMN line TEXT;  -- a model's for the older one; '' where it words none, NULL where none was asked
CREATE TABLE verdicts (id INTEGER PRIMARY KEY, score REAL NOT NULL, line TEXT NOT NULL) STRICT;  -- of a model, by two texts
"""
AROUND = "~"  # before a stem that stands around a statement, not in it
# Of the rules: raised when statements are read or judged in another way, so that all notes are read anew.
VERSION = "11"


class Edit(NamedTuple):
    """A change of a note; see the table."""

    id: int
    proposal: str
    path: str
    start: int
    old: bytes
    new: bytes
    hash: bytes
    done: int


class TidyStore(Database):
    """One file of `tidy`. The constructor opens nothing.

    Args:
        path: The file, made by the first write.
        writable: False never makes or changes it.
    """

    def __init__(self, path: Path, *, writable: bool = True) -> None:
        super().__init__(path, TIDY, (_FIRST, _SECOND), writable=writable)

    def get_key(self) -> bytes:
        """Return the secret by which proposals are known, made at the first call."""
        with self.write() as connection:
            connection.execute("INSERT OR IGNORE INTO meta VALUES ('key', ?)", (secrets.token_hex(16),))
            return bytes.fromhex(str(get_meta(connection, "key")))

    def take_turn(self, name: str, seconds: float) -> bool:
        """Return True, and remember it, if the last time it did so for a name is long enough ago."""
        with self.write() as connection:
            last = get_meta(connection, name)
            if last is not None and 0 <= time.time() - float(last) < seconds:
                return False
            set_meta(connection, name, str(time.time()))
            return True

    def list_proposals(self, paths: Collection[str] | None = None) -> list[Proposal]:
        """Return what is proposed, the surest first; of some notes, or of all."""
        query = "SELECT body FROM proposals WHERE kind != 'accepted' AND id NOT IN (SELECT id FROM settled)"
        query += "" if paths is None else " AND path IN (SELECT value FROM json_each(?))"
        values = () if paths is None else (json.dumps([*paths]),)
        rows: list[Any] = self.ask(lambda connection: connection.execute(query, values).fetchall(), [])
        found = [load_proposal(str(body)) for (body,) in rows]
        return sorted(found, key=lambda each: (-each.score, each.path, each.line))

    def add_proposal(self, proposal: Proposal) -> None:
        """Add a proposal that somebody else makes; it is not listed if it was settled."""
        with self.write() as connection:
            connection.execute("INSERT OR REPLACE INTO proposals VALUES (?, ?, ?, ?)", _to_row(proposal))

    def is_settled(self, proposal_id: str) -> bool:
        """Return True for what is never to be proposed again."""
        with self.read() as connection:
            return bool(connection.execute("SELECT 1 FROM settled WHERE id = ?", (proposal_id,)).get)

    def settle(self, proposal_id: str, *, settled: bool = True) -> None:
        """Never propose this again, or do."""
        with self.write() as connection:
            connection.execute("DELETE FROM settled WHERE id = ?", (proposal_id,))
            if settled:
                connection.execute("INSERT INTO settled VALUES (?, ?)", (proposal_id, time.time()))

    def find_rejected(self) -> str | None:
        """Return the id of what was rejected last; None where an edit that stands was made since."""
        query = (
            "SELECT id FROM settled WHERE at > (SELECT coalesce(max(at), 0) FROM edits WHERE done = 1)"
            " ORDER BY at DESC LIMIT 1"
        )
        return self.ask(lambda connection: cast("str | None", connection.execute(query).get), None)

    def begin_edit(self, edit: Edit) -> int:
        """Record an edit that is about to be made; return its id."""
        with self.write() as connection:
            connection.execute(
                "INSERT INTO edits (at, proposal, path, start, old, new, hash, done) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (time.time(), *edit[1:]),
            )
            return int(connection.last_insert_rowid())

    def end_edit(self, edit: int, done: int) -> None:
        """Record that an edit was made (1), undone (2), or never made (-1); undone, it is proposed again."""
        with self.write() as connection:
            if done < 0:
                connection.execute("DELETE FROM edits WHERE id = ?", (edit,))
            else:
                connection.execute("UPDATE edits SET done = ? WHERE id = ?", (done, edit))
            query = (
                "UPDATE proposals SET kind = iif(? = 1, 'accepted', json_extract(body, '$.kind'))"
                " WHERE id = (SELECT proposal FROM edits WHERE id = ?)"
            )
            connection.execute(query, (done, edit))

    def list_edits(self, done: int) -> list[Edit]:
        """Return the edits in a state, the last one first."""
        query = "SELECT id, proposal, path, start, old, new, hash, done FROM edits WHERE done = ? ORDER BY id DESC"
        return self.ask(lambda connection: [Edit(*row) for row in connection.execute(query, (done,))], [])

    def purge(self, holds: Callable[[str], bool]) -> None:
        """Forget all that was read and proposed, and the edits whose text `holds` a text; leave no byte of it."""
        if not self.exists():
            return
        with self.write() as connection:
            Corpus(connection).clear()
            connection.execute("DELETE FROM proposals")
            for number, old, new in connection.execute("SELECT id, old, new FROM edits").fetchall():
                if any(holds(each.decode(errors="replace")) for each in (old, new) if isinstance(each, bytes)):
                    connection.execute("DELETE FROM edits WHERE id = ?", (number,))
        with self.maintain() as connection:
            connection.execute("VACUUM")
            cut_log(connection)

    def list_stamps(self) -> dict[str, str]:
        """Return the stamps of the notes that were read, by path; none where they were read by other rules."""
        query = "SELECT path, stamp FROM notes WHERE EXISTS (SELECT 1 FROM meta WHERE key = 'version' AND value = ?)"
        return self.ask(lambda connection: dict(connection.execute(query, (VERSION,))), {})


def load_proposal(body: str) -> Proposal:
    """Return a proposal from its JSON."""
    values = json.loads(body)
    return Proposal(**values | {"evidence": tuple(CitedLine(**each) for each in values["evidence"])})


def _to_row(proposal: Proposal) -> tuple[str, str, str, str]:
    return proposal.id, proposal.path, proposal.kind, json.dumps(asdict(proposal), ensure_ascii=False)


class Corpus:
    """The statements of all notes, within one write transaction.

    Args:
        connection: Of the transaction.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._run = connection.execute
        self.load = lru_cache(maxsize=20_000)(self._load)
        self.count_holders = lru_cache(maxsize=200_000)(self._count_holders)

    def clear(self) -> None:
        """Forget all notes."""
        self._run(
            "DELETE FROM notes; DELETE FROM statements; DELETE FROM terms; DELETE FROM pairs; DELETE FROM verdicts"
        )
        set_meta(self._connection, "version", VERSION)

    def remove(self, path: str) -> None:
        """Forget what a note says."""
        for number, body in self._run("SELECT id, body FROM statements WHERE path = ?", (path,)).fetchall():
            self._connection.executemany(
                "DELETE FROM terms WHERE term = ? AND statement = ?",
                [(term, number) for term in _list_terms(_to_statement(str(body)))],
            )
            self._run("DELETE FROM pairs WHERE old = ? OR new = ?", (number, number))
        self._run("DELETE FROM statements WHERE path = ?", (path,))
        self._run("DELETE FROM notes WHERE path = ?", (path,))

    def add(self, path: str, stamp: str, hash_: str, marks: str, statements: Iterable[Statement]) -> list[int]:
        """Add what a note says; return the ids of its statements."""
        self._run("INSERT INTO notes VALUES (?, ?, ?, ?)", (path, stamp, hash_, marks))
        added = []
        for statement in statements:
            body = json.dumps(statement, ensure_ascii=False)
            self._run("INSERT INTO statements (path, digest, body) VALUES (?, ?, ?)", (path, digest(statement), body))
            number = self._connection.last_insert_rowid()
            rows = [(term, number) for term in _list_terms(statement)]
            self._connection.executemany("INSERT OR IGNORE INTO terms VALUES (?, ?)", rows)
            added.append(number)
        return added

    def count(self) -> int:
        """Return the number of statements."""
        return int(self._run("SELECT count(*) FROM statements").get or 0)

    def _count_holders(self, word: str) -> int:
        """Return in how many statements a stem stands."""
        return int(self._run("SELECT count(*) FROM terms WHERE term = ?", (_hash(word),)).get or 0)

    def list_holders(self, word: str, around: str = "") -> list[int]:
        """Return the statements that hold a stem; those around which it stands, with `AROUND`."""
        found = self._run("SELECT statement FROM terms WHERE term = ?", (_hash(around + word),))
        return [number for (number,) in found]

    def _load(self, number: int) -> Statement:
        return _to_statement(str(self._run("SELECT body FROM statements WHERE id = ?", (number,)).get))

    def list_beside(self, number: int) -> list[Statement]:
        """Return a statement, and those right before and behind it that stand in the same text."""
        here = self.load(number)
        query = "SELECT id FROM statements WHERE path = ? AND id IN (?, ?)"
        numbers = [int(str(each)) for (each,) in self._run(query, (here.path, number - 1, number + 1))]
        # Of two, the later one opens no text.
        return [here, *(self.load(each) for each in numbers if "opens" not in self.load(max(each, number)).flags)]

    def add_pair(self, old: int, new: int, score: float, body: str) -> None:
        """Record that a statement may replace another, with the verdict of a model on two of these texts."""
        told = self._run("SELECT score, line FROM verdicts WHERE id = ?", (self._hash_texts(old, new),)).fetchall()
        row = (old, new, body, self.load(new).date, *(told[0] if told else (score, None)))
        self._run("INSERT OR REPLACE INTO pairs (old, new, body, date, score, line) VALUES (?, ?, ?, ?, ?, ?)", row)

    def judge_pair(self, old: int, new: int, score: float, line: str) -> None:
        """Record how a model has judged a pair, and how it worded the line; nothing for a pair that is gone."""
        if self._run("SELECT 1 FROM pairs WHERE old = ? AND new = ?", (old, new)).get:
            self._run("INSERT OR REPLACE INTO verdicts VALUES (?, ?, ?)", (self._hash_texts(old, new), score, line))
            self._run("UPDATE pairs SET score = ?, line = ? WHERE old = ? AND new = ?", (score, line, old, new))

    def _hash_texts(self, old: int, new: int) -> int:
        said = repr((self.load(old).text, self.load(new).text))
        return int.from_bytes(blake2b(said.encode(), digest_size=7).digest())

    def list_pairs(self) -> list[Pair]:
        """Return all pairs."""
        return [Pair(*row) for row in self._run("SELECT old, new, date, score, body, line FROM pairs")]

    def list_repeated(self) -> Iterator[list[int]]:
        """Yield the statements that say the same, those of each fact together."""
        for (numbers,) in self._run(
            "SELECT group_concat(id) FROM statements WHERE digest != 0 GROUP BY digest HAVING count(*) > 1"
        ).fetchall():
            yield sorted(map(int, str(numbers).split(",")))

    def get_hash(self, path: str) -> str:
        """Return the hash of a note's bytes; "" if it was not read."""
        return str(self._run("SELECT hash FROM notes WHERE path = ?", (path,)).get or "")

    def list_marks(self) -> list[tuple[str, str]]:
        """Return the paths of all notes, and their marks as JSON."""
        return [(str(path), str(marks)) for path, marks in self._run("SELECT path, marks FROM notes")]

    def list_proposed(self) -> list[Proposal]:
        """Return what others than the rules have proposed and nobody has accepted."""
        return [load_proposal(str(body)) for (body,) in self._run("SELECT body FROM proposals WHERE kind = 'proposed'")]

    def replace_proposals(self, proposals: Sequence[Proposal]) -> None:
        """Replace what is proposed."""
        self._run("DELETE FROM proposals WHERE kind != 'accepted'")
        self._connection.executemany("INSERT OR REPLACE INTO proposals VALUES (?, ?, ?, ?)", [*map(_to_row, proposals)])


def digest(statement: Statement) -> int:
    """Return a number that statements of the same words and values share; 0 for one that says little."""
    words = sorted(statement.own)
    values = sorted(f"{value.kind} {value.text}" for value in statement.values)
    if len(words) + len(values) < 4 or "event" in statement.flags:
        return 0
    return int.from_bytes(blake2b(repr((words, values)).encode(), digest_size=7).digest())


def _list_terms(statement: Statement) -> list[int]:
    around = {*statement.near, *statement.title, *statement.context} - {*statement.own}
    return [*map(_hash, statement.own), *(_hash(AROUND + word) for word in around)]


def _hash(word: str) -> int:
    return zlib.crc32(word.encode())


def _to_statement(body: str) -> Statement:
    *parts, values, names, flags = (tuple(each) if isinstance(each, list) else each for each in json.loads(body))
    return Statement._make([*parts, tuple(Value(*each) for each in values), names, flags])
