"""The scores of rows by words and by meaning."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_core.embeddings.vectors import DEFAULT_CALIBRATION
from memory_core.records import Chunk
from memory_qmd.hits import AGREEMENT, Judge, unblend
from memory_qmd.queries import QmdRow, Scale, extract_words, prepare


def row(value: float, **evidence: float) -> QmdRow:
    return QmdRow(collection="c", path="p", score=value, **evidence)  # type: ignore[arg-type]


def judge(text: str, scale: Scale, *known: str) -> Judge:
    counts = dict.fromkeys(extract_words(text), 0) | dict.fromkeys(known, 1)
    return Judge(prepare(text, extract_words(text), counts, 10), scale, DEFAULT_CALIBRATION, chunks=100)


def chunk(text: str) -> Chunk:
    return Chunk(start_line=1, end_line=1, overlap_lines=0, context="", text=text)


@given(
    st.floats(0, 1), st.floats(-1, 1), st.integers(1, 100), st.sampled_from(["words", "explained", "cosine", "blend"])
)
def test_scores_stay_in_bounds_and_none_is_above_what_is_expected_of_its_row(
    covered: float, value: float, position: int, scale: Scale
) -> None:
    judged = judge("Who is our dog sitter?", scale)
    evidence = judged.read_evidence(row(value, cosine=value), position)
    meaning = judged.judge_meaning(evidence, chunk("Maria walks the puppy."))
    assert 0 <= judged.score(covered, meaning) <= judged.score(covered, judged.judge_meaning(evidence, None)) <= 1
    assert (meaning is None) == (scale == "words")
    assert meaning is None or 0 <= meaning <= 1


def test_a_place_alone_is_no_evidence() -> None:
    assert judge("fence", "words").read_evidence(row(1.0), 1) is None
    assert judge("fence", "words").score(0.0, None) == 0
    assert judge("fence", "blend").read_evidence(row(0.75), 1) == 0  # the best of bad rows gets .75 from QMD
    assert unblend(0.75 + 0.25 * 0.9, 1) == pytest.approx(0.9)
    assert judge("fence", "explained").read_evidence(row(1.0), 1) == 0  # found by a word only


def test_strong_evidence_of_one_kind_passes_the_default_threshold() -> None:
    fence = chunk("The hedge is of beech.")
    by_cosine = judge("guitar", "explained", "guitar")
    assert by_cosine.score(1.0, None) > 0.9
    assert by_cosine.score(0.0, by_cosine.judge_meaning(by_cosine.read_evidence(row(0.2, cosine=0.6), 4), fence)) > 0.35
    by_reranker = judge("guitar", "blend")
    assert by_reranker.judge_meaning(by_reranker.read_evidence(row(0.5, rerank=0.8), 2), fence) == 0.8
    assert by_reranker.score(0.0, 0.8) > 0.35


def test_a_paraphrase_passes_by_the_passage_where_the_cosine_of_its_file_is_low() -> None:
    judged = judge("Which car parts were replaced?", "explained", "parts")
    evidence = judged.read_evidence(row(0.3, cosine=0.27), 3)
    assert evidence is not None
    assert judged.score(0.0, evidence * AGREEMENT) < 0.35
    found = chunk("The mechanic fitted new brake pads to the vehicle and replaced a tyre of the automobile.")
    other = chunk("Lunch with the customer: lentil curry and rice.")
    assert (
        judged.score(0.0, judged.judge_meaning(evidence, other))
        < 0.35
        < judged.score(0.0, judged.judge_meaning(evidence, found))
    )


def test_words_that_nobody_knows_count_for_less() -> None:
    unknown, known = judge("zxqvia brflot", "explained"), judge("zxqvia brflot", "explained", "zxqvia")
    text = chunk("Zxqvi brflo tzx qvia.")
    as_known, as_unknown = known.judge_meaning(0.0, text), unknown.judge_meaning(0.0, text)
    assert as_known is not None
    assert as_unknown is not None
    assert as_unknown < as_known
