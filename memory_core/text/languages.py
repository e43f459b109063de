"""Languages of notes and questions: their function words, which language a text is in, and stems of its words; pure.

English stems are the keyword index's own. For the others, the store keeps which of its words share a stem, and a question looks
for all of them. The stemmers are Snowball's (https://snowballstem.org). Forms of irregular verbs, of which stemmers know nothing,
share the infinitive: the tables in `verbs` name their sources, as those of common words and of synonyms do.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache
from itertools import islice, takewhile
from pathlib import Path
from typing import Literal, NamedTuple, get_args

from memory_core.text.folding import clean
from memory_core.text.spelling import (
    find_camels,
    find_joined,
    find_prefixed,
    is_spaced,
    list_cores,
    make_spelling_key,
    split_camel,
)
from memory_core.text.tables import PHRASES

Language = Literal["en", "de", "es", "fr", "pt", "it", "nl", "ru"]
# A relation of words, for which the store keeps those of the notes: the same stem or verb in a language, or the same key of its
# spellings; "mirrored" keeps the keys backwards, so that words are found by their ends; "part" keeps names by their parts, and
# "joined" what is written in pieces by what it is in one.
Relation = Language | Literal["spelt", "mirrored", "part", "joined"]

STEMMERS: Mapping[Language, str] = {language: PHRASES[language]["stemmer"] for language in get_args(Language)}
# Languages with a table of synonyms.
SYNONYMOUS: Sequence[Language] = ("en", "de")
STOP_WORDS: Mapping[Language, frozenset[str]] = {
    language: frozenset(PHRASES[language]["stop"].split()) for language in STEMMERS
}
OPENERS: Mapping[Language, frozenset[str]] = {
    language: frozenset(PHRASES[language]["openers"].split()) for language in STEMMERS
}
# Languages whose stems are not the keyword index's own.
STEMMED: Sequence[Language] = tuple(language for language in STEMMERS if language != "en")
_ALSO_ENGLISH = frozenset(PHRASES["all"]["also english"].split())
_OWN = {language: STOP_WORDS[language] - STOP_WORDS["en"] - _ALSO_ENGLISH for language in STEMMED}
_NOT_OWN = {language: STOP_WORDS["en"] - STOP_WORDS[language] for language in STEMMED}
_CERTAIN = 2  # function words that English lacks: one alone may be a name or an English word, as "war" and "mit" are
_ACCENTED = re.compile("[\u00c0-\u024f\u0400-\u04ff]")  # Latin letters beyond ASCII, and Cyrillic ones
_WORD = re.compile(r"[^\W\d_]{3,}")
_SAMPLE = 60  # words of a text, by which its language is told
_LONGEST = 40  # letters; nobody inflects longer words, and base64 has them


# Snowball's stemmers of languages whose notes are read as English; older versions lack some.
_MORE_STEMMERS = (
    "swedish", "danish", "norwegian", "finnish", "hungarian", "romanian", "turkish", "greek", "catalan", "estonian", "lithuanian",
    "polish", "czech", "serbian", "indonesian",
)  # fmt: skip
LEAST_LISTED = 4  # letters of the words in the tables of common ones
LEAST_PART = 3  # letters of a part by which a name is found


class Stemmed(NamedTuple):
    """A word of a text, in lower case, with its stem in a language, "to" and the infinitive of an irregular verb, or its key."""

    language: Relation
    stem: str
    word: str


def detect(words: Collection[str], *, first: str = "", small: Collection[str] = ()) -> Language | None:
    """Detect the language of words in lower case by their function words; None if they hold none of any language.

    It is another one than English if they hold two that English has not, and fewer that only English has. Cyrillic letters
    and Latin ones beyond ASCII count as one, and so does a question word in front. Behind that, so do common words of which
    some are none of English, and none is of English alone: "was lernt", not "was late". Of several languages, as close as
    Portuguese and Spanish, it is the one with the most function words, at last those counted that English has, too.

    Args:
        words: Of a text.
        first: The word with which it begins, if it may be a question.
        small: Those of them that it does not write with a capital letter: the others may be names.
    """
    known = words if isinstance(words, set) else set(words)
    found: Language | None = None
    most = _CERTAIN - 1
    for language, own in _OWN.items():
        count = len(own & known) + (first in OPENERS[language])
        if 0 < count < _CERTAIN:
            count += any(map(_ACCENTED.search, known)) or (first in OPENERS[language] and _is_foreign(small, language))
        if count < most or count <= len(_NOT_OWN[language] & known):
            continue
        if count > most or (found and len(STOP_WORDS[language] & known) > len(STOP_WORDS[found] & known)):
            found, most = language, count
    return found or ("en" if not known.isdisjoint(STOP_WORDS["en"]) else None)


def _is_foreign(words: Collection[str], language: Language) -> bool:
    """Return True if some words are common in a language and not in English, and none the other way round."""
    listed = [word for word in words if len(word) >= LEAST_LISTED]
    tells = {is_common(word, language) - is_common(word, "en") for word in listed}
    return 1 in tells and -1 not in tells


def relate_words(text: str, seen: dict[Relation, set[str]] | None = None) -> list[Stemmed]:
    """Return what the store keeps of a text's words: what `stem_text` returns, and the keys of their spellings.

    Args:
        text: Any text.
        seen: See `stem_text`.
    """
    runs = _find_new(text, "spelt", seen)
    spelt = stem_words(_find_words(runs), "spelt")
    mirrored = [Stemmed("mirrored", key[::-1], word) for _, key, word in spelt]
    names = (name for run in runs for name in find_camels(run))
    parts = [
        Stemmed("part", part, name.lower()) for name in names for part in split_camel(name) if len(part) >= LEAST_PART
    ]
    prefixed = {word for run in runs if not run.isascii() for word in find_prefixed(run)}
    parts += [Stemmed("part", core, word) for word in sorted(prefixed) for core in list_cores(word)]
    joined = [Stemmed("joined", *each) for each in find_joined(text)]
    return stem_text(text, seen) + spelt + mirrored + parts + joined


def stem_text(text: str, seen: dict[Relation, set[str]] | None = None) -> list[Stemmed]:
    """Return the distinct words of a text with their stems and verbs; none of a text that begins in no known language.

    Args:
        text: Any text.
        seen: What was seen in former texts, by language; words of that are left out, and what is seen here is added.
    """
    language = detect({run.lower() for run in text.split(maxsplit=_SAMPLE)[:_SAMPLE]})
    if language is None:
        return []
    runs = _find_new(text, language, seen)
    if not runs:
        return []
    return stem_words(_find_words(runs) - STOP_WORDS[language], language)


def _find_new(text: str, relation: Relation, seen: dict[Relation, set[str]] | None) -> set[str]:
    """Return the pieces of a text between white space, without those that were seen, to which they are added."""
    runs = set(text.split())
    if seen is not None:
        former = seen.setdefault(relation, set())
        runs -= former
        former |= runs
    return runs


def _find_words(runs: Iterable[str]) -> set[str]:
    return set(_WORD.findall(clean(" ".join(runs)).lower()))


def stem_words(words: Iterable[str], language: Relation) -> list[Stemmed]:
    """Return words in lower case with their stems in a language, and once more for each irregular verb of which they are forms.

    Very long words and numbers are left out, and English words that are forms of no irregular verb. "spelt" returns their keys.
    """
    if language == "spelt" or language == "mirrored":  # noqa: PLR1714 -- tells the type checker
        return [Stemmed(language, make_spelling_key(word), word) for word in words if is_spaced(word)]
    if language == "part" or language == "joined":  # noqa: PLR1714 -- tells the type checker
        return [Stemmed(language, word, word) for word in words]
    from Stemmer import Stemmer

    several = [word for word in words if len(word) <= _LONGEST and word.isalpha()]
    stems = Stemmer(STEMMERS[language]).stemWords(several)  # a stemmer is made in 3 microseconds and is of one thread
    verbs = [
        Stemmed(language, f"to {infinitive}", word)
        for stem, word in zip(stems, several, strict=True)
        for infinitive in _find_verbs(stem, language)
    ]
    singulars = _find_singulars(language)
    nouns = [Stemmed(language, f"one {one}", word) for word in several if (one := singulars.get(word))]
    return (
        verbs + nouns + [Stemmed(language, *each) for each in zip(stems, several, strict=True) if language in STEMMED]
    )


def list_inflected(word: str, others: Collection[str]) -> list[str]:
    """Return the words among some that are another form of a word in a language whose notes are read as English.

    >>> list_inflected("hund", ["hunden", "hundert"])
    ['hunden']
    """
    import Stemmer

    several, same = [word, *others], set[str]()
    for name in set(_MORE_STEMMERS).intersection(Stemmer.algorithms()):
        stem, *stems = Stemmer.Stemmer(name).stemWords(several)
        same.update(other for other, its in zip(others, stems, strict=True) if its == stem)
    return sorted(same)


def is_common(word: str, language: Language | None) -> bool:
    """Return True for a common word in lower case, or a form of an irregular verb, of a language; of any if that is unknown."""
    return any(
        _find_line("words", one, word) or any(each.stem.startswith("to ") for each in stem_words([word], one))
        for one in (STEMMERS if language is None else [language])
    )


def list_synonyms(word: str, language: Language | None) -> list[str]:
    """Return the words that mean the same as one in lower case, in a language; in each that has a table if that is unknown.

    >>> list_synonyms("fridges", "en")
    ['refrigerator']
    """
    found: dict[str, None] = {}
    if not is_spaced(word):
        return []
    for one in SYNONYMOUS if language is None else {language}.intersection(SYNONYMOUS):
        bases = [each.stem.partition(" ")[2] for each in stem_words([word], one)]  # its singular, its infinitive
        lines = [line for each in (word, *filter(None, bases)) if (line := _find_line("synonyms", one, each))]
        for line in lines or [_find_by_stem(word, one)]:
            found |= dict.fromkeys(line[1:])
    return [*found]


def _find_by_stem(word: str, language: Language) -> list[str]:
    """Return the parts of a line of synonyms whose word has the stem of one, at best one that begins it; none if no line has."""
    from Stemmer import Stemmer

    stem = Stemmer(STEMMERS[language]).stemWord
    wanted = stem(word)
    begin, lines = wanted[:-1], _load_lines("synonyms", language)  # "i" may stand for "y"
    near = takewhile(lambda each: each.startswith(begin), islice(lines, bisect_left(lines, begin, lo=1), None))
    alike = [parts for line in near if stem((parts := line.split(" "))[0]) == wanted]
    return max(alike, key=lambda parts: word.startswith(parts[0]), default=[])


@cache
def _find_singulars(language: Language) -> Mapping[str, str]:
    return {
        word: pair.split("/")[0] for pair in PHRASES[language].get("plurals", "").split() for word in pair.split("/")
    }


def _find_verbs(stem: str, language: Language) -> Sequence[str]:
    """Return the infinitives of the irregular verbs that have a form with a stem."""
    return _find_line("verbs", language, stem)[1:] if language != "ru" else ()


@cache
def _load_lines(kind: Literal["verbs", "words", "synonyms"], language: Language) -> list[str]:
    """Return the lines of a table, which begin with a stem or a word, in the order of those; the first one names the source."""
    return (Path(__file__).parent / kind / f"{language}.txt").read_text(encoding="utf-8").splitlines()


def _find_line(kind: Literal["verbs", "words", "synonyms"], language: Language, wanted: str) -> list[str]:
    """Return the parts of the line that begins with a stem or a word; none if no line does."""
    lines = _load_lines(kind, language)
    at = bisect_left(lines, wanted, lo=1)  # what follows a stem is a space, which stands before all letters
    line = lines[at].split(" ") if at < len(lines) else []
    return line if line[:1] == [wanted] else []
