"""The providers of one agent: the configured one, its fallback in a long outage, and the one that embeds a question."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from memory_core.config.agent import AgentConfig
from memory_core.embeddings import registry
from memory_core.embeddings.outage import Outage, OutageRecord, Outages, explain_fallback, may_fall_back
from memory_core.embeddings.protocols import EmbeddingProvider, TokenEmbedder, TokenEmbedding
from memory_core.embeddings.registry import Choice, choose_provider
from memory_core.errors import ProviderError
from memory_core.records import Fallback, KeySources, Space
from memory_core.threads import Clock, cached_property

if TYPE_CHECKING:
    from memory_core.embeddings.vectors import Row

log = logging.getLogger(__name__)

CONFIGURED = "configured"
FALLBACK = "fallback"
SERVING = "serving"  # needs no configuration; embeds questions while the index moves away from its space


class ActiveProvider(NamedTuple):
    """The provider in one role.

    Attributes:
        role: `CONFIGURED` or `FALLBACK`.
        provider: None for "none", or because of `problem`.
        problem: The error in opening it.
        warning: The reason why another provider serves than is configured, or why the fallback cannot take over; "" without one.
    """

    role: str
    provider: EmbeddingProvider | None
    problem: ProviderError | None = None
    warning: str = ""


class EmbeddedQuestion(NamedTuple):
    """The embedding of a question.

    Attributes:
        vector: A row of unit length.
        provider: The provider that made it.
        fallback: Set if that is the fallback.
        tokens: The embeddings of its tokens, if the provider offers them.
        problem: The reason why the configured provider did not make it, while that one's own embeddings are missing.
    """

    vector: Row
    provider: EmbeddingProvider
    fallback: Fallback | None
    tokens: TokenEmbedding | None = None
    problem: ProviderError | None = None


def _embed_parts(provider: EmbeddingProvider, parts: Sequence[str], timeout_seconds: float) -> EmbeddedQuestion:
    if not isinstance(provider, TokenEmbedder):
        return EmbeddedQuestion(provider.embed_query("".join(parts), timeout_seconds=timeout_seconds), provider, None)
    found = provider.embed_query_tokens(parts, timeout_seconds=timeout_seconds)
    return EmbeddedQuestion(found.row, provider, None, found)


@dataclass(eq=False)
class Providers:
    """Opens each provider once, when it is first needed. May be used from several threads.

    Attributes:
        config: The agent's.
        record: Of the outage of the configured provider.
        keys: The sources of keys for remote providers.
        clock: Unix seconds.
    """

    config: AgentConfig
    record: OutageRecord
    keys: KeySources
    clock: Clock = time.time

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        self._opened: dict[str, EmbeddingProvider] = {}
        self._closed = False

    @cached_property
    def choice(self) -> Choice:
        """The configured provider, with the reason."""
        return choose_provider(self.config, self.keys)

    @cached_property
    def outages(self) -> Outages:
        """The outages of the configured provider."""
        return Outages(self.config, self.choice.provider, self.record, self.clock)

    def open_configured(self) -> EmbeddingProvider | None:
        """Return the configured provider, opened at the first call; None for "none".

        Raises:
            ProviderUnavailable: It cannot be opened.
        """
        return self._open_once(CONFIGURED, lambda: registry.open_provider(self.config, self.keys))

    def choose_for_sync(self, outage: Outage | None, *, at_once: bool) -> ActiveProvider:
        """Return the provider that embeds notes now: in a long outage the fallback, else the configured provider.

        Before the fallback takes over, and from time to time afterwards, the configured provider is tried.

        Args:
            outage: The current one of the configured provider, see `Outages.current`.
            at_once: Try it now, even if its pause is not over.
        """
        if outage is None or not outage.is_long(self.clock()) or not self._may_fall_back:
            return self._open_role(CONFIGURED)
        fallback = self._open_role(FALLBACK)
        if fallback.problem is not None:
            log.warning("the fallback cannot take over: %s", fallback.problem)
            return self._open_role(CONFIGURED)._replace(warning=f"the fallback cannot take over: {fallback.problem}")
        if at_once or outage.is_due(self.clock()):
            self.outages.record_takeover()  # before the try: this command may end first, and the next one must not try again
            problem = self.try_configured()
            if problem is None:
                log.info("provider %s answers again", outage.provider)
                return self._open_role(CONFIGURED)
            log.warning("provider %s is out: %s", outage.provider, problem)
            if not self._closed:
                self.outages.update_reason(problem)
        return fallback

    def try_configured(self) -> ProviderError | None:
        """Ask the configured provider for one embedding, which ends an outage; return the error if there is none."""
        try:
            provider = self.open_configured()
            if provider is not None:
                provider.embed_query("memory", timeout_seconds=self.config.search.query.embed_timeout_ms / 1000)
        except ProviderError as error:
            return error
        self.outages.record_success()
        return None

    def record_result(
        self, active: ActiveProvider, outage: Outage | None, *, embedded: int, problem: ProviderError | None
    ) -> None:
        """Record how a sync went for the configured provider.

        Args:
            active: The provider that embedded.
            outage: The current one of the configured provider, as it was last read.
            embedded: The number of texts that got their embedding.
            problem: The error of others.
        """
        if active.role != CONFIGURED:
            return
        if embedded and outage is not None:
            self.outages.record_success()
        if problem is not None:
            self._record_failure(problem, pause=not embedded)

    def may_send(self, active: ActiveProvider, outage: Outage | None) -> bool:
        """Return True if a background sync may send notes: not while the configured provider has a pause."""
        return active.role != CONFIGURED or outage is None or outage.is_due(self.clock())

    def explain_missing(self, text: str, *, timeout_seconds: float | None) -> ProviderError | None:
        """Return the error because of which the index holds no embeddings yet; None when nothing is known to be wrong.

        Args:
            text: A text that the configured provider is embedded to embed, to find out.
            timeout_seconds: How long that may take; None does not ask, and returns what is known.
        """
        try:
            provider = self.open_configured()
            if provider is None:
                return None
            if timeout_seconds is not None:
                self._embed_with_configured(
                    provider, [text], outage=self.outages.current(), timeout_seconds=timeout_seconds
                )
        except ProviderError as error:
            return error
        return self.outages.outage_error()

    def embed_question(
        self, space: Space, parts: Sequence[str], *, outage: Outage | None, timeout_seconds: float
    ) -> EmbeddedQuestion | None:
        """Embed a question, given in its parts, for a space; None when no provider here has that space.

        Args:
            space: Of the vectors with which the question is compared.
            parts: Of the question.
            outage: The current one of the configured provider, see `Outages.current`.
            timeout_seconds: How long the provider may take.

        Raises:
            ProviderError: The provider of that space gave no embedding, or cannot be opened.
        """
        try:
            found = self._find_for_space(space)
        except ProviderError as error:
            self._record_failure(error)
            raise
        if found is None:
            return None
        role, provider = found
        if role == CONFIGURED:
            return self._embed_with_configured(provider, parts, outage=outage, timeout_seconds=timeout_seconds)
        embedded = _embed_parts(provider, parts, timeout_seconds)
        if role == FALLBACK:
            fallback = explain_fallback(self.outages.current(), self.choice.provider, self.config.search)
            return embedded._replace(fallback=fallback)
        return embedded._replace(problem=self._open_role(CONFIGURED).problem or self.outages.outage_error())

    def rest(self) -> None:
        """Let go of the static model, which is soon read again; other providers stay open."""
        from memory_core.embeddings.static import StaticProvider

        with self._lock:
            opened = list(self._opened.values())
        for provider in opened:
            if isinstance(provider, StaticProvider):
                provider.close()

    def close(self) -> None:
        """Close all that were opened; may be called twice. Failures are not recorded until one is opened again."""
        with self._lock:
            self._closed = True
            opened, self._opened = list(self._opened.values()), {}
        for provider in opened:
            provider.close()

    def _embed_with_configured(
        self, provider: EmbeddingProvider, parts: Sequence[str], *, outage: Outage | None, timeout_seconds: float
    ) -> EmbeddedQuestion:
        """Embed a question, unless the provider has a pause, and record the outcome."""
        if outage is not None and not outage.is_due(self.clock()):
            raise outage.to_error(self.clock())
        try:
            embedded = _embed_parts(provider, parts, timeout_seconds)
        except ProviderError as error:
            self._record_failure(error)
            raise
        if outage is not None:
            self.outages.record_success()
        return embedded

    def _record_failure(self, error: ProviderError, *, pause: bool = True) -> None:
        if not self._closed:
            self.outages.record_failure(error, pause=pause)

    @cached_property
    def _may_fall_back(self) -> bool:
        return may_fall_back(self.choice.provider, self.config.search)

    def _find_for_space(self, space: Space) -> tuple[str, EmbeddingProvider] | None:
        """Return the provider of a space, with its role.

        Raises:
            ProviderError: There is none, and the configured one cannot be opened.
        """
        active = self._open_role(CONFIGURED)
        if active.provider is not None and active.provider.space.matches(space):
            return CONFIGURED, active.provider
        fallback = self._open_role(FALLBACK).provider if self._may_fall_back else None
        if fallback is not None and fallback.space.matches(space):
            return FALLBACK, fallback
        if space.provider == "static":
            from memory_core.embeddings.static import StaticProvider

            provider = self._open_once(SERVING, StaticProvider)
            if provider is not None and provider.space == space:
                return SERVING, provider
        if active.problem is not None:
            raise active.problem
        return None

    def _open_role(self, role: str) -> ActiveProvider:
        try:
            if role == CONFIGURED:
                return ActiveProvider(role, self.open_configured(), warning=self.choice.missing)
            return ActiveProvider(role, self._open_once(role, lambda: registry.open_fallback(self.config, self.keys)))
        except ProviderError as error:
            return ActiveProvider(role, None, error)

    def _open_once(self, role: str, open_it: Callable[[], EmbeddingProvider | None]) -> EmbeddingProvider | None:
        with self._lock:
            if role not in self._opened:
                provider = open_it()
                if provider is None:
                    return None
                self._opened[role], self._closed = provider, False
            return self._opened[role]
