"""Many texts through a provider's batch API: half the price, minutes to hours.

Vendors differ in their `BatchApi` only. A job's results are matched to texts by a hash of the text, so a job that was
submitted before a restart serves whoever wants those texts now.
"""

from __future__ import annotations

import asyncio
import hashlib
import queue
import threading
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError, Future
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from memory_core.config.agent import AgentConfig
from memory_core.config.settings import Batch
from memory_core.embeddings.error_mapping import translate_errors
from memory_core.embeddings.remote.batch_api import BatchApi, JobState
from memory_core.embeddings.remote.job_log import BatchJob, FileJobLog, JobLog
from memory_core.embeddings.remote.loop import BackgroundLoop, LoopClosed
from memory_core.embeddings.remote.retries import Retries, retry
from memory_core.errors import InvalidEmbedding, ProviderError, ProviderUnavailable
from memory_core.records import Space
from memory_core.threads import Backoff

if TYPE_CHECKING:
    from memory_core.embeddings.vectors import Row

T = TypeVar("T")

# Fewer texts are embedded by requests within seconds.
SMALLEST = 200
# Of calls that do not submit anything; a job that cannot be looked at now is looked at again by the next sync.
_RETRIES = Retries(
    backoff=Backoff(first_seconds=0.1, longest_seconds=8.0, jitter_seconds=0.1),
    patience_seconds=8.0,
)
_FAILURES_ALLOWED = 2


class BatchSwitch:
    """Turns batches off after two failures, for as long as the process lives."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._failures = 0

    @property
    def is_off(self) -> bool:
        """True after two failures: all texts are sent by requests."""
        return self._failures >= _FAILURES_ALLOWED

    def record_failure(self) -> None:
        """Count a failure."""
        with self._lock:
            self._failures += 1


# By provider and endpoint: the promise is for the process, whatever provider objects come and go in it.
_SWITCHES: dict[tuple[str, str], BatchSwitch] = {}


def find_switch(space: Space) -> BatchSwitch:
    """Return the one switch of an endpoint in this process."""
    return _SWITCHES.setdefault((space.provider, space.endpoint), BatchSwitch())


def hash_text(text: str) -> str:
    """Return the key of a text in a job: 32 hex digits of its hash."""
    return hashlib.blake2s(text.encode(), digest_size=16).hexdigest()


def open_batches(
    config: AgentConfig, api: BatchApi, space: Space, switch: BatchSwitch | None = None
) -> BatchEmbedder | None:
    """Return a `BulkEmbedder` where the configuration enables batches, else None. Opens nothing.

    Args:
        config: Says where jobs are remembered: in a file beside the index.
        api: Of the vendor.
        space: Of the vectors.
        switch: Turns batches off after failures; None is the one that holds for the process.
    """
    settings = config.search.remote.batch
    if not settings.enabled:
        return None
    log = FileJobLog(config.store_path.with_suffix(".batches.json"))
    return BatchEmbedder(api, space, settings, log, switch)


class BatchEmbedder:
    """A `BulkEmbedder` through batch jobs. The constructor starts nothing."""

    def __init__(
        self, api: BatchApi, space: Space, settings: Batch, log: JobLog, switch: BatchSwitch | None = None
    ) -> None:
        self._api = api
        self._space = space
        self._settings = settings
        self._log = log
        self._switch = switch or find_switch(space)
        self._loop = BackgroundLoop(f"memory-core-{space.provider}-batch")

    def embed(self, texts: Sequence[str]) -> Iterator[Mapping[int, Row | ProviderError]]:
        """See `BulkEmbedder`: first collects earlier jobs, then submits jobs for the other texts if they are enough."""
        wanted = _Wanted(texts)
        earlier = [job for job in self._log.read() if job.space == self._space and wanted.has_any(job.keys)]
        yield from self._run([partial(self._collect, job, wanted) for job in earlier])
        for job in self._log.read():
            wanted.discard(job.keys if job.space == self._space else ())
        if len(wanted.left) >= SMALLEST and not self._switch.is_off:
            yield from self._run([partial(self._submit, part, wanted) for part in self._cut(wanted)])

    def close(self) -> None:
        """Stop waiting; jobs that run are collected another time."""
        self._loop.close(self._api.close)

    def _run(self, jobs: Sequence[Callable[[], Awaitable[_Outcomes]]]) -> Iterator[_Outcomes]:
        """Run jobs, `concurrency` at a time, and yield the outcomes of each as it ends."""
        ended: queue.SimpleQueue[Future[_Outcomes]] = queue.SimpleQueue()
        gate = asyncio.Semaphore(self._settings.concurrency)
        running: list[Future[_Outcomes]] = []
        try:
            for job in jobs:
                future = self._loop.submit(partial(_pass_gate, gate, job))
                future.add_done_callback(ended.put)
                running.append(future)
            for _ in running:
                yield ended.get().result()
        except (LoopClosed, CancelledError) as error:
            raise ProviderUnavailable(self._space.provider, "it was closed while a batch ran") from error
        finally:
            for future in running:
                future.cancel()

    async def _submit(self, part: dict[str, str], wanted: _Wanted) -> _Outcomes:
        if self._switch.is_off:
            return {}
        try:
            name = await translate_errors(self._space.provider, lambda: self._api.submit(part))
        except ProviderError:
            self._switch.record_failure()
            return {}
        job = BatchJob(name, self._space, time.time(), tuple(part))
        self._log.add(job)
        if not self._settings.wait:
            return wanted.take_pending(job)
        return await self._collect(job, wanted)

    async def _collect(self, job: BatchJob, wanted: _Wanted) -> _Outcomes:
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
            self._switch.record_failure()
        return wanted.take_rows(found)

    async def _wait_for_end(self, job: BatchJob) -> JobState:
        """Return the state of a job once it has ended, or its state now when the settings say not to wait."""
        end = job.submitted_at + self._settings.timeout_minutes * 60
        while (state := await self._retry(lambda: self._api.fetch_state(job.name))).phase == "running":
            if time.time() >= end:
                await translate_errors(self._space.provider, lambda: self._api.cancel(job.name))
                return JobState("failed", reason="it took too long")
            if not self._settings.wait:
                break
            await asyncio.sleep(self._settings.poll_interval_ms / 1000)
        return state

    async def _retry(self, call: Callable[[], Awaitable[T]]) -> T:
        """Make a call that changes nothing, again after an error that may pass."""

        async def once() -> T:
            return await translate_errors(self._space.provider, call)

        return await retry(once, _RETRIES, may_retry=_RETRIES.allow)

    def _cut(self, wanted: _Wanted) -> list[dict[str, str]]:
        """Cut the texts that are left, each different one once, into parts that a job may hold."""
        parts: list[dict[str, str]] = []
        room = 0
        for key, text in wanted.left.items():
            size = len(text.encode()) * 2 + 400  # escaped as JSON, with its envelope
            if not parts or len(parts[-1]) >= self._api.max_texts or size > room:
                parts.append({})
                room = self._api.max_bytes
            parts[-1][key] = text
            room -= size
        return parts


_Outcomes = Mapping[int, "Row | ProviderError"]


class _Wanted:
    """The texts of one call, by key; `left` holds those that no job has taken yet."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._numbers: dict[str, list[int]] = {}
        for number, text in enumerate(texts):
            self._numbers.setdefault(hash_text(text), []).append(number)
        self.left = {key: texts[numbers[0]] for key, numbers in self._numbers.items()}

    def has_any(self, keys: Sequence[str]) -> bool:
        return any(key in self._numbers for key in keys)

    def discard(self, keys: Sequence[str]) -> None:
        for key in keys:
            self.left.pop(key, None)

    def take_rows(self, rows: Mapping[str, Row]) -> _Outcomes:
        """Take the texts that have a row now, and return their rows by number."""
        self.discard(list(rows))
        return {number: row for key, row in rows.items() for number in self._numbers.get(key, ())}

    def take_pending(self, job: BatchJob) -> _Outcomes:
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


async def _pass_gate(gate: asyncio.Semaphore, job: Callable[[], Awaitable[_Outcomes]]) -> _Outcomes:
    async with gate:
        return await job()
