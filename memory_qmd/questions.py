"""A question in plain language -> what QMD is asked. Pure.

QMD joins the words of one search with AND, so that a whole sentence finds nothing. Since 2.1 it takes a document of
typed lines instead, one a word, and fuses what they find.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from memory_core import ranking
from memory_core.terms import question_words

MAX_WORDS = 10  # lines of one document; the rarest words stay
MAX_IDENTIFIERS = 3
MAX_VEC_CHARS = 1000  # of the line that is embedded; models cut at 512 tokens or earlier

# What names one thing: letters and digits joined by signs, such as PRS-2209 or clock.max_drift.
_IDENTIFIER = re.compile(r"[A-Za-z0-9]+(?:[-._][A-Za-z0-9]+)+")
_TYPED = re.compile(r"^(?:\s*(?:lex|vec|hyde|intent|expand)\s*:)+", re.IGNORECASE)
_DASH = re.compile(r"(?:(?<=\s)|^)[-\u2010-\u2015\u2212]+")


@dataclass(frozen=True, slots=True)
class Question:
    """A question made ready.

    Attributes:
        text: On one line, without quotes, leading dashes or anything that QMD reads as syntax.
        words: Its words, lower case, each once; none when it is stop words only.
        weights: The share of each word in the question: rarer words weigh more.
        known: The words that stand in the index, rarest first; all of them when that could not be looked up.
    """

    text: str
    words: tuple[str, ...]
    weights: tuple[float, ...]
    known: tuple[str, ...]


def prepare(text: str, words: Sequence[str], frequencies: Mapping[str, int], documents: int) -> Question:
    """A question made ready.

    Args:
        text: As it was asked.
        words: `question_words` of it.
        frequencies: In how many documents each word stands; empty when that is not known.
        documents: How many there are.
    """
    counts = [frequencies.get(word, 0) for word in words]
    known = [word for word in words if not frequencies or frequencies.get(word, 0) > 0]
    return Question(
        text=plain(text),
        words=tuple(words),
        weights=tuple(ranking.coverage_weight(documents, count) for count in counts),
        known=tuple(sorted(known, key=lambda word: frequencies.get(word, 0))),
    )


def words_of(text: str) -> list[str]:
    """The words of a question that are worth looking for."""
    return question_words(plain(text))


def plain(text: str) -> str:
    """A text that QMD cannot take for anything but text: one line, no quotes, no leading dashes, no type in front."""
    line = " ".join("".join(char if char.isprintable() else " " for char in text).split())
    line = _DASH.sub("", line.replace('"', " ").replace("\N{LEFT DOUBLE QUOTATION MARK}", " "))
    return " ".join(_TYPED.sub("", line).split())


def typed(question: Question, *, by_meaning: bool) -> list[tuple[str, str]]:
    """The typed lines of a question: ("lex", word) from the rarest word on, and ("vec", sentence) when wanted.

    The first line counts twice in QMD's fusion, so an identifier that was asked for as a whole leads.
    Empty when nothing is left to ask for.
    """
    identifiers = [found for found in _IDENTIFIER.findall(question.text) if _worth(found, question.known)]
    lex = [*dict.fromkeys([*identifiers[:MAX_IDENTIFIERS], *question.known])][:MAX_WORDS]
    lines = [("lex", word) for word in lex]
    if by_meaning and question.text:
        lines.insert(0, ("vec", _DASH.sub("", question.text[:MAX_VEC_CHARS])))
    return lines


def document(lines: Sequence[tuple[str, str]]) -> str:
    """The typed lines as one argument for `qmd query`."""
    return "\n".join(f"{kind}: {text}" for kind, text in lines)


def _worth(identifier: str, known: Sequence[str]) -> bool:
    """Whether all parts of an identifier stand in the index; the search for it as a whole is in vain otherwise."""
    return set(words_of(identifier)) <= set(known)
