"""Documents as people have them: the examples of the published pages, three dialects, files that are wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jsonschema
import pytest

from memory_core.config.agent import AgentConfig
from memory_core.config.description import build_config_schema
from memory_core.config.documents import locate, read_file
from memory_core.config.fields import Secret
from memory_core.config.load import load_config
from memory_core.config.settings import ExtraPath
from memory_core.errors import ConfigError

CONFIGS = Path(__file__).parents[2] / "data" / "configs"
HOME = {"HOME": "/home/me"}
OPENAI = {"search.provider": "openai", "search.model": "text-embedding-3-small"}
HYBRID = {
    "search.query.hybrid.enabled": True,
    "search.query.hybrid.vector_weight": 0.7,
    "search.query.hybrid.text_weight": 0.3,
    "search.query.hybrid.candidate_multiplier": 4,
}
QMD = {
    "includeDefaultMemory": True,
    "update": {"interval": "5m", "debounceMs": 15000},
    "limits": {"maxResults": 6, "timeoutMs": 4000},
    "scope": {"default": "deny", "rules": [{"action": "allow", "match": {"chatType": "direct"}}]},
    "paths": [{"name": "docs", "path": "~/notes", "pattern": "**/*.md"}],
}
GGUF = "hf:ggml-org/embeddinggemma-300M-GGUF/embeddinggemma-300M-Q8_0.gguf"
# What each example says, by file; every file of the folder is here.
EXAMPLES: dict[str, dict[str, Any]] = {
    "design-plan.json5": {
        **OPENAI,
        "search.enabled": True,
        "search.fallback": "openai",
        "search.chunking.tokens": 400,
        "search.chunking.overlap": 80,
        "search.sync.on_session_start": True,
        "search.sync.on_search": True,
        "search.sync.watch": True,
        "search.sync.watch_debounce_ms": 1500,
        "search.sync.interval_minutes": 0,
        "search.query.max_results": 6,
        "search.query.min_score": 0.35,
        "store_path": Path("/home/me/.clawdbot/memory/main.sqlite"),
    },
    "moltbot-flush.json5": {
        "compaction.reserve_tokens_floor": 20000,
        "compaction.memory_flush.enabled": True,
        "compaction.memory_flush.soft_threshold_tokens": 4000,
        "compaction.memory_flush.system_prompt": "Session nearing compaction. Store durable memories now.",
        "compaction.memory_flush.prompt": "Write any lasting notes to memory/YYYY-MM-DD.md; "
        "reply with NO_REPLY if nothing to store.",
    },
    "moltbot-qmd.json5": {
        "memory.backend": "qmd",
        "memory.citations": "auto",
        "backend_sections": {"qmd": QMD},
    },
    "moltbot-extra-paths.json5": {
        "search.extra_paths": (ExtraPath(path="../team-docs"), ExtraPath(path="/srv/shared-notes/overview.md")),
    },
    "moltbot-gemini.json5": {
        "search.provider": "gemini",
        "search.model": "gemini-embedding-001",
        "search.remote.api_key": Secret("YOUR_GEMINI_API_KEY"),
    },
    "moltbot-compatible.json5": {
        **OPENAI,
        "search.remote.base_url": "https://api.example.com/v1/",
        "search.remote.api_key": Secret("YOUR_OPENAI_COMPAT_API_KEY"),
        "search.remote.headers": {"X-Custom-Header": Secret("value")},
    },
    "moltbot-endpoint-headers.json5": {
        **OPENAI,
        "search.remote.base_url": "https://api.example.com/v1/",
        "search.remote.api_key": Secret("YOUR_REMOTE_API_KEY"),
        "search.remote.headers": {"X-Organization": Secret("org-id"), "X-Project": Secret("project-id")},
    },
    "moltbot-batch.json5": {
        **OPENAI,
        "search.fallback": "openai",
        "search.remote.batch.enabled": True,
        "search.remote.batch.concurrency": 2,
        "search.sync.watch": True,
    },
    "moltbot-hybrid.json5": HYBRID,
    "moltbot-cache.json5": {"search.cache.enabled": True, "search.cache.max_entries": 50000},
    "moltbot-sessions.json5": {
        "search.experimental.session_memory": True,
        "search.sources": ("memory", "sessions"),
        "warnings": (),
    },
    "moltbot-session-deltas.json5": {
        "search.sync.sessions.delta_bytes": 100000,
        "search.sync.sessions.delta_messages": 50,
    },
    "moltbot-sqlite-vec.json5": {
        "search.store.vector.enabled": True,
        "search.store.vector.extension_path": "/path/to/sqlite-vec",
    },
    "moltbot-local.json5": {
        "search.provider": "local",
        "search.local.model_path": GGUF,
        "search.fallback": "none",
    },
    "moltbot-slot-off.json5": {"slot": "none", "enabled": False},
    "clawdbot-full.json5": {
        **OPENAI,
        **HYBRID,
        "search.enabled": True,
        "search.sources": ("memory",),
        "warnings": ('The source "sessions" is left out: it needs memorySearch.experimental.sessionMemory.',),
        "search.fallback": "local",
        "search.remote.base_url": "https://api.openai.com/v1",
        "search.remote.api_key": Secret("sk-..."),
        "search.remote.headers": {},
        "search.remote.batch.poll_interval_ms": 5000,
        "search.remote.batch.timeout_minutes": 10,
        "search.local.model_path": "hf:BAAI/bge-small-en-v1.5-gguf",
        "store_path": Path("/home/me/nexus/state/memory/main.sqlite"),
        "search.store.vector.extension_path": None,
        "search.chunking.tokens": 512,
        "search.chunking.overlap": 64,
        "search.sync.watch_debounce_ms": 500,
        "search.query.max_results": 10,
        "search.query.min_score": 0.3,
        "search.cache.max_entries": 10000,
        "search.experimental.session_memory": False,
    },
    "clawdbot-entries.json5": {
        "search.enabled": True,
        "search.sources": ("memory",),
        "warnings": (),
        "dialect": "json5-entries",
    },
    "clawdbot-fallback-gemini.json5": {"search.fallback": "gemini", "search.provider": "auto"},
    "clawdbot-fallback-local.json5": {
        "search.fallback": "local",
        "search.local.model_path": "hf:BAAI/bge-small-en-v1.5-gguf",
    },
    "clawdbot-query.json5": {**HYBRID, "search.query.max_results": 10, "search.query.min_score": 0.3},
    "newer-spelling.json5": {
        "dialect": "json5-entries",
        "search.provider": "voyage",
        "workspace": CONFIGS / "notes",
        "search.extra_paths": (ExtraPath(path="../team-docs"),),
    },
    "orbit.toml": {
        "dialect": "orbit",
        "enabled": True,
        "get_lines": 50,
        "search.sources": ("memory", "workspace"),
        "search.provider": "openrouter",
        "search.model": "openai/text-embedding-3-small",
        "search.remote.api_key": Secret("sk-or-v1-..."),
        "search.chunking.tokens": 400,
        "search.chunking.overlap": 80,
        "search.sync.watch_debounce_ms": 1500,
        "search.query.max_results": 6,
        "search.query.min_score": 0.35,
        "search.query.max_snippet_chars": 700,
        "search.exclude.files": ("IDENTITY.md", "SOUL.md", "USER.md", "AGENTS.md", "TOOLS.md"),
    },
    "orbit-off.toml": {"dialect": "orbit", "enabled": False, "slot": "memory-core"},
}


def read(config: AgentConfig, attribute: str) -> Any:
    value: Any = config
    for name in attribute.split("."):
        value = getattr(value, name)
    return value


def test_every_example_is_tested() -> None:
    assert {path.name for path in CONFIGS.iterdir()} == set(EXAMPLES)


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_loads_and_is_read_back(name: str) -> None:
    config = load_config(CONFIGS / name, environ=HOME)

    assert config.origin == str(CONFIGS / name)
    assert {key: read(config.agent(), key) for key in EXAMPLES[name]} == EXAMPLES[name]


@pytest.mark.parametrize("name", [name for name in EXAMPLES if name.endswith("json5")])
def test_an_example_satisfies_the_schema(name: str) -> None:
    jsonschema.validate(read_file(CONFIGS / name), build_config_schema())


def test_the_agent_of_the_design_plan_has_its_own_provider_and_the_rest_of_the_defaults() -> None:
    peter = load_config(CONFIGS / "design-plan.json5", environ=HOME).agent("peter")

    assert (peter.search.provider, peter.search.sync.watch) == ("local", False)
    assert (peter.search.model, peter.search.sync.on_search) == (None, True)  # the defaults' model is their provider's
    assert peter.store_path == Path("/home/me/.clawdbot/memory/peter.sqlite")


def test_atlas_of_the_analysis_asks_for_sessions_without_the_experiment() -> None:
    config = load_config(CONFIGS / "clawdbot-entries.json5", environ=HOME)

    assert config.agents == ("atlas",)
    assert config.agent("atlas").search.sources == ("memory",)
    assert "sessions" in config.agent("atlas").warnings[0]


def test_the_newer_spelling_is_merged_per_agent() -> None:
    atlas = load_config(CONFIGS / "newer-spelling.json5", environ=HOME).agent("ATLAS")

    assert (atlas.agent, atlas.workspace) == ("atlas", Path("/srv/atlas"))
    assert (atlas.search.provider, atlas.search.query.max_results) == ("voyage", 3)
    assert [each.path for each in atlas.search.extra_paths] == ["../team-docs", "plans"]


def write(tmp_path: Path, text: str | bytes, name: str = "config.json5") -> Path:
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize(
    ("text", "where", "what"),
    [
        ("{\n  a: 1\n  b: 2\n}", "line 3, column 3", 'expected comma or "}", found "b"'),
        ('{\n  "a": tru,\n}', "line 2, column 11", "expected"),
        ("{ a: 1", "line 1, column 1", "unclosed object"),
        ("{ a: 1 } x", "line 1, column 10", "extra data"),
        ("// only\n{ a: 'ä😀', b: oops }", "line 2, column 15", "expected a value"),
        ("{ a: 'it\n' }", "line 1, column 6", "unclosed string"),
        ("{ a: 1 }}", "line 1", 'extra data "}"'),
        ("{ a: [1,,] }", "line 1, column 9", "stray comma"),
        ("{ a: /home }", "line 1, column 7", "stray slash"),
        ("[" * 5000, "line 1, column 33", "maximum nesting level exceeded"),
    ],
)
def test_a_syntax_error_of_json5_names_line_and_column(tmp_path: Path, text: str, where: str, what: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_config(write(tmp_path, text), environ={})

    assert where in str(caught.value)
    assert what.lower() in str(caught.value).lower()
    assert caught.value.origin == str(tmp_path / "config.json5")


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("[embedding]\nmodel = \n", "line 2, column 9: Invalid value"),
        ("[embedding]\nmodel = 'a' b", "line 2, column 13: Expected newline"),
        ("[embedding", "line 1, column 11: Expected ']'"),
        ("a = 1\na = 2\n", "Cannot overwrite a value"),
        ("a = " + "[" * 5000, "nested too deeply"),
    ],
)
def test_a_syntax_error_of_toml_names_line_and_column(tmp_path: Path, text: str, where: str) -> None:
    with pytest.raises(ConfigError, match=r"config\.toml: (line|is not TOML)") as caught:
        load_config(write(tmp_path, text, "config.toml"), environ={})

    assert where in str(caught.value)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"\xff\xfe{}", "is not UTF-8 text (byte 0)"),
        (b"[]", "expected an object at the top"),
        (b"5", "expected an object at the top"),
    ],
)
def test_a_file_that_holds_no_document_is_refused(tmp_path: Path, content: bytes, told: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_config(write(tmp_path, content), environ={})

    assert told in str(caught.value)
    assert caught.value.action


def test_a_missing_file_and_a_folder_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="the file does not exist"):
        load_config(tmp_path / "none.json5", environ={})
    with pytest.raises(ConfigError, match="is a folder"):
        load_config(tmp_path, environ={})


def test_a_byte_order_mark_and_plain_json_are_read(tmp_path: Path) -> None:
    path = write(tmp_path, '\ufeff{"memory": {"citations": "off"}}', "config.json")

    assert load_config(str(path), environ={}).agent().memory.citations == "off"


def test_position_counts_lines_and_columns_from_one() -> None:
    assert [locate("ab\nc\n", offset) for offset in range(6)] == [(1, 1), (1, 2), (1, 3), (2, 1), (2, 2), (3, 1)]


def test_our_own_keys_may_be_written_in_toml(tmp_path: Path) -> None:
    path = write(tmp_path, "[agents.defaults.memorySearch.query]\nmaxResults = 3\n", "config.toml")
    config = load_config(path, environ={})

    assert (config.dialect, config.agent().search.query.max_results) == ("toml", 3)
    assert config.agent().enabled


def test_a_date_of_toml_where_a_string_belongs_is_refused_but_not_in_what_is_foreign(tmp_path: Path) -> None:
    path = write(tmp_path, "since = 2026-01-01\n[memorySearch]\nmodel = 2026-01-01\n", "config.toml")

    with pytest.raises(ConfigError) as caught:
        load_config(path, environ={})

    assert [problem.key for problem in caught.value.problems] == ["memorySearch.model"]
    assert "expected a value that JSON can hold, not a date" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[embedding]\napikey = 'x'", 'embedding.apikey: unknown key; did you mean "api_key"?'),
        (
            "[embedding.index]\nchunk_token = 5",
            'embedding.index.chunk_token: unknown key; did you mean "index.chunk_tokens"?',
        ),
        ("[embedding.index]\nchunk_tokens = 0", "embedding.index.chunk_tokens: expected more than 0, not 0"),
        ("[embedding.index]\nchunk_overlap = 400", "embedding.index.chunk_overlap: overlap must be smaller"),
        ("[embedding.index]\nchunk_tokens = 40", "embedding.index: overlap must be smaller"),
        ("[embedding]\nsearch = 5", "embedding.search: expected an object, not a number"),
        ("[embedding]\nprovider = 'openruter'", "embedding.provider: expected one of"),
        ("embedding = 5", "embedding: expected an object, not a number"),
    ],
)
def test_problems_of_the_orbit_dialect_are_named_as_it_spells_them(tmp_path: Path, text: str, problem: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_config(write(tmp_path, text, "config.toml"), environ={})

    (only,) = caught.value.problems
    assert str(only).startswith(problem)


def test_orbit_tables_parsed_by_a_host_are_the_same_dialect_and_its_slot_counts() -> None:
    parsed = {"embedding": {"provider": "none"}, "plugins": {"enabled": True}}
    off = {**parsed, "plugins": {"slots": {"memory": "none"}}}

    assert load_config(parsed, environ={}).dialect == "orbit"
    assert load_config(off, environ={}).dialect == "orbit"
    assert load_config(off, environ={}).slot == "none"
    assert load_config({**parsed, "memorySearch": {}}, environ={}).dialect == "json5"


@pytest.mark.parametrize(
    ("config", "second"),
    [
        ({"memorySearch": {"model": "a"}, "memory": {"search": {"model": "b"}}}, "memory.search.model"),
        (
            {"memory": {"search": {"model": "a"}}, "agents": {"defaults": {"memorySearch": {"model": "a"}}}},
            "agents.defaults.memorySearch.model",
        ),
        (
            {
                "agents": {
                    "entries": {
                        "a": {
                            "memorySearch": {"query": {"maxResults": 1}},
                            "memory": {"search": {"query": {"maxResults": 2}}},
                        }
                    }
                }
            },
            "agents.entries.a.memory.search.query.maxResults",
        ),
        ({"agents": {"list": [{"id": "a"}, {"id": "A"}]}}, "agents.list[1]"),
        ({"agents": {"list": [{"id": "a"}], "entries": {"a": {}}}}, "agents.entries.a"),
    ],
)
def test_the_same_key_in_two_spellings_is_refused(config: dict[str, Any], second: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_config(config, environ={})

    (problem,) = caught.value.problems
    assert problem.key == second
    assert "is given twice" in problem.message


def test_two_spellings_for_different_keys_add_to_each_other() -> None:
    config = {"memory": {"search": {"model": "m"}}, "agents": {"defaults": {"memorySearch": {"provider": "voyage"}}}}

    search = load_config(config, environ={}).agent().search

    assert (search.model, search.provider) == ("m", "voyage")


@pytest.mark.parametrize(
    ("agents", "problem"),
    [
        ({"list": [{}]}, "agents.list[0].id: is required"),
        ({"list": [5]}, "agents.list[0]: expected an object, not a number"),
        ({"list": {"a": {}}}, "agents.list: expected a list, not an object"),
        ({"list": [{"id": "../x"}]}, "agents.list[0].id: expected at most 64 letters"),
        ({"list": [{"id": "a" * 65}]}, "agents.list[0].id: expected at most 64 letters"),
        ({"list": [{"id": 5}]}, "agents.list[0].id: expected a string, not a number"),
        ({"entries": {"a b": {}}}, "agents.entries.a b: expected at most 64 letters"),
        ({"entries": {"a": {"memory": {"backend": "qmd"}}}}, "agents.entries.a.memory.backend: unknown key"),
        ({"defaults": {"workspace": " "}}, "agents.defaults.workspace: expected a string"),
    ],
)
def test_agents_that_cannot_be_read_are_refused(agents: dict[str, Any], problem: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_config({"agents": agents}, environ={})

    assert problem in str(caught.value)
