"""What is known of notes between two syncs: nothing that changes them is missed, and nothing else costs a look."""

from __future__ import annotations

import gc
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from memory_core.config.agent import AgentConfig
from memory_core.config.settings import ExtraPath, SearchSettings
from memory_core.sources.mounts import is_local, read_mounts
from memory_core.sources.roots import Root
from memory_core.sync.freshness import LOOK_SECONDS, MOST_PATHS, TRUST_SECONDS, ChangeTracker
from memory_core.sync.inotify import EventQueue
from tests.waiting import Clock

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="only Linux has a queue of events that each search can read"
)


class Notes:
    """A workspace and its tracker, which has confirmed it once."""

    def __init__(self, folder: Path) -> None:
        if not is_local(str(folder.resolve()), read_mounts()):
            pytest.skip("the folder for temporary files is on no local file system")
        self.elsewhere = folder / "elsewhere"
        self.memory = folder / "ws" / "memory"
        self.extra = folder / "extra"
        for path in (self.elsewhere, self.memory / "deep" / "er", self.extra):
            path.mkdir(parents=True)
        (self.memory / "a.md").write_text("A violin.\n")
        (self.memory / "deep" / "er" / "b.md").write_text("A kettle.\n")
        self.config = AgentConfig(
            agent="main", workspace=folder / "ws", state_dir=folder / "state", store_path=folder / "state" / "x.sqlite",
            search=SearchSettings(extra_paths=(ExtraPath(path=str(self.extra)),)),
        )  # fmt: skip
        self.clock = Clock()
        self.tracker = ChangeTracker(self.config, clock=self.clock)
        self.tracker.begin()
        self.sync()

    def sync(self) -> None:
        """As a sync that leaves nothing to do."""
        self.tracker.confirm(self.tracker.begin(), "1")

    @property
    def state(self) -> str:
        return self.tracker.check("1")


@pytest.fixture
def notes(tmp_path: Path) -> Iterator[Notes]:
    made = Notes(tmp_path)
    yield made
    made.tracker.close()


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
    "extra path gone": lambda n: n.extra.rmdir(),
    "memory gone": lambda n: shutil.rmtree(n.memory),
    "workspace renamed": lambda n: n.config.workspace.rename(n.elsewhere / "ws"),
    "folder above renamed": lambda n: n.config.workspace.parent.rename(n.config.workspace.parent.with_name("other")),
    "workspace a link": link_workspace,
}


@pytest.mark.parametrize("kind", CHANGES)
def test_a_change_is_known_at_once_and_until_a_sync(kind: str, notes: Notes) -> None:
    assert notes.state == "fresh"
    CHANGES[kind](notes)
    assert notes.state == "stale"
    assert notes.state == "stale"
    if notes.memory.exists():
        notes.sync()
        assert notes.state == "fresh"
        (notes.memory / "later.md").write_text("later\n")
        assert notes.state == "stale"


def test_what_concerns_no_note_costs_no_look(notes: Notes) -> None:
    (notes.memory / "a.md").read_text()
    list(notes.memory.iterdir())
    (notes.memory / "picture.png").write_bytes(b"png")
    (notes.elsewhere / "other.md").write_text("other\n")
    assert notes.state == "fresh"


def test_a_change_while_a_sync_runs_is_kept(notes: Notes) -> None:
    mark = notes.tracker.begin()
    (notes.memory / "a.md").write_text("meanwhile\n")
    notes.tracker.confirm(mark, "1")
    assert notes.state == "stale"
    mark = notes.tracker.begin()
    (notes.memory / "a.md").write_text("meanwhile, and asked for\n")
    assert notes.state == "stale"
    notes.tracker.confirm(mark, "1")
    assert notes.state == "stale"


def test_the_next_sync_is_told_which_files_changed(notes: Notes) -> None:
    assert notes.tracker.begin("1").paths == frozenset()
    (notes.memory / "a.md").write_text("A violet.\n")
    (notes.memory / "deep" / "er" / "b.md").unlink()
    (notes.config.workspace / "MEMORY.md").write_text("long\n")
    changed = frozenset(
        str(path.resolve())
        for path in (
            notes.memory / "a.md",
            notes.memory / "deep" / "er" / "b.md",
            notes.config.workspace / "MEMORY.md",
        )
    )
    look = notes.tracker.begin("1")
    assert look.paths == changed
    assert notes.tracker.begin("1").paths == changed  # as the one before has not been confirmed
    (notes.memory / "a.md").write_text("again\n")
    assert notes.state == "stale"
    notes.tracker.confirm(look, "2")
    assert notes.tracker.check("2") == "stale"
    look = notes.tracker.begin("2")
    assert look.paths == frozenset({str((notes.memory / "a.md").resolve())})
    notes.tracker.confirm(look, "3")
    assert notes.tracker.check("3") == "fresh"


def test_all_files_are_looked_at_where_more_may_have_changed(notes: Notes) -> None:
    def expect_all(generation: str | None = "1") -> None:
        look = notes.tracker.begin(generation)
        assert look.paths is None
        notes.tracker.confirm(look, "1")
        assert notes.tracker.begin("1").paths == frozenset()

    expect_all(None)
    expect_all("another process wrote")
    (notes.memory / "new").mkdir()
    expect_all()
    (notes.memory / "new").chmod(0o700)
    expect_all()
    (notes.config.workspace / "memory.md").symlink_to(notes.memory / "a.md")
    expect_all()
    notes.tracker.expire()
    expect_all()
    for number in range(MOST_PATHS + 1):
        (notes.memory / f"{number}.md").touch()
    expect_all()
    notes.clock.now += LOOK_SECONDS + 1
    assert notes.tracker.begin("1").paths == frozenset()
    assert notes.state == "due"
    expect_all()
    notes.clock.now += TRUST_SECONDS
    expect_all()


def test_a_file_that_could_not_be_read_is_tried_by_each_sync(notes: Notes) -> None:
    path = str((notes.memory / "a.md").resolve())
    notes.tracker.confirm(notes.tracker.begin("1"), "1", unread=[path])
    for _ in range(2):
        assert notes.state == "stale"
        look = notes.tracker.begin("1")
        assert look.paths == frozenset({path})
        notes.tracker.confirm(look, "1", unread=[path])
    notes.tracker.confirm(notes.tracker.begin("1"), "1")
    assert notes.state == "fresh"


def test_files_in_a_folder_that_appeared_are_watched_after_the_next_sync(notes: Notes) -> None:
    (notes.memory / "x" / "y").mkdir(parents=True)
    notes.sync()
    (notes.memory / "x" / "y" / "new.md").write_text("new\n")
    assert notes.state == "stale"


def test_an_index_that_another_process_changed_is_not_taken_for_ours(notes: Notes) -> None:
    assert notes.tracker.check("2") == "stale"
    assert notes.state == "fresh"


def test_now_and_then_a_look_is_due_and_said_once(notes: Notes) -> None:
    notes.clock.now += LOOK_SECONDS + 1
    assert [notes.state, notes.state] == ["due", "fresh"]
    notes.sync()
    assert notes.state == "fresh"
    notes.clock.now += LOOK_SECONDS + 1
    assert [notes.state, notes.state] == ["due", "fresh"]


def test_a_search_long_after_the_last_look_looks_first(notes: Notes) -> None:
    notes.clock.now += LOOK_SECONDS + 1
    assert notes.state == "due"  # of which nothing came
    notes.clock.now += LOOK_SECONDS
    assert [notes.state, notes.state] == ["stale", "stale"]
    notes.sync()
    assert notes.state == "fresh"
    notes.clock.now += 3 * 86_400
    assert notes.state == "stale"


def test_what_a_sync_left_to_do_is_done_by_the_next(notes: Notes) -> None:
    notes.tracker.expire()
    assert notes.state == "stale"
    mark = notes.tracker.begin()
    notes.tracker.expire()
    notes.tracker.confirm(mark, "1")
    assert notes.state == "stale"
    notes.sync()
    assert notes.state == "fresh"


def test_lost_events_are_a_change(notes: Notes) -> None:
    limit = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())
    if limit > 100_000:
        pytest.skip("this system queues too many events to lose one")
    first, second = notes.memory / "1.txt", notes.memory / "2.txt"
    first.touch()
    for _ in range(limit // 2 + 1):  # no event is like the one before it, as equal ones are merged
        first.rename(second)
        second.rename(first)
    assert notes.state == "stale"


def test_too_many_folders_are_not_watched(notes: Notes) -> None:
    tracker = ChangeTracker(notes.config, max_folders=2)
    for _ in range(3):
        tracker.confirm(tracker.begin(), "1")
    assert tracker.check("1") == "stale"
    assert descriptors() == 1  # of the other tracker
    tracker.close()


def test_folders_of_a_network_are_not_trusted(notes: Notes, tmp_path: Path) -> None:
    table = tmp_path / "mountinfo"
    for kind, expected in (("ext4", "fresh"), ("nfs4", "stale"), ("fuse.sshfs", "stale")):
        table.write_text(f"1 0 0:1 / / rw - {kind} x rw\n")
        tracker = ChangeTracker(notes.config, mounts=table)
        tracker.begin()
        tracker.confirm(tracker.begin(), "1")
        assert tracker.check("1") == expected
        tracker.close()


def test_mounts_on_notes_and_below_folders_are_not_trusted(notes: Notes, tmp_path: Path) -> None:
    table = tmp_path / "mountinfo"
    for point, expected in (
        (notes.memory, "fresh"),
        (notes.elsewhere, "fresh"),
        (notes.memory / "a.md", "stale"),
        (notes.memory / "deep" / "er", "stale"),
        (notes.config.workspace / "MEMORY.md", "stale"),
    ):
        table.write_text(f"1 0 0:1 / / rw - ext4 x rw\n2 1 0:1 /x {point} rw - ext4 x rw\n")
        tracker = ChangeTracker(notes.config, mounts=table)
        tracker.begin()
        tracker.confirm(tracker.begin(), "1")
        assert tracker.check("1") == expected, point
        tracker.close()


def test_a_new_mount_is_a_change(notes: Notes, tmp_path: Path) -> None:
    table = tmp_path / "mountinfo"
    table.write_text("1 0 0:1 / / rw - ext4 x rw\n")
    tracker = ChangeTracker(notes.config, mounts=table)
    tracker.begin()
    tracker.confirm(tracker.begin(), "1")
    assert tracker.check("1") == "fresh"
    with table.open("a") as file:
        file.write(f"2 1 0:1 /x {notes.memory}/deep rw - ext4 x rw\n")
    assert tracker.check("1") == "stale"
    tracker.close()


def test_a_queue_of_some_folders_only_is_not_taken_for_whole(notes: Notes, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error that nobody expects ends the first attempt halfway."""
    before = descriptors()
    tracker = ChangeTracker(notes.config)
    tracker.begin()
    with monkeypatch.context() as patched:
        patched.setattr(EventQueue, "watch", interrupt)
        with pytest.raises(KeyboardInterrupt):
            tracker.begin()
    assert descriptors() == before
    tracker.confirm(tracker.begin(), "1")
    assert tracker.check("1") == "fresh"
    (notes.memory / "deep" / "er" / "b.md").write_text("A quokka.\n")
    assert tracker.check("1") == "stale"
    tracker.close()


def interrupt(queue: EventQueue, folder: str) -> None:
    raise KeyboardInterrupt


def test_a_root_that_is_replaced_while_folders_are_found_is_noticed(
    notes: Notes, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = notes.extra.with_name("link")
    link.symlink_to(notes.extra)
    search = SearchSettings(extra_paths=(ExtraPath(path=str(link)),))
    tracker = ChangeTracker(replace(notes.config, search=search))
    tracker.begin()
    places = ChangeTracker._list_places

    def swap(self: ChangeTracker, roots: list[Root]) -> Iterator[str]:
        link.unlink()
        link.symlink_to(notes.elsewhere)
        return places(self, roots)

    with monkeypatch.context() as patched:
        patched.setattr(ChangeTracker, "_list_places", swap)
        mark = tracker.begin()
    tracker.confirm(mark, "1")
    (notes.elsewhere / "x.md").write_text("x\n")
    assert tracker.check("1") == "stale"
    tracker.close()


def descriptors() -> int:
    """The number of queues that this process has open."""
    found = 0
    for fd in Path("/proc/self/fd").iterdir():
        try:
            found += "inotify" in str(fd.readlink())
        except FileNotFoundError:
            continue  # the one that lists them
    return found


def test_one_search_of_a_command_watches_nothing(notes: Notes) -> None:
    notes.tracker.close()
    tracker = ChangeTracker(notes.config)
    tracker.confirm(tracker.begin(), "1")
    assert (tracker.check("1"), descriptors()) == ("stale", 0)


def test_nothing_outlives_its_owner(notes: Notes) -> None:
    before = descriptors()
    notes.tracker.close()
    notes.tracker.close()
    assert notes.state == "stale"
    assert descriptors() == before - 1
    notes.sync()
    assert (notes.state, descriptors()) == ("stale", before - 1)
    forgotten = ChangeTracker(notes.config)
    forgotten.begin()
    forgotten.begin()
    assert descriptors() == before
    del forgotten
    gc.collect()
    assert descriptors() == before - 1


@pytest.mark.filterwarnings("ignore:This process.*is multi-threaded:DeprecationWarning")
def test_a_fork_takes_no_event_of_its_parent(notes: Notes) -> None:
    before = descriptors()
    reader, writer = os.pipe()
    (notes.memory / "a.md").write_text("before the fork\n")
    child = os.fork()
    if child == 0:
        inherited = descriptors() == before - 1
        stale = notes.state == "stale"
        notes.sync()
        os.write(writer, f"{inherited} {stale} {notes.state}".encode())
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(reader, 100) == b"True True fresh"
    os.close(reader)
    os.close(writer)
    assert notes.state == "stale"
