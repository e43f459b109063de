"""The arithmetic of ranks and scores: bounded, monotone, and never fooled by a term that is everywhere."""

from __future__ import annotations

import math
from functools import partial
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_core.records import Calibration
from memory_core.search import scores
from memory_core.stores.values import inverse_document_frequency
from memory_core.text.terms import QuestionKind

SHARES = st.floats(0, 1)
COSINES = st.floats(-1, 1)
COUNTS = st.integers(0, 10_000)
WEIGHTS = st.none() | st.floats(0, 1e6)


@given(COUNTS, COUNTS)
def test_idf_is_never_negative_and_falls_with_frequency(documents: int, containing: int) -> None:
    containing = min(containing, documents)
    for weight in (inverse_document_frequency, scores.coverage_weight):
        assert weight(documents, containing) >= 0
        assert weight(documents, containing) >= weight(documents, containing + 1)


def test_a_term_in_every_note_still_counts_for_coverage() -> None:
    assert scores.coverage_weight(1, 1) == pytest.approx(math.log(2))
    assert scores.coverage([scores.coverage_weight(3, 3)], [True]) == 1


@given(st.lists(st.tuples(st.floats(0, 10), st.booleans())))
def test_coverage_is_a_share(terms: list[tuple[float, bool]]) -> None:
    weights, found = [weight for weight, _ in terms], [hit for _, hit in terms]
    covered = scores.coverage(weights, found)
    assert 0 <= covered <= 1 + 1e-9
    if any(weights):
        assert scores.coverage(weights, [True] * len(weights)) == pytest.approx(1)
    assert scores.coverage(weights, [False] * len(weights)) == 0


def test_coverage_of_no_term_is_nothing() -> None:
    assert scores.coverage([], []) == 0


def test_coverage_counts_terms_that_no_note_holds() -> None:
    assert scores.coverage([1.0, 3.0], [True, False]) == 0.25


@given(SHARES, COSINES, SHARES, st.integers(0, 10**6))
def test_scores_lie_between_nothing_and_one(covered: float, cosine: float, floor: float, chunks: int) -> None:
    vector = scores.vector_score(cosine, Calibration(floor=floor, span=0.45))
    assert 0 <= vector <= 1
    for question in (False, True):
        assert 0 <= scores.hybrid_score(covered, vector, chunks, question=question) <= 1
        assert 0 <= scores.keyword_score(covered, chunks, question=question) <= 1


@given(SHARES, SHARES, SHARES, SHARES, st.integers(0, 10**6), st.booleans())
def test_more_evidence_never_scores_less(  # noqa: PLR0917 - given by hypothesis
    covered: float, more: float, vector: float, nearer: float, chunks: int, question: bool
) -> None:
    covered, more = sorted((covered, more))
    vector, nearer = sorted((vector, nearer))
    hybrid, keyword = (
        partial(scores.hybrid_score, question=question),
        partial(scores.keyword_score, question=question),
    )
    assert hybrid(more, nearer, chunks) >= hybrid(covered, vector, chunks) - 1e-12
    assert keyword(more, chunks) >= keyword(covered, chunks)
    for score in (
        keyword(more, chunks) - keyword(more, 10 * chunks),
        hybrid(more, 0, chunks) - hybrid(more, 0, 10 * chunks),
    ):
        assert score >= -1e-12


def test_the_evidence_of_a_sentence_counts_more_where_few_chunks_can_hold_it() -> None:
    found = [scores.hybrid_score(0.2, 0.1, chunks, question=True) for chunks in (0, 1, 10, 100, 1000)]
    assert found[0] == found[1] > found[2] > found[3] == found[4] == pytest.approx(0.28)


@given(SHARES, SHARES, st.integers(0, 10**6))
def test_a_sentence_scores_no_less_than_its_words(covered: float, vector: float, chunks: int) -> None:
    sentence = scores.hybrid_score(covered, vector, chunks, question=True)
    assert sentence >= scores.hybrid_score(covered, vector, chunks) - 1e-12
    assert scores.keyword_score(covered, chunks, question=True) >= scores.keyword_score(covered, chunks)


def test_strong_evidence_of_one_kind_passes_the_default_threshold_alone() -> None:
    assert scores.hybrid_score(1.0, 0.0) > 0.35
    assert scores.hybrid_score(0.0, 0.5) > 0.35
    assert scores.hybrid_score(0.0, 1.0) == pytest.approx(1)
    assert scores.keyword_score(1.0) == 1
    assert scores.hybrid_score(0.0, 0.0) == scores.keyword_score(0.0) == 0


KINDS = st.sampled_from(["question", "statement", "words"])


@given(st.floats(-1, 3), st.floats(0, 1), st.integers(0, 10**6), KINDS, SHARES)
def test_a_score_is_a_share_that_grows_with_the_evidence(
    evidence: float, more: float, chunks: int, kind: QuestionKind, cjk: float
) -> None:
    exponent = scores.exponent(chunks, kind, cjk=cjk)
    assert 0 <= scores.score(evidence, exponent) <= scores.score(evidence + more, exponent) <= 1
    assert scores.exponent(chunks * 10, kind, cjk=cjk) >= exponent


@given(st.integers(0, 10**6), SHARES)
def test_statements_are_trusted_most_and_lists_of_words_least(chunks: int, cjk: float) -> None:
    statement, question, words = (scores.exponent(chunks, kind, cjk=cjk) for kind in ("statement", "question", "words"))
    assert question <= words
    assert statement < question or cjk > 0


def test_a_distant_chunk_counts_against_its_words() -> None:
    space = Calibration(floor=0.2, span=0.5)
    assert scores.nearness(0.2, space, "question") == pytest.approx(-scores.EXPECTED)
    for kind, least in scores.LEAST_NEARNESS.items():
        assert scores.nearness(0.0, space, kind) == scores.nearness(-1.0, space, kind) == least
        assert scores.nearness(1.0, space, kind) == 1.0
        assert scores.nearness(0.5, space, kind, unknown_words=True) < scores.nearness(0.5, space, kind)
        expected = scores.EXPECTED_OF_LIST
        assert scores.nearness(0.5, space, kind, expected=expected) < scores.nearness(0.5, space, kind)


@given(st.lists(st.floats(0, 1), max_size=8), KINDS)
def test_scores_of_hits_never_rise_down_the_list(values: list[float], kind: QuestionKind) -> None:
    shown = scores.lift(values, kind)
    assert shown == sorted(shown, reverse=True)
    assert all(own <= lifted <= max(values) for own, lifted in zip(values, shown, strict=True))


def test_hits_behind_the_best_of_a_statement_count_as_much() -> None:
    assert scores.lift([0.2, 0.5, 0.1], "question") == [0.5, 0.5, 0.1]
    assert scores.lift([0.2, 0.5, 0.1], "statement") == [0.5, 0.5, 0.5]


def test_no_chunk_counts_against_the_words_of_a_statement() -> None:
    assert scores.LEAST_NEARNESS["statement"] == 0


@given(WEIGHTS, WEIGHTS)
def test_weights_add_up_to_one(vector: float | None, text: float | None) -> None:
    weights = scores.Weights.normalised(vector, text)
    assert weights.vector + weights.text == pytest.approx(1)
    assert min(weights.vector, weights.text) >= 0


def test_missing_and_zero_weights() -> None:
    defaults = scores.Weights(scores.VECTOR_WEIGHT, scores.TEXT_WEIGHT)
    assert scores.Weights.normalised(None, None) == scores.Weights.normalised(0, 0) == defaults
    assert scores.Weights.normalised(0, 5) == scores.Weights(0, 1)
    assert scores.Weights.normalised(5, 0) == scores.Weights(1, 0)
    assert scores.Weights.normalised(3, 1) == scores.Weights(0.75, 0.25)


VALUES = st.lists(st.floats(-1e6, 1e6), max_size=20)


@given(VALUES)
def test_scaling_keeps_the_order_of_what_is_positive(values: list[float]) -> None:
    scaled = scores.scale(values)
    assert all(0 <= value <= 1 for value in scaled)
    assert max(scaled, default=0) == (1 if max(values, default=0) > 0 else 0)
    assert all(x <= y for (_, x), (_, y) in pairwise(sorted(zip(values, scaled, strict=True))))


@given(VALUES)
def test_spreading_fills_the_whole_range(values: list[float]) -> None:
    spread = scores.spread(values)
    assert all(0 <= value <= 1 for value in spread)
    if len(set(values)) > 1:
        assert (min(spread), max(spread)) == (0, 1)
    assert all(x <= y for (_, x), (_, y) in pairwise(sorted(zip(values, spread, strict=True))))


def test_bm25_prefers_more_rarer_and_shorter() -> None:
    none, once, twice = scores.bm25([{}, {0: 1}, {0: 2}], [9, 9, 9], [1.0])
    assert none == 0 < once < twice
    common, rare = scores.bm25([{0: 1}, {1: 1}], [9, 9], [0.1, 2.0])
    assert rare > common
    long, short = scores.bm25([{0: 1}, {0: 1}], [90, 9], [1.0])
    assert short > long


def test_bm25_of_the_formula() -> None:
    """One term once in a unit of average length: its weight, whatever K1 and B."""
    assert scores.bm25([{0: 1}], [7], [1.3]) == [pytest.approx(1.3)]
    assert scores.bm25([], [], [1.3]) == []


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 50)), min_size=1), st.floats(0, 10))
def test_bm25_is_never_negative(units: list[tuple[int, int]], weight: float) -> None:
    found = scores.bm25([{0: count} for count, _ in units], [max(pair) for pair in units], [weight])
    assert all(score >= 0 and math.isfinite(score) for score in found)
    assert all(score == 0 for score, (count, _) in zip(found, units, strict=True) if not count)


@given(SHARES, SHARES, COUNTS, st.sampled_from(sorted(scores.KNOWN_GROWTH)))
def test_meaning_is_trusted_the_more_of_a_question_is_known(
    first: float, second: float, chunks: int, kind: QuestionKind
) -> None:
    less, more = (scores.trust(known, chunks, kind) for known in sorted((first, second)))
    assert 0 <= less <= more <= 1
    assert scores.trust(first, 10 * chunks, kind) <= scores.trust(first, chunks, kind)


def test_a_question_whose_words_are_all_known_is_trusted_among_any_number_of_chunks() -> None:
    assert all(scores.trust(1.0, 10**size, kind) == 1.0 for size in range(9) for kind in scores.KNOWN_GROWTH)


def test_the_vector_of_wrong_letters_speaks_less_against_what_holds_the_words() -> None:
    space = Calibration(floor=0.18, span=0.45)
    less = partial(scores.nearness, 0.0, space, "question", reworded=True)
    assert less(covered=0.0) == scores.nearness(0.0, space, "question") < less(covered=0.4) < less(covered=0.5) == 0
    assert scores.nearness(0.5, space, "question", covered=0.4, reworded=True) == scores.nearness(
        0.5, space, "question"
    )


@given(COSINES, SHARES, SHARES)
def test_in_a_narrow_cone_distance_speaks_less_against_what_holds_the_words(
    cosine: float, less: float, more: float
) -> None:
    cone, usual = Calibration(floor=0.82, span=0.09), Calibration(floor=0.2, span=0.45)
    less, more = sorted((less, more))
    for kind in scores.LEAST_NEARNESS:
        assert scores.nearness(cosine, cone, kind, covered=more) >= scores.nearness(cosine, cone, kind, covered=less)
        assert scores.nearness(cosine, usual, kind, covered=more) == scores.nearness(cosine, usual, kind)


def test_lists_of_words_are_asked_for_more_where_unrelated_texts_are_apart() -> None:
    cone, usual = Calibration(floor=0.82, span=0.09), Calibration(floor=0.2, span=0.45)
    assert scores.expect("words", usual) == scores.EXPECTED_OF_LIST > scores.expect("words", cone) > scores.EXPECTED
    assert scores.expect("question", usual) == scores.expect("statement", cone) == scores.EXPECTED
