"""`memory-core install` and `uninstall`, with files as the hosts write them."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest
import yaml

from tests.command import Command

FILES = {
    "codex": (".codex/config.toml", '# mine\nmodel = "x"\n\n[mcp_servers.other]\ncommand = "y" # last\n'),
    "opencode": (".config/opencode/opencode.jsonc", '{\n  // theme\n  "theme": "dark", // note\n}\n'),
    "openclaw": (".openclaw/openclaw.json", "{\n  plugins: {slots: {memory: 'memory-core'}}, // its own\n}\n"),
    "nanobot": (".nanobot/config.json", '{\n  "agents": {\n    "defaults": {}\n  }\n}'),
    "hermes": (".hermes/config.yaml", "# mine\nmemory:\n  provider: honcho # before\n"),
}
HOSTS = [*FILES, "claude-code", "fastmcp"]


def list_files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("host", [*FILES, "claude-code"])
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


@pytest.mark.parametrize("host", [*FILES, "claude-code"])
def test_a_host_without_a_configuration_gets_one_and_loses_it_again(command: Command, home: Path, host: str) -> None:
    assert command("install", host).code == 0
    assert list_files(home)
    assert command("uninstall", host).code == 0
    assert list_files(home) == {}


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


def test_a_file_that_cannot_be_changed_is_left_as_it_is(command: Command, home: Path) -> None:
    path = home / ".codex" / "config.toml"
    path.parent.mkdir()
    path.write_text("mcp_servers = {other = {command = 'y'}}\n", encoding="utf-8")
    done = command("install", "codex")
    assert done.code == 1
    assert "Write it yourself: mcp_servers.memory-core = " in done.error
    assert path.read_text(encoding="utf-8") == "mcp_servers = {other = {command = 'y'}}\n"


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
    assert "memory-core is in place in Codex" in command("doctor").out


def test_the_hosts_are_listed(command: Command) -> None:
    rows = command("install", "--json").json["hosts"]
    assert {row["host"] for row in rows} == set(HOSTS)
    assert not any(row["inPlace"] for row in rows if row["host"] != "fastmcp"), (
        "its entry belongs to the current folder"
    )


def test_an_unknown_host_is_named(command: Command) -> None:
    done = command("install", "emacs")
    assert done.code == 2
    assert "HOST: expected one of claude-code, codex" in done.error
