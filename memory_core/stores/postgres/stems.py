"""Stems as PostgreSQL holds them, and BM25 over what it returns: the words and the scores of builtin's keyword index."""

from __future__ import annotations

import math
import re
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence

from memory_core.text.folding import fold_words
from memory_core.text.messages import replace_surrogates
from memory_core.text.terms import is_single_cjk, write_index

MAX_POSITION = 16_383  # of a tsvector; words behind it stand at it
MAX_LEXEME_BYTES = 2046
K1, B = 1.2, 0.75  # as in bm25() of FTS5, like the formula below: https://www.sqlite.org/fts5.html#the_bm25_function

_LEXEME = re.compile(r"'((?:[^']|'')*)'(?::([\dA-D,]+))?")
_PLACE = re.compile(r"\d+")

_local = threading.local()


def stem(text: str) -> list[str]:
    """Return the stems of a text's words in order: those of builtin's keyword index."""
    tokenize = getattr(_local, "tokenize", None)
    if tokenize is None:
        from memory_core.stores.sqlite.connections import open_tokenizer

        tokenize = _local.tokenize = open_tokenizer()
    stems: list[str] = tokenize(fold_words(text).encode())
    return stems


def clean(text: str) -> str:
    """Replace what PostgreSQL does not take, NUL and lone surrogates, by U+FFFD, one for one, so that offsets stay right."""
    return replace_surrogates(text).replace("\0", "\ufffd")


def make_vector(context: str, text: str) -> tuple[str, int]:
    """Return the tsvector of a chunk, and the number of its words. No phrase reaches from the context into the text."""
    positions: dict[str, list[int]] = {}
    words = 0
    at = 0
    for part in (context, text):
        for each in stem(write_index(part)):
            at += 1
            words += 1
            if len(each.encode()) <= MAX_LEXEME_BYTES:
                positions.setdefault(each, []).append(min(at, MAX_POSITION))
        at += 1
    parts = (f"{quote(each)}:{','.join(map(str, dict.fromkeys(places)))}" for each, places in positions.items())
    return " ".join(parts), words


def read_vector(text: str) -> dict[str, list[int]]:
    """Return the positions of each lexeme of a tsvector as PostgreSQL writes it; none of one that has none."""
    return {
        lexeme.replace("''", "'").replace("\\\\", "\\"): [int(place) for place in _PLACE.findall(places)]
        for lexeme, places in _LEXEME.findall(text)
    }


def quote(lexeme: str) -> str:
    """Quote a lexeme for a tsvector or a tsquery."""
    escaped = lexeme.replace("\\", "\\\\").replace("'", "''")
    return f"'{escaped}'"


def write_query(spellings: Iterable[str]) -> str:
    """Return the tsquery for any of some words and phrases; "" for none."""
    return " | ".join(filter(None, map(_write_phrase, spellings)))


def _write_phrase(spelling: str) -> str:
    stems = [quote(each) for each in stem(spelling) if len(each.encode()) <= MAX_LEXEME_BYTES]
    if not stems:
        return ""
    if is_single_cjk(spelling):
        return f"{stems[0]}:*"
    return stems[0] if len(stems) == 1 else f"({' <-> '.join(stems)})"


class Scorer:
    """BM25 of chunks, as FTS5 computes it for the words of a question, each a phrase of its own.

    Args:
        spellings: The phrases; one that stands twice counts twice.
        chunks: The number of chunks in the index.
        words: The number of words in all of them.
        count: Returns the number of chunks that hold a spelling.
    """

    def __init__(self, spellings: Sequence[str], *, chunks: int, words: int, count: Callable[[str], int]) -> None:
        self._mean = words / max(chunks, 1) or 1.0
        self._phrases = []
        for spelling in spellings:
            held = count(spelling)
            weight = math.log((max(chunks - held, 0) + 0.5) / (held + 0.5))
            self._phrases.append((stem(spelling), is_single_cjk(spelling), weight if weight > 0 else 1e-6))

    def score(self, words: int, places: Mapping[str, Sequence[int]]) -> float:
        """Return the score of one chunk by the positions of its stems."""
        total = 0.0
        for stems, is_prefix, weight in self._phrases:
            if is_prefix:
                found = sum(len(at) for each, at in places.items() if each.startswith(stems[0]))
            elif len(stems) == 1:
                found = len(places.get(stems[0], ()))
            else:
                found = _count_runs(stems, places)
            if found:
                total += weight * (found * (K1 + 1)) / (found + K1 * (1 - B + B * words / self._mean))
        return total


def _count_runs(stems: Sequence[str], places: Mapping[str, Sequence[int]]) -> int:
    if not stems:
        return 0
    sets = [set(places.get(each, ())) for each in stems]
    return sum(all(start + step in at for step, at in enumerate(sets)) for start in sets[0])


def list_lexemes(spellings: Iterable[str]) -> tuple[list[str], list[str]]:
    """Return the stems to score by, and the prefixes."""
    spelt = [(is_single_cjk(spelling), stem(spelling)) for spelling in spellings]
    lexemes = dict.fromkeys(each for is_prefix, stems in spelt for each in stems if not is_prefix)
    prefixes = dict.fromkeys(each for is_prefix, stems in spelt for each in stems if is_prefix)
    return list(lexemes), list(prefixes)
