"""Watching real files: every kind of change is searchable soon, bounded, told when it is not possible, and ended by close."""

from __future__ import annotations

import gc
import logging
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from memory_core.backends.builtin import BuiltinBackend
from memory_core.config.agent import AgentConfig
from memory_core.config.settings import ExtraPath, SearchSettings, SyncSettings
from memory_core.hookspecs import BackendContext
from memory_core.plugin import MemorySlot
from memory_core.records import Query, SyncReport
from memory_core.sync.background import BackgroundSync
from memory_core.sync.watcher import POLL_SECONDS, Watcher
from tests.command import REPOSITORY

DEBOUNCE_SECONDS = 0.3
SOON_SECONDS = DEBOUNCE_SECONDS + 1.0
BUSY_SECONDS = 30.0  # on top, where a machine is shared
PATIENCE_SECONDS = 60.0


class Watched:
    """A backend that watches, and searches without a sync of its own."""

    def __init__(self, folder: Path, **search: Any) -> None:
        self.workspace = folder / "notes"
        self.elsewhere = folder / "elsewhere"
        self.elsewhere.mkdir()
        sync = SyncSettings(on_search=False, watch_debounce_ms=int(DEBOUNCE_SECONDS * 1000))
        self.config = AgentConfig(
            agent="main",
            workspace=self.workspace,
            state_dir=folder / "state",
            store_path=folder / "state" / "main.sqlite",
            search=SearchSettings(provider="none", sync=sync, **search),
        )
        self.backend = BuiltinBackend(BackendContext(config=self.config))

    @property
    def memory(self) -> Path:
        return self.workspace / "memory"

    def start(self) -> None:
        """Begin, and wait for the first sync."""
        self.backend.memory_start()
        assert self.watching == "events"
        wait_for(lambda: self.backend.memory_status().last_sync)

    @property
    def watching(self) -> str:
        return str(self.backend.memory_status().details["watching"])

    def paths(self, word: str) -> set[str]:
        """The notes that hold a word."""
        return {hit.path for hit in self.backend.memory_search(Query(text=word, min_score=0.0)).hits}


def wait_for(condition: Callable[[], object], seconds: float = PATIENCE_SECONDS) -> float:
    """Wait until something holds; how long that took. Fails when it takes longer than it may."""
    started = time.monotonic()
    while not condition():
        assert time.monotonic() - started < seconds
        time.sleep(0.02)
    return time.monotonic() - started


@pytest.fixture
def watched(tmp_path: Path) -> Iterator[Watched]:
    made = Watched(tmp_path)
    made.memory.mkdir(parents=True)
    (made.memory / "old.md").write_text("The kettle whistles.\n")
    (made.memory / "deep").mkdir()
    (made.memory / "deep" / "sea.md").write_text("A lantern glows.\n")
    made.start()
    yield made
    made.backend.memory_close()


def rename_over(watched: Watched) -> None:
    draft = watched.memory / ".old.md.swp"
    draft.write_text("A violin plays.\n")
    os.replace(draft, watched.memory / "old.md")  # noqa: PTH105 -- as editors do it


def move_in(watched: Watched) -> None:
    (watched.elsewhere / "pack" / "inner").mkdir(parents=True)
    (watched.elsewhere / "pack" / "inner" / "new.md").write_text("A violin plays.\n")
    (watched.elsewhere / "pack").rename(watched.memory / "pack")


def new_folder(watched: Watched) -> None:
    (watched.memory / "a" / "b" / "c").mkdir(parents=True)
    (watched.memory / "a" / "b" / "c" / "new.md").write_text("A violin plays.\n")


def append(watched: Watched) -> None:
    with (watched.memory / "old.md").open("a") as file:
        file.write("A violin plays.\n")


def replace_workspace(watched: Watched) -> None:
    watched.workspace.rename(watched.elsewhere / "backup")
    (watched.memory).mkdir(parents=True)
    (watched.memory / "new.md").write_text("A violin plays.\n")


CHANGES: dict[str, tuple[Callable[[Watched], object], str, set[str]]] = {
    "create": (lambda w: (w.memory / "new.md").write_text("A violin plays.\n"), "violin", {"memory/new.md"}),
    "create MEMORY.md": (lambda w: (w.workspace / "MEMORY.md").write_text("A violin.\n"), "violin", {"MEMORY.md"}),
    "modify": (append, "violin", {"memory/old.md"}),
    "delete": (lambda w: (w.memory / "old.md").unlink(), "kettle", set()),
    "rename": (lambda w: (w.memory / "old.md").rename(w.memory / "other.md"), "kettle", {"memory/other.md"}),
    "move out": (lambda w: (w.memory / "old.md").rename(w.elsewhere / "old.md"), "kettle", set()),
    "rename over": (rename_over, "violin", {"memory/old.md"}),
    "new folders": (new_folder, "violin", {"memory/a/b/c/new.md"}),
    "deleted folder": (lambda w: shutil.rmtree(w.memory / "deep"), "lantern", set()),
    "folder moved in": (move_in, "violin", {"memory/pack/inner/new.md"}),
    "folder moved out": (lambda w: (w.memory / "deep").rename(w.elsewhere / "deep"), "lantern", set()),
    "folder renamed": (
        lambda w: (w.memory / "deep").rename(w.memory / "depths"),
        "lantern",
        {"memory/depths/sea.md"},
    ),
    "memory folder gone": (lambda w: shutil.rmtree(w.memory), "lantern", set()),
    "workspace replaced": (replace_workspace, "violin", {"memory/new.md"}),
}


@pytest.mark.parametrize("kind", CHANGES)
def test_a_change_is_searchable_soon(kind: str, watched: Watched) -> None:
    change, word, expected = CHANGES[kind]
    assert watched.paths(word) != expected
    change(watched)
    seconds = wait_for(lambda: watched.paths(word) == expected)
    assert seconds < SOON_SECONDS + BUSY_SECONDS
    # It still watches what is there now.
    watched.memory.mkdir(exist_ok=True)
    (watched.memory / "later.md").write_text("Fresh marble.\n")
    wait_for(lambda: watched.paths("marble") == {"memory/later.md"})


@pytest.fixture
def bare(tmp_path: Path) -> Iterator[Watched]:
    """Started before there is a workspace."""
    made = Watched(tmp_path)
    made.start()
    yield made
    made.backend.memory_close()


def test_a_workspace_that_appears_later_is_watched(bare: Watched) -> None:
    assert not bare.workspace.exists()
    bare.memory.mkdir(parents=True)
    (bare.memory / "a.md").write_text("A violin plays.\n")
    assert wait_for(lambda: bare.paths("violin") == {"memory/a.md"}) < SOON_SECONDS + BUSY_SECONDS
    (bare.memory / "a.md").write_text("A kettle whistles.\n")
    assert wait_for(lambda: bare.paths("kettle") == {"memory/a.md"}) < SOON_SECONDS + BUSY_SECONDS


def test_extra_paths_are_watched_whether_they_exist_or_not(tmp_path: Path) -> None:
    folder, file = tmp_path / "elsewhere" / "handbook", tmp_path / "elsewhere" / "todo.md"
    watched = Watched(tmp_path, extra_paths=(ExtraPath(path=str(folder)), ExtraPath(path=str(file))))
    watched.start()
    try:
        file.write_text("Buy a kettle.\n")
        assert wait_for(lambda: watched.paths("kettle") == {str(file)}) < SOON_SECONDS + BUSY_SECONDS
        (folder / "music").mkdir(parents=True)
        (folder / "music" / "a.md").write_text("A violin plays.\n")
        assert wait_for(lambda: watched.paths("violin") == {f"{folder}/music/a.md"}) < SOON_SECONDS + BUSY_SECONDS
        shutil.rmtree(folder)
        assert wait_for(lambda: watched.paths("violin") == set()) < SOON_SECONDS + BUSY_SECONDS
    finally:
        watched.backend.memory_close()


# How much it costs.


def test_many_rapid_saves_cost_few_syncs(watched: Watched, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "memory_core.sync")
    for n in range(999):
        (watched.memory / "old.md").write_text(f"Save number {n}.\n")
    (watched.memory / "old.md").write_text("The violin at last.\n")
    wait_for(lambda: watched.paths("violin") == {"memory/old.md"})
    quiet_until = time.monotonic() + 3 * DEBOUNCE_SECONDS
    wait_for(lambda: time.monotonic() > quiet_until)  # for syncs that should not come
    assert 1 <= len([record for record in caplog.records if record.getMessage().startswith("sync of")]) <= 3


def test_syncing_and_searching_wake_no_sync(watched: Watched, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "memory_core.sync")
    (watched.memory / "old.md").write_text("A violin plays.\n")
    wait_for(lambda: watched.paths("violin"))
    for _ in range(20):
        watched.paths("violin")
        (watched.memory / "old.md").read_text()
    (watched.memory / "not-a-note.txt").write_text("no\n")
    quiet_until = time.monotonic() + 3 * DEBOUNCE_SECONDS
    wait_for(lambda: time.monotonic() > quiet_until)
    syncs = [record.getMessage() for record in caplog.records if record.getMessage().startswith("sync of")]
    assert len([sync for sync in syncs if "2 added" not in sync]) == 1  # the first one may be telling of itself yet


def test_ten_thousand_files_in_five_hundred_folders(tmp_path: Path) -> None:
    watched = Watched(tmp_path)
    for folder in range(500):
        place = watched.memory / f"{folder % 10}" / f"{folder}"
        place.mkdir(parents=True)
        for file in range(20):
            (place / f"{file}.md").touch()
    watched.start()
    try:
        wait_for(lambda: watched.backend.memory_status().files == 10_000)
        (watched.memory / "7" / "357" / "13.md").write_text("A violin plays.\n")
        assert wait_for(lambda: watched.paths("violin")) < SOON_SECONDS + BUSY_SECONDS
    finally:
        watched.backend.memory_close()


# Where it is not possible.


def polled(watched: Watched, max_folders: int) -> tuple[BackgroundSync, Watcher, list[float]]:
    """Build the parts of the backend as it does, with another bound on folders."""
    syncs: list[float] = []

    def sync(stop: threading.Event) -> SyncReport:
        syncs.append(time.monotonic())
        return SyncReport(files=0, chunks=0)

    background = BackgroundSync(sync, debounce_seconds=0.05)
    return background, Watcher(watched.config, max_folders=max_folders), syncs


def test_more_folders_than_may_be_watched_are_looked_at_now_and_then(
    watched: Watched, caplog: pytest.LogCaptureFixture
) -> None:
    background, watcher, syncs = polled(watched, 1)
    watcher.start(background)
    try:
        assert watcher.state == "polling: there are more than 1 folders"
        assert "looked at every 5 s" in caplog.text
        wait_for(lambda: len(syncs) == 1)
        wait_for(lambda: len(syncs) == 2, POLL_SECONDS + BUSY_SECONDS)
    finally:
        watcher.close()
        background.close()
    assert watcher.state == "off"


def test_folders_that_become_too_many_are_looked_at_too(watched: Watched) -> None:
    background, watcher, _ = polled(watched, 5)
    watcher.start(background)
    try:
        assert watcher.state == "events"
        for n in range(10):
            (watched.memory / str(n)).mkdir()
        wait_for(lambda: watcher.state == "polling: there are more than 5 folders")
    finally:
        watcher.close()
        background.close()


REFUSED = """
import resource, sys
from pathlib import Path
from tests.integration.test_watch import Watched, wait_for

watched, refuse = Watched(Path(sys.argv[1])), sys.argv[2]
(watched.memory / "a").mkdir(parents=True)
soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
watched.backend.memory_sync(False, None)
import watchdog.observers
if refuse == "descriptors":
    used = max(int(fd.name) for fd in Path("/proc/self/fd").iterdir())
    resource.setrlimit(resource.RLIMIT_NOFILE, (used, hard))
else:
    Path("/proc/sys/user/max_inotify_watches").write_text("3" if refuse == "watches" else "6")
watched.backend.memory_start()
resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
if refuse == "later":
    assert watched.watching == "events", watched.watching
    for n in range(5):
        (watched.memory / str(n)).mkdir()
    wait_for(lambda: watched.watching != "events")
print(watched.watching)
watched.backend.memory_close()
"""


def namespaces() -> bool:
    """Return True if limits can be set for a child alone."""
    if shutil.which("unshare") is None:
        return False
    probe = "echo 100 > /proc/sys/user/max_inotify_watches"
    return subprocess.run(["unshare", "-U", "-r", "sh", "-c", probe], capture_output=True, check=False).returncode == 0


@pytest.mark.skipif(sys.platform != "linux", reason="inotify is Linux's")
@pytest.mark.parametrize("refuse", ["descriptors", "watches", "later"])
def test_what_the_system_refuses_is_told(refuse: str, tmp_path: Path) -> None:
    if refuse != "descriptors" and not namespaces():
        pytest.skip("this system gives no user namespaces")
    wrapper = [] if refuse == "descriptors" else ["unshare", "-U", "-r"]
    done = subprocess.run(
        [*wrapper, sys.executable, "-c", REFUSED, str(tmp_path), refuse],
        cwd=REPOSITORY, capture_output=True, encoding="utf-8", check=False, timeout=PATIENCE_SECONDS,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("polling: the system refuses to watch: "), done.stdout


def test_a_read_only_session_watches_nothing(watched: Watched) -> None:
    backend = BuiltinBackend(BackendContext(config=watched.config, access="ro"))
    backend.memory_start()
    assert backend.memory_status().details["watching"] == "off"
    backend.memory_close()


# What is left.


def resources() -> tuple[set[str], list[str]]:
    """Threads by name, and what descriptors lead to."""
    links = []
    for fd in Path("/proc/self/fd").iterdir():
        try:
            links.append(str(fd.readlink()))
        except FileNotFoundError:
            continue  # the one that lists them
    return {thread.name for thread in threading.enumerate()}, sorted(links)


@pytest.mark.skipif(sys.platform != "linux", reason="counts in /proc")
def test_nothing_outlives_close(tmp_path: Path) -> None:
    import watchdog.observers  # noqa: F401 -- what an import leaves open is not a slot's

    workspace = tmp_path / "notes"
    (workspace / "memory").mkdir(parents=True)
    (workspace / "memory" / "a.md").write_text("A violin plays.\n")
    config = {"memorySearch": {"sync": {"watchDebounceMs": 50, "intervalMinutes": 1}, "provider": "none"}}
    gc.collect()  # what earlier tests left open would be closed at any moment
    before = resources()
    for _ in range(3):
        slot = MemorySlot({"agents": {"defaults": config}}, workspace=workspace, state_dir=tmp_path / "state")
        slot.start()
        slot.session_started()
        assert slot.call_tool("memory_search", {"query": "violin"})["results"]
        (workspace / "memory" / "a.md").write_text("A violin plays again.\n")
        assert resources() != before
        assert slot.close() == ()
        assert resources() == before


def test_closing_in_the_middle_of_changes_ends_all_the_same(tmp_path: Path) -> None:
    for n in range(5):
        (tmp_path / str(n)).mkdir()
        watched = Watched(tmp_path / str(n))
        watched.start()
        for folder in range(20):
            (watched.memory / str(folder)).mkdir(parents=True)
            (watched.memory / str(folder) / "a.md").write_text("A violin plays.\n")
        closer = threading.Thread(target=watched.backend.memory_close, daemon=True)
        closer.start()
        closer.join(PATIENCE_SECONDS)
        assert not closer.is_alive()
