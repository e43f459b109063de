"""A home folder that is empty, missing or unknown, and folders that this user may not enter."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from memory_core import ConfigError, MemoryCoreError, open_memory
from tests.command import Command, as_ordinary_owner, run

NO_PASSWD_ENTRY = 54321  # no user has it on any machine that runs these tests
# Imported and resolved once as root: the other user may not read this Python's own files.
WITHOUT_HOME = """
import os, memory_core
memory_core.open_memory(workspace="/w", state_dir="/s").close()
os.setuid({user})
try:
    memory_core.open_memory()
except memory_core.MemoryCoreError as error:
    print(error)
"""


@pytest.mark.parametrize("arguments", [("status",), ("index",), ("search", "x"), ("config", "check")])
def test_an_empty_home_is_an_error_that_says_what_to_set(command: Command, arguments: tuple[str, ...]) -> None:
    done = run([sys.executable, "-m", "memory_core", *arguments], {**command.variables(), "HOME": ""})
    assert done.code == 2
    assert done.error.startswith("memory-core: environment: HOME: is empty; set HOME, or name the folders")
    assert not Path("/clawd").exists()
    assert not Path("/.clawdbot").exists()


def test_no_home_is_needed_by_those_who_name_their_folders(command: Command) -> None:
    done = command("status", environment={"HOME": ""})
    assert done.code == 0, done.err


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root may run a program as another user"
)
def test_no_home_and_no_passwd_entry_is_told(command: Command) -> None:
    environment = {name: value for name, value in command.variables().items() if name != "HOME"}
    done = run([sys.executable, "-c", WITHOUT_HOME.format(user=NO_PASSWD_ENTRY)], environment)
    assert "HOME: is not set, and this user has no home folder; set HOME" in done.out, done.err


def test_a_script_meets_the_error_in_the_tree(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", "")
    with pytest.raises(ConfigError, match="HOME: is empty"):
        open_memory()
    with pytest.raises(MemoryCoreError):
        open_memory("~/host.json5")
    with open_memory(workspace=tmp_path, state_dir=tmp_path / "state") as memory:
        assert memory.config().workspace == tmp_path


def test_a_tilde_before_a_name_is_a_file_s_name(command: Command) -> None:
    """Nobody's home is looked up: a name that is no user's would raise."""
    done = command("config", "check", "~nobody-at-all/host.json5")
    assert done.code == 2
    assert "~nobody-at-all/host.json5: the file does not exist" in done.error


@pytest.mark.skipif(sys.platform != "linux", reason="root gives up its capabilities with Linux's prctl")
@pytest.mark.parametrize("inner", [True, False])
def test_an_index_folder_that_may_not_be_entered_is_told(command: Command, inner: bool) -> None:
    assert command("index").code == 0
    folder = command.state_dir / "memory-core" if inner else command.state_dir
    folder.chmod(0o600)
    try:
        for arguments in (("status",), ("search", "puppy"), ("index",), ("index", "--force")):
            done = command(*arguments, before=as_ordinary_owner)
            assert done.code == 1, arguments
            assert "Permission denied" in done.error or "cannot be made" in done.error
            assert "report this" not in done.error.lower()
            assert "--state-dir" in done.error or "store.path" in done.error
        doctor = command("doctor", before=as_ordinary_owner)
        assert "fail" in doctor.out
        assert "chmod u+x" in doctor.out
    finally:
        folder.chmod(0o700)


def test_a_configuration_that_is_no_regular_file_is_refused_and_never_waited_for(
    command: Command, tmp_path: Path
) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (str(pipe), "/dev/zero", "/dev/tty"):
        for arguments in (("config", "check", path), ("--config", path, "status")):
            done = command(*arguments, timeout_seconds=30)
            assert done.code == 2
            assert "is no regular file" in done.error or "cannot be read" in done.error


def test_a_configuration_from_a_process_substitution_is_read(command: Command) -> None:
    asked = "search 'retired teacher' --json --config /dev/fd/3"
    one_result = "{memorySearch: {query: {maxResults: 1}}}"
    done = command.shell(asked, f"3<<'END'\n{one_result}\nEND")
    assert done.code == 0, done.err
    assert len(done.json["results"]) == 1
    piped = command.shell("--config /dev/stdin config check --json", "", feed=one_result)
    assert piped.code == 0, piped.err


def test_a_process_substitution_that_never_ends_is_given_up(command: Command) -> None:
    slow = command.shell("status --config /dev/fd/3", "3< <(sleep 20 2> /dev/null)", shell="/bin/bash")
    assert slow.code == 2
    assert "did not end within 5 s" in slow.error
    endless = command.shell("status --config /dev/fd/3", "3< <(yes '//')", shell="/bin/bash")
    assert endless.code == 2
    assert "is larger than 4,194,304 bytes" in endless.error
