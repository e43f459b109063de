"""A search: the question is analysed, candidates are found, their units ranked and packed into passages, those scored.

`search` returns a `Trace` of what each stage found: its hits are the answer, and `explaining` reads the rest.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cache, cached_property
from typing import TYPE_CHECKING

from memory_core.config.settings import Hybrid
from memory_core.records import Hit, Mode, Query
from memory_core.search import scores
from memory_core.search.candidates import (
    RANKED_CHUNKS,
    RANKED_IN_CONTEXT,
    Candidate,
    Stem,
    TermCounts,
    compare_all,
    find_candidates,
)
from memory_core.search.confidence import SHOWN
from memory_core.search.copies import Copies, count_words, find_copies, is_plain, is_reported, name_places
from memory_core.search.passages import (
    LOOK,
    SHARED,
    Lead,
    Mark,
    Passage,
    PlacedUnit,
    count_matter,
    find_marks,
    pack,
)
from memory_core.search.periods import list_notes
from memory_core.search.question import Question, analyse
from memory_core.search.recency import ABOVE, BEHIND, find_later, find_mention, mark_replaced
from memory_core.search.scoring import Judgement, Score, VectorQuery, judge, prefer_matter, put_at, weigh_vectors
from memory_core.sources.session_logs import SOURCE, is_log
from memory_core.stores.interface import Reader
from memory_core.stores.values import DateRange
from memory_core.text.markdown import looks_like_row, scan
from memory_core.text.units import MOST_LEAD, find_leads

if TYPE_CHECKING:
    from memory_core.search.names import About

_DIGITS = 4  # of scores
OF_PERIOD = Score(1.0, None, None)  # of notes of a period that is all that is asked for
OF_WEEKDAY = Score(0.45, None, None)  # of lines that name the weekday of a date; docs/search.md says what that means
BY_KEYWORD = scores.Weights(0.0, 1.0)
NOTHING = Judgement(ranks=[], scores=[], text_ranks=[])


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """The findings of a search, stage by stage. A stage that it did not come to leaves its fields empty.

    Attributes:
        hits: Best first, each scoring at least `query.min_score`, no unit of a note twice.
        mode: The evidence that was used.
        question: As the index understood it.
        about: The name to which the search was restricted; None searched all.
        by_text: Keyword scores by chunk id, best first.
        near: Cosines by chunk id, best first.
        weights: Of the two sides.
        counts: The candidates, with the units that were ranked.
        judgement: The parts of the ranks of their units, and the scores of the candidates.
        shown: The passages that became hits, in order.
        left_out: The number of notes of a period for which there was no room.
        copies: Those among the units that were looked at.
    """

    hits: tuple[Hit, ...] = ()
    mode: Mode
    question: Question
    about: About | None = None
    by_text: Mapping[int, float] = field(default_factory=dict)
    near: Mapping[int, float] = field(default_factory=dict)
    weights: scores.Weights = BY_KEYWORD
    counts: TermCounts
    judgement: Judgement = NOTHING
    shown: Sequence[Passage] = ()
    left_out: int = 0
    copies: Copies = field(default_factory=Copies)


def search(
    reader: Reader,
    query: Query,
    hybrid: Hybrid,
    *,
    vectors: VectorQuery | None,
    about: About | None = None,
) -> Trace:
    """Search one moment of the index.

    Args:
        reader: Of the index.
        query: The question.
        hybrid: The weights of the two sides, and how many chunks are looked at.
        vectors: The question as a vector; None searches by keyword alone.
        about: Restricts the search to units that mention a name; None searches all.
    """
    today = query.today or datetime.now().astimezone().date()
    question = analyse(reader, query.text, today, DateRange(query.after, query.before))
    mode: Mode = "keyword" if vectors is None else "hybrid" if hybrid.enabled else "vector"
    if question.asks_for_period and about is None:
        return _list_period(reader, query, question, mode)
    if not question.words or not question.chunks:
        return Trace(mode=mode, question=question, about=about, counts=TermCounts(question, (), reader.stem))
    weights = _weights(mode, hybrid)

    def find_near(depth: int) -> Mapping[int, float]:
        if vectors is None or not weights.vector:
            return {}
        if about is not None:
            return compare_all(reader, vectors.space_id, vectors.vector, about.chunks)
        return reader.find_nearest(vectors.space_id, vectors.vector, DateRange(query.after, query.before), depth)

    candidates, by_text, near = find_candidates(
        reader, question, query, weights,
        multiplier=hybrid.candidate_multiplier,
        find_near=find_near,
        near_share=1.0 if vectors is None else weigh_vectors(question, vectors),
        among=None if about is None else about.chunks,
        ranked=RANKED_CHUNKS if vectors is None or vectors.tokens is None else RANKED_IN_CONTEXT,
    )  # fmt: skip
    dates = DateRange(query.after, query.before) if about is None else None
    counts, judgement = _rank(reader, question, candidates, weights=weights, vectors=vectors, dates=dates)
    best = max(judgement.ranks, default=0.0)
    opens_from = math.inf if vectors is None else scores.NEAR_BEST * best
    units: Sequence[int] = range(len(counts.units))
    if about is not None:
        units = [at for at in units if about.holds(counts.get_chunk(at).path, counts.quote(at))]
    hits, shown, copies = _Presenter(query, counts, judgement, reader.stem, opens_from).show(units)
    said = [_list_said(passage, counts, copies) for passage in shown]
    return Trace(
        hits=tuple(mark_replaced(hits, said, judgement.recency, counts)), mode=mode, question=question, about=about,
        by_text=by_text, near=near, weights=weights, counts=counts, judgement=judgement,
        shown=shown, copies=copies,
    )  # fmt: skip


def _rank(
    reader: Reader,
    question: Question,
    candidates: list[Candidate],
    *,
    weights: scores.Weights,
    vectors: VectorQuery | None,
    dates: DateRange | None,
) -> tuple[TermCounts, Judgement]:
    """Count the terms of candidates, and rank their units.

    First comes a later line that says the same as the best one, if one does; else a line that tells a change beside the name in
    the best statement comes right behind that.

    Args:
        reader: Of the index.
        question: As the index understands it.
        candidates: The chunks.
        weights: Of the two sides.
        vectors: The question as a vector; None ranks by keyword alone.
        dates: Those of the notes in which such a later line is looked for, where the question asks how things are; its chunk
            becomes a candidate if it was none. None looks for no such line.
    """
    counts = TermCounts(question, candidates, reader.stem)
    judgement = judge(reader, counts, weights=weights, vectors=vectors)
    judgement = prefer_matter(judgement)
    confidence, ranks = judgement.confidence, judgement.ranks
    if not dates or confidence is None or not ranks or question.cjk or question.time != "now":
        return counts, judgement
    later = find_later(reader, confidence, ranks, dates)
    found = later or find_mention(reader, confidence, ranks, dates)
    if found is not None:
        chunk, index = found
        ids = [each.chunk.id for each in candidates]
        if chunk.id not in ids:
            ids.append(chunk.id)
            candidates = [*candidates, Candidate(chunk)]
            counts, judgement = _rank(reader, question, candidates, weights=weights, vectors=vectors, dates=None)
        number = ids.index(chunk.id)
        judgement = put_at(judgement, counts.firsts[number] + index, number, ABOVE if later else BEHIND)
    return counts, judgement


@dataclass(frozen=True)  # without slots, so that what all units share is computed once
class _Presenter:
    """Packs the ranked units of a search into passages, and turns these into hits.

    Attributes:
        query: What is asked for: its number of hits, its length of snippets, its least evidence.
        counts, judgement: The units, and their ranks.
        stem: The stemmer of the keyword index.
        opens_from: The rank from which on a unit without a word of the question opens a passage of its own.
    """

    query: Query
    counts: TermCounts
    judgement: Judgement
    stem: Stem
    opens_from: float

    def show(self, units: Sequence[int]) -> tuple[Sequence[Hit], Sequence[Passage], Copies]:
        """Show the best of some units, given by their numbers; none where the evidence of no candidate is enough.

        Returns:
            Hits, best first; the passage of each; and the copies among the units that were looked at.
        """
        passing = [unit for unit in units if self._passes[self.counts.units[unit].candidate]]
        if not passing:
            return [], [], Copies()
        shown = self._pack_best(units)
        return shown if shown[0] else self._pack_best(passing)  # what passes may rank behind all that is shown

    @cached_property
    def _passes(self) -> list[bool]:
        """For every candidate, True if its evidence is enough."""
        return [round(score.whole, _DIGITS) >= self.query.min_score for score in self.judgement.scores]

    def _pack_best(self, units: Iterable[int]) -> tuple[Sequence[Hit], Sequence[Passage], Copies]:
        counts, query = self.counts, self.query
        # Of equals the first candidate's stay first.
        order = sorted(
            [at for at in units if at not in self._hidden], key=self.judgement.ranks.__getitem__, reverse=True
        )
        order = self._leave_room(order)
        looked_at = order[: LOOK * max(query.max_results, SHARED)]
        copies = find_copies(
            [each.chunk for each in counts.candidates], {unit: counts.units[unit] for unit in looked_at}
        )
        order = list(dict.fromkeys(copies.shown.get(unit, unit) for unit in order))
        if query.joined:
            passages = pack(
                map(self._place, order), count=max(query.max_results, SHARED), max_chars=query.max_snippet_chars,
                find_lead=self._find_lead,
            )  # fmt: skip
        else:
            alone = map(self._place, order[: query.max_results])
            passages = [Passage([unit], query.max_snippet_chars, self._find_lead(unit)) for unit in alone]
        hits = self._make_hits(passages, copies)
        return hits, passages[: len(hits)], copies

    @cached_property
    def _matters(self) -> list[int]:
        """For every candidate the number of lines of front matter with which it begins."""
        return [count_matter(each.chunk) for each in self.counts.candidates]

    @cached_property
    def _hidden(self) -> set[int]:
        """The numbers of units of front matter without a word of the question, which are not worth showing."""
        counts = self.counts
        return {
            at
            for at, (number, within) in enumerate(counts.units)
            if self._matters[number] > counts.candidates[number].chunk.units[within].last_line and not counts.counts[at]
        }

    def _leave_room(self, order: Sequence[int]) -> list[int]:
        """Put notes that pass before the session logs and reports for which there is no room: those fill half of the hits.

        The best of both open the hits, in the order of their ranks.
        """
        units, count = self.counts.units, self.query.max_results
        best: dict[int, int] = {}
        for at in order:
            best.setdefault(units[at].candidate, at)
        chunks = {number: self.counts.candidates[number].chunk for number in best}
        plain = {
            number: is_plain(chunk) and not is_reported(chunk, units[best[number]].within)
            for number, chunk in chunks.items()
        }
        if all(plain.values()):
            return [*order]
        logs = [number for number in best if not plain[number]][: max(count // 2, 1)]
        notes = [number for number in best if plain[number] and self._passes[number]]
        served = {*logs, *notes}
        opening = {*[number for number in best if number in served][:count]}

        def defer(at: int) -> int:
            number = units[at].candidate
            return 0 if number in served else 2 if plain[number] else 1

        # The best unit of each opens its place before a log opens a second one.
        heads = [at for number, at in best.items() if number in opening]
        return list(dict.fromkeys([*heads, *sorted(order, key=defer)]))

    def _find_lead(self, unit: PlacedUnit) -> Lead | None:
        """Return the head of the table of a unit, or what introduces it in a list and stands in a chunk before."""
        chunk = self.counts.candidates[unit.chunk].chunk
        above = chunk.context.split("\n")[1:]
        lines = [*above, *chunk.text.split("\n")]
        at = len(above) + chunk.units[unit.index].first_line
        is_row = looks_like_row(lines[at])
        if not above and not is_row:
            return None
        leads = find_leads(lines, scan(lines))[at]
        if not is_row:
            leads = tuple(each for each in leads if each < len(above))
        if not leads:
            return None
        last = leads[-1] - len(above)
        return Lead("\n".join(lines[each][:MOST_LEAD] for each in leads), chunk.start_line + last if last >= 0 else 0)

    def _place(self, unit: int) -> PlacedUnit:
        """Return a unit with its place; one that is too long is cut around the words of the question."""
        number, within = self.counts.units[unit]
        matches = bool(self.counts.counts[unit]) or self.judgement.ranks[unit] >= self.opens_from
        placed = PlacedUnit.of(
            self.counts.candidates[number].chunk, number, within, self._matters[number], matches=matches
        )
        return placed.cut(self.query.max_snippet_chars, self._find_marks)

    def _find_marks(self, unit: PlacedUnit) -> list[Mark]:
        return find_marks(unit.text, (unit.start, unit.end), self._asked, self.stem)

    @cached_property
    def _asked(self) -> dict[str, float]:
        """The share that each word has in the question, by its stem and those of its other forms."""
        question = self.counts.question
        return {
            stem: weight
            for word, weight in zip(question.words, question.weights, strict=True)
            for stem in (word.stems[0], *(form.stem for form in word.forms))
        }

    def _make_hits(self, passages: Sequence[Passage], copies: Copies) -> list[Hit]:
        """Turn the best passages into hits, as many as are asked for, each with at least the minimum of evidence.

        The evidence of a hit is that of its best chunk, its score that of its best unit; or those of a hit behind it, if these
        are higher. A statement calls to mind what has no evidence of its own: a hit of that shows the least score of a hit whose
        evidence is enough.
        """
        counts, judgement, question = self.counts, self.judgement, self.counts.question
        own, rated = [], []
        for one in passages:
            own.append(max((judgement.scores[unit.chunk] for unit in one.units), key=lambda score: score.whole))
            units = [counts.firsts[unit.chunk] + unit.index for unit in one.units]
            holding = [unit for unit in units if counts.counts[unit]]
            rated.append(max(judgement.rate(unit, counts.units[unit].candidate) for unit in holding or units))
        lifted = scores.lift([score.whole for score in own], question.kind, words=len(question.words))
        rated = [
            max(each, min(least, SHOWN[0])) for each, least in zip(scores.lift(rated, "question"), lifted, strict=True)
        ]
        hits = [_to_hit(*each) for each in zip(passages, own, lifted, rated, strict=True)][: self.query.max_results]
        return [
            replace(hit, also_in=places) if (places := _find_places(passage, counts, copies)) else hit
            for hit, passage in zip(hits, passages, strict=False)
            if hit.compared >= self.query.min_score
        ]


def _list_said(passage: Passage, counts: TermCounts, copies: Copies) -> set[int]:
    """Return the numbers of the units of a passage, and of their copies."""
    own = {counts.firsts[unit.chunk] + unit.index for unit in passage.units}
    return own.union(*(copies.others.get(at, ()) for at in own))


def _find_places(passage: Passage, counts: TermCounts, copies: Copies) -> tuple[str, ...] | None:
    """Return the other places in which units with half of the words of a passage stand, or more; None if there are none."""
    found, whole = Counter[str](), 0
    numbers = [counts.firsts[unit.chunk] + unit.index for unit in passage.units]
    if not any(counts.candidates[unit.chunk].copies for unit in passage.units) and copies.others.keys().isdisjoint(
        numbers
    ):
        return None
    for unit, at in zip(passage.units, numbers, strict=True):
        words = count_words(counts.candidates[unit.chunk].chunk, unit.index)
        held = [counts.candidates[counts.units[each].candidate] for each in (at, *copies.others.get(at, ()))]
        whole += words
        found.update(dict.fromkeys((chunk.path for each in held for chunk in (each.chunk, *each.copies)), words))
    return name_places(passage.units[0].path, (path for path, words in found.items() if words * 2 >= whole))


def _list_period(reader: Reader, query: Query, question: Question, mode: Mode) -> Trace:
    """Answer a question that asks for nothing but a period: its notes in order of time, whatever words they hold."""
    dated = question.dated
    order = {chunk_id: place for place, chunk_id in enumerate((*dated.own, *sorted(dated.naming)))}
    chunks = sorted(reader.load_chunks(order), key=lambda chunk: order[chunk.id])
    passages, left_out = list_notes(chunks, query, dated.naming)
    score = OF_WEEKDAY if dated.is_weak else OF_PERIOD
    passages = passages if score.whole >= query.min_score else []
    shown = {(unit.chunk, unit.index) for passage in passages for unit in passage.units}
    counts = TermCounts(question, [Candidate(chunk) for chunk in chunks], reader.stem)
    units = counts.units
    ranks = [
        float(-at if (unit.candidate, unit.within) in shown else -at - len(units)) for at, unit in enumerate(units)
    ]
    judgement = Judgement(ranks=ranks, scores=[score] * len(chunks), text_ranks=[0.0] * len(units))
    return Trace(
        hits=tuple(_to_hit(passage, score, score.whole, score.whole) for passage in passages), mode=mode,
        question=question, counts=counts, judgement=judgement, shown=passages, left_out=left_out,
    )  # fmt: skip


def _weights(mode: Mode, hybrid: Hybrid) -> scores.Weights:
    if mode == "keyword":
        return BY_KEYWORD
    if mode == "vector":
        return scores.Weights(1.0, 0.0)
    return scores.Weights.normalised(hybrid.vector_weight, hybrid.text_weight)


def _to_hit(passage: Passage, best: Score, evidence: float, shown: float) -> Hit:
    """Turn a passage into a hit.

    Args:
        passage: The passage.
        best: The score of its best chunk.
        evidence: That of the hit.
        shown: Its score.
    """
    return Hit(
        path=passage.units[0].path,
        source=passage.units[0].source,
        start_line=passage.first_line,
        end_line=passage.last_line,
        score=round(shown, _DIGITS),
        evidence=round(evidence, _DIGITS),
        vector_score=None if best.vector is None else round(best.vector, _DIGITS),
        text_score=None if best.text is None else round(best.text, _DIGITS),
        snippet=passage.snippet,
    )


def cite(reader: Reader, hits: Iterable[Hit]) -> list[Hit]:
    """Replace the lines of hits in sessions by those of the log; return other hits as they are.

    Args:
        reader: The one that the hits were found through.
        hits: As `search` returns them.
    """
    lines = cache(lambda path: reader.load_log_lines(SOURCE, path))
    return [_cite_log(hit, lines(hit.path)) if is_log(hit.path) else hit for hit in hits]


def _cite_log(hit: Hit, lines: Sequence[int]) -> Hit:
    return replace(hit, start_line=lines[hit.start_line - 1], end_line=lines[hit.end_line - 1])
