"""A search: the question is analysed, candidates are found, their units ranked and packed into passages, those scored.

`search` returns a `Trace` of what each stage found: its hits are the answer, and `explaining` reads the rest.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cache
from itertools import islice
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
from memory_core.search.copies import Copies, count_words, find_copies, is_plain, name_places
from memory_core.search.passages import (
    LOOK,
    SHARED,
    Lead,
    Mark,
    Packing,
    Passage,
    PlacedUnit,
    count_matter,
    find_marks,
    leave_out_matter,
)
from memory_core.search.periods import list_notes
from memory_core.search.question import Question, analyse
from memory_core.search.recency import find_later, mark_replaced
from memory_core.search.scoring import Judgement, Score, VectorQuery, judge, prefer_matter, put_first, weigh_vectors
from memory_core.sources.session_logs import SOURCE, is_log
from memory_core.stores.interface import Reader
from memory_core.stores.values import DateRange
from memory_core.text.markdown import looks_like_row, scan
from memory_core.text.units import MOST_LEAD, find_leads

if TYPE_CHECKING:
    from memory_core.search.names import About

_DIGITS = 4  # of scores
OF_PERIOD = Score(1.0, None, None)  # of notes of a period that is all that is asked for
BY_KEYWORD = scores.Weights(0.0, 1.0)


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
        candidates: The chunks whose units were ranked.
        counts: Of their terms.
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
    candidates: Sequence[Candidate] = ()
    counts: TermCounts | None = None
    judgement: Judgement | None = None
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
        hybrid: The weights of the two sides.
        vectors: None searches by keyword alone.
        about: Restricts the search to units that mention a name; None searches all.
    """
    today = query.today or datetime.now().astimezone().date()
    question = analyse(reader, query.text, today, DateRange(query.after, query.before))
    mode: Mode = "keyword" if vectors is None else "hybrid" if hybrid.enabled else "vector"
    if question.asks_for_period and about is None:
        return _list_period(reader, query, question, mode)
    if not question.words or not question.chunks:
        return Trace(mode=mode, question=question, about=about)
    weights = _weights(mode, hybrid)
    multiplier = hybrid.candidate_multiplier

    def find_near(depth: int) -> Mapping[int, float]:
        if vectors is None or not weights.vector:
            return {}
        if about is not None:
            return compare_all(reader, vectors.space_id, vectors.vector, about.chunks)
        return reader.find_nearest(vectors.space_id, vectors.vector, DateRange(query.after, query.before), depth)

    among = None if about is None else about.chunks
    share = 1.0 if vectors is None else weigh_vectors(question, vectors)
    ranked = RANKED_CHUNKS if vectors is None or vectors.tokens is None else RANKED_IN_CONTEXT
    candidates, by_text, near = find_candidates(
        reader, question, query, weights, multiplier=multiplier, find_near=find_near, near_share=share, among=among,
        ranked=ranked,
    )  # fmt: skip
    dates = DateRange(query.after, query.before) if about is None else None
    candidates, counts, judgement = _rank(reader, question, candidates, weights=weights, vectors=vectors, dates=dates)
    ranks = judgement.ranks
    enough = scores.NEAR_BEST * max(ranks, default=0.0) if vectors is not None else math.inf

    matters = [count_matter(each.chunk) for each in candidates]

    def is_worth_showing(at: int) -> bool:
        number, index = counts.units[at]
        return bool(counts.counts[at]) or candidates[number].chunk.units[index].last_line >= matters[number]

    def pack_best(numbers: Iterable[int]) -> tuple[list[Hit], list[Passage], Copies]:
        # Of equals the first candidate's stay first.
        order = sorted(filter(is_worth_showing, numbers), key=ranks.__getitem__, reverse=True)
        order = _leave_room(order, passes, candidates, counts, query.max_results)
        looked_at = order[: LOOK * max(query.max_results, SHARED)]
        copies = find_copies([each.chunk for each in candidates], {i: counts.units[i] for i in looked_at})
        order = list(dict.fromkeys(copies.shown.get(i, i) for i in order))
        ranked = ((*counts.units[i], bool(counts.counts[i]) or ranks[i] >= enough) for i in order)
        place = _make_placing(candidates, question, reader.stem, query.max_snippet_chars)
        if query.joined:
            passages = _pack(candidates, ranked, place, query)
        else:
            chosen = (place(*each) for each in islice(ranked, query.max_results))
            passages = [Passage([unit], query.max_snippet_chars, _find_lead(candidates, unit)) for unit in chosen]
        hits = _keep_best(passages, judgement, counts, query, question)
        return hits, passages[: len(hits)], copies

    units = range(len(ranks)) if about is None else _find_units(candidates, counts, about)
    passes = [round(score.whole, _DIGITS) >= query.min_score for score in judgement.scores]
    passing = [i for i in units if passes[counts.units[i][0]]]
    hits, shown, copies = pack_best(units) if passing else ([], [], Copies())
    if passing and not hits:  # what passes may rank behind all that is shown
        hits, shown, copies = pack_best(passing)
    said = [_list_said(passage, counts, copies) for passage in shown]
    hits = [_name_copies(*each, candidates, counts, copies) for each in zip(hits, shown, strict=True)]
    hits = mark_replaced(hits, said, judgement.recency, candidates, counts)
    return Trace(
        hits=tuple(hits), mode=mode, question=question, about=about, by_text=by_text, near=near, weights=weights,
        candidates=candidates, counts=counts, judgement=judgement, shown=shown, copies=copies,
    )  # fmt: skip


def _rank(
    reader: Reader,
    question: Question,
    candidates: list[Candidate],
    *,
    weights: scores.Weights,
    vectors: VectorQuery | None,
    dates: DateRange | None,
) -> tuple[list[Candidate], TermCounts, Judgement]:
    """Count the terms of candidates, and rank their units: first a later line that says the same as the best one, if one does.

    Args:
        dates: Those of the notes in which such a line is looked for, which may add a candidate; None looks for none.
    """
    counts = TermCounts(question, candidates, reader.stem)
    judgement = judge(reader, question, candidates, counts, weights=weights, vectors=vectors)
    judgement = prefer_matter(judgement)
    later = find_later(reader, judgement.confidence, judgement.ranks, dates) if dates and judgement.confidence else None
    if later is not None:
        chunk, index = later
        ids = [each.chunk.id for each in candidates]
        if chunk.id not in ids:
            ids.append(chunk.id)
            candidates = [*candidates, Candidate(chunk)]
            _, counts, judgement = _rank(reader, question, candidates, weights=weights, vectors=vectors, dates=None)
        judgement = put_first(judgement, counts.firsts[ids.index(chunk.id)] + index)
    return candidates, counts, judgement


def _leave_room(
    order: Sequence[int], passes: Sequence[bool], candidates: Sequence[Candidate], counts: TermCounts, count: int
) -> list[int]:
    """Put notes that pass before the session logs and reports for which there is no room: those fill half of the hits."""
    plain = [is_plain(each.chunk) for each in candidates]
    if all(plain):
        return [*order]
    best: dict[int, int] = {}
    for at in order:
        best.setdefault(counts.units[at][0], at)
    logs = [number for number in best if not plain[number]][: max(count // 2, 1)]
    notes = [number for number in best if plain[number] and passes[number]]
    served, opening = {*logs, *notes}, {*logs, *notes[: count - len(logs)]}

    def defer(at: int) -> int:
        number = counts.units[at][0]
        return 0 if number in served else 2 if plain[number] else 1

    # The best unit of each opens its place before a log opens a second one.
    heads = [at for number, at in best.items() if number in opening]
    return list(dict.fromkeys([*heads, *sorted(order, key=defer)]))


def _list_said(passage: Passage, counts: TermCounts, copies: Copies) -> set[int]:
    """Return the numbers of the units of a passage, and of their copies."""
    own = {counts.firsts[unit.chunk] + unit.index for unit in passage.units}
    return own.union(*(copies.others.get(at, ()) for at in own))


def _name_copies(
    hit: Hit, passage: Passage, candidates: Sequence[Candidate], counts: TermCounts, copies: Copies
) -> Hit:
    """Return a hit that names the other places in which units with half of its words stand, or more."""
    numbers = [counts.firsts[unit.chunk] + unit.index for unit in passage.units]
    if not any(candidates[counts.units[at][0]].copies or at in copies.others for at in numbers):
        return hit
    found, whole = Counter[str](), 0
    for unit, at in zip(passage.units, numbers, strict=True):
        words = count_words(candidates[unit.chunk].chunk, unit.index)
        held = [candidates[counts.units[each][0]] for each in (at, *copies.others.get(at, ()))]
        whole += words
        found.update(dict.fromkeys((chunk.path for each in held for chunk in (each.chunk, *each.copies)), words))
    places = name_places(hit.path, (path for path, words in found.items() if words * 2 >= whole))
    return replace(hit, also_in=places) if places else hit


def _list_period(reader: Reader, query: Query, question: Question, mode: Mode) -> Trace:
    """Answer a question that asks for nothing but a period: its notes in order of time, whatever words they hold."""
    dated = question.dated
    order = {chunk_id: place for place, chunk_id in enumerate((*dated.own, *sorted(dated.naming)))}
    chunks = sorted(reader.load_chunks(order), key=lambda chunk: order[chunk.id])
    passages, left_out = list_notes(chunks, query, dated.naming)
    candidates = [Candidate(chunk) for chunk in chunks]
    counts = TermCounts(question, candidates, reader.stem)
    judgement = Judgement(
        ranks=[float(-at) for at in range(len(counts.units))], scores=[OF_PERIOD] * len(chunks),
        text_ranks=[0.0] * len(counts.units),
    )  # fmt: skip
    return Trace(
        hits=tuple(_to_hit(passage, OF_PERIOD, OF_PERIOD.whole, OF_PERIOD.whole) for passage in passages), mode=mode,
        question=question, candidates=candidates, counts=counts, judgement=judgement, shown=passages, left_out=left_out,
    )  # fmt: skip


def _find_units(candidates: Sequence[Candidate], counts: TermCounts, about: About) -> list[int]:
    """Return the numbers of the units that mention a name."""
    found = []
    for at, (number, index) in enumerate(counts.units):
        chunk = candidates[number].chunk
        if about.holds(chunk.path, chunk.quote_unit(index)):
            found.append(at)
    return found


def _weights(mode: Mode, hybrid: Hybrid) -> scores.Weights:
    if mode == "keyword":
        return BY_KEYWORD
    if mode == "vector":
        return scores.Weights(1.0, 0.0)
    return scores.Weights.normalised(hybrid.vector_weight, hybrid.text_weight)


def _pack(
    candidates: Sequence[Candidate],
    ranked: Iterable[tuple[int, int, bool]],
    place: Callable[[int, int, bool], PlacedUnit],
    query: Query,
) -> list[Passage]:
    """Fill passages with units: (number of the candidate, number of the unit in it, `PlacedUnit.matches`), best first."""
    packing = Packing(
        count=max(query.max_results, SHARED),
        max_chars=query.max_snippet_chars,
        find_lead=lambda unit: _find_lead(candidates, unit),
    )
    for number, index, matches in islice(ranked, packing.look):
        chunk = candidates[number].chunk
        if packing.wants(chunk.path, chunk.source):  # most do not come in: no values are made of them
            packing.add(place(number, index, matches))
            if packing.is_full:
                break
    return packing.passages


def _find_lead(candidates: Sequence[Candidate], unit: PlacedUnit) -> Lead | None:
    """Return the head of the table of a unit, or what introduces it in a list and stands in a chunk before."""
    chunk = candidates[unit.chunk].chunk
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


def _make_placing(
    candidates: Sequence[Candidate], question: Question, stem: Stem, max_chars: int
) -> Callable[[int, int, bool], PlacedUnit]:
    """Return what gives units their places, and cuts those that are too long around the words of the question.

    Args:
        candidates: The chunks of the units.
        question: Whose words are looked for in long units.
        stem: The stemmer of the keyword index.
        max_chars: The most characters of a unit.
    """
    asked = {
        stem: weight
        for word, weight in zip(question.words, question.weights, strict=True)
        for stem in (word.stems[0], *(form.stem for form in word.forms))
    }

    def mark(unit: PlacedUnit) -> list[Mark]:
        return find_marks(unit.text, (unit.start, unit.end), asked, stem)

    def place(number: int, index: int, matches: bool) -> PlacedUnit:
        chunk = candidates[number].chunk
        unit = leave_out_matter(chunk, index)
        return PlacedUnit(
            chunk.start_line + unit.first_line, chunk.start_line + unit.last_line, unit.start, unit.end,
            chunk.path, chunk.source, number, index, chunk.text, matches,
        ).cut(max_chars, mark)  # fmt: skip

    return place


def _keep_best(
    passages: Sequence[Passage], judgement: Judgement, counts: TermCounts, query: Query, question: Question
) -> list[Hit]:
    """Turn the best passages into hits, as many as are asked for, each with at least the minimum of evidence.

    The evidence of a hit is that of its best chunk, its score that of its best unit, or those of a hit behind it if higher. A
    statement calls to mind what has no evidence of its own: that shows the least of
    what is sure of its evidence.
    """
    own = [max((judgement.scores[unit.chunk] for unit in one.units), key=lambda score: score.whole) for one in passages]
    sure = []
    for one in passages:
        units = [(counts.firsts[unit.chunk] + unit.index, unit.chunk) for unit in one.units]
        holding = [unit for unit in units if counts.counts[unit[0]]]
        sure.append(max(judgement.show(*unit) for unit in holding or units))
    kind, words = question.kind, len(question.words)
    evidence = scores.lift([score.whole for score in own], kind, words=words)
    shown = [
        max(score, min(each, SHOWN[0])) for score, each in zip(scores.lift(sure, "question"), evidence, strict=True)
    ]
    hits = [_to_hit(*each) for each in zip(passages, own, evidence, shown, strict=True)]
    return [hit for hit in hits[: query.max_results] if hit.compared >= query.min_score]


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
