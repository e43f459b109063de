"""Batch jobs on disk between submission and collection, so that a restart collects them instead of paying twice."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Protocol

from memory_core.atomic import replace_file
from memory_core.records import Space


@dataclass(frozen=True, slots=True)
class BatchJob:
    """A submitted job.

    Attributes:
        name: The provider's name for it.
        space: The space of the vectors it makes.
        submitted_at: Unix seconds.
        keys: Of its texts, see `batches.hash_text`.
    """

    name: str
    space: Space
    submitted_at: float
    keys: tuple[str, ...]


class JobLog(Protocol):
    """Keeps jobs across restarts. Called by one thread at a time."""

    def read(self) -> list[BatchJob]:
        """Return the jobs, the oldest first."""
        ...

    def add(self, job: BatchJob) -> None:
        """Add a job; returns when it would survive a crash."""
        ...

    def remove(self, name: str) -> None:
        """Remove a job; one that is not there is no error."""
        ...


class FileJobLog:
    """A `JobLog` in a JSON file, replaced as a whole at each change. A file that cannot be read counts as empty."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self) -> list[BatchJob]:
        """See `JobLog`."""
        try:
            found = json.loads(self._path.read_text(encoding="utf-8"))
            return [
                BatchJob(item["name"], Space(**item["space"]), item["submitted_at"], tuple(item["keys"]))
                for item in found
            ]
        except FileNotFoundError:
            return []
        except (ValueError, TypeError, KeyError):  # damaged: its jobs are lost, and their texts are embedded anew
            return []

    def add(self, job: BatchJob) -> None:
        """See `JobLog`."""
        self._write([*self.read(), job])

    def remove(self, name: str) -> None:
        """See `JobLog`."""
        self._write([job for job in self.read() if job.name != name])

    def _write(self, jobs: list[BatchJob]) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(self._path, json.dumps([asdict(job) for job in jobs]).encode())
