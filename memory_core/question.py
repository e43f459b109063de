"""A question made ready for one index: its terms with their counts there, the notes it names, the period it speaks of."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from functools import cached_property

from memory_core import ranking
from memory_core.dates import Period, named_period
from memory_core.store.connection import Connection, Tokenize
from memory_core.terms import (
    cut_cjk,
    file_names,
    identifiers,
    is_question,
    is_seam,
    is_single_cjk,
    match_expression,
    phrases,
    question_parts,
    question_words,
)

MAX_TERMS = 48  # of a question; the rarest stay
MAX_PHRASES = 16


@dataclass(frozen=True, slots=True)
class Term:
    """A word of the question, or a phrase whose words must stand together.

    Attributes:
        text: As it stands in the question; words in lower case.
        stems: As the keyword index holds it: one for a word.
        documents: In how many chunks it stands.
    """

    text: str
    stems: tuple[str, ...]
    documents: int

    @property
    def prefix(self) -> bool:
        """Whether it matches the beginnings of words: a single CJK character."""
        return is_single_cjk(self.text)


@dataclass(frozen=True)  # without slots, so that what ranking asks for again and again is computed once
class Question:
    """A question as one index understands it.

    Attributes:
        words: Its content words, without those that only build questions. Empty: it asks for nothing.
        phrases: Identifiers, paths and quoted words, which count as they stand besides their single words.
        chunks: How many chunks the index holds.
        names: File names and dates, as paths end with them.
        period: The days it speaks of.
        period_words: The numbers of the words that name them.
        identifiers: The numbers, among its terms, of those that name one thing exactly and that some chunk holds.
        is_sentence: Whether it is asked in a sentence, rather than a list of words.
        parts: For every part of `terms.question_parts` the words in it.
    """

    words: tuple[Term, ...]
    phrases: tuple[Term, ...]
    chunks: int
    names: tuple[str, ...] = ()
    period: Period | None = None
    period_words: frozenset[int] = frozenset()
    identifiers: frozenset[int] = frozenset()
    is_sentence: bool = False
    parts: tuple[tuple[str, ...], ...] = ()

    @cached_property
    def terms(self) -> tuple[Term, ...]:
        """Words and phrases: what ranks."""
        return self.words + self.phrases

    @cached_property
    def weights(self) -> list[float]:
        """What share each word has in the question, not normalised.

        A CJK pair that stands nowhere is likelier the seam of two words than a word: it weighs half.
        """
        return [
            ranking.coverage_weight(self.chunks, word.documents) * (0.5 if is_seam(word.text, word.documents) else 1.0)
            for word in self.words
        ]

    @cached_property
    def part_weights(self) -> list[float]:
        """What share each part has: that of the words in it."""
        share = {word.text: weight for word, weight in zip(self.words, self.weights, strict=True)}
        return [sum(share.get(word, 0.0) for word in words) for words in self.parts]

    @cached_property
    def rarities(self) -> list[float]:
        """Inverse document frequency of every term."""
        return [ranking.inverse_document_frequency(self.chunks, term.documents) for term in self.terms]


def ready(connection: Connection, text: str, tokenize: Tokenize, today: date) -> Question:
    """Look a question's terms up; of very many words the rarest stay."""
    chunks = int(connection.execute("SELECT count(*) FROM chunks").get)
    stems: dict[str, str] = {}
    for word in question_words(text):
        for stem in tokenize((word if is_single_cjk(word) else cut_cjk(word)).encode())[:1]:
            stems.setdefault(stem, word)
    counts = _documents(connection, stems)
    words = {stem: Term(word, (stem,), counts.get(stem, 0)) for stem, word in stems.items()}
    kept = sorted(words.values(), key=lambda term: (term.documents == 0, term.documents))[:MAX_TERMS]
    found = (_phrase(connection, phrase, tokenize) for phrase in phrases(text)[:MAX_PHRASES])
    single = tuple(term for term in words.values() if term in kept)
    several = tuple(term for term in found if term.documents)
    exact = {one.lower() for one in identifiers(text)}
    period, named = named_period(text, today) or (None, "")
    naming = set(question_words(named))
    return Question(
        words=single,
        phrases=several,
        chunks=chunks,
        names=tuple(file_names(text)),
        period=period,
        period_words=frozenset(number for number, word in enumerate(single) if word.text in naming),
        identifiers=frozenset(
            number for number, term in enumerate(single + several) if term.documents and term.text.lower() in exact
        ),
        is_sentence=is_question(text),
        parts=tuple(tuple(words) for _, words in question_parts(text)),
    )


def _documents(connection: Connection, stems: Mapping[str, str]) -> dict[str, int]:
    """In how many chunks each stem stands; those of single CJK characters count words that begin with them."""
    rows = connection.execute(
        "SELECT term, doc FROM chunks_terms WHERE term IN (SELECT value FROM json_each(?))", (json.dumps(list(stems)),)
    )
    counts: dict[str, int] = dict(rows)
    for stem, word in stems.items():
        if is_single_cjk(word):
            range_ = "SELECT coalesce(max(doc), 0) FROM chunks_terms WHERE term >= ?1 AND term < ?1 || char(1114111)"
            counts[stem] = int(connection.execute(range_, (stem,)).get)
    return counts


def _phrase(connection: Connection, phrase: str, tokenize: Tokenize) -> Term:
    match = match_expression([phrase])
    count = connection.execute("SELECT count(*) FROM chunks_fts WHERE chunks_fts MATCH ?", (match,)).get
    return Term(phrase, tuple(tokenize(phrase.encode())), int(count))
