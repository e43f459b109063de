"""The plan of a provider: model, space, prefixes, input types and limits, from table and configuration."""

from __future__ import annotations

from dataclasses import dataclass, replace

from memory_core.config.agent import AgentConfig
from memory_core.config.settings import SearchSettings
from memory_core.embeddings.error_mapping import mark_permanent
from memory_core.embeddings.models import PROVIDERS, ModelRow, ProviderRow, find_model
from memory_core.embeddings.packing import Limits
from memory_core.embeddings.protocols import TextKind
from memory_core.errors import ProviderUnavailable
from memory_core.records import Space


@dataclass(frozen=True, slots=True, kw_only=True)
class Prefixes:
    """Text put before documents and queries of an asymmetric model."""

    document: str = ""
    query: str = ""

    def apply(self, text: str, kind: TextKind) -> str:
        """Return the text as it is sent."""
        return (self.document if kind == "document" else self.query) + text


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """One provider with one model.

    Attributes:
        space: The vectors' space, its dimensions 0 when neither configuration nor table say them.
        provider: Its row in the table of providers.
        model: Its row in the table of models.
        dimensions: The configured number; None leaves it to the model.
        document_type, query_type: Values for the input type field; "" sends none.
        prefixes: Text put before documents and queries.
    """

    space: Space
    provider: ProviderRow
    model: ModelRow
    dimensions: int | None
    document_type: str
    query_type: str
    prefixes: Prefixes

    @property
    def shortened_dimensions(self) -> int:
        """The dimensions to which this side cuts vectors; 0 leaves them as they come."""
        return (self.dimensions or 0) if self.model.shortens else 0

    def input_type(self, kind: TextKind) -> str:
        """Return the value for the input type field; "" sends none."""
        return self.document_type if kind == "document" else self.query_type

    def without_types(self) -> Plan:
        """Return this plan for an endpoint that takes no input types."""
        return replace(self, document_type="", query_type="", space=replace(self.space, input_type=""))

    def new_limits(self) -> Limits:
        """Return the limits of one request; a new object, because a provider lowers its own."""
        return Limits(items=self.provider.max_items, tokens=self.model.max_tokens or self.provider.max_tokens)


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
        prefixes=Prefixes(document=model.document_prefix, query=model.query_prefix),
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
