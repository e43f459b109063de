"""Files that are replaced whole: old bytes or new ones, private, nothing left behind; one lock for all writers."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from memory_core.atomic import locked, move_into_place, replace_file
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
    with pytest.raises(OSError, match="symbolic link"):
        replace_file(path, b"new")
    assert (victim.read_bytes(), path.read_bytes()) == (b"mine", b"whole")


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
            pytest.raises(TimeoutError, match=r"was held by another process for 0\.05 s"),
            locked(lock, timeout_seconds=0.05),
        ):
            pass
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
