"""What a provider will be asked for: model, space, prefixes, input types and limits, by table and configuration."""

from __future__ import annotations

from dataclasses import dataclass

from memory_core.embeddings.failures import lasting
from memory_core.embeddings.models import PROVIDERS, ModelRow, ProviderRow, model_row
from memory_core.embeddings.packing import Limits
from memory_core.embeddings.requests import Announce
from memory_core.errors import ProviderUnavailable
from memory_core.hookspecs import Space
from memory_core.settings import AgentConfig, SearchSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """One provider with one model.

    Attributes:
        space: The vectors' space, its dimensions 0 when neither configuration nor table know them.
        provider, model: Their rows in the table.
        dimensions: What the user asked for; None leaves it to the model.
        document_type, query_type: Values for the input type field; "" sends none.
        announce: Text put before documents and queries.
    """

    space: Space
    provider: ProviderRow
    model: ModelRow
    dimensions: int | None
    document_type: str
    query_type: str
    announce: Announce

    def limits(self) -> Limits:
        """Of one request; a new object, because a provider lowers its own."""
        return Limits(items=self.provider.max_items, tokens=self.model.max_tokens or self.provider.max_tokens)


def plan(config: AgentConfig, provider: str, *, endpoint: str) -> Plan:
    """Resolve a provider's model and how its texts are announced.

    Args:
        endpoint: The fingerprint of where requests go.

    Raises:
        ProviderUnavailable: No model is configured, and the provider has no default.
    """
    search, row = config.search, PROVIDERS[provider]
    name = search.model or row.default_model
    if name is None:
        error = ProviderUnavailable(provider, "no model is configured", action="Set memorySearch.model.")
        raise lasting(error)
    model = model_row(name if row.route != "litellm" else row.litellm_prefix + name)
    document_type, query_type = _types(search, row, model)
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
        announce=Announce(document=model.document_prefix, query=model.query_prefix),
    )


def _types(search: SearchSettings, row: ProviderRow, model: ModelRow) -> tuple[str, str]:
    """Input types of documents and queries: the user's; else the model's own where litellm knows how to pass them on.

    A server that speaks OpenAI's protocol may refuse a field which that protocol lacks: it gets one on demand only.
    """
    known = (model.document_type, model.query_type) if row.route == "litellm" else ("", "")
    return (
        search.document_input_type or search.input_type or known[0],
        search.query_input_type or search.input_type or known[1],
    )
