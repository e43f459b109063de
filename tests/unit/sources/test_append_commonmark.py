"""Text that is appended to a note parses as it would alone, and changes nothing above it; markdown-it-py is the judge."""

from __future__ import annotations

import tempfile
from itertools import count, pairwise
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from memory_core.sources.writer import append
from memory_core.text.paragraphs import scan_blocks

JUDGE = MarkdownIt("commonmark")
NOTE = "MEMORY.md"
LATER = "What came later."
LINES = (
    "a", "b c", "", "", "- a", "  b", "   c", "    code", "     x", "1. a", "2. b", "10) z", "-", "*", "> q", ">",
    "> ```", "- ```", "  ```", "```", "````", "~~~", "    ```", "   ```", "``` x `y`", "```js", "# h", "#", "---",
    "===", "- - -", "***", "<!-- x", "-->", "x -->", "<!-- x -->", "<pre>", "</pre>", "<script a", "</script>",
    "<style>", "</textarea>", "<?php", "?>", "<!DOCTYPE", "<!d >", "<![CDATA[", "]]>", "<div>", "</div>", "<a b='c'>",
    "<b> x", "> <!-- x", "- <pre>", "  </pre>", "\tcode", "-\ttab", "  - nested", "    - deep", "> - a", ">   b",
    "- > q", "  > r", "-     five", "1.  two", " ```", " - x", "> > a", "-    four",
)  # fmt: skip
TEXTS = st.lists(st.sampled_from(LINES), min_size=1, max_size=7).map("\n".join)


def leaves(text: str) -> list[tuple[str, str]]:
    """The blocks that hold text, with it."""
    kinds = {"inline", "fence", "code_block", "html_block", "hr"}
    tokens = JUDGE.parse(text)
    found = [
        (tokens[i - 1].type if token.type == "inline" else token.type, token.content.strip("\n"))
        for i, token in enumerate(tokens)
        if token.type in kinds
    ]
    return [leaf for leaf in found if leaf != ("html_block", "<!-- -->")]


def appended(before: bytes, *texts: str) -> str:
    """The note after these calls; asserts that they only append."""
    with tempfile.TemporaryDirectory() as folder:
        workspace = Path(folder, "workspace")
        workspace.mkdir()
        note = workspace / NOTE
        note.write_bytes(before)
        for text in texts:
            held = note.read_bytes()
            append(text, path=NOTE, workspace=workspace, state_dir=Path(folder, "state"))
            assert note.read_bytes().startswith(held)
        return note.read_bytes().decode()


def assert_apart(before: str, text: str) -> None:
    note = appended(before.encode(), text, LATER)
    own, alone, found = leaves(before or "# Memory"), leaves(text.strip("\n")), leaves(note)
    assert found.pop() == ("paragraph_open", LATER)
    assert_same(found[: len(own)], own)
    added, lines = words(text), {line.strip() for line in text.split("\n")}
    if len(set(added)) == len(added) and not lines & {
        line.strip() for line in before.split("\n")
    }:  # nothing is skipped
        assert_same(found[len(own) :], alone)


def words(text: str) -> list[str]:
    return [line.strip() for line in text.split("\n") if line.strip()]


def assert_same(found: list[tuple[str, str]], expected: list[tuple[str, str]]) -> None:
    """Equal, but that HTML may have got its end."""
    assert [kind for kind, _ in found] == [kind for kind, _ in expected]
    for (kind, text), (_, wanted) in zip(found, expected, strict=True):
        assert text == wanted or (kind == "html_block" and text.startswith(wanted))


@pytest.mark.parametrize(
    ("before", "text"),
    [
        ("An example:\n\n    ```\n    code\n", "Words."),
        ("- item\n  ```\n  code\n", "Words."),
        ("```\ncode", "Words."),
        ("~~~~ x\n```\n", "Words."),
        ("<!-- draft", "Words."),
        ("<pre>\n\ntext", "Words."),
        ("Words.", "<!-- hidden"),
        ("Words.", "<pre>\n\nx"),
        ("Words.", "<script>\n\nlet x"),
        ("Words.", "<![CDATA[\n\nx"),
        ("Words.", "<?php\n\nx"),
        ("Words.", "<!DOCTYPE html"),
        ("Words.", "    ```\n    code"),
        ("Words.", "- ```\n  code\n\n  more"),
        ("- item", "    code of its own"),
        ("1. item\n\n   more", "   words"),
        ("    code", "    other code"),
        ("<!-- a\n\nb -->", "<!-- c\n\nb -->"),
    ],
)
def test_nothing_is_swallowed(before: str, text: str) -> None:
    assert_apart(before, text)


@settings(max_examples=300, deadline=None)
@given(TEXTS, TEXTS)
@example("a", "# h\n# h")  # the second is skipped, as a heading that stands there
def test_a_note_and_what_is_appended_parse_as_they_would_alone(before: str, text: str) -> None:
    if text.strip():
        assert_apart(before, text)


@settings(max_examples=1000)
@given(TEXTS)
def test_a_block_is_open_exactly_where_the_judge_says_so(text: str) -> None:
    closer = scan_blocks(text.split("\n")).closer
    assert ends_alone(text) is not bool(closer)
    assert ends_alone(f"{text}\n{closer}")


def ends_alone(text: str) -> bool:
    """Return True if a paragraph behind a blank line is one of its own at the top."""
    tokens = JUDGE.parse(f"{text}\n\n{LATER}")
    return any(after.content == LATER and before.level == 0 for before, after in pairwise(tokens))


@pytest.mark.parametrize("mark", [">", "- ", "> - ", "1. ", "<", "```\n", "<!--", "\t", "- a\n "])
def test_deep_nesting_takes_linear_time(mark: str) -> None:
    numbers = count()
    lines = (mark * 20_000).split("\n")
    scan_blocks([*lines, *(f"x{next(numbers)}" for _ in range(1000)), *lines])
