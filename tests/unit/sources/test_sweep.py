"""A look at all files of some roots: each of them once, and in little memory."""

from __future__ import annotations

import os
import tracemalloc
from pathlib import Path
from types import SimpleNamespace
from typing import cast

from memory_core.atomic import OPENS_BELOW
from memory_core.records import FileStamp
from memory_core.sources.files import Sweep, SweptFolder
from memory_core.sources.roots import Root, read_stamp

# At the most; an `os.stat_result` alone takes three times that. Where folders are not opened, each entry has its whole path, too.
MOST_BYTES_A_FILE = 250 if OPENS_BELOW else 600


def folder(path: Path, shown: str = "") -> Root:
    return Root(source="memory", configured=str(path), real=str(path), shown=shown)


def file(path: Path) -> Root:
    return Root(source="memory", configured=str(path), real=str(path), shown=path.name, is_file=True)


def sweep(*roots: Root) -> Sweep:
    made = Sweep()
    for root in roots:
        made.add(root)
    return made


def test_roots_that_overlap_share_no_file(tmp_path: Path) -> None:
    for name in ("one.md", "two.md", "deep/three.md", "deep/four.md", "deep/er/five.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name, encoding="utf-8")
    roots = [file(tmp_path / "one.md"), folder(tmp_path / "deep", "d/"), folder(tmp_path), folder(tmp_path / "deep")]
    found = sweep(*roots, file(tmp_path / "deep/four.md"), file(tmp_path / "two.md"))
    assert len(found) == 5
    assert sorted((roots.index(each.root), each.relative) for each in found) == [
        (0, ""), (1, "er/five.md"), (1, "four.md"), (1, "three.md"), (2, "two.md"),
    ]  # fmt: skip
    for each in found:
        assert each.stamp == read_stamp(os.lstat(each.root.join(each.relative)))
        assert each.file.stamp == each.stamp
    assert not found.failures


def test_a_second_name_is_told(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes/one.md").touch()
    assert not sweep(folder(tmp_path / "notes")).has_hard_links
    os.link(tmp_path / "notes/one.md", tmp_path / "other")
    assert sweep(folder(tmp_path / "notes")).has_hard_links
    assert sweep(file(tmp_path / "notes/one.md")).has_hard_links


def test_numbers_beyond_64_bits_become_the_nearest(tmp_path: Path) -> None:
    found = SweptFolder(folder(tmp_path), "")
    info = SimpleNamespace(st_size=1, st_mtime_ns=2**70, st_ctime_ns=-(2**70), st_ino=2**64 - 1)
    found.add("odd.md", cast("os.stat_result", info))
    found.add("plain.md", os.stat(tmp_path))  # noqa: PTH116
    odd, plain = found
    assert odd.stamp == FileStamp(1, 2**63 - 1, -(2**63), 2**63 - 1)
    assert plain.stamp == read_stamp(tmp_path.stat())


def test_a_look_holds_little_of_each_file(tmp_path: Path) -> None:
    number = 1000
    for each in range(number):
        (tmp_path / f"2026-01-{each:04d}.md").touch()
    sweep(folder(tmp_path))
    tracemalloc.start()
    try:
        found = sweep(folder(tmp_path))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(found) == number
    assert peak < number * MOST_BYTES_A_FILE
