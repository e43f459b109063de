"""A look at all files of some roots: each of them once."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace
from typing import cast

from memory_core.records import FileStamp
from memory_core.sources.files import Survey
from memory_core.sources.roots import Root, read_stamp


def folder(path: Path, shown: str = "") -> Root:
    return Root(source="memory", configured=str(path), real=str(path), shown=shown)


def file(path: Path) -> Root:
    return Root(source="memory", configured=str(path), real=str(path), shown=path.name, is_file=True)


def test_roots_that_overlap_share_no_file(tmp_path: Path) -> None:
    for name in ("one.md", "two.md", "deep/three.md", "deep/four.md", "deep/er/five.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name, encoding="utf-8")
    roots = [file(tmp_path / "one.md"), folder(tmp_path / "deep", "d/"), folder(tmp_path), folder(tmp_path / "deep")]
    found = Survey([*roots, file(tmp_path / "deep/four.md"), file(tmp_path / "two.md")])
    assert len(found) == 5
    assert sorted((roots.index(each.root), each.relative) for each in found.found) == [
        (0, ""), (1, "er/five.md"), (1, "four.md"), (1, "three.md"), (2, "two.md"),
    ]  # fmt: skip
    for each in found.found:
        assert each.stamp == read_stamp(os.lstat(each.root.join(each.relative)))
        assert each.file.stamp == each.stamp
    assert not found.failures


def test_a_second_name_is_told(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes/one.md").touch()
    assert not Survey([folder(tmp_path / "notes")]).has_hard_links
    os.link(tmp_path / "notes/one.md", tmp_path / "other")
    assert Survey([folder(tmp_path / "notes")]).has_hard_links
    assert Survey([file(tmp_path / "notes/one.md")]).has_hard_links


def test_numbers_beyond_64_bits_become_the_nearest(tmp_path: Path) -> None:
    info = SimpleNamespace(st_size=1, st_mtime_ns=2**70, st_ctime_ns=-(2**70), st_ino=2**64 - 1)
    assert read_stamp(cast("os.stat_result", info)) == FileStamp(1, 2**63 - 1, -(2**63), 2**63 - 1)
    plain = tmp_path.stat()
    assert read_stamp(plain) == (plain.st_size, plain.st_mtime_ns, plain.st_ctime_ns, plain.st_ino)
