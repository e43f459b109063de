"""Large backfills through a provider's batch API: half the price, minutes to hours.

What differs between vendors is a `BatchApi`. A job's results are matched to texts by a hash of the text, so a job that was
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
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Literal, Protocol, TypeVar

from memory_core.embeddings.job_log import Job, JobLog
from memory_core.embeddings.loop import BackgroundLoop, LoopClosed
from memory_core.errors import InvalidEmbedding, ProviderError, ProviderUnavailable
from memory_core.hookspecs import Space
from memory_core.settings import Batch

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Row = NDArray[np.float32]

T = TypeVar("T")

# Fewer texts are embedded by requests within seconds.
SMALLEST = 200
# A call that does not submit anything is tried so often.
_ATTEMPTS = 4
_FAILURES_ALLOWED = 2


@dataclass(frozen=True, slots=True)
class JobState:
    """How a job stands: running; ended, with results that may be partial; or ended with none, `reason` saying why.

    `results` is what the API needs to fetch them; "" when there are none.
    """

    phase: Literal["running", "done", "failed"]
    results: str = ""
    reason: str = ""


class BatchApi(Protocol):
    """A vendor's batch protocol. Called in the backfill's event loop only; every method raises ProviderError."""

    max_texts: int
    max_bytes: int

    async def submit(self, texts: Mapping[str, str]) -> str:
        """Submit texts by key; the job's name."""
        ...

    async def state(self, job: str) -> JobState:
        """How a job stands."""
        ...

    async def results(self, state: JobState) -> Mapping[str, Row]:
        """Raw vectors by key; texts that failed are left out."""
        ...

    async def cancel(self, job: str) -> None:
        """Stop a job, so that no more of it is paid."""
        ...

    async def close(self) -> None:
        """Let go of connections."""
        ...


class Switch:
    """Turns batches off after two failures, for as long as the process lives."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._failures = 0

    @property
    def off(self) -> bool:
        """Whether requests must do."""
        return self._failures >= _FAILURES_ALLOWED

    def failed(self) -> None:
        """Count a failure."""
        with self._lock:
            self._failures += 1


# By provider and endpoint: the promise is for the process, whatever provider objects come and go in it.
_SWITCHES: dict[tuple[str, str], Switch] = {}


def process_switch(space: Space) -> Switch:
    """The one switch of an endpoint in this process."""
    return _SWITCHES.setdefault((space.provider, space.endpoint), Switch())


def text_key(text: str) -> str:
    """Names a text in a job: 32 hex digits of its hash."""
    return hashlib.blake2s(text.encode(), digest_size=16).hexdigest()


class BatchBackfill:
    """A `Backfill` through batch jobs. The constructor starts nothing."""

    def __init__(self, api: BatchApi, space: Space, settings: Batch, log: JobLog, switch: Switch | None = None) -> None:
        self._api = api
        self._space = space
        self._settings = settings
        self._log = log
        self._switch = switch or process_switch(space)
        self._loop = BackgroundLoop(f"memory-core-{space.provider}-batch")

    def rows(self, texts: Sequence[str]) -> Iterator[Mapping[int, Row | ProviderError]]:
        """See `Backfill`: first what earlier jobs hold, then new jobs for the rest when it is large enough."""
        wanted = _Wanted(texts)
        earlier = [job for job in self._log.jobs() if job.space == self._space and wanted.any_of(job.keys)]
        yield from self._run([partial(self._collected, job, wanted) for job in earlier])
        for job in self._log.jobs():
            wanted.discard(job.keys if job.space == self._space else ())
        if len(wanted.left) >= SMALLEST and not self._switch.off:
            yield from self._run([partial(self._submitted, part, wanted) for part in self._parts(wanted)])

    def close(self) -> None:
        """Stop waiting; jobs that run are collected another time."""
        self._loop.close(self._api.close)

    def _run(self, jobs: Sequence[Callable[[], Awaitable[_Outcomes]]]) -> Iterator[_Outcomes]:
        """Run jobs, `concurrency` at a time, and yield what each gave as it ends."""
        ended: queue.SimpleQueue[Future[_Outcomes]] = queue.SimpleQueue()
        gate = asyncio.Semaphore(self._settings.concurrency)
        running: list[Future[_Outcomes]] = []
        try:
            for job in jobs:
                future = self._loop.submit(partial(_gated, gate, job))
                future.add_done_callback(ended.put)
                running.append(future)
            for _ in running:
                yield ended.get().result()
        except (LoopClosed, CancelledError) as error:
            raise ProviderUnavailable(self._space.provider, "it was closed while a batch ran") from error
        finally:
            for future in running:
                future.cancel()

    async def _submitted(self, part: dict[str, str], wanted: _Wanted) -> _Outcomes:
        if self._switch.off:
            return {}
        try:
            name = await self._api.submit(part)
        except ProviderError:
            self._switch.failed()
            return {}
        job = Job(name, self._space, time.time(), tuple(part))
        self._log.add(job)
        if not self._settings.wait:
            return wanted.owed(job)
        return await self._collected(job, wanted)

    async def _collected(self, job: Job, wanted: _Wanted) -> _Outcomes:
        """What a job gives: waited for until its timeout. A failure leaves its texts to requests."""
        try:
            state = await self._ended(job)
            found = await _patiently(lambda: self._api.results(state)) if state.results else {}
        except ProviderError as error:
            if not _job_is_lost(error):
                return wanted.owed(job)
            state, found = JobState("failed"), {}
        if state.phase == "running":
            return wanted.owed(job)
        self._log.remove(job.name)
        if state.phase == "failed" or not found:
            self._switch.failed()
        return wanted.answered(found)

    async def _ended(self, job: Job) -> JobState:
        """The state of a job once it has ended; that of the moment when nobody is to wait for it."""
        end = job.submitted_at + self._settings.timeout_minutes * 60
        while (state := await _patiently(lambda: self._api.state(job.name))).phase == "running":
            if time.time() >= end:
                await self._api.cancel(job.name)
                return JobState("failed", reason="it took too long")
            if not self._settings.wait:
                break
            await asyncio.sleep(self._settings.poll_interval_ms / 1000)
        return state

    def _parts(self, wanted: _Wanted) -> list[dict[str, str]]:
        """The texts that are left, one entry for each different text, in parts that a job may hold."""
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
            self._numbers.setdefault(text_key(text), []).append(number)
        self.left = {key: texts[numbers[0]] for key, numbers in self._numbers.items()}

    def any_of(self, keys: Sequence[str]) -> bool:
        return any(key in self._numbers for key in keys)

    def discard(self, keys: Sequence[str]) -> None:
        for key in keys:
            self.left.pop(key, None)

    def answered(self, rows: Mapping[str, Row]) -> _Outcomes:
        self.discard(list(rows))
        return {number: row for key, row in rows.items() for number in self._numbers.get(key, ())}

    def owed(self, job: Job) -> _Outcomes:
        """For the texts of a job that still runs: not to be sent again."""
        self.discard(job.keys)
        error = ProviderUnavailable(
            job.space.provider,
            f"batch job {job.name} still runs",
            action="Sync again later: its results are collected.",
        )
        return {number: error for key in job.keys for number in self._numbers.get(key, ())}


def _job_is_lost(error: ProviderError) -> bool:
    """Whether nothing will come of a job: it is unknown, or its results cannot be read. An outage passes, a key is mended."""
    return isinstance(error, InvalidEmbedding) or (isinstance(error, ProviderUnavailable) and not error.retryable)


async def _gated(gate: asyncio.Semaphore, job: Callable[[], Awaitable[_Outcomes]]) -> _Outcomes:
    async with gate:
        return await job()


async def _patiently(call: Callable[[], Awaitable[T]]) -> T:
    """Try a call that changes nothing again when it fails in passing."""
    import tenacity

    async def once() -> T:  # tenacity awaits what it can see is a coroutine function, which a lambda is not
        return await call()

    return await tenacity.AsyncRetrying(
        retry=tenacity.retry_if_exception(lambda error: isinstance(error, ProviderError) and error.retryable),
        stop=tenacity.stop_after_attempt(_ATTEMPTS),
        wait=tenacity.wait_random_exponential(multiplier=0.1, max=8),
        reraise=True,
    )(once)
