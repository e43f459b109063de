"""Answers of one backend: wait for a sync, embed the question, search, and warn of what failed on the way."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import wait
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from memory_core.backends.syncing import REBUILDING, IndexLook, SyncRunner, look_at, refuse_other_workspace
from memory_core.config.agent import OWN, AgentConfig
from memory_core.embeddings.failover import Providers
from memory_core.embeddings.protocols import Remarking, TokenModel
from memory_core.errors import (
    MemoryCoreError,
    NotIndexed,
    OtherWorkspace,
    ProviderError,
    StoreError,
    StoreFull,
    StoreReadOnly,
    SyncBusy,
    SyncStopped,
    refuse_past,
)
from memory_core.records import (
    BEING_MADE,
    INDEX_LACKS,
    NOTHING_INDEXED,
    AsOf,
    Fallback,
    Hit,
    Mode,
    Query,
    Related,
    RelatedQuery,
    SearchResult,
    Space,
)
from memory_core.sources.notes import find_note_date
from memory_core.sources.pages import find_text
from memory_core.sources.refusals import INSTEAD_OF_LINKS, LASTING, SYMLINK, describe_failure
from memory_core.stores.interface import Store
from memory_core.stores.values import DateRange
from memory_core.sync.background import BackgroundSync
from memory_core.text.dates import get_today, leave_out_time
from memory_core.text.folding import clean
from memory_core.text.terms import split_question

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from memory_core.backends.past import IndexStates, PastIndex
    from memory_core.embeddings.outage import Outage
    from memory_core.search.explaining import Explainer
    from memory_core.search.names import About
    from memory_core.search.pipeline import Trace
    from memory_core.search.scoring import VectorQuery
    from memory_core.stores.interface import Reader
    from memory_core.stores.values import ServingSpace

log = logging.getLogger(__name__)

MIN_EMBED_SECONDS = 0.1  # for a question, however late it is: enough for a model in this process or on this machine

MAKE_READABLE = "see to it that it can be read; memory-core status names all that is left out"
UNFINISHED = "not all notes are indexed yet: search again in a moment"
MOST_NEAR = 3  # names that are named where no note mentions the one that a search is restricted to
NOTHING_THEN = "There were no notes at that time"
RETAKE_SECONDS = 0.02  # between two syncs of one search, where another workspace shares the index file


@dataclass(slots=True)
class _Degradation:
    """Shortcomings of one answer, found while the question is answered.

    Attributes:
        begun: When the question came, by the monotonic clock.
        warnings: One sentence each.
        action: What the user can do about the first of them that can be mended.
        stale: The notes may have changed since they were indexed.
        rebuilding: A damaged index is being made anew.
        unfinished: A sync goes on in the background.
        problem: Why no sync could run.
        fallback: Set when the fallback provider embedded the question.
    """

    begun: float
    warnings: list[str] = field(default_factory=list)
    action: str = ""
    stale: bool = False
    unfinished: bool = False
    rebuilding: bool = False
    problem: MemoryCoreError | None = None
    fallback: Fallback | None = None

    def warn(self, sentence: str, action: str = "") -> None:
        if sentence not in self.warnings:
            self.warnings.append(sentence)
        self.action = self.action or action

    def warn_of_nothing(self) -> None:
        """Warn that no note is indexed, which may be about to change."""
        self.warn(NOTHING_INDEXED, "the notes are being indexed: search again in a moment" if self.unfinished else "")

    def warn_because(self, sentence: str, error: ProviderError, outage: Outage | None = None) -> None:
        """Warn of what a search makes do with, and of the error, unless the sync has warned of it or its reason already."""
        reason = outage.reason if outage else str(error)
        known = any(reason in warning for warning in self.warnings)
        self.warn(sentence if known else f"{sentence}: {error}", error.action)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answerer:
    """Answers questions from one index.

    Attributes:
        name: The backend's.
        config: The agent's.
        store: Its index.
        providers: Embed questions.
        syncs: Runs the syncs.
        background: Runs them without the caller.
        past: Answers from the notes as they stood; None if this backend cannot.
        others: Of the other layers, whose indexes are searched besides in one ranking.
    """

    name: str
    config: AgentConfig
    store: Store
    providers: Providers
    syncs: SyncRunner
    background: BackgroundSync
    past: IndexStates | None
    others: Sequence[Answerer]

    def answer(self, query: Query, explainer: Explainer | None = None) -> SearchResult:
        """Sync, embed the question and search; when the provider fails, search by keyword.

        Args:
            query: The question.
            explainer: Learns where every passage stood after each stage.

        Raises:
            NotIndexed: There is no index, and this session may not write one.
            MemoryCoreError: There is no index, and the sync failed that would have made it.
            StoreError: The index cannot be read.
        """
        begun = time.monotonic()
        if query.today is None:
            query = replace(query, today=get_today(self.config.search.time_zone, datetime.now(UTC)))
        until = begun + self._sync_seconds(query.deadline)
        damaged = False
        while True:
            degradation = _Degradation(begun=begun)
            look = None
            if self._syncs_first and not damaged and self.syncs.may_be_fresh:
                # An error is left to the sync, which meets it, too. As in `refresh`: a call less between a search and the index.
                with suppress(MemoryCoreError), self.store.read() as reader:
                    look = look_at(reader)
            if damaged or (self._syncs_first and (look is None or not self.syncs.is_fresh(look))):
                look = None
                self._sync(until, degradation)
            if self.others:
                look = None  # of all indexes together
                self._refresh_others(until, degradation)
            try:
                return self._search(query, degradation, explainer, look)
            except NotIndexed as error:
                if isinstance(error, OtherWorkspace) and self._syncs_first and time.monotonic() < until:
                    time.sleep(RETAKE_SECONDS)  # another process took the file over meanwhile, or is doing so
                    continue
                return self._answer_without_index(error, degradation)
            except StoreError:
                if degradation.rebuilding:
                    return self._to_result((), "keyword", None, degradation)
                if damaged or not self.store.writable or not self.store.is_suspect:
                    raise
                damaged = True  # the next sync makes the index anew

    def relate(self, query: RelatedQuery) -> Related:
        """Sync, and read from the index what is related to a name, or which names there are.

        Raises:
            NotIndexed: There is no index, and this session may not write one.
            MemoryCoreError: There is no index, and the sync failed that would have made it.
            StoreError: The index cannot be read.
        """
        from memory_core.search.related import find_related, list_names

        degradation = _Degradation(begun=time.monotonic())
        until = degradation.begun + self._sync_seconds(query.deadline)
        self.refresh(until, degradation)
        self._refresh_others(until, degradation)
        try:
            with self._read_all(degradation) as reader:
                refuse_other_workspace(self.config, reader.load_workspace(), self.store)
                if not reader.count_chunks():
                    degradation.warn_of_nothing()
                    found = Related(name=query.name)
                elif query.name is None:
                    found = list_names(reader, query.max_results)
                else:
                    found = find_related(reader, query.name, query.max_results)
        except NotIndexed as error:
            told = self._answer_without_index(error, degradation)
            return Related(name=query.name, stale=told.stale, warning=told.warning, action=told.action)
        self._warn_of_failures(degradation)
        warning, action = "; ".join(degradation.warnings) or None, degradation.action or None
        return replace(found, stale=degradation.stale, warning=warning, action=action)

    def refresh(self, until: float, degradation: _Degradation) -> None:
        """Sync this index before a search, unless nothing has changed.

        Args:
            until: The `time.monotonic()` until which that is waited for.
            degradation: Learns what the answer lacks.
        """
        look = None
        if self._syncs_first and self.syncs.may_be_fresh:
            with suppress(MemoryCoreError), self.store.read() as reader:
                look = look_at(reader)
        if self._syncs_first and (look is None or not self.syncs.is_fresh(look)):
            self._sync(until, degradation)

    def _refresh_others(self, until: float, degradation: _Degradation) -> None:
        """Sync the other layers; one that cannot be synced is searched as it is, unless `_read_all` leaves it out."""
        for each in self.others:
            try:
                each.refresh(until, degradation)
            except MemoryCoreError as error:
                log.warning("the layer %r is not synced: %s", each.config.layer, error)
                degradation.stale = True

    def _warn_of_failures(self, degradation: _Degradation) -> None:
        """Warn of what cannot be read, behind all other warnings: the action of one of those goes first.

        Only a sync before this search, or none as nothing has changed, says what cannot be read now. Where notes are indexed,
        `status`, `doctor`, `explain` and `index` alone tell what is left out for good.
        """
        if degradation.stale:
            return
        failures = [
            replace(failure, path=each.config.show(failure.path))
            for each in (self, *self.others)
            if each._syncs_first
            for failure in each.syncs.failures
            if NOTHING_INDEXED in degradation.warnings or not failure.reason.startswith(LASTING)
        ]
        if failures:
            more = f", and {len(failures) - 1} more" if len(failures) > 1 else ""
            action = INSTEAD_OF_LINKS if failures[0].reason == SYMLINK else MAKE_READABLE
            degradation.warn(f"{describe_failure(failures[0])}{more}", action)

    @contextmanager
    def _read_all(self, degradation: _Degradation) -> Iterator[Reader]:
        """Hand out a reader of all layers; one that cannot be read is left out, with a warning."""
        if not self.others:
            with self.store.read() as reader:
                yield reader
            return
        from memory_core.stores.joined import JoinedReader

        with ExitStack() as stack:
            readers: dict[str, Reader] = {"": stack.enter_context(self.store.read())}
            for each in self.others:
                try:
                    reader = stack.enter_context(each.store.read())
                    refuse_other_workspace(each.config, reader.load_workspace(), each.store)
                except MemoryCoreError as error:
                    degradation.warn(f"the layer {each.config.layer!r} is not searched: {error}", error.action)
                else:
                    readers[each.config.show("")] = reader
            yield JoinedReader(readers)

    @property
    def _syncs_first(self) -> bool:
        return self.store.writable and self.config.search.sync.on_search

    def _answer_without_index(self, error: NotIndexed, degradation: _Degradation) -> SearchResult:
        """Return an answer without hits, with a warning, where an index is being made or can be.

        Raises:
            NotIndexed: This session may not write an index.
            MemoryCoreError: The sync failed that would have made it.
        """
        if degradation.rebuilding:
            return self._to_result((), "keyword", None, degradation)
        if degradation.problem is not None:
            raise degradation.problem from None  # says why there is no index
        if not self.store.writable:
            raise error
        if isinstance(error, OtherWorkspace):
            degradation.warn(str(error), error.action)
        else:
            degradation.warn_of_nothing()
        return self._to_result((), "keyword", None, degradation)

    def _sync(self, until: float, degradation: _Degradation) -> None:
        """Wait for a sync as long as the search may."""
        requested = self.background.request()
        if not wait([requested], max(until - time.monotonic(), 0.0)).done:
            degradation.stale = degradation.unfinished = True
            if self.syncs.rebuilding or self.store.is_suspect:
                degradation.rebuilding = True
                degradation.warn(REBUILDING, "search again in a moment")
            return
        try:
            report = requested.result()
        except SyncStopped:  # closed meanwhile, as when the configuration has changed: what is indexed still answers
            degradation.stale = True
            return
        except (SyncBusy, StoreReadOnly, StoreFull) as error:
            degradation.stale, degradation.problem = True, error
            degradation.warn(f"{INDEX_LACKS}: {error}", error.action)
            return
        for warning in report.warnings:
            degradation.warn(warning)

    def _sync_seconds(self, deadline: float | None) -> float:
        """Return how long a search may wait for a sync: as configured, at most half the time that the caller will wait."""
        seconds = self.config.search.sync.on_search_budget_ms / 1000
        if deadline is not None:
            seconds = min(seconds, max(deadline - time.monotonic(), 0.0) / 2)
        return seconds

    def _search(
        self, query: Query, degradation: _Degradation, explainer: Explainer | None, look: IndexLook | None
    ) -> SearchResult:
        if query.as_of is None:
            result = self._search_in(lambda: self._read_all(degradation), query, degradation, explainer, look)
            if len({hit.path for hit in result.hits}) < 2:
                return result
            from memory_core.text.succession import mark_superseded

            assert query.today is not None
            return replace(result, hits=tuple(mark_superseded(result.hits, self._load_note, query.today)))
        if self.past is None:
            raise refuse_past(self.name)
        asked = replace(query, text=leave_out_time(query.text))
        with ExitStack() as stack:
            past = stack.enter_context(self.past.read(query.as_of, self.providers))
            pasts = {"": past}
            for each in self.others:
                try:
                    assert each.past is not None
                    pasts[each.config.show("")] = stack.enter_context(each.past.read(query.as_of, self.providers))
                except MemoryCoreError as error:
                    degradation.warn(f"the layer {each.config.layer!r} is not searched: {error}", error.action)

            @contextmanager
            def read() -> Iterator[Reader]:
                from memory_core.stores.joined import JoinedReader

                with ExitStack() as opened:
                    yield JoinedReader(
                        {prefix: opened.enter_context(each.store.read()) for prefix, each in pasts.items()}
                    )

            result = self._search_in(past.store.read if len(pasts) == 1 else read, asked, degradation, explainer)
            as_of = AsOf(instant=query.as_of, moment=past.moment.at)
            return replace(result, hits=tuple(_compare_now(hit, pasts) for hit in result.hits), as_of=as_of)

    def _load_note(self, path: str) -> tuple[str | None, list[str]] | None:
        """Return the date and the lines of a note as it stands; None if it cannot be read."""
        text = find_text(self.config, path)
        return None if text is None else (find_note_date(path, text), text.split("\n"))

    def _search_in(
        self,
        read: Callable[[], AbstractContextManager[Reader]],
        query: Query,
        degradation: _Degradation,
        explainer: Explainer | None,
        look: IndexLook | None = None,
    ) -> SearchResult:
        """Search the index of the notes as they are, or as they stood.

        Args:
            read: Hands out a reader.
            query: The question.
            degradation: Learns what the answer lacks.
            explainer: Learns where every passage stood after each stage.
            look: At that index, if its state has been read.
        """
        from memory_core.search.pipeline import cite, search

        if look is None:
            with read() as reader:
                look = look_at(reader)
        if look.is_empty:
            degradation.warn_of_nothing() if query.as_of is None else degradation.warn(NOTHING_THEN)
            return self._to_result((), "keyword", None, degradation)
        refuse_other_workspace(self.config, look.workspace, self.store)
        serving, outages = look.serving, self.providers.outages
        # A copy of the index, of which the past is made, may hold an outage that has ended.
        outage = outages.judge(look.state.outage) if query.as_of is None else outages.current()
        # While the provider works, the index is not held: its write-ahead log could not be emptied.
        if serving is None and not self._warn_of_missing(query, degradation):
            self._warn_without_embeddings(degradation)
        vectors = None if serving is None else self._embed(serving, query, degradation, outage)
        with read() as reader:
            held = reader.load_workspace()
            if held != look.workspace:  # another process has taken the file over meanwhile
                refuse_other_workspace(self.config, held, self.store)
            serves = reader.load_serving_space()
            if vectors is not None and (serves is None or serves.id != vectors.space_id):
                degradation.warn(
                    "the embeddings were replaced during this search; keyword search answers", "search again"
                )
                vectors = None
            about = None if query.about is None else self._restrict(reader, query.about, query, degradation)
            trace = search(reader, query, self.config.search.query.hybrid, vectors=vectors, about=about)
            if explainer is not None:
                wanted = self.providers.choice.provider != "none"
                explainer.read(reader, trace, vectors, lacks_embeddings=serving is None and wanted)
            hits = cite(reader, trace.hits)
            if self.config.layers:
                hits = [replace(hit, layer=self.config.find_layer(hit.path)[0].layer or OWN) for hit in hits]
        named, period = trace.question.named or trace.question.unwritten, None
        if named is not None:
            first, last = named.period.first.isoformat(), named.period.last.isoformat()
            period = {"from": first, "to": last, "text": named.text}
        if named is not None and not trace.question.is_told:
            until = "" if named.is_day else f" to {named.period.last}"
            degradation.warn(f"no note is dated {named.period.first}{until}")
        if trace.left_out:
            more = "1 more note is" if trace.left_out == 1 else f"{trace.left_out} more notes are"
            degradation.warn(f"{more} of this period", "ask for a shorter period, or for more results")
        result = self._to_result(tuple(hits), trace.mode, serving.space if serving and vectors else None, degradation)
        hint = None if hits else _hint_at(trace, query, degradation)
        return replace(result, interpreted_as=trace.question.interpreted_as, hint=hint, period=period)

    def _restrict(self, reader: Reader, name: str, query: Query, degradation: _Degradation) -> About:
        """Return what restricts a search to a name; warn if no note mentions it, and name those near to it."""
        from memory_core.search.names import find_about, load_names

        book = load_names(reader)
        dates = DateRange(query.after, query.before)
        entity, tagged = book.resolve(name), book.find_tagged(name)
        about = find_about(reader, entity, dates, tagged)
        if not about.chunks:
            from memory_core.search.related import find_near

            is_known = bool(find_about(reader, entity, DateRange(), tagged).chunks)  # on other days
            near = [] if is_known else find_near(reader, book, name, MOST_NEAR)
            meant = f"did you mean {' or '.join(near)}? " if near else ""
            action = f"{meant}See which names there are: memory-core related"
            degradation.warn(f"no note that is searched mentions {name!r}", action)
        return about

    def _embed(
        self, serving: ServingSpace, query: Query, degradation: _Degradation, outage: Outage | None
    ) -> VectorQuery | None:
        """Embed the question for the space that serves; None, with a warning, where that fails."""
        from memory_core.search.scoring import VectorQuery, choose_calibration

        space = serving.space
        try:
            parts = [part for part, _ in split_question(clean(query.text))]
            seconds = self._embed_seconds(query, degradation)
            asked = self.providers.embed_question(space, parts, outage=outage, timeout_seconds=seconds)
        except ProviderError as error:
            log.warning("keyword search answers: %s", error)
            degradation.warn_because("keyword search only", error)
            return None
        if asked is None:
            if not self._warn_of_missing(query, degradation):
                degradation.warn("embeddings are being rebuilt; keyword search answers meanwhile")
            return None
        vector = asked.vector
        if space.dimensions != len(vector):
            degradation.warn(f"keyword search only: {space.explain_change(len(vector))}")
            self.syncs.follow_dimensions(space, len(vector))
            return None
        if not vector.any():
            degradation.warn(f"keyword search only: {space.provider} made no vector of this question")
            return None
        degradation.fallback = asked.fallback
        if asked.problem is not None:
            meanwhile = f"the embeddings of {space.provider} answer meanwhile"
            degradation.warn_because(meanwhile, asked.problem, self.providers.outages.current())
        if isinstance(asked.provider, Remarking) and asked.provider.remark:
            degradation.warn(asked.provider.remark)
        table = asked.provider if isinstance(asked.provider, TokenModel) else None
        return VectorQuery(serving.id, vector, choose_calibration(serving, asked.provider), asked.tokens, table)

    def _warn_of_missing(self, query: Query, degradation: _Degradation) -> bool:
        """Warn if the configured provider has made no embeddings yet because of a problem; return True if there is one.

        While a sync goes on, it may be the provider that this waits for: then the provider is tried with the question.
        """
        asks = degradation.unfinished and not self.syncs.saves_embeddings
        seconds = self._embed_seconds(query, degradation) if asks else None
        problem = self.providers.explain_missing(query.text, timeout_seconds=seconds)
        if problem is not None:
            degradation.warn_because("keyword search only", problem, self.providers.outages.current())
        return problem is not None

    def _warn_without_embeddings(self, degradation: _Degradation) -> None:
        """Warn that no note has an embedding of a provider with which nothing is known to be wrong."""
        if self.providers.choice.provider == "none" or self.syncs.saves_embeddings:
            return
        if degradation.unfinished:
            degradation.warn(f"keyword search only: the embeddings of the notes are still {BEING_MADE}")
        else:
            degradation.warn("keyword search only: no note has an embedding yet", "run: memory-core index")

    def _embed_seconds(self, query: Query, degradation: _Degradation) -> float:
        """Return how long the question's embedding may take.

        The time that the search has waited for a sync counts, up to half of it: a provider that is down is waited for once.
        """
        whole = self.config.search.query.embed_timeout_ms / 1000
        seconds = max(whole - (time.monotonic() - degradation.begun), whole / 2)
        if query.deadline is None:
            return seconds
        return min(seconds, max(query.deadline - time.monotonic(), MIN_EMBED_SECONDS))

    def _to_result(
        self, hits: tuple[Hit, ...], mode: Mode, space: Space | None, degradation: _Degradation
    ) -> SearchResult:
        self._warn_of_failures(degradation)
        return SearchResult(
            hits=hits,
            provider=space.provider if space else "none",
            model=space.model if space else None,
            mode=mode,
            backend=self.name,
            fallback=degradation.fallback,
            stale=degradation.stale,
            warning="; ".join(degradation.warnings) or None,
            action=degradation.action or None,
        )


def _hint_at(trace: Trace, query: Query, degradation: _Degradation) -> str | None:
    """Return why a search found nothing, and what to do; None if that is not known, as a note that is not indexed may hold it."""
    if degradation.stale:
        return UNFINISHED if degradation.unfinished else None
    from memory_core.search.verdicts import hint_at

    return hint_at(trace, query)


def _compare_now(hit: Hit, pasts: Mapping[str, PastIndex]) -> Hit:
    """Return a hit of the past with what became of it, as the history of its layer tells."""
    prefix = next((each for each in pasts if each and hit.path.startswith(each)), "")
    found = pasts[prefix].compare_now(replace(hit, path=hit.path.removeprefix(prefix)))
    newer = found.superseded_by
    return replace(found, path=hit.path, superseded_by=newer and replace(newer, path=prefix + newer.path))
