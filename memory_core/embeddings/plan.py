"""The plan of a provider that has models: space, prefixes and input types, from the tables and the configuration.

Deadlines and outcomes of its calls are here, too, because local and remote providers share them.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from memory_core.config.agent import AgentConfig
from memory_core.config.settings import SearchSettings
from memory_core.embeddings.error_mapping import is_outage, mark_permanent
from memory_core.embeddings.models import PROVIDERS, ModelRow, ProviderRow, find_model
from memory_core.embeddings.protocols import TextKind
from memory_core.errors import ProviderError, ProviderUnavailable
from memory_core.records import Space

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """One provider with one model.

    Attributes:
        space: The vectors' space, its dimensions 0 when neither configuration nor table say them.
        provider: Its row in the table of providers.
        model: Its row in the table of models.
        dimensions: The configured number; None leaves it to the model.
        document_type, query_type: Values for the input type field; "" sends none.
    """

    space: Space
    provider: ProviderRow
    model: ModelRow
    dimensions: int | None
    document_type: str
    query_type: str

    @property
    def shortened_dimensions(self) -> int:
        """The dimensions to which this side cuts vectors; 0 leaves them as they come."""
        return (self.dimensions or 0) if self.model.shortens else 0

    def input_type(self, kind: TextKind) -> str:
        """Return the value for the input type field; "" sends none."""
        return self.document_type if kind == "document" else self.query_type

    def add_prefix(self, text: str, kind: TextKind) -> str:
        """Return a text with the prefix that an asymmetric model wants before documents or queries."""
        return (self.model.document_prefix if kind == "document" else self.model.query_prefix) + text

    def without_types(self) -> Plan:
        """Return this plan for an endpoint that takes no input types."""
        return replace(self, document_type="", query_type="", space=replace(self.space, input_type=""))


def make_plan(config: AgentConfig, provider: str, *, endpoint: str) -> Plan:
    """Resolve a provider's model, its space and how its texts are marked as documents and queries.

    Args:
        config: Of the agent.
        provider: The provider's id.
        endpoint: The fingerprint of where requests go.

    Raises:
        ProviderUnavailable: No model is configured, and the provider has no default.
    """
    search, row = config.search, PROVIDERS[provider]
    name = search.model or row.default_model
    if name is None:
        error = ProviderUnavailable(provider, "no model is configured", action="Set memorySearch.model.")
        raise mark_permanent(error)
    model = find_model(name)
    document_type, query_type = _choose_types(search, row, model)
    return Plan(
        space=Space(
            provider=provider,
            model=name,
            endpoint=endpoint,
            input_type=document_type or model.document_prefix.strip(),
            dimensions=search.output_dimensionality or model.dimensions,
        ),
        provider=row,
        model=model,
        dimensions=search.output_dimensionality,
        document_type=document_type,
        query_type=query_type,
    )


def _choose_types(search: SearchSettings, row: ProviderRow, model: ModelRow) -> tuple[str, str]:
    """Return the input types of documents and queries: the user's, else the model's own where the endpoint takes them.

    A server that speaks OpenAI's protocol may refuse a field which that protocol lacks: it gets one on demand only.
    """
    known = (model.document_type, model.query_type) if row.sends_types else ("", "")
    return (
        search.document_input_type or search.input_type or known[0],
        search.query_input_type or search.input_type or known[1],
    )


@dataclass(slots=True)
class Deadline:
    """The deadline of one call, with the last error that was met before it.

    Attributes:
        ends_at: Monotonic seconds; None waits for ever.
        last: The error of the last attempt.
    """

    ends_at: float | None = None
    last: ProviderError | None = None

    @classmethod
    def until(cls, timeout_seconds: float | None) -> Deadline:
        """Begin now and end after a timeout; None waits for ever."""
        return cls(None if timeout_seconds is None else time.monotonic() + timeout_seconds)

    @property
    def left_seconds(self) -> float | None:
        """Seconds until the deadline, 0 behind it; None without one."""
        return None if self.ends_at is None else max(0.0, self.ends_at - time.monotonic())


def find_runs(outcomes: Mapping[int, T | ProviderError]) -> Iterator[tuple[int, list[T]]]:
    """Yield the results of consecutive numbers together, as (first number, results); errors are left out."""
    first, run = 0, list[T]()
    for number in sorted(outcomes):
        outcome = outcomes[number]
        if isinstance(outcome, ProviderError):
            continue
        if run and number != first + len(run):
            yield first, run
            run = []
        first = first if run else number
        run.append(outcome)
    if run:
        yield first, run


def list_failures(outcomes: Mapping[int, object]) -> list[ProviderError]:
    """Return the errors among outcomes."""
    return [outcome for outcome in outcomes.values() if isinstance(outcome, ProviderError)]


def summarise(failures: Sequence[ProviderError], texts: int) -> ProviderError:
    """Return the error to raise for many: an outage before the error of a single text, with a note that counts them."""
    error = next(filter(is_outage, failures), failures[0])
    error.add_note(f"At least {len(failures)} of {texts} texts got no embedding.")
    return error
