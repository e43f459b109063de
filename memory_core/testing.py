"""The promises of every backend, as tests that its author runs; they need pytest.

class TestMine(BackendContract):
    @pytest.fixture
    def candidate(self):
        return BackendUnderTest("mine", PLUGIN)
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from memory_core.backends.loader import OPERATIONS, RegisteredBackend, register_backend
from memory_core.config.agent import AgentConfig
from memory_core.errors import MemoryCoreError, PathRefused
from memory_core.hookspecs import BackendContext, BackendPlugin
from memory_core.records import Access, Document, Probe, Query, SearchResult, Status, SyncReport

PATIENCE_SECONDS = 60.0  # for what happens in the background, on a busy machine
NOTES = {
    "MEMORY.md": "# Long-term\n\n- The dentist is on Harbour Street.\n- Invoices go to the blue folder.\n",
    "memory/2026-03-01.md": "# Sunday\n\nPainted the fence green.\n\nThe zeppelin QX-4711 leaks.\n",
    "memory/2026-03-02.md": "# Monday\n\nBought paint for the shed.\n",
    "memory/projects/kiln.md": "# Kiln\n\n" + "".join(f"Firing {n} reached cone {n % 13}.\n\n" for n in range(200)),
}


@dataclass(frozen=True)
class BackendUnderTest:
    """A backend that is to keep the promises.

    Attributes:
        name: As its entry point has it.
        plugin: What that names.
        make_context: Makes what the plugin's `open` gets; None gives it its settings as they are by default.
    """

    name: str
    plugin: BackendPlugin
    make_context: Callable[[AgentConfig], BackendContext] | None = None


@dataclass
class Subject:
    """A candidate with a workspace of four notes, opened as memory-core does it."""

    candidate: BackendUnderTest
    config: AgentConfig
    opened: list[RegisteredBackend] = field(default_factory=list)

    def open(self, *, access: Access = "rw") -> RegisteredBackend:
        """Open a backend; it is closed when the test ends."""
        plugin, make = self.candidate.plugin, self.candidate.make_context
        if make is not None:
            context = make(self.config)
        else:
            context = BackendContext(config=self.config, settings=plugin.settings()() if plugin.settings else None)
        backend = register_backend(self.candidate.name, plugin, replace(context, access=access))
        self.opened.append(backend)
        return backend

    def indexed(self) -> RegisteredBackend:
        """Open a backend and sync it."""
        backend = self.open()
        backend.memory_sync(False, None)
        return backend

    def note(self, path: str, text: str) -> None:
        """Write a note."""
        file = self.config.workspace / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def state(self) -> dict[str, bytes]:
        """Read every file below the state folder."""
        return _read_files(self.config.state_dir)


def _read_files(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def _wait_for(condition: Callable[[], bool]) -> bool:
    end = time.monotonic() + PATIENCE_SECONDS
    while not condition() and time.monotonic() < end:
        time.sleep(0.02)
    return condition()


def find(backend: RegisteredBackend, text: str, **query: Any) -> SearchResult:
    """Search."""
    return backend.memory_search(Query(text=text, **query))


def list_paths(result: SearchResult) -> list[str]:
    """Return the notes of a result, in order."""
    return [hit.path for hit in result.hits]


class BackendContract:
    """The tests; a class that derives from it and has the fixture `candidate` tries that backend, each test over four notes."""

    @pytest.fixture
    def candidate(self) -> BackendUnderTest:
        """Return the backend to try."""
        raise NotImplementedError("give your class a fixture `candidate` that returns a BackendUnderTest")

    @pytest.fixture
    def subject(self, candidate: BackendUnderTest, tmp_path: Path) -> Iterator[Subject]:
        """Yield the candidate over the notes; in the end it has to close whatever it has opened."""
        state = tmp_path / "state"
        config = AgentConfig(
            agent="main", workspace=tmp_path / "notes", state_dir=state, store_path=state / "memory" / "main.sqlite"
        )
        made = Subject(candidate, config)
        for path, text in NOTES.items():
            made.note(path, text)
        before = threading.active_count()
        yield made
        for backend in made.opened:
            assert backend.memory_close() is True
            assert backend.memory_close() is True
        assert _wait_for(lambda: threading.active_count() <= before)

    def test_opening_one_starts_nothing_and_writes_nothing(self, subject: Subject) -> None:
        threads = threading.active_count()
        subject.open()
        assert threading.active_count() == threads
        assert not subject.config.state_dir.exists()

    def test_every_operation_answers_in_its_type(self, subject: Subject) -> None:
        backend = subject.indexed()
        answers: dict[str, object] = {
            "memory_search": find(backend, "zeppelin"),
            "memory_get": backend.memory_get("MEMORY.md", 1, 10),
            "memory_sync": backend.memory_sync(False, None),
            "memory_status": backend.memory_status(),
            "memory_probe": backend.memory_probe(),
        }
        types = (SearchResult, Document, SyncReport, Status, Probe)
        assert [type(answer) for answer in answers.values()] == list(types)
        flags = {"memory_sync_soon", "memory_start", "memory_close"}
        assert set(OPERATIONS) >= {*answers, *flags}
        assert [getattr(backend, name)() for name in sorted(flags)] == [True] * 3

    # Searching.

    def test_a_word_finds_its_place(self, subject: Subject) -> None:
        result = find(subject.indexed(), "Where is the dentist?")
        hit = result.hits[0]
        assert (hit.path, hit.source) == ("MEMORY.md", "memory")
        assert hit.start_line <= 3 <= hit.end_line
        assert "dentist is on Harbour Street" in hit.snippet
        assert (result.backend, result.stale, result.backend_fallback) == (subject.candidate.name, False, None)

    def test_an_identifier_comes_first_at_the_default_threshold(self, subject: Subject) -> None:
        assert list_paths(find(subject.indexed(), "QX-4711"))[0] == "memory/2026-03-01.md"

    def test_hits_keep_to_the_query(self, subject: Subject) -> None:
        backend = subject.indexed()
        for count, size in ((1, 50), (3, 200), (100, 700)):
            result = find(
                backend, "Which firing reached a cone?", max_results=count, max_snippet_chars=size, min_score=0.0
            )
            assert 1 <= len(result.hits) <= count
            assert all(len(hit.snippet) <= size for hit in result.hits)

    def test_scores_are_absolute_and_hits_quote_their_lines(self, subject: Subject) -> None:
        backend = subject.indexed()
        for question in ("dentist", "paint", "firing 17 cone", "invoices blue folder"):
            result = find(backend, question, min_score=0.0)
            assert result.hits
            assert all(
                0 <= score <= 1
                for hit in result.hits
                for score in (hit.score, hit.vector_score or 0, hit.text_score or 0)
            )
            shown_scores = [hit.score for hit in result.hits]
            assert shown_scores == sorted(shown_scores, reverse=True)
            for hit in result.hits:
                lines = NOTES[hit.path].split("\n")
                assert 1 <= hit.start_line <= hit.end_line <= len(lines)
                shown = "\n".join(lines[hit.start_line - 1 : hit.end_line])
                assert all(line.rstrip("…") in shown for line in hit.snippet.split("\n"))

    def test_min_score_holds_for_each_hit(self, subject: Subject) -> None:
        backend = subject.indexed()
        every = find(backend, "paint the fence", min_score=0.0, max_results=100)
        for threshold in (0.2, 0.5, 0.8):
            kept = find(backend, "paint the fence", min_score=threshold, max_results=100)
            assert all(hit.compared >= threshold for hit in kept.hits)
            assert len(kept.hits) <= len(every.hits)

    def test_dates_bound_what_is_found(self, subject: Subject) -> None:
        backend = subject.indexed()
        assert list_paths(find(backend, "paint", after=date(2026, 3, 2))) == ["memory/2026-03-02.md"]
        assert list_paths(find(backend, "paint", before=date(2026, 3, 1))) == ["memory/2026-03-01.md"]

    @pytest.mark.parametrize(
        ("zone", "day"), [("Pacific/Kiritimati", date(2025, 7, 15)), ("Pacific/Niue", date(2025, 7, 13))]
    )
    def test_a_note_without_a_date_is_of_the_day_it_was_last_changed(
        self, subject: Subject, zone: str, day: date
    ) -> None:
        changed = datetime(2025, 7, 14, 10, 30, tzinfo=UTC).timestamp()
        os.utime(subject.config.workspace / "memory/projects/kiln.md", (changed, changed))
        subject.config = replace(subject.config, search=replace(subject.config.search, time_zone=zone))
        backend = subject.indexed()
        assert set(list_paths(find(backend, "firing cone", after=day, before=day))) == {"memory/projects/kiln.md"}
        assert list_paths(find(backend, "firing cone", after=day + timedelta(1))) == []
        assert list_paths(find(backend, "firing cone", before=day - timedelta(1))) == []

    @pytest.mark.parametrize(
        "text",
        [
            "", "   ", "?!", '"*(:^-+', "the of and is", "xqzvkw plomfritz",
            '"unbalanced', "NEAR(a b)", "-zeppelin", "context:zeppelin", "zeppelin AND", "zeppelin*", "{a}", "a\0b", "\ufffd",
        ],
    )  # fmt: skip
    def test_no_question_is_an_error(self, text: str, subject: Subject) -> None:
        result = find(subject.indexed(), text)
        assert len(result.hits) <= 6
        if "zeppelin" not in text:
            assert result.hits == ()

    def test_a_very_long_question_is_answered(self, subject: Subject) -> None:
        question = "zeppelin " + "word " * 2000
        assert len(question) > 10_000
        assert len(find(subject.indexed(), question, min_score=0.0).hits) <= 6

    def test_nothing_indexed_yet_is_said(self, subject: Subject) -> None:
        for path in NOTES:
            (subject.config.workspace / path).unlink()
        result = find(subject.open(), "dentist")
        assert (result.hits, result.warning) == ((), "No memories indexed yet")

    def test_what_has_changed_is_found_after_a_sync(self, subject: Subject) -> None:
        backend = subject.indexed()
        subject.note("memory/new.md", "A xylophone was delivered.\n")
        (subject.config.workspace / "memory/2026-03-02.md").unlink()
        subject.note("memory/2026-03-01.md", "# Sunday\n\nPainted the gate.\n")
        backend.memory_sync(False, None)
        assert list_paths(find(backend, "xylophone")) == ["memory/new.md"]
        assert find(backend, "QX-4711").hits == ()
        assert "memory/2026-03-02.md" not in list_paths(find(backend, "paint", min_score=0.0))

    def test_threads_may_ask_at_once(self, subject: Subject) -> None:
        backend = subject.indexed()
        with ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(lambda _: list_paths(find(backend, "QX-4711"))[0], range(16)))
        assert set(answers) == {"memory/2026-03-01.md"}

    # Reading.

    def test_lines_are_read_from_the_file_without_an_index(self, subject: Subject) -> None:
        backend = subject.open()
        page = backend.memory_get("MEMORY.md", 3, 1)
        assert page == Document(
            path="MEMORY.md",
            text="- The dentist is on Harbour Street.",
            from_line=3,
            lines=1,
            truncated=True,
            next_from=4,
        )
        subject.note("MEMORY.md", "changed\n")
        assert backend.memory_get("MEMORY.md", 1, 10).text == "changed"

    def test_pages_add_up_to_the_file(self, subject: Subject) -> None:
        backend = subject.open()
        for path, text in NOTES.items():
            lines: list[str] = []
            at: int | None = 1
            while at is not None:
                page = backend.memory_get(path, at, 50)
                assert page.lines == len(page.text.split("\n")) <= 50
                lines += page.text.split("\n")
                at = page.next_from
            assert "\n".join(lines) + "\n" == text

    def test_what_is_missing_is_said_and_behind_the_end_is_nothing(self, subject: Subject) -> None:
        backend = subject.open()
        missing = backend.memory_get("memory/1999-01-01.md", 1, 10)
        assert (missing.status, missing.text, missing.lines) == ("not_found", "", 0)
        behind = backend.memory_get("MEMORY.md", 1000, 10)
        assert (behind.status, behind.text, behind.lines, behind.next_from) == ("ok", "", 0, None)

    @pytest.mark.parametrize("path", ["../outside.md", "/etc/passwd", "notes.txt", "", "memory/../../outside.md"])
    def test_what_is_no_note_is_refused(self, path: str, subject: Subject) -> None:
        (subject.config.workspace.parent / "outside.md").write_text("secret", encoding="utf-8")
        with pytest.raises(PathRefused):
            subject.open().memory_get(path, 1, 10)

    # Syncing.

    def test_syncing_counts_and_twice_changes_nothing(self, subject: Subject) -> None:
        backend = subject.open()
        first = backend.memory_sync(False, None)
        assert (first.files, first.added, first.failures, first.pending) == (4, 4, (), 0)
        again = backend.memory_sync(False, None)
        assert (again.files, again.added, again.changed, again.removed) == (4, 0, 0, 0)
        forced = backend.memory_sync(True, None)
        assert forced.files == 4
        assert list_paths(find(backend, "QX-4711"))[0] == "memory/2026-03-01.md"

    def test_asking_for_a_sync_returns_at_once_and_it_comes(self, subject: Subject) -> None:
        backend = subject.open()
        began = time.monotonic()
        assert backend.memory_sync_soon() is True
        assert (
            time.monotonic() - began < 30
        )  # a busy machine needs less, and whoever waits for a provider or a child, more
        assert _wait_for(lambda: backend.memory_status().indexed)

    def test_no_note_is_ever_changed(self, subject: Subject) -> None:
        folder = subject.config.workspace
        before = {path: path.stat() for path in folder.rglob("*")}, _read_files(folder)
        backend = subject.open()
        backend.memory_start()
        backend.memory_sync(False, None)
        find(backend, "paint")
        backend.memory_get("MEMORY.md", 1, 10)
        backend.memory_probe()
        backend.memory_sync(True, None)
        backend.memory_close()
        assert _read_files(folder) == before[1]
        assert {path: path.stat().st_mtime_ns for path in folder.rglob("*")} == {
            p: s.st_mtime_ns for p, s in before[0].items()
        }

    # Status and life.

    def test_status_before_and_after(self, subject: Subject) -> None:
        backend = subject.open()
        before = backend.memory_status()
        assert (before.backend, before.agent, before.workspace) == (
            subject.candidate.name,
            "main",
            subject.config.workspace,
        )
        assert (before.indexed, before.files, before.chunks, before.last_sync) == (False, 0, 0, None)
        assert subject.state() == {}
        backend.memory_sync(False, None)
        after = backend.memory_status()
        assert (after.indexed, after.files, after.dirty, after.pending, after.failures) == (True, 4, False, 0, ())
        assert after.chunks >= 4
        assert after.last_sync is not None
        assert abs(after.last_sync - time.time()) < 60
        subject.note("memory/new.md", "A xylophone.\n")
        assert backend.memory_status().dirty is True

    def test_a_probe_tries_for_real(self, subject: Subject) -> None:
        probe = subject.open().memory_probe()
        assert (probe.ok, probe.error) == (True, None)
        assert probe.seconds >= 0

    def test_it_is_started_and_closed_as_often_as_one_likes(self, subject: Subject) -> None:
        backend = subject.open()
        assert [backend.memory_start(), backend.memory_start()] == [True, True]
        assert [backend.memory_close(), backend.memory_close()] == [True, True]
        assert subject.open().memory_close() is True  # never used

    def test_a_session_that_may_not_write_changes_nothing(self, subject: Subject) -> None:
        reader = subject.open(access="ro")
        with pytest.raises(MemoryCoreError):
            reader.memory_sync(False, None)
        with pytest.raises(MemoryCoreError):
            find(reader, "QX-4711")
        assert reader.memory_start() is True
        assert reader.memory_status().indexed is False
        assert reader.memory_get("MEMORY.md", 1, 1).status == "ok"
        assert subject.state() == {}
        subject.indexed().memory_close()
        subject.note("memory/new.md", "A xylophone.\n")
        before = subject.state()
        late = subject.open(access="ro")
        assert list_paths(find(late, "QX-4711"))[0] == "memory/2026-03-01.md"
        assert find(late, "xylophone").hits == ()
        late.memory_close()
        assert before.items() <= subject.state().items()  # SQLite may leave an empty log beside it
