"""A remote embedding provider: packing, bounded concurrency, retries, halving, deadlines, checks, cancellation.

What differs between vendors is a `Transport`, which sends one request; all else is here, once.
"""

from __future__ import annotations

import asyncio
import queue
import random
import time
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar

from memory_core.embeddings import packing, vectors
from memory_core.embeddings.answers import Answer, Patience, summed_up
from memory_core.embeddings.failures import is_outage, lasting
from memory_core.embeddings.loop import BackgroundLoop, LoopClosed
from memory_core.embeddings.packing import Limits
from memory_core.errors import (
    InputTooLarge,
    InvalidEmbedding,
    ProviderError,
    ProviderUnavailable,
    ProviderUnreachable,
    RateLimited,
    RequestTimeout,
)
from memory_core.hookspecs import Space

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from tenacity import RetryCallState

    from memory_core.embeddings.answers import Outcome

    Row = NDArray[np.float32]

Kind = Literal["document", "query"]
T = TypeVar("T")

# A text alone is cut in two at most down to this many characters; a model that refuses less takes no text at all.
SHORTEST_PART = 64
SHORTEST_WAIT_SECONDS = 1.5  # for the answer to a question, after loading what it takes to ask


class Transport(Protocol):
    """Sends one request. Called in the provider's event loop only."""

    async def send(self, texts: Sequence[str], kind: Kind) -> Sequence[Row]:
        """The vectors as they came, one a text, in the texts' order.

        Raises:
            ProviderError: The request failed; its `retryable` says whether to try again.
        """
        ...

    async def ready(self) -> None:
        """Load what the first request needs.

        Raises:
            ProviderError: It cannot be loaded.
        """
        ...

    async def close(self) -> None:
        """Let go of connections."""
        ...


class Backfill(Protocol):
    """A cheaper, slower way to embed many texts at once."""

    def rows(self, texts: Sequence[str]) -> Iterator[Mapping[int, Row | ProviderError]]:
        """Vectors as they came, by the number of their text, or why there is none yet.

        Texts that are left out are sent by requests; those with an error are not.
        """
        ...

    def close(self) -> None:
        """Stop waiting for what runs."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Retries:
    """How often and how patiently a request is tried again.

    Attributes:
        attempts: The first one included.
        first_seconds: Pause before the second; it doubles each time, up to `longest_seconds`.
        longest_seconds: Longest pause, a provider's Retry-After excepted.
        jitter_seconds: Up to so much is added at random, so that clients do not come back all at once.
        patience_seconds: A Retry-After longer than this is not waited for.
    """

    attempts: int = 4
    first_seconds: float = 0.5
    longest_seconds: float = 8.0
    jitter_seconds: float = 0.5
    patience_seconds: float = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Announce:
    """Text put before documents and queries of an asymmetric model."""

    document: str = ""
    query: str = ""

    def applied(self, text: str, kind: Kind) -> str:
        """The text as it is sent."""
        return (self.document if kind == "document" else self.query) + text


class RequestProvider:
    """An `EmbeddingProvider` over requests. The constructor starts nothing and opens nothing."""

    def __init__(
        self,
        space: Space,
        transport: Transport,
        *,
        limits: Limits,
        concurrency: int,
        announce: Announce | None = None,
        retries: Retries | None = None,
        backfill: Backfill | None = None,
    ) -> None:
        self._space = space
        self._asked_dimensions = space.dimensions
        self._transport = transport
        self._limits = limits
        self._concurrency = concurrency
        self._announce = announce or Announce()
        self._retries = retries or Retries()
        self._backfill = backfill
        self._answered = False
        self._loop = BackgroundLoop(f"memory-core-{space.provider}")

    @property
    def space(self) -> Space:
        """The space of its vectors; its dimensions are known at the latest after the first answer."""
        return self._space

    def embed_documents(self, texts: Sequence[str]) -> Iterator[tuple[int, Row]]:
        """See `EmbeddingProvider`: pieces as requests return; after an outage no further request is begun."""
        sent = [self._announce.applied(text, "document") for text in texts]
        missing = set(range(len(sent)))
        waiting: list[ProviderError] = []
        for rows in self._backfill.rows(sent) if self._backfill else ():
            owed = {index: row for index, row in rows.items() if isinstance(row, ProviderError)}
            waiting += owed.values()
            answer = self._backfilled(rows)
            missing.difference_update(owed, answer.embedded())
            yield from answer.pieces()
        yield from self._requested(sent, sorted(missing))
        if waiting:
            raise summed_up(waiting, len(texts))

    def embed_query(self, text: str, *, timeout_seconds: float | None = None) -> Row:
        """See `EmbeddingProvider`."""
        sent = self._announce.applied(text, "query")
        return self._result(self._submit(lambda: self._query(sent, timeout_seconds)))

    def close(self) -> None:
        """Cancel what runs at once; those who wait get a ProviderError."""
        if self._backfill is not None:
            self._backfill.close()
        self._loop.close(self._transport.close)

    def _requested(self, texts: Sequence[str], indices: Sequence[int]) -> Iterator[tuple[int, Row]]:
        """Embed the texts of these numbers, at most `concurrency` requests at a time."""
        waiting = packing.packed(indices, self._limits, lambda index: packing.estimated_tokens(texts[index]))
        answers: queue.SimpleQueue[Future[Answer]] = queue.SimpleQueue()
        running: set[Future[Answer]] = set()
        failures: list[ProviderError] = []
        try:
            while True:
                while len(running) < self._concurrency and not any(map(is_outage, failures)):
                    if (request := next(waiting, None)) is None:
                        break
                    running.add(self._begin(request, texts, answers))
                if not running:
                    break
                future = answers.get()
                running.discard(future)
                answer = self._result(future)
                failures += answer.failures()
                yield from answer.pieces()
        finally:
            for future in running:
                future.cancel()
        if failures:
            raise summed_up(failures, len(indices))

    def _begin(
        self, request: list[int], texts: Sequence[str], answers: queue.SimpleQueue[Future[Answer]]
    ) -> Future[Answer]:
        future = self._submit(lambda: self._answer(request, [texts[index] for index in request]))
        future.add_done_callback(answers.put)
        return future

    def _submit(self, work: Callable[[], Coroutine[Any, Any, T]]) -> Future[T]:
        try:
            return self._loop.submit(work)
        except LoopClosed as error:
            raise self._closed() from error

    def _result(self, future: Future[T]) -> T:
        try:
            return future.result()
        except CancelledError as error:
            raise self._closed() from error

    def _closed(self) -> ProviderError:
        return lasting(ProviderUnavailable(self._space.provider, "it was closed while it was needed"))

    def _backfilled(self, rows: Mapping[int, Row | ProviderError]) -> Answer:
        """The rows of a job, checked; none when their shape is wrong, so that the texts are sent by requests."""
        indices = [index for index in sorted(rows) if not isinstance(rows[index], ProviderError)]
        raw = [row for index in indices if not isinstance(row := rows[index], ProviderError)]
        try:
            return Answer(indices, self._checked(raw, len(raw)) if raw else [])
        except InvalidEmbedding:
            return Answer([], [])

    # What follows runs in the loop.

    async def _answer(self, indices: list[int], texts: Sequence[str]) -> Answer:
        outcomes, _ = await self._outcomes(texts, "document", Patience())
        return Answer(indices, outcomes)

    async def _query(self, text: str, timeout_seconds: float | None) -> Row:
        timeout_seconds = await self._left_when_ready(timeout_seconds)
        patience = Patience.until(timeout_seconds)
        try:
            async with asyncio.timeout(timeout_seconds):
                (outcome,), _ = await self._outcomes([text], "query", patience)
        except TimeoutError as error:
            because = f"; before that: {patience.last.told}" if patience.last else ""
            message = f"no embedding within {round(timeout_seconds or 0, 2):g} s{because}"
            raise RequestTimeout(self._space.provider, message) from error
        if isinstance(outcome, ProviderError):
            raise outcome
        return outcome

    async def _left_when_ready(self, timeout_seconds: float | None) -> float | None:
        """What is left of a deadline after loading; enough to ask the provider, who is not to blame for that."""
        begun = time.monotonic()
        await self._transport.ready()
        if timeout_seconds is None:
            return None
        return max(timeout_seconds - (time.monotonic() - begun), min(timeout_seconds, SHORTEST_WAIT_SECONDS))

    async def _outcomes(self, texts: Sequence[str], kind: Kind, patience: Patience) -> tuple[list[Outcome], bool]:
        """What each text got, and whether one request was enough for that."""
        try:
            return await self._sent(texts, kind, patience), True
        except InputTooLarge as error:
            return await self._halved(texts, kind, patience, error), False
        except ProviderError as error:
            return [error] * len(texts), False

    async def _halved(
        self, texts: Sequence[str], kind: Kind, patience: Patience, refusal: InputTooLarge
    ) -> list[Outcome]:
        if len(texts) == 1:
            return [await self._in_parts(texts[0], kind, patience, refusal)]
        middle = (len(texts) + 1) // 2
        first, first_whole = await self._outcomes(texts[:middle], kind, patience)
        second, second_whole = await self._outcomes(texts[middle:], kind, patience)
        # Where only one half went through, a single text was too long; where both did, it was the size of the request.
        if first_whole and second_whole:
            self._limits.items = min(self._limits.items, middle)
        return first + second

    async def _in_parts(self, text: str, kind: Kind, patience: Patience, refusal: InputTooLarge) -> Outcome:
        """A text that is too long alone: the mean of its halves, weighted by their length."""
        parts = [part for part in packing.halves(text) if part.strip()]
        if len(text) <= SHORTEST_PART or len(parts) < 2:
            return refusal
        outcomes = [(await self._outcomes([part], kind, patience))[0][0] for part in parts]
        failed = next((outcome for outcome in outcomes if isinstance(outcome, ProviderError)), None)
        rows = [outcome for outcome in outcomes if not isinstance(outcome, ProviderError)]
        return failed or vectors.mean(rows, [len(part) for part in parts])

    async def _sent(self, texts: Sequence[str], kind: Kind, patience: Patience) -> list[Outcome]:
        import tenacity

        async def once() -> list[Outcome]:
            rows = await self._transport.send(texts, kind)
            self._answered = True
            return self._checked(rows, len(texts))

        return await tenacity.AsyncRetrying(
            retry=tenacity.retry_if_exception(lambda error: self._worth_a_retry(error, patience)),
            stop=tenacity.stop_after_attempt(self._retries.attempts),
            wait=self._pause,
            reraise=True,
        )(once)

    def _worth_a_retry(self, error: BaseException, patience: Patience) -> bool:
        if not isinstance(error, ProviderError):
            return False
        patience.last = error
        # Where there is no network a retry only costs time; in the middle of a backfill the network may come back.
        if isinstance(error, ProviderUnreachable) and (patience.ends_at is not None or not self._answered):
            return False
        named = error.retry_after_seconds if isinstance(error, RateLimited) else None
        return error.retryable and (named is None or named <= min(self._retries.patience_seconds, patience.left()))

    def _pause(self, state: RetryCallState) -> float:
        """Seconds before the next attempt: what the provider asked for, or doubling; either way with jitter."""
        retries = self._retries
        error = state.outcome.exception() if state.outcome else None
        named = error.retry_after_seconds if isinstance(error, RateLimited) else None
        doubling = min(retries.first_seconds * 2 ** (state.attempt_number - 1), retries.longest_seconds)
        jitter = random.uniform(0, retries.jitter_seconds)  # noqa: S311 - no secret
        return (doubling if named is None else named) + jitter

    def _checked(self, rows: Sequence[Row], count: int) -> list[Outcome]:
        space, found = self._space, {len(row) for row in rows}
        if len(found) == 1 and not self._asked_dimensions:  # it may serve another model under the same name one day
            self._space = replace(space, dimensions=found.pop())
        outcomes = vectors.checked(rows, count=count, dimensions=space.dimensions, provider=space.provider)
        return list(outcomes)
