"""Other people's programs as a user starts them: in a home of their own, with our command on the path."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.command import Outcome

SECONDS = 180.0


class Program:
    """A program that runs in one folder with one environment.

    Args:
        words: The program and the arguments that it always gets.
        folder: The folder that it runs in.
        variables: Added to the test's environment.
    """

    def __init__(self, words: Sequence[str | Path], folder: Path, variables: Mapping[str, str]) -> None:
        self.words = [str(word) for word in words]
        self.folder = folder
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
        self.variables = {**os.environ, "PATH": path, "MEMORY_CORE_PROVIDER": "none", **variables}

    def __call__(self, *arguments: str) -> Outcome:
        """Run to the end."""
        done = subprocess.run(
            [*self.words, *arguments],
            capture_output=True,
            check=False,
            cwd=self.folder,
            encoding="utf-8",
            env=self.variables,
            stdin=subprocess.DEVNULL,
            timeout=SECONDS,
        )
        return Outcome(done.returncode, done.stdout, done.stderr)

    def ask(self, *arguments: str) -> str:
        """Run to the end, and return what is printed; the program has to succeed."""
        done = self(*arguments)
        assert done.code == 0, (done.out, done.err)
        return done.out


def find_npm_program(*parts: str) -> Path:
    """A file of the npm packages that `make test-hosts` installed."""
    return Path(os.environ["TEST_HOSTS_NPM"], *parts)
