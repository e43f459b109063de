"""Batch jobs that were submitted and not collected yet, on disk, so that a restart collects them instead of paying twice."""

from __future__ import annotations

import json
import os
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Protocol

from memory_core.hookspecs import Space


@dataclass(frozen=True, slots=True)
class Job:
    """A submitted job.

    Attributes:
        name: What the provider calls it.
        space: The space of the vectors it makes.
        submitted_at: Unix seconds.
        keys: Of its texts, see `batch.text_key`.
    """

    name: str
    space: Space
    submitted_at: float
    keys: tuple[str, ...]


class JobLog(Protocol):
    """Remembers jobs across restarts. Called by one thread at a time."""

    def jobs(self) -> list[Job]:
        """All that are remembered, the oldest first."""
        ...

    def add(self, job: Job) -> None:
        """Remember a job; returns when it would survive a crash."""
        ...

    def remove(self, name: str) -> None:
        """Forget a job; one that is not there is no error."""
        ...


class FileJobLog:
    """A `JobLog` in a JSON file, replaced as a whole at each change. A file that cannot be read counts as empty."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def jobs(self) -> list[Job]:
        """See `JobLog`."""
        try:
            found = json.loads(self._path.read_text(encoding="utf-8"))
            return [
                Job(item["name"], Space(**item["space"]), item["submitted_at"], tuple(item["keys"])) for item in found
            ]
        except FileNotFoundError:
            return []
        except (ValueError, TypeError, KeyError):  # damaged: its jobs are lost, and their texts are embedded anew
            return []

    def add(self, job: Job) -> None:
        """See `JobLog`."""
        self._write([*self.jobs(), job])

    def remove(self, name: str) -> None:
        """See `JobLog`."""
        self._write([job for job in self.jobs() if job.name != name])

    def _write(self, jobs: list[Job]) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", dir=self._path.parent, prefix=self._path.name, delete=False
        ) as out:
            json.dump([asdict(job) for job in jobs], out)
            out.flush()
            os.fsync(out.fileno())
        Path(out.name).replace(self._path)
