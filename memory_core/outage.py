"""How long the provider has given no embeddings: a record in the index file, so that every process knows it.

It begins with the first failure after a success, of a question or of notes, and ends with the next success. Meanwhile the
provider is tried with growing pauses, in which nobody waits for it. Once it has lasted `PATIENCE_SECONDS`, the provider that
`memorySearch.fallback` names may take over.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime

from memory_core.errors import (
    InputTooLarge,
    InvalidEmbedding,
    MemoryCoreError,
    ProviderError,
    ProviderUnavailable,
    RateLimited,
)
from memory_core.records import Fallback
from memory_core.settings import AgentConfig, SearchSettings
from memory_core.store import Store
from memory_core.store.connection import Connection

log = logging.getLogger(__name__)

OUTAGE = "outage"  # the key of meta
PATIENCE_SECONDS = 600.0


@dataclass(frozen=True, slots=True)
class Pauses:
    """Seconds until a provider that is out is tried again: the first pause, doubled each time up to the longest."""

    first: float
    longest: float


AWAITED = Pauses(10.0, 300.0)  # every question waits for its recovery, and a try costs one of them some seconds
REPLACED = Pauses(60.0, 1800.0)  # another provider serves in its place

Clock = Callable[[], float]  # Unix seconds: processes must agree


@dataclass(frozen=True, slots=True, kw_only=True)
class Outage:
    """An outage that goes on.

    Attributes:
        provider: The id of the provider that is out.
        settings: A fingerprint of how it is configured: what is configured otherwise is not known to be out.
        since: Unix seconds of the first failure.
        reason: What the last failure said.
        moved: Whether another provider has taken over.
        try_at: Unix seconds from which the provider is tried again; 0 where a try costs nobody time.
        pause_seconds: From the next try in vain until the one after it.
    """

    provider: str
    settings: str
    since: float
    reason: str
    moved: bool = False
    try_at: float = 0.0
    pause_seconds: float = AWAITED.first

    def is_long(self, now: float) -> bool:
        """Whether the provider has had its time."""
        return self.moved or now - self.since >= PATIENCE_SECONDS

    def is_due(self, now: float) -> bool:
        """Whether the provider is to be tried again; also where the clock was put back by more than any pause."""
        return not now < self.try_at <= now + REPLACED.longest

    def tried(self, now: float, reason: str, *, moved: bool, asked_seconds: float = 0.0) -> Outage:
        """After one more try in vain.

        Args:
            now: Unix seconds.
            reason: What the try said.
            moved: Whether another provider takes over, or has done so.
            asked_seconds: The pause that the provider asked for.
        """
        pauses = REPLACED if moved else AWAITED
        pause = self.pause_seconds if moved == self.moved else pauses.first
        wait = min(max(pause, asked_seconds), REPLACED.longest)
        longer = min(2 * pause, pauses.longest)
        return replace(self, reason=reason, moved=moved, try_at=now + wait, pause_seconds=longer)

    def error(self, now: float) -> ProviderUnavailable:
        """As whoever wanted an embedding is told."""
        again = "" if self.is_due(now) else f"; it is tried again in {self.try_at - now:.0f} s"
        return ProviderUnavailable(self.provider, f"{self.told}{again}", action="to try it now: memory-core probe")

    @property
    def told(self) -> str:
        """Since when and why, for people."""
        since = datetime.fromtimestamp(self.since, UTC).strftime("%Y-%m-%d %H:%M UTC")
        return f"no embeddings since {since}: {self.reason}"


class Outages:
    """The record of one index. Its own write errors are logged: they are never the caller's."""

    def __init__(self, config: AgentConfig, provider: str, store: Store, clock: Clock) -> None:
        self._provider = provider
        self._settings = fingerprint(provider, config)
        self._store = store
        self._clock = clock
        self._unwritten: Outage | None = None  # of a session that may not write

    def held(self, connection: Connection) -> Outage | None:
        """The outage of the provider as it is configured now; None when it is not known to be out."""
        found = read_outage(connection)
        return found if found is not None and found.settings == self._settings else self._unwritten

    def current(self) -> Outage | None:
        """The same on a connection of its own, where there is an index."""
        try:
            with self._store.read() as connection:
                return self.held(connection)
        except MemoryCoreError:  # whoever needs the index hears of it there
            return self._unwritten

    def failed(self, error: ProviderError, *, pause: bool = True) -> None:
        """The provider gave nothing. That a text is too large says nothing about it.

        Args:
            pause: Leave it alone for a while, if the error is one that costs its callers time.
        """
        if isinstance(error, InputTooLarge):
            return
        now, held = self._clock(), self.current()
        outage = held or Outage(provider=self._provider, settings=self._settings, since=now, reason=error.told)
        if not outage.is_due(now):  # another one tried at the same time
            return
        if pause and (outage.moved or (error.retryable and not isinstance(error, InvalidEmbedding))):
            asked = error.retry_after_seconds if isinstance(error, RateLimited) else None
            outage = outage.tried(now, error.told, moved=outage.moved, asked_seconds=asked or 0.0)
        if outage != held:
            self._write(outage)

    def answered(self) -> None:
        """The provider gave an embedding."""
        if self.current() is not None:
            self._write(None)

    def replaced(self) -> None:
        """The provider is tried once more, in vain unless `answered` follows, and another one stands in for it."""
        if (outage := self.current()) is not None:
            self._write(outage.tried(self._clock(), outage.reason, moved=True))

    def explain(self, error: ProviderError) -> None:
        """What the last try said."""
        if (outage := self.current()) is not None and outage.reason != error.told:
            self._write(replace(outage, reason=error.told))

    def is_long(self, outage: Outage | None) -> bool:
        """Whether another provider may take over, or has."""
        return outage is not None and outage.is_long(self._clock())

    def is_due(self, outage: Outage) -> bool:
        """Whether the provider is to be tried again."""
        return outage.is_due(self._clock())

    def problem(self) -> ProviderUnavailable | None:
        """What is known to be wrong with the provider."""
        outage = self.current()
        return None if outage is None else outage.error(self._clock())

    def rest(self) -> ProviderUnavailable | None:
        """Why the provider is left alone now; None when it may be asked."""
        outage = self.current()
        return None if outage is None or self.is_due(outage) else outage.error(self._clock())

    def _write(self, outage: Outage | None) -> None:
        if not self._store.writable:
            self._unwritten = outage
            return
        try:
            with self._store.write(content=False) as writer:
                writer.set_meta({OUTAGE: None if outage is None else json.dumps(asdict(outage))})
        except MemoryCoreError as error:
            log.warning("the state of the provider %s is not noted: %s", self._provider, error)


def read_outage(connection: Connection) -> Outage | None:
    """The record of an index, whichever provider it is of; None when there is none, or none that can be read."""
    value = connection.execute("SELECT value FROM meta WHERE key = ?", (OUTAGE,)).get
    try:
        return None if value is None else Outage(**json.loads(value))
    except (ValueError, TypeError):  # of another version: an outage that lasts is soon noted again
        return None


def fingerprint(provider: str, config: AgentConfig) -> str:
    """Names how a provider is configured, as a hash: a URL may hold a token."""
    search, urls = config.search, sorted((name, account.base_url) for name, account in config.providers.items())
    how = (provider, search.model, search.output_dimensionality, search.remote.base_url, search.local.model_path, urls)
    return hashlib.blake2s(repr(how).encode(), digest_size=8).hexdigest()


def may_fall_back(provider: str, search: SearchSettings) -> bool:
    """Whether the configuration names another provider to take over."""
    return provider != "none" and search.fallback not in ("none", provider)


def explained(outage: Outage | None, provider: str, search: SearchSettings) -> Fallback:
    """Why the fallback serves instead of a provider; without an outage the index is about to move."""
    reason = f"the index has not moved to {provider} yet" if outage is None else outage.told
    return Fallback(origin=provider, to=search.fallback, reason=reason)
