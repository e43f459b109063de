"""How long the provider has given no embeddings: a record in the index file, so that every process knows it.

It begins with the first failure after a success, of a question or of notes, and ends with the next success. Once it has lasted
`PATIENCE_SECONDS`, the provider that `memorySearch.fallback` names may take over; the other is then tried with growing pauses.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime

from memory_core.errors import InputTooLarge, MemoryCoreError, ProviderError
from memory_core.records import Fallback
from memory_core.settings import AgentConfig, SearchSettings
from memory_core.store import Store
from memory_core.store.connection import Connection

log = logging.getLogger(__name__)

OUTAGE = "outage"  # the key of meta
PATIENCE_SECONDS = 600.0
FIRST_PAUSE_SECONDS = 60.0  # between two tries of a provider whose place is taken; doubled each time
LONGEST_PAUSE_SECONDS = 1800.0

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
        try_at: Unix seconds from which the provider is tried again, once another has taken over.
        pause_seconds: Until the try after that one.
    """

    provider: str
    settings: str
    since: float
    reason: str
    moved: bool = False
    try_at: float = 0.0
    pause_seconds: float = FIRST_PAUSE_SECONDS

    def is_long(self, now: float) -> bool:
        """Whether the provider has had its time."""
        return self.moved or now - self.since >= PATIENCE_SECONDS

    def tried(self, now: float, reason: str) -> Outage:
        """After one more try in vain, when another provider takes over or has done so."""
        longer = min(2 * self.pause_seconds, LONGEST_PAUSE_SECONDS)
        return replace(self, reason=reason, moved=True, try_at=now + self.pause_seconds, pause_seconds=longer)

    @property
    def told(self) -> str:
        """Since when and why, for people."""
        since = datetime.fromtimestamp(self.since, UTC).strftime("%Y-%m-%d %H:%M UTC")
        return f"no embeddings since {since}: {self.reason}"


class Outages:
    """The record of one index. Its own write errors are logged: they are never the caller's."""

    def __init__(self, config: AgentConfig, provider: str, store: Store, clock: Clock) -> None:
        self._provider = provider
        self._settings = fingerprint(provider, config.search)
        self._store = store
        self._clock = clock

    def held(self, connection: Connection) -> Outage | None:
        """The outage of the provider as it is configured now; None when it is not known to be out."""
        found = read_outage(connection)
        return found if found is not None and found.settings == self._settings else None

    def current(self) -> Outage | None:
        """The same on a connection of its own; None also where there is no index."""
        try:
            with self._store.read() as connection:
                return self.held(connection)
        except MemoryCoreError:  # whoever needs the index hears of it there
            return None

    def failed(self, error: ProviderError) -> None:
        """The provider gave nothing; the first time is what counts. That a text is too large says nothing about it."""
        if not isinstance(error, InputTooLarge) and self.current() is None:
            first = Outage(provider=self._provider, settings=self._settings, since=self._clock(), reason=str(error))
            self._write(first)

    def answered(self) -> None:
        """The provider gave an embedding."""
        if self.current() is not None:
            self._write(None)

    def tried(self, error: ProviderError) -> None:
        """The provider was tried in vain, and another one stands in for it."""
        if (outage := self.current()) is not None:
            self._write(outage.tried(self._clock(), str(error)))

    def is_long(self, outage: Outage | None) -> bool:
        """Whether another provider may take over, or has."""
        return outage is not None and outage.is_long(self._clock())

    def is_due(self, outage: Outage) -> bool:
        """Whether the provider is to be tried again."""
        return self._clock() >= outage.try_at

    def _write(self, outage: Outage | None) -> None:
        if not self._store.writable:
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


def fingerprint(provider: str, search: SearchSettings) -> str:
    """Names how a provider is configured, as a hash: a URL may hold a token."""
    how = (provider, search.model, search.output_dimensionality, search.remote.base_url, search.local.model_path)
    return hashlib.blake2s(repr(how).encode(), digest_size=8).hexdigest()


def may_fall_back(provider: str, search: SearchSettings) -> bool:
    """Whether the configuration names another provider to take over."""
    return provider != "none" and search.fallback not in ("none", provider)


def explained(outage: Outage | None, provider: str, search: SearchSettings) -> Fallback:
    """Why the fallback serves instead of a provider; without an outage the index is about to move."""
    reason = f"the index has not moved to {provider} yet" if outage is None else outage.told
    return Fallback(origin=provider, to=search.fallback, reason=reason)
