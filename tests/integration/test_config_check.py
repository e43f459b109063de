"""`memory-core config check`: one line an error, with the path of the key."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.command import Command

WRONG = """{
  plugins: {slots: {memory: 5}},
  memory: {
    backend: "qmd",
    citation: "on",
    scope: {rules: [{action: "maybe"}]},
    qmd: {searchMode: "telepathy", limits: {maxResult: 3}},
  },
  agents: {
    defaults: {memorySearch: {query: {maxResults: 0, minScore: "high"}, chunking: {tokens: 50, overlap: 50}}},
    list: [{id: "../x"}, {id: "a", memorySearch: {remote: {apiKey: 5}}}],
  },
}
"""


@pytest.fixture
def wrong(tmp_path: Path) -> Path:
    path = tmp_path / "host.json5"
    path.write_text(WRONG)
    return path


def test_every_error_is_one_line_with_the_keys_path(command: Command, wrong: Path) -> None:
    shown = command("config", "check", str(wrong))
    assert (shown.code, shown.out) == (2, "")
    lines = shown.err.splitlines()
    assert all(line.startswith(f"memory-core: {wrong}: ") for line in lines)
    keys = [line.removeprefix(f"memory-core: {wrong}: ").split(": ")[0] for line in lines]
    assert keys == [
        "plugins.slots.memory",
        "memory.citation",
        "memory.scope.rules[0].action",
        "agents.defaults.memorySearch.query.maxResults",
        "agents.defaults.memorySearch.query.minScore",
        "agents.defaults.memorySearch.chunking.overlap",
        "agents.list[0].id",
        "agents.list[1].memorySearch.remote.apiKey",
    ]


def test_the_sections_of_backends_are_checked_by_their_own_models(command: Command, tmp_path: Path) -> None:
    path = tmp_path / "host.json5"
    for backend in ("qmd", "builtin"):  # chosen or not
        path.write_text(
            f'{{memory: {{backend: "{backend}", qmd: {{searchMode: "telepathy", limits: {{maxResult: 3}}}}}}}}'
        )
        shown = command("config", "check", str(path))
        assert shown.code == 2
        first, second = sorted(shown.err.splitlines())
        assert 'memory.qmd.limits.maxResult: unknown key; did you mean "maxResults"?' in first
        assert 'memory.qmd.searchMode: expected one of "search", "vsearch", "query"' in second
    path.write_text("{memory: {qmd: {searchMode: 'vsearch'}, unknown: {}}}")
    assert "memory.unknown: unknown key" in command("config", "check", str(path)).error


def test_a_wrong_section_of_the_chosen_backend_stops_every_command(command: Command, tmp_path: Path) -> None:
    path = tmp_path / "host.json5"
    path.write_text('{memory: {backend: "qmd", qmd: {searchMode: "telepathy"}}}')
    for words in (("search", "x"), ("status",), ("index",), ("get", "MEMORY.md")):
        shown = command(*words, "--config", str(path))
        assert shown.code == 2
        assert "memory.qmd.searchMode" in shown.error


@pytest.mark.parametrize("text", ["{", "[]", "{a: 1", "\x00"])
def test_what_is_no_configuration_at_all_is_one_line(command: Command, tmp_path: Path, text: str) -> None:
    path = tmp_path / "host.json5"
    path.write_text(text)
    shown = command("config", "check", str(path))
    assert shown.code == 2
    assert str(path) in shown.error


def test_a_right_file_is_explained(command: Command, tmp_path: Path) -> None:
    path = tmp_path / "host.json5"
    path.write_text('{memory: {citations: "on"}}')
    shown = command("config", "check", str(path))
    assert (shown.code, shown.err) == (0, "")
    assert "memory.citations" in shown.out
    assert "json5" in shown.out


def test_a_backend_that_nobody_offers_is_told_of(command: Command, tmp_path: Path) -> None:
    path = tmp_path / "host.json5"
    path.write_text('{memory: {backend: "qdm"}}')
    shown = command("config", "check", str(path))
    assert shown.code == 0
    assert shown.error == (
        "memory-core: backend 'qdm': no installed package offers it; installed are builtin, qmd; builtin answers instead."
    )
    assert len(command("config", "check", str(path), "--json").json["warnings"]) == 1


def test_errors_are_also_told_as_json(command: Command, tmp_path: Path) -> None:
    path = tmp_path / "host.json5"
    path.write_text('{memory: {backnd: "qmd"}}')
    shown = command("config", "check", str(path), "--json")
    assert (shown.code, len(shown.err.splitlines())) == (2, 1)
    assert shown.json == {"origin": str(path), "problems": ['memory.backnd: unknown key; did you mean "backend"?']}


def pairs(shown: str) -> dict[str, str]:
    return {name: value.strip() for name, _, value in (line.partition("  ") for line in shown.splitlines()) if value}


def test_what_a_dialect_changes_is_shown(command: Command) -> None:
    shown = command(
        "config", "check", "tests/data/configs/orbit.toml", environment={"MEMORY_CORE_PROVIDER": "openrouter"}
    )
    assert (shown.code, shown.err) == (0, "")
    told = pairs(shown.out)
    assert told["dialect"] == "orbit  (file)"
    assert told["tools"] == "search_memory, get_memory, memory_append  (dialect)"
    assert told["get_memory.lines"] == "50  (dialect)"
    assert told["memorySearch.sources"] == "memory, workspace  (dialect)"
    assert told["memorySearch.query.maxSnippetChars"] == "700  (file: embedding.search.snippet_length)"
    ours = pairs(command("config", "check", "tests/data/configs/moltbot-hybrid.json5").out)
    assert ours["tools"] == "memory_search, memory_get, memory_append  (default)"
    assert "memory_get.lines" not in ours


def test_a_memory_that_is_off_is_told(command: Command) -> None:
    shown = command("config", "check", "tests/data/configs/orbit-off.toml")
    assert (shown.code, pairs(shown.out)["memorySearch.enabled"]) == (0, "no  (dialect)")
    assert "tools" not in pairs(shown.out)
    assert shown.error == (
        "memory-core: memory is off for this agent: the file has no table [embedding]; add [embedding] to the file."
    )
