"""A record of one search, which `pipeline` fills where one is passed, and `explaining` reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memory_core.search.candidates import Candidate
    from memory_core.search.names import About
    from memory_core.search.passages import Passage
    from memory_core.search.question import Question
    from memory_core.search.scores import Weights
    from memory_core.search.scoring import Score
    from memory_core.search.term_counts import TermCounts


@dataclass(slots=True)
class SearchRecorder:
    """The findings of a search, stage by stage. A stage that it did not come to leaves its fields empty.

    Attributes:
        question: As the index understood it.
        about: What the search is restricted to; None searches all.
        by_text: Keyword scores by chunk id, best first.
        near: Cosines by chunk id, best first.
        weights: Of the two sides.
        candidates: The chunks whose units were ranked.
        counts: Of their terms.
        text_ranks: For every unit its value by words, with the bonuses of its note.
        cosines: Of the best window of every candidate; empty without vectors.
        window_shares, token_shares: What was added for every unit; empty without vectors.
        ranks: For every unit the whole value.
        judged: The score of every candidate.
        shown: The passages that became hits, in order.
    """

    question: Question | None = None
    about: About | None = None
    by_text: Mapping[int, float] = field(default_factory=dict)
    near: Mapping[int, float] = field(default_factory=dict)
    weights: Weights | None = None
    candidates: Sequence[Candidate] = ()
    counts: TermCounts | None = None
    text_ranks: Sequence[float] = ()
    cosines: Sequence[float] = ()
    window_shares: Sequence[float] = ()
    token_shares: Sequence[float] = ()
    ranks: Sequence[float] = ()
    judged: Sequence[Score] = ()
    shown: Sequence[Passage] = ()
