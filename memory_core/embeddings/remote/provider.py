"""A remote embedding provider: packing, bounded concurrency, retries, halving, deadlines, checks, cancellation.

Vendors differ in their `Transport` only, which sends one request.
"""

from __future__ import annotations

import asyncio
import math
import statistics
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import partial
from itertools import takewhile
from typing import TYPE_CHECKING, Protocol

from memory_core.config.agent import AgentConfig
from memory_core.embeddings import vectors
from memory_core.embeddings.credentials import KeyPlaces, resolve_endpoint
from memory_core.embeddings.error_mapping import translate_errors
from memory_core.embeddings.models import PROVIDERS, Plan, make_plan
from memory_core.embeddings.protocols import (
    Deadline,
    Limits,
    TextKind,
    blame_texts,
    find_runs,
    is_outage,
    list_failures,
    make_unusable,
    pack,
    summarise,
)
from memory_core.embeddings.remote.batches import BatchApi, BatchEmbedder, JobLog
from memory_core.embeddings.remote.loop import BackgroundLoop, Retries
from memory_core.errors import (
    InputTooLarge,
    ProviderError,
    ProviderUnreachable,
    RequestTimeout,
    TextRefused,
)
from memory_core.records import Space
from memory_core.text.tokens import estimate_tokens

if TYPE_CHECKING:
    from memory_core.embeddings.vectors import Row

    Outcome = Row | ProviderError
    Outcomes = Mapping[int, Outcome]

# The estimate of tokens is short by up to a quarter on code and tables: packing to four fifths keeps nearly all under the cap.
FILL = 0.8
# A text alone is halved down to this many characters; a model that refuses even those takes no text at all.
SHORTEST_PART = 64
HARMLESS = "memory"  # shows if a provider that has refused some texts embeds others
SHORTEST_WAIT_SECONDS = 1.5  # for the answer to a question, after loading what it takes to ask


class Transport(Protocol):
    """Sends one request. Called in the provider's event loop only."""

    async def send(self, texts: Sequence[str], kind: TextKind) -> Sequence[Row]:
        """Return the vectors as they came, one a text, in the texts' order.

        Raises:
            ProviderError: The request failed; its `retryable` says whether to try again.
        """

    async def load(self) -> None:
        """Load what the first request needs.

        Raises:
            ProviderError: It cannot be loaded.
        """

    async def close(self) -> None:
        """Close connections."""


def halve(text: str) -> tuple[str, str]:
    """Cut a text near its middle, at white space when there is some in the middle third; nothing is lost."""
    middle = len(text) // 2
    third = len(text) // 6
    cut = text.rfind(" ", middle - third, middle + third)
    cut = middle if cut < 0 else cut
    return text[:cut], text[cut:]


def open_remote(config: AgentConfig, places: KeyPlaces, *, retries: Retries | None = None) -> RequestProvider:
    """Open the provider that `memorySearch.provider` names, one that is asked over a network. Connects to nothing yet.

    Args:
        config: Of the agent.
        places: Where a key may be besides the configuration.
        retries: Of requests; None is the usual patience.

    Raises:
        ProviderUnavailable: No key, no model or no usable URL is configured.
    """
    provider = config.search.provider
    route, vendor = PROVIDERS[provider].route, ""
    if route == "litellm":
        from memory_core.embeddings.remote.litellm_api import find_vendor

        vendor = find_vendor(config.search.model or "")
    endpoint = resolve_endpoint(config, provider, places, vendor=vendor)
    plan = make_plan(config, provider, endpoint=endpoint.fingerprint)
    # Google's endpoint of OpenAI's protocol: https://ai.google.dev/gemini-api/docs/openai
    if route == "gemini" and (endpoint.base_url or "").endswith("/openai"):
        route, plan = "openai", plan.without_types()
    transport: Transport
    batches: BatchApi | None = None
    if route == "litellm":
        from memory_core.embeddings.remote.litellm_api import LitellmTransport

        transport = LitellmTransport(endpoint, plan)
    elif route == "gemini":
        from memory_core.embeddings.remote.gemini_api import GeminiApi

        transport, batches = GeminiApi(endpoint, plan), GeminiApi(endpoint, plan)  # one for each loop
    else:
        from memory_core.embeddings.remote.openai_api import OpenAIApi

        transport = OpenAIApi(endpoint, plan)
        batches = OpenAIApi(endpoint, plan) if provider == "openai" else None
    settings, bulk = config.search.remote.batch, None
    if batches and settings.enabled:
        log = JobLog(config.store_path.with_suffix(".batches.json"))  # beside the index
        bulk = BatchEmbedder(batches, plan.space, settings, log)
    return RequestProvider(plan, transport, retries=retries, bulk=bulk)


class RequestProvider:
    """An `EmbeddingProvider` over requests. The constructor starts nothing and opens nothing."""

    def __init__(
        self, plan: Plan, transport: Transport, *, retries: Retries | None = None, bulk: BatchEmbedder | None = None
    ) -> None:
        row = plan.provider
        self._plan = plan
        self._space = plan.space
        self._transport = transport
        self._limits = Limits(row.max_items, FILL * (plan.model.max_tokens or row.max_tokens or math.inf))
        self._retries = retries or Retries()
        self._bulk = bulk
        self._has_answered = False
        self._loop = BackgroundLoop(f"memory-core-{plan.space.provider}")

    @property
    def space(self) -> Space:
        """The space of its vectors; its dimensions are known at the latest after the first answer."""
        return self._space

    @property
    def remark(self) -> str | None:
        """See `Remarking`: many texts cost many requests at an endpoint that was seen to refuse two at once."""
        if self._limits.items > 1 or self._plan.provider.max_items == 1:
            return None
        return f"{self._space.provider} takes one text a request only, so that indexing many notes is slow"

    def embed_documents(self, texts: Sequence[str]) -> Iterator[tuple[int, Row]]:
        """See `EmbeddingProvider`: yields rows as requests return; after an outage no further request is begun."""
        prefixed = [self._plan.add_prefix(text, "document") for text in texts]
        left = set(range(len(prefixed)))
        pending: list[ProviderError] = []
        for rows in self._bulk.embed(prefixed) if self._bulk else ():
            outcomes = self._check_bulk(rows)
            pending += list_failures(outcomes)
            left.difference_update(outcomes)
            yield from _stack_rows(outcomes)
        yield from self._request_all(prefixed, sorted(left))
        if pending:
            raise summarise(pending, len(texts))

    def embed_query(self, text: str, *, timeout_seconds: float | None = None) -> Row:
        """See `EmbeddingProvider`."""
        prefixed = self._plan.add_prefix(text, "query")
        with self._told_if_closed():
            return self._loop.submit(lambda: self._embed_query(prefixed, timeout_seconds)).result()

    def close(self) -> None:
        """Cancel what runs at once; those who wait get a ProviderError."""
        if self._bulk is not None:
            self._bulk.close()
        self._loop.close(self._transport.close)

    def _request_all(self, texts: Sequence[str], indices: Sequence[int]) -> Iterator[tuple[int, Row]]:
        """Embed the texts of these numbers, at most `concurrency` requests at a time."""
        failures: list[ProviderError] = []
        requests = takewhile(
            lambda _: not any(map(is_outage, failures)),
            pack(indices, self._limits, lambda index: estimate_tokens(texts[index])),
        )
        works = (partial(self._embed_request, request, texts) for request in requests)
        ended = self._loop.run_all(works, most=self._plan.provider.concurrency)
        with self._told_if_closed(), closing(ended):
            for outcomes in ended:
                failures += list_failures(outcomes)
                yield from _stack_rows(outcomes)
        if failures:
            raise summarise(failures, len(indices))

    @contextmanager
    def _told_if_closed(self) -> Iterator[None]:
        try:
            yield
        except CancelledError as error:
            raise make_unusable(self._space.provider, "it was closed while it was needed") from error

    def _check_bulk(self, rows: Outcomes) -> Outcomes:
        """Check the rows of a job; what is unusable is left out, so that requests embed those texts."""
        pending = {index: row for index, row in rows.items() if isinstance(row, ProviderError)}
        raw = {index: row for index, row in rows.items() if not isinstance(row, ProviderError)}
        usual = self._space.dimensions or statistics.mode([0, *map(len, raw.values())])
        raw = {index: row for index, row in raw.items() if len(row) == usual}
        checked = dict(zip(raw, self._check([*raw.values()], len(raw)), strict=True)) if raw else {}
        return pending | {index: row for index, row in checked.items() if not isinstance(row, ProviderError)}

    # What follows runs in the loop.

    async def _embed_request(self, indices: list[int], texts: Sequence[str]) -> Outcomes:
        asked = [texts[index] for index in indices]
        outcomes, _ = await self._embed(asked, "document", Deadline())
        refusal = _find_refusal(outcomes)
        if refusal and await self._serves():
            outcomes = await self._isolate(asked, refusal)
        return dict(zip(indices, outcomes, strict=True))

    async def _serves(self) -> bool:
        """Return True if the provider embeds a harmless text now."""
        (shown,), _ = await self._embed([HARMLESS], "query", Deadline(patient=False))
        return not isinstance(shown, ProviderError)

    async def _isolate(self, texts: Sequence[str], refusal: ProviderError) -> list[Outcome]:
        """Embed the texts of a refused request by halves, until only those are left that the provider refuses alone."""
        if len(texts) == 1:
            is_outage_of_all = is_outage(refusal) and not await self._serves()
            return [refusal if is_outage_of_all else TextRefused(refusal.provider, refusal.reason)]
        outcomes: list[Outcome] = []
        middle = (len(texts) + 1) // 2
        refused = False
        for half in (texts[:middle], texts[middle:]):
            last = outcomes[-1] if outcomes else None
            if isinstance(last, ProviderError) and is_outage(last):
                return outcomes + [last] * len(half)
            found: list[Outcome] = []
            again: ProviderError | None = refusal
            if len(half) <= self._limits.items:  # which may have been learnt meanwhile
                found, _ = await self._embed(half, "document", Deadline(patient=len(half) == 1))
                again = _find_refusal(found)
            refused |= again is not None
            outcomes += await self._isolate(half, again) if again else found
        if not refused:  # no text is at fault: the provider takes no more at once
            self._limits.items = min(self._limits.items, middle)
        return outcomes

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
            return blame_texts(await self._send(texts, kind, deadline)), True
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
        parts = [part for part in halve(text) if part.strip()]
        if len(text) <= SHORTEST_PART or len(parts) < 2:
            return refusal
        outcomes = [(await self._embed([part], kind, deadline))[0][0] for part in parts]
        return vectors.join_parts(outcomes, [len(part) for part in parts])

    async def _send(self, texts: Sequence[str], kind: TextKind, deadline: Deadline) -> list[Outcome]:
        async def once() -> list[Outcome]:
            rows = await translate_errors(self._space.provider, lambda: self._transport.send(texts, kind))
            self._has_answered = True
            return self._check(rows, len(texts), learns=kind == "query")

        return await self._retries.run(once, may_retry=lambda error: self._may_retry(error, deadline))

    def _may_retry(self, error: ProviderError, deadline: Deadline) -> bool:
        deadline.last = error
        # Where there is no network a retry only costs time; in the middle of a backfill the network may come back.
        if isinstance(error, ProviderUnreachable) and (deadline.ends_at is not None or not self._has_answered):
            return False
        return deadline.patient and self._retries.allow(error, left_seconds=deadline.left_seconds)

    def _check(self, rows: Sequence[Row], count: int, *, learns: bool = True) -> list[Outcome]:
        """Check the vectors of one answer; those of notes tell no new dimensions, unless `learns`: they may be broken."""
        space, found = self._space, {len(row) for row in rows}
        # A configured number stays: the provider may serve another model under the same name one day.
        if len(found) == 1 and not self._plan.space.dimensions and (learns or not space.dimensions):
            self._space = replace(space, dimensions=found.pop())
        outcomes = vectors.check(rows, count=count, dimensions=space.dimensions, provider=space.provider)
        return list(outcomes)


def _find_refusal(outcomes: Iterable[Outcome]) -> ProviderError | None:
    """Return the first error that one text of its request may have caused, unless it names that text; None without one."""
    errors = (outcome for outcome in outcomes if isinstance(outcome, ProviderError))
    return next((error for error in errors if error.about_text and not isinstance(error, TextRefused)), None)


def _stack_rows(outcomes: Outcomes) -> Iterator[tuple[int, Row]]:
    """Yield the rows of consecutive texts together, as (first number, rows)."""
    import numpy as np

    for first, rows in find_runs(outcomes):
        yield first, np.stack(rows)
