"""Appending to notes: text that is added, text that is left out, and paths that may be written."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memory_core.atomic import OPENS_BELOW, locked
from memory_core.config.load import load_config
from memory_core.errors import FileUnreadable, InvalidArgument, NoteChanged, NoteNotWritten, PathRefused
from memory_core.records import Access, CallContext
from memory_core.sources import notes, pages, writer
from memory_core.text.paragraphs import (
    Paragraph,
    clean,
    fingerprint,
    fingerprint_recalled,
    select_new,
    split_paragraphs,
)
from memory_core.tools.append import APPEND, memory_append

DAY = "memory/2026-11-21.md"


class Folders:
    """A workspace and a state folder of their own."""

    def __init__(self, base: Path) -> None:
        self.workspace, self.state_dir = base / "ws", base / "state"
        self.workspace.mkdir(parents=True, exist_ok=True)
        self.note = self.workspace / DAY

    def append(self, text: str, path: str = DAY, **options: Any) -> writer.Appended:
        return writer.append(text, path=path, workspace=self.workspace, state_dir=self.state_dir, **options)

    def write(self, data: bytes) -> None:
        self.note.parent.mkdir(parents=True, exist_ok=True)
        self.note.write_bytes(data)

    @property
    def intent(self) -> Path:
        return notes.find_intent(self.workspace, self.state_dir)

    def interrupt(self, block: str, *, offset: int, path: str = DAY) -> None:
        """Leave the files of a writer that was killed after it wrote its intent file."""
        self.intent.parent.mkdir(parents=True, exist_ok=True)
        self.intent.write_text(json.dumps({"path": path, "offset": offset, "block": block}))


@pytest.fixture
def folders(tmp_path: Path) -> Folders:
    return Folders(tmp_path)


def test_a_new_note_begins_with_its_date(folders: Folders) -> None:
    done = folders.append("One.\n\n\n\nTwo,\nstill two.\n")
    assert folders.note.read_text() == "# 2026-11-21\n\nOne.\n\nTwo,\nstill two.\n"
    assert (done.path, done.start_line, done.end_line, done.created) == (DAY, 3, 6, True)
    assert done.paragraphs == ("One.", "Two,\nstill two.")
    assert done.skipped == ()


def test_only_notes_are_in_the_workspace(folders: Folders) -> None:
    folders.append("One.")
    folders.append("Two.")
    assert [path.relative_to(folders.workspace).as_posix() for path in sorted(folders.workspace.rglob("*"))] == [
        "memory",
        DAY,
    ]
    assert [path.suffix for path in (folders.state_dir / "memory").iterdir()] == [".lock"]


@pytest.mark.parametrize(
    ("before", "after", "start"),
    [
        (b"old", b"old\n\nNew.\n", 3),
        (b"old\n", b"old\n\nNew.\n", 3),
        (b"old\n\n", b"old\n\nNew.\n", 3),
        (b"old\r\nline\r\n", b"old\r\nline\r\n\r\nNew.\r\n", 4),
        (b"old\r\nline", b"old\r\nline\r\n\r\nNew.\r\n", 4),
        (b"\xef\xbb\xbfold\n", b"\xef\xbb\xbfold\n\nNew.\n", 3),
        (b"bad \xff byte\n", b"bad \xff byte\n\nNew.\n", 3),
        (b"", b"# 2026-11-21\n\nNew.\n", 3),
    ],
)
def test_what_stands_there_stays_byte_for_byte(before: bytes, after: bytes, start: int, folders: Folders) -> None:
    folders.write(before)
    done = folders.append("New.")
    assert folders.note.read_bytes() == after
    assert (done.start_line, done.end_line) == (start, start)


def test_the_lines_are_those_that_were_added(folders: Folders) -> None:
    folders.append("# Work\n\n- a\n- b")
    done = folders.append("Second,\ntwo lines.\n\nThird.")
    lines = folders.note.read_text().splitlines()
    assert lines[done.start_line - 1 : done.end_line] == ["Second,", "two lines.", "", "Third."]


def test_a_paragraph_that_is_there_is_skipped(folders: Folders) -> None:
    folders.append("One.\n\nTwo,\nstill two.")
    before = folders.note.read_bytes()
    done = folders.append("Two, still  two.\n\nOne.\n\nOne.")
    assert (done.paragraphs, done.start_line, done.end_line) == ((), 0, 0)
    assert [one.reason for one in done.skipped] == ["already there"] * 3
    assert folders.note.read_bytes() == before
    assert folders.append("Three.\n\nOne.\n\nThree.").paragraphs == ("Three.",)


def test_the_same_words_under_another_heading_are_another_fact(folders: Folders) -> None:
    folders.append("## Ada\n\n- likes tea\n\n## Bo\n\n- likes maté")
    done = folders.append("## Cy\n\n- likes tea")
    assert done.paragraphs == ("## Cy", "- likes tea")
    assert folders.append("## Ada\n\n- likes tea").paragraphs == ()
    assert folders.append("- likes tea").paragraphs == ()


def test_a_heading_comes_with_what_is_new_under_it(folders: Folders) -> None:
    folders.append("## Decisions\n\nUse apsw.\n\n## Open\n\nNothing.")
    done = folders.append("## Decisions\n\nUse apsw.\n\nUse pluggy.\n\n## Open\n\nNothing.")
    assert done.paragraphs == ("## Decisions", "Use pluggy.")
    assert folders.append("## Decisions\n\nUse rich.").paragraphs == ("Use rich.",)  # the note ends under it already
    assert folders.append("## Decided: no web UI").paragraphs == ("## Decided: no web UI",)


def test_the_notes_own_heading_is_not_repeated(folders: Folders) -> None:
    assert folders.append("# 2026-11-21\n\nOne.").paragraphs == ("One.",)
    assert folders.append("# 2026-11-21\n\nOne.\n\nTwo.").paragraphs == ("Two.",)
    assert folders.note.read_text() == "# 2026-11-21\n\nOne.\n\nTwo.\n"
    with pytest.raises(InvalidArgument):
        folders.append("# 2026-11-21")


def test_fenced_code_is_one_paragraph_and_always_closed(folders: Folders) -> None:
    code = "```python\na = 1\n\n# no heading\n```"
    assert folders.append(code).paragraphs == (code,)
    assert folders.append(code).paragraphs == ()
    assert folders.append("~~~~\nleft open").paragraphs == ("~~~~\nleft open\n~~~~",)
    assert folders.append("After.").paragraphs == ("After.",)
    assert folders.append("After.").paragraphs == ()


def test_a_fence_that_the_user_left_open_does_not_hide_what_follows(folders: Folders) -> None:
    folders.write(b"```\nopen\n\nOne.\n")
    assert folders.append("One.").paragraphs == ()


@pytest.mark.parametrize(
    ("text", "stored"),
    [
        ("a\r\nb\rc", "a\nb\nc"),
        ("bell\x07 null\x00 esc\x1b[31m", "bell null esc[31m"),
        ("half \ud83d emoji", "half ? emoji"),
        ("日本語 😀 é\ttab", "日本語 😀 é\ttab"),
    ],
)
def test_text_is_made_fit_for_a_note(text: str, stored: str, folders: Folders) -> None:
    assert folders.append(text).paragraphs == (stored,)


@pytest.mark.parametrize("text", ["", " \n\t\n", "\x00", "# 2026-11-21\n"])
def test_nothing_is_no_text(text: str, folders: Folders) -> None:
    with pytest.raises(InvalidArgument, match="text: is empty"):
        folders.append(text)
    assert list(folders.workspace.iterdir()) == []


def test_sizes_are_bounded(folders: Folders) -> None:
    assert folders.append("é" * (writer.MAX_TEXT_BYTES // 2)).paragraphs
    with pytest.raises(InvalidArgument, match="65,536 bytes"):
        folders.append("é" * (writer.MAX_TEXT_BYTES // 2) + "x")
    folders.write(b"x" * writer.MAX_NOTE_BYTES)
    with pytest.raises(NoteNotWritten, match="grow beyond"):
        folders.append("One more.")
    assert folders.note.stat().st_size == writer.MAX_NOTE_BYTES


@pytest.mark.parametrize("data", [b"a\x00b", "utf-16".encode("utf-16")])
def test_what_is_no_text_is_left_alone(data: bytes, folders: Folders) -> None:
    folders.write(data)
    with pytest.raises(FileUnreadable):
        folders.append("One.")
    assert folders.note.read_bytes() == data


@pytest.mark.parametrize(
    "path",
    [
        "",
        ".",
        "memory",
        "memory/",
        "memory/notes.md",
        "memory/2026-13-01.md",
        "memory/20261121.md",
        "memory/2026-11-21.txt",
        "memory/sub/2026-11-21.md",
        "./memory/2026-11-21.md",
        "memory//2026-11-21.md",
        "memory/../memory/2026-11-21.md",
        "../memory/2026-11-21.md",
        "/etc/passwd",
        "AGENTS.md",
        "memory/2026-11-21.md\0",
        "Memory.md",
    ],
)
def test_no_other_path_is_written(path: str, folders: Folders) -> None:
    with pytest.raises(PathRefused):
        folders.append("One.", path)
    assert list(folders.workspace.iterdir()) == []


def _link_note(folders: Folders, outside: Path) -> None:
    folders.note.parent.mkdir(parents=True)
    folders.note.symlink_to(outside / "target.md")


def _link_folder(folders: Folders, outside: Path) -> None:
    folders.note.parent.symlink_to(outside)


def _link_dangling(folders: Folders, outside: Path) -> None:
    folders.note.parent.mkdir(parents=True)
    folders.note.symlink_to(outside / "nowhere.md")


def _folder(folders: Folders, outside: Path) -> None:
    folders.note.mkdir(parents=True)


def _pipe(folders: Folders, outside: Path) -> None:
    folders.note.parent.mkdir(parents=True)
    os.mkfifo(folders.note)


@pytest.mark.parametrize("make", [_link_note, _link_folder, _link_dangling, _folder, _pipe])
def test_links_folders_and_pipes_are_refused(
    make: Callable[[Folders, Path], None], folders: Folders, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "target.md").write_text("theirs")
    make(folders, outside)
    with pytest.raises((PathRefused, NoteNotWritten)):
        folders.append("One.")
    assert [(path.name, path.read_text()) for path in outside.iterdir()] == [("target.md", "theirs")]


def test_the_workspace_itself_may_be_a_link(folders: Folders, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    folders.workspace.rmdir()
    folders.workspace.symlink_to(tmp_path / "real")
    folders.append("One.")
    assert (tmp_path / "real" / DAY).exists()


def test_a_plain_file_in_the_folders_place_is_an_error(folders: Folders) -> None:
    (folders.workspace / "memory").write_text("x")
    with pytest.raises(NoteNotWritten):
        folders.append("One.")


def test_a_lock_that_is_held_is_waited_for_and_then_an_error(folders: Folders) -> None:
    folders.append("One.")
    with (
        locked(folders.intent.with_suffix(".lock"), timeout_seconds=1),
        pytest.raises(NoteNotWritten, match="held by another"),
    ):
        folders.append("Two.", lock_timeout_seconds=0.05)
    assert folders.append("Two.").paragraphs == ("Two.",)


def test_longterm_memory_is_the_file_that_exists(folders: Folders) -> None:
    assert writer.longterm_path(folders.workspace) == "MEMORY.md"
    folders.append("Ada prefers tea.", "MEMORY.md")
    assert (folders.workspace / "MEMORY.md").read_text() == "# Memory\n\nAda prefers tea.\n"
    (folders.workspace / "MEMORY.md").rename(folders.workspace / "memory.md")
    assert writer.longterm_path(folders.workspace) == "memory.md"


# What recall put before the model.


@pytest.mark.parametrize(
    "text",
    [
        "Ada prefers tea.",
        "> Ada prefers tea.",
        "- Ada prefers tea.",
        "> - Ada prefers tea.\n> - Bo lives in Ghent.",
        "Bo lives in Ghent.\nAda prefers tea.",
        "Ada prefers tea.\n\nBo lives in Ghent.\n",
        "Ada prefers  tea.\nSource: memory/2026-11-01.md#L3-L4",
        "…Bo lives in Ghent.…",
    ],
)
def test_recalled_text_is_not_written_back(text: str, folders: Folders) -> None:
    recalled = fingerprint_recalled(["- Ada prefers tea.\n- Bo lives in Ghent.\n\nSource: memory/2026-11-01.md#L3-L4"])
    done = folders.append(text, recalled=recalled)
    assert done.paragraphs == ()
    assert {one.reason for one in done.skipped} == {"recalled"}
    assert not folders.note.exists()


def test_what_is_said_about_recalled_text_is_written(folders: Folders) -> None:
    recalled = fingerprint_recalled(["Ada prefers tea."])
    done = folders.append("Ada prefers tea.\n\nAda prefers tea. Since today: coffee.", recalled=recalled)
    assert done.paragraphs == ("Ada prefers tea. Since today: coffee.",)


# An append that was interrupted.


def _blocks() -> list[str]:
    return ["# 2026-11-21\n\nÜber uns.\n\nZwei 😀.\n", "\n\nLast words.\n"]


@pytest.mark.parametrize(("before", "block"), [("", _blocks()[0]), ("# 2026-11-21\n\nold", _blocks()[1])])
def test_a_torn_append_is_completed_at_every_byte(before: str, block: str, tmp_path: Path) -> None:
    for cut in range(len(block.encode()) + 1):
        folders = Folders(tmp_path / str(cut))
        folders.write(before.encode() + block.encode()[:cut])
        folders.interrupt(block, offset=len(before.encode()))
        writer.finish_interrupted(workspace=folders.workspace, state_dir=folders.state_dir)
        assert folders.note.read_text() == before + block
        assert not folders.intent.exists()


def test_the_next_append_completes_it_first(folders: Folders) -> None:
    folders.write(b"# 2026-11-21\n\nFi")
    folders.interrupt("# 2026-11-21\n\nFirst.\n", offset=0)
    folders.append("First.\n\nSecond.")
    assert folders.note.read_text() == "# 2026-11-21\n\nFirst.\n\nSecond.\n"


def test_an_edited_note_gets_what_it_lacks_and_keeps_what_it_has(folders: Folders) -> None:
    folders.write(b"# 2026-11-21\n\nFi and the user's words.\n\nSecond.\n")
    folders.interrupt("# 2026-11-21\n\nFirst.\n\nSecond.\n", offset=0)
    writer.finish_interrupted(workspace=folders.workspace, state_dir=folders.state_dir)
    assert folders.note.read_text() == "# 2026-11-21\n\nFi and the user's words.\n\nSecond.\n\nFirst.\n"


def test_an_intent_nobody_can_follow_is_put_aside(folders: Folders, caplog: pytest.LogCaptureFixture) -> None:
    folders.append("One.")
    (folders.workspace / "MEMORY.md").symlink_to(folders.note)
    for content in (
        "",
        "{",
        "[]",
        '{"path": "../x.md", "offset": 0, "block": "x"}',
        '{"path": "MEMORY.md"}',
        '{"path": "MEMORY.md", "offset": 0, "block": "the file became a link"}',
    ):
        folders.intent.write_text(content)
        assert folders.append(f"After {len(content)}.").paragraphs
        assert "its text is kept in" in caplog.text
        caplog.clear()
    assert not (folders.workspace.parent / "x.md").exists()


SHORT_WRITER = """
import resource, signal, sys
from pathlib import Path
from tempfile import TemporaryDirectory
from memory_core.sources import writer as notes
limit, base = int(sys.argv[1]), Path(sys.argv[2])
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
try:
    notes.append(sys.stdin.read(), path="memory/2026-11-21.md", workspace=base / "ws", state_dir=base / "state")
except notes.NoteNotWritten:
    sys.exit(7)
"""


@pytest.mark.parametrize("room", [0, 1, 2, 5, 9, 13])
def test_a_write_that_the_system_cuts_short_is_completed(room: int, folders: Folders, tmp_path: Path) -> None:
    old = "# 2026-11-21\n\n" + "x" * 20_000
    folders.write(old.encode())
    command = [sys.executable, "-B", "-c", SHORT_WRITER, str(len(old) + room), str(tmp_path)]
    ended = subprocess.run(command, input="Ünï.\n\nTwo.", text=True, check=False, timeout=60)

    assert ended.returncode == 7
    torn = folders.note.read_bytes()
    assert len(torn) == len(old) + room  # the note is torn for real
    writer.finish_interrupted(workspace=folders.workspace, state_dir=folders.state_dir)
    assert folders.note.read_text() == old + "\n\nÜnï.\n\nTwo.\n"


# The tool.


Writing = dict[str, Any]  # what memory_append is told beside its arguments


@pytest.fixture
def writing(folders: Folders) -> Writing:
    config = load_config({}, workspace=folders.workspace, state_dir=folders.state_dir).agent("main")
    return {"config": config, "context": CallContext(main=False), "today": date(2026, 11, 21)}


def test_the_tool_appends_to_todays_note(writing: Writing, folders: Folders) -> None:
    assert memory_append({"text": "One.\n\nTwo."}, **writing) == {
        "path": DAY,
        "status": "appended",
        "appended": 2,
        "startLine": 3,
        "endLine": 5,
    }
    assert memory_append({"text": "Two.", "target": "daily"}, **writing) == {
        "path": DAY,
        "status": "nothing new",
        "appended": 0,
        "skipped": 1,
    }


def test_longterm_memory_needs_the_hosts_leave(writing: Writing) -> None:
    with pytest.raises(PathRefused, match="main private session"):
        memory_append({"text": "One.", "target": "longterm"}, **writing)
    allowed = {**writing, "context": CallContext(main=True)}
    assert memory_append({"text": "One.", "target": "longterm"}, **allowed)["path"] == "MEMORY.md"


def test_in_a_flush_turn_only_the_pinned_note_is_written(writing: Writing) -> None:
    pinned = {**writing, "context": CallContext(main=True), "pinned": "memory/2026-11-20.md"}
    assert memory_append({"text": "One."}, **pinned)["path"] == "memory/2026-11-20.md"
    assert memory_append({"text": "Two.", "target": "daily"}, **pinned)["path"] == "memory/2026-11-20.md"
    assert memory_append({"text": "More.", "file": "memory/2026-11-20.md"}, **pinned)["appended"] == 1
    with pytest.raises(PathRefused, match="only memory/2026-11-20"):
        memory_append({"text": "Three.", "target": "longterm"}, **pinned)
    with pytest.raises(PathRefused):
        memory_append({"text": "Four."}, **{**writing, "pinned": "AGENTS.md"})


@pytest.mark.parametrize("access", ["ro", "none"])
def test_without_write_access_nothing_is_written(access: Access, writing: Writing, folders: Folders) -> None:
    with pytest.raises(PathRefused, match="may not write"):
        memory_append({"text": "One."}, **{**writing, "context": CallContext(access=access)})
    assert list(folders.workspace.iterdir()) == []


@pytest.mark.parametrize(
    "arguments", [{}, {"text": None}, {"text": 5}, {"text": "x", "target": "MEMORY.md"}, {"text": "x", "target": []}]
)
def test_bad_arguments_are_named(arguments: dict[str, Any], writing: Writing) -> None:
    with pytest.raises(InvalidArgument) as caught:
        memory_append(arguments, **writing)
    assert caught.value.argument in {"text", "target"}


def test_the_schema_is_closed() -> None:
    assert set(APPEND) == {"name", "description", "parameters"}
    assert APPEND["parameters"]["additionalProperties"] is False
    assert list(APPEND["parameters"]["properties"]) == ["text", "target", "by"]


# Pure parts.

line = st.sampled_from(
    [
        "- a",
        "- b",
        "text",
        "more text",
        "# One",
        "## Two",
        "## Three",
        "```",
        "```py",
        "~~~",
        "",
        "",
        "  ",
        "日本",
        "> quote",
    ]
)
markdown = st.lists(line, max_size=14).map("\n".join) | st.text(max_size=60)


@given(markdown)
def test_paragraphs_are_the_lines_without_the_blank_ones(text: str) -> None:
    cleaned = clean(text)
    kept = [one for paragraph in split_paragraphs(cleaned) for one in paragraph.text.split("\n") if one.strip()]
    assert kept == [one for one in cleaned.split("\n") if one.strip()]
    assert clean(cleaned) == cleaned
    assert all(paragraph.text.strip() for paragraph in split_paragraphs(cleaned))


def _is_above(one: Paragraph, below: Paragraph | None) -> bool:
    """Return True for a heading directly above a lower one: only such a one is left out when all below it is there."""
    return one.level > 0 and below is not None and below.level > one.level


def _joined(paragraphs: list[Paragraph]) -> str:
    return "\n\n".join(one.text for one in paragraphs)


@given(note=markdown, text=markdown)
@example(note="## Two\n- a", text="# One\n## Two\n- a")  # a heading above nothing new is left out
@example(note="# One\n## Two", text="# One\n# One")  # a heading is under none of its own rank
def test_appending_twice_adds_nothing_and_appending_once_loses_nothing(note: str, text: str) -> None:
    note = clean(note)
    offered = split_paragraphs(clean(text))
    kept, _ = select_new(offered, split_paragraphs(note))
    after = note + "\n\n" + _joined(kept)
    assert after.startswith(note)
    wanted = [one for one, below in pairwise([*offered, None]) if one is not None and not _is_above(one, below)]
    assert {fingerprint(one.text) for one in wanted} <= {fingerprint(one.text) for one in split_paragraphs(after)}
    again, skipped = select_new(offered, split_paragraphs(after))
    assert again == []
    assert {one.reason for one in skipped} <= {"already there"}


@given(markdown)
def test_whatever_was_recalled_is_recognised(text: str) -> None:
    offered = split_paragraphs(clean(text))
    kept, _ = select_new(offered, [], recalled=fingerprint_recalled([text]))
    assert [one for one in kept if any(char.isalnum() for char in one.text) and not one.level] == []


def test_threads_of_one_process_wait_for_each_other(folders: Folders) -> None:
    def work(name: int) -> None:
        for number in range(10):
            folders.append(f"Thread {name}, {number}.\n\nShared {number}.")

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(work, range(6)))
    paragraphs = folders.note.read_text().removesuffix("\n").split("\n\n")[1:]
    assert len(paragraphs) == len(set(paragraphs)) == 70


@pytest.mark.parametrize(
    "make", [lambda path: None, lambda path: path.write_text("x"), lambda path: path.symlink_to("gone")]
)
def test_a_workspace_that_is_not_there_is_not_made(make: Callable[[Path], object], folders: Folders) -> None:
    folders.workspace.rmdir()
    make(folders.workspace)
    before = os.path.lexists(folders.workspace)
    with pytest.raises(
        NoteNotWritten, match=f"the workspace {folders.workspace} (does not exist|is no folder)"
    ) as told:
        folders.append("One.")
    assert "--workspace" in told.value.action
    assert os.path.lexists(folders.workspace) == before
    assert not folders.workspace.is_dir()
    assert not folders.state_dir.exists()


def test_a_part_is_replaced_only_while_the_note_holds_what_was_read(tmp_path: Path) -> None:
    folders = Folders(tmp_path)
    note = folders.workspace / "MEMORY.md"
    note.parent.mkdir(parents=True, exist_ok=True)
    note.write_bytes(b"one\r\ntwo\r\n")
    config = load_config({}, workspace=folders.workspace, state_dir=folders.state_dir).agent("main")
    file = pages.resolve(config, "MEMORY.md")
    assert file is not None

    def replace(*, meanwhile: bytes | None = None) -> None:
        def find(data: bytes) -> tuple[int, bytes, bytes]:
            if meanwhile is not None:
                note.write_bytes(meanwhile)
            return data.index(b"two"), b"two", b"three"

        writer.replace_part(file, find, workspace=folders.workspace, state_dir=folders.state_dir)

    mode = note.stat().st_mode
    replace()
    assert note.read_bytes() == b"one\r\nthree\r\n"
    assert note.stat().st_mode == mode
    note.write_bytes(b"two\n")
    with pytest.raises(NoteChanged, match="was changed meanwhile"):
        replace(meanwhile=b"saved by an editor: two\n")
    assert note.read_bytes() == b"saved by an editor: two\n"
    assert [each.name for each in folders.workspace.iterdir()] == ["MEMORY.md"]


@pytest.mark.skipif(not hasattr(os, "seteuid"), reason="permissions of POSIX")
def test_a_workspace_that_may_not_be_written_is_named_so() -> None:
    user = os.geteuid()
    with TemporaryDirectory() as folder:
        workspace, state = Path(folder, "notes"), Path(folder, "state")
        for made in (workspace / "memory", state):
            made.mkdir(parents=True)
        state.chmod(0o777)
        for path in (Path(folder), workspace, workspace / "memory"):
            path.chmod(0o555)
        try:
            if user == 0:
                os.seteuid(65534)  # root may write everywhere
            with pytest.raises(NoteNotWritten, match="permission denied"):
                writer.append("One.", path="memory/2026-03-01.md", workspace=workspace, state_dir=state)
        finally:
            os.seteuid(user)
            for path in (Path(folder), workspace, workspace / "memory"):
                path.chmod(0o755)


@pytest.mark.skipif(not OPENS_BELOW, reason="Windows replaces no file that is open")
@pytest.mark.parametrize("has_links", [True, False])
@pytest.mark.parametrize("new", [b"- new\n", None])
def test_what_is_appended_while_a_note_is_replaced_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, new: bytes | None, has_links: bool
) -> None:
    (tmp_path / "ws").mkdir()
    note, replace, unlink = tmp_path / "ws/MEMORY.md", os.replace, os.unlink
    note.write_bytes(b"- old\n")
    appended: list[bool] = []

    def append_before(does: Callable[..., None]) -> Callable[..., None]:
        def do(*places: Any, **folders: Any) -> None:
            if "MEMORY.md" in map(str, places) and not appended:
                appended.append(True)
                with note.open("ab") as stream:  # as `echo >> MEMORY.md` does, between the last look and the new file
                    stream.write(b"- of the shell\n")
            does(*places, **folders)

        return do

    monkeypatch.setattr(os, "replace", append_before(replace))
    monkeypatch.setattr(os, "unlink", append_before(unlink))
    if not has_links:
        monkeypatch.setattr(os, "link", _refuse_links)
    writer.rewrite("MEMORY.md", lambda _: new, workspace=tmp_path / "ws", state_dir=tmp_path / "state")
    assert note.read_bytes() == (new or b"- old\n") + b"- of the shell\n"
    assert [each.name for each in (tmp_path / "ws").iterdir()] == ["MEMORY.md"]


def _refuse_links(*_: object, **__: object) -> None:
    raise PermissionError(errno.EPERM, "a file system without second names")
