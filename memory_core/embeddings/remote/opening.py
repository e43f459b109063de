"""Open a remote provider: its endpoint, its plan, the transport of its route, and its batches."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from memory_core.config.agent import AgentConfig
from memory_core.embeddings.credentials import Endpoint, resolve_endpoint
from memory_core.embeddings.models import PROVIDERS
from memory_core.embeddings.plan import Plan, make_plan
from memory_core.embeddings.remote.batches import BatchSwitch, open_batches
from memory_core.embeddings.remote.provider import RequestProvider
from memory_core.embeddings.remote.retries import Retries
from memory_core.embeddings.remote.transport import Transport
from memory_core.records import ResolveApiKey

if TYPE_CHECKING:
    from memory_core.embeddings.remote.batch_api import BatchApi


def open_provider(
    config: AgentConfig,
    *,
    environ: Mapping[str, str],
    resolve_api_key: ResolveApiKey | None = None,
    retries: Retries | None = None,
    switch: BatchSwitch | None = None,
) -> RequestProvider:
    """Open the provider that `memorySearch.provider` names, one whose route is not "local". Connects to nothing yet.

    Args:
        config: Of the agent.
        environ: Environment variables, which may hold a key.
        resolve_api_key: The host's source of keys.
        retries: Of requests; None is the usual patience.
        switch: Turns batches off after failures; None is the one that holds for the process.

    Raises:
        ProviderUnavailable: No key, no model or no usable URL is configured.
    """
    provider = config.search.provider
    vendor = _read_vendor(config.search.model or "") if provider == "litellm" else ""
    endpoint = resolve_endpoint(config, provider, environ=environ, resolve_api_key=resolve_api_key, vendor=vendor)
    plan = make_plan(config, provider, endpoint=endpoint.fingerprint)
    if provider == "gemini" and _takes_openai(endpoint):
        from memory_core.embeddings.remote.openai_api import OpenAITransport

        plan = plan.without_types()
        return RequestProvider.from_plan(plan, OpenAITransport(endpoint, plan), retries=retries, bulk=None)
    make_batches = _find_batches(provider)
    bulk = open_batches(config, make_batches(endpoint, plan), plan.space, switch) if make_batches else None
    transport = _find_transport(PROVIDERS[provider].route)(endpoint, plan)
    return RequestProvider.from_plan(plan, transport, retries=retries, bulk=bulk)


def _find_transport(route: str) -> Callable[[Endpoint, Plan], Transport]:
    if route == "litellm":
        from memory_core.embeddings.remote.litellm_api import LitellmTransport

        return LitellmTransport
    if route == "gemini":
        from memory_core.embeddings.remote.gemini_api import GeminiTransport

        return GeminiTransport
    from memory_core.embeddings.remote.openai_api import OpenAITransport

    return OpenAITransport


def _find_batches(provider: str) -> Callable[[Endpoint, Plan], BatchApi] | None:
    """Return the batch API of a provider's vendor; None if it has none that is used."""
    if provider == "openai":
        from memory_core.embeddings.remote.openai_batches import OpenAIBatches

        return OpenAIBatches
    if provider == "gemini":
        from memory_core.embeddings.remote.gemini_batches import GeminiBatches

        return GeminiBatches
    return None


def _read_vendor(model: str) -> str:
    from memory_core.embeddings.remote.litellm_api import find_vendor

    return find_vendor(model)


def _takes_openai(endpoint: Endpoint) -> bool:
    """Return True for Google's endpoint of OpenAI's protocol: https://ai.google.dev/gemini-api/docs/openai."""
    return (endpoint.base_url or "").endswith("/openai")
