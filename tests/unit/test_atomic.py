"""Files that are replaced whole: old bytes or new ones, private, nothing left behind; one lock for all writers."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from memory_core.atomic import PATH_ONLY, locked, move_into_place, replace_file
from memory_core.embeddings.remote.batches import BatchJob, JobLog
from memory_core.records import Space


def test_a_replaced_file_is_new_private_and_alone(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    replace_file(path, b"old and longer")
    replace_file(path, b"new")
    assert path.read_bytes() == b"new"
    assert path.stat().st_mode & 0o777 == 0o600
    assert _names(tmp_path) == ["state.json"]


def test_a_replaced_file_gets_the_mode_that_is_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "sessions.json"
    replace_file(path, b"{}", mode=0o644)
    assert path.stat().st_mode & 0o777 == 0o644


def test_a_reader_keeps_the_old_bytes(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    replace_file(path, b"old")
    with path.open("rb") as reader:
        replace_file(path, b"new")
        assert reader.read() == b"old"


def test_what_a_killed_writer_left_is_overwritten_and_no_link_followed(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    left = tmp_path / ".state.json.memory-core.tmp"
    left.write_bytes(b"the half of a much longer file")
    replace_file(path, b"whole")
    assert path.read_bytes() == b"whole"
    victim = tmp_path / "victim"
    victim.write_bytes(b"mine")
    left.symlink_to(victim)
    replace_file(path, b"new")
    assert (victim.read_bytes(), path.read_bytes(), left.is_symlink()) == (b"mine", b"new", True)


@pytest.mark.parametrize("kind", ["symlink", "dangling", "hard link", "folder", "full folder"])
def test_what_others_put_in_the_place_of_a_temporary_file_stays_as_it_is(tmp_path: Path, kind: str) -> None:
    path, left, victim = tmp_path / "s.json", tmp_path / ".s.json.memory-core.tmp", tmp_path / "victim"
    path.write_bytes(b"old")
    victim.write_bytes(b"mine")
    if kind.endswith("folder"):
        left.mkdir()
        (left / "mine").write_bytes(b"mine") if kind == "full folder" else None
    else:
        {"symlink": left.symlink_to, "hard link": left.hardlink_to}.get(kind, left.symlink_to)(
            tmp_path / "none" if kind == "dangling" else victim
        )
    replace_file(path, b"new")
    assert (path.read_bytes(), victim.read_bytes()) == (b"new", b"mine")
    assert os.path.lexists(left)
    assert not (tmp_path / "none").exists()
    assert len(_names(tmp_path)) == 3


def test_a_link_at_the_path_is_replaced_and_a_hard_link_let_go(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_bytes(b"mine")
    for link in (tmp_path / "a", tmp_path / "b"):
        (link.symlink_to if link.name == "a" else link.hardlink_to)(victim)
        replace_file(link, b"new")
        assert (link.read_bytes(), link.is_symlink(), victim.read_bytes()) == (b"new", False, b"mine")


def test_no_link_is_followed_below_a_root(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "link").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match=r"symbolic link|Not a directory"):
        replace_file(tmp_path / "root" / "link" / "a.md", b"x", root=tmp_path / "root")
    assert _names(tmp_path / "elsewhere") == []
    replace_file(tmp_path / "root" / "new" / "deep" / "a.md", b"x", root=tmp_path / "root")
    assert (tmp_path / "root" / "new" / "deep" / "a.md").read_bytes() == b"x"


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="root alone can become another user")
@pytest.mark.parametrize("way", ["path only", "readable"])
def test_folders_on_the_way_are_entered_and_not_listed(way: str) -> None:
    """Those above the root always, those below it where the system can open them so; macOS cannot."""
    if way == "path only" and not PATH_ONLY:
        pytest.skip("this system opens folders for reading only")
    with tempfile.TemporaryDirectory(dir="/tmp") as above:  # pytest's own folders are closed to others
        Path(above).chmod(0o711)
        root = Path(above).resolve() / "root"
        (root / "sub" / "deep").mkdir(parents=True)
        for folder in (root, root / "sub", root / "sub" / "deep"):
            os.chown(folder, 65534, 65534)
        (root / "sub").chmod(0o711 if way == "readable" else 0o311)
        program = (
            "import os, sys; from pathlib import Path; from memory_core import atomic\n"
            "if sys.argv[2] == 'readable': atomic.PATH_ONLY = 0\n"
            "os.setuid(65534); root = Path(sys.argv[1])\n"
            "atomic.replace_file(root / 'sub' / 'deep' / 'a.md', b'x', root=root)\n"
            "atomic.replace_file(root / 'sub' / 'new' / 'a.md', b'x', root=root)\n"
        )
        done = subprocess.run(
            [sys.executable, "-c", program, str(root), way], capture_output=True, text=True, check=False
        )
        assert done.stderr == ""
        assert (root / "sub" / "new" / "a.md").read_bytes() == b"x"


def test_mode_and_owner_stay_where_it_is_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    replace_file(path, b"new", mode=None)
    assert path.stat().st_mode & 0o777 == 0o600
    for mode in (0o644, 0o640, 0o664, 0o400):
        path.chmod(mode)
        if os.geteuid() == 0:
            os.chown(path, 12345, 23456)
        before = path.stat()
        replace_file(path, b"newer", mode=None)
        after = path.stat()
        assert (after.st_mode, after.st_uid, after.st_gid) == (before.st_mode, before.st_uid, before.st_gid)


def test_a_write_that_fails_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    with pytest.raises(OSError, match="directory"):
        replace_file(tmp_path / "there", b"x")
    assert _names(tmp_path) == ["there"]


@pytest.mark.parametrize("kind", ["symlink", "hard link", "folder"])
def test_no_lock_is_taken_on_what_is_none(tmp_path: Path, kind: str) -> None:
    victim, lock = tmp_path / "victim", tmp_path / "a.lock"
    victim.write_bytes(b"mine")
    if kind == "folder":
        lock.mkdir()
    else:
        (lock.symlink_to if kind == "symlink" else lock.hardlink_to)(victim)
    with pytest.raises(OSError, match="in the place of a lock"), locked(lock, timeout_seconds=1):
        pass
    assert victim.read_bytes() == b"mine"


def test_nobody_else_can_take_a_lock(tmp_path: Path) -> None:
    lock = tmp_path / "new" / "a.lock"
    with locked(lock, timeout_seconds=1):
        assert (lock.parent.stat().st_mode & 0o777, lock.stat().st_mode & 0o777) == (0o700, 0o600)
    lock.chmod(0o666)
    with locked(lock, timeout_seconds=1):
        assert lock.stat().st_mode & 0o777 == 0o600


def test_a_complete_file_moves_into_place_over_an_old_one(tmp_path: Path) -> None:
    part, target = tmp_path / "model.gguf.1.part", tmp_path / "model.gguf"
    target.write_bytes(b"old")
    part.write_bytes(b"new")
    move_into_place(part, target)
    assert target.read_bytes() == b"new"
    assert _names(tmp_path) == ["model.gguf"]


def test_a_lock_is_waited_for_as_long_as_said_and_goes_with_its_owner(tmp_path: Path) -> None:
    lock = tmp_path / "new" / "writer.lock"
    code = "import sys, memory_core.atomic as a, pathlib\nwith a.locked(pathlib.Path(sys.argv[1]), timeout_seconds=None):\n"
    code += "    print('held', flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", code, str(lock)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as owner:
        assert owner.stdout
        assert owner.stdout.readline() == b"held\n"
        with (
            pytest.raises(TimeoutError, match=r"was held by another process for 0\.05 s") as caught,
            locked(lock, timeout_seconds=0.05),
        ):
            pass
        if Path("/proc/locks").exists():
            assert f"process {owner.pid}, {sys.executable} -c" in str(caught.value)
        owner.kill()
        owner.wait()
        with locked(lock, timeout_seconds=None):
            pass


def test_the_job_log_is_replaced_as_all_files_are(tmp_path: Path) -> None:
    path = tmp_path / "state" / "main.batches.json"
    log = JobLog(path)
    jobs = [BatchJob(name, Space(provider="p", model="m", dimensions=4), 1.5, ("a", "b")) for name in ("first", "ü")]
    for job in jobs:
        log.add(job)
    assert JobLog(path).read() == jobs
    assert path.stat().st_mode & 0o777 == 0o600
    assert _names(path.parent) == ["main.batches.json"]
    log.remove("first")
    assert JobLog(path).read() == jobs[1:]


def _names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())
