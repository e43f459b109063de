"""Ranks and scores of units that may answer a question. Pure arithmetic.

The *rank* of a unit is a fusion of normalised scores; it orders units. Its *score* is absolute, so that it can be compared
with a threshold: the best of bad answers ranks first but scores low.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import NamedTuple

from memory_core.embeddings.protocols import TokenModel
from memory_core.embeddings.vectors import SPAN
from memory_core.records import Calibration
from memory_core.text.terms import QuestionKind, is_cjk

# BM25 with FTS5's own constants: https://www.sqlite.org/fts5.html#the_bm25_function
K1, B = 1.2, 0.75

# Defaults of the two weights, and how each side is split between a unit and what surrounds it.
VECTOR_WEIGHT, TEXT_WEIGHT = 0.6, 0.4
UNIT_SHARE = 0.25  # of the text side: BM25 of the unit; the rest is its chunk's
# The shares of the vector side that the window's cosine and late interaction have: without tokens, with tokens of a table,
# with tokens in their context. The last tell more: with both shares at .5, R4000 is .012 lower.
WITHOUT_TOKENS, WITH_TABLE, WITH_CONTEXT = (1.0, 0.0), (0.5, 0.5), (0.6, 1.4)
# Of the best rank: a unit without a word of the question that reaches it opens a passage of its own.
NEAR_BEST = 0.7
# Of the best rank, for notes of the days that the question speaks of, by the most days: longer periods say nothing.
FEW_DAYS = 2  # a day, or a weekend
LONG_PERIOD = 62  # of a longer one neither further passages nor lines that name it are looked for
PERIOD_BONUSES = ((FEW_DAYS, 1.2), (366, 0.4))  # a day or a weekend comes first
NAMED_BONUS = 2.0  # for notes that the question names: more than all else together
# Of the best rank, times the share of the question that a unit holds, for units from half of that rank: BM25 and cosines let one
# rare word outweigh two. Lists gain from .1 on; from .15 a question in words of its own loses its line to one that shares few.
SUPPORT, SUPPORTED_FROM = 0.12, 0.5
# Of the best rank, taken from lines without the names in a question: .05 tells fewer apart, .2 harms chats.
LACKS_NAME = 0.07
UNSUPPORTED = 0.4  # of its rank, for a unit of a chunk for which no evidence speaks, unless a statement is asked
OTHER_SPEAKER = 0.2  # taken from lines that the other one of two speakers says; .05 to .5 help conversations
ONLY_ASKS = 4.0  # times OTHER_SPEAKER, for a message that only asks the question again: nothing is nearer, and it answers nothing

# Calibration, on the judged conversations of tests/benchmarks against nonsense (tests/benchmarks/nonsense.py).
# What a cosine means differs from space to space: memory_core/embeddings/vectors.py.
UNKNOWN_SHARE = 0.31  # of the span on top of the floor, when no word of a question is known: gibberish reaches .52
SPELT_TOKENS = (
    2.0  # tokens a word, above which they are no words: questions have 1.0 to 1.5, gibberish of other alphabets 3 to 8
)
# A score is evidence ** exponent. What the best of N chunks finds by chance grows with N, and so does the exponent.
EXPONENT, EXPONENT_GROWTH = 0.68, 0.5  # of a question among 100 chunks; added for ten times as many
LEAST_EXPONENT, MOST_EXPONENT = 0.5, 1.1
# Taken from the exponent of a statement, which names little of what it calls to mind; in CJK more, as pairs of characters name
# less than words do.
STATEMENT_LESS, CJK_STATEMENT_LESS = 0.2, 0.3
LIST_EXPONENT = 0.82  # the least exponent of a list of words, which may stand together in a chunk by chance
# Of the exponent, for a question in CJK: it has twice as many pairs of characters as words, and half of these are no words.
CJK_EXPONENT = 0.61
FUNCTIONAL_SHARE = 0.3  # of the weight of a pair, for one of characters that only build sentences
CHARACTER_SHARE = 0.3  # of the weight of a word, for a single character of a statement where units are ranked
CHARACTER_EVIDENCE = 0.1  # of the evidence, beside the words: the characters of a statement that one unit holds
# Letters a token, below which a table spells words: .8 to 1 in Greek, Hebrew, Arabic and Thai, 1.3 in Vietnamese, 2 and more in
# Turkish, Polish, Finnish and Russian, 3.6 in English.
SPELT_LETTERS = 1.6
# Of a table of English, in another language: .19 to .27 above its place in nine. It counts where no word is shared.
FOREIGN_CONE = 0.25
WHOLE_LETTERS = 2.9  # from which on it knows the words: 3.0 to 3.5 in English notes, 2.1 in Polish, 1.7 in Turkish
TABLE_SHARE = 0.05  # of what cosines of a table of tokens say about CJK: it spells most ideographs in bytes
TABLE_TOKEN_SHARE = 0.3  # of what its tokens say about CJK, those that spell left out
TABLE_CONE = 0.58  # of such a table in CJK: those bytes stand in every text
# What the best of unrelated windows reaches: with a question, and with a list of words. A model that reads texts finds a meaning
# in any list of words, unless all of its vectors lie in a narrow cone.
EXPECTED, EXPECTED_OF_LIST = 0.05, 0.2
# The most that speaks against a chunk: what a statement calls to mind may be as far from it as unrelated text.
LEAST_NEARNESS: Mapping[QuestionKind, float] = {"question": -0.4, "statement": 0.0, "words": -0.4}
# Half of a question's words take back what speaks against a chunk in a narrow cone, or of a question with wrong letters.
CONE_DOUBT = 2.0
# The least score of a hit, as a share of the best one's: a statement calls several things to mind, none surer than another.
LEAST_OF_BEST: Mapping[QuestionKind, float] = {"question": 0.0, "statement": 1.0, "words": 0.0}
MESSAGE = 4  # content words, from which on a statement is a message that may call to mind what it does not name
# The share of a question's pairs of characters that 100 chunks hold of any text, the most it grows to, and how much more these
# hold of a question about them; what is added for ten times as many chunks: a statement shares less with what it calls to mind.
KNOWN, MOST_KNOWN, KNOWN_SPAN = 0.05, 0.6, 0.2
KNOWN_GROWTH: Mapping[QuestionKind, float] = {"question": 0.5, "statement": 0.4, "words": 0.5}
BEST_UNIT = 0.15  # without vectors, of the evidence: the part of the question that one unit holds

# Of `hybrid_score` and `keyword_score`.
KEYWORD_CEILING = 0.7  # the most evidence that keywords alone bring in hybrid mode
CHANCE, CHANCE_GROWTH = 0.18, 0.1  # the evidence that word salad reaches among 100 chunks; added for ten times as many
KEYWORD_EXPONENT, KEYWORD_GROWTH = 0.82, 0.3  # at 100 chunks; added for ten times as many
QUESTION_EXPONENT = 0.8  # as a share of that, for a question in a sentence
# The exponent of a sentence's evidence in an index of one chunk, and what is added for ten times as many chunks: the fewer there
# are, the fewer words of a question can be expected in them.
FEW_EXPONENT, FEW_GROWTH = 0.8, 0.1
PERIOD_WORD_SHARE = 0.5  # of the weight of words that name a period, of which the notes are known by their dates
OF_DAY = 0.4  # that of a chunk of the very day that a question names
IDENTIFIED = 0.5  # the lowest score of a chunk that holds an identifier of the question


def period_bonus(days: int, best: float) -> float:
    """Return what is added to the ranks of notes of a period: the less, the longer it is.

    Args:
        days: Of the period.
        best: The best rank without it.
    """
    return next((share * best for most, share in PERIOD_BONUSES if days <= most), 0.0)


def coverage_weight(documents: int, containing: int) -> float:
    """ln(1 + (N + .5) / (n + .5)), the weight of one term in a question: a term in every note still counts ln 2."""
    return math.log(1 + (documents + 0.5) / (containing + 0.5))


def coverage(weights: Sequence[float], found: Sequence[float]) -> float:
    """The share of a question's weight that was found, each term 0..1; terms that no chunk holds count in the whole."""
    whole = sum(weights)
    return sum(weight * hit for weight, hit in zip(weights, found, strict=True) if hit) / whole if whole else 0.0


def vector_score(cosine: float, calibration: Calibration, *, unknown_words: bool = False) -> float:
    """A cosine as a score in 0..1; lower when none of the question's words is known."""
    score = (cosine - calibration.floor) / calibration.span - UNKNOWN_SHARE * unknown_words
    return min(max(score, 0.0), 1.0)


def nearness(
    cosine: float,
    calibration: Calibration,
    kind: QuestionKind,
    *,
    covered: float = 0.0,
    unknown_words: bool = False,
    expected: float = EXPECTED,
    reworded: bool = False,
) -> float:
    """A cosine as evidence, -.4 to 1: less than unrelated windows reach speaks against a chunk, unless a statement is asked.

    In a narrow cone small differences decide, and the vector of wrong letters, or of other words, is not that of what is meant:
    there, distance speaks less against a chunk that holds words of the question.

    Args:
        cosine: Of the chunk's best window.
        calibration: Tells what cosines of the space mean.
        kind: Of the question.
        covered: The share of the question's words that the chunk holds, 0..1.
        unknown_words: No word of the question is known.
        expected: What the best of unrelated windows reaches.
        reworded: The chunk may hold words of the question in other words only.
    """
    value = (cosine - calibration.floor) / calibration.span - UNKNOWN_SHARE * unknown_words - expected
    if value < 0:
        value *= max(1 - CONE_DOUBT * (1.0 if reworded else find_cone(calibration)) * covered, 0.0)
    return min(max(value, LEAST_NEARNESS[kind]), 1.0)


def expect(kind: QuestionKind, calibration: Calibration) -> float:
    """Return what the best of unrelated windows reaches with a model that reads texts: a share of the span, from the floor on."""
    return EXPECTED if kind != "words" else EXPECTED_OF_LIST - (EXPECTED_OF_LIST - EXPECTED) * find_cone(calibration)


def find_cone(calibration: Calibration) -> float:
    """Return how narrow the cone is in which the vectors of a space lie, 0..1: 0 in a model without a cone."""
    return max(1 - calibration.span / SPAN, 0.0)


def trust(known: float, chunks: int, kind: QuestionKind) -> float:
    """The share of what nearness says for a chunk in CJK that counts, 0..1, with a model that reads texts.

    To such a model any ideographs in any order are near any other. But of a question about the notes, these hold most pairs of
    characters, of another one few; the more chunks, the more of any text.

    Args:
        known: The share of the question's weight that chunks of the index hold, 0..1.
        chunks: The number of chunks in the index.
        kind: Of the question.
    """
    start = min(max(KNOWN + KNOWN_GROWTH[kind] * math.log10(max(chunks, 1) / 100), 0.0), MOST_KNOWN)
    return min(max((known - start) / KNOWN_SPAN, 0.0), 1.0)


def exponent(chunks: int, kind: QuestionKind, *, cjk: float = 0.0) -> float:
    """Return the exponent that turns the evidence for a chunk into its score; see `score`.

    Args:
        chunks: The number of chunks in the index.
        kind: Of the question.
        cjk: The share of its letters that are CJK, 0..1.
    """
    grown = EXPONENT + EXPONENT_GROWTH * math.log10(max(chunks, 1) / 100)
    grown = min(max(grown, LEAST_EXPONENT), MOST_EXPONENT)
    if kind == "statement":
        return grown - STATEMENT_LESS - (CJK_STATEMENT_LESS - STATEMENT_LESS) * cjk
    asked = max(grown * (1 - (1 - CJK_EXPONENT) * cjk), LEAST_EXPONENT)
    return asked if kind == "question" else max(asked, LIST_EXPONENT)


def score(evidence: float, exponent: float) -> float:
    """Return evidence as a score in 0..1: evidence ** exponent.

    Args:
        evidence: The share of the question's words that was found, plus the share that nearness in meaning adds.
        exponent: See the function `exponent`.
    """
    return math.pow(min(max(evidence, 0.0), 1.0), exponent)


def chance(chunks: int) -> float:
    """The evidence, 0 to .3, that unconnected words find by chance: it grows with the number of chunks."""
    return min(max(CHANCE + CHANCE_GROWTH * math.log10(max(chunks, 1) / 100), 0.0), 0.3)


def hybrid_score(covered: float, vector: float, chunks: int = 100, *, question: bool = False) -> float:
    """The score of two independent pieces of evidence together, 0..1.

    Args:
        covered: The share of the question's words that was found, 0..1.
        vector: The evidence by meaning, 0..1.
        chunks: The number of chunks in the index.
        question: True if the words were a sentence. A sentence is no chance collection of words, so its evidence counts
            in full, 1 - (1 - covered) (1 - vector), and a little more below 100 chunks. Of other words the keyword side
            counts .7, and the evidence of chance is subtracted.
    """
    if question:
        return math.pow(
            1 - (1 - covered) * (1 - vector), min(FEW_EXPONENT + FEW_GROWTH * math.log10(max(chunks, 1)), 1.0)
        )
    evidence, less = 1 - (1 - KEYWORD_CEILING * covered) * (1 - vector), chance(chunks)
    return max((evidence - less) / (1 - less), 0.0)


def keyword_score(covered: float, chunks: int = 100, *, question: bool = False) -> float:
    """covered ** .82 among 100 chunks; the exponent grows with their number, as does what words find by chance.

    A question in a sentence is no chance collection of words: its exponent is smaller by a fifth.
    """
    exponent = KEYWORD_EXPONENT + KEYWORD_GROWTH * math.log10(max(chunks, 1) / 100)
    return math.pow(covered, min(max(exponent, 0.6), 1.3) * (QUESTION_EXPONENT if question else 1.0))


def lift(values: Sequence[float], kind: QuestionKind, *, words: int = MESSAGE) -> list[float]:
    """Raise each score to the highest of those behind it, and to the least that hits of such a question have.

    The order is that of the ranks, which tell hits of one answer apart better than scores do (ordered by score, R4000 is .03
    lower). So a hit that ranks before a well supported one counts as supported as well.

    Args:
        values: Scores of hits, best ranked first.
        kind: What was asked.
        words: Content words of it: a few, as in "key of the garage", name all that they call to mind, and raise nothing for
            which nothing speaks.

    Returns:
        Scores in the same order, which never rise down the list.
    """
    least = LEAST_OF_BEST[kind] * max(values, default=0.0)
    raised = list(accumulate(reversed(values), max))[::-1]
    return [max(value, least) if value > 0 or words >= MESSAGE else value for value in raised]


class Weights(NamedTuple):
    """Shares of the vector side and of the text side; their sum is 1."""

    vector: float
    text: float

    @classmethod
    def normalised(cls, vector: float | None, text: float | None) -> Weights:
        """Weights from the configuration: None is the default; two zeros are two defaults."""
        vector = VECTOR_WEIGHT if vector is None else vector
        text = TEXT_WEIGHT if text is None else text
        total = vector + text
        return cls(vector / total, text / total) if total > 0 else cls(VECTOR_WEIGHT, TEXT_WEIGHT)


def scale(values: Sequence[float]) -> list[float]:
    """Divide values by the largest; negative ones become 0."""
    top = max(values, default=0.0)
    return [value / top if value > 0 else 0.0 for value in values] if top > 0 else [0.0] * len(values)


def spread(values: Sequence[float]) -> list[float]:
    """Map the smallest value to 0 and the largest to 1: for cosines, whose zero lies elsewhere in every model."""
    low, high = min(values, default=0.0), max(values, default=0.0)
    return [(value - low) / (high - low) for value in values] if high > low else [0.0] * len(values)


def bm25(
    counts: Sequence[Mapping[int, float]],
    lengths: Sequence[int],
    rarities: Sequence[float],
    *,
    average: float | None = None,
) -> list[float]:
    """BM25 of units against one question.

    Args:
        counts: For every unit, how often it holds a term, by the term's number; terms it lacks may be left out.
        lengths: Words of every unit.
        rarities: Inverse document frequency of every term.
        average: Length to which theirs are compared; None takes their own.

    Returns:
        A score for every unit, not negative.
    """
    average = max(average or sum(lengths) / max(len(lengths), 1), 1.0)
    values = []
    for held, length in zip(counts, lengths, strict=True):
        damping, value = K1 * (1 - B + B * length / average), 0.0
        for term, count in held.items():
            value += rarities[term] * count * (K1 + 1) / (count + damping)
        values.append(value)
    return values


_OTHER_ALPHABET = re.compile("[\u0370-\u1dff\u1f00-\u1fff]")  # from Greek on, but for what is added to Latin


def find_spelt(table: TokenModel, words: Sequence[str], cjk: float) -> float:
    """Return the share of a question that a table of tokens spells in bytes or letters, 0..1.

    Args:
        table: The table.
        words: Of the question.
        cjk: The share of its letters that are CJK.
    """
    words = [word for word in words if not (word.isdigit() or is_cjk(word))]
    letters, tokens = sum(map(len, words)), sum(map(len, table.token_ids(words)))
    others = len(_OTHER_ALPHABET.findall("".join(words))) / letters if letters else 0.0
    spelt = 1.0 if letters < SPELT_LETTERS * tokens else others
    return cjk + (1.0 - cjk) * spelt


def find_pieces(table: TokenModel, words: Sequence[str]) -> float:
    """Return how small the pieces are into which a table cuts words, 0..1: 0 for those of its language, 1 for letters."""
    letters = [word for word in words if word.isalpha() and not is_cjk(word)]
    if not letters:
        return 0.0
    each = sum(map(len, letters)) / len(table.token_ids([" ".join(letters)])[0])
    return min(max((WHOLE_LETTERS - each) / (WHOLE_LETTERS - SPELT_LETTERS), 0.0), 1.0)
