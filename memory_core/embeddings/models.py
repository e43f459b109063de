"""The tables of providers and models: defaults, request limits, dimensions, prefixes and input types; and a provider's plan.

Every row names the page it was read from. A model's row is found by the model's name, so that any kind of server that
runs `nomic-embed-text` gets that model's prefixes.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from memory_core.config.agent import AgentConfig
from memory_core.config.settings import SearchSettings
from memory_core.embeddings.protocols import TextKind
from memory_core.records import Space

Route = Literal["openai", "gemini", "litellm", "local"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderRow:
    """One provider: where its requests go, and the limits of one.

    Attributes:
        route: The module that speaks to it.
        source: The vendor's page for the limits.
        default_model: None when the user must name one.
        base_url: None when the user must name one, or when litellm knows it.
        environment: Variables that may hold its key, the first one wins.
        url_environment: Variables that may hold its base URL, as the vendor's own libraries name them; the first one wins.
        url_path: Appended to such a URL that has no path.
        accounts: Its names in `models.providers`, the first one wins.
        needs_key: False if it works without a key.
        max_items: Texts in one request.
        max_tokens: Tokens in one request, all texts together; None when no limit is documented.
        concurrency: Requests that run side by side.
        dimensions_field: The request's field for the output dimensions.
        base64: True if it sends vectors as base64 floats on demand, a quarter of the bytes.
        sends_types: True if its endpoint takes the input types of a model that has any.
        own_models: Searched in a model's name, lower case: a model that nobody but this provider serves; "" for none.
    """

    route: Route
    source: str
    default_model: str | None = None
    base_url: str | None = None
    environment: Sequence[str] = ()
    url_environment: Sequence[str] = ()
    url_path: str = ""
    accounts: Sequence[str] = ()
    needs_key: bool = True
    max_items: int
    max_tokens: int | None = None
    concurrency: int = 4
    dimensions_field: str = "dimensions"
    base64: bool = False
    sends_types: bool = False
    own_models: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRow:
    """One family of models.

    Attributes:
        pattern: Searched in the model's name, lower case.
        source: The page it was read from.
        dimensions: Of its vectors by default; 0 when sizes differ within the family.
        shortens: True if its vectors may be cut to fewer dimensions (Matryoshka).
        max_tokens: Tokens in one request, when the model's limit differs from its provider's.
        query_prefix, document_prefix: Text put before queries and documents.
        query_type, document_type: Values of the input type field, for endpoints that have one.
        type_field: The name of that field.
    """

    pattern: str
    source: str
    dimensions: int = 0
    shortens: bool = False
    max_tokens: int | None = None
    query_prefix: str = ""
    document_prefix: str = ""
    query_type: str = ""
    document_type: str = ""
    type_field: str = "input_type"


_TABLES: Mapping[str, Any] = tomllib.loads(Path(__file__).with_name("models.toml").read_text("utf-8"))
PROVIDERS: Mapping[str, ProviderRow] = {name: ProviderRow(**row) for name, row in _TABLES["providers"].items()}
MODELS: Sequence[ModelRow] = [ModelRow(**row) for row in _TABLES["models"]]
_UNKNOWN = ModelRow(pattern="", source="")


def may_serve(provider: str, model: str) -> bool:
    """Return True if a model that was set beside no provider may be meant for this one."""
    if provider in {"static", "local"}:
        return False
    owns = (name for name, row in PROVIDERS.items() if row.own_models and re.search(row.own_models, model.lower()))
    return next(owns, provider) == provider


def find_model(model: str) -> ModelRow:
    """Return the row of a model by its name; an empty row for a model that is in no table."""
    name = model.lower()
    return next((row for row in MODELS if re.search(row.pattern, name)), _UNKNOWN)


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
        from memory_core.embeddings.protocols import make_unusable

        raise make_unusable(provider, "no model is configured", action="Set memorySearch.model.")
    model = find_model(name)
    # A server of the user's own may run anything under a model's name: its first vectors tell their dimensions.
    known = 0 if row.route == "openai" and not row.needs_key else model.dimensions
    document_type, query_type = _choose_types(search, row, model)
    return Plan(
        space=Space(
            provider=provider,
            model=name,
            endpoint=endpoint,
            input_type=document_type or model.document_prefix.strip(),
            dimensions=search.output_dimensionality or known,
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
