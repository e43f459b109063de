"""The order of layers: defaults < document < environment < flags, per agent; and what the values resolve to."""

from __future__ import annotations

import dataclasses
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory_core.config.agent import make_workspace_key, normalize_agent_id
from memory_core.config.description import describe
from memory_core.config.documents import Node, annotate, find_clashes, merge, to_plain
from memory_core.config.environment import ENVIRONMENT
from memory_core.config.fields import STRICT, InvalidField, Secret, Section, parse_size_bytes
from memory_core.config.load import load_config
from memory_core.config.problems import validate_section
from memory_core.config.settings import MemoryFlush, Scope
from memory_core.errors import ConfigError, InvalidArgument
from tests import generated
from tests.places import index_path

HOME = {"HOME": "/home/me"}


def search(**settings: Any) -> dict[str, Any]:
    return {"memorySearch": settings}


# What wins.


def test_nothing_given_is_the_defaults() -> None:
    config = load_config(environ=HOME)
    main = config.agent()

    assert (config.origin, config.dialect, config.slot, config.agents) == (
        "defaults",
        "defaults",
        "memory-core",
        ("main",),
    )
    assert (main.workspace, main.state_dir) == (Path("/home/me/clawd"), Path("/home/me/.clawdbot"))
    assert main.store_path == index_path("/home/me/.clawdbot", "/home/me/clawd")
    assert main.sessions_dir == Path("/home/me/.clawdbot/agents/main/sessions")
    assert (main.enabled, main.get_lines, main.warnings) == (True, 120, ())


@pytest.mark.parametrize(
    ("document", "heavy"),
    [
        ({}, []),
        (
            {
                "memorySearch": {
                    "provider": "none",
                    "recall": {"enabled": True},
                    "items": {"capture": {"journal": True}},
                }
            },
            [],
        ),
        (
            {"memorySearch": {"items": {"capture": {"retentionDays": 30}}}},
            ["annotated_types", "pydantic", "pydantic_core"],
        ),
    ],
)
def test_nothing_given_but_switches_imports_no_pydantic(document: Mapping[str, Any], heavy: list[str]) -> None:
    script = f"""
import sys
from memory_core.config.load import load_config
from memory_core.config.problems import validate_section
from memory_core.config.settings import Scope
environ = {{"HOME": "/home/me", "MEMORY_CORE_STATE_DIR": "/s"}}
load_config({document or None}, environ=environ, workspace="/w", overrides={{"memory.backend": None}}).agent("x")
validate_section("mine", {{}}, Scope)
heavy = {{"pydantic", "pydantic_core", "pyjson5", "tomllib", "jsonschema", "annotated_types", "pluggy", "numpy"}}
print(sorted(heavy & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)

    assert done.stdout == f"{heavy}\n"


def test_the_defaults_without_pydantic_are_those_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # which lies in no repository
    bare, validated = (
        load_config(environ=HOME).agent(),
        load_config({"memorySearch": {"query": {"maxResults": 6}}}, environ=HOME).agent(),
    )

    assert dataclasses.replace(validated, dialect="defaults") == bare


def test_flags_beat_the_environment_which_beats_an_agent_which_beats_the_defaults(tmp_path: Path) -> None:
    document = {
        "memory": {"backend": "qmd"},
        "agents": {
            "defaults": {
                "workspace": "/from/defaults",
                **search(provider="openai", model="of-defaults", chunking={"tokens": 300}),
            },
            "list": [{"id": "a", "workspace": "/from/agent", **search(provider="voyage", model="of-agent")}],
        },
    }
    environ = {**HOME, "MEMORY_CORE_MODEL": "of-environment", "MEMORY_CORE_BACKEND": "builtin"}
    flags = {"memorySearch.provider": "mistral", "memorySearch": {"query": {"maxResults": 2}}, "memory.citations": None}

    config = load_config(document, environ=environ, overrides=flags).agent("a")

    assert (config.search.provider, config.search.model, config.search.chunking.tokens) == (
        "mistral",
        "of-environment",
        300,
    )
    assert (config.search.query.max_results, config.memory.backend) == (2, "builtin")
    assert config.workspace == Path("/from/agent")
    assert load_config(document, environ=HOME).agent("b").search.model == "of-defaults"
    environ["MEMORY_CORE_WORKSPACE"] = "/from/environment"
    assert load_config(document, environ=environ).agent("a").workspace == Path("/from/environment")
    assert load_config(document, environ=environ, overrides={"workspace": "/flag"}).agent("a").workspace == Path(
        "/flag"
    )
    assert load_config(document, environ=environ, workspace="/host").agent("a").workspace == Path("/host")


@pytest.mark.parametrize(
    ("flags", "value"),
    [
        ({"memorySearch.query.maxResults": 3}, 3),
        ({"memorySearch": {"query": {"maxResults": 3}}}, 3),
        ({"memorySearch.query": {"maxResults": 3}, "memorySearch.model": "m"}, 3),
        ({"agents.defaults.memorySearch.query.maxResults": 3}, 3),
        ({"memory.search.query.maxResults": 3}, 3),
        ({"agents.entries.main.memorySearch.query.maxResults": 3}, 3),
        ({"memorySearch.query.maxResults": None}, 6),
    ],
)
def test_flags_are_dotted_keys_or_nested_objects(flags: dict[str, Any], value: int) -> None:
    assert load_config(environ=HOME, overrides=flags).agent().search.query.max_results == value


def test_flags_reach_compaction_the_slot_and_a_backend() -> None:
    flags = {"compaction.memoryFlush.enabled": False, "plugins.slots.memory": "None", "memory.qmd.command": "/x"}
    config = load_config(environ=HOME, overrides=flags)

    assert not config.agent().compaction.memory_flush.enabled
    assert (config.slot, config.agent().enabled) == ("none", False)
    assert config.agent().backend_sections == {"qmd": {"command": "/x"}}


def test_flags_that_are_wrong_are_refused() -> None:
    with pytest.raises(ConfigError, match='flags: memorySerch: unknown key; did you mean "memorySearch"'):
        load_config(environ={}, overrides={"memorySerch.model": "x"})
    with pytest.raises(ConfigError, match=r"memorySearch.query.maxResults: expected at most 100, not 500"):
        load_config(environ={}, overrides={"memorySearch.query.maxResults": 500})
    with pytest.raises(InvalidArgument, match="a value and keys below"):
        load_config(environ={}, overrides={"memorySearch.query": 5, "memorySearch.query.maxResults": 5})
    with pytest.raises(InvalidArgument, match="given twice"):
        load_config(
            environ={}, overrides={"memorySearch.query.maxResults": 5, "memorySearch": {"query": {"maxResults": 6}}}
        )


def test_a_wrong_environment_variable_is_named() -> None:
    with pytest.raises(ConfigError, match=r"^environment: MEMORY_CORE_PROVIDER: expected one of"):
        load_config(environ={"MEMORY_CORE_PROVIDER": "nobody"})


def test_the_environment_names_file_and_folders_and_what_is_empty_counts_as_unset(tmp_path: Path) -> None:
    path = tmp_path / "config.json5"
    path.write_text("{ memorySearch: { model: 'of-file' }, agents: { defaults: { workspace: 'notes' } } }")
    environ = {**HOME, "MEMORY_CORE_CONFIG": str(path), "MEMORY_CORE_STATE_DIR": "~/state", "MEMORY_CORE_PROVIDER": ""}

    main = load_config(environ=environ).agent()

    assert (main.search.model, main.search.provider) == ("of-file", "auto")
    assert (main.state_dir, main.workspace) == (Path("/home/me/state"), tmp_path / "notes")
    assert load_config({}, environ=environ).agent().search.model is None
    assert load_config(environ=environ, state_dir="/host").agent().store_path == index_path("/host", main.workspace)
    assert load_config(environ={**environ, "MEMORY_CORE_CONFIG": ""}).origin == "defaults"


def test_the_process_environment_is_read_when_none_is_given(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    monkeypatch.setenv("MEMORY_CORE_PROVIDER", "ollama")

    assert load_config().agent().search.provider == "ollama"
    assert load_config().agent().workspace == home / "clawd"


def test_every_environment_variable_is_in_the_table() -> None:
    assert len({name for name, _, _ in ENVIRONMENT}) == 6
    assert all(f"| `{name}` |" in generated.environment() for name, _, _ in ENVIRONMENT)


# Agents.


def test_lists_replace_except_extra_paths_which_add_up() -> None:
    config = load_config(
        {
            "agents": {
                "defaults": search(sources=["memory", "workspace"], extraPaths=["a", {"path": "b", "pattern": "*.md"}]),
                "list": [
                    {"id": "x", **search(sources=["workspace"], extraPaths=["c"], remote={"headers": {"B": "2"}})}
                ],
            },
            "memory": {"search": {"remote": {"headers": {"A": "1", "B": "1"}}}},
        },
        environ={},
    ).agent("x")

    assert config.search.sources == ("workspace",)
    assert [(each.path, each.pattern) for each in config.search.extra_paths] == [
        ("a", "**/*.md"),
        ("b", "*.md"),
        ("c", "**/*.md"),
    ]
    assert config.search.remote.headers == {"A": Secret("1"), "B": Secret("2")}


def test_a_problem_in_an_added_extra_path_is_named_where_it_is_written() -> None:
    document = {"agents": {"defaults": search(extraPaths=["a"]), "list": [{"id": "x", **search(extraPaths=["b", 5])}]}}

    with pytest.raises(
        ConfigError, match=r"agents.list\[0\].memorySearch.extraPaths\[1\]: expected a string or an object"
    ):
        load_config(document, environ={})


def test_defaults_must_be_valid_even_where_every_agent_replaces_them() -> None:
    document = {"agents": {"defaults": search(enabled="yes"), "list": [{"id": "x", **search(enabled=True)}]}}

    with pytest.raises(ConfigError, match=r"agents.defaults.memorySearch.enabled: expected true or false"):
        load_config(document, environ={})


@pytest.mark.parametrize("agent", ["", "../x", "-a", "a/b", "a.b", "é", "\u212a", "a" * 65, "a\n", "."])
def test_an_agent_id_that_is_no_name_is_refused_before_it_reaches_a_path(agent: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        load_config(environ={}).agent(agent)

    assert caught.value.argument == "agent"


@settings(deadline=None)  # reads a configuration each time
@given(st.from_regex(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}", fullmatch=True))
def test_every_agent_has_its_own_index_below_the_state_folder(agent: str) -> None:
    config = load_config(environ=HOME).agent(agent)

    assert config.agent == normalize_agent_id(agent) == agent.lower()
    assert config.store_path == index_path("/home/me/.clawdbot", "/home/me/clawd", agent.lower())


def test_a_store_path_with_the_agents_name_in_it() -> None:
    config = load_config(search(store={"path": "~/x/{agentId}/{agentId}.db"}), environ=HOME)

    assert config.agent("Peter").store_path == Path("/home/me/x/peter/peter.db")


def test_a_store_path_of_the_defaults_without_the_agents_name_is_that_of_main_and_the_others_get_their_own() -> None:
    document = {
        "agents": {
            "defaults": search(store={"path": "/x/index.db"}),
            "list": [{"id": "a"}, {"id": "b", **search(store={"path": "/y/b.db"})}],
        }
    }
    config = load_config(document, environ=HOME)

    paths = [str(config.agent(agent).store_path) for agent in ("main", "a", "b", "c")]
    assert paths == ["/x/index.db", "/x/index-a.db", "/y/b.db", "/x/index-c.db"]


def test_two_agents_that_name_one_index_file_are_refused() -> None:
    one = search(store={"path": "/x/same.db"})

    with pytest.raises(ConfigError, match="'a' and 'b' would share one index file"):
        load_config({"agents": {"list": [{"id": "a", **one}, {"id": "b", **one}]}}, environ={})


def test_relative_paths_of_a_file_are_relative_to_it_and_tilde_is_home(tmp_path: Path) -> None:
    path = tmp_path / "conf" / "config.json5"
    path.parent.mkdir()
    path.write_text(
        "{ memorySearch: { store: { path: '../index.db', vector: { extensionPath: '~/vec0' } },"
        " local: { modelPath: '~/m.gguf', modelCacheDir: '~/models' }, extraPaths: ['~/notes'] } }"
    )
    config = load_config(path, environ=HOME, workspace="~/w").agent()

    assert (config.store_path, config.workspace) == (tmp_path / "index.db", Path("/home/me/w"))
    assert config.search.local.model_path == "/home/me/m.gguf"
    assert config.search.local.model_cache_dir == "/home/me/models"
    assert config.search.store.vector.extension_path == "/home/me/vec0"
    assert config.search.extra_paths[0].path == "~/notes"


# What values resolve to.


@pytest.mark.parametrize("slot", ["none", "None", " NONE "])
def test_the_slot_none_turns_memory_off_whatever_its_case(slot: str) -> None:
    config = load_config({"plugins": {"slots": {"memory": slot}}}, environ={})

    assert (config.slot, config.agent().enabled) == ("none", False)


def test_another_plugin_in_the_slot_and_a_slot_that_is_no_name() -> None:
    other = load_config({"plugins": {"slots": {"memory": "Memory-LanceDB"}}}, environ={})

    assert (other.slot, other.agent().enabled) == ("memory-lancedb", False)
    assert load_config({"plugins": {"slots": {"memory": None}}}, environ={}).slot == "memory-core"
    with pytest.raises(ConfigError, match=r"plugins.slots.memory: expected a string, not a number"):
        load_config({"plugins": {"slots": {"memory": 5}}}, environ={})


def test_sections_of_backends_are_kept_raw_and_others_are_unknown() -> None:
    document = {"memory": {"backend": "lancedb", "lancedb": {"uri": "x"}, "qmd": {"command": "q"}}}

    assert load_config(document, environ={}).agent().backend_sections == {
        "lancedb": {"uri": "x"},
        "qmd": {"command": "q"},
    }
    chosen = {"memory": {"lancedb": {"uri": "x"}}}
    assert load_config(chosen, environ={"MEMORY_CORE_BACKEND": "lancedb"}).agent().memory.backend == "lancedb"
    assert load_config(chosen, environ={}, known_backends=["lancedb"]).agent().backend_sections == {
        "lancedb": {"uri": "x"}
    }
    with pytest.raises(ConfigError, match=r"memory.lancedb: unknown key; expected one of .*\"qmd\""):
        load_config(chosen, environ={})
    with pytest.raises(ConfigError, match=r"memory.qmd: expected an object, not a list"):
        load_config({"memory": {"qmd": []}}, environ={})


def test_the_section_of_an_installed_backend_may_stay_while_another_is_chosen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "memory_lancedb-1.dist-info"
    package.mkdir()
    (package / "METADATA").write_text("Name: memory-lancedb\nVersion: 1\n", encoding="utf-8")
    (package / "entry_points.txt").write_text("[memory_core.backends]\nlancedb = x:y\n", encoding="utf-8")
    document = {"memory": {"backend": "builtin", "lancedb": {"uri": "x"}}}
    with pytest.raises(ConfigError, match=r"memory.lancedb: unknown key"):
        load_config(document, environ={})
    monkeypatch.syspath_prepend(tmp_path)
    assert load_config(document, environ={}).agent().backend_sections == {"lancedb": {"uri": "x"}}


def test_a_backends_section_is_validated_by_its_model_under_its_own_key() -> None:
    raw = {"default": "deny", "rules": [{"action": "allow"}, {"acton": "deny"}]}

    with pytest.raises(ConfigError) as caught:
        validate_section("mine", raw, Scope, origin="/etc/config.json5")

    assert [str(problem) for problem in caught.value.problems] == [
        "memory.mine.rules[1].action: is required",
        'memory.mine.rules[1].acton: unknown key; did you mean "action"?',
    ]
    assert str(caught.value).startswith("/etc/config.json5: memory.mine.")
    assert validate_section("mine", {"default": "deny"}, Scope) == Scope(default="deny")


def test_a_backends_section_may_be_a_pydantic_model() -> None:
    from pydantic import BaseModel, ConfigDict

    class Mine(BaseModel):
        model_config = ConfigDict(**STRICT)  # type: ignore[typeddict-item]
        max_rows: int

    assert validate_section("mine", {"maxRows": 5}, Mine).max_rows == 5
    with pytest.raises(ConfigError, match=r'memory.mine.maxrows: unknown key; did you mean "maxRows"\?'):
        validate_section("mine", {"maxRows": 5, "maxrows": 5}, Mine)
    with pytest.raises(ConfigError, match=r"memory.mine.maxRows: is required"):
        validate_section("mine", {}, Mine)


def test_a_backends_section_may_have_rules_of_its_own() -> None:
    @dataclass(kw_only=True)
    class Lax(Section):
        __pydantic_config__ = {"extra": "allow"}  # noqa: RUF012  # as pydantic wants it
        size: int = 3

    @dataclass
    class Plain:
        size: int = 3

    @dataclass
    class Switches:
        warm: bool = False
        cold: bool = False

        def __post_init__(self) -> None:
            if self.warm and self.cold:
                raise InvalidField("warm", "is not cold")

    assert validate_section("mine", {"size": "4", "more": 5}, Lax).size == 4
    assert validate_section("mine", {"size": 4}, Plain) == Plain(4)
    assert validate_section("mine", {"warm": True}, Switches) == Switches(warm=True)
    with pytest.raises(ConfigError, match=r"memory.mine.warm: is not cold"):
        validate_section("mine", {"warm": True, "cold": True}, Switches)


def test_a_backends_model_may_hold_optional_sections_and_refer_to_itself() -> None:
    from pydantic import BaseModel, ConfigDict

    class Branch(BaseModel):
        model_config = ConfigDict(extra="forbid")
        leaf: int = 0
        branch: Branch | None = None

    with pytest.raises(ConfigError, match=r'memory.mine.branch.laef: unknown key; did you mean "leaf"\?'):
        validate_section("mine", {"branch": {"laef": 1}}, Branch)


def test_what_a_host_hands_over_need_not_have_been_json() -> None:
    document = {
        "agents": {
            "defaults": {"workspace": Path("/w"), **search(extraPaths=(Path("/x"),), model=None)},
            "entries": {"a": None},
        },
        "memory": None,
        "models": None,
    }
    config = load_config(document, environ={}).agent("a")
    assert (config.workspace, config.search.extra_paths[0].path) == (Path("/w"), "/x")

    wrong = {
        "memory": {5: 1},
        "models": {"providers": {"x": {"apiKey": b"k"}}},
        "agents": {"entries": {7: {}}},
        **search(model={"a"}, inputType="\ud800", query={1: 2}),
    }
    with pytest.raises(ConfigError) as caught:
        load_config(wrong, environ={})
    assert [problem.key for problem in caught.value.problems] == [
        "memory.5",
        "agents.entries[7]",
        "memorySearch.model",
        "memorySearch.inputType",
        "memorySearch.query.1",
    ]


def test_numbers_without_a_fraction_count_as_whole_as_a_javascript_host_writes_them() -> None:
    assert load_config(search(query={"maxResults": 6.0}), environ={}).agent().search.query.max_results == 6


@pytest.mark.parametrize("sources", [["sessions"], ["memory", "sessions", "memory"]])
def test_sessions_are_dropped_with_a_warning_unless_the_experiment_is_on(sources: list[str]) -> None:
    without = load_config(search(sources=sources), environ={}).agent()
    allowed = load_config(search(sources=sources, experimental={"sessionMemory": True}), environ={}).agent()

    assert "sessions" not in without.search.sources
    assert len(without.search.sources) == len(set(without.search.sources))
    assert len(without.warnings) == 1
    assert ("sessions" in allowed.search.sources, allowed.warnings) == (True, ())


@pytest.mark.parametrize(
    ("size", "count"),
    [
        (0, 0),
        (5, 5),
        ("0", 0),
        ("17", 17),
        ("500kb", 512_000),
        ("2mb", 2_097_152),
        ("1.5 GB", 1_610_612_736),
        (" 3 B ", 3),
    ],
)
def test_a_size_is_read_in_bytes(size: int | str, count: int) -> None:
    assert parse_size_bytes(size) == MemoryFlush(force_flush_transcript_bytes=size).force_flush_bytes == count


@pytest.mark.parametrize("size", ["", "mb", "-1", -1, "2 apples", "1e3", "1.b", "٢mb"])
def test_what_is_no_size_is_refused(size: int | str) -> None:
    with pytest.raises(ValueError, match="expected a number of bytes"):
        parse_size_bytes(size)


def test_placeholders_are_filled_from_the_environment() -> None:
    document = {
        "models": {
            "providers": {
                "openai": {"apiKey": "${KEY}", "baseUrl": "https://${HOST}/v1", "headers": {"X": "Bearer ${KEY}"}}
            }
        },
        **search(remote={"apiKey": "${KEY}", "headers": {"X-A": "a ${HOST} b"}}, model="${KEY}"),
    }
    config = load_config(document, environ={"KEY": "k1", "HOST": "h"}).agent()

    account = config.providers["openai"]
    assert (account.api_key, account.base_url, account.headers) == (
        Secret("k1"),
        "https://h/v1",
        {"X": Secret("Bearer k1")},
    )
    assert (config.search.remote.api_key, config.search.remote.headers) == (Secret("k1"), {"X-A": Secret("a h b")})
    assert config.search.model == "k1"


def test_a_file_env_beside_the_document_gives_variables(tmp_path: Path) -> None:
    lines = (
        "# keys",
        "export A='a # 1'",
        "B = plain  # why",
        'C="c"',
        "D=file",
        "E=file",
        "HOME=/elsewhere",
        "F=",
        "no line",
    )
    (tmp_path / ".env").write_text("\n".join(lines), encoding="utf-8")
    document = tmp_path / "openclaw.json"
    document.write_text(
        "{ env: { D: 'block', G: 'block' }, memorySearch: { provider: 'openai', model: '${A}/${B}/${C}/${D}/${E}/${G}' } }"
    )
    config = load_config(document, environ={"E": "process"}).agent()
    assert config.search.model == "a # 1/plain/c/file/process/block"


def test_an_unset_variable_is_an_error_for_our_remote_and_a_warning_for_an_account_of_the_host() -> None:
    with pytest.raises(ConfigError, match=r"memorySearch.remote.headers.X: the environment variable NOPE is not set"):
        load_config(search(remote={"headers": {"X": "${NOPE}"}}), environ={"NOPE": ""})

    config = load_config(
        {"models": {"providers": {"openai": {"apiKey": "${NOPE}", "headers": {"X": "${NOPE}"}}}}}, environ={}
    ).agent()

    assert config.providers["openai"].api_key is None
    assert config.providers["openai"].headers == {}
    assert (
        config.warnings[0] == "models.providers.openai.apiKey: the environment variable NOPE is not set; it is left out"
    )


def test_an_account_that_only_the_host_understands_is_left_out_with_a_warning() -> None:
    providers = {
        "a": {"apiKey": {"source": "env"}, "headers": 5, "baseUrl": "u"},
        "b": 5,
        "c": {"headers": {"X": 5, "Y": "y"}},
    }

    config = load_config({"models": {"providers": providers}}, environ={}).agent()

    assert (config.providers["a"].api_key, config.providers["a"].base_url) == (None, "u")
    assert config.providers["c"].headers == {"Y": Secret("y")}
    assert sorted(warning.partition(":")[0] for warning in config.warnings) == [
        "models.providers.a.apiKey",
        "models.providers.a.headers",
        "models.providers.b",
        "models.providers.c.headers.X",
    ]


def test_describe_says_what_holds_and_who_said_so(tmp_path: Path) -> None:
    path = tmp_path / "config.json5"
    path.write_text(
        "{ memory: { backend: 'qmd', qmd: { command: 'q', apiToken: 'sk-1', paths: [{ path: 'x' }] } },"
        " memorySearch: { chunking: { tokens: 300 }, remote: { baseUrl: 'https://u:p@h:1/v1?key=k', apiKey: 'sk-1' } } }"
    )
    config = load_config(
        path, environ={**HOME, "MEMORY_CORE_MODEL": "m"}, overrides={"memory.citations": "on"}, state_dir="/s"
    )

    rows = {row.key: (row.value, row.origin) for row in describe(config)}

    assert rows["document"] == (str(path), "file")
    assert rows["dialect"] == ("json5", "file")
    assert rows["stateDir"] == ("/s", "flag")
    assert rows["index"] == (str(index_path("/s", config.agent().workspace)), "default")
    assert rows["memory.backend"] == ("qmd", "file")
    assert rows["memory.citations"] == ("on", "flag")
    assert rows["memorySearch.model"] == ("m", "environment")
    assert rows["memorySearch.chunking.tokens"] == (300, "file")
    assert rows["memorySearch.chunking.overlap"] == (80, "default")
    assert rows["memorySearch.remote.apiKey"] == ("***", "file")
    assert rows["memorySearch.remote.baseUrl"] == ("https://***@h:1/v1?***", "file")
    assert rows["memory.qmd.paths[0].path"] == ("x", "file")
    assert rows["memory.qmd.apiToken"] == ("***", "file")
    assert "sk-1" not in str(rows)
    broken = load_config(search(remote={"baseUrl": "https://[k"}, extraPaths=["x"]), environ={})
    shown = {row.key: row.value for row in describe(broken)}
    assert shown["memorySearch.remote.baseUrl"] == "***"
    assert shown["memorySearch.extraPaths"] == [{"path": "x", "pattern": "**/*.md", "exclude": []}]
    assert [row.key for row in describe(load_config(environ=HOME), "other")][:3] == ["document", "dialect", "agent"]


# The tree of annotated values.

TREES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(), lambda inner: st.dictionaries(st.sampled_from("abc"), inner)
)
OBJECTS = st.dictionaries(st.sampled_from("abc"), TREES)


def tree(raw: object, key: str = "k") -> Node:
    return annotate(raw, key, "file", [])


@given(OBJECTS, OBJECTS)
def test_the_later_value_wins_and_nothing_else_is_lost(one: Any, two: Any) -> None:
    merged = to_plain(merge(tree(one), tree(two)))

    assert (
        to_plain(merge(tree(one), tree({})))
        == to_plain(merge(tree({}), tree(one)))
        == to_plain(merge(tree(one), tree(one)))
        == one
    )
    assert merged.keys() == one.keys() | two.keys()
    for name in merged:
        if name not in two:
            assert merged[name] == one[name]
        elif isinstance(one.get(name), dict) and isinstance(two[name], dict):
            assert merged[name] == to_plain(merge(tree(one[name]), tree(two[name])))
        else:
            assert merged[name] == two[name]


@given(OBJECTS)
def test_a_tree_clashes_with_itself_in_every_value_and_with_nothing_else(raw: Any) -> None:
    leaves = sum(1 for _ in find_clashes(tree(raw), tree(raw)))

    assert to_plain(tree(raw)) == raw
    assert list(find_clashes(tree(raw), tree({}))) == []
    assert (leaves == 0) == (all_values(raw) == 0)


def all_values(raw: Any) -> int:
    return sum(all_values(value) for value in raw.values()) if isinstance(raw, dict) else 1


def test_every_workspace_has_its_own_index_whatever_link_leads_to_it(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "one")
    stores = {
        name: load_config(environ=HOME, workspace=tmp_path / name, state_dir=tmp_path).agent().store_path
        for name in ("one", "two", "link")
    }

    assert stores["one"] == stores["link"] != stores["two"]
    assert re.fullmatch(r"main-[0-9a-f]{8}\.sqlite", stores["one"].name)
    assert stores["one"].parent == tmp_path / "memory-core"


def test_a_configured_index_may_name_the_workspace(tmp_path: Path) -> None:
    document = {"memorySearch": {"store": {"path": str(tmp_path / "{agentId}/{workspaceKey}.db")}}}
    config = load_config(document, environ=HOME, workspace=tmp_path).agent("alice")

    assert config.store_path == tmp_path / "alice" / f"{make_workspace_key(tmp_path)}.db"


def test_an_endless_endpoint_is_refused_and_not_repeated() -> None:
    """To strike a key of 180,000 characters out of each message about it took a search six seconds."""
    with pytest.raises(ConfigError, match="baseUrl: String should have at most 2000 characters") as caught:
        load_config(search(remote={"baseUrl": "http://127.0.0.1:9/" + "hunter22" * 20_000}), environ={})
    assert "hunter" not in str(caught.value)


@pytest.mark.parametrize(
    ("document", "key"),
    [
        ({"agents": {"defaults": {"workspace": "notes\0"}}}, "agents.defaults.workspace"),
        ({"agents": {"list": [{"id": "main", "workspace": "\0"}]}}, "agents.list[0].workspace"),
        (search(store={"path": "index\0.sqlite"}), "memorySearch.store.path"),
        (search(extraPaths=["more\0"]), "memorySearch.extraPaths[0]"),
        (search(extraPaths=["more", {"path": "more\0"}]), "memorySearch.extraPaths[1].path"),
    ],
)
def test_a_path_with_a_nul_character_is_refused(document: dict[str, Any], key: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_config(document, environ=HOME)
    assert [(each.key, each.message) for each in caught.value.problems] == [(key, "holds a NUL character")]


@pytest.mark.parametrize("name", ["workspace", "state_dir"])
def test_an_argument_with_a_nul_character_is_refused(name: str) -> None:
    folder: dict[str, Any] = {name: "notes\0"}
    with pytest.raises(InvalidArgument, match=f"{name}: holds a NUL character"):
        load_config({}, environ=HOME, **folder)


def test_a_blank_workspace_is_refused_as_blank() -> None:
    with pytest.raises(ConfigError, match=re.escape("agents.defaults.workspace: expected a string that is not blank")):
        load_config({"agents": {"defaults": {"workspace": " \n"}}}, environ=HOME)
