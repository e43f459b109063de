"""The explanation of a search: where every passage stood, and where a place was lost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from memory_core.records import Mode

# The stages of a search in their order. A place is lost at one of them, or it is shown.
Stage = Literal["question", "file", "index", "dates", "candidates", "gate", "packing", "shown", "unknown"]

# The reason why it was lost there. By stage:
#   question    no_words
#   file        missing, excluded, other_agent, unreadable, no_such_line
#   index       not_indexed, changed, no_text
#   dates       other_dates
#   candidates  other_name, no_words_in_common, other_language, not_embedded, outranked
#   gate        low_score, other_language, not_embedded
#   packing     behind, copy
#   shown       shown
#   unknown     not_returned: the backend does not tell more
Cause = Literal[
    "no_words", "missing", "excluded", "other_agent", "unreadable", "no_such_line", "not_indexed", "changed", "no_text",
    "other_dates", "other_name", "no_words_in_common", "other_language", "not_embedded", "outranked", "low_score", "behind",
    "copy", "shown", "not_returned",
]  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class NotePlace:
    """A note, or a line of it. `line` counts from 1; None means the whole note."""

    path: str
    line: int | None = None

    def __str__(self) -> str:
        return self.path if self.line is None else f"{self.path}#L{self.line}"


@dataclass(frozen=True, slots=True)
class Verdict:
    """The stage at which a passage stands, and the reason.

    Attributes:
        stage, cause: Where it was lost, or "shown", and why.
        reason: The same as one sentence without a full stop, which goes on after the name of the place.
        action: What can be done about it; "" if nothing needs to be.
    """

    stage: Stage
    cause: Cause
    reason: str
    action: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedTerm:
    """A word or phrase that was looked for.

    Attributes:
        text: As asked; words in lower case.
        meant: The word of the notes that was looked for instead, as none holds this one; None if it was this one.
        stem: As the keyword index holds it.
        documents: The number of chunks that hold it.
        forms: Other forms that were looked for as well.
        weight: Its share of the question's words, 0..1; 0 for a phrase.
    """

    text: str
    stem: str
    documents: int
    forms: tuple[str, ...] = ()
    weight: float = 0.0
    meant: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedQuestion:
    """The question as the index understood it.

    Attributes:
        text: As it was asked.
        terms: Words, then phrases.
        left_out: Words that only build questions, in order.
        language: Its language, such as "German", or its script, such as "Cyrillic"; None if it is not known.
        names: File names and dates in it.
        first, last: The days of which it speaks, YYYY-MM-DD; None without a period.
        is_sentence: It was taken for a sentence, not for a list of words.
        chunks: Those in the index.
    """

    text: str
    terms: tuple[AskedTerm, ...] = ()
    left_out: tuple[str, ...] = ()
    language: str | None = None
    names: tuple[str, ...] = ()
    first: str | None = None
    last: str | None = None
    is_sentence: bool = False
    chunks: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Shares:
    """The parts whose sum is the value by which a unit is ranked. Not comparable between questions.

    Attributes:
        words: Of its words, and of those of its chunk.
        window, tokens: Of the cosine of its window, and of the similarity of its tokens.
        named, period: Because the question names its note, or because its note is of the days that the question speaks of.
        age: Because it is a newer statement, or an older one, and that is asked.
        recency: Always 1: the age of a note alone does not change its rank.
    """

    words: float
    window: float = 0.0
    tokens: float = 0.0
    named: float = 0.0
    period: float = 0.0
    age: float = 0.0
    recency: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Examined:
    """A passage that was looked at, and where it stood after each stage.

    Attributes:
        path, source, date: Of its note; the date is None for a note without one.
        start_line, end_line, text: The lines of its best unit, from 1, included; that unit, cut to 300 characters.
        holds, lacks: The words of the question that its chunk holds, and those that it does not hold.
        keyword_rank, keyword_score: Its rank by keyword, from 1, and the BM25 of its chunk; None if it was not found by keyword.
        vector_rank: Its rank by cosine, from 1; None if it is not among the nearest that were looked at.
        cosine: The cosine of its best window; None without a vector search, or without an embedding.
        is_embedded: Its chunk has an embedding; None without a vector search.
        is_candidate: Its units were ranked.
        unit_rank, shares: The rank of its best unit among all units of candidates, from 1; None if it is no candidate.
        score, evidence: Those of the result that shows it; else the score of a hit of its best unit alone, and the evidence
            of its chunk. The evidence is compared with the gate. 0..1; None if nothing was scored.
        vector_score, text_score: The score of its evidence by meaning or by keyword alone; None if that does not count.
        shown_as: The number of the result in which it is shown, from 1; None if it is in none.
        also_in: Of that result, as `Hit.also_in`.
        verdict: Where it was lost.
    """

    path: str
    source: str
    date: str | None
    start_line: int
    end_line: int
    text: str
    holds: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()
    keyword_rank: int | None = None
    keyword_score: float | None = None
    vector_rank: int | None = None
    cosine: float | None = None
    is_embedded: bool | None = None
    is_candidate: bool = True
    unit_rank: int | None = None
    shares: Shares | None = None
    score: float | None = None
    evidence: float | None = None
    vector_score: float | None = None
    text_score: float | None = None
    shown_as: int | None = None
    also_in: tuple[str, ...] = ()
    verdict: Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaceReport:
    """The fate of the place that was asked for.

    Attributes:
        place, verdict: The place, and where it was lost.
        examined: Its passage; None if the index has none there, or if the backend does not tell.
    """

    place: NotePlace
    verdict: Verdict
    examined: Examined | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """The explanation of one search.

    Attributes:
        asked: The question.
        backend: The backend that answered.
        mode: The evidence that was used.
        min_score, max_results: The gate, below whose evidence results are left out, and the number of results asked for.
        verdict: On the place, or else on the whole search.
        passages: Every passage that was looked at, in the order of their ranks; of a backend that does not tell, the results.
        place: The report on the place; None if none was asked for.
        stale: Changes in the files are not indexed yet; a little later the search may find more.
        warning, action: Why the answer is worse than usual, and what to do about that; None if it is not, or nothing.
    """

    asked: AskedQuestion
    backend: str
    mode: Mode
    min_score: float
    max_results: int
    verdict: Verdict
    passages: tuple[Examined, ...] = ()
    place: PlaceReport | None = None
    stale: bool = False
    warning: str | None = None
    action: str | None = None
