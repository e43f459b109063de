"""A question as one index understands it: its terms with their counts, the notes it names, the period it speaks of."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from itertools import islice, pairwise

from memory_core.search import scores
from memory_core.search.periods import NOTHING, Dated, choose_period
from memory_core.stores.interface import Reader
from memory_core.stores.values import DateRange, Form, IndexedChunk, Term, inverse_document_frequency
from memory_core.text.dates import Period
from memory_core.text.folding import clean, is_emoji, strip_marks
from memory_core.text.languages import (
    LEAST_PART,
    STEMMED,
    STOP_WORDS,
    Language,
    is_common,
    list_inflected,
    list_synonyms,
)
from memory_core.text.markdown import leave_out_blobs
from memory_core.text.periods import NamedPeriod
from memory_core.text.spelling import (
    LEAST_DIALLED,
    find_camels,
    find_joined,
    find_prefixed,
    is_same_number,
    is_spaced,
    list_cores,
    make_spelling_key,
    measure_distance,
    split_camel,
    write_out,
)
from memory_core.text.tables import PHRASES
from memory_core.text.tense import Time, find_asked_time, find_present
from memory_core.text.terms import (
    QuestionKind,
    classify,
    detect_language,
    extract_file_names,
    extract_identifiers,
    extract_ideographs,
    extract_phrases,
    extract_words,
    find_cjk_share,
    find_lone_characters,
    is_functional,
    is_seam,
    is_single_cjk,
    split_question,
)

MAX_TERMS = 48  # of a question; the rarest stay
MAX_PHRASES = 16
COMMON_VERB = 0.02  # of the chunks: of an English verb that more hold in the form that is asked, other forms say little
MISSPELT, TWICE_MISSPELT = 4, 8  # letters of a word that may have one wrong letter, and two
# Words that no note holds and that are looked into, at .5 to 3 ms each; of more, most are of another matter.
MOST_UNKNOWN = 6
MISSPELT_SHARE = 0.5  # of the weight of a word, which it covers where it was taken for another one
# Characters of a number, and of letters and digits, that name one thing; a short hash begins one.
LEAST_NUMBER, LEAST_CODE = 7, 13
LEAST_BASE, MOST_REST = 4, 20  # letters of the part of a compound that is asked for, and of the rest at most
RARE = 1  # chunks that hold a word: of one that more hold, compounds say little
LINKS = ("", "s", "es", "n", "en", "e", "er")  # between the parts of German, Dutch and Nordic compounds
MOST_FORMS = 8  # of a word, as which it is written otherwise, or of which it is a part
MOST_ENDING = 5  # letters that an inflected word may have more, or other
IN_PART = 0.3  # what a part of a word counts, beside the word
OF_FAMILY = 0.6  # what another word of its family counts
SYNONYM = 0.9  # what a word counts that means the same
# Letters that the words of a family share, and that one without an ending has: of fewer, "counter" is of "count".
LEAST_ROOT, LEAST_BARE = 5, 6
FAMILY = ("", *PHRASES["all"]["family"].split())  # endings of its words
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
        unwritten: The period that it asks for alone, if no note is of it and it is longer than a day.
        dated: The chunks that belong to that period.
        period_words: The numbers of the words that name them.
        identifiers: The numbers, among its terms, of those that name one thing exactly and that some chunk holds.
        misses_identifier: It names something exactly, and no chunk holds any such name.
        kind: A sentence that asks, another one, or a list of words.
        time: It asks how things are, or how they were; None for neither.
        cjk: The share of its letters that are CJK, 0..1.
        parts: The words in each part of `terms.split_question`.
        text: As it was asked.
    """

    words: tuple[Term, ...]
    phrases: tuple[Term, ...]
    chunks: int
    names: tuple[str, ...] = ()
    named: NamedPeriod | None = None
    unwritten: NamedPeriod | None = None
    dated: Dated = NOTHING
    period_words: frozenset[int] = frozenset()
    identifiers: frozenset[int] = frozenset()
    misses_identifier: bool = False
    kind: QuestionKind = "words"
    time: Time | None = None
    cjk: float = 0.0
    parts: tuple[tuple[str, ...], ...] = ()
    text: str = ""
    characters: tuple[Term, ...] = ()

    @cached_property
    def terms(self) -> tuple[Term, ...]:
        """Words, phrases and characters: what ranks."""
        return self.words + self.phrases + self.characters

    @cached_property
    def held(self) -> list[Term]:
        """The terms that some chunk holds, the rarest first."""
        return sorted((term for term in self.terms if term.documents), key=lambda term: term.documents)

    @property
    def period(self) -> Period | None:
        """The days it speaks of."""
        return None if self.named is None else self.named.period

    def is_dated(self, chunk: IndexedChunk) -> bool:
        """Return True for a chunk of the period that it names, or one that names its day."""
        return self.named is not None and (chunk.date in self.named.period or chunk.id in self.dated.naming)

    def is_of_day(self, chunk: IndexedChunk) -> bool:
        """Return True for a chunk of a note of the day, or the weekend, that it names."""
        period = self.period
        return period is not None and (period.last - period.first).days < scores.FEW_DAYS and chunk.date in period

    @property
    def is_told(self) -> bool:
        """True if notes are of the period that it names, or of one that is to come some line names a day."""
        return bool(self.dated.own or (self.dated.is_ahead and self.dated.naming))

    @property
    def misses_number(self) -> bool:
        """True if it is a long number, or letters and digits longer than a short hash, alone, and no note holds it."""
        return bool(self.words) and all(
            not word.documents
            and len(word.text) >= (LEAST_NUMBER if word.text.isdigit() else LEAST_CODE)
            and any(map(str.isdigit, word.text))
            for word in self.words
        )

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
            scores.coverage_weight(self.chunks, 0 if word.asked or word.in_part else word.documents)
            * (0.5 if is_seam(word.text, word.documents) else 1.0)
            * (scores.FUNCTIONAL_SHARE if is_functional(word.text) else 1.0)
            for word in self.words
        ]

    @property
    def interpreted_as(self) -> dict[str, str]:
        """The words of the notes that were taken for words of the question that no chunk holds, by those."""
        return {word.asked: word.text for word in self.words if word.asked}

    @cached_property
    def certainty(self) -> float:
        """The share of the question that its words may cover, 0..1: one that was taken for another covers half of its weight."""
        doubtful = sum(weight for word, weight in zip(self.words, self.weights, strict=True) if word.asked)
        return 1 - MISSPELT_SHARE * doubtful / sum(self.weights) if doubtful else 1.0

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
        share = {word.asked or word.text: weight for word, weight in zip(self.words, self.weights, strict=True)}
        return [sum(share.get(word, 0.0) for word in words) for words in self.parts]

    @cached_property
    def rarities(self) -> list[float]:
        """Inverse document frequency of every term; a share of it for characters and words that name the period."""
        single = len(self.words) + len(self.phrases)
        return [
            inverse_document_frequency(self.chunks, term.documents)
            * (1.0 if number < single else scores.CHARACTER_SHARE)
            * (scores.PERIOD_WORD_SHARE if number in self.period_words else 1.0)
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
    text = clean(leave_out_blobs(text))
    chunks = reader.count_chunks()
    exact = {one.lower() for one in extract_identifiers(text)}
    named, dated = choose_period(reader, text, today, dates or DateRange())
    of_period = {*extract_words(named.text)} if named else set[str]()
    words = _find_words(reader, text, chunks, spelt_right=exact | of_period)
    kept = {*sorted(words.values(), key=lambda term: (term.documents == 0, term.documents))[:MAX_TERMS]}
    found = (
        Term(phrase, tuple(reader.stem(phrase)), reader.count_phrase(phrase))
        for phrase in extract_phrases(text)[:MAX_PHRASES]
    )
    asked = find_asked_time(text.replace(named.text, "…") if named else text)
    present = find_present(text) - of_period if asked == "now" else ()
    single = tuple(term for term in words.values() if term in kept and (term.text not in present or len(kept) == 1))
    several = tuple(term for term in found if term.documents)
    identifiers = frozenset(
        number for number, term in enumerate(single + several) if term.documents and term.text.lower() in exact
    )
    unwritten = None
    if named is not None:
        means_now = not named.alone and named.period.first == today
        if named.is_holiday and (not dated.own or asked == "now"):
            named = None
        elif not dated.own and (means_now or not (named.is_day or dated.naming)):
            unwritten = named if named.alone else None
            named = None  # nobody wrote then: it may be meant otherwise
    naming = of_period if named else ()
    kind, cjk = classify(text), find_cjk_share(text)
    calls_to_mind = kind == "statement" and cjk > 0.5 and chunks <= CHARACTERS_AMONG
    held = reader.count_by_prefix(extract_ideographs(text)[:MAX_TERMS]) if calls_to_mind else {}
    return Question(
        words=single,
        phrases=several,
        chunks=chunks,
        names=tuple(extract_file_names(text)),
        named=named,
        unwritten=unwritten,
        dated=dated,
        period_words=frozenset(number for number, word in enumerate(single) if (word.asked or word.text) in naming),
        identifiers=identifiers,
        misses_identifier=bool(exact) and not identifiers,
        kind=kind,
        time=asked,
        cjk=cjk,
        parts=tuple(tuple(words) for _, words in split_question(text)),
        text=text,
        characters=tuple(Term(each, (each,), held[each]) for each in extract_ideographs(text) if held.get(each)),
    )


def _find_words(reader: Reader, text: str, chunks: int, *, spelt_right: Collection[str]) -> dict[str, Term]:
    """Return the words of a question by their stems, with their forms; of several forms of one word the first.

    A word that no chunk holds in any form, unless it is in `spelt_right`, is taken for the first of these that the notes hold:
    two words that it joins, such as "Wi-Fi"; words of its family; the nearest word, if it may be misspelt; its inflected forms;
    the words of which it is composed.
    """
    words, language = extract_words(text), detect_language(text)
    found = _look_up(reader, words, language, chunks)
    # An emoji that no chunk holds asks for nothing.
    found = {stem: term for stem, term in found.items() if term.documents or not is_emoji(term.text)}
    found |= _find_written_otherwise(reader, text, found)
    unknown = ((stem, term) for stem, term in [*found.items()] if not term.documents)
    asked = (
        (stem, term)
        for stem, term in unknown
        if term.text not in spelt_right and (is_spaced(term.text) or re.fullmatch(r"\d+[a-z]+", term.text))  # "16gb"
    )
    for stem, term in islice(asked, MOST_UNKNOWN):
        same = _find_apart(reader, term) or _find_family(reader, term) or _find_synonyms(reader, term, language)
        common = not same and is_common(term.text, language)
        if not same and not common and len(term.text) >= MISSPELT and (near := _find_near(reader, term.text, language)):
            for other, meant in _look_up(reader, [near], language, chunks).items():
                found = {(other if each == stem else each): kept for each, kept in found.items() if each != other}
                found[other] = meant._replace(asked=term.text)
            continue
        same = same or _find_inflected(reader, term, language) or _find_short(reader, term, language)
        if same := same or (None if common else _split_compound(reader, term)):
            found[stem] = same
        elif not common and _is_misspelt_stop_word(term.text, language):
            del found[stem]
    found |= _find_compounds(reader, text, language, found)
    lone = find_lone_characters(text)
    held = reader.count_by_prefix([*lone.values()])
    for stem, term in [*found.items()]:
        character = lone.get(term.text, "")
        if not term.documents and held.get(character):
            forms = (Form(character, character, IN_PART),)
            found[stem] = term._replace(documents=held[character], forms=forms, in_part=True)
    return found


def _is_misspelt_stop_word(word: str, language: Language | None) -> bool:
    """Return True for a word one letter away from one that only builds sentences, such as "wher"."""
    stop_words = (each for each in STOP_WORDS[language or "en"] if each[:1] == word[:1] and len(each) >= MISSPELT)
    return len(word) >= MISSPELT and any(measure_distance(word, each, 1) == 1 for each in stop_words)


def _find_written_otherwise(reader: Reader, text: str, found: Mapping[str, Term]) -> dict[str, Term]:
    """Return the words that the notes hold joined, apart, in other groups or within a longer name, with those forms."""
    groups = {joined: apart.split() for joined, apart in find_joined(text, asked=True)}
    words = [term.text for term in found.values() if len(term.text) >= LEAST_PART]
    several: dict[str, dict[str, float]] = {}
    cores = [
        (core, term.text) for term in found.values() for word in find_prefixed(term.text) for core in list_cores(word)
    ]
    groups |= {core: [word] for core, word in cores}
    forms = reader.find_forms([*words, *groups], ["joined", "part"])
    held = Counter(
        other for others in forms.values() for other in others
    )  # of two parts and more, a name is no mere part
    for word, others in forms.items():
        asked = groups.get(word, [word])
        is_end = word.isdigit() and len(word) == LEAST_DIALLED  # of a telephone number
        alike = [each for each in others if not is_end or is_same_number(each, "".join(asked))]
        whole = [each for each in alike if " " in each or held[each] > 1 or word[-1].isdigit()]
        worths = dict.fromkeys(alike[:MOST_FORMS], IN_PART) | dict.fromkeys(whole[:MOST_FORMS], 1.0)
        for part in asked:
            several.setdefault(part, {}).update(worths)
    for joined, parts in groups.items():
        is_end = joined.isdigit() and len(joined) == LEAST_DIALLED < len("".join(parts))  # maybe of another number
        for part in () if is_end else parts:
            several.setdefault(part, {})[joined] = IN_PART if (joined, part) in cores else 1.0
    for name in find_camels(text):
        several.setdefault(name.lower(), {})[" ".join(split_camel(name))] = 1.0
    return {stem: _add_forms(reader, term, several[term.text]) for stem, term in found.items() if term.text in several}


def _add_forms(reader: Reader, term: Term, worths: Mapping[str, float]) -> Term:
    """Return a word with more forms that some chunk holds; forms of less worth add to its documents only if it has no others."""
    forms = [Form(each, " ".join(reader.stem(each)), worth) for each, worth in worths.items()]
    counts = {form.word: reader.count_phrase(form.word) for form in forms}
    held = tuple(form for form in forms if counts[form.word] and form.stem != term.stems[0])
    whole = term.documents + sum(counts[form.word] for form in held if form.worth == 1)
    parts = sum(counts[form.word] for form in held)
    return term._replace(documents=whole or parts, forms=term.forms + held, in_part=not whole and parts > 0)


def _find_compounds(reader: Reader, text: str, language: Language | None, found: Mapping[str, Term]) -> dict[str, Term]:
    """Return the words that begin or end compounds of the notes, as in German, with those forms.

    The rest of a compound is a word of the notes, or a common one. English is left alone, and so are its own compounds and words
    that are not rare.
    """
    if language not in (None, "de", "nl") and (language != "en" or text.isascii()):
        return {}
    rests: dict[tuple[str, str], list[str]] = {}
    for stem, term in found.items():
        word = strip_marks(term.text)
        if not is_spaced(term.text) or len(word) < LEAST_BASE or term.documents > RARE or term.asked:
            continue
        key = make_spelling_key(term.text)
        for compound in reader.find_spelt(key, key, (len(key) + LEAST_PART, len(key) + MOST_REST)):
            plain = strip_marks(compound)
            spelled = {plain, compound} if len(plain) == len(compound) else {plain}  # lists know words by their umlauts
            if plain.startswith(word):
                rests[stem, compound] = [each[len(word) :].removeprefix(link) for each in spelled for link in LINKS]
            elif plain.endswith(word):
                rests[stem, compound] = [each[: -len(word)].removesuffix(link) for each in spelled for link in LINKS]
    known = _list_known(reader, {rest for several in rests.values() for rest in several}, language or "de")
    several: dict[str, dict[str, float]] = {}
    for (stem, compound), each in sorted(rests.items()):
        if not known.isdisjoint(each) and not is_common(compound, "en") and len(several.get(stem, ())) < MOST_FORMS:
            several.setdefault(stem, {})[compound] = IN_PART
    return {stem: _add_forms(reader, found[stem], worths) for stem, worths in several.items()}


def _list_known(reader: Reader, words: Collection[str], language: Language | None) -> set[str]:
    """Return those words, of three letters and more, that the notes hold or that are common in a language."""
    stems = _stem_each(reader, [word for word in words if len(word) >= LEAST_PART])
    counts = reader.count_by_stem({*stems.values()})
    return {word for word, stem in stems.items() if counts.get(stem) or (language and is_common(word, language))}


def _split_compound(reader: Reader, term: Term) -> Term | None:
    """Return a word that no chunk holds, with the two words of the notes that it joins as forms; None if it is no compound."""
    word = term.text
    halves = [
        (head, word[at:])
        for at in range(LEAST_PART, len(word) - LEAST_BASE + 1)
        for head in dict.fromkeys(word[:at].removesuffix(link) for link in LINKS)
    ]
    known = _list_known(reader, {half for each in halves for half in each}, None)
    both = [each for each in halves if known.issuperset(each)]
    if not both:
        return None
    best = max(both, key=lambda each: (min(map(len, each)), each))
    return _add_forms(reader, term, dict.fromkeys(best, IN_PART))


def _look_up(reader: Reader, several: Sequence[str], language: Language | None, chunks: int) -> dict[str, Term]:
    """Return words with their forms and counts, by their stems."""
    stems: dict[str, str] = {}
    for word, stem in _stem_each(reader, several).items():
        stems.setdefault(stem, word)
    forms, verbs = _find_forms(reader, stems, language)
    pairs = {"".join(pair): pair for pair in pairwise(several)}  # "data base" finds "database", "16 GB" "16GB"
    whole = [each for each, pair in pairs.items() if is_spaced(each) or pair[0].isdigit()]
    for joined, stem in _stem_each(reader, whole).items():
        for word in pairs[joined]:
            forms.setdefault(word, {})[stem] = joined
    looked = {stem for kind in (forms, verbs) for each in kind.values() for stem in each}
    counts = dict(reader.count_by_stem({*stems, *looked}))
    counts |= reader.count_by_prefix([stem for stem, word in stems.items() if is_single_cjk(word)])
    words: dict[str, Term] = {}
    named: set[str] = set()
    for stem, word in stems.items():
        if stem not in named:
            others = forms.get(word, {})
            if counts.get(stem, 0) <= max(1, COMMON_VERB * chunks):
                others = others | verbs.get(word, {})
            own = tuple(Form(form, other) for other, form in others.items() if other != stem and counts.get(other))
            named.update(form.stem for form in own)
            documents = sum(counts.get(each, 0) for each in (stem, *(form.stem for form in own)))
            words[stem] = Term(word, (stem,), min(documents, chunks) if own else documents, own)
    return words


def _find_forms(
    reader: Reader, stems: Mapping[str, str], language: Language | None
) -> tuple[dict[str, dict[str, str]], dict[str, dict[str, str]]]:
    """Find other forms and spellings of words, and apart from them those of English verbs: by word, and by their stems."""
    words = [word for word in stems.values() if is_spaced(word)]
    if not words:
        return {}, {}
    stemmed = STEMMED if language is None else [language] if language in STEMMED else []
    related = reader.find_forms(words, [*stemmed, "spelt"])
    verbs = reader.find_forms(words, ["en"]) if language in (None, "en") else {}

    forms = {word: [*choose_spellings(word, related.get(word, ()))] for word in words}
    stems = _stem_each(reader, {each for several in (*forms.values(), *verbs.values()) for each in several})

    def by_stem(related: Mapping[str, Sequence[str]]) -> dict[str, dict[str, str]]:
        return {word: {stems[each]: each for each in several if each in stems} for word, several in related.items()}

    return by_stem(forms), by_stem(verbs)


def _stem_each(reader: Reader, words: Collection[str]) -> dict[str, str]:
    """Return the first stem of each word that has one; plain words are stemmed together."""
    plain = [word for word in words if word.isascii() and word.isalnum()]
    stems = dict(zip(plain, reader.stem(" ".join(plain)), strict=True))
    return {word: stem for word in words for stem in ([stems[word]] if word in stems else reader.stem(word)[:1])}


def choose_spellings(word: str, related: Sequence[str]) -> Iterator[str]:
    """Yield the related words that are other forms of a word, and its spellings with umlauts written out or left away.

    Words that share a key are spellings of one word only if an umlaut says so: Michael is not Michal.
    """
    spelt = [each for each in related if make_spelling_key(each) == make_spelling_key(word)]
    yield from (each for each in related if each not in spelt)
    for each in (word, *spelt):
        if write_out(each) != each and strip_marks(word) in (strip_marks(each), strip_marks(write_out(each))):
            yield from (strip_marks(each), write_out(each))


def _find_apart(reader: Reader, term: Term) -> Term | None:
    """Return a word with the two words as which the notes have it; None if they do not."""
    word = term.text
    parts = {f"{word[:at]} {word[at:]}" for at in range(1, len(word))}
    counts = {each: documents for each in sorted(parts) if (documents := reader.count_phrase(each))}
    if not counts:
        return None
    forms = tuple(Form(each, " ".join(reader.stem(each))) for each in counts)
    return term._replace(documents=max(counts.values()), forms=forms)


def _find_family(reader: Reader, term: Term) -> Term | None:
    """Return a word with words of the notes of its family, as "allergic" is of that of "allergies"; None if there are none."""
    key = make_spelling_key(term.text)
    roots = _list_roots(key)
    near = reader.find_spelt(min(roots, key=len), key, (LEAST_ROOT, len(key) + MOST_ENDING)) if roots else []
    related = sorted(word for word in near if not roots.isdisjoint(_list_roots(make_spelling_key(word))))[:MOST_FORMS]
    return _add_forms(reader, term, dict.fromkeys(related, OF_FAMILY)) if related else None


def _find_short(reader: Reader, term: Term, language: Language | None) -> Term | None:
    """Return a word with its short forms in the notes, or with the words that it is short for; None if there are none.

    As "physio" is of "physiotherapist", a short form is a beginning, three letters shorter at least, and no common word itself.
    """
    key = make_spelling_key(term.text)
    if len(key) < LEAST_ROOT:
        return None
    near = reader.find_spelt(key[:LEAST_ROOT], key, (LEAST_ROOT, len(key) + MOST_REST))
    pairs = ((word, *sorted((term.text, word), key=len)) for word in near)
    held = sorted(
        word
        for word, short, whole in pairs
        if len(whole) - len(short) >= LEAST_PART and whole.startswith(short) and not is_common(short, language)
    )
    return _add_forms(reader, term, dict.fromkeys(held[:MOST_FORMS], OF_FAMILY)) if held else None


def _list_roots(key: str) -> set[str]:
    """Return a word without each of the endings of learned words that it has; it is one of them."""
    roots = (key.removesuffix(ending) for ending in FAMILY if key.endswith(ending))
    return {root for root in roots if len(root) >= (LEAST_BARE if root == key else LEAST_ROOT)}


def _find_synonyms(reader: Reader, term: Term, language: Language | None) -> Term | None:
    """Return a word with words of the notes that mean the same, in all their forms; None if there are none."""
    others = list_synonyms(term.text, language)
    stems = {stem: other for other, stem in _stem_each(reader, others).items()}
    forms, verbs = _find_forms(reader, stems, language)
    stems = {stem: word for kind in (forms, verbs) for each in kind.values() for stem, word in each.items()} | stems
    counts = reader.count_by_stem(stems)
    held = [Form(word, stem, SYNONYM) for stem, word in stems.items() if counts.get(stem)]
    held = sorted(held, key=lambda form: -counts[form.stem])[:MOST_FORMS]
    documents = sum(counts[form.stem] for form in held)
    return term._replace(documents=documents, forms=(*term.forms, *held), in_part=True) if held else None


def _find_inflected(reader: Reader, term: Term, language: Language | None) -> Term | None:
    """Return a word with its forms in the notes, in a language without an index of stems; None if there are none."""
    key = make_spelling_key(term.text)
    if len(key) < LEAST_BASE - 1 or is_common(term.text, language or "en"):
        return None
    begins = reader.find_spelt(
        key[: max(len(key) - MOST_ENDING, LEAST_PART)], key, (LEAST_PART, len(key) + MOST_ENDING)
    )
    forms = list_inflected(term.text, begins)[:MOST_FORMS]
    return _add_forms(reader, term, dict.fromkeys(forms, 1.0)) if forms else None


def _find_near(reader: Reader, word: str, language: Language | None) -> str | None:
    """Return the word of the notes that is nearest to one; None if none is near.

    An edit leaves the first or the last letters as they are. Few err in the first letter (Pollock and Zamora 1984: 8 of 100), and
    short words that differ in it are words of their own. A word that builds sentences is near to no other. Of several that are
    as near it is one with more or fewer letters, as most misspelt words lack a letter or have one too many (61 of 100 there, 19 a
    wrong one), then the commonest.
    """
    key = make_spelling_key(word)
    most = 1 if len(word) < TWICE_MISSPELT else 2
    head = (len(key) - 1) // 2 if most == 1 else 2
    tail = len(key) - 1 - head if most == 1 else len(key) // 3
    near: dict[int, list[str]] = {}
    for each in reader.find_spelt(key[:head], key[len(key) - tail :], (len(key) - most, len(key) + most)):
        if (most > 1 or each[0] == word[0]) and len({*key}.symmetric_difference(make_spelling_key(each))) <= 2 * most:
            near.setdefault(measure_distance(key, make_spelling_key(each), most), []).append(each)
    near.pop(most + 1, None)
    nearest = near[min(near)] if near else []
    if not STOP_WORDS[language or "en"].isdisjoint(nearest):
        return None
    stems = _stem_each(reader, nearest)
    counts = reader.count_by_stem({*stems.values()})
    held = [each for each in stems if counts.get(stems[each])]
    return min(
        held, key=lambda each: (len(make_spelling_key(each)) == len(key), -counts[stems[each]], each), default=None
    )
