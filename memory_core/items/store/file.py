"""The items file as the rest of the room uses it: commands and questions, each in a transaction of its own."""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from memory_core.config import settings
from memory_core.errors import InvalidArgument, MemoryClosed, NotIndexed, StoreCorrupt, SyncBusy
from memory_core.items.mirror import MirrorChanges, MirrorLine, RecordedLine, merge, show
from memory_core.items.records import Draft, Item, ItemHit, Outcome, Written, check_draft, take_over
from memory_core.items.store import matching, rows, salvage
from memory_core.items.store.rows import Filter
from memory_core.records import AUTHORS, OUTSIDERS, Finding, Space
from memory_core.stores.sqlite import files
from memory_core.stores.sqlite.connections import Connection, FileKind, open_reader, translate_errors
from memory_core.stores.sqlite.database import NO_TEXT, Database, get_meta, set_meta, transaction
from memory_core.stores.values import digest

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from memory_core.items.likeness import Words

    Vector = tuple[Space, NDArray[np.float32]]


DROP_ASIDE = "delete it, and its -wal and -shm, once you do not need it: nothing else does"
# The tables of facts, then those of the mirror in daily notes, then the places where facts were said first.
MIGRATIONS = tuple(
    Path(__file__).with_name(f"items_{number}.sql").read_text(encoding="utf-8") for number in (1, 2, 3, 4)
)
ITEMS = FileKind(
    noun="items file",
    application_id=0x4D454D49,  # "MEMI"
    repair="run: memory-core items list (it sets the file aside and saves what can be read)",
    retry="free some space, then try again",
    empty="there are no items yet",
    fill="add one: memory-core items add TEXT",
)
WAIT_SECONDS = 30.0  # that a write waits for the writes of other processes

log = logging.getLogger(__name__)


class ItemsFile(Database):
    """Questions and commands on one items file, each in a transaction of its own. Without a file, questions find nothing.

    The constructor opens nothing. May be used from several threads.

    Args:
        path: The file, made by the first write.
        writable: False opens the file for reading only, and never makes, mends or changes it.
        vec0: The settings of sqlite-vec.
        clock: Unix seconds.
    """

    def __init__(
        self,
        path: Path,
        *,
        writable: bool = True,
        vec0: settings.Vector | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        super().__init__(path, ITEMS, MIGRATIONS, writable=writable)
        self._vec0 = vec0 or settings.Vector()
        self._now = clock
        self.rescued: str | None = None  # a sentence about the last rescue by this process

    @contextlib.contextmanager
    def write(self) -> Iterator[Connection]:
        """Yield a connection inside one write transaction: committed after the block, rolled back by any error.

        Raises:
            StoreReadOnly, StoreFull, StoreCorrupt, StoreTooNew: See `sqlite.translate_errors`.
            SyncBusy: Other processes wrote for longer than `WAIT_SECONDS`.
        """
        with self.maintain() as connection:
            until = time.monotonic() + WAIT_SECONDS
            while True:
                with contextlib.ExitStack() as stack:
                    try:
                        stack.enter_context(transaction(connection, self.path, ITEMS))
                    except SyncBusy:
                        if time.monotonic() >= until:
                            raise
                        continue
                    yield connection
                return

    def prepare(self, connection: Connection) -> None:
        """See `Database`."""
        connection.pragma("secure_delete", True)
        connection.pragma("synchronous", "FULL")  # unlike an index, nothing can make this file anew

    def finish(self, connection: Connection) -> None:
        """Finish a wipe that another process could not finish; not waited for."""
        if get_meta(connection, "wipe") is not None:
            self.rewrite(connection)

    def rewrite(self, connection: Connection) -> bool:
        """See `Database`. The keyword index keeps words as marks between its pages until it is written anew.

        What this could not do, the next process does that opens the file for writing, also after this one was killed:
        `rows.delete` leaves a mark, which is removed now.
        """
        mark = get_meta(connection, "wipe")
        with contextlib.suppress(SyncBusy), translate_errors(self.path, ITEMS):
            connection.execute("INSERT INTO items_fts (items_fts) VALUES ('optimize')")
            if super().rewrite(connection):
                # The mark of another process, which has deleted something since then, stays.
                connection.execute("DELETE FROM meta WHERE key = 'wipe' AND value = ?", (mark,))
                return True
        return False

    @contextlib.contextmanager
    def _watch(self) -> Iterator[None]:
        """Refuse calls of a memory that was closed, and look at a file before its first use."""
        if self._closed:
            raise MemoryClosed
        self.check()
        with super()._watch():
            try:
                yield
            except (ValueError, OverflowError) as error:  # also of a text that is not UTF-8
                problem = self.find_damage()
                if problem is None:
                    raise
                raise StoreCorrupt(self.path, f"the items file is damaged: {problem}", action=ITEMS.repair) from error

    def find_damage(self) -> str | None:
        """Return how the file is damaged, also if only a row shows it; see `Database.find_damage`."""
        problem = super().find_damage()
        if problem is not None or not files.measure(self.path):
            return problem
        with contextlib.closing(open_reader(self.path, ITEMS)) as connection, translate_errors(self.path, ITEMS):
            try:
                for table in filter(lambda name: connection.table_exists(None, name), salvage.TABLES):
                    for row in connection.execute(f"SELECT {', '.join(salvage.TABLES[table])} FROM {table}"):
                        if table == "items" and salvage.mend(row) != row:
                            return "an item has a value that none can have"
            except UnicodeDecodeError:
                return NO_TEXT
        return None

    def on_damage(self) -> Path | None:
        """Set a damaged file aside, and save what can be read into a new one, so that the next call can use it."""
        saved = 0

        def rescue(fresh: Path) -> None:
            nonlocal saved
            with contextlib.closing(ItemsFile(fresh)) as store, store.write() as connection:
                saved = salvage.restore(connection, self.path, ITEMS)

        found = self.set_aside(rescue)
        if found is None:
            return None
        aside, problem = found
        self.rescued = f"the items file was damaged ({problem}); {saved} items were saved, the old file is {aside.name}"
        log.warning("%s: %s", self.path, self.rescued)
        return aside

    def list_problems(self) -> list[Finding]:
        """Return a finding for a file that is damaged, and for every damaged file that was set aside; nothing is written."""
        told = "the items file was damaged and set aside, and what could be read was saved"
        found = [Finding("items", "warn", f"{told}: {aside}", DROP_ASIDE) for aside in self.list_set_aside()]
        if problem := self.find_damage():
            found.append(Finding("items", "fail", f"{self.path} is damaged: {problem}", self.kind.repair))
        return found

    def put(
        self,
        draft: Draft,
        *,
        agent: str,
        vector: Vector | None,
        words: Words | None,
        corrects: bool,
        cued: bool,
    ) -> Written:
        """Write a fact: add it, or reinforce the item that says the same.

        Args:
            draft: The fact.
            agent: Who writes.
            vector: Its embedding; None leaves it to the backfill.
            words: The static model; None compares exact texts only.
            corrects: The item that the fact corrects is marked as superseded; a guess corrects none.
            cued: It was said to correct one.
        """
        now = self._now()
        with self.write() as connection:
            key = rows.find_equal(connection, draft.scope, draft.content)
            named = [each for each in rows.find_keys(connection, draft.supersedes) if each != key]
            repeated, corrected, near = key, list[int](), list[int]()
            if key is None and words is not None:
                repeated, corrected, near = matching.relate(
                    connection, draft, matching.compare(connection, vector, self._vec0), words,
                    look_for_corrections=corrects and not draft.pending and draft.origin.by not in OUTSIDERS,
                    cued=cued or draft.kind == "correction",
                )  # fmt: skip
            if repeated is not None and repeated not in named:
                if draft.origin.by not in OUTSIDERS:
                    said = now if draft.said_at is None else draft.said_at
                    rows.revive(connection, repeated, said=said, now=now)
                rows.reinforce(connection, repeated, draft, now=now)
                same = rows.load_by_keys(connection, [repeated])[repeated]
                old = rows.supersede(connection, named, same.id, now=now)
                return Written(item=same, outcome="reinforced", superseded=old, embedded=vector is not None)
            rows.allow_again(connection, draft.content)
            corrected = list(dict.fromkeys([*named, *corrected]))
            draft = take_over(draft, rows.load_by_keys(connection, corrected).values())
            item = rows.insert(connection, draft, agent=agent, now=now)
            if vector is not None:
                matching.put_embeddings(connection, vector[0], [digest(draft.content)], vector[1][None])
            old = rows.supersede(connection, corrected, item.id, now=now)
            outcome: Outcome = "superseded" if old else "added"
            held = rows.load_by_keys(connection, near)
            similar = tuple(held[each] for each in near if each not in corrected)
            return Written(item=item, outcome=outcome, superseded=old, similar=similar, embedded=vector is not None)

    def restore(self, items: Iterable[Item]) -> int:
        """Insert exported items as they were; return how many were new."""
        with self.write() as connection:
            before = rows.count(connection, Filter())
            for item in items:
                rows.allow_again(connection, item.content)
                rows.restore(connection, item)
            return rows.count(connection, Filter()) - before

    def take_over(self, merge: Callable[[Mapping[str, Item]], Mapping[str, Item]]) -> tuple[int, int]:
        """Hold what a function makes of the items, see `Items.take_over`; return how many were changed and how many are gone."""
        with self.write() as connection:
            listed = rows.load_page(connection, Filter(), limit=-1, offset=0)
            held = {item.id: replace(item, recalled=None) for item in listed}
            items = merge(held)
            changed = [item for item in items.values() if held.get(item.id) != item]
            gone = rows.delete(connection, held.keys() - items.keys())
            rows.remember_forgotten(connection, [item.content for item in gone], now=self._now())
            for item in changed:
                rows.allow_again(connection, item.content)
                rows.overwrite(connection, item)
            return len(changed), len(gone)

    def find(
        self,
        question: str | None,
        vector: Vector | None,
        wanted: Filter,
        *,
        formula: str,
        least_cosine: float,
        limit: int,
    ) -> tuple[list[ItemHit], bool]:
        """Return the items that answer a question by meaning or by words, the best first; and True if some lack an embedding.

        Args:
            question: Its words; None looks for none.
            vector: The embedding of the question; None compares none.
            wanted: The items that may answer.
            formula: See `matching.measure_similarity`.
            least_cosine: Cosines below are those of unrelated texts.
            limit: The most hits.
        """
        try:
            with self.read() as connection:
                asked = rows.list_standings(connection, wanted)
                keys = {item.key for item in asked}
                former = [each for each in rows.list_former(connection) if each[1] in keys]
                among = [*asked, *(item for item, _ in former)]
                cosines = matching.compare(connection, vector, self._vec0)
                words = matching.find_by_words(connection, among, question) if question else []
                best = matching.rank(
                    among, cosines, words, heirs={item.key: heir for item, heir in former}, formula=formula,
                    least_cosine=least_cosine, now=self._now(), limit=limit,
                )  # fmt: skip
                items = rows.load_by_keys(connection, [key for key, *_ in best])
        except NotIndexed:
            return [], False
        hits = [ItemHit(item=items[key], score=score, similarity=similarity) for key, score, similarity in best]
        hits.sort(key=lambda hit: (-hit.score, AUTHORS.index(hit.item.origin.by)))
        return hits, any(item.key not in cosines for item in asked)

    def get_many(self, ids: Iterable[str]) -> list[Item]:
        """Return items in the order of their ids; unknown ids are left out."""
        return self.ask(lambda connection: rows.load_by_ids(connection, ids), [])

    def load_page(self, wanted: Filter, *, limit: int = -1, offset: int = 0) -> list[Item]:
        """Return items, the one said last first; a negative limit, as in SQLite, is none."""
        return self.ask(lambda connection: rows.load_page(connection, wanted, limit=limit, offset=offset), [])

    def count(self, wanted: Filter) -> int:
        """Count items."""
        return self.ask(lambda connection: rows.count(connection, wanted), 0)

    def promote(self, ids: Iterable[str]) -> int:
        """Turn pending items into settled ones, and let superseded ones hold again; return how many were either."""
        wanted, now = list(ids), self._now()
        with self.write() as connection:
            rows.let_go(connection, wanted)  # else the next change of the note would hide them again
            keys = rows.find_keys(connection, wanted)
            revived = [key for key in keys if rows.revive(connection, key, said=now, now=now)]
            return len({*revived, *rows.promote(connection, wanted, now=now)})

    def demote(self, ids: Iterable[str]) -> None:
        """Turn items into pending ones."""
        with self.write() as connection:
            rows.hide(connection, ids, now=self._now())

    def mark_recalled(self, ids: Iterable[str]) -> None:
        """Record that items were put in front of a model now."""
        with self.write() as connection:
            rows.mark_recalled(connection, ids, self._now())

    def delete(self, ids: Iterable[str], *, session: str | None = None) -> list[Item]:
        """Delete items and what they have replaced, and return them; `wipe` then removes their bytes.

        Args:
            ids: Of the items.
            session: Forget also that this session has said anything; items that others said, too, stay, and so does what this
                session has replaced.
        """
        if not self.exists():
            return []
        with self.write() as connection:
            alone = rows.leave_session(connection, session) if session is not None else []
            gone = rows.delete(connection, rows.add_replaced(connection, ids) if session is None else [*ids, *alone])
            rows.remember_forgotten(connection, [item.content for item in gone], now=self._now())
            return gone

    def list_replaced(self, ids: Iterable[str]) -> list[Item]:
        """Return items, and those that they have replaced."""
        return self.ask(lambda connection: rows.load_by_ids(connection, rows.add_replaced(connection, ids)), [])

    def find_space(self, space: Space) -> Space | None:
        """Return a space as the file knows it, with its dimensions; None when it holds nothing of it."""
        found = self.ask(lambda connection: matching.find_space(connection, space), None)
        return None if found is None else found[1]

    def count_pending(self, space: Space) -> int:
        """Count the items without an embedding in a space."""
        return len(self.find_pending(space))

    def find_pending(self, space: Space, limit: int = -1) -> list[tuple[bytes, str]]:
        """Return contents without an embedding in a space, with their hashes."""
        return self.ask(lambda connection: matching.find_pending(connection, space, limit), [])

    def put_embeddings(self, space: Space, hashes: Sequence[bytes], embedded: NDArray[np.float32]) -> None:
        """Store embeddings of contents."""
        with self.write() as connection:
            matching.put_embeddings(connection, space, hashes, embedded)

    # What notes mirror of the items.

    def was_forgotten(self, content: str, since: float) -> bool:
        """Return True if a fact was forgotten at that time, in Unix seconds, or after it."""
        at = self.ask(lambda connection: rows.find_forgotten(connection, content), None)
        return at is not None and at >= since

    def list_notes(self) -> list[str]:
        """Return the paths of the notes that mirror items."""
        return self.ask(rows.list_notes, [])

    def lacks_lines(self, note: str, lines: Sequence[MirrorLine]) -> bool:
        """Return True if lines that were recorded of a note are gone from it, or other ones."""
        with self.read() as connection:
            known = rows.load_lines(connection, note)
            texts = {rows.make_digest(connection, line.text) for line in lines if line.id is None}
        ids = {line.id for line in lines}
        return any(item not in ids and (row.marked or row.digest not in texts) for item, row in known.items())

    def merge_note(
        self, note: str, lines: Sequence[MirrorLine], others: Sequence[MirrorLine], *, is_whole: bool
    ) -> MirrorChanges:
        """Take over what a person has changed in a note; texts without an item, and what is gone, are left to the caller.

        Args:
            note: Its path.
            lines: Its lines about items.
            others: The lines of the other notes, where lines of this one are gone.
            is_whole: See `mirror.merge`.
        """
        with self.write() as connection:
            known = rows.load_lines(connection, note)
            ids = [*known, *(line.id for line in lines if line.id is not None)]
            items = {item.id: item for item in rows.load_by_ids(connection, ids)}

            def digest(text: str) -> bytes:
                return rows.make_digest(connection, text)

            changes = merge(
                lines, known, {each: show(item.content) for each, item in items.items()},
                is_whole=is_whole, pending={each for each, item in items.items() if item.pending}, others=others,
                elsewhere=rows.find_elsewhere(connection, note), digest=digest,
                is_forgotten=lambda text: rows.find_forgotten(connection, text) is not None,
            )  # fmt: skip
            now = self._now()
            rows.promote(connection, changes.seen, now=now)  # lines that were gone are back
            for item_id, content in changes.edited.items():
                try:
                    draft = check_draft(Draft(content=content, tags=items[item_id].tags))
                except InvalidArgument:
                    changes.refused.append(item_id)
                else:
                    rows.edit(connection, items[item_id], draft, now=now)
            rows.hide(connection, [*changes.hidden, *changes.refused], now=now)
            said = changes.agreed | changes.edited
            agreed = {
                each: RecordedLine(digest(text), True) for each, text in said.items() if each not in changes.refused
            }
            rows.put_lines(connection, note, agreed)  # what was refused is an edit again next time
            return changes

    def record_added(self, note: str, added: Sequence[tuple[str, str]]) -> None:
        """Record lines that a person has written, each with its item.

        A line that says what an item with a line says already is recorded, too, under a name of its own: nothing follows from
        it later.
        """
        with self.write() as connection:
            for item, text in added:
                digest = rows.make_digest(connection, text)
                held = not rows.find_unmirrored(connection, [item])
                rows.put_lines(
                    connection, note, {f"line:{digest.hex()}" if held else item: RecordedLine(digest, False)}
                )

    def record_lines(self, note: str, lines: Mapping[str, str]) -> None:
        """Record the lines with ids that a note has, by item."""
        with self.write() as connection:
            held = {each: RecordedLine(rows.make_digest(connection, text), True) for each, text in lines.items()}
            rows.put_lines(connection, note, held)

    def find_unmirrored(self, ids: Iterable[str]) -> list[str]:
        """Return the items of which no note has a line."""
        with self.read() as connection:
            return rows.find_unmirrored(connection, ids)

    def load_outage(self) -> str | None:
        """Return the record of the provider's outage, see `OutageRecord`; None if there is none."""
        with self.read() as connection:
            return get_meta(connection, "outage")

    def save_outage(self, record: str | None) -> None:
        """Replace or remove the record of the provider's outage; without a file it is not worth one."""
        if not self.exists():
            raise NotIndexed("there are no items yet")
        with self.write() as connection:
            set_meta(connection, "outage", record)
