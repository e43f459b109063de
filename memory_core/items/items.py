"""`Items`: the facts of one agent, for scripts, tools and the command line."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from memory_core.config.agent import AgentConfig
from memory_core.config.environment import quote_words
from memory_core.embeddings.vectors import DEFAULT_CALIBRATION
from memory_core.errors import InvalidArgument, MemoryCoreError, StoreReadOnly, expect
from memory_core.items.embedder import ItemEmbedder
from memory_core.items.mirror import Mirror
from memory_core.items.records import (
    PROGRAM,
    Conditions,
    Draft,
    Forgotten,
    Item,
    ItemAnswer,
    ItemHit,
    Memorized,
    Written,
    check_draft,
    check_text,
    check_texts,
)
from memory_core.items.store.file import ItemsFile
from memory_core.items.store.rows import Filter
from memory_core.records import Access, KeySources, Origin, ProgressCallback
from memory_core.sources.journal import Journal
from memory_core.text.dates import get_day
from memory_core.text.folding import fold
from memory_core.text.periods import find_period
from memory_core.threads import NoAnswer, start_call, wait_for

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from memory_core.completions import AsyncComplete, Complete
    from memory_core.items.likeness import Words
    from memory_core.records import Calibration

    Embedding = Sequence[float] | NDArray[np.float32]

log = logging.getLogger(__name__)

MAX_LIMIT = 1000
READ_ONLY = "this session may not write items"
SAMPLED = 16  # items that tell the language of all
MARK_SECONDS = 0.5  # that an answer waits until it is recorded that items were recalled
_BEING_READ = "another program reads the items file now: the next command that writes it overwrites the rest"


class Items:
    """Facts in one file. The constructor opens nothing; all methods may be called from several threads.

    Every method raises a subclass of `MemoryCoreError` when the file cannot be used.

    Args:
        config: The agent's.
        keys: Where the provider's key comes from.
        access: "rw" writes, "ro" only reads.
        clock: Unix seconds.
    """

    def __init__(
        self,
        config: AgentConfig,
        *,
        keys: KeySources | None = None,
        access: Access = "rw",
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._config = config
        self._keys = keys or KeySources()
        self._clock = clock
        self._writable = access == "rw"
        self._file = ItemsFile(
            self._config.items_path, writable=self._writable, vec0=self._config.search.store.vector, clock=self._clock
        )
        self._embedder = ItemEmbedder(self._config, self._keys, self._file)
        self.mirror = Mirror(self, self._file, self._config)

    @property
    def path(self) -> Path:
        """The file; need not exist."""
        return self._file.path

    @property
    def warning(self) -> str | None:
        """A sentence about a damaged file that was set aside; None if nothing is amiss."""
        return self._file.rescued

    @property
    def scope(self) -> str:
        """The scope of the tools, and the default everywhere else."""
        return self._config.search.items.scope

    @property
    def time_zone(self) -> str | None:
        """The configured time zone; None means this machine's."""
        return self._config.search.time_zone

    def get_day(self, seconds: float) -> date:
        """Return the date at an instant in Unix seconds, by the configured clock."""
        return get_day(self.time_zone, seconds)

    @property
    def words(self) -> Words | None:
        """The static model's knowledge of words; None where that model is not installed."""
        return self._embedder.words

    def find_calibration(self, question: str) -> Calibration | None:
        """Return the calibration of the provider that serves, for one question; None where words alone decide."""
        return self._embedder.find_calibration(question, self._sample)

    def _sample(self) -> str:
        wanted = Filter(scope=self._config.search.items.scope, settled=True)
        return "\n".join(item.content for item in self._file.load_page(wanted, limit=SAMPLED))

    def write(
        self,
        content: str,
        *,
        scope: str | None = None,
        tags: Sequence[str] = (),
        kind: str = "fact",
        pending: bool = False,
        origin: Origin = PROGRAM,
        said_at: float | None = None,
        embedding: Embedding | None = None,
        corrects: bool = False,
        supersedes: Sequence[str] = (),
    ) -> Written:
        """Write one fact. The same fact in the same scope is reinforced, not written twice.

        Args:
            content: One or two sentences, at most 2,000 characters.
            scope: Where it belongs; None is `memorySearch.items.scope`.
            tags: Words to filter by.
            kind: See `Item.kind`.
            pending: It is a guess.
            origin: Where it was said, and by whom.
            said_at: Unix seconds; None is now.
            embedding: Its vector, if the caller has computed it with the configured model.
            corrects: Look for the item that this fact corrects, and mark it as superseded.
            supersedes: The ids of items that it corrects.

        Raises:
            InvalidArgument: An argument is no such thing, the content empty, too long or a secret, or the embedding does not fit.
        """
        draft = Draft(
            content=content, scope=self.scope if scope is None else scope, tags=check_texts("tags", tags), kind=kind,
            pending=pending, origin=origin, said_at=said_at, supersedes=tuple(check_texts("supersedes", supersedes)),
        )  # fmt: skip
        embeddings = None if embedding is None else [embedding]
        return self.write_many([draft], embeddings=embeddings, corrects=corrects, cued=corrects)[0]

    def write_many(
        self,
        drafts: Sequence[Draft],
        *,
        embeddings: Sequence[Embedding] | None = None,
        corrects: bool = False,
        cued: bool = False,
    ) -> list[Written]:
        """Write several facts with one request for their embeddings; see `write`.

        Args:
            drafts: The facts.
            embeddings: Their vectors, if the caller has computed them.
            corrects: Look for the item that each corrects.
            cued: Somebody has said that each corrects one; otherwise that must show from its words, or its kind.

        Raises:
            InvalidArgument: One of them cannot be written; then none is.
        """
        if not self._writable:
            raise StoreReadOnly(self.path, READ_ONLY)
        checked = [check_draft(draft) for draft in drafts]
        if not checked:
            return []
        if embeddings is not None:
            given = [self._embedder.check_given(each) for each in embeddings]
            vectors, problem = dict(enumerate(given)), None
        else:
            embedded = self._embedder.embed([draft.content for draft in checked])
            problem, space = embedded.problem, embedded.space
            vectors = {number: (space, row) for number, row in embedded.rows.items()} if space else {}
        written = []
        for number, draft in enumerate(checked):
            change = self._file.put(
                draft,
                agent=self._config.agent,
                vector=vectors.get(number),
                words=self._embedder.words,
                corrects=corrects,
                cued=cued,
            )
            written.append(change if number in vectors else replace(change, warning=problem))
        if problem is not None:
            self._embedder.start()
        return written

    def memorize(
        self,
        conversation: Sequence[Mapping[str, Any]],
        complete: Complete | AsyncComplete | None = None,
        *,
        scope: str | None = None,
        session: str | None = None,
        recalled: frozenset[str] = frozenset(),
        first: int = 0,
        max_tokens: int = 4000,
        max_seconds: float = 60.0,
    ) -> Memorized:
        """Keep what an exchange teaches: preferences, decisions, dates, names, corrections, and what is to be remembered.

        Only the user's words count. Nothing is taken from tools, from memory, or from what a host has put into messages.

        Args:
            conversation: Messages in OpenAI's form, the oldest first. A message may have `time` or `timestamp` (ISO 8601, or
                Unix seconds or milliseconds), and a true `recalled` if its text comes from memory.
            complete: The host's model, synchronous or not; it is asked once. Without it, or when its answer cannot be used,
                careful rules find the facts.
            scope: Where the facts belong; None is `memorySearch.items.scope`.
            session: The key of the session. A fact said in two sessions counts more, and is no guess any more.
            recalled: Fingerprints of what the session was shown from memory, `text.paragraphs.fingerprint_recalled`.
            first: The index of the first message to learn from; those before it are context.
            max_tokens: The most tokens that are read; the last messages are kept.
            max_seconds: How long the model may take.

        Raises:
            InvalidArgument: The conversation is no list, the session's key no text, or a message has no known role.
            StoreError: The file cannot be written.
        """
        from memory_core.completions import check_complete
        from memory_core.items.capture.memorizing import memorize

        _check_conversation(conversation, session)
        check_complete(complete)
        if not self._writable:
            raise StoreReadOnly(self.path, READ_ONLY)
        return memorize(
            self, conversation, complete, scope=self.scope if scope is None else scope,
            session=session, recalled=recalled, first=first, now=self._clock(), max_tokens=max_tokens,
            max_seconds=max_seconds,
        )  # fmt: skip

    def query(
        self,
        text: str | None = None,
        *,
        embedding: Embedding | None = None,
        limit: int = 6,
        seconds: float | None = None,
        today: date | None = None,
        **conditions: Unpack[Conditions],
    ) -> ItemAnswer:
        """Return the items that answer a question, ranked by similarity times salience; of a period alone, what was said then.

        Args:
            text: The question; its words count besides its meaning.
            embedding: Its vector, if the caller has computed it with the configured model.
            limit: The most hits.
            seconds: How long the question's embedding may take; None is `query.embedTimeoutMs`.
            today: The day from which "yesterday" is counted; None takes no words as a period.
            conditions: Which items may answer; without a scope those of `memorySearch.items.scope`.

        Raises:
            InvalidArgument: There is neither text nor embedding, or the embedding does not fit.
        """
        check_text("text", text)
        if embedding is None and not (text and text.strip()):
            raise InvalidArgument("query", "expected a question or an embedding")
        _check_limit(limit)
        if conditions.get("scope") is None:
            conditions["scope"] = self.scope
        wanted = _make_filter(settled=True, **conditions)
        named = find_period(text, today) if text and today else None
        if named is not None and named.alone:
            items = (each for each in reversed(self._file.load_page(wanted)) if self.get_day(each.said) in named.period)
            if hits := tuple(ItemHit(item=each, score=1.0, similarity=1.0) for each in islice(items, limit)):
                return ItemAnswer(hits=hits, strategy="keyword")
        vector, warning, calibration = None, None, None
        if embedding is not None:
            vector, calibration = self._embedder.check_given(embedding), self.find_calibration(text or "")
        elif text is not None and self._file.path.exists() and (calibration := self.find_calibration(text)):
            found = self._embedder.embed_question(text, seconds=seconds)
            vector, warning = (None, found) if isinstance(found, str) else (found, None)
        settings = self._config.search.items
        least = (calibration or DEFAULT_CALIBRATION).floor
        found_hits, lacking = self._file.find(
            text, vector, wanted, formula=settings.similarity, least_cosine=least, limit=limit
        )
        if vector is not None and lacking and self._writable and settings.enabled:
            self._embedder.start()
        return ItemAnswer(
            hits=tuple(found_hits), strategy="keyword" if vector is None else "embedding", warning=warning
        )

    def get(self, item_id: str) -> Item | None:
        """Return an item; None if there is none with this id."""
        return next(iter(self.get_many([item_id])), None)

    def get_many(self, ids: Iterable[str]) -> list[Item]:
        """Return items in the order of their ids; unknown ids are left out."""
        return self._file.get_many(check_texts("ids", ids))

    def list(self, *, limit: int = 100, offset: int = 0, **conditions: Unpack[Conditions]) -> Sequence[Item]:
        """Return items, the one said last first, guesses and superseded ones among them.

        Args:
            limit: The most items.
            offset: How many are passed over.
            conditions: Which items; without a scope those of every scope.
        """
        _check_limit(limit)
        return self._file.load_page(_make_filter(**conditions), limit=limit, offset=max(offset, 0))

    def list_standing(self, *, limit: int) -> Sequence[Item]:
        """Return the user's own settled preferences in the scope of the tools, the one said last first."""
        found = self._file.load_page(Filter(scope=self._config.search.items.scope, settled=True))
        return [item for item in found if item.kind == "preference" and item.origin.by == "user"][:limit]

    def list_personal(self) -> Iterator[Item]:
        """Yield the settled preferences that a private project keeps and the person's items lack; here none."""
        yield from ()

    def share(self, ids: Sequence[str]) -> None:
        """Give some of those to the person's items; they stay in the project, too."""

    def count(self, **conditions: Unpack[Conditions]) -> int:
        """Count the items that `list` would return without a limit."""
        return self._file.count(_make_filter(**conditions))

    def delete(self, item_id: str) -> bool:
        """Delete one item with all that only it uses; return False if there is none with this id."""
        return bool(self.forget(ids=[item_id]).items)

    def forget(
        self,
        *,
        ids: Sequence[str] = (),
        query: str | None = None,
        session: str | None = None,
        after: float | None = None,
        before: float | None = None,
        scope: str | None = None,
        dry_run: bool = False,
    ) -> Forgotten:
        """Delete items for good, and the older ones that they replaced: text, embeddings, and words in the keyword index.

        Of several conditions all must hold. When one session is forgotten, an item that other sessions have said, too, stays, and
        so does an older one that it replaced.

        Args:
            ids: These items.
            query: Items that hold all of these words.
            session: What only this session has said.
            after, before: Unix seconds between which an item was last said, `before` not included.
            scope: Only in this scope; None is all of them.
            dry_run: Only list them.

        Raises:
            InvalidArgument: No condition was given, or one is no such thing.
        """
        ids, wanted = check_texts("ids", ids), _make_filter(scope=scope, session=session, after=after, before=before)
        check_text("query", query)
        found = _find_items(self._file, wanted, ids=ids, query=query)
        if not dry_run and not self._writable:
            raise StoreReadOnly(self.path, READ_ONLY)
        whole_session = not ids and wanted == Filter(session=session) and query is None
        replaced = self._file.list_replaced([item.id for item in found])
        kept = [item for item in replaced if item not in found] if whole_session else []
        is_person = self._config.project is None
        if dry_run:
            listed = found if whole_session else replaced
            remains = _list_remains(self._config, self._file, listed, kept)
            return Forgotten(items=tuple(listed), dry_run=True, remains=remains, of_person=is_person and bool(listed))
        gone = self._file.delete([item.id for item in found], session=session if whole_session else None)
        remains = _list_remains(self._config, self._file, gone, kept)
        if gone and not self._file.wipe():
            remains = (*remains, _BEING_READ)
        return Forgotten(items=tuple(gone), dry_run=False, remains=remains, of_person=is_person and bool(gone))

    def forget_learned(self, places: Collection[tuple[str, int]]) -> tuple[Item, ...]:
        """Forget the items that were learned from messages which are forgotten, and that no other session has said.

        Args:
            places: The paths of the messages, as search shows them, and the lines.
        """
        learned = [item for item in self._file.load_page(Filter()) if places and not item.reinforced]
        ids = [item.id for item in learned if (item.origin.path, item.origin.line) in places]
        return self.forget(ids=ids).items if ids else ()

    def was_forgotten(self, draft: Draft) -> bool:
        """Return True if a fact has been forgotten since it was said; one without a time is said now."""
        return draft.said_at is not None and self._file.was_forgotten(draft.content, draft.said_at)

    def promote(self, ids: Sequence[str]) -> int:
        """Let pending items count as facts, and superseded ones again in place of what corrects them; return how many now do."""
        if not self._writable:
            raise StoreReadOnly(self.path, READ_ONLY)
        return self._file.promote(check_texts("ids", ids))

    def demote(self, item_id: str) -> Item | None:
        """Let an item wait again to be confirmed, as before `promote`; return it, or None if there is none with this id."""
        if not self._writable:
            raise StoreReadOnly(self.path, READ_ONLY)
        self._file.demote([item_id])
        return self.get(item_id)

    def mark_recalled(self, ids: Sequence[str]) -> None:
        """Record that items were put in front of a model; nothing is raised, since an answer must not wait for it."""
        if not self._writable or not ids:
            return
        try:
            wait_for(start_call(lambda: self._file.mark_recalled(ids), name="memory-core-recall-mark"), MARK_SECONDS)
        except NoAnswer:
            log.info("the recall of %d items is recorded once another process has written", len(ids))
        except MemoryCoreError as error:
            log.warning("the recall of %d items is not recorded: %s", len(ids), error)

    def export(self) -> Iterator[Item]:
        """Yield all items, the one said last at the end."""
        yield from reversed(self._file.load_page(Filter()))

    def restore(self, items: Iterable[Item]) -> int:
        """Insert exported items with their ids, times and counts; return how many were new.

        An item of a known id, or of a fact that its scope holds already, is left as it is.

        Raises:
            InvalidArgument: One of them cannot be written; then none is.
        """
        checked = [
            replace(item, content=draft.content, tags=draft.tags)
            for item in items
            for draft in [check_draft(Draft(content=item.content, scope=item.scope, tags=item.tags))]
        ]
        new = self._file.restore(checked) if checked else 0
        if new:
            self._embedder.start()
        return new

    def take_over(self, merge: Callable[[Mapping[str, Item]], Mapping[str, Item]]) -> None:
        """Hold what a function makes of the items; nobody writes one while it runs.

        Args:
            merge: Takes the items by id, and returns those to hold. When they were recalled here it neither sees nor changes.
        """
        if not self._writable:
            raise StoreReadOnly(self.path, READ_ONLY)
        changed, gone = self._file.take_over(merge)
        if gone:
            self._file.wipe()
        if changed:
            self._embedder.start()

    def start(self) -> None:
        """Embed in the background what has no embedding yet."""
        if self._writable and self._file.path.exists():
            self._embedder.start()

    def backfill(self, progress: ProgressCallback | None = None) -> int:
        """Embed now what has no embedding yet; return the number of items that still have none."""
        return self._embedder.backfill(progress)

    def rest(self) -> None:
        """Let go of the model, of idle connections and their pages, which the next call opens again."""
        self._embedder.rest()
        self._file.rest()

    def close(self) -> bool:
        """End background work and close the file for good; return False if a request for embeddings still runs.

        Every call after that raises `MemoryClosed`. May be called twice.
        """
        self._embedder.refuse()
        ended = self._embedder.close()
        self._file.close()
        return ended

    def release(self) -> bool:
        """End background work and close the file until it is needed again; return as `close` does."""
        ended = self._embedder.close()
        self._file.release()
        return ended


def _check_limit(limit: object) -> None:
    if not isinstance(limit, int) or not 1 <= limit <= MAX_LIMIT:
        raise InvalidArgument("limit", f"expected 1 to {MAX_LIMIT}, not {limit!r:.40}")


def _make_filter(*, tags: Sequence[str] = (), settled: bool = False, **conditions: Any) -> Filter:
    """Return the filter that a caller's arguments make."""
    for name, value in conditions.items():
        if name not in ("after", "before"):
            check_text(name, value)
        else:
            expect(isinstance(value, float | int | None), name, "Unix seconds", value)
    return Filter(tags=check_texts("tags", tags), settled=settled, **conditions)


def _check_conversation(conversation: object, session: object) -> None:
    is_list = isinstance(conversation, Sequence) and not isinstance(conversation, str)
    expect(is_list, "conversation", "a list of messages", conversation)
    expect(isinstance(session, str | None), "session", "a session key", session)


def _find_items(file: ItemsFile, wanted: Filter, *, ids: Sequence[str], query: str | None) -> list[Item]:
    """Return the items to be forgotten: all that is given must hold.

    Args:
        file: The items.
        wanted: Of a session, only what no other session has said.
        ids: These items; empty is any.
        query: Items that hold all of these words.

    Raises:
        InvalidArgument: Every item would meet the condition, or the query has no words.
    """
    if not ids and all(each is None for each in (query, wanted.session, wanted.after, wanted.before)):
        raise InvalidArgument("forget", "expected ids, a query, a session or a time range")
    if query is not None and not query.split():
        raise InvalidArgument("query", "expected at least one word")
    words = fold(query or "").split()
    return [
        item
        for item in file.load_page(wanted)
        if (not ids or item.id in ids)
        and all(word in fold(item.content) for word in words)
        and (wanted.session is None or (item.origin.session == wanted.session and not item.reinforced))
    ]


def _list_remains(
    config: AgentConfig, file: ItemsFile, items: Sequence[Item], replaced: Sequence[Item]
) -> tuple[str, ...]:
    """Say where the text of forgotten items may still stand, and which items stay that they replaced."""
    if not items:
        return ()
    remains = [
        f"{aside.name}, a damaged items file that was set aside, holds what it held" for aside in file.list_set_aside()
    ]
    remains += [f"the item {item.id}, which one of them replaced, stays: other sessions said it" for item in replaced]
    sessions = sorted({item.origin.session for item in items if item.origin.session is not None})
    journal = Journal(config.journal_dir)
    remains += [
        f"the journal holds what was said in this session, and search shows it: memory-core forget --session {quote_words(key)};"
        " or a text alone: memory-core history purge --match TEXT"
        for key in filter(journal.holds, sessions)
    ]
    if sessions:
        remains.append(journal.describe_logs(sessions))
    remains += [f"{path} holds the text; edit or delete it there" for path in _find_in_notes(config, items)]
    return tuple(remains)


def _find_in_notes(config: AgentConfig, items: Sequence[Item]) -> Iterator[str]:
    """Yield the paths of the notes that hold the text of an item."""
    from memory_core.sources import files, notes

    wanted = [" ".join(fold(item.content).split()).rstrip(".") for item in items]
    for file in files.list_files(config).files:
        try:
            text = " ".join(fold(notes.read_note(file).text).split())
        except MemoryCoreError as error:
            log.debug("%s is not looked through: %s", file.path, error)
            continue
        if any(each in text for each in wanted):
            yield file.path
