"""The providers of one agent: the configured one, the one that takes over in a long outage, and who embeds a question."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from memory_core.embeddings import registry
from memory_core.errors import ProviderError
from memory_core.hookspecs import EmbeddingProvider, ResolveApiKey, Space, TokenEmbedder, TokenEmbedding
from memory_core.outage import Clock, Outages, explained, may_fall_back
from memory_core.records import Fallback
from memory_core.settings import AgentConfig
from memory_core.store import Store

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

log = logging.getLogger(__name__)

CONFIGURED = "configured"
FALLBACK = "fallback"
SERVING = "serving"  # one that needs no configuration, while the index moves away from its space


@dataclass(frozen=True, slots=True)
class Acting:
    """Who makes the embeddings of one sync.

    Attributes:
        role: `CONFIGURED` or `FALLBACK`.
        provider: None when none is wanted, or because of `problem`.
        problem: Why it could not be opened.
        warning: Why the fallback could not take over; "" when it could, or need not.
    """

    role: str
    provider: EmbeddingProvider | None
    problem: ProviderError | None = None
    warning: str = ""


@dataclass(frozen=True, slots=True)
class Asked:
    """The embedding of a question, with who made it; also by token where that one offers it.

    `problem` is why not the configured provider made it, where its own embeddings are still owed.
    """

    vector: NDArray[np.float32]
    provider: EmbeddingProvider
    fallback: Fallback | None
    tokens: TokenEmbedding | None = None
    problem: ProviderError | None = None


def _asked(provider: EmbeddingProvider, parts: Sequence[str], timeout_seconds: float) -> Asked:
    if not isinstance(provider, TokenEmbedder):
        return Asked(provider.embed_query("".join(parts), timeout_seconds=timeout_seconds), provider, None)
    found = provider.embed_query_tokens(parts, timeout_seconds=timeout_seconds)
    return Asked(found.row, provider, None, found)


class Providers:
    """Opens each provider once, when it is first needed. May be used from several threads."""

    def __init__(
        self, config: AgentConfig, store: Store, resolve_api_key: ResolveApiKey | None, *, clock: Clock = time.time
    ) -> None:
        self._config = config
        self._store = store
        self._resolve_api_key = resolve_api_key
        self._clock = clock
        self._lock = threading.Lock()
        self._opened: dict[str, EmbeddingProvider] = {}
        self._closed = False

    @cached_property
    def choice(self) -> registry.Choice:
        """Which provider is configured, and why."""
        return registry.choose(self._config, self._resolve_api_key)

    @cached_property
    def outages(self) -> Outages:
        """What is known of the configured provider's outages."""
        return Outages(self._config, self.choice.provider, self._store, self._clock)

    def configured(self) -> EmbeddingProvider | None:
        """The configured provider; None for "none".

        Raises:
            ProviderUnavailable: It cannot be opened.
        """
        return self._once(CONFIGURED, lambda: registry.open_provider(self._config, self._resolve_api_key))

    def for_sync(self, *, at_once: bool) -> Acting:
        """Who embeds notes now: in a long outage the fallback, else the configured provider.

        Before another one takes its place, and from time to time afterwards, the configured provider is tried.

        Args:
            at_once: Try it, however lately it was tried.
        """
        outage = self.outages.current()
        if outage is None or not self.outages.is_long(outage) or not self._may_fall_back:
            return self._acting(CONFIGURED)
        stand_in = self._acting(FALLBACK)
        if stand_in.problem is not None:
            log.warning("the fallback cannot take over: %s", stand_in.problem)
            return replace(self._acting(CONFIGURED), warning=f"the fallback cannot take over: {stand_in.problem}")
        if at_once or self.outages.is_due(outage):
            self.outages.replaced()  # before the try: a command may end first, and the next one is not to try again
            problem = self.try_configured()
            if problem is None:
                log.info("provider %s answers again", outage.provider)
                return self._acting(CONFIGURED)
            log.warning("provider %s is out: %s", outage.provider, problem)
            if not self._closed:
                self.outages.explain(problem)
        return stand_in

    def try_configured(self) -> ProviderError | None:
        """Ask the configured provider for one embedding; None when it came, which ends an outage."""
        try:
            provider = self.configured()
            if provider is not None:
                provider.embed_query("memory", timeout_seconds=self._config.search.query.embed_timeout_ms / 1000)
        except ProviderError as error:
            return error
        self.outages.answered()
        return None

    def heard(self, acting: Acting, *, embedded: int, problem: ProviderError | None) -> None:
        """What a sync found out about the configured provider.

        Args:
            embedded: How many texts got their embedding.
            problem: Why others got none.
        """
        if acting.role != CONFIGURED:
            return
        if embedded:
            self.outages.answered()
        if problem is not None:
            self._failed(problem, pause=not embedded)

    def may_send(self, acting: Acting) -> bool:
        """Whether a sync that nobody asked for may send notes: not while the configured provider is left alone."""
        return acting.role != CONFIGURED or self.outages.rest() is None

    def missing(self, text: str, *, timeout_seconds: float | None) -> ProviderError | None:
        """Why the index holds no embeddings yet; None where nothing is known to be wrong.

        Args:
            text: What the configured provider is asked to embed, to find out.
            timeout_seconds: How long that may take; None asks nobody and tells what is known.
        """
        try:
            provider = self.configured()
            if provider is None:
                return None
            if timeout_seconds is not None:
                self._ask_configured(provider, [text], timeout_seconds=timeout_seconds)
        except ProviderError as error:
            return error
        return self.outages.problem()

    def embed_question(self, space: Space, parts: Sequence[str], *, timeout_seconds: float) -> Asked | None:
        """Embed a question, given in its parts, for a space; None when nobody here can.

        Raises:
            ProviderError: The provider of that space gave no embedding, or cannot be opened.
        """
        try:
            found = self._for_space(space)
        except ProviderError as error:
            self._failed(error)
            raise
        if found is None:
            return None
        role, provider = found
        if role == CONFIGURED:
            return self._ask_configured(provider, parts, timeout_seconds=timeout_seconds)
        asked = _asked(provider, parts, timeout_seconds)
        if role == FALLBACK:
            return replace(asked, fallback=self._explained())
        return replace(asked, problem=self._acting(CONFIGURED).problem or self.outages.problem())

    def close(self) -> None:
        """Close all that were opened; may be called twice. What fails from now on says nothing about a provider."""
        with self._lock:
            self._closed = True
            opened, self._opened = list(self._opened.values()), {}
        for provider in opened:
            provider.close()

    def _ask_configured(self, provider: EmbeddingProvider, parts: Sequence[str], *, timeout_seconds: float) -> Asked:
        """Embed a question, unless the provider is left alone; what comes of it is noted."""
        resting = self.outages.rest()
        if resting is not None:
            raise resting
        try:
            asked = _asked(provider, parts, timeout_seconds)
        except ProviderError as error:
            self._failed(error)
            raise
        self.outages.answered()
        return asked

    def _failed(self, error: ProviderError, *, pause: bool = True) -> None:
        if not self._closed:
            self.outages.failed(error, pause=pause)

    @cached_property
    def _may_fall_back(self) -> bool:
        return may_fall_back(self.choice.provider, self._config.search)

    def _for_space(self, space: Space) -> tuple[str, EmbeddingProvider] | None:
        """The provider of a space, with its role; raises what keeps the configured one from being opened."""
        acting = self._acting(CONFIGURED)
        if acting.provider is not None and acting.provider.space.matches(space):
            return CONFIGURED, acting.provider
        stand_in = self._acting(FALLBACK).provider if self._may_fall_back else None
        if stand_in is not None and stand_in.space.matches(space):
            return FALLBACK, stand_in
        provider = self._once(SERVING, lambda: registry.open_space(space))
        if provider is None and acting.problem is not None:
            raise acting.problem
        return (SERVING, provider) if provider is not None and provider.space == space else None

    def _explained(self) -> Fallback:
        return explained(self.outages.current(), self.choice.provider, self._config.search)

    def _acting(self, role: str) -> Acting:
        try:
            if role == CONFIGURED:
                return Acting(role, self.configured())
            return Acting(role, self._once(role, lambda: registry.open_fallback(self._config, self._resolve_api_key)))
        except ProviderError as error:
            return Acting(role, None, error)

    def _once(self, role: str, opened: Callable[[], EmbeddingProvider | None]) -> EmbeddingProvider | None:
        with self._lock:
            if role not in self._opened:
                provider = opened()
                if provider is None:
                    return None
                self._opened[role] = provider
            return self._opened[role]
