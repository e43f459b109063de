"""Outages of the configured provider: a record that every process of an index shares.

An outage begins with the first failure after a success, of a question or of notes, and ends with the next success. Meanwhile
the provider is tried with growing pauses, in which nobody waits for it. Once the outage has lasted `TAKEOVER_AFTER_SECONDS`, the
provider that `memorySearch.fallback` names may take over.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import NamedTuple

from memory_core.config.agent import AgentConfig
from memory_core.config.settings import SearchSettings
from memory_core.errors import (
    InputTooLarge,
    InvalidEmbedding,
    MemoryCoreError,
    NotIndexed,
    ProviderError,
    ProviderUnavailable,
    RateLimited,
    StoreReadOnly,
    TextRefused,
)
from memory_core.records import Fallback
from memory_core.threads import Backoff, Clock, cached_property

log = logging.getLogger(__name__)

TAKEOVER_AFTER_SECONDS = 600.0
TRY_NOW = "to try it now: memory-core probe"

# Every question waits for its recovery, and a try costs one of them some seconds.
AWAITED = Backoff(first_seconds=10.0, longest_seconds=300.0)
# Another provider serves in its place.
REPLACED = Backoff(first_seconds=60.0, longest_seconds=1800.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outage:
    """One outage that has not ended.

    Attributes:
        provider: The id of the provider that is out.
        settings: A fingerprint of its configuration: with another one, nothing is known of it.
        since: Unix seconds of the first failure.
        reason: The message of the last failure.
        action: What the user can do about it; "" if nothing is known to help.
        moved: True if another provider has taken over.
        try_at: Unix seconds from which the provider is tried again; 0 where a try costs nobody time.
        tries: Failed tries with a pause behind them, since the first failure or since another provider has taken over.
    """

    provider: str
    settings: str
    since: float
    reason: str
    action: str = ""
    moved: bool = False
    try_at: float = 0.0
    tries: int = 0

    def is_long(self, now: float) -> bool:
        """Return True if another provider may take over, or has done so."""
        return self.moved or now - self.since >= TAKEOVER_AFTER_SECONDS

    def is_due(self, now: float) -> bool:
        """Return True if the provider is to be tried again; also if the clock was put back by more than any pause."""
        return not now < self.try_at <= now + REPLACED.longest_seconds

    def after_failure(self, now: float, *, moved: bool, asked_seconds: float = 0.0) -> Outage:
        """Return the outage after one more failed try.

        Args:
            now: Unix seconds.
            moved: True if another provider takes over, or has done so.
            asked_seconds: The pause that the provider asked for.
        """
        tries = self.tries + 1 if moved == self.moved else 1
        pause = (REPLACED if moved else AWAITED).pause(tries, asked_seconds=asked_seconds)
        return replace(self, moved=moved, try_at=now + min(pause, REPLACED.longest_seconds), tries=tries)

    def to_error(self, now: float) -> ProviderUnavailable:
        """Return the error for whoever wants an embedding."""
        if self.is_due(now):
            return ProviderUnavailable(self.provider, self.description, action=self.action or TRY_NOW)
        again = f"{self.description}; it is tried again in {self.try_at - now:.0f} s"
        action = f"{self.action.rstrip('.')}; {TRY_NOW}" if self.action else TRY_NOW
        return ProviderUnavailable(self.provider, again, action=action)

    @property
    def description(self) -> str:
        """Since when and why there are no embeddings, for people."""
        since = datetime.fromtimestamp(self.since, UTC).strftime("%Y-%m-%d %H:%M UTC")
        return f"no embeddings since {since}: {self.reason}"

    def to_json(self) -> str:
        """Return it as text, for an `OutageRecord`."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str | None) -> Outage | None:
        """Return the inverse of `to_json`; None for the record of another version, which a lasting outage soon replaces."""
        try:
            return None if text is None else cls(**json.loads(text))
        except (ValueError, TypeError):
            return None


class OutageRecord(NamedTuple):
    """One record that every process of an index reads and writes, as `Outage.to_json` gives it; None without an outage.

    Attributes:
        load: Returns it.
        save: Replaces it.
    """

    load: Callable[[], str | None]
    save: Callable[[str | None], None]


class Outages:
    """The outages of one index's provider. Errors in writing the record are logged, never raised.

    The clock gives Unix seconds, because processes must agree.
    """

    def __init__(self, config: AgentConfig, provider: str, record: OutageRecord, clock: Clock) -> None:
        self._provider = provider
        self._config = config
        self._record = record
        self._clock = clock
        self._unwritten: Outage | None = None  # of a session that may not write

    @cached_property
    def _settings(self) -> str:
        return fingerprint_settings(self._provider, self._config)

    def current(self) -> Outage | None:
        """Return the outage of the provider as it is configured now; None when it is not known to be out."""
        try:
            record = self._record.load()
        except MemoryCoreError:  # whoever needs the index is told there
            return self._unwritten
        return self.judge(record)

    def judge(self, record: str | None) -> Outage | None:
        """Return what `current` does, given the record that its caller has read."""
        found = Outage.from_json(record)
        return found if found is not None and found.settings == self._settings else self._unwritten

    def record_failure(self, error: ProviderError, *, pause: bool = True) -> None:
        """Record that the provider gave no embedding. A text that it refuses says nothing about the provider.

        Args:
            error: Raised by the provider.
            pause: Do not ask it for a while, if the error is one that costs its callers time.
        """
        if isinstance(error, InputTooLarge | TextRefused):
            return
        now, held = self._clock(), self.current()
        outage = held or Outage(
            provider=self._provider, settings=self._settings, since=now, reason=error.reason, action=error.action
        )
        if not outage.is_due(now):  # another caller tried at the same time
            return
        if pause and (outage.moved or (error.retryable and not isinstance(error, InvalidEmbedding))):
            asked = error.retry_after_seconds if isinstance(error, RateLimited) else None
            outage = replace(outage, reason=error.reason, action=error.action)
            outage = outage.after_failure(now, moved=outage.moved, asked_seconds=asked or 0.0)
        if outage != held:
            self._write(outage)

    def record_success(self) -> None:
        """Record that the provider gave an embedding: the outage has ended."""
        if self.current() is not None:
            self._write(None)

    def record_takeover(self) -> None:
        """Record that another provider takes over while this one is tried: a failure, unless `record_success` follows."""
        if (outage := self.current()) is not None:
            self._write(outage.after_failure(self._clock(), moved=True))

    def update_reason(self, error: ProviderError) -> None:
        """Record the message of the last try."""
        if (outage := self.current()) is not None and outage.reason != error.reason:
            self._write(replace(outage, reason=error.reason, action=error.action))

    def outage_error(self) -> ProviderUnavailable | None:
        """Return the error of the current outage; None when the provider is not known to be out."""
        outage = self.current()
        return None if outage is None else outage.to_error(self._clock())

    def _write(self, outage: Outage | None) -> None:
        try:
            self._record.save(None if outage is None else outage.to_json())
        except (StoreReadOnly, NotIndexed):
            self._unwritten = outage
        except MemoryCoreError as error:
            log.warning("the outage of the provider %s cannot be recorded: %s", self._provider, error)


def fingerprint_settings(provider: str, config: AgentConfig) -> str:
    """Return a hash of a provider's configuration, the environment's part included; a hash, because a URL may hold a token."""
    from memory_core.embeddings.models import PROVIDERS

    search, urls = config.search, sorted((name, account.base_url) for name, account in config.providers.items())
    how: tuple[object, ...] = (
        provider,
        search.model,
        search.output_dimensionality,
        search.remote.base_url,
        search.local.model_path,
        urls,
    )
    variables = PROVIDERS[provider].url_environment if provider in PROVIDERS else ()
    if places := [(name, value) for name in variables if (value := os.environ.get(name))]:
        how = (*how, places)
    return hashlib.blake2s(repr(how).encode(), digest_size=8).hexdigest()


def may_fall_back(provider: str, search: SearchSettings) -> bool:
    """Return True if the configuration names another provider to take over."""
    return provider != "none" and search.fallback not in ("none", provider)


def explain_fallback(outage: Outage | None, provider: str, search: SearchSettings) -> Fallback:
    """Say why the fallback serves instead of a provider; without an outage the index is about to move."""
    reason = f"the index has not moved to {provider} yet" if outage is None else outage.description
    return Fallback(origin=provider, to=search.fallback, reason=reason)
