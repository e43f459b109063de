"""Bring QMD's index level: its configuration, `qmd update` and `qmd embed`, one process at a time."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from memory_core.errors import BackendUnavailable, MemoryCoreError, SyncBusy
from memory_core.files import Listing
from memory_core.records import SyncReport
from memory_core.settings import AgentConfig
from memory_qmd.client import Client, Failure, explain, tail, unavailable
from memory_qmd.collections import Collections, export_dir, files_fingerprint, write_config
from memory_qmd.config import QmdConfig
from memory_qmd.database import NOTHING, Contents, Database, is_damaged
from memory_qmd.home import QmdHome, State
from memory_qmd.models import Models
from memory_qmd.output import Counts, parse_counts
from memory_qmd.sessions import export_sessions

FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 60.0, 3600.0  # between attempts to embed
# What the driver says of a file that `update` will not heal.
_DAMAGE = ("database disk image is malformed", "file is not a database", "SQLITE_CORRUPT", "SQLITE_NOTADB")


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """How the files and the index stand to each other, found out without QMD.

    Attributes:
        listing: The files.
        fingerprint: Of the files.
        due: The index is not level with them.
        rebuild: It must be made anew: other collections, or damaged.
        state: What was remembered.
    """

    listing: Listing
    fingerprint: str
    due: bool
    rebuild: bool
    state: State


class Upkeep:
    """Keeps one agent's QMD index. `on_rebuild` is called before the database is deleted."""

    def __init__(
        self,
        config: AgentConfig,
        settings: QmdConfig,
        *,
        client: Client,
        collections: Collections,
        on_rebuild: Callable[[], None],
    ) -> None:
        home = QmdHome.of(config)
        self.database = Database(home.database)
        self.models = Models.chosen(settings.models, home)
        self._config = config
        self._client = client
        self._collections = collections
        self._home = home
        self._settings = settings
        self._on_rebuild = on_rebuild

    def look(self) -> Look:
        """Whether anything is to be done; reads folders and one small file."""
        state = self._home.load_state()
        listing = self._collections.listing()
        fingerprint = files_fingerprint(listing)
        missing = not self.database.path.exists() or not self._home.config_file.exists()
        rebuild = state.plan != self._collections.fingerprint()
        return Look(
            listing=listing,
            fingerprint=fingerprint,
            due=rebuild or (missing and bool(listing.files)) or state.files != fingerprint,
            rebuild=rebuild,
            state=state,
        )

    def contents(self) -> Contents | None:
        """What the index holds; None when that cannot be found out just now."""
        try:
            return self.database.contents()
        except MemoryCoreError:
            return None

    def update(self, *, force: bool = False) -> SyncReport:
        """Run `qmd update` when files, collections or the database call for it; `force` rebuilds the database.

        Raises:
            BackendUnavailable: QMD failed, twice.
            SyncBusy: Another process kept the index all the time.
        """
        began = time.monotonic()
        with self._locked(self._settings.update.command_timeout_ms / 1000):
            self._export_sessions()
            look = self.look()
            rebuild = force or look.rebuild or is_damaged(self.database)
            if rebuild:
                self._rebuild()
            present = self._collections.present()
            drifted = write_config(self._home, present, self.models.uris)
            counts = Counts(unchanged=len(look.listing.files))
            if rebuild or drifted or look.due:
                self._home.save_state(replace(look.state, files="", plan=self._collections.fingerprint()))
                counts = self._run_update() if present else Counts()
                self._home.save_state(self._levelled(look, rebuild=rebuild))
            return self._report(look, counts, rebuild=rebuild, seconds=time.monotonic() - began)

    def embed_due(self) -> bool:
        """Whether files lack embeddings that the configured mode wants, and the pause after failures is over."""
        if self._settings.search_mode == "search":
            return False
        state, contents = self._home.load_state(), self.contents()
        if contents is None or time.time() < state.embed_not_before:
            return False
        return contents.vectors < contents.total or (contents.total > 0 and state.models != self.models.fingerprint())

    def embed(self, *, download: bool) -> str | None:
        """Run `qmd embed`; failures make the pause before the next attempt grow.

        Args:
            download: Whether QMD may fetch a model that is not there; that can take minutes, or hang without a network.

        Returns:
            Why files are left without embeddings; None when none are.
        """
        with self._locked(self._settings.update.embed_timeout_ms / 1000):
            state = self._home.load_state()
            try:
                self._embed(state, download=download)
            except BackendUnavailable as error:
                failures = state.embed_failures + 1
                pause = min(FIRST_PAUSE_SECONDS * 2 ** (failures - 1), LONGEST_PAUSE_SECONDS)
                self._home.save_state(replace(state, embed_failures=failures, embed_not_before=time.time() + pause))
                return error.reason
            self._home.save_state(
                replace(
                    state,
                    models=self.models.fingerprint(),
                    embedded_at=time.time(),
                    embed_failures=0,
                    embed_not_before=0.0,
                )
            )
            return None

    @contextmanager
    def _locked(self, timeout_seconds: float) -> Iterator[None]:
        try:
            self._home.create()
            with self._home.locked(timeout_seconds=timeout_seconds):
                yield
        except TimeoutError as error:
            raise SyncBusy("another process brings QMD's index level", action="try again in a moment") from error
        except OSError as error:
            reason = f"{self._home.path} cannot be written ({error.strerror or error})"
            raise unavailable(Failure(reason=reason, action="make the state directory writable")) from error

    def _export_sessions(self) -> None:
        sessions = self._settings.sessions
        if sessions.enabled:
            folder = export_dir(self._config, self._settings, self._home)
            export_sessions(self._config, folder, retention_days=sessions.retention_days)

    def _rebuild(self) -> None:
        self._on_rebuild()
        self.database.delete()

    def _levelled(self, look: Look, *, rebuild: bool) -> State:
        """The state after an update; the files are those from before it, so that a change meanwhile shows."""
        self._client.version()
        state = replace(
            look.state,
            plan=self._collections.fingerprint(),
            files=look.fingerprint,
            updated_at=time.time(),
            models="" if rebuild else look.state.models,
        )
        return self._client.remembered(state)

    def _run_update(self) -> Counts:
        """`qmd update`, once more after a failure, on a new database when the failure was the old one's."""
        timeout = self._settings.update.update_timeout_ms / 1000
        outcome = self._client.attempt(["update"], timeout_seconds=timeout)
        if outcome.ended == "exit" and outcome.status > 0:
            if any(sign in tail(outcome.stderr + outcome.stdout) for sign in _DAMAGE):
                self._rebuild()
            outcome = self._client.attempt(["update"], timeout_seconds=timeout)
        failure = explain(["update"], outcome)
        if failure is not None:
            raise unavailable(failure)
        self._collections.forget_slugs()
        return parse_counts(outcome.stdout)

    def _report(self, look: Look, counts: Counts, *, rebuild: bool, seconds: float) -> SyncReport:
        contents = self.contents() or NOTHING
        wants_vectors = self._settings.search_mode != "search"
        return SyncReport(
            files=contents.total,
            chunks=contents.total,
            added=counts.new,
            changed=counts.updated,
            removed=counts.removed,
            unchanged=counts.unchanged,
            owed=max(contents.total - contents.vectors, 0) if wants_vectors else 0,
            failures=look.listing.failures,
            warnings=tuple(self._warnings(contents)),
            reindexed=rebuild,
            seconds=seconds,
        )

    def _warnings(self, contents: Contents) -> list[str]:
        present = {item.name for item in self._collections.present()}
        return [
            f"{item.root} is missing; what QMD knows of it ({contents.documents[item.name]} files) is kept"
            for item in self._collections.planned
            if item.name not in present and contents.documents.get(item.name)
        ]

    def _embed(self, state: State, *, download: bool) -> None:
        problem = self.models.problem("embed")
        if problem is not None and not (download and self.models.downloadable("embed")):
            raise unavailable(Failure(reason=problem, action="set memory.qmd.models.embed to a GGUF file"))
        before = self.contents() or NOTHING
        other_model = before.vectors > 0 and state.models != self.models.fingerprint()
        if other_model:
            self._smoke_test()
        command = ["embed", "-f"] if other_model else ["embed"]
        outcome = self._client.run(command, timeout_seconds=self._settings.update.embed_timeout_ms / 1000)
        if b"already running" in outcome.stdout + outcome.stderr:
            raise unavailable(Failure(reason="another process embeds"))
        after = self.contents()
        if after is not None and after.total and not after.vectors:
            raise unavailable(Failure(reason=f"qmd embed made no embeddings: {tail(outcome.stderr)}"))

    def _smoke_test(self) -> None:
        """Embed one line with the new model elsewhere: `embed -f` throws the old vectors away before it tries the new.

        Raises:
            BackendUnavailable: The model does not work.
        """
        scratch = QmdHome(self._home.path / "smoke-test", models=self._home.path)
        notes = scratch.path / "notes"
        client = Client(self._settings.command, scratch, probe_timeout_seconds=10)
        try:
            scratch.create()
            notes.mkdir(exist_ok=True)
            (notes / "note.md").write_text("# A note\n\nOne line that is embedded.\n", encoding="utf-8")
            collection = replace(self._collections.planned[0], name="smoke", root=notes, pattern="**/*.md")
            write_config(scratch, [collection], self.models.uris)
            timeout = self._settings.update.embed_timeout_ms / 1000
            client.run(["update"], timeout_seconds=timeout)
            client.run(["embed"], timeout_seconds=timeout)
            if Database(scratch.database).contents().vectors != 1:
                raise unavailable(Failure(reason="the new embed model makes no embeddings"))
        finally:
            client.close()
            shutil.rmtree(scratch.path, ignore_errors=True)
