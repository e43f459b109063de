"""Explain a search by its trace: where every passage stood after each stage, and where a place was lost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from memory_core.explanations import (
    AskedQuestion,
    AskedTerm,
    Examined,
    Explanation,
    NotePlace,
    PlaceReport,
    Shares,
    Verdict,
)
from memory_core.records import Query, SearchResult
from memory_core.search import scores, verdicts
from memory_core.search.candidates import Candidate, TermCounts
from memory_core.search.pipeline import Trace
from memory_core.search.question import Question
from memory_core.search.scoring import Judgement, VectorQuery, judge
from memory_core.stores.interface import Reader
from memory_core.stores.values import DateRange, IndexedChunk

MAX_CHUNKS = 2000  # of one note that are looked through for a place
MAX_CHARS = 300  # of a unit that are quoted
_DIGITS = 4


@dataclass(slots=True)
class Explainer:
    """Explains one search: call `read` with its trace and the same reader, then `conclude`.

    Attributes:
        query: The query.
        place: The place that is asked for; None explains the search alone.
        asked, passages, report: See `Explanation`; filled by `read`.
        lacks_embeddings: As given to `read`.
    """

    query: Query
    place: NotePlace | None = None
    asked: AskedQuestion = field(default_factory=lambda: AskedQuestion(text=""))
    passages: tuple[Examined, ...] = ()
    report: PlaceReport | None = None
    lacks_embeddings: bool = False

    def read(self, reader: Reader, trace: Trace, vectors: VectorQuery | None, *, lacks_embeddings: bool) -> None:
        """Read the trace, and look for the place in the index.

        Args:
            reader: The one that was searched.
            trace: The trace of the search.
            vectors: As given to `search`.
            lacks_embeddings: Embeddings are wanted, but no note has one yet.
        """
        self.asked, self.lacks_embeddings = _describe(trace.question, self.query.text), lacks_embeddings
        view = _View(reader, self.query, trace, vectors, lacks_embeddings, self.asked.language)
        self.passages = view.list_passages()
        if self.place is not None:
            self.report = view.report(self.place)

    def conclude(self, result: SearchResult) -> Explanation:
        """Return the explanation of an answer.

        Args:
            result: Of the search.
        """
        report = self.report
        if report is None and self.place is not None:  # nothing is indexed
            report = PlaceReport(place=self.place, verdict=verdicts.NOT_INDEXED)
        asked = self.asked if self.asked.text else AskedQuestion(text=self.query.text)
        whole = verdicts.sum_up(asked, self.passages, self.query, lacks_embeddings=self.lacks_embeddings)
        return Explanation(
            asked=asked, backend=result.backend, mode=result.mode, min_score=self.query.min_score,
            max_results=self.query.max_results, passages=self.passages, place=report,
            verdict=whole if report is None else report.verdict, stale=result.stale, warning=result.warning,
            action=result.action,
        )  # fmt: skip


@dataclass(frozen=True)  # without slots, so that what is asked for again and again is computed once
class _View:
    """The trace of a search with the reader that it used; see `Explainer.read`."""

    reader: Reader
    query: Query
    trace: Trace
    vectors: VectorQuery | None
    lacks_embeddings: bool
    asked_in: str | None

    @cached_property
    def order(self) -> list[int]:
        """The numbers of all units, the best first; those that a search about a name leaves out come last."""
        counts, ranks = self.trace.counts, self.trace.judgement.ranks
        order = sorted(range(len(ranks)), key=ranks.__getitem__, reverse=True)
        return sorted(order, key=lambda at: not self._is_asked(counts.get_chunk(at), counts.units[at].within))

    def _is_asked(self, chunk: IndexedChunk, index: int) -> bool:
        """Return False for a unit that does not mention the name to which the search is restricted."""
        about = self.trace.about
        return about is None or about.holds(chunk.path, chunk.quote_unit(index))

    @cached_property
    def unit_ranks(self) -> dict[int, int]:
        """The rank of every unit by its number, from 1."""
        return {at: rank for rank, at in enumerate(self.order, 1)}

    @cached_property
    def embedded(self) -> frozenset[int] | None:
        """The ids of the candidates that have an embedding; None without a vector search."""
        return self._find_embedded([candidate.chunk for candidate in self.trace.counts.candidates])

    def _find_embedded(self, chunks: Sequence[IndexedChunk]) -> frozenset[int] | None:
        if self.vectors is None:
            return None
        ids = [chunk.id for chunk in chunks]
        found = self.reader.compare_windows(self.vectors.space_id, self.vectors.vector, ids)
        return frozenset(window.chunk_id for window in found)

    def list_passages(self) -> tuple[Examined, ...]:
        """Return every candidate, by its best unit; the best first."""
        best: dict[int, int] = {}
        for at in self.order:
            best.setdefault(self.trace.counts.units[at].candidate, at)
        return tuple(self._examine_candidate(at) for at in best.values())

    def report(self, place: NotePlace) -> PlaceReport:
        """Find a place in the index and tell what became of it."""
        ids = self.reader.find_by_name(place.path.lower(), DateRange(), MAX_CHUNKS)
        chunks = [chunk for chunk in self.reader.load_chunks(ids) if chunk.path == place.path]
        if not chunks:
            return PlaceReport(place=place, verdict=verdicts.NOT_INDEXED)
        if not self.trace.question.words:
            return PlaceReport(place=place, verdict=verdicts.find_no_words(verdicts.find_left_out(self.query.text)))
        if place.line is not None:
            chunks = [chunk for chunk in chunks if any(_is_on(chunk, i, place.line) for i in range(len(chunk.units)))]
            if not chunks:
                return PlaceReport(place=place, verdict=verdicts.NO_TEXT)
        examined = self._choose(chunks, place.line)
        return PlaceReport(place=place, verdict=examined.verdict, examined=examined)

    def _choose(self, chunks: Sequence[IndexedChunk], line: int | None) -> Examined:
        """Examine the unit of a note that came nearest to being shown; with a line, of the units there."""
        counts, ours = self.trace.counts, {chunk.id for chunk in chunks}
        for at in self.order:
            chunk = counts.get_chunk(at)
            if chunk.id in ours and _is_on(chunk, counts.units[at].within, line):
                return self._examine_candidate(at)
        return self._examine_outsiders(chunks, line)

    def _examine_candidate(self, at: int) -> Examined:
        """Examine one unit of a candidate, given by its number among all units."""
        trace = self.trace
        number, index = trace.counts.units[at]
        examined = self._examine(at, trace.counts, trace.judgement, trace.by_text, trace.near, known=self.embedded)
        examined = replace(examined, is_candidate=True, unit_rank=self.unit_ranks[at], shares=self._share(at))
        if (shown := self._find_shown(number, index)) is not None:
            hit = trace.hits[shown - 1]
            examined = replace(
                examined, shown_as=shown, score=hit.score, evidence=hit.compared, also_in=hit.also_in or ()
            )
        chunk = trace.counts.get_chunk(at)
        if not self._is_asked(chunk, index):
            return replace(examined, verdict=verdicts.judge_name(self.query))
        if at in trace.copies.shown and examined.shown_as is None:
            return replace(examined, verdict=self._judge_copy(at))
        special = self._find_special(examined, chunk)
        return replace(examined, verdict=verdicts.judge_candidate(examined, self.query, special))

    def _judge_copy(self, at: int) -> Verdict:
        """Return the verdict on a unit that another one, by its number, stands for."""
        counts = self.trace.counts
        number, index = counts.units[self.trace.copies.shown.get(at, at)]
        chunk = counts.candidates[number].chunk
        line = chunk.start_line + chunk.units[index].first_line
        return verdicts.judge_copy(chunk.path, line, self._find_shown(number, index))

    def _find_special(self, examined: Examined, chunk: IndexedChunk) -> Verdict | None:
        return verdicts.find_special(
            examined, chunk.text, asked_in=self.asked_in, lacks_embeddings=self.lacks_embeddings
        )

    def _find_shown(self, number: int, index: int) -> int | None:
        for place, passage in enumerate(self.trace.shown, 1):
            if any(unit.chunk == number and unit.index == index for unit in passage.units):
                return place
        return None

    def _share(self, at: int) -> Shares:
        counts, judgement = self.trace.counts, self.trace.judgement
        candidate = counts.candidates[counts.units[at].candidate]
        named = scores.NAMED_BONUS * candidate.is_named
        dated = judgement.period_bonus * self.trace.question.is_dated(candidate.chunk)
        window = judgement.window_shares[at] if judgement.window_shares else 0.0
        tokens = judgement.token_shares[at] if judgement.token_shares else 0.0
        return Shares(
            words=_round(judgement.text_ranks[at] - named), window=_round(window), tokens=_round(tokens),
            named=named, period=_round(dated), age=_round(judgement.recency.bonuses.get(at, 0.0)),
        )  # fmt: skip

    def _examine_outsiders(self, chunks: Sequence[IndexedChunk], line: int | None) -> Examined:
        """Examine the best of chunks that were no candidates: what they would have scored, and where they rank among all."""
        counts = TermCounts(self.trace.question, [Candidate(chunk) for chunk in chunks], self.reader.stem)
        judgement = judge(self.reader, counts, weights=self.trace.weights, vectors=self.vectors)
        number = max(range(len(chunks)), key=lambda n: judgement.scores[n].whole)
        chunk = chunks[number]
        own = [at for at, (n, index) in enumerate(counts.units) if n == number and _is_on(chunk, index, line)]
        best = max(own, key=judgement.ranks.__getitem__)
        index = counts.units[best].within
        dates, depth = DateRange(self.query.after, self.query.before), max(self.trace.question.chunks, 1)
        terms, vectors = self.trace.question.held, self.vectors
        by_text = self.reader.find_by_keyword(terms, dates, depth) if terms else {}
        near = {} if vectors is None else self.reader.find_nearest(vectors.space_id, vectors.vector, dates, depth)
        examined = self._examine(best, counts, judgement, by_text, near, known=self._find_embedded([chunk]))
        for other, each in enumerate(self.trace.counts.candidates):
            if chunk.id in (copy.id for copy in each.copies):
                return replace(examined, verdict=self._judge_copy(self.trace.counts.firsts[other] + index))
        if dates.is_limited and chunk.id not in self.reader.find_by_name(chunk.path.lower(), dates, MAX_CHUNKS):
            return replace(examined, verdict=verdicts.judge_dates(chunk.date, self.query))
        if not self._is_asked(chunk, index):
            return replace(examined, verdict=verdicts.judge_name(self.query))
        looked_at = len(self.trace.counts.candidates)
        special = self._find_special(examined, chunk)
        return replace(examined, verdict=special or verdicts.judge_outsider(examined, self.query, looked_at))

    def _examine(
        self,
        at: int,
        counts: TermCounts,
        judgement: Judgement,
        by_text: Mapping[int, float],
        near: Mapping[int, float],
        *,
        known: frozenset[int] | None,
    ) -> Examined:
        """Gather what is known of a unit, given by its number; the verdict is still to be found.

        Args:
            at: The number.
            counts, judgement: Of the chunks to which it belongs.
            by_text, near: The chunks among which it has its ranks.
            known: The ids of chunks that have an embedding; None without a vector search.
        """
        number, index = counts.units[at]
        chunk, words = counts.get_chunk(at), self.trace.question.words
        unit, score, found = chunk.units[index], judgement.scores[number], counts.found[number]
        embedded = None if known is None else chunk.id in known
        return Examined(
            path=chunk.path,
            source=chunk.source,
            date=chunk.date,
            start_line=chunk.start_line + unit.first_line,
            end_line=chunk.start_line + unit.last_line,
            text=" ".join(chunk.text[unit.start : unit.end].split())[:MAX_CHARS],
            holds=tuple(word.text for word, held in zip(words, found, strict=True) if held),
            lacks=tuple(word.text for word, held in zip(words, found, strict=True) if not held),
            keyword_rank=_find_rank(chunk.id, by_text),
            keyword_score=_round_or_none(by_text.get(chunk.id)),
            vector_rank=_find_rank(chunk.id, near),
            cosine=_round(judgement.cosines[number]) if judgement.cosines and embedded else None,
            is_embedded=embedded,
            is_candidate=False,
            score=_round(judgement.rate(at, number)),
            evidence=_round(score.whole),
            vector_score=_round_or_none(score.vector),
            text_score=_round_or_none(score.text),
            verdict=verdicts.NOT_INDEXED,
        )


def _describe(question: Question, text: str) -> AskedQuestion:
    whole = sum(question.weights) or 1.0
    shares = [weight / whole for weight in question.weights] + [0.0] * (len(question.terms) - len(question.words))
    period = question.period
    return AskedQuestion(
        text=text,
        terms=tuple(
            AskedTerm(
                text=term.asked or term.text, meant=term.text if term.asked else None,
                stem=" ".join(term.stems), documents=term.documents,
                forms=tuple(form.word for form in term.forms), weight=_round(share),
            )
            for term, share in zip(question.terms, shares, strict=True)
        ),
        left_out=verdicts.find_left_out(text),
        language=verdicts.detect_writing(text),
        names=question.names,
        first=None if period is None else period.first.isoformat(),
        last=None if period is None else period.last.isoformat(),
        is_sentence=question.is_sentence,
        chunks=question.chunks,
    )  # fmt: skip


def _is_on(chunk: IndexedChunk, index: int, line: int | None) -> bool:
    """Tell if a unit of a chunk is on a line of the file; a long line holds many. Every unit is on the line None."""
    unit = chunk.units[index]
    return line is None or chunk.start_line + unit.first_line <= line <= chunk.start_line + unit.last_line


def _find_rank(chunk_id: int, values: Mapping[int, float]) -> int | None:
    """Return the rank of a chunk among some, of which the best stand first, from 1; None if it is none of them."""
    return [*values].index(chunk_id) + 1 if chunk_id in values else None


def _round(value: float) -> float:
    return round(value, _DIGITS)


def _round_or_none(value: float | None) -> float | None:
    return None if value is None else _round(value)
