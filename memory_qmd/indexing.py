"""QMD's index: exported sessions, its configuration, `qmd update` and `qmd embed`, run by one process at a time."""

from __future__ import annotations

import logging
import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from memory_core.atomic import replace_file
from memory_core.config.agent import AgentConfig
from memory_core.errors import BackendUnavailable, FileUnreadable, MemoryCoreError, SyncBusy
from memory_core.records import MemoryFile, SyncReport
from memory_core.sources.files import Listing
from memory_core.sources.session_logs import list_sessions, read_session
from memory_qmd.client import RETRIES, QmdContext, find_failure, quote_end, stopped
from memory_qmd.collections import choose_export_dir, fingerprint_files, write_config
from memory_qmd.database import NOTHING, Contents, QmdFile
from memory_qmd.home import HomeState, QmdHome, unavailable
from memory_qmd.queries import parse_counts

log = logging.getLogger(__name__)

LOCK_STEP_SECONDS = 0.2  # after which a waiter looks if it is still wanted
# Messages of SQLite about a file that `qmd update` does not heal.
_DAMAGE = ("database disk image is malformed", "file is not a database", "SQLITE_CORRUPT", "SQLITE_NOTADB")
_EXPORT_PREFIX = "session-"
_EXPORT_HEADING = "# Session "
_DAY_SECONDS = 86_400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexCheck:
    """A comparison of the files with the index, made without QMD.

    Attributes:
        listing: The files.
        fingerprint: Of the files.
        due: The index is outdated.
        rebuild: The index was built from other collections, and must be rebuilt.
        state: The home's state.
    """

    listing: Listing
    fingerprint: str
    due: bool
    rebuild: bool
    state: HomeState


class Indexer:
    """Keeps one agent's QMD index.

    Args:
        qmd: The agent's QMD.
        on_rebuild: Called before the database is deleted.
    """

    def __init__(self, qmd: QmdContext, *, on_rebuild: Callable[[], None]) -> None:
        self._qmd = qmd
        self.database = QmdFile(qmd.home.database)
        self._on_rebuild = on_rebuild

    def check(self) -> IndexCheck:
        """Compare the files with the index; reads folders and one small file."""
        state = self._qmd.home.load_state()
        listing = self._qmd.collections.list_files()
        fingerprint = fingerprint_files(listing)
        missing = not self.database.path.exists() or not self._qmd.home.config_file.exists()
        rebuild = state.plan != self._qmd.collections.fingerprint()
        return IndexCheck(
            listing=listing,
            fingerprint=fingerprint,
            due=rebuild or (missing and bool(listing.files)) or state.files != fingerprint,
            rebuild=rebuild,
            state=state,
        )

    def read_contents(self) -> Contents | None:
        """Return the size of the index; None if it cannot be read just now."""
        try:
            return self.database.read_contents()
        except MemoryCoreError:
            return None

    def sync(self, *, force: bool) -> SyncReport:
        """Update, then embed what lacks embeddings, also during the pause after a failure; the report says why it did not.

        Raises:
            BackendUnavailable: The update failed, twice.
            SyncBusy: Another process held the lock all the time.
            SyncStopped: The backend was closed.
        """
        began = time.monotonic()
        with self._lock():
            report = self._update(force=force)
            if self._qmd.settings.by_meaning:
                report = self._embed_after(report)
        return replace(report, seconds=time.monotonic() - began)

    def update(self) -> SyncReport:
        """Run `qmd update` if files, collections or the database call for it; raises as `sync`."""
        with self._lock():
            return self._update(force=False)

    def is_embedding_due(self) -> bool:
        """Return True if the configured mode needs embeddings that are missing, and no pause after a failure is left."""
        if not self._qmd.settings.by_meaning:
            return False
        state, contents = self._qmd.home.load_state(), self.read_contents()
        if contents is None or time.time() < state.embed_not_before:
            return False
        return self._lacks_embeddings(state, contents)

    def embed(self, *, download: bool) -> str | None:
        """Run `qmd embed`; after every failure in a row the pause before the next attempt is longer.

        Args:
            download: Let QMD download a missing model; that can take minutes, or hang without a network.

        Returns:
            The reason why files have no embeddings, and what to do about it; None if all have.

        Raises:
            SyncBusy: Another process held the lock all the time.
            SyncStopped: The backend was closed, which is no failure.
        """
        with self._lock():
            return self._embed(download=download)

    def _update(self, *, force: bool) -> SyncReport:
        began, qmd, home = time.monotonic(), self._qmd, self._qmd.home
        sessions = qmd.settings.sessions
        if sessions.enabled:
            folder = choose_export_dir(qmd.config, qmd.settings, home)
            export_sessions(qmd.config, folder, retention_days=sessions.retention_days)
        check = self.check()
        rebuild = force or check.rebuild or self.database.is_damaged()
        existed = self.database.path.exists()
        if rebuild:
            self._delete_database()
        present = qmd.collections.list_present()
        rewritten = write_config(home, present, qmd.models.uris)
        counts = SyncReport(unchanged=len(check.listing.files))
        if rebuild or rewritten or check.due:
            state = replace(check.state, files="", plan=qmd.collections.fingerprint())
            home.save_state(state)
            counts = self._run_update() if present else SyncReport()
            qmd.client.read_version()
            # The files are those from before the update, so that a change during it shows.
            models = "" if rebuild else state.models
            state = replace(state, files=check.fingerprint, updated_at=time.time(), models=models)
            home.save_state(qmd.client.add_version(state))
        contents = self.read_contents() or NOTHING
        warnings = (
            f"{item.root} is missing; its {contents.documents[item.name]} files stay in QMD's index until it is back"
            for item in qmd.collections.planned
            if item not in present and contents.documents.get(item.name)
        )
        return replace(
            counts,
            files=contents.total,
            chunks=contents.total,
            pending=contents.without_embeddings if qmd.settings.by_meaning else 0,
            failures=check.listing.failures,
            warnings=tuple(warnings),
            reindexed=force or (rebuild and existed),
            seconds=time.monotonic() - began,
        )

    def _embed_after(self, report: SyncReport) -> SyncReport:
        """Embed what lacks embeddings after an update, and add the outcome to its report."""
        contents = self.read_contents()
        if contents is None:
            unread = f"nothing was embedded, because {self.database.path} cannot be read just now"
            return replace(report, warnings=(*report.warnings, unread))
        if not self._lacks_embeddings(self._qmd.home.load_state(), contents):
            return report
        problem = self._embed(download=False)
        contents = self.read_contents()
        pending = report.pending if contents is None else contents.without_embeddings
        warnings = report.warnings if problem is None else (*report.warnings, problem)
        return replace(report, pending=pending, embedded=max(report.pending - pending, 0), warnings=warnings)

    def _lacks_embeddings(self, state: HomeState, contents: Contents) -> bool:
        return contents.embedded < contents.total or (
            contents.total > 0 and state.models != self._qmd.models.fingerprint()
        )

    def _embed(self, *, download: bool) -> str | None:
        state = self._qmd.home.load_state()
        try:
            self._run_embed(state, download=download)
        except BackendUnavailable as error:
            failures = state.embed_failures + 1
            not_before = time.time() + RETRIES.pause(failures)
            self._qmd.home.save_state(replace(state, embed_failures=failures, embed_not_before=not_before))
            return f"{error.reason}; {error.action}" if error.action else error.reason
        made_by = self._qmd.models.fingerprint()
        self._qmd.home.save_state(replace(state, models=made_by, embed_failures=0, embed_not_before=0.0))
        return None

    @contextmanager
    def _lock(self) -> Iterator[None]:
        """Hold the lock of the home, for which other processes are waited as long as for a command."""
        client = self._qmd.client
        until = time.monotonic() + client.command_seconds
        try:
            self._qmd.home.create()
            with ExitStack() as held:
                while not client.is_closed:
                    with suppress(TimeoutError):
                        held.enter_context(self._qmd.home.lock(timeout_seconds=LOCK_STEP_SECONDS))
                        break
                    if time.monotonic() >= until and not client.is_closed:
                        raise SyncBusy("another process is updating QMD's index", action="try again in a moment")
                else:
                    raise stopped()
                yield
        except OSError as error:
            reason = f"{self._qmd.home.path} cannot be written ({error.strerror or error})"
            raise unavailable(reason, action="make the state directory writable") from error

    def _delete_database(self) -> None:
        self._on_rebuild()
        self.database.delete()

    def _run_update(self) -> SyncReport:
        """Run `qmd update`, once more if it fails, and then with a new database if the old one is damaged."""
        timeout = self._qmd.settings.update.update_timeout_ms / 1000
        outcome = self._qmd.client.attempt(["update"], timeout_seconds=timeout)
        if outcome.ended == "exit" and outcome.status > 0:
            if any(sign in quote_end(outcome.stderr + outcome.stdout) for sign in _DAMAGE):
                self._delete_database()
            outcome = self._qmd.client.attempt(["update"], timeout_seconds=timeout)
        failure = find_failure(["update"], outcome)
        if failure is not None:
            raise failure
        return parse_counts(outcome.stdout)

    def _run_embed(self, state: HomeState, *, download: bool) -> None:
        problem = self._qmd.models.find_problem("embed")
        if problem is not None and not (download and self._qmd.models.can_download("embed")):
            raise problem
        before = self.read_contents() or NOTHING
        other_model = before.embedded > 0 and state.models != self._qmd.models.fingerprint()
        if other_model:
            self._try_model()
        command = ["embed", "-f"] if other_model else ["embed"]
        outcome = self._qmd.client.run(command, timeout_seconds=self._qmd.settings.update.embed_timeout_ms / 1000)
        if b"already running" in outcome.stdout + outcome.stderr:
            raise unavailable("another process embeds")
        after = self.read_contents()
        if after is not None and after.total and not after.embedded:
            raise unavailable(f"qmd embed made no embeddings: {quote_end(outcome.stderr)}")

    def _try_model(self) -> None:
        """Embed one line with the new model elsewhere, because `embed -f` deletes the old vectors before it tries the new.

        Raises:
            BackendUnavailable: The model does not work.
        """
        scratch = QmdHome(self._qmd.home.path / "smoke-test", models=self._qmd.home.path)
        notes = scratch.path / "notes"
        client = self._qmd.client.move_to(scratch)
        try:
            scratch.create()
            notes.mkdir(exist_ok=True)
            (notes / "note.md").write_text("# A note\n\nOne line that is embedded.\n", encoding="utf-8")
            collection = replace(self._qmd.collections.planned[0], name="smoke", root=notes, pattern="**/*.md")
            write_config(scratch, [collection], self._qmd.models.uris)
            timeout = self._qmd.settings.update.embed_timeout_ms / 1000
            client.run(["update"], timeout_seconds=timeout)
            client.run(["embed"], timeout_seconds=timeout)
            if QmdFile(scratch.database).read_contents().embedded != 1:
                raise unavailable("the new embed model makes no embeddings")
        finally:
            shutil.rmtree(scratch.path, ignore_errors=True)


def export_sessions(
    config: AgentConfig, folder: Path, *, retention_days: float | None, now: float | None = None
) -> None:
    """Export the agent's new or changed session logs as Markdown, and remove exports that are too old.

    Exports have neither tool payloads nor secrets.

    An export has the time of its log, which shows whether the log has changed since. The export of a log that is gone is
    kept until it is too old. Only files that this function wrote are ever removed from the folder.

    Args:
        config: The agent's configuration; there need not be any logs.
        folder: Made if it is missing.
        retention_days: Sessions that have not changed for longer are not exported, and their exports removed; None keeps all.
        now: Unix seconds; None takes the clock's.

    Raises:
        OSError: The folder cannot be written.
    """
    oldest = 0.0 if retention_days is None else (time.time() if now is None else now) - retention_days * _DAY_SECONDS
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    for session in list_sessions(replace(config, search=replace(config.search, sources=("sessions",)))).files:
        if session.stamp.mtime_ns >= oldest * 1e9:
            _export(session, folder / f"{_EXPORT_PREFIX}{session.real_path.stem}.md", config.search.time_zone)
    for target in folder.glob(f"{_EXPORT_PREFIX}*.md"):
        if target.stat().st_mtime < oldest and _is_export(target):
            target.unlink()


def _export(session: MemoryFile, target: Path, zone: str | None) -> None:
    with suppress(FileNotFoundError):
        if target.stat().st_mtime_ns == session.stamp.mtime_ns:
            return
    try:
        said = read_session(session, zone)
    except FileUnreadable as error:
        log.warning("a session is not exported for QMD: %s", error)
        return
    if not said.text:
        return
    heading = _EXPORT_HEADING + session.real_path.stem + (f", {said.date}" if said.date else "")
    replace_file(target, f"{heading}\n\n{said.text}".encode())
    os.utime(target, ns=(session.stamp.mtime_ns, session.stamp.mtime_ns))


def _is_export(target: Path) -> bool:
    with target.open("rb") as file:
        return file.read(len(_EXPORT_HEADING)) == _EXPORT_HEADING.encode()
