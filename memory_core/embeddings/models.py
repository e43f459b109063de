"""The tables of providers and models: defaults, request limits, dimensions, prefixes and input types; and a provider's plan.

Every row names the page it was read from. A model's row is found by the model's name, so that any kind of server that
runs `nomic-embed-text` gets that model's prefixes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Literal

from memory_core.config.agent import AgentConfig
from memory_core.config.settings import SearchSettings
from memory_core.embeddings.error_mapping import mark_permanent
from memory_core.embeddings.protocols import TextKind
from memory_core.errors import ProviderUnavailable
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
    """

    route: Route
    source: str
    default_model: str | None = None
    base_url: str | None = None
    environment: tuple[str, ...] = ()
    url_environment: tuple[str, ...] = ()
    url_path: str = ""
    accounts: tuple[str, ...] = ()
    needs_key: bool = True
    max_items: int
    max_tokens: int | None = None
    concurrency: int = 4
    dimensions_field: str = "dimensions"
    base64: bool = False
    sends_types: bool = False


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


PROVIDERS: dict[str, ProviderRow] = {
    "openai": ProviderRow(
        route="openai",
        source="https://platform.openai.com/docs/api-reference/embeddings/create",
        default_model="text-embedding-3-small",
        base_url="https://api.openai.com/v1",
        environment=("OPENAI_API_KEY",),
        url_environment=("OPENAI_BASE_URL", "OPENAI_API_BASE"),
        accounts=("openai",),
        max_items=2048,
        max_tokens=300_000,
        base64=True,
    ),
    "gemini": ProviderRow(
        route="gemini",
        source="https://ai.google.dev/api/embeddings#method:-models.batchembedcontents",
        default_model="gemini-embedding-001",
        base_url="https://generativelanguage.googleapis.com/v1beta",
        environment=("GEMINI_API_KEY",),
        url_environment=("GOOGLE_GEMINI_BASE_URL", "GEMINI_API_BASE"),
        url_path="/v1beta",
        accounts=("google", "gemini"),
        max_items=100,
        sends_types=True,
    ),
    "openrouter": ProviderRow(
        route="openai",
        source="https://openrouter.ai/docs/api/reference/embeddings",
        default_model="openai/text-embedding-3-small",
        base_url="https://openrouter.ai/api/v1",
        environment=("OPENROUTER_API_KEY",),
        url_environment=("OPENROUTER_BASE_URL", "OPENROUTER_API_BASE"),
        accounts=("openrouter",),
        max_items=2048,
        max_tokens=300_000,
        base64=True,
    ),
    "voyage": ProviderRow(
        route="openai",
        source="https://docs.voyageai.com/reference/embeddings-api",
        default_model="voyage-4",
        base_url="https://api.voyageai.com/v1",
        environment=("VOYAGE_API_KEY",),
        url_environment=("VOYAGE_API_BASE", "VOYAGE_BASE_URL"),
        accounts=("voyage",),
        max_items=1000,
        max_tokens=120_000,
        dimensions_field="output_dimension",
        sends_types=True,
    ),
    "mistral": ProviderRow(
        route="openai",
        # The limits are on no page: the API refuses 257 texts, and more than 16,384 tokens: "split into more batches".
        source="https://docs.mistral.ai/api/endpoint/embeddings",
        default_model="mistral-embed",
        base_url="https://api.mistral.ai/v1",
        environment=("MISTRAL_API_KEY",),
        url_environment=("MISTRAL_BASE_URL", "MISTRAL_API_BASE"),
        accounts=("mistral",),
        max_items=256,
        max_tokens=16_384,
        dimensions_field="output_dimension",
    ),
    "ollama": ProviderRow(
        route="openai",
        # No limit on texts is documented; 64 keep a request on a small machine well under the timeout.
        source="https://docs.ollama.com/capabilities/embeddings",
        default_model="nomic-embed-text",
        base_url="http://127.0.0.1:11434/v1",
        environment=("OLLAMA_API_KEY",),
        url_environment=("OLLAMA_HOST",),
        url_path="/v1",
        accounts=("ollama",),
        needs_key=False,
        max_items=64,
        concurrency=1,
        base64=True,
    ),
    "openai-compatible": ProviderRow(
        route="openai",
        # Servers differ (text-embeddings-inference takes 32, vLLM any number): a refused size is halved and remembered.
        source="https://docs.vllm.ai/en/latest/serving/openai_compatible_server.html",
        environment=(),
        accounts=("openai-compatible",),
        needs_key=False,
        max_items=256,
        max_tokens=300_000,
        base64=True,
    ),
    "litellm": ProviderRow(
        route="litellm",
        # 96 is Cohere's, the smallest of the vendors behind litellm that take several texts.
        source="https://docs.cohere.com/reference/embed",
        accounts=("litellm",),
        needs_key=False,
        max_items=96,
        sends_types=True,
    ),
    "local": ProviderRow(
        route="local",
        source="https://huggingface.co/ggml-org/embeddinggemma-300M-GGUF",
        default_model="hf:ggml-org/embeddinggemma-300M-GGUF/embeddinggemma-300M-Q8_0.gguf",
        needs_key=False,
        max_items=32,
        concurrency=1,
    ),
}

_SEARCH_PASSAGES = "Represent this sentence for searching relevant passages: "
_OPENAI = "https://platform.openai.com/docs/guides/embeddings"
_VOYAGE = "https://docs.voyageai.com/reference/embeddings-api"
_COHERE = "https://docs.cohere.com/docs/embeddings"

MODELS: tuple[ModelRow, ...] = (
    ModelRow(pattern=r"text-embedding-3-small", source=_OPENAI, dimensions=1536, shortens=True),
    ModelRow(pattern=r"text-embedding-3-large", source=_OPENAI, dimensions=3072, shortens=True),
    ModelRow(pattern=r"text-embedding-ada-002", source=_OPENAI, dimensions=1536),
    ModelRow(
        pattern=r"gemini-embedding-001",
        source="https://ai.google.dev/gemini-api/docs/embeddings",
        dimensions=3072,
        shortens=True,
        query_type="RETRIEVAL_QUERY",
        document_type="RETRIEVAL_DOCUMENT",
        type_field="task_type",
    ),
    ModelRow(
        pattern=r"voyage-(3\.5|4)-lite",
        source=_VOYAGE,
        dimensions=1024,
        shortens=True,
        max_tokens=1_000_000,
        query_type="query",
        document_type="document",
    ),
    ModelRow(
        pattern=r"voyage-(3\.5|4)$",
        source=_VOYAGE,
        dimensions=1024,
        shortens=True,
        max_tokens=320_000,
        query_type="query",
        document_type="document",
    ),
    ModelRow(pattern=r"voyage-", source=_VOYAGE, query_type="query", document_type="document"),
    ModelRow(pattern=r"mistral-embed", source="https://docs.mistral.ai/capabilities/embeddings", dimensions=1024),
    ModelRow(pattern=r"codestral-embed", source="https://docs.mistral.ai/capabilities/embeddings", shortens=True),
    ModelRow(
        pattern=r"cohere.*embed-(?!english-v2|multilingual-v2)",
        source=_COHERE,
        query_type="search_query",
        document_type="search_document",
    ),
    ModelRow(
        pattern=r"embedding-?gemma",
        source="https://ai.google.dev/gemma/docs/embeddinggemma/model_card",
        dimensions=768,
        shortens=True,
        query_prefix="task: search result | query: ",
        document_prefix="title: none | text: ",
    ),
    ModelRow(
        pattern=r"nomic-embed-text",
        source="https://huggingface.co/nomic-ai/nomic-embed-text-v1.5",
        dimensions=768,
        shortens=True,
        query_prefix="search_query: ",
        document_prefix="search_document: ",
    ),
    ModelRow(
        pattern=r"mxbai-embed-large",
        source="https://huggingface.co/mixedbread-ai/mxbai-embed-large-v1",
        dimensions=1024,
        shortens=True,
        query_prefix=_SEARCH_PASSAGES,
    ),
    ModelRow(
        pattern=r"bge-(small|base|large)-en",
        source="https://huggingface.co/BAAI/bge-large-en-v1.5",
        query_prefix=_SEARCH_PASSAGES,
    ),
    ModelRow(pattern=r"bge-m3", source="https://huggingface.co/BAAI/bge-m3", dimensions=1024),
    ModelRow(
        pattern=r"arctic-embed2|arctic-embed-[ml]-v2",
        source="https://huggingface.co/Snowflake/snowflake-arctic-embed-l-v2.0",
        query_prefix="query: ",
    ),
    ModelRow(
        pattern=r"arctic-embed",
        source="https://huggingface.co/Snowflake/snowflake-arctic-embed-m",
        query_prefix=_SEARCH_PASSAGES,
    ),
    ModelRow(
        pattern=r"(?<![a-z])e5-(small|base|large)(?!-instruct)",
        source="https://huggingface.co/intfloat/e5-base-v2",
        query_prefix="query: ",
        document_prefix="passage: ",
    ),
    ModelRow(
        pattern=r"qwen3-embedding",
        source="https://huggingface.co/Qwen/Qwen3-Embedding-0.6B",
        shortens=True,
        query_prefix=("Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:"),
    ),
    ModelRow(
        pattern=r"all-minilm",
        source="https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2",
        dimensions=384,
    ),
)

_UNKNOWN = ModelRow(pattern="", source="")


# Models that one vendor alone serves, among the providers that "auto" may choose.
_VENDORS = {
    "openai": r"^text-embedding-(3|ada)",
    "gemini": r"gemini-embedding",
    "voyage": r"^voyage-",
    "mistral": r"^(mistral|codestral)-embed",
}


def may_serve(provider: str, model: str) -> bool:
    """Return True if a model that was set beside no provider may be meant for this one."""
    if provider in {"static", "local"}:
        return False
    owner = next((name for name, pattern in _VENDORS.items() if re.search(pattern, model.lower())), provider)
    return owner == provider


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
        error = ProviderUnavailable(provider, "no model is configured", action="Set memorySearch.model.")
        raise mark_permanent(error)
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
