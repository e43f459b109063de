"""Mistakes and failures through the real command line: one clear line or a clean empty answer, and no note is touched."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import resource
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from memory_core.stores.sqlite.upkeep import OLDER
from tests.command import SAMPLE, Command, Outcome, as_ordinary_owner
from tests.places import index_path

QUESTION = "Which musical instrument am I learning?"
ANSWER = "memory/2026-02-21.md"


def state_of(folder: Path) -> dict[str, tuple[object, ...]]:
    """Hash, size, time and mode of every regular file below a folder; no hash where it may not be read."""
    return {str(path): _state_of_file(path) for path in folder.rglob("*") if path.is_file() and not path.is_symlink()}


def _state_of_file(path: Path) -> tuple[object, ...]:
    digest = hashlib.sha256(path.read_bytes()).hexdigest() if os.access(path, os.R_OK) else None
    found = path.stat()
    return digest, found.st_size, found.st_mtime_ns, found.st_mode


class WatchedCommand(Command):
    """The command line; asserts that no run of it changes a note."""

    def __call__(self, *arguments: str, before: Callable[[], None] | None = None, **options: Any) -> Outcome:
        held = state_of(self.workspace)
        outcome = super().__call__(*arguments, before=before, **options)
        assert state_of(self.workspace) == held
        return outcome


@pytest.fixture
def command(workspace: Path, tmp_path: Path) -> WatchedCommand:
    return WatchedCommand(workspace, tmp_path / "state")


@pytest.fixture
def indexed(command: WatchedCommand) -> WatchedCommand:
    assert command("index").code == 0
    return command


@dataclass(frozen=True, slots=True)
class BadNote:
    """A note that cannot be used as it is.

    Attributes:
        arrange: Puts it into the workspace.
        complaint: What standard error says of it; "" when there is nothing to say.
        lines: Of that.
    """

    arrange: Callable[[Path], object]
    complaint: str
    lines: int = 1


def _loops(workspace: Path) -> None:
    (workspace / "memory" / "around").symlink_to(workspace / "memory", target_is_directory=True)
    (workspace / "memory" / "a.md").symlink_to(workspace / "memory" / "b.md")
    (workspace / "memory" / "b.md").symlink_to(workspace / "memory" / "a.md")


def _huge(workspace: Path) -> None:
    with (workspace / "memory" / "huge.md").open("w") as file:
        for _ in range(50):
            file.write("a line of a note that grew and grew\n" * (1_000_000 // 36 + 1))


NOTES = {
    "binary": BadNote(lambda w: (w / "memory" / "bad.md").write_bytes(bytes(range(256)) * 40), "memory/bad.md"),
    "empty": BadNote(lambda w: (w / "memory" / "bad.md").write_bytes(b""), ""),
    "50 MB": BadNote(_huge, "memory/huge.md"),
    "one line of 1 MB": BadNote(lambda w: (w / "memory" / "bad.md").write_text("word " * 200_000), ""),
    "one word of 1 MB": BadNote(lambda w: (w / "memory" / "bad.md").write_text("x" * 1_000_000), ""),
    "bad UTF-8": BadNote(lambda w: (w / "memory" / "bad.md").write_bytes(b"caf\xe9 and \xff\xfe\n"), "memory/bad.md"),
    "symlink loops": BadNote(_loops, "memory/around is left out: it is a symbolic link", lines=3),
    "a folder named like a note": BadNote(lambda w: (w / "memory" / "bad.md").mkdir(), ""),
    "a named pipe": BadNote(lambda w: os.mkfifo(w / "memory" / "bad.md"), ""),
}


@pytest.mark.parametrize("note", NOTES.values(), ids=NOTES)
def test_a_bad_note_is_named_and_the_rest_goes_on(note: BadNote, command: Command, workspace: Path) -> None:
    note.arrange(workspace)
    indexed = command("index")
    assert indexed.code == 0
    # A slow machine tells how far it is, as "embeddings: 225 of 225".
    said = [line for line in indexed.err.splitlines() if not re.fullmatch(r"\w+: [\d,]+ of [\d,]+", line)]
    assert len(said) == (note.lines if note.complaint else 0)
    assert note.complaint in indexed.err
    found = command("search", QUESTION, "--json")
    assert found.code == 0
    assert found.json["results"][0]["path"] == ANSWER
    assert "0 added, 0 changed, 0 removed" in command("index").out


def test_status_names_links_that_are_left_out(command: Command, workspace: Path) -> None:
    command("index")
    (workspace / "memory" / "elsewhere").symlink_to(workspace.parent, target_is_directory=True)
    (workspace / "memory" / "one.md").symlink_to(workspace / "MEMORY.md")
    told = command("status").err
    assert [line.split()[1] for line in told.splitlines()] == ["memory/elsewhere", "memory/one.md"]


def test_an_unreadable_note_is_named_and_the_rest_goes_on(command: Command, workspace: Path) -> None:
    locked = workspace / "memory" / "2026-01-05.md"
    locked.chmod(0)
    indexed = command("index", before=as_ordinary_owner)
    assert indexed.code == 0
    assert "memory/2026-01-05.md" in indexed.error
    assert "ermission denied" in indexed.error
    refused = command("get", "memory/2026-01-05.md", before=as_ordinary_owner)
    assert (refused.code, refused.out) == (1, "")
    assert "memory/2026-01-05.md" in refused.error
    locked.chmod(0o644)
    assert "1 added" in command("index").out


def test_an_unreadable_note_keeps_what_was_indexed_of_it(command: Command, workspace: Path) -> None:
    command("index")
    note = workspace / ANSWER
    os.utime(note)
    note.chmod(0)
    assert ANSWER in command("index", before=as_ordinary_owner).error
    assert command("search", QUESTION, "--json", before=as_ordinary_owner).json["results"][0]["path"] == ANSWER
    note.chmod(0o644)


@contextlib.contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """Nothing below a folder can be written by an ordinary owner, as on a read-only disk."""
    folder.mkdir(exist_ok=True)
    modes = {path: path.stat().st_mode for path in [folder, *folder.rglob("*")]}
    for path, mode in modes.items():
        path.chmod(mode & 0o555)
    yield
    for path, mode in modes.items():
        path.chmod(mode)


@pytest.mark.parametrize("words", [["index"], ["search", QUESTION]], ids=lambda words: words[0])
def test_a_read_only_disk_without_an_index_fails_in_one_line(command: Command, words: list[str]) -> None:
    with read_only(command.state_dir):
        failed = command(*words, before=as_ordinary_owner)
        assert (failed.code, failed.out) == (1, "")
        assert str(command.state_dir) in failed.error
        assert command("status", before=as_ordinary_owner).code == 0


def test_a_read_only_disk_with_an_index_still_answers(indexed: Command) -> None:
    before = state_of(indexed.state_dir)
    with read_only(indexed.state_dir):
        found = indexed("search", QUESTION, "--json", before=as_ordinary_owner)
        assert (found.code, found.err) == (0, "")
        assert found.json["results"][0]["path"] == ANSWER
        assert indexed("get", ANSWER, before=as_ordinary_owner).code == 0
        assert indexed("status", before=as_ordinary_owner).code == 0
        failed = indexed("index", before=as_ordinary_owner)
        assert (failed.code, failed.out) == (1, "")
        assert failed.error
    assert state_of(indexed.state_dir) == before


@pytest.mark.parametrize("limit_bytes", [0, 20_000, 200_000])
def test_a_full_disk_fails_in_one_line_and_loses_nothing(command: Command, limit_bytes: int) -> None:
    def fill() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit_bytes, resource.RLIM_INFINITY))

    failed = command("index", before=fill)
    assert (failed.code, failed.out) == (1, "")
    assert str(command.state_dir) in failed.error
    assert command("index").code == 0
    assert command("search", QUESTION, "--json").json["results"][0]["path"] == ANSWER


def test_a_disk_that_fills_up_keeps_the_index_that_was_there(indexed: Command) -> None:
    def fill() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (8192, resource.RLIM_INFINITY))

    failed = indexed("index", "--force", before=fill)
    assert (failed.code, failed.out) == (1, "")
    assert failed.error
    assert indexed("search", QUESTION, "--json").json["results"][0]["path"] == ANSWER


@pytest.mark.parametrize("words", [["search", QUESTION], ["status"], ["items", "list"], ["get", ANSWER]], ids=" ".join)
def test_a_full_disk_is_read_from(indexed: Command, words: list[str]) -> None:
    """No file may grow; SQLite has no room for the one that readers of a write-ahead log share."""
    (indexed.workspace / "memory" / "new.md").write_text("# New\n\nThe kettle is new.\n", encoding="utf-8")
    found = indexed(*words, before=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (8192, resource.RLIM_INFINITY)))
    assert found.code == 0
    assert words[0] != "search" or ANSWER in found.out


def test_a_disk_without_room_gets_no_empty_note_and_is_named(command: Command, tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(disk)], check=False).returncode:
        pytest.skip("only an administrator can mount a small disk")
    try:
        (disk / "memory").mkdir()
        (disk / "MEMORY.md").write_bytes(b"x" * 2**16)
        failed = command("--workspace", str(disk), "add", "The kettle is new.")
        assert (failed.code, "no space left" in failed.error) == (1, True)
        assert not [*(disk / "memory").iterdir()]
        assert f"the disk is full: 0 bytes are left for {disk}" in command("--workspace", str(disk), "doctor").out
        (disk / "MEMORY.md").unlink()
        assert command("--workspace", str(disk), "add", "The kettle is new.").code == 0
        assert "".join(note.read_text() for note in (disk / "memory").iterdir()).count("kettle") == 1
    finally:
        subprocess.run(["umount", str(disk)], check=True)


@pytest.mark.parametrize("words", [["index"], ["search", QUESTION], ["get", "MEMORY.md"], ["status"]], ids=" ".join)
def test_a_workspace_that_does_not_exist_is_named(command: Command, tmp_path: Path, words: list[str]) -> None:
    refused = command("--workspace", str(tmp_path / "nowhere"), *words)
    assert refused.code == 2
    assert str(tmp_path / "nowhere") in refused.error
    assert not (tmp_path / "nowhere").exists()


def index_file(command: Command) -> Path:
    return index_path(command.state_dir, command.workspace)


def _foreign(path: Path) -> None:
    path.write_bytes(b"not a database at all, but somebody's file\n" * 500)


def _truncated(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def _overwritten(path: Path) -> None:
    with path.open("r+b") as file:
        file.seek(8192)
        file.write(b"\xde\xad" * (path.stat().st_size // 2 - 8192))


def _newer(path: Path) -> None:
    with path.open("r+b") as file:
        file.seek(60)  # user_version, see https://www.sqlite.org/fileformat.html#the_database_header
        file.write((OLDER + 2).to_bytes(4, "big"))


Elsewhere = tuple[Path, Callable[..., Outcome]]


@pytest.fixture
def elsewhere(indexed: Command, tmp_path: Path) -> Elsewhere:
    """An index at a configured path, where a file may be anybody's, and what runs commands on it."""
    index, config = tmp_path / "notes.db", tmp_path / "elsewhere.json5"
    config.write_text(f"{{agents: {{defaults: {{memorySearch: {{store: {{path: '{index}'}}}}}}}}}}")

    def run(*words: str) -> Outcome:
        return indexed("--config", str(config), *words)

    assert run("index").code == 0
    return index, run


@pytest.mark.parametrize("words", [["index"], ["search", QUESTION], ["status"]], ids=lambda words: words[0])
@pytest.mark.parametrize("damage", [_foreign, _newer])
def test_a_store_that_cannot_be_used_is_named(
    elsewhere: Elsewhere, damage: Callable[[Path], None], words: list[str]
) -> None:
    index, run = elsewhere
    damage(index)
    failed = run(*words)
    assert (failed.code, failed.out) == (1, "")
    assert str(index) in failed.error


@pytest.mark.parametrize("damage", [_truncated, _overwritten])
def test_the_status_names_a_damaged_index(indexed: Command, damage: Callable[[Path], None]) -> None:
    damage(index_file(indexed))
    failed = indexed("status")
    assert (failed.code, failed.out) == (1, "")
    assert str(index_file(indexed)) in failed.error
    assert "the next search makes it anew" in failed.error.lower()


@pytest.mark.parametrize("words", [["index"], ["index", "--force"], ["search", QUESTION]], ids=" ".join)
@pytest.mark.parametrize("damage", [_truncated, _overwritten])
def test_a_damaged_index_is_made_anew(indexed: Command, damage: Callable[[Path], None], words: list[str]) -> None:
    damage(index_file(indexed))
    assert indexed(*words).code == 0
    assert indexed("search", QUESTION, "--json").json["results"][0]["path"] == ANSWER


@pytest.mark.parametrize("words", [["index"], ["index", "--force"], ["search", QUESTION]], ids=" ".join)
@pytest.mark.parametrize("damage", [_foreign, _newer])
def test_a_file_that_is_not_ours_to_read_is_not_ours_to_write(
    elsewhere: Elsewhere, damage: Callable[[Path], None], words: list[str]
) -> None:
    index, run = elsewhere
    damage(index)
    before = index.read_bytes()
    assert run(*words).code == 1
    assert index.read_bytes() == before


CONFIGURATIONS = {
    "a typo": ("{agents: {defaults: {memorySearch: {sorces: ['memory']}}}}", "memorySearch.sorces"),
    "a wrong type": ("{agents: {defaults: {memorySearch: {query: {maxResults: 'six'}}}}}", "query.maxResults"),
    "out of bounds": ("{agents: {defaults: {memorySearch: {query: {minScore: 1.5}}}}}", "query.minScore"),
    "not JSON5": ("{agents: {defaults: ", "host.json5"),
    "not a table": ("[1, 2]", "host.json5"),
    "two errors": ("{memory: {citation: 'on', bakend: 'x'}}", "memory.citation"),
    "no UTF-8": ("{memory: {citations: '\udcff'}}", "host.json5"),
}


@pytest.mark.parametrize("words", [["index"], ["search", QUESTION], ["status"]], ids=lambda words: words[0])
@pytest.mark.parametrize(("text", "named"), CONFIGURATIONS.values(), ids=CONFIGURATIONS)
def test_a_wrong_configuration_is_named_by_file_and_key(
    command: Command, tmp_path: Path, text: str, named: str, words: list[str]
) -> None:
    config = tmp_path / "host.json5"
    config.write_bytes(os.fsencode(text))
    refused = command("--config", str(config), *words)
    assert (refused.code, refused.out) == (2, "")
    assert str(config) in refused.error
    assert named in refused.error
    assert not command.state_dir.exists()


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["search", QUESTION, "--max-results", "0"], "--max-results"),
        (["search", QUESTION, "--max-results", "101"], "--max-results"),
        (["search", QUESTION, "--min-score", "nan"], "--min-score"),
        (["search", QUESTION, "--before", "2026-02-30"], "before"),
        (["search", QUESTION, "--after", "2026-03-01", "--before", "2026-02-01"], "after"),
        (["get", ANSWER, "--lines", "0"], "lines"),
    ],
)
def test_an_argument_out_of_bounds_is_named(command: Command, words: list[str], named: str) -> None:
    refused = command(*words)
    assert (refused.code, refused.out) == (2, "")
    assert named in refused.error


QUERIES = {
    "10,000 characters": "guitar lesson and other words " * 334,
    "10,000 letters": "q" * 10_000,
    "only punctuation": "?!... --- ;;; ()",
    "only spaces and tabs": " \t ",
    "a quotation mark": '"',
    "an open phrase": '"guitar lesson',
    "an asterisk": "*",
    "a prefix search": "guit*",
    "NEAR(": "NEAR(",
    "NEAR(guitar": "NEAR(guitar lesson, 3",
    "a minus": "guitar -lesson",
    "a column": "text: guitar",
    "a column filter": "{context text} : guitar",
    "operators": "AND OR NOT",
    "a caret and a plus": "^guitar + lesson",
    "SQL": "'; DROP TABLE chunks; --",
    "a line break": "guitar\nlesson",
    "an emoji": "🎸",
    "a lone surrogate": "guitar \udcff",
}


@pytest.fixture(scope="module", params=["static", "none"])
def sample(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> WatchedCommand:
    """The sample workspace itself, indexed once for all queries."""
    state_dir = tmp_path_factory.mktemp("state")
    command = WatchedCommand(SAMPLE, state_dir, {"MEMORY_CORE_PROVIDER": request.param})
    assert command("index").code == 0
    return command


@pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES)
def test_any_query_gets_a_clean_answer(sample: Command, query: str) -> None:
    answered = sample("search", "--json", "--", query)
    assert (answered.code, answered.err) == (0, "")
    assert isinstance(answered.json["results"], list)
