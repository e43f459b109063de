"""Files with odd times, or changed behind an unchanged size and time: each is indexed as it is, and harms no other."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from pathlib import Path

import pytest

from memory_core.records import Query
from memory_core.search.pipeline import search
from memory_core.sources import notes, pages
from memory_core.stores.sqlite.reader import SqliteReader
from memory_core.stores.sqlite.vectors import VectorIndex
from tests.command import Command
from tests.index import Index

SECOND = 10**9
TIMES = {
    "before 1970": -86_400 * SECOND,
    "before 1678": -(2**63) - 5 * SECOND,
    "after 2262": 2**63 + 5 * SECOND,
    "after 9999": 253_500_000_000 * SECOND,
}


@pytest.fixture
def index(tmp_path: Path) -> Index:
    return Index(tmp_path / "workspace", tmp_path / "state")


def shown(index: Index, question: str) -> list[tuple[str, str]]:
    """Path and snippet of what keywords find."""
    with index.store.database.read() as connection:
        reader = SqliteReader(connection, VectorIndex(index.search.store.vector))
        hits = search(reader, Query(text=question, min_score=0), index.search.query.hybrid, vectors=None).hits
    return [(hit.path, hit.snippet) for hit in hits]


def set_mtime(file: Path, mtime_ns: int) -> None:
    try:
        os.utime(file, ns=(mtime_ns, mtime_ns))
    except (OSError, OverflowError):
        pytest.skip("this system cannot set such a time")


@pytest.mark.parametrize("mtime_ns", TIMES.values(), ids=TIMES)
def test_an_odd_time_harms_no_file(index: Index, mtime_ns: int) -> None:
    odd = index.note("memory/odd.md", "The odd heron waits.\n")
    index.note("memory/plain.md", "The plain pelican flies.\n")
    set_mtime(odd, mtime_ns)
    assert not index.sync().failures
    assert index.sync().unchanged == 2
    assert shown(index, "heron") == [("memory/odd.md", "The odd heron waits.")]
    assert shown(index, "pelican") == [("memory/plain.md", "The plain pelican flies.")]
    assert not index.sync(force=True).failures
    file = pages.resolve(index.config, "memory/odd.md")
    assert file is not None
    assert notes.find_note_day(file, "").year in range(1600, 2300)
    assert not index.report_status().dirty


def test_an_index_that_leaves_a_note_out_is_up_to_date_until_that_note_changes(index: Index) -> None:
    index.note("MEMORY.md", "The gate is green.\n")
    scan = index.note("memory/scan.md", "\0")
    assert [failure.path for failure in index.sync().failures] == ["memory/scan.md"]
    assert not index.report_status().dirty
    scan.write_text("The otter swims.\n", encoding="utf-8")
    set_mtime(scan, time.time_ns() + SECOND)
    assert index.report_status().dirty
    index.sync()
    assert not index.report_status().dirty


def test_other_text_behind_the_same_size_and_time_is_found(index: Index) -> None:
    file = index.note("MEMORY.md", "The gate is green.\n")
    before = file.stat()
    index.sync()
    file.write_text("The gate is brown.\n", encoding="utf-8")
    set_mtime(file, before.st_mtime_ns)
    assert file.stat().st_size == before.st_size
    assert index.report_status().dirty
    assert index.sync().changed == 1
    assert shown(index, "gate") == [("MEMORY.md", "The gate is brown.")]


def test_notes_that_swap_their_names_are_cited_under_their_own(index: Index) -> None:
    first, second = index.note("memory/a.md", "An otter swims.\n"), index.note("memory/b.md", "An eagle soars.\n")
    for file in (first, second):
        set_mtime(file, 1_700_000_000 * SECOND)
    index.sync()
    aside = first.with_name("aside")
    first.rename(aside)
    second.rename(first)
    aside.rename(second)
    index.sync()
    assert shown(index, "otter") == [("memory/b.md", "An otter swims.")]
    assert shown(index, "eagle") == [("memory/a.md", "An eagle soars.")]


def test_another_inode_of_the_same_text_costs_a_hash(index: Index) -> None:
    file = index.note("MEMORY.md", "The gate is green.\n")
    index.sync()
    kept = index.content()["chunks"]
    before = file.stat()
    copy = file.with_name("copy")
    copy.write_bytes(file.read_bytes())
    set_mtime(copy, before.st_mtime_ns)
    copy.replace(file)
    report = index.sync()
    assert (report.changed, report.unchanged) == (0, 1)
    assert index.content()["chunks"] == kept
    assert not index.report_status().dirty


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="owners and permissions of POSIX")
def test_a_state_folder_that_others_may_change_is_told_of(command: Command) -> None:
    folder = command.state_dir / "memory-core"
    folder.mkdir(parents=True)
    folder.chmod(0o777)
    assert f"other users may replace what is kept in {folder}" in command("activity").err
    folder.chmod(0o700)
    assert str(folder) not in command("activity").err
    if os.geteuid() == 0:
        os.chown(folder, 65534, 65534)
        assert f"other users may replace what is kept in {folder}" in command("activity").err


def test_where_no_note_is_indexed_a_search_and_the_status_name_the_links_that_are_left_out(command: Command) -> None:
    there = command.workspace
    command = replace(command, workspace=there.with_name("linked"))
    command.workspace.mkdir()
    (command.workspace / "memory").symlink_to(there / "memory")
    told = "memory is left out: it is a symbolic link"
    assert told in command("status").err
    for _ in range(2):
        said = command("search", "pelican").err
        assert told in said
        assert "memorySearch.extraPaths" in said
    assert told in command("status").err
