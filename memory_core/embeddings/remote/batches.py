"""Many texts through a provider's batch API: half the price, minutes to hours.

Vendors differ in their `BatchApi` only. A job's results are matched to texts by a hash of the text, so a job that was
submitted before a restart serves whoever wants those texts now.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar

from memory_core.atomic import replace_file
from memory_core.config.problems import get_adapter
from memory_core.config.settings import Batch
from memory_core.embeddings.error_mapping import translate_errors
from memory_core.embeddings.protocols import Limits, pack
from memory_core.embeddings.remote.loop import BackgroundLoop, Retries
from memory_core.errors import InvalidEmbedding, ProviderError, ProviderUnavailable
from memory_core.records import Space

if TYPE_CHECKING:
    from memory_core.embeddings.vectors import Row

    Outcomes = Mapping[int, Row | ProviderError]

T = TypeVar("T")

# Fewer texts are embedded by requests within seconds.
SMALLEST = 200
# Of calls that do not submit anything; a job that cannot be looked at now is looked at again by the next sync.
_RETRIES = Retries(first_seconds=0.1, jitter_seconds=0.1, patience_seconds=8.0)
# Failures by provider and endpoint. After so many all texts are sent by requests for as long as the process lives, whatever
# provider objects come and go in it.
FAILURES_ALLOWED = 2
failures: Counter[tuple[str, str]] = Counter()


@dataclass(frozen=True, slots=True)
class JobState:
    """The state of a job.

    Attributes:
        phase: "running"; "done", with results that may be partial; or "failed".
        results: What the API needs to fetch the results; "" when there are none. A failed job may have some, too.
    """

    phase: Literal["running", "done", "failed"]
    results: str = ""


class BatchApi(Protocol):
    """A vendor's batch protocol. Called in one event loop only; every method raises ProviderError."""

    max_texts: int
    max_bytes: int

    async def submit(self, texts: Mapping[str, str]) -> str:
        """Submit texts by key and return the job's name."""

    async def fetch_state(self, job: str) -> JobState:
        """Return the state of a job."""

    async def fetch_results(self, state: JobState, texts: int) -> Mapping[str, Row]:
        """Return raw vectors by key; texts that failed are left out. Refuses more than so many texts can have."""

    async def cancel(self, job: str) -> None:
        """Stop a job, so that no more of it is paid."""

    async def close(self) -> None:
        """Close connections."""


@dataclass(frozen=True, slots=True)
class BatchJob:
    """A submitted job.

    Attributes:
        name: The provider's name for it.
        space: The space of the vectors it makes.
        submitted_at: Unix seconds.
        keys: Of its texts, see `hash_text`.
    """

    name: str
    space: Space
    submitted_at: float
    keys: tuple[str, ...]


class JobLog:
    """Keeps jobs in a JSON file between submission and collection, so that a restart collects them instead of paying twice.

    Called by one thread at a time. A file that cannot be read counts as empty.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self) -> list[BatchJob]:
        """Return the jobs, the oldest first."""
        try:
            jobs: list[BatchJob] = get_adapter(list[BatchJob]).validate_json(self._path.read_bytes())
        except (FileNotFoundError, ValueError):
            return []  # of a damaged file the jobs are lost, and their texts are embedded anew
        return jobs

    def add(self, job: BatchJob) -> None:
        """Add a job; returns when it would survive a crash."""
        self._write([*self.read(), job])

    def remove(self, name: str) -> None:
        """Remove a job; one that is not there is no error."""
        self._write([job for job in self.read() if job.name != name])

    def _write(self, jobs: list[BatchJob]) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(self._path, json.dumps([asdict(job) for job in jobs]).encode())


def hash_text(text: str) -> str:
    """Return the key of a text in a job: 32 hex digits of its hash."""
    return hashlib.blake2s(text.encode(), digest_size=16).hexdigest()


class BatchEmbedder:
    """Embeds many texts at once through batch jobs, cheaper and slower than requests. The constructor starts nothing."""

    def __init__(self, api: BatchApi, space: Space, settings: Batch, log: JobLog) -> None:
        self._api = api
        self._space = space
        self._settings = settings
        self._log = log
        self._endpoint = (space.provider, space.endpoint)
        self._loop = BackgroundLoop(f"memory-core-{space.provider}-batch")

    def embed(self, texts: Sequence[str]) -> Iterator[Outcomes]:
        """Collect earlier jobs, then submit jobs for the other texts if they are enough.

        Yields:
            Vectors as they came, by the number of their text, or the error because of which there is none yet. Texts that are
            left out are to be sent by requests; those with an error are not.
        """
        wanted = _Wanted(texts)
        earlier = [
            job for job in self._log.read() if job.space == self._space and not wanted.left.keys().isdisjoint(job.keys)
        ]
        yield from self._run([partial(self._collect, job, wanted) for job in earlier])
        for job in self._log.read():
            wanted.discard(job.keys if job.space == self._space else ())
        if len(wanted.left) >= SMALLEST and failures[self._endpoint] < FAILURES_ALLOWED:
            limits = Limits(self._api.max_texts, self._api.max_bytes)
            # A text is escaped as JSON, and has an envelope.
            parts = pack(wanted.left.items(), limits, lambda item: len(item[1].encode()) * 2 + 400)
            yield from self._run([partial(self._submit, dict(part), wanted) for part in parts])

    def close(self) -> None:
        """Stop waiting; jobs that run are collected another time."""
        self._loop.close(self._api.close)

    def _run(self, jobs: Sequence[Callable[[], Coroutine[Any, Any, Outcomes]]]) -> Iterator[Outcomes]:
        """Run jobs, `concurrency` at a time, and yield the outcomes of each as it ends."""
        try:
            yield from self._loop.run_all(jobs, most=self._settings.concurrency)
        except CancelledError as error:
            raise ProviderUnavailable(self._space.provider, "it was closed while a batch ran") from error

    async def _submit(self, part: dict[str, str], wanted: _Wanted) -> Outcomes:
        if failures[self._endpoint] >= FAILURES_ALLOWED:
            return {}
        try:
            name = await translate_errors(self._space.provider, lambda: self._api.submit(part))
        except ProviderError:
            failures[self._endpoint] += 1
            return {}
        job = BatchJob(name, self._space, time.time(), tuple(part))
        self._log.add(job)
        if not self._settings.wait:
            return wanted.take_pending(job)
        return await self._collect(job, wanted)

    async def _collect(self, job: BatchJob, wanted: _Wanted) -> Outcomes:
        """Wait for a job until its timeout and return its results. A failure leaves its texts to requests."""
        try:
            state = await self._wait_for_end(job)
            found = await self._retry(lambda: self._api.fetch_results(state, len(job.keys))) if state.results else {}
        except ProviderError as error:
            if not _is_lost(error):
                return wanted.take_pending(job)
            state, found = JobState("failed"), {}
        if state.phase == "running":
            return wanted.take_pending(job)
        self._log.remove(job.name)
        if state.phase == "failed" or not found:
            failures[self._endpoint] += 1
        return wanted.take_rows(found)

    async def _wait_for_end(self, job: BatchJob) -> JobState:
        """Return the state of a job once it has ended, or its state now when the settings say not to wait."""
        end = job.submitted_at + self._settings.timeout_minutes * 60
        while (state := await self._retry(lambda: self._api.fetch_state(job.name))).phase == "running":
            if time.time() >= end:
                await translate_errors(self._space.provider, lambda: self._api.cancel(job.name))
                return JobState("failed")
            if not self._settings.wait:
                break
            await asyncio.sleep(self._settings.poll_interval_ms / 1000)
        return state

    async def _retry(self, call: Callable[[], Awaitable[T]]) -> T:
        """Make a call that changes nothing, again after an error that may pass."""
        return await _RETRIES.run(lambda: translate_errors(self._space.provider, call))


class _Wanted:
    """The texts of one call, by key; `left` holds those that no job has taken yet."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._numbers: dict[str, list[int]] = {}
        for number, text in enumerate(texts):
            self._numbers.setdefault(hash_text(text), []).append(number)
        self.left = {key: texts[numbers[0]] for key, numbers in self._numbers.items()}

    def discard(self, keys: Sequence[str]) -> None:
        for key in keys:
            self.left.pop(key, None)

    def take_rows(self, rows: Mapping[str, Row]) -> Outcomes:
        """Take the texts that have a row now, and return their rows by number."""
        self.discard(list(rows))
        return {number: row for key, row in rows.items() for number in self._numbers.get(key, ())}

    def take_pending(self, job: BatchJob) -> Outcomes:
        """Take the texts of a job that still runs, which are not to be sent again, and return an error for each."""
        self.discard(job.keys)
        error = ProviderUnavailable(
            job.space.provider,
            f"batch job {job.name} still runs",
            action="Sync again later: its results are collected.",
        )
        return {number: error for key in job.keys for number in self._numbers.get(key, ())}


def _is_lost(error: ProviderError) -> bool:
    """Return True if the job is unknown or its results cannot be read. An outage passes, and a key can be corrected."""
    return isinstance(error, InvalidEmbedding) or (isinstance(error, ProviderUnavailable) and not error.retryable)
