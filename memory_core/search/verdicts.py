"""Verdicts: the stage at which a passage was lost, the reason in one sentence, and what can be done. Pure."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from memory_core.explanations import AskedQuestion, Examined, Verdict
from memory_core.records import Query
from memory_core.text.dates import ordinal
from memory_core.text.folding import clean
from memory_core.text.tables import PHRASES
from memory_core.text.terms import detect_language, split_question

if TYPE_CHECKING:
    from memory_core.search.pipeline import Trace

INDEX_IT = "run: memory-core index"
IN_OTHER_WORDS = "ask again in other words"
FIRST_NOTE = f"{INDEX_IT}; where there is no note yet, write MEMORY.md"
SCRIPTS = {"CJK": "Chinese", "HIRAGANA": "Japanese", "KATAKANA": "Japanese", "HANGUL": "Korean"}

NOT_INDEXED = Verdict(stage="index", cause="not_indexed", reason="the index does not hold this note", action=INDEX_IT)
NO_TEXT = Verdict(
    stage="index",
    cause="no_text",
    reason="nothing on this line is searched by itself: it is blank, a heading or a mark, or the note ends before it",
    action="name the line of the text below it",
)


def detect_writing(text: str) -> str | None:
    """Detect the language of a text by its function words, or else its script if that is not Latin; None if unknown.

    >>> detect_writing("Wann endet der Mietvertrag?"), detect_writing("Когда"), detect_writing("PRS-2209")
    ('German', 'Cyrillic', None)
    """
    foreign = "" if text.isascii() else "".join(filter(str.isalpha, text))
    scripts = Counter(unicodedata.name(each, "").partition(" ")[0] for each in foreign)
    script = max(scripts, key=scripts.__getitem__, default="LATIN")
    if script != "LATIN":
        japanese = script == "CJK" and (scripts["HIRAGANA"] or scripts["KATAKANA"])
        return "Japanese" if japanese else SCRIPTS.get(script, script.capitalize())
    language = detect_language(text)
    return None if language is None else PHRASES[language]["english name"]


def find_left_out(text: str) -> tuple[str, ...]:
    """Return the words of a question that are not looked for, in order, each once."""
    parts = ((part.strip(" \t\n.,;:!?\"'()").lower(), words) for part, words in split_question(clean(text)))
    return tuple(dict.fromkeys(part for part, words in parts if part and not words))


def find_no_words(left_out: Sequence[str]) -> Verdict:
    """Return the verdict on a question without a word to look for."""
    are = "is" if len(left_out) == 1 else "are"
    what = f": {_join(left_out)} {are} in too many questions to be looked for" if left_out else ""
    return Verdict(
        stage="question",
        cause="no_words",
        reason=f"the question has no word to look for{what}",
        action="ask with a word that the note may hold",
    )


def judge_candidate(passage: Examined, query: Query, special: Verdict | None = None) -> Verdict:
    """Return the verdict on a passage whose units were ranked; `special` is what `find_special` returns."""
    if passage.shown_as is not None:
        return Verdict(stage="shown", cause="shown", reason=f"it is in result {passage.shown_as}")
    if passage.evidence is not None and passage.evidence < query.min_score:
        return _judge_gate(passage, query, special)
    results = "one result" if query.max_results == 1 else f"{query.max_results} results"
    return Verdict(
        stage="packing",
        cause="behind",
        reason=f"it ranks {ordinal(passage.unit_rank or 0)}, behind what the {results} asked for could show",
        action="ask for more results (--max-results), or with more of its own words",
    )


def judge_copy(path: str, line: int, shown_as: int | None) -> Verdict:
    """Return the verdict on a passage that stands elsewhere, too, in a plainer place."""
    shown = f", which is in result {shown_as}" if shown_as is not None else ""
    return Verdict(stage="packing", cause="copy", reason=f"it says the same as {path}#L{line}{shown}")


def _judge_gate(passage: Examined, query: Query, special: Verdict | None) -> Verdict:
    score = f"its evidence of {_number(passage.evidence)} is below the gate of {_number(query.min_score)}"
    if special is not None:
        return replace(special, stage="gate", reason=f"{score}: {special.reason}")
    parts = [_say_words(passage)] if passage.holds or passage.lacks else []  # some backends do not tell
    if passage.vector_score is not None:
        parts.append(f"by meaning it scores {_number(passage.vector_score)}")
    told = f": {', and '.join(parts)}" if parts else ""
    gate = int(max(passage.evidence or 0.0, 0.0) * 100) / 100  # rounded down, so that the passage reaches it
    lower = f", or lower the gate: --min-score {gate:.2f} (memorySearch.query.minScore)" if gate else ""
    return Verdict(
        stage="gate", cause="low_score", reason=f"{score}{told}", action=f"ask with its own words{lower}"
    )  # fmt: skip


def judge_outsider(passage: Examined, query: Query, looked_at: int) -> Verdict:
    """Return the verdict on a passage whose units were not ranked, as those of so many others were."""
    if not passage.holds and passage.vector_score is None:
        return Verdict(
            stage="candidates",
            cause="no_words_in_common",
            reason=f"it holds none of the words asked for ({_join(passage.lacks)}), and nothing was compared by meaning",
            action="ask with its own words, or choose a provider of embeddings: memorySearch.provider",
        )
    ranks = [
        f"{ordinal(rank)} by {side}"
        for rank, side in ((passage.keyword_rank, "keyword"), (passage.vector_rank, "meaning"))
        if rank is not None
    ]
    place = f"it ranks {' and '.join(ranks)}" if ranks else "it is not among the best by keyword or by meaning"
    gate = (
        f"; its evidence would be {_number(passage.evidence)}, below the gate of {_number(query.min_score)}"
        if passage.evidence is not None and passage.evidence < query.min_score
        else ""
    )
    among = any(rank <= looked_at for rank in (passage.keyword_rank, passage.vector_rank) if rank is not None)
    together = " by keyword and meaning together" if among else ""
    return Verdict(
        stage="candidates",
        cause="outranked",
        reason=f"{place}, and only the best {looked_at} passages{together} were looked at{gate}",
        action="ask with more of its own words, its date or its file name",
    )


def find_special(passage: Examined, text: str, *, asked_in: str | None, lacks_embeddings: bool) -> Verdict | None:
    """Return the verdict where something other than its worth kept a passage back; None if nothing did.

    Args:
        passage: It.
        text: That of its chunk.
        asked_in: The language of the question; None if unknown.
        lacks_embeddings: Embeddings are wanted, but no note has one yet.
    """
    if passage.is_embedded is False or (lacks_embeddings and not passage.holds):
        return Verdict(
            stage="candidates",
            cause="not_embedded",
            reason=f"it has no embedding yet, so it was not compared by meaning, and {_say_words(passage)}",
            action=INDEX_IT,
        )
    if passage.holds or not asked_in:
        return None
    written = detect_writing(text)
    if written and asked_in != written:
        return Verdict(
            stage="candidates",
            cause="other_language",
            reason=f"the question is in {asked_in} and the note in {written}; {_say_words(passage)}",
            action=f"ask in {written}, or choose a model of many languages: memorySearch.provider, memorySearch.model",
        )
    return None


def judge_dates(day: str | None, query: Query) -> Verdict:
    """Return the verdict on a passage outside the days asked for."""
    is_of = f"it is of {day}" if day else "the note was changed on another day"
    return Verdict(
        stage="dates",
        cause="other_dates",
        reason=f"{is_of}, and only what is {_say_days(query)} was asked for",
        action="ask without --after and --before",
    )


def _say_days(query: Query) -> str:
    days = (("after", query.after), ("before", query.before))
    return " and ".join(f"{word} {limit}" for word, limit in days if limit)


def judge_name(query: Query) -> Verdict:
    """Return the verdict on a passage that does not mention the name to which a search is restricted."""
    return Verdict(
        stage="candidates",
        cause="other_name",
        reason=f"it does not mention {query.about!r}, and only what does was asked for",
        action="ask without --about, or by another name: memory-core related lists them",
    )


def sum_up(
    asked: AskedQuestion, passages: Sequence[Examined], query: Query, *, lacks_embeddings: bool = False
) -> Verdict:
    """Return the verdict on a whole search: how much came, and where the rest was lost."""
    if not asked.chunks:
        return Verdict(stage="index", cause="not_indexed", reason="no note is indexed", action=FIRST_NOTE)
    if not any(term.text for term in asked.terms):
        return find_no_words(asked.left_out)
    shown = {passage.shown_as for passage in passages if passage.shown_as is not None}
    below = sum(passage.verdict.stage == "gate" for passage in passages)
    behind = sum(passage.verdict.stage == "packing" for passage in passages)
    others = sum(passage.verdict.cause == "other_name" for passage in passages)
    lost = [
        text
        for number, text in (
            (below, f"{below} scored below the gate of {_number(query.min_score)}"),
            (behind, f"{behind} ranked behind"),
            (others, f"{others} did not mention {query.about!r}"),
        )
        if number
    ]
    reason = f"{len(passages)} of {asked.chunks} passages were looked at" + "".join(f", {text}" for text in lost)
    if shown:
        came = f"{len(shown)} {'result' if len(shown) == 1 else 'results'} came; {reason}"
        return Verdict(stage="shown", cause="shown", reason=came)
    if not passages:
        return _judge_none(asked, query, lacks_embeddings=lacks_embeddings)
    best = passages[0]
    return Verdict(
        stage=best.verdict.stage,
        cause=best.verdict.cause,
        reason=f"nothing came: {reason}; of the best, {best.path}#L{best.start_line}, {best.verdict.reason}",
        action=best.verdict.action,
    )


def _judge_none(asked: AskedQuestion, query: Query, *, lacks_embeddings: bool) -> Verdict:
    """Return the verdict on a search for which no passage was looked at."""
    if query.about is not None:
        return replace(
            judge_name(query), reason=f"nothing came: no passage that was looked at mentions {query.about!r}"
        )
    if (query.after or query.before) and any(term.documents for term in asked.terms):
        return replace(judge_dates(None, query), reason=f"nothing came: nothing that is {_say_days(query)} was found")
    return Verdict(
        stage="candidates",
        cause="not_embedded" if lacks_embeddings else "no_words_in_common",
        reason=f"nothing came: no passage holds {_join([term.text for term in asked.terms], last='or')}"
        + (", and none has an embedding yet" if lacks_embeddings else ""),
        action=INDEX_IT if lacks_embeddings else "ask with other words",
    )


def hint_at(trace: Trace, query: Query) -> str | None:
    """Return in a line why a search found nothing, and what to do; None if all is said.

    It names no passage, lest one be taken for an answer.

    A question that asks for nothing but a period is answered by a warning that no note is of it.
    """
    question = trace.question
    if question.asks_for_period:
        return None
    if not question.words:
        return f"{find_no_words(find_left_out(query.text)).reason}: {IN_OTHER_WORDS}"
    dates = " of these dates" if query.after or query.before else ""
    if trace.about is not None and not trace.about.chunks:
        return f"no passage{dates} mentions {query.about!r}: ask about another name, or about none"
    unknown = [
        repr(term.asked or term.text)
        for number, term in enumerate(question.words)
        if number not in question.period_words and (term.asked or not term.documents)
    ]
    found = [score.whole for score in trace.judgement.scores]
    best = max(found, default=0.0)
    parts = [f"no note holds {_join(unknown, last='or')}"] if unknown else []
    if 0 < best < query.min_score:
        looked_at = "the one passage" if len(found) == 1 else f"the best of {len(found)} passages"
        parts.append(describe_distance(f"{looked_at} looked at", best, query.min_score))
    elif not unknown:
        mentions = f" that mentions {query.about!r}" if trace.about is not None else ""
        parts.append(f"no passage{dates}{mentions} is near enough")
    return f"{'; '.join(parts)}: {IN_OTHER_WORDS}"


def describe_distance(what: str, evidence: float | None, least: float) -> str:
    """Say of the best passage why it is not shown."""
    return f"{what} does not fit well enough: its evidence is {_number(evidence)} of 1, and {_number(least)} is needed"


def _say_words(passage: Examined) -> str:
    if not passage.holds:
        return f"it holds none of the words asked for ({_join(passage.lacks)})"
    lacks = f" but not {_join(passage.lacks, last='or')}" if passage.lacks else ""
    return f"it holds {_join(passage.holds)}{lacks}"


def _join(words: Sequence[str], *, last: str = "and") -> str:
    shown = list(words[:6]) + ([f"{len(words) - 6} more"] if len(words) > 6 else [])
    if len(shown) < 2:
        return "".join(shown)
    return f"{', '.join(shown[:-1])} {last} {shown[-1]}"


def _number(value: float | None) -> str:
    return f"{value or 0.0:.2f}"
