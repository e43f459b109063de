"""`config init`, `config set` and `config get`, on the user's own file and on one that is named."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

import memory_core
from memory_core.cli.main import main
from memory_core.config.description import COMMON
from memory_core.config.load import load_config
from memory_core.plugin import MemorySlot
from tests.fakes.homes import write

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def config(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    for name in ("MEMORY_CORE_CONFIG", "MEMORY_CORE_WORKSPACE", "MEMORY_CORE_STATE_DIR", "MEMORY_CORE_PROVIDER"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)

    def run(*words: str) -> tuple[int, str, str]:
        code = main(["config", *words])
        shown = capsys.readouterr()
        return code, shown.out, shown.err

    return run


@pytest.fixture
def own(home: Path) -> Path:
    return home / ".clawdbot" / "memory-core" / "config.json5"


def test_a_new_file_sets_nothing_and_names_what_people_change(config: Run, own: Path) -> None:
    assert config("init")[0] == 0
    text = own.read_text(encoding="utf-8")
    assert load_config(own).agent("main") == load_config({}).agent("main")
    assert [name for name in COMMON if f"// {name.rpartition('.')[2]}: " not in text] == []
    assert own.stat().st_mode & 0o777 == 0o600
    code, _, err = config("init")
    assert code == 2
    assert "memory-core config set KEY VALUE" in err


def test_every_setting_of_a_new_file_can_be_uncommented(
    config: Run, own: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    config("init")
    text = re.sub(r"// (\w+: .*,)$", r"\1", own.read_text(encoding="utf-8"), flags=re.MULTILINE)
    own.write_text(text, encoding="utf-8")
    agent = load_config(own).agent("main")
    assert (agent.search.query.max_results, agent.memory.backend, agent.search.recall.enabled) == (10, "qmd", True)
    assert (agent.search.provider, str(agent.search.time_zone)) == ("openai", "Europe/Paris")


@pytest.mark.parametrize(
    ("key", "value", "shown"),
    [
        ("memorySearch.query.maxResults", "9", "9"),
        ("memorySearch.timeZone", "Europe/Paris", "Europe/Paris"),
        ("memorySearch.items.enabled", "true", "yes"),
        ("memorySearch.sources", "['memory', 'workspace']", "memory, workspace"),
        ("memorySearch.model", "3", "3"),
        ("memory.backend", "qmd", "qmd"),
        ("compaction.memoryFlush.enabled", "false", "no"),
        ("agents.defaults.memorySearch.query.minScore", "0.5", "0.5"),
    ],
)
@pytest.mark.parametrize("begun", ["", "init", "adopted"])
def test_a_setting_is_changed_and_read(  # noqa: PLR0917 - fixtures, and what is tried
    config: Run, own: Path, key: str, value: str, shown: str, begun: str
) -> None:
    if begun == "init":
        config("init")
    if begun == "adopted":
        write(own, '{agents: {defaults: {memorySearch: {extraPaths: ["~/Vault"]}}}} // mine\n')
    code, out, err = config("set", key, value)
    assert (code, err) == (0, "")
    assert str(own) in out
    assert config("get", key)[1] == f"{shown}\n"
    assert "// " in own.read_text(encoding="utf-8") or not begun
    assert config(*(("unset", key) if begun == "init" else ("set", key, "null")))[0] == 0
    assert config("get", key)[1] != f"{shown}\n"


@pytest.mark.parametrize("folder", ["~/notes", "/srv/notes"])
def test_the_workspace_is_a_setting(config: Run, folder: str) -> None:
    assert config("set", "workspace", folder)[0] == 0
    assert config("get", "workspace")[1] == f"{Path(folder).expanduser()}\n"


def test_a_setting_of_a_backend_is_shown_before_the_backend_is_chosen(config: Run) -> None:
    assert config("get", "memory.postgres.dsn")[:2] == (0, "unset\n")
    assert config("get", "memory.postgres.pool")[:2] == (0, "4\n")
    assert config("get", "memory.postgres.pol")[0] == 2


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        ("memorySearch.query.maxReslts", "3", 'did you mean "maxResults"'),
        ("memorySearch.query.maxResults", "many", "expected a whole number"),
        ("memorySearch.query.maxResults", "1000", "expected at most 100"),
        ("memorySearch.provider", "opnai", 'did you mean "openai"'),
        ("query.maxResults", "3", "did you mean 'memorySearch.query.maxResults'"),
        ("memorySearch.query", "3", "expected an object"),
        ("theme", "dark", "there is no setting 'theme'"),
        ("memorySearch.extraPaths", "/srv/notes", "expected a list"),
        ("memory.postgres.tennant", "ada", 'did you mean "tenant"'),
        ("memory.backend", "postgress", "installed are builtin, postgres, qmd; did you mean 'postgres'"),
    ],
)
def test_a_wrong_setting_changes_nothing(config: Run, own: Path, key: str, value: str, told: str) -> None:
    config("init")
    before = own.read_bytes()
    code, _, err = config("set", key, value)
    assert code == 2
    assert told in err
    assert len(err.splitlines()) == 1
    assert own.read_bytes() == before


def test_a_list_in_the_section_of_a_backend_is_a_setting(config: Run) -> None:
    assert config("set", "memory.postgres.tenants", '["ada"]')[0] == 0
    assert config("get", "memory.postgres.tenants")[1].split() == ["memory.postgres.tenants[0]", "ada", "(file)"]


def test_a_setting_of_a_backend_is_emptied_and_taken_out(config: Run, own: Path) -> None:
    config("set", "memory.postgres.tenants", '["ada"]')
    code, _, err = config("set", "memory.postgres.tenants", "[]")
    assert (code, err) == (0, "")
    assert config("get", "memory.postgres.tenants")[0] == 0
    config("set", "memory.postgres.tenant", "ada")
    assert config("set", "memory.postgres.tenants", "null")[0] == 0
    assert "tenants" not in own.read_text(encoding="utf-8")
    assert config("get", "memory.postgres.tenants")[:2] == (0, "\n")


def test_a_file_that_is_named_is_changed_in_its_own_syntax(config: Run, tmp_path: Path) -> None:
    path = write(tmp_path / "host.toml", '# mine\n[memorySearch]\nprovider = "static"\n')
    assert config("set", "memorySearch.query.maxResults", "7", "--config", str(path))[0] == 0
    assert path.read_text(encoding="utf-8").startswith("# mine\n")
    assert load_config(path).agent("main").search.query.max_results == 7


def test_keys_are_never_shown(config: Run) -> None:
    _, out, err = config("set", "memorySearch.remote.apiKey", "sk-very-secret")
    assert "sk-very-secret" not in out + err
    assert config("get", "memorySearch.remote.apiKey")[1] == "***\n"
    assert "sk-very-secret" not in config("get")[1]


def test_an_unknown_key_is_no_answer(config: Run) -> None:
    code, _, err = config("get", "memorySearch.qury.maxResults")
    assert code == 2
    assert "did you mean 'memorySearch.query.maxResults'" in err


@pytest.fixture
def named(own: Path, tmp_path: Path) -> Path:
    """A workspace that the user's own settings do not name; these name folders beside a setting."""
    for folder in ("named", "usual", "vault", "handbook"):
        write(tmp_path / folder / "MEMORY.md", f"The kayak of the {folder} is red.\n")
    settings = f"""{{
      memory: {{ layers: {{ handbook: "{tmp_path}/handbook" }} }},
      agents: {{
        defaults: {{
          workspace: "{tmp_path}/usual",
          memorySearch: {{ provider: "none", timeZone: "Asia/Tokyo", extraPaths: ["{tmp_path}/vault"] }},
        }},
        list: [{{ id: "main", workspace: "{tmp_path}/usual",
                  memorySearch: {{ store: {{ path: "{tmp_path}/one.sqlite" }}, extraPaths: ["{tmp_path}/vault"] }} }}],
      }},
    }}"""
    write(own, settings)
    return tmp_path / "named"


@pytest.mark.parametrize("how", ["argument", "variable"])
def test_own_settings_hold_for_a_workspace_that_is_named_but_not_the_folders_in_them(
    named: Path, own: Path, monkeypatch: pytest.MonkeyPatch, config: Run, how: str
) -> None:
    assert config("check")[0] == 0
    monkeypatch.setenv("OPENAI_API_KEY", "sk-placeholder")
    if how == "variable":
        monkeypatch.setenv("MEMORY_CORE_WORKSPACE", str(named))
    given = None if how == "variable" else named
    with MemorySlot(workspace=given) as slot:
        assert slot.call_tool("memory_search", {"query": "kayak"}).get("provider") == "none"
    with memory_core.open_memory(workspace=given) as memory:
        resolved, report, status = memory.config(), memory.sync(), memory.status()
    assert (resolved.workspace, report.files) == (named, 1)
    assert (status.provider, resolved.search.time_zone) == ("none", "Asia/Tokyo")
    assert (resolved.search.extra_paths, resolved.layers) == ((), ())
    assert resolved.store_path.parent == own.parent
    assert status.details["settings"] == str(own)


def test_a_configuration_that_is_named_keeps_its_folders(
    named: Path, own: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Naming the own file is naming one."""
    monkeypatch.setenv("MEMORY_CORE_CONFIG", str(own))
    resolved = load_config(workspace=named).agent()
    assert [extra.path for extra in resolved.search.extra_paths] == [str(tmp_path / "vault")] * 2
    assert resolved.store_path == tmp_path / "one.sqlite"


def test_the_doctor_names_the_settings_that_hold(
    named: Path, own: Path, config: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    assert config("get")[0] == 0
    main(["doctor", "--workspace", str(named)])
    assert f"ok    settings   read from {own}" in capsys.readouterr().out


def test_nothing_is_written_where_nothing_changes(config: Run, own: Path) -> None:
    assert config("unset", "memorySearch.fallback") == (0, f"Nothing to change in {own}\n", "")
    assert not own.exists()
    config("set", "memory.citations", "on")
    written = own.read_bytes()
    assert config("set", "memory.citations", "on")[1].startswith("Nothing to change in ")
    assert own.read_bytes() == written
    own.write_text("{memory: {citations: 'on'}, memorySearch: {provider: 3}}")
    assert config("set", "memory.citations", "on")[:2] == (0, f"Nothing to change in {own}\n")


def test_what_is_doubtful_about_a_new_value_is_told(config: Run, own: Path) -> None:
    code, out, err = config("set", "memorySearch.timeZone", "Nowhere")
    assert (code, "Written: " in out) == (0, True)
    assert "no time zone 'Nowhere'" in err
    assert config("set", "memorySearch.query.maxResults", "9")[2] == ""  # nor is it told again
