"""The parts that run nothing: reading output, making queries, slugs, passages, scores, durations."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from memory_core.settings import Chunking
from memory_qmd.collections import slugs
from memory_qmd.config import DIRECT_CHATS_ONLY, QmdConfig, seconds
from memory_qmd.output import Counts, Row, UnreadableOutput, parse_counts, parse_rows, parse_version, rows_of
from memory_qmd.passages import Finder, score, unblended
from memory_qmd.plugin import PLUGIN
from memory_qmd.questions import MAX_WORDS, document, plain, prepare, typed, words_of

ROW = {"docid": "#1", "score": 0.5, "file": "qmd://notes-main/a b/c.md", "line": 3, "title": "t", "snippet": "s"}
JSON_VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


def test_a_row_is_read() -> None:
    assert parse_rows(json.dumps([ROW]).encode()) == [
        Row(collection="notes-main", path="a b/c.md", score=0.5, line=3, snippet="s")
    ]


@pytest.mark.parametrize("text", ["", "nothing", "{}", "3", '["a"]', "[1]", "[{]"])
def test_what_is_no_list_of_rows_is_refused(text: str) -> None:
    with pytest.raises(UnreadableOutput):
        parse_rows(text.encode())


@pytest.mark.parametrize("text", ["[]", "No results found.", "\x1b[2KNo results found.\n", "warming up\n[]\n"])
def test_no_hits(text: str) -> None:
    assert parse_rows(text.encode()) == []


@pytest.mark.parametrize(
    "file", [None, 3, "a.md", "qmd://", "qmd://only", "qmd://x/", "qmd://x/\ud800.md", "qmd://x/\0.md"]
)
def test_rows_without_a_file_are_left_out(file: object) -> None:
    assert parse_rows(json.dumps([{"file": file}, ROW]).encode()) == parse_rows(json.dumps([ROW]).encode())


def test_evidence_is_read() -> None:
    explain = {"vectorScores": [0.2, 0.7, None], "rerankScore": 0.9}
    (row,) = parse_rows(json.dumps([{**ROW, "explain": explain}]).encode())
    assert (row.cosine, row.rerank) == (0.7, 0.9)


@given(st.lists(JSON_VALUES) | JSON_VALUES, st.text(), st.text())
def test_any_output_is_rows_or_refused(value: Any, before: str, after: str) -> None:
    noisy = f"{before}\n{json.dumps(value)}\n{after}".encode(errors="replace")
    try:
        rows = parse_rows(noisy)
    except UnreadableOutput:
        return
    for row in rows:
        assert row.collection
        assert row.path.encode()


@given(st.binary())
def test_any_bytes_are_rows_or_refused(data: bytes) -> None:
    with contextlib.suppress(UnreadableOutput):
        parse_rows(data)
    parse_version(data)
    parse_counts(data)


@given(st.fixed_dictionaries({}, optional=dict.fromkeys(("score", "line", "snippet", "explain"), JSON_VALUES)))
def test_odd_fields_become_defaults(fields: dict[str, Any]) -> None:
    (row,) = rows_of({"results": [{"file": "qmd://n/a%20b.md", **fields}]})
    assert row.path == "a b.md"
    assert row.line is None or row.line > 0
    assert abs(row.score) < 1e9


def test_the_server_must_give_results() -> None:
    with pytest.raises(UnreadableOutput):
        rows_of({"error": "no"})


def test_counts_are_summed_over_collections() -> None:
    text = "Indexed: 1 new, 0 updated, 2 unchanged, 0 removed\n\x1b[2KIndexed: 3 new, 1 updated, 0 unchanged, 4 removed"
    assert parse_counts(text.encode()) == Counts(new=4, updated=1, unchanged=2, removed=4)


@pytest.mark.parametrize(
    ("text", "version"), [("qmd 2.8.3 (facd35e)", (2, 8, 3)), ("qmd 0.9.0", (0, 9, 0)), ("help", ())]
)
def test_versions(text: str, version: tuple[int, ...]) -> None:
    assert parse_version(text.encode()) == version


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("lex: vec: a", "a"),
        ("  INTENT : a", "a"),
        ("-a --b c-d", "a b c-d"),
        ('say "no"\nnow', "say no now"),
        ("\x00\u2028a", "a"),
        ("expand: a", "a"),
    ],
)
def test_syntax_is_taken_out(text: str, left: str) -> None:
    assert plain(text) == left


@given(st.text())
def test_a_document_has_one_typed_line_a_word(text: str) -> None:
    question = prepare(text, words_of(text), {}, 10)
    lines = typed(question, by_meaning=False)
    assert len(lines) <= MAX_WORDS
    for (kind, word), line in zip(lines, document(lines).split("\n"), strict=bool(lines)):
        assert kind == "lex"
        assert line == f"lex: {word}"
        assert len(word.split()) == 1
        assert not word.startswith(("-", '"'))
    first = plain(text)[:1]
    assert first not in {"-", '"', " "} or first == ""


def test_rare_words_and_whole_identifiers_lead() -> None:
    text = "Which commit fixed PRS-2209 in the gateway?"
    words = words_of(text)
    counts = {"commit": 9, "fixed": 4, "prs": 1, "2209": 1, "gateway": 6}
    lines = typed(prepare(text, words, counts, 20), by_meaning=True)
    assert lines[0] == ("vec", text)
    assert [word for _, word in lines[1:]] == ["PRS-2209", "prs", "2209", "fixed", "gateway", "commit"]


def test_words_that_are_nowhere_are_not_asked_for_but_count() -> None:
    question = prepare("green giraffe", ["green", "giraffe"], {"green": 1, "giraffe": 0}, 5)
    assert question.known == ("green",)
    assert question.weights[1] > question.weights[0]


@pytest.mark.parametrize(
    ("path", "slug"),
    [
        ("Weekly Plan_v1.2.md", "weekly-plan-v1-2.md"),
        ("MEMORY.md", "memory.md"),
        ("A & B/c;d.md", "a-b/c-d.md"),
        ("日本 ノート.md", "日本-ノート.md"),
        ("a___b.md", "a/b.md"),
        ("note😀.md", "note1f600.md"),
        ("note😀.md", "note.md"),
        ("$route.md", "$route.md"),
        ("projects/-x-.md", "projects/x.md"),
    ],
)
def test_slugs(path: str, slug: str) -> None:
    assert slug in slugs(path)


@given(st.text(st.characters(exclude_characters="/\0"), min_size=1).map(lambda name: f"{name}.md"))
def test_slugs_of_slugs_are_themselves(name: str) -> None:
    for slug in slugs(name):
        if not slug.startswith("."):
            assert slug in slugs(slug)


NOTE = "# Garden\n\n## Fence\n\nThe fence is of oak.\n\n## Shed\n\nThe shed is blue. It has a gate.\n"


def finder(text: str, **counts: int) -> Finder:
    return Finder(prepare(text, words_of(text), counts, 10), Chunking())


def test_a_passage_is_cut_around_the_words() -> None:
    passage = finder("what colour is the shed").find(NOTE, line=None, title="garden.md", max_chars=40)
    assert passage is not None
    assert (passage.start_line, passage.end_line, passage.snippet) == (9, 9, "The shed is blue. It has a gate.")


def test_without_words_the_line_decides() -> None:
    passage = finder("Zaun").find(NOTE, line=5, title="garden.md", max_chars=20)
    assert passage is not None
    assert (passage.start_line, passage.snippet, passage.covered) == (5, "The fence is of oak.", 0)


def test_a_blank_note_has_no_passage() -> None:
    assert finder("shed").find("\n \n", line=1, title="a.md", max_chars=100) is None


@given(st.text(), st.integers(1, 50) | st.none(), st.integers(50, 200))
def test_any_note_gives_a_passage_within_it(text: str, line: int | None, max_chars: int) -> None:
    text = text.replace("\r", " ")
    passage = finder("shed fence").find(text, line=line, title="a.md", max_chars=max_chars)
    if passage is None:
        return
    assert 1 <= passage.start_line <= passage.end_line <= len(text.split("\n"))
    assert len(passage.snippet) <= max_chars
    assert 0 <= passage.covered <= 1


def row(value: float, **evidence: float) -> Row:
    return Row(collection="c", path="p", score=value, **evidence)  # type: ignore[arg-type]


@given(st.floats(0, 1), st.floats(-1, 1), st.integers(1, 100), st.sampled_from(["rank", "cosine", "blend"]))
def test_scores_stay_in_bounds(covered: float, value: float, position: int, scale: Any) -> None:
    whole, vector, words = score(covered, row(value), position, scale)
    assert 0 <= whole <= 1
    assert 0 <= words <= 1
    assert vector is None or 0 <= vector <= 1


def test_rank_alone_is_no_evidence() -> None:
    assert score(0.0, row(1.0), 1, "rank")[0] == 0
    assert score(0.0, row(0.75), 1, "blend")[0] == 0  # the best of bad rows gets .75 from QMD
    assert unblended(0.75 + 0.25 * 0.9, 1) == pytest.approx(0.9)


def test_strong_evidence_passes_the_default_threshold() -> None:
    assert score(1.0, row(0.2), 3, "rank")[0] > 0.9
    assert score(0.0, row(1.0, cosine=0.6), 1, "rank")[0] > 0.35
    assert score(0.0, row(0.5, rerank=0.8), 2, "blend")[0] > 0.35
    assert score(0.0, row(0.29), 1, "cosine")[0] < 0.35 < score(0.0, row(0.31), 1, "cosine")[0]


@pytest.mark.parametrize(
    ("text", "value"), [("5m", 300), ("90s", 90), ("1.5h", 5400), ("500ms", 0.5), ("2d", 172800), ("0", 0)]
)
def test_durations(text: str, value: float) -> None:
    assert seconds(text) == value


@pytest.mark.parametrize(
    "section",
    [
        '{"update": {"interval": "soon"}}',
        '{"searchmode": "search"}',
        '{"limits": {"maxResults": 0}}',
        '{"searchMode": "best"}',
    ],
)
def test_the_section_is_strict(section: str) -> None:
    with pytest.raises(ValidationError):
        TypeAdapter(QmdConfig).validate_json(section)


def test_the_section_in_full() -> None:
    section = {
        "command": "~/bin/qmd",
        "searchMode": "vsearch",
        "includeDefaultMemory": False,
        "paths": [{"path": "~/notes", "name": "notes", "pattern": "**/*.md"}],
        "sessions": {"enabled": True, "retentionDays": 30, "exportDir": "out"},
        "update": {
            "interval": "1m",
            "debounceMs": 1,
            "onBoot": False,
            "embedInterval": "0",
            "commandTimeoutMs": 1,
            "updateTimeoutMs": 1,
            "embedTimeoutMs": 1,
        },
        "limits": {"maxResults": 3, "maxSnippetChars": 100, "maxInjectedChars": 200, "timeoutMs": 50},
        "scope": {"default": "allow"},
        "daemon": {"enabled": True},
    }
    found = TypeAdapter(QmdConfig).validate_json(json.dumps(section))
    assert (found.search_mode, found.sessions.retention_days, found.limits.timeout_ms) == ("vsearch", 30, 50)
    assert QmdConfig().scope is DIRECT_CHATS_ONLY


def test_the_plugin_names_its_section() -> None:
    assert PLUGIN.settings is not None
    assert PLUGIN.settings() is QmdConfig
    assert PLUGIN.scope is not None
    assert PLUGIN.scope(QmdConfig()) is DIRECT_CHATS_ONLY


def test_importing_the_plugin_loads_nothing_heavy() -> None:
    code = (
        "import sys, memory_qmd.plugin; print([m for m in ('pydantic', 'numpy', 'apsw', 'http') if m in sys.modules])"
    )
    root = Path(__file__).parents[2]
    printed = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True).stdout
    assert printed.strip() == "[]"
