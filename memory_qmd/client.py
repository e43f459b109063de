"""The client that runs QMD commands in one agent's home, the errors that their failures become, and the parts of one QMD."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from memory_core.config.agent import AgentConfig
from memory_core.config.environment import expand_home
from memory_core.errors import BackendUnavailable, SyncStopped
from memory_core.hookspecs import BackendContext
from memory_core.threads import Backoff
from memory_qmd.collections import Collections
from memory_qmd.config import QmdConfig
from memory_qmd.home import HomeState, ModelFiles, QmdHome, unavailable
from memory_qmd.process import (
    NO_PROGRAM,
    SEGMENTATION_FAULT,
    Processes,
    ProcessesClosed,
    ProcessOutcome,
    ServerProcess,
)
from memory_qmd.queries import QmdRow, UnreadableOutput, decode, parse_rows, parse_version

TYPED_SINCE = (2, 1)  # `lex:` and `vec:` lines together with `--no-rerank`; several `-c` in one search
INSTALL = "install Node 22.14 or newer and QMD (npm install -g @tobilu/qmd), or set memory.qmd.command"
OLD_NODE = "run QMD with Node 22.14 or newer: under an older one it crashes without a message"
DIAGNOSE = "run: memory-core doctor"
INDEX = "run: memory-core index"
MORE_TIME = "raise memory.qmd.limits.timeoutMs if that happens again"
# Between attempts at what failed: a search mode, the warm server, embedding.
RETRIES = Backoff(first_seconds=60.0, longest_seconds=3600.0)
_QUOTED_CHARS = 300  # of an output, in an error


class QmdClient:
    """Runs QMD in one agent's home. Making one starts nothing.

    Args:
        command: The program, a name on PATH or a path.
        home: The home that QMD is confined to.
        command_seconds: The time of a command that only asks QMD about itself, where nobody waits with a deadline.
        processes: The owner of the children; None makes one.
    """

    def __init__(
        self, command: str, home: QmdHome, *, command_seconds: float, processes: Processes | None = None
    ) -> None:
        self._command = command
        self._home = home
        self.command_seconds = command_seconds
        self._processes = Processes() if processes is None else processes
        self._version: tuple[str, tuple[int, ...]] = ("", ())
        self._trust_state = True

    @property
    def is_closed(self) -> bool:
        """True once `close` has begun."""
        return self._processes.is_closed

    def move_to(self, home: QmdHome) -> QmdClient:
        """Return a client for another home; `close` ends its children, too."""
        return QmdClient(self._command, home, command_seconds=self.command_seconds, processes=self._processes)

    def find_program(self) -> str:
        """Return the program's path.

        Raises:
            BackendUnavailable: The program is not installed.
        """
        found = shutil.which(expand_home(self._command))
        if found is None:
            raise unavailable(f"{self._command!r} is not installed", action=INSTALL)
        return str(Path(found).absolute())

    def read_version(self, *, deadline: float | None = None) -> tuple[int, ...]:
        """Return QMD's version; it is run once for every program file, and the answer kept in the home's state.

        Args:
            deadline: `time.monotonic()` at which QMD is killed; None allows it the time of any such command.

        Raises:
            BackendUnavailable: QMD cannot be run, or gave no answer in time.
            SyncStopped: The client was closed.
        """
        program = self.find_program()
        identity = _identify(program)
        known, version = self._version
        if known == identity:
            return version
        state = self._home.load_state()
        if self._trust_state and state.program == identity and state.version:
            version = parse_version(state.version.encode())
        else:
            seconds = self.command_seconds
            if deadline is not None:
                seconds = min(seconds, deadline - time.monotonic())
            version = parse_version(self.run(["--version"], timeout_seconds=seconds).stdout)
        self._version = (identity, version)
        return version

    def add_version(self, state: HomeState) -> HomeState:
        """Return a state with the version that was read last."""
        identity, version = self._version
        return replace(state, program=identity, version=".".join(map(str, version)))

    def forget_version(self) -> None:
        """Run QMD for its version next time: QMD may have been replaced while its launcher stayed the same."""
        self._version, self._trust_state = ("", ()), False

    def takes_typed_lines(self, *, deadline: float | None = None) -> bool:
        """Return True if this QMD takes typed lines; raises as `read_version`."""
        return self.read_version(deadline=deadline) >= TYPED_SINCE

    def search(self, arguments: Sequence[str], query: str, *, deadline: float) -> list[QmdRow]:
        """Run one search and parse its rows.

        Args:
            arguments: The subcommand and its options, without the query.
            query: Passed behind `--`, so that nothing in it is read as an option.
            deadline: `time.monotonic()` at which the child is killed.

        Raises:
            BackendUnavailable: QMD gave no answer, or one that cannot be read.
            SyncStopped: The client was closed.
        """
        outcome = self.run([*arguments, "--json", "--", query], timeout_seconds=deadline - time.monotonic())
        try:
            return parse_rows(outcome.stdout)
        except UnreadableOutput as error:
            raise unavailable(f"its output cannot be read: {error}", action=DIAGNOSE) from error

    def run(self, arguments: Sequence[str], *, timeout_seconds: float) -> ProcessOutcome:
        """Run one command, which must succeed.

        Raises:
            BackendUnavailable: QMD is not installed, failed, was killed, or printed too much.
            SyncStopped: The client was closed.
        """
        outcome = self.attempt(arguments, timeout_seconds=timeout_seconds)
        failure = find_failure(arguments, outcome)
        if failure is not None:
            raise failure
        return outcome

    def attempt(self, arguments: Sequence[str], *, timeout_seconds: float) -> ProcessOutcome:
        """Run one command, which may fail; raises BackendUnavailable if it cannot be started, SyncStopped if it was stopped."""
        if timeout_seconds <= 0:
            raise unavailable("no time was left to ask it", action=MORE_TIME)
        command = [self.find_program(), "--index", "index", *arguments]
        return self.run_program(command, timeout_seconds=timeout_seconds)

    def run_program(self, command: Sequence[str], *, timeout_seconds: float) -> ProcessOutcome:
        """Run any program in QMD's environment; raises as `attempt`."""
        with self._starting():
            outcome = self._processes.run(
                command, env=self._home.build_environment(), cwd=self._home.path, timeout_seconds=timeout_seconds
            )
        if outcome.ended == "closed":
            raise stopped()
        return outcome

    def start_server(self, arguments: Sequence[str], environment: Mapping[str, str]) -> ServerProcess:
        """Start a command that keeps running, with further variables; raises as `attempt`."""
        program = self.find_program()
        with self._starting():
            return self._processes.start_server(
                [program, "--index", "index", *arguments],
                env={**self._home.build_environment(), **environment},
                cwd=self._home.path,
            )

    @contextmanager
    def _starting(self) -> Iterator[None]:
        """Make the home for a child, and turn what keeps that from being started into our errors."""
        try:
            self._home.create()
            yield
        except ProcessesClosed as error:
            raise stopped() from error
        except OSError as error:
            raise unavailable(f"it cannot be started: {error}", action=INSTALL) from error

    def close(self) -> None:
        """Kill all children; may be called twice."""
        self._processes.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class QmdContext:
    """The parts of one agent's QMD that the modules of this package share. Making one starts nothing.

    Attributes:
        config: The agent's configuration.
        settings: The section `memory.qmd`.
        home: The folder that QMD is confined to.
        models: Its models.
        client: Runs QMD there.
        collections: The folders to index.
    """

    config: AgentConfig
    settings: QmdConfig
    home: QmdHome
    models: ModelFiles
    client: QmdClient
    collections: Collections

    @classmethod
    def of(cls, context: BackendContext) -> Self:
        """Make the parts for the agent of a backend."""
        config = context.config
        settings = context.settings if isinstance(context.settings, QmdConfig) else QmdConfig()
        home = QmdHome.of(config)
        return cls(
            config=config,
            settings=settings,
            home=home,
            models=ModelFiles.choose(settings.models, home),
            client=QmdClient(settings.command, home, command_seconds=settings.update.command_timeout_ms / 1000),
            collections=Collections(config, settings, home),
        )


def stopped() -> SyncStopped:
    """Make the error for work that the end of its owner cut short, which says nothing about QMD."""
    return SyncStopped("QMD was stopped, because its memory was closed")


def find_failure(arguments: Sequence[str], outcome: ProcessOutcome) -> BackendUnavailable | None:
    """Return the error that explains why a command failed, unless its owner has stopped it; None if it succeeded."""
    name = f"qmd {arguments[0]}"
    if outcome.ended == "deadline":
        return unavailable(f"{name} gave no answer within {outcome.seconds:.1f} s", action=DIAGNOSE)
    if outcome.ended == "output":
        return unavailable(f"{name} printed without end", action=DIAGNOSE)
    if outcome.status == SEGMENTATION_FAULT:
        return unavailable(f"{name} crashed (SIGSEGV)", action=OLD_NODE)
    if outcome.status == NO_PROGRAM:
        return unavailable(f"{name} did not start: its launcher finds no Node", action=INSTALL)
    if outcome.status:
        detail = quote_end(outcome.stderr) or quote_end(outcome.stdout) or "it printed nothing"
        return unavailable(f"{name} failed with status {outcome.status}: {detail}", action=DIAGNOSE)
    return None


def quote_end(output: bytes) -> str:
    """Return the end of a command's output on one line, without escape sequences."""
    return " ".join(decode(output).split())[-_QUOTED_CHARS:]


def _identify(program: str) -> str:
    """Return a value that changes when the program file is replaced."""
    info = os.stat(program)  # noqa: PTH116 - follows the link that npm makes
    return f"{os.path.realpath(program)} {info.st_size} {info.st_mtime_ns}"
