"""Watched files between two syncs: nothing that changes them is missed, and nothing else makes an index look old."""

from __future__ import annotations

import os
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from memory_core.config.agent import AgentConfig
from memory_core.config.settings import ExtraPath, SearchSettings
from memory_core.sources import writer
from memory_core.sync.watcher import LOCAL, LOOK_SECONDS, Watcher, find_file_system, read_mounts
from tests.waiting import Clock, eventually

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere each search looks at the files")


class Notes:
    """A workspace and its watcher, which a sync has confirmed once."""

    def __init__(self, folder: Path) -> None:
        if find_file_system(str(folder.resolve()), read_mounts()) not in LOCAL:
            pytest.skip("the folder for temporary files is on no local file system")
        self.elsewhere = folder / "elsewhere"
        self.memory = folder / "ws" / "memory"
        self.extra = folder / "extra"
        for path in (self.elsewhere, self.memory / "deep" / "er", self.extra / ".obsidian", folder / ".obsidian"):
            path.mkdir(parents=True)
        (self.memory / "a.md").write_text("A violin.\n")
        (self.memory / "deep" / "er" / "b.md").write_text("A kettle.\n")
        self.config = AgentConfig(
            agent="main", workspace=folder / "ws", state_dir=folder / "state", store_path=folder / "state" / "x.sqlite",
            search=SearchSettings(extra_paths=(ExtraPath(path=str(self.extra)),)),
        )  # fmt: skip
        self.clock = Clock()
        self.watcher = self.watch()

    def watch(self, **changed: Any) -> Watcher:
        """Watch, and confirm it as a sync that leaves nothing to do."""
        watcher = Watcher(changed.pop("config", self.config), clock=self.clock, **changed)
        watcher.watch()
        self.sync(watcher)
        return watcher

    def sync(self, watcher: Watcher | None = None) -> None:
        watcher = watcher or self.watcher
        watcher.confirm(watcher.mark(), "1")

    @property
    def is_fresh(self) -> bool:
        return self.watcher.is_fresh("1")


@pytest.fixture
def notes(tmp_path: Path) -> Iterator[Notes]:
    made = Notes(tmp_path)
    yield made
    made.watcher.close()


def rename_over(notes: Notes) -> None:
    (notes.memory / ".a.md.swp").write_text("A violet.\n")
    (notes.memory / ".a.md.swp").rename(notes.memory / "a.md")


def keep_times(notes: Notes) -> None:
    """As long as before, with the old time: only the time of the change itself tells."""
    info = (notes.memory / "a.md").stat()
    (notes.memory / "a.md").write_text("A violet.\n")
    os.utime(notes.memory / "a.md", ns=(info.st_atime_ns, info.st_mtime_ns))


def append(notes: Notes) -> None:
    with (notes.memory / "a.md").open("a") as file:
        file.write("more\n")


def replace_folder(notes: Notes) -> None:
    shutil.rmtree(notes.memory / "deep")
    (notes.memory / "deep").mkdir()


def link_workspace(notes: Notes) -> None:
    notes.config.workspace.rename(notes.elsewhere / "moved")
    notes.config.workspace.symlink_to(notes.elsewhere / "moved")


CHANGES: dict[str, Callable[[Notes], object]] = {
    "create": lambda n: (n.memory / "new.md").write_text("new\n"),
    "append": append,
    "same length, same time": keep_times,
    "rename over": rename_over,
    "delete": lambda n: (n.memory / "a.md").unlink(),
    "delete below": lambda n: (n.memory / "deep" / "er" / "b.md").unlink(),
    "rename": lambda n: (n.memory / "a.md").rename(n.memory / "c.md"),
    "no note any more": lambda n: (n.memory / "a.md").rename(n.memory / "a.txt"),
    "move out": lambda n: (n.memory / "a.md").rename(n.elsewhere / "a.md"),
    "permissions": lambda n: (n.memory / "a.md").chmod(0o600),
    "hard link": lambda n: (n.memory / "again.md").hardlink_to(n.memory / "a.md"),
    "new folder": lambda n: (n.memory / "new").mkdir(),
    "folder gone": lambda n: shutil.rmtree(n.memory / "deep"),
    "folder replaced": replace_folder,
    "folder moved out": lambda n: (n.memory / "deep").rename(n.elsewhere / "deep"),
    "folder moved in": lambda n: n.elsewhere.rename(n.memory / "in"),
    "MEMORY.md": lambda n: (n.config.workspace / "MEMORY.md").write_text("long\n"),
    "extra path": lambda n: (n.extra / "x.md").write_text("x\n"),
    "what Obsidian excludes": lambda n: (n.extra / ".obsidian" / "app.json").write_text("{}"),
    "what a vault around excludes": lambda n: (n.extra.parent / ".obsidian" / "app.json").write_text("{}"),
    "extra path gone": lambda n: shutil.rmtree(n.extra),
    "memory gone": lambda n: shutil.rmtree(n.memory),
    "workspace renamed": lambda n: n.config.workspace.rename(n.elsewhere / "ws"),
    "folder above renamed": lambda n: n.config.workspace.parent.rename(n.config.workspace.parent.with_name("other")),
    "workspace a link": link_workspace,
}


@pytest.mark.parametrize("kind", CHANGES)
def test_a_change_is_known_soon_and_until_a_sync(kind: str, notes: Notes) -> None:
    assert notes.is_fresh
    CHANGES[kind](notes)
    assert eventually(lambda: not notes.is_fresh)
    if notes.memory.exists():
        settle(notes)
        (notes.memory / "later.md").write_text("later\n")
        assert eventually(lambda: not notes.is_fresh)


def settle(notes: Notes) -> None:
    """Sync until no event of what was done before comes any more."""

    def is_quiet() -> bool:
        notes.sync()
        time.sleep(0.6)  # longer than watchdog waits for the other half of a move
        return notes.is_fresh

    assert eventually(is_quiet)


def test_a_note_that_this_process_writes_is_known_at_once(notes: Notes) -> None:
    for day in range(20):
        notes.sync()
        path = writer.daily_path(date(2026, 1, 1 + day))
        writer.append("A quokka.", path=path, workspace=notes.config.workspace, state_dir=notes.config.state_dir)
        assert not notes.is_fresh


def test_what_concerns_no_note_changes_nothing(notes: Notes) -> None:
    (notes.memory / "a.md").read_text()
    list(notes.memory.iterdir())
    (notes.memory / "picture.png").write_bytes(b"png")
    (notes.elsewhere / "other.md").write_text("other\n")
    time.sleep(0.5)
    assert notes.is_fresh


def test_a_change_while_a_sync_runs_is_kept(notes: Notes) -> None:
    mark = notes.watcher.mark()
    (notes.memory / "a.md").write_text("meanwhile\n")
    assert eventually(lambda: not notes.is_fresh)
    notes.watcher.confirm(mark, "1")
    assert not notes.is_fresh


def test_an_index_that_another_process_changed_is_not_taken_for_ours(notes: Notes) -> None:
    assert not notes.watcher.is_fresh("2")
    assert notes.is_fresh


def test_a_search_a_minute_after_the_last_look_looks_again(notes: Notes) -> None:
    notes.clock.now += LOOK_SECONDS + 1
    assert not notes.is_fresh
    notes.sync()
    assert notes.is_fresh


def test_what_a_sync_left_to_do_is_done_by_the_next(notes: Notes) -> None:
    mark = notes.watcher.mark()
    notes.watcher.expire()
    notes.watcher.confirm(mark, "1")
    assert not notes.is_fresh
    notes.sync()
    assert notes.is_fresh


def test_more_folders_than_may_be_watched_are_not_trusted(notes: Notes) -> None:
    watcher = notes.watch(max_folders=2)
    assert watcher.state == "polling: there are more than 2 folders"
    assert not watcher.is_fresh("1")
    watcher.close()


@pytest.mark.parametrize(("kind", "trusted"), [("ext4", True), ("nfs4", False), ("fuse.sshfs", False)])
def test_folders_of_a_network_are_not_trusted(kind: str, trusted: bool, notes: Notes, tmp_path: Path) -> None:
    table = tmp_path / "mountinfo"
    table.write_text(f"1 0 0:1 / / rw - {kind} x rw\n")
    watcher = notes.watch(mounts=table)
    assert (watcher.state, watcher.is_fresh("1")) == ("events", trusted)
    watcher.close()


@pytest.mark.parametrize(
    ("point", "trusted"),
    [("ws/memory", True), ("elsewhere", True), ("ws/memory/deep/er", False), ("ws/MEMORY.md", False)],
)
def test_mounts_on_notes_and_below_folders_are_not_trusted(
    point: str, trusted: bool, notes: Notes, tmp_path: Path
) -> None:
    table = tmp_path / "mountinfo"
    table.write_text(f"1 0 0:1 / / rw - ext4 x rw\n2 1 0:1 /x {tmp_path / point} rw - ext4 x rw\n")
    watcher = notes.watch(mounts=table)
    assert watcher.is_fresh("1") == trusted
    watcher.close()


def test_a_link_that_leads_elsewhere_now_is_followed(notes: Notes, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(notes.extra)
    watcher = notes.watch(config=replace(notes.config, search=SearchSettings(extra_paths=(ExtraPath(path=str(link)),))))
    assert watcher.is_fresh("1")
    link.unlink()
    link.symlink_to(notes.elsewhere)
    assert eventually(lambda: not watcher.is_fresh("1"))
    notes.sync(watcher)
    (notes.elsewhere / "x.md").write_text("x\n")
    assert eventually(lambda: not watcher.is_fresh("1"))
    watcher.close()


def test_without_a_start_nothing_is_watched(notes: Notes) -> None:
    threads = threading.active_count()
    watcher = Watcher(notes.config)
    notes.sync(watcher)
    assert (watcher.state, watcher.is_fresh("1"), threading.active_count()) == ("off", False, threads)


def test_nothing_outlives_close(notes: Notes) -> None:
    notes.watcher.close()
    notes.watcher.close()
    notes.watcher.watch()
    notes.sync()
    assert (notes.watcher.state, notes.is_fresh) == ("off", False)
    assert not [thread for thread in threading.enumerate() if "inotify" in thread.name.lower()]
