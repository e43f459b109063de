"""A question in plain language, prepared for QMD. Pure.

QMD joins the words of one search with AND, so that a whole sentence finds nothing. Since 2.1 it also takes a document of
typed lines, here one for each word, and fuses what they find.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from memory_core.search import scores
from memory_core.text import terms

MAX_WORDS = 10  # lines of one document; the rarest words are kept
MAX_IDENTIFIERS = 3
MAX_VEC_CHARS = 1000  # of the line that is embedded; models cut at 512 tokens or earlier

# Letters and digits joined by signs name one thing, such as PRS-2209 or clock.max_drift.
_IDENTIFIER = re.compile(r"(?<![A-Za-z0-9])[A-Za-z0-9]++(?:[-._][A-Za-z0-9]++)+")
_TYPED = re.compile(r"^(?:\s*(?:lex|vec|hyde|intent|expand)\s*:)+", re.IGNORECASE)
_DASH = re.compile(r"(?:(?<=\s)|^)[-\u2010-\u2015\u2212]+")


@dataclass(frozen=True, slots=True)
class PreparedQuestion:
    """A question without syntax, with its words.

    Attributes:
        text: On one line, without quotes, leading dashes or anything else that QMD reads as syntax.
        words: Its words, lower case, each once; empty if it has stop words only.
        weights: The share of each word in the question: rarer words weigh more.
        known: The words that the index holds, rarest first; all words if they could not be looked up.
    """

    text: str
    words: tuple[str, ...]
    weights: tuple[float, ...]
    known: tuple[str, ...]


def prepare(text: str, words: Sequence[str], counts: Mapping[str, int], documents: int) -> PreparedQuestion:
    """Prepare a question.

    Args:
        text: As it was asked.
        words: `extract_words` of it.
        counts: Number of documents that hold each word; empty if it is not known.
        documents: Number of documents in the index.
    """
    known = [word for word in words if not counts or counts.get(word, 0) > 0]
    return PreparedQuestion(
        text=strip_syntax(text),
        words=tuple(words),
        weights=tuple(scores.coverage_weight(documents, counts.get(word, 0)) for word in words),
        known=tuple(sorted(known, key=lambda word: counts.get(word, 0))),
    )


def extract_words(text: str) -> list[str]:
    """Extract the words of a question that are worth looking for."""
    return terms.extract_words(strip_syntax(text))


def strip_syntax(text: str) -> str:
    """Remove all that QMD could take for syntax: line ends, quotes, leading dashes, and a type such as "lex:" in front."""
    line = " ".join("".join(char if char.isprintable() else " " for char in text).split())
    line = _DASH.sub("", line.replace('"', " ").replace("\N{LEFT DOUBLE QUOTATION MARK}", " "))
    return " ".join(_TYPED.sub("", line).split())


def build_lines(question: PreparedQuestion, *, by_meaning: bool) -> list[tuple[str, str]]:
    """Build the typed lines of a question: ("lex", word) from the rarest word on, and ("vec", sentence) if wanted.

    The first line counts twice in QMD's fusion, so an identifier that was asked for as a whole leads.
    Empty if nothing is left to ask for.
    """
    identifiers = [found for found in _IDENTIFIER.findall(question.text) if _is_indexed(found, question.known)]
    lex = [*dict.fromkeys([*identifiers[:MAX_IDENTIFIERS], *question.known])][:MAX_WORDS]
    lines = [("lex", word) for word in lex]
    if by_meaning and question.text:
        lines.insert(0, ("vec", _DASH.sub("", question.text[:MAX_VEC_CHARS])))
    return lines


def join_lines(lines: Sequence[tuple[str, str]]) -> str:
    """Join typed lines to one argument for `qmd query`."""
    return "\n".join(f"{kind}: {text}" for kind, text in lines)


def _is_indexed(identifier: str, known: Sequence[str]) -> bool:
    """Return True if the index holds all parts of an identifier; otherwise a search for it as a whole finds nothing."""
    return set(extract_words(identifier)) <= set(known)
