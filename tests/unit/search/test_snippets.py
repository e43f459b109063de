"""The part of a long unit that is shown: it keeps to the size, and holds as much of the question as it can."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from memory_core.search.passages import GAP, TINY, Mark, Span, cut_around, find_marks

PROSE = (
    "The path begins behind the factory. It does not look promising, but after half an hour the noise is gone. "
    "We were five, with one dog. The hut has a telephone that is painted on a stone! Nobody called. The end."
)


def find(text: str, *words: str) -> list[Mark]:
    return find_marks(text, (0, len(text)), dict.fromkeys(words, 1.0), lambda word: [word.lower()])


def quoted(text: str, span: Span, part: Span) -> str:
    """A part of a span, with a gap on each side where something is left out."""
    return GAP * (part[0] > span[0]) + text[part[0] : part[1]] + GAP * (part[1] < span[1])


def shown(text: str, max_chars: int, *words: str) -> str:
    whole = 0, len(text)
    return quoted(text, whole, cut_around(text, whole, max_chars, find(text, *words)))


def test_a_long_text_is_cut_around_its_match_and_begins_with_a_sentence() -> None:
    assert (
        shown(PROSE, 60, "telephone", "stone")
        == f"{GAP}The hut has a telephone that is painted on a stone! Nobody{GAP}"
    )
    assert shown(PROSE, 60, "dog") == f"{GAP}We were five, with one dog. The hut has a telephone that{GAP}"


def test_where_more_of_the_question_stands_together_wins() -> None:
    assert "promising" in shown(PROSE, 60, "dog", "promising", "noise", "hour")


def test_what_matches_at_the_end_is_shown_with_whole_sentences_before() -> None:
    assert (
        shown(PROSE, 80, "end") == f"{GAP}The hut has a telephone that is painted on a stone! Nobody called. The end."
    )


def test_without_a_match_the_beginning_is_shown() -> None:
    assert shown(PROSE, 50, "sea") == f"The path begins behind the factory. It does not{GAP}"
    assert shown(PROSE, 1000, "sea") == PROSE


def test_a_sentence_that_is_too_long_is_cut_between_words() -> None:
    text = "and so " * 30 + "came the otter " + "and so on " * 30
    assert shown(text, 50, "otter") == f"{GAP}so and so came the otter and so on and so on and{GAP}"


def test_text_without_spaces_is_cut_anywhere() -> None:
    assert shown("\u6e2f" * 100 + "\u76d0\u7530" + "\u6e2f" * 100, 21, "\u76d0\u7530").count("\u76d0\u7530") == 1


@given(
    st.text(st.sampled_from("ab .!\n\u3002\u6e2f"), max_size=300),
    st.sets(st.sampled_from(["a", "b", "ab", "ba", "bb"])),
    st.integers(1, 120),
    st.data(),
)
def test_what_is_shown_fits_and_holds_the_most_it_can(
    text: str, words: set[str], max_chars: int, data: st.DataObject
) -> None:
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    found = find_marks(text, (start, end), dict.fromkeys(words, 1.0), lambda word: [word])
    first, last = cut_around(text, (start, end), max_chars, found)
    assert start <= first <= last <= end
    assert len(quoted(text, (start, end), (first, last))) <= max_chars
    assert (first, last) == (start, end) or end - start > max_chars
    if max_chars >= TINY:
        inside = {mark.stem for mark in found if first <= mark.start and mark.end <= last}
        for mark in found:
            room = [near.stem for near in found if mark.start <= near.start and near.end <= mark.start + max_chars - 2]
            assert len(inside) >= len(set(room))
