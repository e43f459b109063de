"""Bringing an index level: incremental, equal to a rebuild whatever was edited, and no text is embedded twice."""

from __future__ import annotations

import itertools
import logging
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from subprocess import PIPE

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, precondition, rule

from memory_core.config.settings import Cache, Chunking, ExtraPath
from memory_core.embeddings.protocols import EmbeddingProvider
from memory_core.embeddings.static import StaticProvider
from memory_core.errors import ProviderUnavailable, SyncBusy, SyncStopped
from memory_core.records import Progress
from tests.command import REPOSITORY, Command, as_ordinary_owner
from tests.fakes.providers import CountingProvider
from tests.index import Index, changes
from tests.places import index_path

WORDS = ("harbour", "dentist", "fence", "paint", "school", "kettle", "marble", "violin", "copper", "lantern")


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    made = Index(tmp_path / "notes", tmp_path / "state")
    yield made
    made.close()


@pytest.fixture
def provider() -> CountingProvider:
    return CountingProvider()


def prose(count: int, *, start: int = 0) -> str:
    """Lines of ten words, all different."""
    numbers = range(start, start + count)
    return "".join(" ".join([*(WORDS[(n * 7 + i * 3) % 10] for i in range(9)), f"n{n}"]) + ".\n" for n in numbers)


def rebuilt(index: Index, provider: CountingProvider | None = None) -> dict[str, object]:
    """Return the content of a new index of the same notes."""
    twin = Index(index.workspace, index.state / "twin", index.search)
    try:
        twin.sync(provider and CountingProvider(provider.model))
        return twin.content(provider)
    finally:
        twin.close()
        shutil.rmtree(twin.state)


# Any edits.

LINES = st.one_of(
    st.sampled_from(
        [
            "",
            "# Harbour",
            "## 2026-03-04",
            "```",
            "- item one",
            "| a | b |",
            "第一批样机从盐田港发出",
            "---",
            "\t",
            "\ufeffmark",
        ]
    ),
    st.integers(0, 40).map(lambda n: prose(1, start=n)[:-1]),
    st.text(st.characters(exclude_characters="\n\r\0", exclude_categories=["Cs"]), max_size=400),
)
TEXTS = st.lists(LINES, max_size=30).map("\n".join)
PATHS = st.sampled_from(["MEMORY.md", "memory/2026-03-01.md", "memory/a/b.md", "memory/a.md", "memory/盐田.md"])


class Edits(RuleBasedStateMachine):
    """After a sync the index is what a rebuild would make of the notes, whatever was done to them before."""

    notes = Bundle("notes")

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.index = Index(self.folder / "notes", self.folder / "state")
        self.provider = CountingProvider()
        self.clock = itertools.count(1_700_000_000)  # one second an edit: file systems' own clocks may stand still

    def teardown(self) -> None:
        self.index.close()
        shutil.rmtree(self.folder)

    def write(self, path: str, text: str) -> None:
        file = self.index.note(path, text)
        os.utime(file, (next(self.clock),) * 2)

    def file(self, path: str) -> Path:
        return self.index.workspace / path

    @rule(target=notes, path=PATHS, text=TEXTS)
    def create(self, path: str, text: str) -> str:
        self.write(path, text)
        return path

    @rule(path=notes, line=LINES, at=st.integers(0, 30))
    def insert(self, path: str, line: str, at: int) -> None:
        if self.file(path).exists():
            lines = self.file(path).read_text().split("\n")
            self.write(path, "\n".join([*lines[:at], line, *lines[at:]]))

    @rule(path=notes, at=st.integers(0, 30), count=st.integers(1, 8))
    def cut(self, path: str, at: int, count: int) -> None:
        if self.file(path).exists():
            lines = self.file(path).read_text().split("\n")
            self.write(path, "\n".join([*lines[:at], *lines[at + count :]]))

    @rule(path=consumes(notes))
    def delete(self, path: str) -> None:
        self.file(path).unlink(missing_ok=True)

    @rule(target=notes, path=consumes(notes), to=PATHS)
    def rename(self, path: str, to: str) -> str:
        if self.file(path).exists():
            self.file(to).parent.mkdir(parents=True, exist_ok=True)
            self.file(path).rename(self.file(to))
        return to

    @rule(path=notes)
    def touch(self, path: str) -> None:
        if self.file(path).exists():
            os.utime(self.file(path), (next(self.clock),) * 2)

    @rule(one=notes, other=notes)
    def swap(self, one: str, other: str) -> None:
        if one != other and self.file(one).exists() and self.file(other).exists():
            texts = self.file(one).read_text(), self.file(other).read_text()
            self.write(one, texts[1])
            self.write(other, texts[0])

    @rule(tokens=st.sampled_from([20, 60, 400]))
    def chunk_otherwise(self, tokens: int) -> None:
        self.index.set(chunking=Chunking(tokens=tokens, overlap=tokens // 5))

    @rule(force=st.booleans())
    def sync(self, force: bool) -> None:
        self.index.sync(self.provider, force=force)
        assert self.index.content(self.provider) == rebuilt(self.index, self.provider)

    @rule()
    def sync_without_provider(self) -> None:
        self.index.sync()
        assert self.index.content() == rebuilt(self.index)

    @precondition(lambda self: self.index.store.database.exists())
    @rule()
    def nothing_changes_twice(self) -> None:
        self.index.sync(self.provider)
        before, sent = changes(self.index.config.store_path), len(self.provider.requests)
        report = self.index.sync(self.provider)
        assert (report.added, report.changed, report.removed, report.embedded) == (0, 0, 0, 0)
        assert changes(self.index.config.store_path) == before
        assert len(self.provider.requests) == sent


TestEdits = Edits.TestCase
TestEdits.settings = settings(max_examples=25, stateful_step_count=15, deadline=None)


def test_the_report_counts_files(index: Index) -> None:
    for name in "abc":
        index.note(f"memory/{name}.md", prose(3))
    first = index.sync()
    assert (first.files, first.added, first.changed, first.removed, first.unchanged) == (3, 3, 0, 0, 0)
    index.note("memory/a.md", prose(4))
    (index.workspace / "memory/b.md").unlink()
    (index.workspace / "memory/c.md").rename(index.workspace / "memory/d.md")
    second = index.sync()
    assert (second.files, second.added, second.changed, second.removed, second.unchanged) == (2, 1, 1, 2, 0)
    assert index.sync().unchanged == 2


def test_progress_is_told_in_order(index: Index, provider: CountingProvider) -> None:
    for name in "abc":
        index.note(f"memory/{name}.md", prose(40))
    told: list[Progress] = []
    index.sync(provider, progress=told.append)
    files = [step for step in told if step.phase == "files"]
    assert [step.done for step in files] == [0, 1, 2, 3]
    assert [step.path for step in files] == ["memory/a.md", "memory/b.md", "memory/c.md", ""]
    embeddings = [step for step in told if step.phase == "embeddings"]
    assert embeddings[-1].done == embeddings[-1].total == len(provider.sent)


# No text is embedded twice.


@pytest.mark.parametrize("line", ["One new line.", f"A single new line about the {'very ' * 30}first thing."])
def test_a_line_at_the_top_of_a_long_note_sends_no_text_again(
    line: str, index: Index, provider: CountingProvider
) -> None:
    index.set(chunking=Chunking())
    text = prose(2000)
    index.note("MEMORY.md", text)
    index.sync(provider)
    before, rows = list(provider.sent), _chunk_rows(index)
    index.note("MEMORY.md", f"{line}\n{text}")
    report = index.sync(provider)
    new = provider.sent[len(before) :]
    assert report.embedded == len(new) < len(before) / 10
    assert len(provider.sent) == len(set(provider.sent))
    assert line in new[0]
    assert len(rows - _chunk_rows(index)) < len(rows) / 10  # the others keep their rows
    index.note("MEMORY.md", text)
    assert index.sync(provider).embedded == 0


def _chunk_rows(index: Index) -> set[tuple[int, bytes]]:
    with index.store.database.read() as connection:
        return set(connection.execute("SELECT id, hash FROM chunks"))


@pytest.mark.parametrize(
    "edit",
    [
        lambda w: (w / "memory/a.md").rename(w / "memory/z.md"),
        lambda w: (w / "memory/b.md").write_text((w / "memory/a.md").read_text()),
        lambda w: os.utime(w / "memory/a.md"),
        lambda w: (w / "memory/a.md").write_text(prose(30)),
    ],
    ids=["renamed", "copied", "touched", "rewritten with the same text"],
)
def test_text_that_is_known_is_not_sent(
    edit: Callable[[Path], object], index: Index, provider: CountingProvider
) -> None:
    index.note("memory/a.md", prose(30))
    index.sync(provider)
    sent = len(provider.sent)
    edit(index.workspace)
    assert index.sync(provider).embedded == 0
    assert len(provider.sent) == sent


def test_a_rebuild_sends_nothing(index: Index, provider: CountingProvider) -> None:
    index.note("memory/a.md", prose(30))
    index.sync(provider)
    report = index.sync(provider, force=True)
    assert (report.reindexed, report.embedded) == (True, 0)
    assert report.cached > 0


@pytest.mark.parametrize("provider_of", [StaticProvider, CountingProvider])
@pytest.mark.parametrize("stopped", [False, True])
def test_many_fresh_chunks_are_embedded_as_few_are(
    index: Index,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    provider_of: Callable[[], EmbeddingProvider],
    stopped: bool,
) -> None:
    provider = provider_of()
    for number in range(30):
        index.note(f"memory/{number:02d}.md", prose(number % 9 + 1))  # texts stand several times
    at_the_end = Index(index.workspace, tmp_path / "other", index.search)
    wanted = at_the_end.sync(provider)
    monkeypatch.setattr("memory_core.sync.syncer.FILES_STEP", 4)
    if stopped:
        stop = threading.Event()

        def stop_late(progress: Progress) -> None:
            if progress.done == 25:
                stop.set()

        with pytest.raises(SyncStopped):
            index.sync(provider, stop=stop, progress=stop_late)
        monkeypatch.undo()
    report = index.sync(provider)
    if not stopped:
        assert (report.embedded, report.cached, report.pending) == (wanted.embedded, wanted.cached, 0)
    assert index.content(provider) == at_the_end.content(provider)
    for number in range(0, 30, 2):
        index.note(f"memory/{number:02d}.md", f"{prose(4)}\n\n- The {number} new fences.\n")
    report, wanted = index.sync(provider), at_the_end.sync(provider)
    assert report.embedded == wanted.embedded > 0
    assert index.content(provider) == at_the_end.content(provider)
    assert index.sync(provider).embedded == 0
    at_the_end.close()
    provider.close()


def test_another_chunking_sends_only_new_windows_and_back_none(index: Index, provider: CountingProvider) -> None:
    index.note("memory/a.md", prose(60))
    first = index.sync(provider)
    index.set(chunking=Chunking(tokens=400, overlap=0))
    report = index.sync(provider)
    assert report.reindexed
    assert len(provider.sent) == len(set(provider.sent)) == first.embedded + report.embedded
    windows = len({row[-1] for row in index.content(provider)["windows"]})
    assert report.embedded + report.cached == windows
    index.set(chunking=Chunking(tokens=60, overlap=12))
    assert index.sync(provider).embedded == 0


def test_an_outage_owes_vectors_and_pays_them_without_reading(index: Index, provider: CountingProvider) -> None:
    for name in "abcd":
        index.note(f"memory/{name}.md", prose(40, start=ord(name) * 100))
    provider.requests_left = 2
    report = index.sync(provider)
    assert (report.added, report.embedded) == (4, 2 * provider.batch)
    assert report.pending > 0
    assert any("wait for their embedding" in warning for warning in report.warnings)
    assert index.content()["postings"] == rebuilt(index)["postings"]  # text can be found by keyword
    provider.out, provider.requests_left = False, None
    for file in (index.workspace / "memory").iterdir():
        file.chmod(0)  # nobody reads them again
    again = index.sync(provider)
    assert (again.embedded, again.pending, again.unchanged) == (report.pending, 0, 4)
    assert len(provider.sent) == len(set(provider.sent))


def test_a_text_that_is_always_refused_keeps_no_other_waiting(index: Index, provider: CountingProvider) -> None:
    index.note("memory/a.md", prose(200))
    index.sync(CountingProvider("old"))
    provider.refused = {_a_window(index)}
    report = index.sync(provider)
    assert report.pending == 1
    assert report.embedded == len(set(provider.sent))
    with index.store.read() as reader:
        serving = reader.load_serving_space()
    assert serving is not None
    assert serving.space == provider.space


def _a_window(index: Index) -> str:
    spy = CountingProvider()
    twin = Index(index.workspace, index.state / "spy", index.search)
    twin.sync(spy)
    twin.close()
    return spy.sent[3]


def test_rebuilding_in_an_outage_asks_the_provider_once(index: Index, provider: CountingProvider) -> None:
    index.note("memory/a.md", prose(40))
    index.sync(provider)
    index.set(chunking=Chunking(tokens=400, overlap=0))
    provider.out = True
    report = index.sync(provider)
    assert report.reindexed
    assert len([warning for warning in report.warnings if "wait for" in warning]) == 1
    assert index.content()["postings"] == rebuilt(index)["postings"]


# Spaces.


def test_the_old_space_serves_until_the_new_one_is_whole(index: Index) -> None:
    index.note("memory/a.md", prose(60))
    old, new = CountingProvider("old"), CountingProvider("new", requests_left=1)
    index.sync(old)
    index.sync(new)
    assert _serving(index) == "old"
    new.out, new.requests_left = False, None
    index.sync(new)
    assert _serving(index) == "new"
    index.sync(old)
    assert _serving(index) == "old"
    assert len(old.sent) == len(set(old.sent))


def test_none_serves_no_vectors_and_going_back_costs_nothing(index: Index) -> None:
    index.note("memory/a.md", prose(20))
    static = StaticProvider()
    index.sync(static)
    assert _serving(index) == "l2_supercat_256"
    index.sync(None)
    assert _serving(index) is None
    report = index.sync(static)
    assert (_serving(index), report.embedded, report.unchanged) == ("l2_supercat_256", 0, 1)


def test_a_provider_that_cannot_be_opened_leaves_the_space_that_serves(
    index: Index, provider: CountingProvider
) -> None:
    index.note("memory/a.md", prose(20))
    index.sync(provider)
    index.note("memory/b.md", prose(20, start=100))
    report = index.sync(None, problem=ProviderUnavailable("fake", "no key"))
    assert _serving(index) == provider.model
    assert report.pending > 0
    assert any("no key" in warning for warning in report.warnings)


def _serving(index: Index) -> str | None:
    with index.store.read() as reader:
        found = reader.load_serving_space()
    return None if found is None else found.space.model


def test_only_as_many_unused_embeddings_are_kept_as_configured(index: Index, provider: CountingProvider) -> None:
    index.set(cache=Cache(max_entries=3))
    index.note("memory/a.md", prose(60))
    index.sync(provider)
    index.note("memory/a.md", prose(60, start=1000))
    index.sync(provider, force=True)
    assert _embeddings(index) == len({row[-1] for row in index.content(provider)["windows"]}) + 3
    index.set(cache=Cache(enabled=False))
    index.note("memory/a.md", prose(1))
    index.sync(provider)
    assert _embeddings(index) == 1
    assert index.content(provider) == rebuilt(index, provider)


def _embeddings(index: Index) -> int:
    with index.store.database.read() as connection:
        return int(connection.execute("SELECT count(*) FROM embedding_cache").get)


# Failures stay local.


def unreadable(file: Path) -> None:
    """Make a note unreadable for everybody, root included."""
    file.write_bytes(b"\0" * 20)


def test_a_file_that_cannot_be_read_keeps_its_rows_until_it_can(index: Index, provider: CountingProvider) -> None:
    index.note("memory/bad.md", prose(5))
    index.note("memory/good.md", prose(5, start=50))
    index.sync(provider)
    before = _chunks_of(index, "memory/bad.md")
    unreadable(index.workspace / "memory/bad.md")
    index.note("memory/good.md", prose(6, start=50))
    report = index.sync(provider)
    assert [failure.path for failure in report.failures] == ["memory/bad.md"]
    assert (report.changed, report.files) == (1, 2)
    assert _chunks_of(index, "memory/bad.md") == before
    forced = index.sync(provider, force=True)
    assert [failure.path for failure in forced.failures] == ["memory/bad.md"]
    assert _chunks_of(index, "memory/bad.md") == before
    index.note("memory/bad.md", prose(7))
    assert index.sync(provider).failures == ()
    assert index.content(provider) == rebuilt(index, provider)


def test_a_file_that_was_never_readable_is_reported_and_not_counted(index: Index, provider: CountingProvider) -> None:
    index.note("memory/bad.md", b"\0" * 20)
    index.note("memory/good.md", prose(5))
    report = index.sync(provider)
    assert (report.files, report.added, len(report.failures)) == (1, 1, 1)
    before = changes(index.config.store_path)
    again = index.sync(provider)
    assert len(again.failures) == 1
    assert changes(index.config.store_path) == before  # syncing twice changes nothing here either


def _put_file(path: Path) -> None:
    path.write_text("Here was a folder.\n", encoding="utf-8")


def _put_link(path: Path) -> None:
    path.symlink_to(path.parent.parent, target_is_directory=True)


def _put_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(os.path.relpath(path))  # the path of a socket is short


@pytest.mark.parametrize("put", [_put_file, _put_link, _put_socket])
@pytest.mark.parametrize("root", ["memory", "extra", "extra/deep", "MEMORY.md", "one.md"])
def test_notes_are_gone_when_something_else_is_in_the_place_of_their_root(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, put: Callable[[Path], None], root: str
) -> None:
    index = Index(tmp_path / "w", tmp_path / "s")
    index.set(
        extra_paths=tuple(ExtraPath(path=path) for path in ("extra", "extra/deep", "one.md", "extra/deep/own.md"))
    )
    paths = [
        "MEMORY.md",
        "memory/a.md",
        "extra/b.md",
        "extra/deep/c.md",
        "extra/deep/own.md",
        "one.md",
        "memory/f/d.md",
    ]
    for path in paths:
        index.note(path, prose(5))
    index.sync()
    monkeypatch.chdir(index.workspace)
    place = index.workspace / root
    if place.is_dir():
        shutil.rmtree(place)
    else:
        place.unlink()
    put(place)
    kept = [path for path in paths if not f"{path}/".startswith(f"{root}/")]
    if put is _put_file and place.suffix:
        kept.append(root)  # a note as before
    for force in (False, True):
        index.sync(force=force)
        assert sorted(row[1] for row in index.content()["files"]) == sorted(kept)


def test_a_file_that_stays_unreadable_is_warned_of_once(index: Index, caplog: pytest.LogCaptureFixture) -> None:
    index.note("memory/bad.md", b"\0" * 20)
    caplog.set_level(logging.DEBUG, "memory_core.sync")
    levels = []
    for _ in range(3):
        caplog.clear()
        assert [failure.path for failure in index.sync().failures] == ["memory/bad.md"]
        levels += [record.levelname for record in caplog.records if "stays as it was" in record.getMessage()]
    assert levels == ["WARNING", "DEBUG", "DEBUG"]
    index.note("memory/bad.md", prose(5))
    index.sync()
    unreadable(index.workspace / "memory/bad.md")
    caplog.clear()
    index.sync()
    assert "WARNING" in {record.levelname for record in caplog.records}


def _chunks_of(index: Index, path: str) -> list[tuple[object, ...]]:
    return [row for row in index.content()["chunks"] if row[1] == path]


@pytest.mark.parametrize("words", [["index"], ["index", "--force"]], ids=" ".join)
def test_a_folder_that_cannot_be_read_keeps_the_rows_below_it(
    words: list[str], command: Command, workspace: Path
) -> None:
    deep = workspace / "memory" / "deep"
    deep.mkdir()
    (deep / "a.md").write_text(prose(5))
    command("index")
    deep.chmod(0)
    try:
        report = command(*words, "--json", before=as_ordinary_owner).json
        found = command("search", "harbour paint n3", "--json", before=as_ordinary_owner).json
    finally:
        deep.chmod(0o700)
    assert [failure["path"] for failure in report["failures"]] == ["memory/deep"]
    assert report["removed"] == 0
    assert found["results"][0]["path"] == "memory/deep/a.md"
    assert command("index", "--json").json["failures"] == []


def test_a_workspace_that_cannot_be_read_keeps_its_rows(command: Command, workspace: Path) -> None:
    """Those of other Markdown in it, too."""
    (workspace / "plans").mkdir()
    (workspace / "plans" / "a.md").write_text(prose(5))
    words = ["index", "--sources", "memory,workspace", "--json"]
    files = command(*words).json["files"]
    workspace.chmod(0)
    try:
        report = command(*words, before=as_ordinary_owner).json
    finally:
        workspace.chmod(0o700)
    assert (report["removed"], report["files"]) == (0, files)


def test_an_extra_path_that_is_gone_is_reported(index: Index, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "x.md").write_text(prose(3))
    index.set(extra_paths=(ExtraPath(path=str(elsewhere)),))
    assert index.sync().added == 1
    shutil.rmtree(elsewhere)
    report = index.sync()
    assert [failure.path for failure in report.failures] == [str(elsewhere)]
    assert report.removed == 1


# One at a time, and stopped between two steps.


def test_notes_of_another_workspace_replace_those_of_the_first_with_a_word(index: Index, tmp_path: Path) -> None:
    index.note("MEMORY.md", "The fence is green.")
    assert index.sync().warnings == ()
    index.workspace = tmp_path / "another"
    index.note("MEMORY.md", "The gate is red.")
    (warning,) = index.sync().warnings
    assert str(tmp_path / "another") in warning
    assert "--agent" in warning
    assert index.sync().warnings == ()


def test_only_one_syncs_at_a_time(index: Index) -> None:
    index.note("memory/a.md", prose(5))
    with index.store.lock(), pytest.raises(SyncBusy), index.store.lock():
        pass
    with index.store.lock():
        pass


def test_a_stopped_sync_is_taken_up_where_it_was(index: Index, provider: CountingProvider) -> None:
    for n in range(4):
        index.note(f"memory/{n}.md", prose(40, start=n * 100))
    stop = threading.Event()

    def stop_at_third(step: Progress) -> None:
        if step.phase == "embeddings" and step.done > 20:
            stop.set()

    with pytest.raises(SyncStopped):
        index.sync(provider, stop=stop, progress=stop_at_third)
    done = len(provider.sent)
    report = index.sync(provider)
    assert (report.added, report.unchanged) == (0, 4)
    assert len(provider.sent) == len(set(provider.sent)) > done
    assert index.content(provider) == rebuilt(index, provider)


PROCESS = """
import sys
from memory_core import open_memory
from memory_core.errors import SyncBusy
with open_memory(workspace=sys.argv[1], state_dir=sys.argv[2]) as memory:
    print("ready", flush=True)
    sys.stdin.readline()
    for _ in range(5):
        try:
            memory.sync(force=len(sys.argv) > 3)
        except SyncBusy:
            print("busy", flush=True)
"""


def test_processes_syncing_one_index_leave_it_whole(index: Index, workspace: Path) -> None:
    command = [sys.executable, "-c", PROCESS, str(workspace), str(index.state)]
    processes = [
        subprocess.Popen(
            [*command, *extra], cwd=REPOSITORY, stdin=PIPE, stdout=PIPE, stderr=PIPE, encoding="utf-8",
            env={**os.environ, "MEMORY_CORE_PROVIDER": "static"},
        )
        for extra in ([], ["force"], [])
    ]  # fmt: skip
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    outcomes = [process.communicate("go\n", timeout=120) for process in processes]
    assert [(process.returncode, err) for process, (_, err) in zip(processes, outcomes, strict=True)] == [(0, "")] * 3
    both = Index(workspace, index.state / "twin", index.search)
    both.set(chunking=Chunking())
    both.sync(StaticProvider())
    shared = Index(workspace, index.state, file=index_path(index.state, workspace))
    assert shared.content(None)["strays"] == [(0, 0, 0)]
    assert shared.content(StaticProvider()) == both.content(StaticProvider())
    both.close()
    shared.close()
