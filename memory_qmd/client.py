"""One QMD command at a time: how it is called, what its ways of failing mean, and what to do about them."""

from __future__ import annotations

import os
import shutil
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from memory_core.errors import BackendUnavailable
from memory_qmd.home import QmdHome, State
from memory_qmd.output import Row, UnreadableOutput, clean, parse_rows, parse_version
from memory_qmd.process import NO_PROGRAM, SEGMENTATION_FAULT, Outcome, Processes, Server

BACKEND = "qmd"
TYPED_SINCE = (2, 1)  # `lex:` and `vec:` lines together with `--no-rerank`; several `-c` in one search
INSTALL = "install Node 22.14 or newer and QMD (npm install -g @tobilu/qmd), or set memory.qmd.command"
OLD_NODE = "run QMD with Node 22.14 or newer: under an older one it crashes without a word"
DIAGNOSE = "run: memory-core doctor"
_TAIL_CHARS = 300  # of stderr, in an error


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Why a command gave no answer.

    Attributes:
        reason: For the error and the status.
        action: What the user can do.
    """

    reason: str
    action: str = ""


class Client:
    """Runs QMD in one agent's home. Making one starts nothing."""

    def __init__(self, command: str, home: QmdHome, *, probe_timeout_seconds: float) -> None:
        self._command = command
        self._home = home
        self._probe_timeout_seconds = probe_timeout_seconds
        self._processes = Processes()
        self._lock = threading.Lock()
        self._version: tuple[str, tuple[int, ...]] = ("", ())
        self._trust_state = True

    def program(self) -> str:
        """The program's path.

        Raises:
            BackendUnavailable: There is none.
        """
        found = shutil.which(os.path.expanduser(self._command))  # noqa: PTH111 - also a bare name, which is no path
        if found is None:
            raise unavailable(Failure(reason=f"{self._command!r} is not installed", action=INSTALL))
        return str(Path(found).absolute())

    def version(self) -> tuple[int, ...]:
        """The version, asked once for every program file; remembered in the home by `remember`.

        Raises:
            BackendUnavailable: It cannot be asked.
        """
        program = self.program()
        identity = _identity(program)
        with self._lock:
            known, version = self._version
            trust_state = self._trust_state
        if known == identity:
            return version
        state = self._home.load_state()
        if trust_state and state.program == identity and state.version:
            version = parse_version(state.version.encode())
        else:
            version = parse_version(self.run(["--version"], timeout_seconds=self._probe_timeout_seconds).stdout)
        with self._lock:
            self._version = (identity, version)
        return version

    def remembered(self, state: State) -> State:
        """The state with the version that was asked."""
        with self._lock:
            identity, version = self._version
        return replace(state, program=identity, version=".".join(map(str, version)))

    def forget_version(self) -> None:
        """Ask anew next time: behind a launcher that stays, QMD may have been replaced."""
        with self._lock:
            self._version = ("", ())
            self._trust_state = False

    def typed(self) -> bool:
        """Whether this QMD takes typed lines. Raises BackendUnavailable when it cannot be asked."""
        return self.version() >= TYPED_SINCE

    def search(self, arguments: Sequence[str], query: str, *, deadline: float) -> list[Row]:
        """The rows of one search.

        Args:
            arguments: The subcommand and its options, without the query.
            query: Goes behind `--`, so that nothing in it is an option.
            deadline: `time.monotonic()` at which the child is killed.

        Raises:
            BackendUnavailable: It gave no answer that can be read.
        """
        outcome = self.run([*arguments, "--json", "--", query], timeout_seconds=deadline - time.monotonic())
        try:
            return parse_rows(outcome.stdout)
        except UnreadableOutput as error:
            raise unavailable(Failure(reason=f"its output cannot be read: {error}", action=DIAGNOSE)) from error

    def run(self, arguments: Sequence[str], *, timeout_seconds: float) -> Outcome:
        """Run one command to success.

        Raises:
            BackendUnavailable: It is not there, failed, was killed, or printed too much.
        """
        outcome = self.attempt(arguments, timeout_seconds=timeout_seconds)
        failure = explain(arguments, outcome)
        if failure is not None:
            raise unavailable(failure)
        return outcome

    def attempt(self, arguments: Sequence[str], *, timeout_seconds: float) -> Outcome:
        """Run one command, however it ends; raises BackendUnavailable only when it cannot be started."""
        if timeout_seconds <= 0:
            raise unavailable(Failure(reason="no time was left to ask it"))
        return self.run_program([self.program(), "--index", "index", *arguments], timeout_seconds=timeout_seconds)

    def run_program(self, command: Sequence[str], *, timeout_seconds: float) -> Outcome:
        """Run any program in QMD's surroundings; raises BackendUnavailable when it cannot be started."""
        try:
            self._home.create()
            return self._processes.run(
                command, env=self._home.environment(), cwd=self._home.path, timeout_seconds=timeout_seconds
            )
        except OSError as error:
            raise unavailable(Failure(reason=f"it cannot be started: {error}", action=INSTALL)) from error

    def serve(self, arguments: Sequence[str], environment: Mapping[str, str]) -> Server:
        """Start a command that stays, with some more variables; raises BackendUnavailable when it cannot be started."""
        program = self.program()
        try:
            self._home.create()
            return self._processes.serve(
                [program, "--index", "index", *arguments],
                env={**self._home.environment(), **environment},
                cwd=self._home.path,
            )
        except OSError as error:
            raise unavailable(Failure(reason=f"it cannot be started: {error}", action=INSTALL)) from error

    def close(self) -> None:
        """Kill what runs; may be called twice."""
        self._processes.close()


def unavailable(failure: Failure) -> BackendUnavailable:
    """The error that lets builtin answer."""
    return BackendUnavailable(BACKEND, failure.reason, action=failure.action)


def explain(arguments: Sequence[str], outcome: Outcome) -> Failure | None:
    """Why a command failed; None when it succeeded."""
    name = f"qmd {arguments[0]}"
    if outcome.ended != "exit":
        reason = {
            "deadline": f"{name} gave no answer within {outcome.seconds:.1f} s",
            "output": f"{name} printed without end",
            "closed": "it is being closed",
        }[outcome.ended]
        return Failure(reason=reason, action=DIAGNOSE)
    if outcome.status == SEGMENTATION_FAULT:
        return Failure(reason=f"{name} crashed (SIGSEGV)", action=OLD_NODE)
    if outcome.status == NO_PROGRAM:
        return Failure(reason=f"{name} did not start: its launcher finds no Node", action=INSTALL)
    if outcome.status:
        detail = tail(outcome.stderr) or tail(outcome.stdout) or "it said nothing"
        return Failure(reason=f"{name} failed with status {outcome.status}: {detail}", action=DIAGNOSE)
    return None


def tail(output: bytes) -> str:
    """The end of what a command printed, on one line, without escape sequences."""
    return " ".join(clean(output).split())[-_TAIL_CHARS:]


def _identity(program: str) -> str:
    """Changes when the program file is replaced; a launcher may stay while QMD is upgraded behind it."""
    info = os.stat(program)  # noqa: PTH116 - follows the link that npm makes
    return f"{os.path.realpath(program)} {info.st_size} {info.st_mtime_ns}"
