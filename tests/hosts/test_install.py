"""`memory-core install` and `uninstall`, with files as the hosts write them."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import tomllib
from codecs import BOM_UTF8
from pathlib import Path

import pytest
import yaml

from memory_core.__about__ import __version__
from memory_core.config.editing import find_entry, read_document
from memory_core.errors import MemoryCoreError
from memory_core.hosts.install import changes, programs
from memory_core.hosts.install.changes import OwnFile
from tests.command import REPOSITORY, Command

FILES = {
    "codex": (".codex/config.toml", '# mine\nmodel = "x"\n\n[mcp_servers.other]\ncommand = "y" # last\n'),
    "opencode": (".config/opencode/opencode.jsonc", '{\n  // theme\n  "theme": "dark", // note\n}\n'),
    "openclaw": (".openclaw/openclaw.json", "{\n  plugins: {slots: {memory: 'memory-core'}}, // its own\n}\n"),
    "nanobot": (".nanobot/config.json", '{\n  "agents": {\n    "defaults": {}\n  }\n}'),
    "zed": (".config/zed/settings.json", '// mine\n{\n  "theme": "One Dark", // dark\n  "vim_mode": true,\n}\n'),
    "cursor": (".cursor/mcp.json", '{\n  "mcpServers": {\n    "other": {"command": "y"}\n  }\n}\n'),
    "vscode": (".config/Code/User/mcp.json", '{\n\t// mine\n\t"servers": {},\n\t"inputs": []\n}'),
    "claude-desktop": (".config/Claude/claude_desktop_config.json", '{\n  "globalShortcut": "Ctrl+Space"\n}\n'),
    "devin": (".config/devin/mcp_config.json", '{\n  "mcpServers": {\n    "other": {"command": "y"} // mine\n  }\n}\n'),
    "windsurf": (
        ".codeium/windsurf/mcp_config.json",
        '{\n  "mcpServers": {\n    "other": {"disabled": true}\n  }\n}\n',
    ),
    "lmstudio": (
        ".lmstudio/mcp.json",
        '{\n  "mcpServers": {\n    // mine\n    "other": {"url": "https://localhost/mcp"}\n  }\n}\n',
    ),
    "pi": (".pi/agent/mcp.json", '{\n  "settings": {"toolPrefix": "short"} // mine\n}\n'),
    "copilot": (".copilot/mcp-config.json", '{\n  "mcpServers": {}\n}\n'),
    "hermes": (".hermes/config.yaml", "# mine\nmemory:\n  provider: honcho # before\n"),
}
HOSTS = [*FILES, "claude-code", "gemini", "fastmcp"]


def list_files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("host", [*FILES, "claude-code", "gemini"])
def test_uninstalling_gives_every_byte_back(command: Command, home: Path, host: str) -> None:
    if host in FILES:
        name, text = FILES[host]
        (home / name).parent.mkdir(parents=True)
        (home / name).write_text(text, encoding="utf-8")
        (home / name).chmod(0o640)
    before = list_files(home)
    shown = command("install", host, "--dry-run")
    assert "Nothing has been changed." in shown.out
    assert "memory-core" in shown.out
    assert list_files(home) == before
    assert command("install", host).code == 0
    assert list_files(home) != before
    assert "in place" in command("doctor").out
    assert "Nothing to do" in command("install", host).out
    if host in FILES:
        assert (home / FILES[host][0]).stat().st_mode & 0o777 == 0o640
    assert command("uninstall", host).code == 0
    assert list_files(home) == before
    assert "Nothing to do" in command("uninstall", host).out


@pytest.mark.parametrize("host", [*FILES, "claude-code", "gemini"])
def test_a_host_without_a_configuration_gets_one_and_loses_it_again(command: Command, home: Path, host: str) -> None:
    assert command("install", host).code == 0
    assert list_files(home)
    assert command("uninstall", host).code == 0
    assert not any(home.iterdir()), "the folders that were made for it are gone, too"


def test_only_folders_that_were_made_and_are_empty_are_removed(command: Command, home: Path) -> None:
    (home / ".cursor").mkdir()
    for host in ("cursor", "zed", "vscode", "windsurf"):
        assert command("install", host).code == 0
    (home / ".codeium" / "windsurf" / "memories").mkdir()
    for host in ("zed", "cursor", "windsurf"):
        assert command("uninstall", host).code == 0
    left = {str(path.relative_to(home)) for path in home.rglob("*") if path.is_dir()}
    assert left == {".cursor", ".config", ".config/Code", ".config/Code/User", ".codeium/windsurf/memories"} | {
        ".codeium", ".codeium/windsurf"
    }  # fmt: skip
    assert command("uninstall", "vscode").code == 0
    assert not (home / ".config").exists(), "it was made for Zed, and VS Code had its folder in it"
    assert not (command.state_dir / "memory-core" / "before-install").exists()


def test_the_file_of_a_plugin_is_left_alone(command: Command) -> None:
    before = (REPOSITORY / "mcp.json").read_bytes()
    for verb in ("install", "uninstall"):  # in the repository, whose mcp.json is of the plugin memory-core
        done = command(verb, "fastmcp")
        assert (done.code, "part of the plugin" in done.error) == (1, True)
    assert (REPOSITORY / "mcp.json").read_bytes() == before


def test_what_the_user_changed_meanwhile_stays(command: Command, home: Path) -> None:
    for host, (name, text) in FILES.items():
        (home / name).parent.mkdir(parents=True)
        (home / name).write_text(text, encoding="utf-8")
        assert command("install", host).code == 0
    codex, hermes = home / FILES["codex"][0], home / FILES["hermes"][0]
    codex.write_text(codex.read_text(encoding="utf-8") + '\n[profiles.p]\nmodel = "z"\n', encoding="utf-8")
    hermes.write_text(hermes.read_text(encoding="utf-8") + "later: 1\n", encoding="utf-8")
    for host in FILES:
        assert command("uninstall", host).code == 0
    document = tomllib.loads(codex.read_text(encoding="utf-8"))
    assert document == {"model": "x", "mcp_servers": {"other": {"command": "y"}}, "profiles": {"p": {"model": "z"}}}
    assert "# mine" in codex.read_text(encoding="utf-8")
    assert yaml.safe_load(hermes.read_text(encoding="utf-8")) == {"memory": {"provider": "honcho"}, "later": 1}


def test_the_entry_starts_the_server_on_the_notes_that_were_named(command: Command, home: Path) -> None:
    assert command("install", "opencode").code == 0
    entry = json.loads((home / ".config/opencode/opencode.json").read_text(encoding="utf-8"))["mcp"]["memory-core"]
    assert entry["command"][-1] == "mcp"
    assert Path(entry["command"][0]).is_absolute()
    assert entry["command"][entry["command"].index("--workspace") + 1] == str(command.workspace)


def test_notes_of_a_host_that_are_no_folder_or_missing_are_told(command: Command, home: Path) -> None:
    (home / "file").write_text("x", encoding="utf-8")
    before = list_files(home)
    for name in ("file", "file/below"):
        done = command("install", "codex", "--workspace", str(home / name))
        assert (done.code, done.out) == (2, "")
        assert f"--workspace: {home}/file is no folder" in done.error
        assert list_files(home) == before
    made = command("install", "codex", "--workspace", str(home / "typo"))
    assert f"~/typo, which does not exist yet; make it: memory-core init {home}/typo" in made.out
    (host,) = [each for each in command("doctor", "--json").json["findings"] if "place in Codex" in each["message"]]
    assert "searches ~/typo, which does not exist, not " in host["message"]
    assert host["action"].startswith(f"make it: memory-core init {home}/typo; or ")
    (own, *_) = command("--workspace", str(home / "typo"), "doctor", "--json").json["findings"]
    assert own["message"] == f"the workspace {home}/typo does not exist"
    assert "--default" not in own["action"]
    assert "--default" not in command("--workspace", str(home / "typo"), "add", "x").error


def test_zed_gets_a_server_beside_others(command: Command, home: Path) -> None:
    path = home / FILES["zed"][0]
    path.parent.mkdir(parents=True)
    path.write_text(
        '{\n  // servers\n  "context_servers": {\n    "other": {"settings": {}},\n  },\n}\n', encoding="utf-8"
    )
    assert command("install", "zed").code == 0
    text = path.read_text(encoding="utf-8")
    assert "// servers" in text
    servers = read_document(text, path.suffix)["context_servers"]
    assert servers["other"] == {"settings": {}}
    entry = servers["memory-core"]
    assert entry.keys() == {"command", "args"}, "Zed needs no env, and one that the user adds has to stay"
    assert Path(entry["command"]).is_absolute()
    assert entry["args"][-1] == "mcp"


PLATFORMS = {
    "zed": {"linux": "moved/zed", "darwin": "home/.config/zed", "win32": "roaming/Zed"},
    "vscode": {
        "linux": "moved/Code/User",
        "darwin": "home/Library/Application Support/Code/User",
        "win32": "roaming/Code/User",
    },
    "claude-desktop": {
        "linux": "moved/Claude",
        "darwin": "home/Library/Application Support/Claude",
        "win32": "roaming/Claude",
    },
    "devin": {"linux": "moved/devin", "darwin": "home/.config/devin", "win32": "roaming/devin"},
}


@pytest.mark.parametrize("platform", ["linux", "darwin", "win32"])
@pytest.mark.parametrize("host", PLATFORMS)
def test_the_settings_of_a_desktop_program_are_where_its_platform_has_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, host: str, platform: str
) -> None:
    for variable, folder in (
        ("HOME", "home"),
        ("XDG_CONFIG_HOME", "moved"),
        ("APPDATA", "roaming"),
        ("LOCALAPPDATA", "local"),
    ):
        monkeypatch.setenv(variable, str(tmp_path / folder))
    monkeypatch.setattr(sys, "platform", platform)
    assert programs.PROGRAMS[host].find_home() == tmp_path / PLATFORMS[host][platform]


def test_a_packaged_claude_desktop_has_its_settings_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path))
    monkeypatch.setenv("APPDATA", str(tmp_path / "roaming"))
    folder = tmp_path / "Packages" / "Claude_pzs8sxrjxfjjc" / "LocalCache" / "Roaming" / "Claude"
    folder.mkdir(parents=True)
    assert programs.PROGRAMS["claude-desktop"].find_home() == folder
    assert programs.PROGRAMS["vscode"].find_home() == tmp_path / "roaming" / "Code" / "User"


@pytest.mark.parametrize(
    ("host", "keys", "also"),
    [
        ("cursor", ("mcpServers",), {"type": "stdio"}),
        ("vscode", ("servers",), {"type": "stdio"}),
        ("claude-desktop", ("mcpServers",), {}),
        ("devin", ("mcpServers",), {}),
        ("windsurf", ("mcpServers",), {}),
        ("lmstudio", ("mcpServers",), {}),
        ("pi", ("mcpServers",), {"exposure": "direct"}),
        ("copilot", ("mcpServers",), {"type": "local", "tools": ["*"]}),
    ],
)
def test_an_entry_starts_the_server_as_the_host_wants_it(
    command: Command, home: Path, host: str, keys: tuple[str, ...], also: dict[str, object]
) -> None:
    assert command("install", host).code == 0
    path = home / FILES[host][0]
    entry = find_entry(read_document(path.read_text(encoding="utf-8"), path.suffix), (*keys, "memory-core"))
    assert entry == {**also, "command": entry["command"], "args": entry["args"]}
    assert Path(entry["command"]).is_absolute()
    assert entry["args"][-1] == "mcp"


def test_the_hooks_of_copilot_are_a_file_of_its_own(command: Command, home: Path) -> None:
    assert command("install", "copilot").code == 0
    hooks = json.loads((home / ".copilot/hooks/memory-core.json").read_text(encoding="utf-8"))
    assert hooks["version"] == 1
    assert {"SessionStart", "UserPromptSubmit", "Stop", "PreCompact"} <= hooks["hooks"].keys()
    assert "hook copilot" in hooks["hooks"]["Stop"][0]["bash"]


@pytest.mark.parametrize(
    ("host", "line"),
    [
        ("claude-code", r"""'C:\Program Files\O'"'"'Neil\python.exe' -m memory_core hook"""),
        ("codex", r""""C:\Program Files\O'Neil\python.exe" -m memory_core hook codex"""),
        ("gemini", r"& 'C:\Program Files\O''Neil\python.exe' '-m' 'memory_core' 'hook' 'gemini'"),
        ("copilot", r"& 'C:\Program Files\O''Neil\python.exe' '-m' 'memory_core' 'hook' 'copilot'"),
    ],
)
def test_a_hook_on_windows_is_quoted_for_the_shell_that_runs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, host: str, line: str
) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    start = programs.Start((r"C:\Program Files\O'Neil\python.exe", "-m", "memory_core"))
    parts = programs.PROGRAMS[host].plan(tmp_path, start)
    written = [part.text if isinstance(part, OwnFile) else json.dumps(part.value) for part in parts]
    assert json.dumps(line) in "".join(written)


def test_the_list_begins_with_what_this_computer_has(command: Command, home: Path) -> None:
    (home / ".cursor").mkdir()
    assert command("install", "windsurf").code == 0
    rows = {row["host"]: (row["found"], row["inPlace"]) for row in command("--json", "install").json["hosts"]}
    assert (rows["cursor"], rows["windsurf"], rows["pi"]) == ((True, False), (True, True), (False, False))
    lines = [line.split()[:2] for line in command("install").out.splitlines()[1:]]
    assert lines.index(["cursor", "no"]) < lines.index(["windsurf", "in"]) < lines.index(["codex", "-"])


def test_a_file_that_cannot_be_changed_is_left_as_it_is(command: Command, home: Path) -> None:
    path = home / ".codex" / "config.toml"
    path.parent.mkdir()
    path.write_text("mcp_servers = 7\n", encoding="utf-8")
    done = command("install", "codex")
    said, _, block = done.err.partition("\n")
    assert (done.code, said.endswith("Write this into it yourself:")) == (1, True)
    assert tomllib.loads(block)["mcp_servers"]["memory-core"]["args"][-1] == "mcp"
    assert path.read_text(encoding="utf-8") == "mcp_servers = 7\n"


def test_a_damaged_file_is_to_be_mended_first(command: Command, home: Path) -> None:
    path = home / ".codex" / "config.toml"
    path.parent.mkdir()
    path.write_text('model = "x"\n[mcp_servers.other\n', encoding="utf-8")
    for verb in ("install", "uninstall"):
        told = command(verb, "codex").error
        assert "cannot be read: line 2" in told
        assert told.endswith("Mend it, and run the command again")


@pytest.mark.parametrize("below", ["", 'model = "x"\n', '\n[profiles.p]\nmodel = "z"\n'])
def test_servers_in_dotted_lines_stay_beside_ours(command: Command, home: Path, below: str) -> None:
    path = home / ".codex" / "config.toml"
    path.parent.mkdir()
    text = f'mcp_servers.github.command = "npx"\nmcp_servers.github.args = ["x"]\n{below}'
    path.write_text(text, encoding="utf-8")
    assert command("install", "codex").code == 0
    document = tomllib.loads(path.read_text(encoding="utf-8"))
    assert document["mcp_servers"].keys() == {"github", "memory-core"}
    del document["mcp_servers"]["memory-core"]
    assert document == tomllib.loads(text)
    assert "in place in Codex" in command("install", "codex", "--workspace", str(home)).out
    with path.open("a", encoding="utf-8") as file:
        file.write("\n[later]\nx = 1\n")
    assert command("uninstall", "codex").code == 0
    assert tomllib.loads(path.read_text(encoding="utf-8")) == tomllib.loads(text + "\n[later]\nx = 1\n")


@pytest.mark.parametrize(
    ("host", "text"),
    [
        ("codex", "mcp_servers = {other = {command = 'y'}} # mine\n"),
        ("hermes", "# mine\nmemory: {provider: honcho, deep: {provider: x}}\n"),
    ],
)
def test_mappings_in_one_line_are_changed_and_given_back(command: Command, home: Path, host: str, text: str) -> None:
    path = home / FILES[host][0]
    path.parent.mkdir(parents=True)
    path.write_text(text, encoding="utf-8")
    assert command("install", host).code == 0
    assert "memory-core" in path.read_text(encoding="utf-8")
    assert "# mine" in path.read_text(encoding="utf-8")
    assert command("uninstall", host).code == 0
    assert path.read_text(encoding="utf-8") == text


@pytest.mark.parametrize("host", FILES)
def test_a_byte_order_mark_stays(command: Command, home: Path, host: str) -> None:
    name, text = FILES[host]
    path = home / name
    path.parent.mkdir(parents=True)
    path.write_text(text, encoding="utf-8-sig")
    before = path.read_bytes()
    assert command("install", host).code == 0
    assert path.read_bytes().startswith(BOM_UTF8)
    assert path.read_bytes().count(BOM_UTF8) == 1
    assert "in place" in command("doctor").out
    assert command("uninstall", host).code == 0
    assert path.read_bytes() == before


def test_a_link_stays_a_link(command: Command, home: Path) -> None:
    (home / "dotfiles").mkdir()
    (home / "dotfiles" / "config.toml").write_text('model = "x"\n', encoding="utf-8")
    (home / ".codex").mkdir()
    (home / ".codex" / "config.toml").symlink_to(home / "dotfiles" / "config.toml")
    assert command("install", "codex").code == 0
    assert (home / ".codex" / "config.toml").is_symlink()
    assert "memory-core" in (home / "dotfiles" / "config.toml").read_text(encoding="utf-8")


def test_the_doctor_says_what_is_wrong_with_an_entry(command: Command, home: Path) -> None:
    (home / ".codex").mkdir()
    assert "memory-core is not in Codex; to change that: memory-core install codex" in command("doctor").out
    gone = '[mcp_servers.memory-core]\ncommand = "/nowhere/memory-core"\nargs = ["mcp"]\n'
    (home / ".codex" / "config.toml").write_text(gone, encoding="utf-8")
    said = command("doctor", "--json").json["findings"]
    assert [finding["level"] for finding in said if "Codex" in finding["message"]] == ["warn"]
    assert command("install", "codex").code == 0
    (home / ".codex" / "hooks.json").unlink()
    assert "hooks.json lacks what memory-core needs there" in command("doctor").out
    assert command("install", "codex").code == 0
    assert "memory-core is in place in Codex" in command("doctor").out


def test_the_doctor_names_the_hooks_that_codex_has_not_been_told_to_trust(command: Command, home: Path) -> None:
    """Codex keeps which are trusted by their file, event and place; somebody else's hook stands before one of ours."""
    hooks, config = home / ".codex" / "hooks.json", home / ".codex" / "config.toml"
    hooks.parent.mkdir()
    hooks.write_text(json.dumps({"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "x"}]}]}}))
    assert command("install", "codex").code == 0

    def name_untrusted() -> list[str]:
        said = [each for each in command("doctor", "--json").json["findings"] if "trusted" in each["message"]]
        assert [each["level"] for each in said] == ["warn"] * len(said)
        return [event for each in said for event in each["message"].rpartition(": ")[2].split(", ")]

    places = {
        "SessionStart": "session_start:0:0", "UserPromptSubmit": "user_prompt_submit:0:0", "Stop": "stop:1:0",
        "SubagentStop": "subagent_stop:0:0", "PreCompact": "pre_compact:0:0",
    }  # fmt: skip
    assert {*name_untrusted()} == {*places}
    plain = config.read_text(encoding="utf-8")

    def trust(*trusted: str, more: str = "") -> None:
        tables = "".join(f'\n[hooks.state."{hooks}:{place}"]\ntrusted_hash = "sha256:0"\n{more}' for place in trusted)
        config.write_text(f"{plain}{tables}", encoding="utf-8")

    trust(*places.values())
    assert name_untrusted() == []
    trust("stop:0:0", *[place for event, place in places.items() if event != "Stop"])
    assert name_untrusted() == ["Stop"]
    trust(places["Stop"], more="enabled = false\n")
    assert {*name_untrusted()} == {*places}


@pytest.mark.parametrize("written", ["[hooks]\nstate = 3\n", '[hooks.state]\n"{hooks}:stop:0:0" = "x"\n'])
def test_the_doctor_goes_on_where_codex_keeps_something_else_of_hooks(
    command: Command, home: Path, written: str
) -> None:
    config = home / ".codex" / "config.toml"
    config.parent.mkdir()
    assert command("install", "codex").code == 0
    with config.open("a", encoding="utf-8") as file:
        file.write("\n" + written.replace("{hooks}", str(config.with_name("hooks.json"))))
    said = command("doctor", "--json").json["findings"]
    assert any("trusted" in each["message"] for each in said)


def test_hooks_of_others_stay_beside_ours(command: Command, home: Path) -> None:
    path = home / ".codex" / "hooks.json"
    path.parent.mkdir()
    first, later = ({"hooks": [{"type": "command", "command": name}]} for name in ("first", "later"))
    text = json.dumps({"hooks": {"PreCompact": [first]}})
    path.write_text(text, encoding="utf-8")

    def read() -> list[object]:
        return list(json.loads(path.read_text(encoding="utf-8"))["hooks"]["PreCompact"])

    assert command("install", "codex").code == 0
    assert [read()[0], len(read())] == [first, 2]
    assert command("uninstall", "codex").code == 0
    assert path.read_text(encoding="utf-8") == text
    assert command("install", "codex").code == 0
    path.write_text(json.dumps({"hooks": {"PreCompact": [*read(), later]}}), encoding="utf-8")
    assert command("--agent", "other", "install", "codex").code == 0
    assert [read()[:2], len(read())] == [[first, later], 3], "ours has been replaced"
    assert command("uninstall", "codex").code == 0
    assert read() == [first, later]


def test_hooks_that_a_newer_version_needs_are_added(command: Command, home: Path) -> None:
    path = home / ".codex" / "hooks.json"
    assert command("install", "codex").code == 0
    hooks = json.loads(path.read_text(encoding="utf-8"))["hooks"]
    assert list(hooks) == ["SessionStart", "UserPromptSubmit", "Stop", "SubagentStop", "PreCompact"]
    path.write_text(json.dumps({"hooks": {"PreCompact": hooks["PreCompact"]}}), encoding="utf-8")
    assert "hooks.json lacks what memory-core needs there" in command("doctor").out
    assert command("install", "codex").code == 0
    after = json.loads(path.read_text(encoding="utf-8"))["hooks"]
    assert after == hooks
    assert command("uninstall", "codex").code == 0
    assert list_files(home) == {}


def test_hooks_that_are_no_list_are_left_as_they_are(command: Command, home: Path) -> None:
    path = home / ".codex" / "hooks.json"
    path.parent.mkdir()
    path.write_text('{"hooks": {"PreCompact": 7}}', encoding="utf-8")
    done = command("install", "codex")
    said, _, block = done.err.partition("\n")
    assert (done.code, "has no list at hooks.PreCompact" in said) == (1, True)
    hooks = json.loads(block)["hooks"]
    assert hooks["PreCompact"][0]["hooks"][0]["type"] == "command"
    assert len(hooks) == 5
    assert path.read_text(encoding="utf-8") == '{"hooks": {"PreCompact": 7}}'


def test_the_hosts_are_listed(command: Command) -> None:
    rows = command("install", "--json").json["hosts"]
    assert {row["host"] for row in rows} == set(HOSTS)
    assert not any(row["inPlace"] for row in rows if row["host"] != "fastmcp"), (
        "its entry belongs to the current folder"
    )


def test_uninstall_without_a_host_lists_them(command: Command) -> None:
    assert command("install", "cursor").code == 0
    done = command("uninstall")
    assert (done.code, ["cursor", "in", "place"] in [line.split()[:3] for line in done.out.splitlines()]) == (0, True)
    assert done.out.endswith("memory-core uninstall HOST\n")


def test_an_unknown_host_is_named(command: Command) -> None:
    done = command("install", "emacs")
    assert done.code == 2
    assert "HOST: there is no host 'emacs'. See what is there: memory-core install" in done.error


@pytest.mark.parametrize(
    ("asked", "meant"),
    [
        ("Claude-Code", "claude-code"),
        ("claudecode", "claude-code"),
        ("claude", "claude-code"),
        ("Claude Code", "claude-code"),
        ("claude_desktop", "claude-desktop"),
        ("VS Code", "vscode"),
        ("LM-Studio", "lmstudio"),
        ("Gemini CLI", "gemini"),
        ("OpenCode", "opencode"),
        ("emacs", None),
        ("", None),
    ],
)
def test_a_host_is_known_by_its_names_in_any_spelling(asked: str, meant: str | None) -> None:
    assert programs.find_host(asked) == meant


def test_a_host_in_another_spelling_is_installed_and_what_comes_next_is_told(command: Command, home: Path) -> None:
    done = command("install", "Claude", "--capture")
    assert "Next: start Claude Code anew" in done.out
    assert "Capture stays on" not in done.out
    again = command("install", "claudecode", "--workspace", str(home))
    assert "Capture stays on, and what is said is kept" in again.out
    assert command("uninstall", "CLAUDE CODE").code == 0
    assert not (home / ".claude" / "skills").exists()


def test_what_ends_capture_ends_it_in_the_configuration_of_the_host(command: Command, home: Path) -> None:
    bound = ("--config", str(home / "own.json5"))
    command("config", "set", "memorySearch.items.capture.journal", "true", *bound)
    told = command("install", "claude-code", *bound).out.partition("to end that: memory-core ")[2].splitlines()[0]
    assert command(*shlex.split(told)).code == 0
    assert "Capture stays on" not in command("install", "claude-code", *bound).out


def test_an_empty_home_is_no_folder(command: Command) -> None:
    done = command("install", "codex", "--dry-run", environment={"HOME": ""})
    assert (done.code, done.out) == (2, "")
    assert "HOME: is empty" in done.error


KEY = "sk-planted-7f3a"


@pytest.mark.parametrize(
    ("host", "text", "place"),
    [
        ("openclaw", "{gateway: {auth: {token: '" + KEY + "'}},\n  oops\n", "line "),
        ("codex", f'key = "{KEY}"\n[a\n', "line 2"),
        ("hermes", f"a: 1\nkey: '{KEY}' '{KEY}'\n", "line 2"),
    ],
)
def test_a_file_that_cannot_be_read_is_not_quoted(
    command: Command, home: Path, host: str, text: str, place: str
) -> None:
    path = home / FILES[host][0]
    path.parent.mkdir(parents=True)
    path.write_text(text, encoding="utf-8")
    done = command("install", host)
    assert done.code == 1
    assert place in done.error
    assert KEY not in done.out + done.err
    assert path.read_text(encoding="utf-8") == text


def test_the_report_for_programs_quotes_no_file(command: Command, home: Path) -> None:
    path = home / FILES["codex"][0]
    path.parent.mkdir(parents=True)
    path.write_text(f'key = "{KEY}"\n', encoding="utf-8")
    for name, verbs in (
        ("install", ["written", "changed", "written"]),
        ("uninstall", ["changed", "removed", "removed"]),
    ):
        done = command(name, "codex", "--json")
        assert [file["change"] for file in done.json["files"]] == verbs
        assert KEY not in done.out


def test_what_the_user_added_to_an_entry_stays(command: Command, home: Path) -> None:
    path = home / FILES["nanobot"][0]
    path.parent.mkdir(parents=True)
    entry = {"command": "/nowhere/memory-core", "args": ["mcp"], "env": {"OPENAI_API_KEY": KEY}, "disabled": True}
    text = json.dumps({"tools": {"mcpServers": {"memory-core": entry}}})
    path.write_text(text, encoding="utf-8")
    assert command("install", "nanobot").code == 0
    after = json.loads(path.read_text(encoding="utf-8"))["tools"]["mcpServers"]["memory-core"]
    assert after["command"] != entry["command"]
    assert (after["env"], after["disabled"]) == (entry["env"], True)
    done = command("uninstall", "nanobot")
    assert path.read_text(encoding="utf-8") == text
    assert "the entry for memory-core that it had before" in done.out
    assert command("uninstall", "nanobot").code == 0
    assert json.loads(path.read_text(encoding="utf-8")) == {}, "install did not make this file"


@pytest.mark.parametrize(
    ("host", "name"),
    [
        ("claude-code", ".claude/skills/memory-core/.mcp.json"),
        ("gemini", ".gemini/extensions/memory-core/gemini-extension.json"),
    ],
)
def test_what_the_user_added_to_the_entry_in_a_file_of_ours_stays(
    command: Command, home: Path, host: str, name: str
) -> None:
    assert command("install", host).code == 0
    document = json.loads((home / name).read_text(encoding="utf-8"))
    document["mcpServers"]["memory-core"] |= {"env": {"OPENAI_API_KEY": KEY}, "command": "/nowhere/memory-core"}
    (home / name).write_text(json.dumps(document | {"version": "0.1"}), encoding="utf-8")
    assert command("install", host).code == 0
    after = json.loads((home / name).read_text(encoding="utf-8"))
    assert after["mcpServers"]["memory-core"]["env"] == {"OPENAI_API_KEY": KEY}
    assert after["mcpServers"]["memory-core"]["command"] != "/nowhere/memory-core"
    assert after.get("version") == (None if host == "claude-code" else __version__)
    assert "Nothing to do" in command("install", host).out
    (home / name).write_text("{", encoding="utf-8")
    assert command("install", host).code == 0
    assert "in place" in command("doctor").out
    assert command("uninstall", host).code == 0
    assert list_files(home) == {}


COMMENTED = {
    "codex": """# before
[mcp_servers.memory-core] # the notes
# where it is
  command = "/old/memory-core" # of pipx
args = [
  "mcp", # over stdio
]
env.A = "1" # mine
# switched on
enabled = true

# behind
[other]
a = 1
""",
    "opencode": """{
  "mcp": {
    // the notes
    "memory-core": { /* begins */
      // a local one
      "type": "local", // never remote
      "command": ["/old/memory-core", "mcp"], // of pipx
      "environment": {"A": "1"}, // mine
    },
  },
}
""",
}


@pytest.mark.parametrize("host", COMMENTED)
def test_comments_within_the_entry_stay(command: Command, home: Path, host: str) -> None:
    path = home / FILES[host][0]
    path.parent.mkdir(parents=True)
    before = COMMENTED[host]
    path.write_text(before, encoding="utf-8")
    assert command("install", host).code == 0
    after = path.read_text(encoding="utf-8")
    assert "/old/" not in after
    changed = [line for line in before.splitlines() if line not in after.splitlines()]
    assert len(changed) <= 4, "the command, and the list of arguments"
    comments = (
        "the notes",
        "where it is",
        "of pipx",
        "mine",
        "switched on",
        "behind",
        "begins",
        "a local one",
        "never",
    )
    assert [each for each in comments if each in before and each not in after] == []
    document = read_document(after, path.suffix)
    entry = find_entry(document, ("mcp_servers" if host == "codex" else "mcp", "memory-core"))
    assert entry.get("env", entry.get("environment")) == {"A": "1"}
    path.write_text(after.replace("// mine", "// ours").replace("# mine", "# ours"), encoding="utf-8")
    assert "Nothing to do" in command("install", host).out
    assert command("--agent", "other", "install", host).code == 0
    assert "ours" in path.read_text(encoding="utf-8")
    assert '"other"' in path.read_text(encoding="utf-8")


@pytest.mark.parametrize("later", [["--capture"], ["--workspace", "notes"]])
@pytest.mark.parametrize("turned", [False, True])
def test_an_entry_that_install_made_goes_with_the_first_uninstall(
    command: Command, home: Path, later: list[str], turned: bool
) -> None:
    before = list_files(home)
    for options in [later, []] if turned else [[], later]:
        assert command("install", "codex", *options).code == 0
    assert "is without memory-core" in command("uninstall", "codex").out
    assert list_files(home) == before


@pytest.mark.parametrize(
    "text",
    [
        'command = "x"',
        'command = "/old"\nargs = ["mcp"]',
        'command = "other"\nargs = ["--dir", "/x/memory-core"]',
        'command = "python"\nargs = ["-m", "other", "memory-core"]',
    ],
)
def test_an_entry_that_was_there_is_given_back_and_goes_with_the_next_uninstall(
    command: Command, home: Path, text: str
) -> None:
    path = home / FILES["codex"][0]
    path.parent.mkdir(parents=True)
    path.write_text(f"[mcp_servers.memory-core]\n{text}\n", encoding="utf-8")
    before = list_files(home)
    assert command("install", "codex").code == 0
    assert list_files(home) != before
    assert "to remove it, uninstall again" in command("uninstall", "codex").out
    assert list_files(home) == before
    assert command("uninstall", "codex").code == 0
    assert list_files(home) == {}


@pytest.mark.parametrize(
    ("host", "text", "named"),
    [
        ("codex", "[mcp_servers.memory-core]\ncommand = 'mine'\n", "mcp_servers.memory-core in ~/.codex/config.toml"),
        ("hermes", "memory:\n  provider: honcho\n", "memory.provider in ~/.hermes/config.yaml"),
        ("codex", "[mcp_servers.memory-core]\ncommand = '/old/memory-core'\nenv = {A = '1'}\n", ""),
    ],
)
def test_an_entry_of_another_command_that_is_replaced_is_named(
    command: Command, home: Path, host: str, text: str, named: str
) -> None:
    path = home / FILES[host][0]
    path.parent.mkdir(parents=True)
    path.write_text(text, encoding="utf-8")
    told = command("install", host).out
    assert ("was another one" in told, f"{named} was another one" in told) == (bool(named), bool(named))
    assert "was another one" not in command("install", host, "--workspace", str(home)).out


def test_hooks_that_codex_has_switched_off_are_told(command: Command, home: Path) -> None:
    path = home / ".codex" / "config.toml"
    path.parent.mkdir()
    path.write_text("[features]\nhooks = false\n", encoding="utf-8")
    assert "Codex runs no hooks, since features.hooks is false in its config.toml; set it to true." in (
        command("install", "codex").out
    )
    told = [each for each in command("doctor", "--json").json["findings"] if "runs no hooks" in each["message"]]
    assert [(each["level"], each["action"]) for each in told] == [("warn", "set it to true")]


def test_a_dry_run_of_uninstall_shows_no_copy(command: Command, home: Path) -> None:
    path = home / FILES["codex"][0]
    path.parent.mkdir(parents=True)
    path.write_text(FILES["codex"][1], encoding="utf-8")
    assert command("install", "codex", "--capture").code == 0
    shown = command("uninstall", "codex", "--dry-run").out
    assert f"--- {path}\n" in shown
    assert "before-install" not in shown


def test_what_captures_stays_while_another_folder_of_the_host_needs_it(command: Command, home: Path) -> None:
    other = {"CODEX_HOME": str(home / "c3")}
    own = command.state_dir / "memory-core" / "config.json5"
    assert command("install", "codex", "--capture").code == 0
    assert "Capture is on" in command("install", "codex", "--capture").out
    assert command("install", "codex", environment=other).code == 0
    told = command("uninstall", "codex", environment=other).out
    assert f"Capture stays on for Codex in {home}/.codex." in told
    assert '"journal": true' in own.read_text(encoding="utf-8")
    assert command("install", "codex", "--capture", environment=other).code == 0
    told = command("uninstall", "codex").out
    assert f"Capture stays on for Codex in {home}/c3." in told
    assert '"journal": true' in own.read_text(encoding="utf-8")
    told = command("uninstall", "codex", environment=other).out
    assert "Capture stays on" not in told
    assert "memory-core activity" in told
    assert not own.exists()


@pytest.mark.parametrize(
    "text",
    [
        'command = "/old/memory-core"\nargs = ["mcp", "--workspace", "notes"]',
        'command = "/old/python"\nargs = ["-P", "-m", "memory_core", "mcp"]',
    ],
)
def test_an_entry_of_an_older_install_goes_with_the_first_uninstall(command: Command, home: Path, text: str) -> None:
    path = home / FILES["codex"][0]
    path.parent.mkdir(parents=True)
    path.write_text(f"[mcp_servers.memory-core]\n{text}\n", encoding="utf-8")
    assert command("install", "codex").code == 0
    assert "is without memory-core" in command("uninstall", "codex").out
    assert list_files(home) == {}


@pytest.mark.parametrize("text", ['{"hooks":{}}', '{"x": 1, "hooks": {"Stop": []}}', "{}", '{"hooks": {"Other": []}}'])
def test_empty_lists_are_given_back(tmp_path: Path, text: str) -> None:
    path, state = tmp_path / "hooks.json", tmp_path / "state"
    ours = {name: {"run": "memory-core"} for name in ("Start", "Stop")}
    parts = [changes.Elements(path, ("hooks",), ours, "memory-core")]
    path.write_text(text, encoding="utf-8")
    changes.make_changes(changes.plan_install(parts, state), state)
    installed = path.read_text(encoding="utf-8")
    assert changes.are_in_place(parts)
    changes.make_changes(changes.plan_uninstall(parts, state), state)
    assert path.read_text(encoding="utf-8") == text
    changes.make_changes(changes.plan_install(parts, state), state)
    path.write_text(installed.replace("{", '{"later": 2, ', 1), encoding="utf-8")  # by somebody, meanwhile
    changes.make_changes(changes.plan_uninstall(parts, state), state)
    assert json.loads(path.read_text(encoding="utf-8")) == {"later": 2, **json.loads(text)}


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names")
def test_a_pipe_in_place_of_a_configuration_is_an_error_at_once(command: Command, home: Path) -> None:
    path = home / FILES["codex"][0]
    path.parent.mkdir(parents=True)
    os.mkfifo(path)
    for words in (("install", "codex"), ("uninstall", "codex"), ("install", "codex", "--dry-run")):
        done = command(*words)
        assert (done.code, "config.toml is not a file" in done.error) == (1, True)


@pytest.mark.parametrize("planted", ["copy", "dangling copy", "folder"])
def test_no_copy_is_kept_behind_a_link(command: Command, home: Path, tmp_path: Path, planted: str) -> None:
    victim = tmp_path / "victim"
    _plant("codex", home)
    kept = command.state_dir / "memory-core" / "before-install"
    assert command("install", "codex").code == 0
    names = [each.name for each in kept.iterdir()]
    assert command("uninstall", "codex").code == 0
    if planted == "folder":
        victim.mkdir()
        kept.symlink_to(victim)
    else:
        kept.mkdir()
        for name in names:
            (kept / name).symlink_to(victim)
    if planted == "copy":
        victim.write_text("mine", encoding="utf-8")
    before = list_files(tmp_path), list_files(home)
    for words in (("install", "codex"), ("uninstall", "codex")):
        done = command(*words)
        assert (done.code, "is a link" in done.error) == (1, True)
    assert (list_files(tmp_path), list_files(home)) == before
    assert not victim.exists() or planted != "dangling copy"


def test_tables_within_the_entry_stay_and_go_with_it(command: Command, home: Path) -> None:
    path = home / FILES["codex"][0]
    path.parent.mkdir(parents=True)
    env = f'[mcp_servers.memory-core.env]\nOPENAI_API_KEY = "{KEY}" # mine\n'
    assert command("install", "codex").code == 0
    path.write_text(path.read_text(encoding="utf-8") + "\n" + env, encoding="utf-8")
    path.write_text(path.read_text(encoding="utf-8").replace("required = true\n", ""), encoding="utf-8")
    assert command("install", "codex").code == 0
    text = path.read_text(encoding="utf-8")
    assert env in text
    assert tomllib.loads(text)["mcp_servers"]["memory-core"]["required"] is True
    [copy] = (command.state_dir / "memory-core" / "before-install").glob("*-config.toml")
    copy.unlink()
    assert command("uninstall", "codex").code == 0
    assert tomllib.loads(path.read_text(encoding="utf-8")) == {}


def test_an_entry_that_cannot_be_taken_out_is_named(command: Command, home: Path) -> None:
    path = home / FILES["cursor"][0]
    path.parent.mkdir(parents=True)
    entry = '"mcpServers": {"memory-core": {"command": "y"}}'
    path.write_text(f"{{{entry}, {entry}}}\n", encoding="utf-8")
    assert "Take mcpServers.memory-core out of it yourself" in command("uninstall", "cursor").error


@pytest.mark.parametrize("host", FILES)
def test_line_ends_stay(command: Command, home: Path, host: str) -> None:
    path = home / FILES[host][0]
    path.parent.mkdir(parents=True)
    given = FILES[host][1].replace("\n", "\r\n").encode()
    path.write_bytes(given)
    assert command("install", host).code == 0
    written = path.read_bytes()
    assert written.count(b"\n") == written.count(b"\r\n")
    assert command("uninstall", host).code == 0
    assert path.read_bytes() == given


def test_a_file_that_was_changed_meanwhile_is_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text("{}", encoding="utf-8")
    parts = [changes.Entry(path, ("mcp", "memory-core"), {"command": "x"})]
    planned = changes.plan_install(parts, tmp_path / "state")
    path.write_text('{"new": 1}', encoding="utf-8")
    with pytest.raises(MemoryCoreError, match="has been changed meanwhile"):
        changes.make_changes(planned, tmp_path / "state")
    assert list_files(tmp_path) == {"config.json": b'{"new": 1}', "state/memory-core/install.lock": b""}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (".mcp.json", "{"),
        (".mcp.json", '{"mcpServers": {"memory-core": {"command": []}}}'),
        (".claude-plugin/plugin.json", "{}"),
        (".claude-plugin/plugin.json", "[]"),
    ],
)
def test_the_doctor_names_a_damaged_file_of_the_plugin(command: Command, home: Path, name: str, text: str) -> None:
    assert command("install", "claude-code").code == 0
    (home / ".claude" / "skills" / "memory-core" / name).write_text(text, encoding="utf-8")
    said = command("doctor", "--json").json["findings"]
    (finding,) = [finding for finding in said if "Claude Code" in finding["message"]]
    assert finding["level"] == "warn"
    assert f"{name} is damaged" in finding["message"]


def test_nothing_of_the_current_folder_is_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A project's own memory_core, where Python would look first."""
    project = tmp_path / "project" / "memory_core"
    project.mkdir(parents=True)
    (project / "__init__.py").write_text("", encoding="utf-8")
    (project / "__main__.py").write_text("print('stranger')\n", encoding="utf-8")
    with monkeypatch.context() as patched:
        patched.setattr(sys, "executable", str(tmp_path / "python"))  # beside which there is no script
        words = programs.find_start().words
    done = subprocess.run(
        [sys.executable, *words[1:], "--version"], cwd=project.parent, check=True, capture_output=True, encoding="utf-8"
    )
    assert done.stdout.strip().endswith(__version__)


SECRET = "sk-proj-planted-secret-123456"


def _plant(host: str, home: Path) -> Path:
    name, text = FILES[host]
    path = home / name
    path.parent.mkdir(parents=True)
    path.write_text(text.replace("mine", SECRET).replace("theme\n", f"{SECRET}\n"), encoding="utf-8")
    path.chmod(0o640)
    return path


@pytest.mark.parametrize("host", FILES)
def test_copies_lie_in_the_state_folder_for_their_owner_alone(command: Command, home: Path, host: str) -> None:
    path = _plant(host, home)
    before = path.read_bytes()
    assert command("install", host).code == 0
    assert [each.name for each in path.parent.iterdir() if path.name in each.name] == [path.name]
    [copy] = (command.state_dir / "memory-core" / "before-install").glob(f"*-{path.name}")
    assert (copy.read_bytes(), copy.stat().st_mode & 0o777, copy.parent.stat().st_mode & 0o777) == (
        before,
        0o600,
        0o700,
    )
    assert path.stat().st_mode & 0o777 == 0o640
    assert command("uninstall", host).code == 0
    assert path.read_bytes() == before
    assert not copy.parent.exists()


@pytest.mark.parametrize("kind", ["symlink", "hard link", "folder"])
@pytest.mark.parametrize(
    "name", [".{}.memory-core.tmp", ".{}.memory-core.lock", "{}.before-memory-core", "{}.bak", ".{}.lock"]
)
def test_what_others_put_beside_a_file_stays_as_it_is(command: Command, home: Path, name: str, kind: str) -> None:
    path, victim = _plant("codex", home), home / "victim"
    victim.write_text("mine", encoding="utf-8")
    planted = path.parent / name.format(path.name)
    if kind == "folder":
        planted.mkdir()
        (planted / "inner").write_text("mine", encoding="utf-8")
    else:
        (planted.symlink_to if kind == "symlink" else planted.hardlink_to)(victim)
    before = list_files(home)
    assert command("install", "codex").code == 0
    assert command("uninstall", "codex").code == 0
    assert list_files(home) == before
    assert planted.is_symlink() == (kind == "symlink")


def test_a_link_of_a_repository_may_not_lead_out_of_it(command: Command, home: Path, tmp_path: Path) -> None:
    repository, outside = tmp_path / "cloned", tmp_path / "outside.json"
    (repository / ".git").mkdir(parents=True)
    outside.write_text("{}", encoding="utf-8")
    (repository / "mcp.json").symlink_to(outside)
    done = subprocess.run(
        [*command.start(), "install", "fastmcp"], cwd=repository, env={**command.variables(), "PYTHONPATH": str(REPOSITORY)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode != 0
    assert "leads out of" in done.stderr
    assert outside.read_text(encoding="utf-8") == "{}"
