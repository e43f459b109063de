"""A remote embedding provider: packing, bounded concurrency, retries, halving, deadlines, checks, cancellation.

Vendors differ in their `Transport` only, which sends one request.
"""

from __future__ import annotations

import asyncio
import queue
import time
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError, Future
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from memory_core.embeddings import packing, vectors
from memory_core.embeddings.deadline import Deadline
from memory_core.embeddings.error_mapping import is_outage, mark_permanent, translate_errors
from memory_core.embeddings.outcomes import RequestOutcomes, summarise
from memory_core.embeddings.packing import Limits
from memory_core.embeddings.plan import Plan, Prefixes
from memory_core.embeddings.protocols import TextKind
from memory_core.embeddings.remote.loop import BackgroundLoop, LoopClosed
from memory_core.embeddings.remote.retries import Retries, retry
from memory_core.embeddings.remote.transport import BulkEmbedder, Transport
from memory_core.errors import (
    InputTooLarge,
    InvalidEmbedding,
    ProviderError,
    ProviderUnavailable,
    ProviderUnreachable,
    RequestTimeout,
)
from memory_core.records import Space
from memory_core.text.tokens import estimate_tokens

if TYPE_CHECKING:
    from memory_core.embeddings.outcomes import Outcome
    from memory_core.embeddings.vectors import Row

T = TypeVar("T")

# A text alone is halved down to this many characters; a model that refuses even those takes no text at all.
SHORTEST_PART = 64
SHORTEST_WAIT_SECONDS = 1.5  # for the answer to a question, after loading what it takes to ask


class RequestProvider:
    """An `EmbeddingProvider` over requests. The constructor starts nothing and opens nothing."""

    def __init__(
        self,
        space: Space,
        transport: Transport,
        *,
        limits: Limits,
        concurrency: int,
        prefixes: Prefixes | None = None,
        retries: Retries | None = None,
        bulk: BulkEmbedder | None = None,
    ) -> None:
        self._space = space
        self._configured_dimensions = space.dimensions
        self._transport = transport
        self._limits = limits
        self._concurrency = concurrency
        self._prefixes = prefixes or Prefixes()
        self._retries = retries or Retries()
        self._bulk = bulk
        self._has_answered = False
        self._loop = BackgroundLoop(f"memory-core-{space.provider}")

    @classmethod
    def from_plan(
        cls, plan: Plan, transport: Transport, *, retries: Retries | None, bulk: BulkEmbedder | None
    ) -> RequestProvider:
        """Build the provider for a plan."""
        return cls(
            plan.space,
            transport,
            limits=plan.new_limits(),
            concurrency=plan.provider.concurrency,
            prefixes=plan.prefixes,
            retries=retries,
            bulk=bulk,
        )

    @property
    def space(self) -> Space:
        """The space of its vectors; its dimensions are known at the latest after the first answer."""
        return self._space

    def embed_documents(self, texts: Sequence[str]) -> Iterator[tuple[int, Row]]:
        """See `EmbeddingProvider`: yields rows as requests return; after an outage no further request is begun."""
        prefixed = [self._prefixes.apply(text, "document") for text in texts]
        missing = set(range(len(prefixed)))
        pending: list[ProviderError] = []
        for rows in self._bulk.embed(prefixed) if self._bulk else ():
            unfinished = {index: row for index, row in rows.items() if isinstance(row, ProviderError)}
            pending += unfinished.values()
            found = self._check_bulk(rows)
            missing.difference_update(unfinished, found.embedded)
            yield from found.stack_rows()
        yield from self._request_all(prefixed, sorted(missing))
        if pending:
            raise summarise(pending, len(texts))

    def embed_query(self, text: str, *, timeout_seconds: float | None = None) -> Row:
        """See `EmbeddingProvider`."""
        prefixed = self._prefixes.apply(text, "query")
        return self._wait_for(self._submit(lambda: self._embed_query(prefixed, timeout_seconds)))

    def close(self) -> None:
        """Cancel what runs at once; those who wait get a ProviderError."""
        if self._bulk is not None:
            self._bulk.close()
        self._loop.close(self._transport.close)

    def _request_all(self, texts: Sequence[str], indices: Sequence[int]) -> Iterator[tuple[int, Row]]:
        """Embed the texts of these numbers, at most `concurrency` requests at a time."""
        waiting = packing.pack_requests(indices, self._limits, lambda index: estimate_tokens(texts[index]))
        ended: queue.SimpleQueue[Future[RequestOutcomes]] = queue.SimpleQueue()
        running: set[Future[RequestOutcomes]] = set()
        failures: list[ProviderError] = []
        try:
            while True:
                while len(running) < self._concurrency and not any(map(is_outage, failures)):
                    if (request := next(waiting, None)) is None:
                        break
                    running.add(self._begin_request(request, texts, ended))
                if not running:
                    break
                future = ended.get()
                running.discard(future)
                found = self._wait_for(future)
                failures += found.failures
                yield from found.stack_rows()
        finally:
            for future in running:
                future.cancel()
        if failures:
            raise summarise(failures, len(indices))

    def _begin_request(
        self, request: list[int], texts: Sequence[str], ended: queue.SimpleQueue[Future[RequestOutcomes]]
    ) -> Future[RequestOutcomes]:
        future = self._submit(lambda: self._embed_request(request, [texts[index] for index in request]))
        future.add_done_callback(ended.put)
        return future

    def _submit(self, work: Callable[[], Coroutine[Any, Any, T]]) -> Future[T]:
        try:
            return self._loop.submit(work)
        except LoopClosed as error:
            raise self._closed_error() from error

    def _wait_for(self, future: Future[T]) -> T:
        try:
            return future.result()
        except CancelledError as error:
            raise self._closed_error() from error

    def _closed_error(self) -> ProviderError:
        return mark_permanent(ProviderUnavailable(self._space.provider, "it was closed while it was needed"))

    def _check_bulk(self, rows: Mapping[int, Row | ProviderError]) -> RequestOutcomes:
        """Check the rows of a job; return none of them when their shape is wrong, so that requests embed the texts."""
        indices = [index for index in sorted(rows) if not isinstance(rows[index], ProviderError)]
        raw = [row for index in indices if not isinstance(row := rows[index], ProviderError)]
        try:
            return RequestOutcomes(indices, self._check(raw, len(raw)) if raw else [])
        except InvalidEmbedding:
            return RequestOutcomes([], [])

    # What follows runs in the loop.

    async def _embed_request(self, indices: list[int], texts: Sequence[str]) -> RequestOutcomes:
        outcomes, _ = await self._embed(texts, "document", Deadline())
        return RequestOutcomes(indices, outcomes)

    async def _embed_query(self, text: str, timeout_seconds: float | None) -> Row:
        timeout_seconds = await self._load(timeout_seconds)
        deadline = Deadline.until(timeout_seconds)
        try:
            async with asyncio.timeout(timeout_seconds):
                (outcome,), _ = await self._embed([text], "query", deadline)
        except TimeoutError as error:
            because = f"; before that: {deadline.last.reason}" if deadline.last else ""
            message = f"no embedding within {round(timeout_seconds or 0, 2):g} s{because}"
            raise RequestTimeout(self._space.provider, message) from error
        if isinstance(outcome, ProviderError):
            raise outcome
        return outcome

    async def _load(self, timeout_seconds: float | None) -> float | None:
        """Load what the first request needs and return what is left of the timeout.

        Loading is not the provider's fault: there is always some time left to ask it.
        """
        begun = time.monotonic()
        await translate_errors(self._space.provider, self._transport.load)
        if timeout_seconds is None:
            return None
        return max(timeout_seconds - (time.monotonic() - begun), min(timeout_seconds, SHORTEST_WAIT_SECONDS))

    async def _embed(self, texts: Sequence[str], kind: TextKind, deadline: Deadline) -> tuple[list[Outcome], bool]:
        """Return each text's outcome, and whether one request was enough."""
        try:
            return await self._send(texts, kind, deadline), True
        except InputTooLarge as error:
            return await self._embed_halves(texts, kind, deadline, error), False
        except ProviderError as error:
            return [error] * len(texts), False

    async def _embed_halves(
        self, texts: Sequence[str], kind: TextKind, deadline: Deadline, refusal: InputTooLarge
    ) -> list[Outcome]:
        if len(texts) == 1:
            return [await self._embed_parts(texts[0], kind, deadline, refusal)]
        middle = (len(texts) + 1) // 2
        first, first_whole = await self._embed(texts[:middle], kind, deadline)
        second, second_whole = await self._embed(texts[middle:], kind, deadline)
        # Where only one half went through, a single text was too long; where both did, it was the size of the request.
        if first_whole and second_whole:
            self._limits.items = min(self._limits.items, middle)
        return first + second

    async def _embed_parts(self, text: str, kind: TextKind, deadline: Deadline, refusal: InputTooLarge) -> Outcome:
        """Embed a text that is too long alone: the mean of its halves, weighted by their length."""
        parts = [part for part in packing.halve(text) if part.strip()]
        if len(text) <= SHORTEST_PART or len(parts) < 2:
            return refusal
        outcomes = [(await self._embed([part], kind, deadline))[0][0] for part in parts]
        failed = next((outcome for outcome in outcomes if isinstance(outcome, ProviderError)), None)
        rows = [outcome for outcome in outcomes if not isinstance(outcome, ProviderError)]
        return failed or vectors.average(rows, [len(part) for part in parts])

    async def _send(self, texts: Sequence[str], kind: TextKind, deadline: Deadline) -> list[Outcome]:
        async def once() -> list[Outcome]:
            rows = await translate_errors(self._space.provider, lambda: self._transport.send(texts, kind))
            self._has_answered = True
            return self._check(rows, len(texts))

        return await retry(once, self._retries, may_retry=lambda error: self._may_retry(error, deadline))

    def _may_retry(self, error: ProviderError, deadline: Deadline) -> bool:
        deadline.last = error
        # Where there is no network a retry only costs time; in the middle of a backfill the network may come back.
        if isinstance(error, ProviderUnreachable) and (deadline.ends_at is not None or not self._has_answered):
            return False
        return self._retries.allow(error, left_seconds=deadline.left_seconds)

    def _check(self, rows: Sequence[Row], count: int) -> list[Outcome]:
        space, found = self._space, {len(row) for row in rows}
        # A configured number stays: the provider may serve another model under the same name one day.
        if len(found) == 1 and not self._configured_dimensions:
            self._space = replace(space, dimensions=found.pop())
        outcomes = vectors.check(rows, count=count, dimensions=space.dimensions, provider=space.provider)
        return list(outcomes)
