"""Chunks quote the note, leave nothing out, keep to the size, and stay put when the note changes elsewhere."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_core.config.settings import Chunking
from memory_core.records import Chunk
from memory_core.text.chunks import split_chunks
from memory_core.text.markdown import TABLE, Line, is_delimiter, scan, split_lines
from memory_core.text.tokens import estimate_tokens
from tests.growth import MOST_GROWTH, measure_growth

WORDS = "deploy rollback staging ticket database 部署 回滚 ingress café naïve 🦊 会議".split()  # noqa: SIM905

words = st.lists(st.sampled_from(WORDS), min_size=1, max_size=12).map(" ".join)
lines = st.lists(words, min_size=1, max_size=5)


def fenced(body: list[str]) -> list[str]:
    return ["```sh", *(f"# {line}" for line in body), "", "done", "```"]


blocks = st.one_of(
    st.tuples(st.integers(1, 6), words).map(lambda pair: [f"{'#' * pair[0]} {pair[1]}"]),
    lines,
    lines.map(lambda body: [f"- {line}" for line in body]),
    lines.map(lambda body: [f"- {body[0]}", *(f"  {line}" for line in body[1:])]),
    lines.map(lambda body: [f"- {body[0]}", *(f"  - {line}" for line in body[1:]), "  ```", *body, "  ```"]),
    lines.map(lambda body: ["| a | b |", "|---|---|", *(f"| {line} | x |" for line in body)]),
    lines.map(fenced),
    st.integers(100, 900).map(lambda length: ["x" * length]),
    words.map(lambda text: [text * 20]),
    st.integers(1, 4).map(lambda count: [""] * count),
)
notes = st.tuples(st.lists(st.tuples(blocks, st.booleans()), max_size=14), st.sampled_from(["\n", "\r\n"])).map(
    lambda drawn: drawn[1].join(line for block, spaced in drawn[0] for line in (*block, *[""] * spaced))
)
chunkings = st.integers(8, 150).flatmap(
    lambda tokens: st.integers(0, tokens // 2).map(lambda overlap: Chunking(tokens=tokens, overlap=overlap))
)


def is_piece(chunk: Chunk, note: list[str], chunking: Chunking) -> bool:
    """Return True if a chunk is part of a line that is too long alone."""
    return estimate_tokens(note[chunk.end_line - 1]) > chunking.tokens


@given(notes, chunkings)
def test_chunks_quote_the_note(text: str, chunking: Chunking) -> None:
    note = split_lines(text)
    for chunk in split_chunks(text, chunking):
        if is_piece(chunk, note, chunking):
            assert chunk.start_line == chunk.end_line
            assert chunk.text in note[chunk.start_line - 1]
        else:
            assert chunk.text == "\n".join(note[chunk.start_line - 1 : chunk.end_line])


@given(notes, chunkings)
def test_chunks_leave_nothing_out(text: str, chunking: Chunking) -> None:
    note = split_lines(text)
    chunks = split_chunks(text, chunking)
    for number, line in enumerate(note, 1):
        bodies = [chunk for chunk in chunks if chunk.start_line + chunk.overlap_lines <= number <= chunk.end_line]
        if estimate_tokens(line) > chunking.tokens:
            assert "".join("".join(piece.text.split()) for piece in bodies) == "".join(line.split())
        elif line.strip():
            assert len(bodies) == 1


@given(notes, chunkings)
def test_chunks_keep_to_the_size(text: str, chunking: Chunking) -> None:
    for chunk in split_chunks(text, chunking):
        assert chunk.text.strip()
        assert estimate_tokens(chunk.text) <= chunking.tokens


@given(notes, chunkings)
def test_line_numbers_only_grow(text: str, chunking: Chunking) -> None:
    note = split_lines(text)
    chunks = split_chunks(text, chunking)
    for before, after in pairwise(chunks):
        assert before.start_line <= after.start_line
        assert before.end_line < after.start_line + after.overlap_lines or is_piece(after, note, chunking)
        assert before.end_line < after.end_line or is_piece(after, note, chunking)


@given(notes, chunkings)
def test_overlap_repeats_lines_of_the_same_section(text: str, chunking: Chunking) -> None:
    note = split_lines(text)
    kinds = scan(note)
    for chunk in split_chunks(text, chunking):
        first = chunk.start_line - 1
        repeated = slice(first, first + chunk.overlap_lines)
        assert estimate_tokens("\n".join(note[repeated])) <= chunking.overlap
        assert Line.HEADING not in kinds[repeated]


def whole_fences(note: list[str]) -> Iterator[tuple[int, int]]:
    """First and last lines, from 1, of the fences of a note that are closed."""
    opened = 0
    for number, kind in enumerate(scan(note), 1):
        if kind is Line.OPEN:
            opened = number
        elif kind is Line.CLOSE:
            yield opened, number


@given(notes, chunkings)
def test_a_fence_that_fits_is_whole(text: str, chunking: Chunking) -> None:
    note = split_lines(text)
    chunks = split_chunks(text, chunking)
    for first, last in whole_fences(note):
        if estimate_tokens("\n".join(note[first - 1 : last])) <= chunking.tokens:
            assert any(chunk.start_line <= first and last <= chunk.end_line for chunk in chunks)


@given(notes, chunkings)
def test_every_chunk_knows_the_fence_or_table_it_begins_in(text: str, chunking: Chunking) -> None:
    lines = split_lines(text)
    kinds = scan(lines)
    for chunk in split_chunks(text, chunking):
        at = chunk.start_line + chunk.overlap_lines - 1
        row = TABLE if kinds[at] is Line.ROW and not is_delimiter(lines[at]) else ""
        # A row that is too long for one chunk is cut like any line.
        assert chunk.fence in ({"```"} if kinds[at] in {Line.CODE, Line.CLOSE} else {row, ""})


@given(notes, chunkings)
def test_the_same_note_gives_the_same_chunks(text: str, chunking: Chunking) -> None:
    assert split_chunks(text, chunking) == split_chunks(text.replace("\r\n", "\n"), chunking)


@given(st.text(), chunkings)
def test_any_text_can_be_cut(text: str, chunking: Chunking) -> None:
    kept = "".join(
        "".join(chunk.text.split()) for chunk in split_chunks(text, Chunking(tokens=chunking.tokens, overlap=0))
    )
    assert kept == "".join(text.split())


def long_note(headings: bool) -> list[str]:
    words = random.Random(7)
    note = []
    for number in range(2000):
        text = " ".join(f"w{words.randrange(3000)}" for _ in range(words.randint(5, 30)))
        note.append(f"## h{number}" if headings and number % 60 == 0 else f"- {text}")
    return note


@pytest.mark.parametrize("headings", [True, False])
@pytest.mark.parametrize(
    "edit",
    [
        lambda note: ["- " + "word " * 150, *note],
        lambda note: [*note[:1000], "- changed", *note[1001:]],
        lambda note: [*note[:500], *note[503:]],
    ],
    ids=["long line at the top", "line changed", "lines deleted"],
)
def test_an_edit_changes_few_chunks(edit: object, headings: bool) -> None:
    assert callable(edit)
    note = long_note(headings)
    before = {chunk.text for chunk in split_chunks("\n".join(note), Chunking())}
    after = {chunk.text for chunk in split_chunks("\n".join(edit(note)), Chunking())}
    assert len(before) > 100
    assert len(after - before) <= 6


def test_headings_open_chunks_when_these_are_half_full() -> None:
    section = ["", "line of twenty tokens " * 4, ""]
    note = "\n".join(line for name in "ABCDEF" for line in (f"## {name}", *section))
    chunks = split_chunks(note, Chunking(tokens=60, overlap=0))
    assert [chunk.text.count("##") for chunk in chunks] == [2, 2, 2]
    assert all(chunk.text.startswith("## ") for chunk in chunks)


def test_a_short_note_is_one_chunk() -> None:
    note = "# Monday\n\n## 09:00\n\n- coffee\n\n## 10:00\n\n- tea\n"
    (chunk,) = split_chunks(note, Chunking())
    assert (chunk.start_line, chunk.end_line, chunk.overlap_lines) == (1, 9, 0)


def test_a_heading_inside_a_fence_is_none() -> None:
    code = "\n".join(f"# comment number {i}" for i in range(20))
    note = f"# Real\n\n{'text ' * 40}\n\n```sh\n{code}\n```\n\nafter\n"
    chunks = split_chunks(note, Chunking(tokens=130, overlap=0))
    assert [chunk.context for chunk in chunks] == ["Real"] * len(chunks)
    assert any(code in chunk.text for chunk in chunks)


def test_tables_and_list_items_stay_whole() -> None:
    table = "| k | v |\n|---|---|\n" + "\n".join(f"| key {i} | value {i} |" for i in range(10))
    item = "- first line of an item\n" + "\n".join(f"  continued {i}" for i in range(12))
    note = f"{'intro ' * 30}\n\n{table}\n\n{'middle ' * 25}\n\n{item}\n- next\n"
    chunks = split_chunks(note, Chunking(tokens=80, overlap=0))
    assert len(chunks) > 2
    assert any(table in chunk.text for chunk in chunks)
    assert any(item in chunk.text for chunk in chunks)


@pytest.mark.parametrize(
    "sentence", ["The pump of house {} was set to {} litres, says the log.", "第{}号泵房记录，今天调到{}升。"]
)
def test_pieces_of_a_long_line_hold_whole_sentences(sentence: str) -> None:
    sentences = [sentence.format(house, 3 * house) for house in range(100)]
    line = (" " if sentence.isascii() else "").join(sentences)
    pieces = split_chunks(line, Chunking(tokens=120, overlap=20))
    assert len(pieces) > 5
    assert all(sum(sentence in piece.text for piece in pieces) == 1 for sentence in sentences)


def test_the_context_is_date_title_and_trail() -> None:
    filler = "words and more words " * 8
    note = f"{filler}\n\n# Deploys\n\n{filler}\n\n## Rollback ##\n\n{filler}\n\n# 2026-01-12\n\n{filler}\n"
    chunks = split_chunks(note, Chunking(tokens=50, overlap=0), date="2026-01-12", title="ops")
    assert [chunk.context for chunk in chunks] == [
        "2026-01-12 > ops",
        "2026-01-12 > ops > Deploys",
        "2026-01-12 > ops > Deploys > Rollback",
        "2026-01-12 > ops",
    ]


@pytest.mark.parametrize("text", ["", "\n\n", " \t\r\n", " " * 10_000])
def test_a_blank_note_has_no_chunks(text: str) -> None:
    assert split_chunks(text, Chunking()) == []


@pytest.mark.parametrize("line", ["x" * 1_000_000, "word " * 200_000, "漢" * 300_000, "a漢" * 200_000])
def test_a_huge_line_is_cut_fast(line: str) -> None:
    assert measure_growth(lambda length: split_chunks(line[:length], Chunking()), len(line)) < MOST_GROWTH
    chunks = split_chunks(f"before\n{line}\nafter", Chunking())
    assert {chunk.start_line for chunk in chunks[1:-1]} == {2}
    assert "".join(chunk.text for chunk in chunks[1:-1]).strip() == line.strip()
