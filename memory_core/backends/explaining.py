"""Explains a search of a backend that cannot: by its hits, and by those that stand behind them in a longer list."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from memory_core.explanations import AskedQuestion, Examined, Explanation, NotePlace, PlaceReport, Verdict
from memory_core.records import Hit, Query, SearchResult
from memory_core.search import verdicts

MOST_EXPLAINED = 100  # hits that are asked for, to see what stands behind those that are shown


def explain_by_hits(search: Callable[[Query], SearchResult], query: Query, place: NotePlace | None) -> Explanation:
    """Explain a search by its hits, and by those that come with a longer list and without a gate.

    Args:
        search: Asks the backend.
        query: The query.
        place: The place to explain; None explains the search alone.
    """
    shown = search(query)
    every = search(replace(query, max_results=MOST_EXPLAINED, min_score=0.0))
    passages = tuple(_examine(hit, rank, shown.hits, query) for rank, hit in enumerate(every.hits, 1))
    report = None if place is None else _report(place, passages, shown.hits, every.backend)
    return Explanation(
        asked=AskedQuestion(text=query.text), backend=shown.backend, mode=shown.mode, min_score=query.min_score,
        max_results=query.max_results, passages=passages, place=report,
        verdict=_sum_up(passages, shown, query) if report is None else report.verdict, stale=shown.stale, warning=shown.warning,
        action=shown.action,
    )  # fmt: skip


def _examine(hit: Hit, rank: int, shown: Sequence[Hit], query: Query) -> Examined:
    overlapping = (
        n
        for n, one in enumerate(shown, 1)
        if one.path == hit.path and one.start_line <= hit.end_line and hit.start_line <= one.end_line
    )
    examined = Examined(
        path=hit.path, source=hit.source, date=None, start_line=hit.start_line, end_line=hit.end_line,
        text=" ".join(hit.snippet.split())[:300], unit_rank=rank, score=hit.score, evidence=hit.compared,
        vector_score=hit.vector_score, text_score=hit.text_score, shown_as=next(overlapping, None), verdict=verdicts.NOT_INDEXED,
    )  # fmt: skip
    return replace(examined, verdict=verdicts.judge_candidate(examined, query))


def _report(place: NotePlace, passages: Sequence[Examined], shown: Sequence[Hit], backend: str) -> PlaceReport:
    for number, hit in enumerate(shown, 1):
        if hit.path == place.path and (place.line is None or hit.start_line <= place.line <= hit.end_line):
            return PlaceReport(place=place, verdict=Verdict("shown", "shown", f"it is in result {number}"))
    for passage in passages:
        held = place.line is None or passage.start_line <= place.line <= passage.end_line
        if passage.path == place.path and held:
            return PlaceReport(place=place, verdict=passage.verdict, examined=passage)
    reason = f"{backend} did not return it among its best {len(passages)} passages, and does not tell why"
    action = "run: memory-core status; or ask with its own words"
    return PlaceReport(place=place, verdict=Verdict("unknown", "not_returned", reason, action))


def _sum_up(passages: Sequence[Examined], shown: SearchResult, query: Query) -> Verdict:
    below = sum(passage.verdict.stage == "gate" for passage in passages)
    told = f"passages from {shown.backend}: {len(passages)}, below the gate of {query.min_score:.2f}: {below}"
    if shown.hits:
        return Verdict("shown", "shown", f"{told}, shown: {len(shown.hits)}")
    if not passages:
        action = "ask with other words; or run: memory-core status"
        return Verdict("unknown", "not_returned", f"nothing came: {shown.backend} returned nothing", action)
    return Verdict("gate", "low_score", f"nothing came: {told}", passages[0].verdict.action)
