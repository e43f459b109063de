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

from memory_core.calibration import DEFAULT
from memory_core.records import Chunk
from memory_core.settings import Chunking
from memory_qmd.collections import slugs
from memory_qmd.config import DIRECT_CHATS_ONLY, QmdConfig, seconds
from memory_qmd.meaning import AGREEMENT, Judge, Scale, unblended
from memory_qmd.output import Counts, Row, UnreadableOutput, parse_counts, parse_rows, parse_version, rows_of
from memory_qmd.passages import Finder, Found, Passage
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
    question = prepare(text, words_of(text), counts, 10)
    return Finder(question, Chunking(), Judge(question, "words", DEFAULT, chunks=100))


def passage_of(asked: Finder, text: str, *, line: int | None, max_chars: int) -> tuple[Found, Passage] | None:
    found = asked.find(text, line=line, title="a.md", told=None)
    return None if found is None else (found, asked.cut(found, max_chars))


def test_a_passage_is_cut_around_the_words() -> None:
    shown = passage_of(finder("what colour is the shed"), NOTE, line=None, max_chars=45)
    assert shown is not None
    assert shown[1] == Passage(start_line=7, end_line=9, snippet="## Shed\n\nThe shed is blue. It has a gate.")


def test_without_words_the_line_decides() -> None:
    shown = passage_of(finder("Zaun"), NOTE, line=9, max_chars=45)
    assert shown is not None
    assert (shown[1].start_line, shown[1].snippet, shown[0].covered) == (
        7,
        "## Shed\n\nThe shed is blue. It has a gate.",
        0,
    )


def test_a_blank_note_has_no_passage() -> None:
    assert passage_of(finder("shed"), "\n \n", line=1, max_chars=100) is None


@given(st.text(), st.integers(1, 50) | st.none(), st.integers(50, 200))
def test_any_note_gives_a_passage_within_it(text: str, line: int | None, max_chars: int) -> None:
    text = text.replace("\r", " ")
    shown = passage_of(finder("shed fence"), text, line=line, max_chars=max_chars)
    if shown is None:
        return
    found, passage = shown
    assert 1 <= passage.start_line <= passage.end_line <= len(text.split("\n"))
    assert len(passage.snippet) <= max_chars
    assert 0 <= found.covered <= 1


def row(value: float, **evidence: float) -> Row:
    return Row(collection="c", path="p", score=value, **evidence)  # type: ignore[arg-type]


def judge(text: str, scale: Scale, *known: str) -> Judge:
    counts = dict.fromkeys(words_of(text), 0) | dict.fromkeys(known, 1)
    return Judge(prepare(text, words_of(text), counts, 10), scale, DEFAULT, chunks=100)


def chunk(text: str) -> Chunk:
    return Chunk(start_line=1, end_line=1, overlap_lines=0, context="", text=text)


@given(
    st.floats(0, 1), st.floats(-1, 1), st.integers(1, 100), st.sampled_from(["words", "explained", "cosine", "blend"])
)
def test_scores_stay_in_bounds_and_none_is_above_what_is_expected_of_its_row(
    covered: float, value: float, position: int, scale: Scale
) -> None:
    judged = judge("Who is our dog sitter?", scale)
    told = judged.told(row(value, cosine=value), position)
    meaning = judged.meaning(told, chunk("Maria walks the puppy."))
    assert 0 <= judged.whole(covered, meaning) <= judged.whole(covered, judged.meaning(told, None)) <= 1
    assert (meaning is None) == (scale == "words")
    assert meaning is None or 0 <= meaning <= 1


def test_a_place_alone_is_no_evidence() -> None:
    assert judge("fence", "words").told(row(1.0), 1) is None
    assert judge("fence", "words").whole(0.0, None) == 0
    assert judge("fence", "blend").told(row(0.75), 1) == 0  # the best of bad rows gets .75 from QMD
    assert unblended(0.75 + 0.25 * 0.9, 1) == pytest.approx(0.9)
    assert judge("fence", "explained").told(row(1.0), 1) == 0  # found by a word only


def test_strong_evidence_of_one_kind_passes_the_default_threshold() -> None:
    fence = chunk("The hedge is of beech.")
    by_cosine = judge("guitar", "explained", "guitar")
    assert by_cosine.whole(1.0, None) > 0.9
    assert by_cosine.whole(0.0, by_cosine.meaning(by_cosine.told(row(0.2, cosine=0.6), 4), fence)) > 0.35
    by_reranker = judge("guitar", "blend")
    assert by_reranker.meaning(by_reranker.told(row(0.5, rerank=0.8), 2), fence) == 0.8
    assert by_reranker.whole(0.0, 0.8) > 0.35


def test_a_paraphrase_passes_by_the_passage_where_the_cosine_of_its_file_is_low() -> None:
    judged = judge("Which car parts were replaced?", "explained", "parts")
    told = judged.told(row(0.3, cosine=0.27), 3)
    assert told is not None
    assert judged.whole(0.0, told * AGREEMENT) < 0.35
    found = chunk("The mechanic fitted new brake pads to the vehicle and replaced a tyre of the automobile.")
    other = chunk("Lunch with the customer: lentil curry and rice.")
    assert judged.whole(0.0, judged.meaning(told, other)) < 0.35 < judged.whole(0.0, judged.meaning(told, found))


def test_words_that_nobody_knows_count_for_less() -> None:
    strange, known = judge("zxqvia brflot", "explained"), judge("zxqvia brflot", "explained", "zxqvia")
    text = chunk("Zxqvi brflo tzx qvia.")
    as_known, as_strange = known.meaning(0.0, text), strange.meaning(0.0, text)
    assert as_known is not None
    assert as_strange is not None
    assert as_strange < as_known


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
