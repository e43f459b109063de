"""`memory-core config check`: one line an error, with the path of the key."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import replace
from pathlib import Path

import jsonschema
import pyjson5
import pytest

from memory_core.cli import app
from memory_core.config.description import build_config_schema
from memory_core.config.load import load_config
from memory_core.errors import ConfigError
from memory_qmd.config import QmdConfig
from tests.command import Command

WRONG = """{
  plugins: {slots: {memory: "memroy-core"}},
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
        "memory.qmd.searchMode",
        "memory.qmd.limits.maxResult",
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
    assert "$include" not in shown.out


def test_a_backend_that_nobody_offers_is_told_of(command: Command, tmp_path: Path) -> None:
    path = tmp_path / "host.json5"
    path.write_text('{memory: {backend: "qdm"}}')
    shown = command("config", "check", str(path))
    assert shown.code == 0
    assert shown.error == (
        "memory-core: backend 'qdm': no installed package offers it; installed are builtin, postgres, qmd;"
        " builtin answers instead."
    )
    assert len(command("config", "check", str(path), "--json").json["warnings"]) == 1


def test_errors_are_also_told_as_json(command: Command, tmp_path: Path) -> None:
    path = tmp_path / "host.json5"
    path.write_text('{memory: {backnd: "qmd"}}')
    shown = command("config", "check", str(path), "--json")
    assert (shown.code, len(shown.err.splitlines())) == (2, 1)
    assert shown.json == {
        "error": f'{path}: memory.backnd: unknown key; did you mean "backend"?',
        "action": f"Correct what is named, then run: memory-core config check {path}",
        "origin": str(path),
        "problems": ['memory.backnd: unknown key; did you mean "backend"?'],
        "warnings": [],
    }


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


# What a new user writes, and the key and the words by which the message helps.
SLIPS: dict[str, tuple[str, str, str]] = {
    "slot": ('{plugins: {slots: {memory: "memroy-core"}}}', "plugins.slots.memory", 'known are "memory-core", "none"'),
    "section": ('{memorySerch: {provider: "openai"}}', "memorySerch", 'did you mean "memorySearch"?'),
    "snake case": ("{memory_search: {}}", "memory_search", 'did you mean "memorySearch"?'),
    "memory": ('{memroy: {backend: "qmd"}}', "memroy", 'did you mean "memory"?'),
    "of the defaults": ("{agents: {defaults: {memorySaerch: {}}}}", "agents.defaults.memorySaerch", '"memorySearch"'),
    "of an agent": ('{agents: {list: [{id: "a", memorysearch: {}}]}}', "agents.list[0].memorysearch", '"memorySearch"'),
    "flush": (
        "{agents: {defaults: {compaction: {memoryFlsh: {}}}}}",
        "agents.defaults.compaction.memoryFlsh",
        '"memoryFlush"',
    ),
    "duration": (
        '{memory: {qmd: {update: {interval: "soon"}}}}',
        "memory.qmd.update.interval",
        'a duration such as "5m"',
    ),
    "other duration": (
        '{memory: {qmd: {update: {embedInterval: "1 w"}}}}',
        "memory.qmd.update.embedInterval",
        "a duration",
    ),
    "without braces": ('memory: {citation: "on"},', "memory.citation", 'did you mean "citations"?'),
}


@pytest.mark.parametrize(("text", "key", "help_"), SLIPS.values(), ids=SLIPS)
def test_a_slip_is_named_and_what_was_meant(tmp_path: Path, text: str, key: str, help_: str) -> None:
    problems = check(tmp_path, text)[0]
    assert [problem.partition(": ")[0] for problem in problems] == [key]
    assert help_ in problems[0]


@pytest.mark.parametrize(("table", "meant"), [("memorySerch", "memorySearch"), ("embeding", "embedding")])
def test_a_slip_in_toml_is_not_taken_for_another_programs_file(tmp_path: Path, table: str, meant: str) -> None:
    path = tmp_path / "config.toml"
    path.write_text(f'[{table}]\nprovider = "openai"\n')
    with pytest.raises(ConfigError, match=f'{table}: unknown key; did you mean "{meant}"'):
        load_config(path, environ={})


# Files in which one mistake hid another, and all of what is wrong with them.
HIDDEN: dict[str, list[str]] = {
    '{memory: {qmd: {update: {interval: "x", embedInterval: "y"}}}}': [
        "memory.qmd.update.interval", "memory.qmd.update.embedInterval",
    ],
    '{agents: {defaults: {compaction: {memoryFlush: {softThresholdTokens: "4k", forceFlushTranscriptBytes: "2 big"}}}}}': [
        "agents.defaults.compaction.memoryFlush.softThresholdTokens",
        "agents.defaults.compaction.memoryFlush.forceFlushTranscriptBytes",
    ],
    '{memorySearch: {remote: {headers: {"Content-Length": "3"}, timeoutSeconds: -1}}}': [
        "memorySearch.remote.headers", "memorySearch.remote.timeoutSeconds",
    ],
    '{agents: {list: [{name: "cook", memorySearch: {extraPaths: "~/recipes"}}]}}': [
        "agents.list[0].id", "agents.list[0].memorySearch.extraPaths",
    ],
    # An overlap is too large for the default size of a chunk only; the size that was meant may well be larger.
    '{memorySearch: {chunking: {tokens: "1000", overlap: 500}}}': ["memorySearch.chunking.tokens"],
    "{memorySearch: {chunking: {tokens: 50, overlap: 50}, query: {maxResults: 0}}}": [
        "memorySearch.chunking.overlap", "memorySearch.query.maxResults",
    ],
}  # fmt: skip


@pytest.mark.parametrize("text", HIDDEN)
def test_no_mistake_hides_another(tmp_path: Path, text: str) -> None:
    assert [problem.partition(": ")[0] for problem in check(tmp_path, text)[0]] == HIDDEN[text]


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("host.yaml", "memorySearch:\n  provider: openai\n", "is YAML; write it as JSON5"),
        ("host.json5", " \n", "is empty"),
    ],
)
def test_a_file_of_another_kind_is_called_by_its_name(tmp_path: Path, name: str, text: str, told: str) -> None:
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(ConfigError, match=told):
        load_config(path, environ={})


STRAY = {
    "{sync: {watch: false}, maxResults: 8, apiKey: 'x'}": [
        "memorySearch.sync", "memorySearch.query.maxResults", "memorySearch.remote.apiKey",
    ],
    "{compaction: {memoryFlush: {enabled: false}}, workspace: '~/notes'}": [
        "agents.defaults.compaction", "agents.defaults.workspace",
    ],
    "{agents: {cook: {workspace: '~/cook'}}}": ["agents.entries.cook"],
    "{agnets: {defaults: {}}, plugns: {}, modles: {}}": ["agents", "plugins", "models"],
    "{agents: {defualts: {}}}": ["agents.defaults"],
    "{plugins: {slot: {memory: 'none'}}}": ["plugins.slots"],
    "{models: {providers: {openai: {apikey: 'x', base_url: 'y'}}}}": [
        "models.providers.openai.apiKey", "models.providers.openai.baseUrl",
    ],
    "{embedding: {provider: 'openai'}}": ["Orbit"],
}  # fmt: skip


@pytest.mark.parametrize("text", STRAY)
def test_what_is_read_nowhere_is_a_warning(tmp_path: Path, text: str) -> None:
    problems, warnings = check(tmp_path, text)
    assert problems == []
    assert len(warnings) == len(STRAY[text])
    for warning, meant in zip(warnings, STRAY[text], strict=True):
        assert meant in warning


OPENCLAW = """{
  meta: {}, env: {}, wizard: {}, diagnostics: {}, logging: {}, cli: {}, update: {}, browser: {}, ui: {}, auth: {}, nodeHost: {},
  tools: {}, bindings: [], broadcast: {}, audio: {}, media: {}, messages: {}, commands: {}, approvals: {}, session: {}, cron: {},
  hooks: {}, web: {}, channels: {}, discovery: {}, canvasHost: {}, talk: {}, gateway: {}, skills: {}, mcp: {}, agent: {},
  model: "x",
  plugins: {enabled: true, allow: [], deny: [], load: {}, slots: {contextEngine: "x"}, entries: {"memory-core": {config: {}}}},
  models: {mode: "merge", providers: {openai: {auth: "api-key", authHeader: true, request: {}, api: "x", models: []}}},
  agents: {
    defaults: {
      model: {}, contextTokens: 1, heartbeat: {}, subagents: {},
      compaction: {
        mode: "safeguard", reserveTokens: 1, keepRecentTokens: 1, maxHistoryShare: 0.5, model: "x",
        memoryFlush: {model: "ollama/qwen3:8b"},
      },
      memorySearch: {
        rememberAcrossConversations: true, multimodal: {enabled: true}, qmd: {extraCollections: []},
        remote: {nonBatchConcurrency: 2}, local: {contextSize: "auto", gpu: "auto", gpuLayers: 3, flashAttention: true},
        store: {fts: {tokenizer: "trigram"}}, sync: {embeddingBatchTimeoutSeconds: 600}, query: {hybrid: {mmr: {enabled: true}}},
      },
    },
  },
  memory: {
    qmd: {
      rerank: false, searchTool: "x", mcporter: {enabled: true},
      update: {startup: "idle", startupDelayMs: 1, waitForBootSync: true},
    },
  },
}"""
IGNORED = """rememberAcrossConversations multimodal qmd remote.nonBatchConcurrency local.contextSize local.gpu local.gpuLayers
  local.flashAttention store.fts sync.embeddingBatchTimeoutSeconds query.hybrid.mmr""".split()  # noqa: SIM905 - as in its docs


def test_settings_of_openclaw_that_mean_nothing_here_are_warnings(tmp_path: Path) -> None:
    problems, warnings = check(tmp_path, OPENCLAW)
    assert problems == []
    told = [warning.partition(": ")[0] for warning in warnings]
    assert told == [
        *(f"agents.defaults.memorySearch.{key}" for key in sorted(IGNORED, key=told_order(told))),
        "agents.defaults.compaction.memoryFlush.model",
        *(f"memory.qmd.{key}" for key in ("rerank", "searchTool", "mcporter")),
        *(f"memory.qmd.update.{key}" for key in ("startup", "startupDelayMs", "waitForBootSync")),
    ]
    assert "local.contextTokens is ours" in "\n".join(warnings)
    jsonschema.validate(pyjson5.decode(OPENCLAW), build_config_schema({"qmd": QmdConfig}))


FORMER = """{
  agents: {
    defaults: {
      memorySearch: {
        store: {driver: "sqlite"}, query: {hybrid: {temporalDecay: {enabled: true, halfLifeDays: 30}}},
        items: {salience: {floor: 2}, capture: {turns: 2, idleMinutes: 1}}, recall: {limit: 1, maxChars: 300},
      },
    },
  },
}"""


def test_former_settings_are_left_out_and_one_warning_names_them(tmp_path: Path) -> None:
    problems, warnings = check(tmp_path, FORMER)
    assert problems == []
    (warning,) = warnings
    for key in (
        "store.driver", "query.hybrid.temporalDecay", "items.salience", "items.capture.turns", "items.capture.idleMinutes",
        "recall.limit", "recall.maxChars",
    ):  # fmt: skip
        assert f"agents.defaults.memorySearch.{key}" in warning
    jsonschema.validate(pyjson5.decode(FORMER), build_config_schema({"qmd": QmdConfig}))


def test_what_is_left_to_the_host_is_listed(command: Command, tmp_path: Path) -> None:
    path = tmp_path / "host.json5"
    path.write_text("{channels: {retentionDays: 3}, memory: {}, gateway: {}}")
    shown = command("config", "check", str(path))
    assert (shown.code, shown.err) == (0, "")
    assert pairs(shown.out)["not read"] == "channels, gateway  (file)"
    path.write_text("{history: {retentionDays: 3}}")
    assert (
        "history: nothing is read here; did you mean memorySearch.history?" in command("config", "check", str(path)).err
    )
    orbit = command("config", "check", "tests/data/configs/orbit-off.toml")
    assert pairs(orbit.out)["not read"] == "server  (file)"


def told_order(told: Sequence[str]) -> Callable[[str], int]:
    return lambda key: told.index(f"agents.defaults.memorySearch.{key}")


def test_a_condition_of_a_scope_is_never_left_out(tmp_path: Path) -> None:
    """Without it a rule would hold for more chats than its author meant."""
    rules = "{memory: {scope: {rules: [{action: 'allow', match: {rawKeyPrefix: 'agent:main:'}}]}}}"
    assert check(tmp_path, rules)[0] == [
        'memory.scope.rules[0].match.rawKeyPrefix: unknown key; did you mean "keyPrefix"?'
    ]


@pytest.mark.parametrize(
    "text",
    [
        "memory: {citations: 'on'}",
        '\n  "memory": {"citations": "on"},\n',
        "// mine\n/* too */ memory: {citations: 'on'} // end",
    ],
)
def test_an_example_may_be_pasted_without_its_outer_braces(tmp_path: Path, text: str) -> None:
    path = tmp_path / "host.json5"
    path.write_text(text)
    assert load_config(path, environ={}).agent().memory.citations == "on"


def test_a_mistake_in_such_an_example_is_told_with_its_place(tmp_path: Path) -> None:
    path = tmp_path / "host.json5"
    path.write_text("memory: {\n  citations 'on'\n}")
    with pytest.raises(ConfigError, match=r"line 2, column 1[0-9]: .*read as if \{ \} stood around it"):
        load_config(path, environ={})


def test_every_problem_is_told_at_once(command: Command, tmp_path: Path) -> None:
    path = tmp_path / "host.json5"
    path.write_text(
        """{plugins: {slots: {memory: "memroy-core"}}, memorySerch: {}, memory: {citation: "on", qmd: {searchMode: "x"}},
        agents: {list: [{id: "a", memorySearch: {query: {maxResults: 0}}}]}}"""
    )
    shown = command("config", "check", str(path))
    keys = [line.split(": ")[2] for line in shown.err.splitlines()]
    assert keys == [
        "plugins.slots.memory", "memorySerch", "memory.citation", "memory.qmd.searchMode",
        "agents.list[0].memorySearch.query.maxResults",
    ]  # fmt: skip
    for words in (("status",), ("search", "x"), ("index",)):
        refused = command(*words, "--config", str(path))
        assert refused.code == 2
        assert refused.error.endswith(f"then run: memory-core config check {path}")


def test_what_is_left_out_is_not_shown_as_a_setting(command: Command, tmp_path: Path) -> None:
    path = tmp_path / "host.json5"
    path.write_text("{memory: {qmd: {rerank: false, searchMode: 'vsearch', mcporter: {enabled: true}}}}")
    shown = pairs(command("config", "check", str(path)).out)
    assert [key for key in shown if key.startswith("memory.qmd")] == ["memory.qmd.searchMode"]


def test_a_workspace_that_is_not_there_is_told(command: Command) -> None:
    shown = replace(command, workspace=command.workspace / "none")("config", "check")
    assert shown.code == 0
    assert str(command.workspace / "none") in shown.error


def check(folder: Path, text: str) -> tuple[list[str], list[str]]:
    """Return the problems and the warnings that `config check --json` tells of a file, without a process."""
    path = folder / "host.json5"
    path.write_text(text)
    (folder / "workspace").mkdir(exist_ok=True)
    shown = io.StringIO()
    with redirect_stdout(shown), redirect_stderr(io.StringIO()):
        app.run(["config", "check", str(path), "--json", "--workspace", str(folder / "workspace")])
    told = json.loads(shown.getvalue())
    return told.get("problems", []), told.get("warnings", [])


def test_what_a_provider_or_a_folder_lacks_is_a_warning(command: Command, tmp_path: Path) -> None:
    path = tmp_path / "host.json5"
    path.write_text(
        '{memorySearch: {fallback: "openai-compatible", extraPaths: ["gone"]},'
        ' agents: {list: [{id: "main"}, {id: "b", memorySearch: {fallback: "local", local: {modelPath: "none.gguf"}}}]}}'
    )
    shown = command("config", "check", str(path))
    assert shown.code == 0
    other = command("config", "check", str(path), "--agent", "b")
    assert "modelPath is no file: none.gguf. Name a GGUF file" in other.err
    assert "no URL is configured. Set memorySearch.remote.baseUrl" in shown.err
    assert "gone does not exist" in shown.err


def test_a_backend_that_is_not_installed_is_told_beside_errors(command: Command, tmp_path: Path) -> None:
    path = tmp_path / "host.json5"
    path.write_text('{memory: {backend: "missing", citations: 5}}')
    shown = command("config", "check", str(path))
    assert shown.code == 2
    assert "memory.citations" in shown.err
    assert "builtin answers instead" in shown.err


@pytest.mark.parametrize(
    ("provider", "hint"),
    [
        ("bedrock", 'it is "litellm" here'),
        ("lmstudio", 'it is "openai-compatible" here'),
        ("gpu-box", 'a provider of models.providers is "openai-compatible" or "ollama" here'),
        ("openia", 'did you mean "openai"?'),
    ],
)
def test_a_provider_of_openclaw_is_told_what_serves_in_its_place(provider: str, hint: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_config({"memorySearch": {"provider": provider}}, environ={})
    assert hint in str(caught.value)


def test_a_current_configuration_of_openclaw_has_warnings_alone(command: Command, tmp_path: Path) -> None:
    """All keys of its reference for memory, of November 2026: what is not read is named."""
    path = tmp_path / "openclaw.json"
    path.write_text(CURRENT_OPENCLAW)
    shown = command("config", "check", str(path), "--workspace", str(tmp_path), environment={"EMBEDDINGS_KEY": "sk-1"})
    assert shown.code == 0, shown.err
    left_out = {line.split(": ")[1].rpartition(".")[2] for line in shown.err.splitlines() if "OpenClaw" in line}
    assert left_out == {
        "multimodal", "qmd", "rememberAcrossConversations", "nonBatchConcurrency", "contextSize", "fts", "cache",
        "embeddingBatchTimeoutSeconds", "postCompactionForce", "mmr", "model", "rerank", "mcporter", "startup",
        "startupDelayMs", "waitForBootSync",
    }  # fmt: skip
    assert "sk-1" not in shown.out + shown.err


CURRENT_OPENCLAW = """{
  secrets: { providers: { default: { source: "env" } } },
  models: { providers: { openai: { api: "openai-responses", apiKey: "${EMBEDDINGS_KEY}", models: [] } } },
  memory: {
    backend: "builtin", citations: "auto",
    qmd: {
      command: "qmd", searchMode: "search", rerank: false, includeDefaultMemory: true, mcporter: { enabled: false },
      paths: [{ name: "docs", path: "~/notes", pattern: "**/*.md" }],
      sessions: { enabled: false, retentionDays: 3, exportDir: "~/exported" },
      update: {
        interval: "5m", debounceMs: 15000, onBoot: true, startup: "off", startupDelayMs: 120000, waitForBootSync: false,
        embedInterval: "10m", commandTimeoutMs: 1000, updateTimeoutMs: 1000, embedTimeoutMs: 1000,
      },
      limits: { maxResults: 6, maxSnippetChars: 100, maxInjectedChars: 100, timeoutMs: 4000 },
      scope: { default: "deny", rules: [{ action: "allow", match: { chatType: "direct" } }] },
    },
  },
  agents: {
    defaults: {
      memorySearch: {
        enabled: true, provider: "openai", model: "text-embedding-3-small", fallback: "none", sources: ["memory"],
        extraPaths: ["."], multimodal: { enabled: false }, qmd: { extraCollections: [] }, rememberAcrossConversations: true,
        inputType: "a", queryInputType: "q", documentInputType: "d", outputDimensionality: 768,
        remote: {
          baseUrl: "https://api.example.com/v1", apiKey: { source: "env", provider: "default", id: "EMBEDDINGS_KEY" },
          headers: { "X-Team": "a" }, nonBatchConcurrency: 4,
          batch: { enabled: false, concurrency: 2, wait: true, pollIntervalMs: 2000, timeoutMinutes: 60 },
        },
        local: { modelPath: "hf:owner/repo/file.gguf", modelCacheDir: "~/models", contextSize: 4096 },
        sync: {
          onSessionStart: true, onSearch: true, watch: true, watchDebounceMs: 1500, intervalMinutes: 5,
          embeddingBatchTimeoutSeconds: 60, sessions: { deltaBytes: 1, deltaMessages: 2, postCompactionForce: true },
        },
        chunking: { tokens: 400, overlap: 80 },
        query: {
          maxResults: 6, minScore: 0.3,
          hybrid: {
            enabled: true, vectorWeight: 0.7, textWeight: 0.3, candidateMultiplier: 4, mmr: { enabled: true, lambda: 0.7 },
            temporalDecay: { enabled: true, halfLifeDays: 30 },
          },
        },
        cache: { enabled: true, maxEntries: 5000 },
        store: {
          driver: "sqlite", path: "index.sqlite", fts: { tokenizer: "unicode61" }, cache: { enabled: true },
          vector: { enabled: true, extensionPath: "~/vec0.so" },
        },
        experimental: { sessionMemory: false },
      },
      compaction: {
        mode: "safeguard", reserveTokensFloor: 20000,
        memoryFlush: {
          enabled: true, softThresholdTokens: 4000, forceFlushTranscriptBytes: "2mb", model: "x", prompt: "a", systemPrompt: "b",
        },
      },
    },
    list: [{ id: "main", default: true }],
  },
  plugins: { slots: { memory: "memory-core" }, entries: { "active-memory": { enabled: true } } },
}
"""
