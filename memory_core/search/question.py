"""A question as one index understands it: its terms with their counts, the notes it names, the period it speaks of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from functools import cached_property

from memory_core.search import scores
from memory_core.search.periods import NOTHING, Dated, find_dated
from memory_core.stores.interface import Reader
from memory_core.stores.values import DateRange, Form, IndexedChunk, Term
from memory_core.text.dates import Period
from memory_core.text.languages import STEMMED
from memory_core.text.periods import NamedPeriod, find_period
from memory_core.text.terms import (
    QuestionKind,
    classify,
    cut_cjk,
    detect_language,
    extract_file_names,
    extract_identifiers,
    extract_ideographs,
    extract_phrases,
    extract_words,
    find_cjk_share,
    is_cjk,
    is_functional,
    is_seam,
    is_single_cjk,
    split_question,
)

MAX_TERMS = 48  # of a question; the rarest stay
MAX_PHRASES = 16
CHARACTERS_AMONG = 1000  # chunks at most, for single characters to be asked for: of many, too many hold them


@dataclass(frozen=True)  # without slots, so that what ranking asks for again and again is computed once
class Question:
    """A question as one index understands it.

    Attributes:
        words: Its content words, without those that only build questions. Empty: it asks for nothing.
        phrases: Identifiers, paths and quoted words, which count as they stand besides their single words.
        characters: The single ideographs of a statement, which hardly shares a pair with what it calls to mind.
        chunks: The number of chunks in the index.
        names: File names and dates, as paths end with them.
        named: The period it names, if any note is of that period or it is a single day.
        dated: The chunks that belong to that period.
        period_words: The numbers of the words that name them.
        identifiers: The numbers, among its terms, of those that name one thing exactly and that some chunk holds.
        misses_identifier: It names something exactly, and no chunk holds any such name.
        kind: A sentence that asks, another one, or a list of words.
        cjk: The share of its letters that are CJK, 0..1.
        parts: The words in each part of `terms.split_question`.
        text: As it was asked.
    """

    words: tuple[Term, ...]
    phrases: tuple[Term, ...]
    chunks: int
    names: tuple[str, ...] = ()
    named: NamedPeriod | None = None
    dated: Dated = NOTHING
    period_words: frozenset[int] = frozenset()
    identifiers: frozenset[int] = frozenset()
    misses_identifier: bool = False
    kind: QuestionKind = "words"
    cjk: float = 0.0
    parts: tuple[tuple[str, ...], ...] = ()
    text: str = ""
    characters: tuple[Term, ...] = ()

    @cached_property
    def terms(self) -> tuple[Term, ...]:
        """Words, phrases and characters: what ranks."""
        return self.words + self.phrases + self.characters

    @property
    def period(self) -> Period | None:
        """The days it speaks of."""
        return None if self.named is None else self.named.period

    def is_dated(self, chunk: IndexedChunk) -> bool:
        """Return True for a chunk of the period that it names, or one that names its day."""
        return self.named is not None and (chunk.date in self.named.period or chunk.id in self.dated.naming)

    @property
    def asks_for_period(self) -> bool:
        """True if it asks for nothing but what happened in a period."""
        return self.named is not None and self.named.alone

    @cached_property
    def weights(self) -> list[float]:
        """The weight of each word in the question, not normalised.

        A CJK pair that no chunk holds is likelier the seam of two words than a word: it weighs half. One of function
        characters weighs less.
        """
        return [
            scores.coverage_weight(self.chunks, word.documents)
            * (0.5 if is_seam(word.text, word.documents) else 1.0)
            * (scores.FUNCTIONAL_SHARE if is_functional(word.text) else 1.0)
            for word in self.words
        ]

    @cached_property
    def known(self) -> float:
        """The share of the weight of the words that some chunk holds, 0..1."""
        return scores.coverage(self.weights, [word.documents > 0 for word in self.words])

    @property
    def is_sentence(self) -> bool:
        """True if it is a sentence; False for a list of words."""
        return self.kind != "words"

    @cached_property
    def exponent(self) -> float:
        """The exponent that turns evidence into a score here; see `scores.exponent`."""
        return scores.exponent(self.chunks, self.kind, cjk=self.cjk)

    @cached_property
    def part_weights(self) -> list[float]:
        """The weight of each part: that of the words in it."""
        share = {word.text: weight for word, weight in zip(self.words, self.weights, strict=True)}
        return [sum(share.get(word, 0.0) for word in words) for words in self.parts]

    @cached_property
    def rarities(self) -> list[float]:
        """Inverse document frequency of every term; a share of it for characters."""
        single = len(self.words) + len(self.phrases)
        return [
            scores.inverse_document_frequency(self.chunks, term.documents)
            * (1.0 if number < single else scores.CHARACTER_SHARE)
            for number, term in enumerate(self.terms)
        ]


def analyse(reader: Reader, text: str, today: date, dates: DateRange | None = None) -> Question:
    """Split a question into terms and count the chunks that hold them; of very many words the rarest stay.

    Args:
        reader: Of the index that is searched.
        text: The question as it was asked.
        today: The day from which "yesterday" is counted.
        dates: Of the files that are searched; None is all.
    """
    chunks = reader.count_chunks()
    words = _find_words(reader, text, chunks)
    kept = {*sorted(words.values(), key=lambda term: (term.documents == 0, term.documents))[:MAX_TERMS]}
    found = (
        Term(phrase, tuple(reader.stem(phrase)), reader.count_phrase(phrase))
        for phrase in extract_phrases(text)[:MAX_PHRASES]
    )
    single = tuple(term for term in words.values() if term in kept)
    several = tuple(term for term in found if term.documents)
    exact = {one.lower() for one in extract_identifiers(text)}
    identifiers = frozenset(
        number for number, term in enumerate(single + several) if term.documents and term.text.lower() in exact
    )
    named, dated = find_period(text, today), NOTHING
    if named is not None:
        dated = find_dated(reader, named, dates or DateRange())
        means_now = not named.alone and named.period.first == today
        if not dated.own and (means_now or not named.is_day):
            named = None  # nobody wrote then: it may be meant otherwise
    naming = set() if named is None else set(extract_words(named.text))
    kind, cjk = classify(text), find_cjk_share(text)
    calls_to_mind = kind == "statement" and cjk > 0.5
    return Question(
        words=single,
        phrases=several,
        chunks=chunks,
        names=tuple(extract_file_names(text)),
        named=named,
        dated=dated,
        period_words=frozenset(number for number, word in enumerate(single) if word.text in naming),
        identifiers=identifiers,
        misses_identifier=bool(exact) and not identifiers,
        kind=kind,
        cjk=cjk,
        parts=tuple(tuple(words) for _, words in split_question(text)),
        text=text,
        characters=tuple(_find_characters(reader, text)) if calls_to_mind and chunks <= CHARACTERS_AMONG else (),
    )


def _find_characters(reader: Reader, text: str) -> Iterator[Term]:
    """Yield the ideographs of a statement that some chunk holds."""
    characters = extract_ideographs(text)[:MAX_TERMS]
    counts = reader.count_by_prefix(characters)
    for character in characters:
        if documents := counts.get(character):
            yield Term(character, (character,), documents)


def _find_words(reader: Reader, text: str, chunks: int) -> dict[str, Term]:
    """Return the words of a question by their stems, with their forms; of several forms of one word the first."""
    stems: dict[str, str] = {}
    for word in extract_words(text):
        for stem in reader.stem(word if is_single_cjk(word) else cut_cjk(word))[:1]:
            stems.setdefault(stem, word)
    forms = _find_forms(reader, text, stems)
    counts = dict(reader.count_by_stem({*stems, *(form.stem for several in forms.values() for form in several)}))
    counts |= reader.count_by_prefix([stem for stem, word in stems.items() if is_single_cjk(word)])
    words: dict[str, Term] = {}
    named: set[str] = set()
    for stem, word in stems.items():
        if stem not in named:
            own = forms.get(stem, ())
            named.update(form.stem for form in own)
            documents = sum(counts.get(each, 0) for each in (stem, *(form.stem for form in own)))
            words[stem] = Term(word, (stem,), min(documents, chunks) if own else documents, own)
    return words


def _find_forms(reader: Reader, text: str, stems: Mapping[str, str]) -> dict[str, tuple[Form, ...]]:
    """Find other forms of words, given and returned by their stems; none where the question is in English."""
    language = detect_language(text)
    if language == "en":
        return {}
    inflected = [word for word in stems.values() if not is_cjk(word)]
    found = reader.find_forms(inflected, STEMMED if language is None else [language]) if inflected else {}
    forms: dict[str, tuple[Form, ...]] = {}
    for stem, word in stems.items():
        others = {other: form for form in found.get(word, ()) for other in reader.stem(form)[:1] if other != stem}
        if others:
            forms[stem] = tuple(Form(form, other) for other, form in others.items())
    return forms
