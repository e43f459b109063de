"""The command line as its users have it: a process of its own, with its exit code and both of its streams."""

from __future__ import annotations

import ctypes
import json
import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.forking import run_fork

REPOSITORY = Path(__file__).resolve().parents[1]
SAMPLE = REPOSITORY / "tests" / "data" / "sample"
SAMPLE_NOTES = len(list(SAMPLE.rglob("*.md")))

# MEMORY_CORE_TEST_STARTS=exec starts every command anew; `conftest` takes such variables away.
_FORKS = sys.platform == "linux" and os.environ.get("MEMORY_CORE_TEST_STARTS") != "exec"
_LIBC = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True, slots=True)
class Outcome:
    """Exit code and output of a finished command."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Standard output, parsed."""
        return json.loads(self.out)

    @property
    def error(self) -> str:
        """The only line on standard error; asserts that there is exactly one, and that somebody thought of the case."""
        lines = self.err.splitlines()
        assert len(lines) == 1, self.err
        assert lines[0].startswith("memory-core: "), self.err
        assert not {"unexpected", "defect"} & set(lines[0].split()), self.err
        return lines[0]


@dataclass(frozen=True, slots=True)
class Command:
    """Runs `memory-core` on one workspace with one state folder; with the static model, unless told otherwise."""

    workspace: Path
    state_dir: Path
    environment: Mapping[str, str] = field(default_factory=dict)

    def __call__(
        self,
        *arguments: str,
        user: int | None = None,
        before: Callable[[], None] | None = None,
        environment: Mapping[str, str] | None = None,
        timeout_seconds: float = 120,
        feed: str = "",
    ) -> Outcome:
        """Run to the end.

        Args:
            arguments: What the user types after `memory-core`.
            user: Run as this user id; only root may ask for another than its own.
            before: Called in the child before the program starts, to set limits.
            environment: Added to the test's environment.
            timeout_seconds: After which the test fails.
            feed: Standard input, which ends behind it.
        """
        variables = {**self.variables(), **(environment or {})}
        if _FORKS and user is None and before is None:
            return Outcome(*run_fork([*self._options(), *arguments], variables, timeout_seconds, feed))
        done = subprocess.run(
            [*self.start(), *arguments],
            capture_output=True,
            check=False,
            cwd=REPOSITORY,
            encoding="utf-8",
            env=variables,
            group=user,
            extra_groups=None if user is None else [],
            input=feed,
            preexec_fn=before,
            timeout=timeout_seconds,
            user=user,
        )
        return Outcome(done.returncode, done.stdout, done.stderr)

    def find_behind(self) -> list[int]:
        """Return the processes behind, which hooks have started; before a hook ends, theirs has its command line."""
        found = []
        for process in Path("/proc").glob("[0-9]*"):
            try:
                words = (process / "cmdline").read_bytes()
            except OSError:
                continue
            if b"--behind" in words and os.fsencode(self.state_dir) in words:
                found.append(int(process.name))
        return found

    def shell(
        self,
        arguments: str,
        redirect: str,
        *,
        feed: str = "",
        environment: Mapping[str, str] | None = None,
        shell: str = "/bin/sh",
    ) -> Outcome:
        """Run to the end in a shell, with its streams redirected as a user writes it.

        Args:
            arguments: What the user types after `memory-core`, quoted for the shell.
            redirect: Such as `>&-` or `> /dev/full`.
            feed: Standard input, which ends behind it.
            environment: Added to the test's environment.
            shell: The shell.
        """
        line = f"{shlex.join(self.start())} {arguments} {redirect}"
        return run([shell, "-c", line], {**self.variables(), **(environment or {})}, feed=feed)

    def start(self) -> list[str]:
        """The words before the arguments."""
        return [sys.executable, "-m", "memory_core", *self._options()]

    def _options(self) -> list[str]:
        return ["--workspace", str(self.workspace), "--state-dir", str(self.state_dir)]

    def variables(self) -> dict[str, str]:
        """The environment that the command gets."""
        return {**os.environ, "MEMORY_CORE_PROVIDER": "static", "PYTHONDONTWRITEBYTECODE": "1", **self.environment}


def run(program: Sequence[str], environment: Mapping[str, str], *, feed: str = "", user: int | None = None) -> Outcome:
    """Run a program to its end in the repository.

    Args:
        program: Its words.
        environment: All of it.
        feed: Standard input, which ends behind it.
    """
    done = subprocess.run(
        program,
        capture_output=True,
        check=False,
        cwd=REPOSITORY,
        encoding="utf-8",
        env=environment,
        input=feed,
        timeout=120,
    )
    return Outcome(done.returncode, done.stdout, done.stderr)


def as_ordinary_owner() -> None:
    """In the child, before it starts: root gives up its right to pass over permissions; others never had it.

    Dropped from the bounding set, it is not regained by exec. Another user id would do the same, but could not reach an
    interpreter or a clone below a private folder.
    """
    if os.geteuid() == 0 and sys.platform == "linux":
        drop_from_bounding_set = 24  # PR_CAPBSET_DROP of linux/prctl.h
        for capability in (1, 2, 3):  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH, CAP_FOWNER of linux/capability.h
            if _LIBC.prctl(drop_from_bounding_set, capability, 0, 0, 0):
                raise OSError(ctypes.get_errno(), "the capability stays")
