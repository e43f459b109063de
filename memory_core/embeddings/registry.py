"""Open providers as the configuration says; a provider's module is imported when it is first opened."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Protocol, cast

from memory_core.config.agent import AgentConfig
from memory_core.config.settings import ProviderId, Remote, SearchSettings
from memory_core.embeddings.choice import choose_provider
from memory_core.embeddings.protocols import EmbeddingProvider
from memory_core.errors import ProviderUnavailable
from memory_core.records import KeySources, ResolveApiKey, Space


class Opener(Protocol):
    """Opens the provider that `memorySearch.provider` names; loads no model and sends nothing yet."""

    def __call__(
        self, config: AgentConfig, *, environ: Mapping[str, str], resolve_api_key: ResolveApiKey | None
    ) -> EmbeddingProvider:
        """Open the provider.

        Raises:
            ProviderUnavailable: It cannot be opened; says why and what to do.
        """
        ...


def open_provider(config: AgentConfig, keys: KeySources) -> EmbeddingProvider | None:
    """Open the provider that serves an agent; None for "none". Loads no model and sends nothing yet.

    Raises:
        ProviderUnavailable: It cannot be opened; says why and what to do.
    """
    chosen = choose_provider(config, keys)
    if chosen.provider == "none":
        return None
    return _open(config, replace(config.search, model=chosen.model), chosen.provider, keys.resolve)


def open_fallback(config: AgentConfig, keys: KeySources) -> EmbeddingProvider | None:
    """Open the provider that `memorySearch.fallback` names, with its own default model; None for "none".

    Nothing that is set for the provider which it replaces reaches it: no model, no input type, and above all no key,
    header or URL of `memorySearch.remote`. Its own come from `models.providers`, the host and the environment.

    Raises:
        ProviderUnavailable: It cannot be opened; says why and what to do.
    """
    search = config.search
    if search.fallback == "none":
        return None
    own = replace(
        search,
        model=None,
        output_dimensionality=None,
        input_type=None,
        query_input_type=None,
        document_input_type=None,
        remote=Remote(timeout_seconds=search.remote.timeout_seconds),
    )
    return _open(config, own, search.fallback, keys.resolve)


def _open(
    config: AgentConfig, search: SearchSettings, provider: str, resolve_api_key: ResolveApiKey | None
) -> EmbeddingProvider:
    resolved = replace(config, search=replace(search, provider=cast("ProviderId", provider)))
    return _find_opener(provider)(resolved, environ=os.environ, resolve_api_key=resolve_api_key)


def _find_opener(provider: str) -> Opener:
    """Return the opener of a provider, from the module of its route."""
    if provider == "static":
        return _open_static
    from memory_core.embeddings.models import PROVIDERS

    if PROVIDERS[provider].route == "local":
        from memory_core.embeddings.local.provider import open_provider as open_local

        return open_local
    from memory_core.embeddings.remote.opening import open_provider as open_remote

    return open_remote


def _open_static(
    config: AgentConfig,
    *,
    environ: Mapping[str, str],  # noqa: ARG001 -- every provider is opened alike
    resolve_api_key: ResolveApiKey | None,  # noqa: ARG001
) -> EmbeddingProvider:
    from memory_core.embeddings.static import MODEL, StaticProvider

    if config.search.model not in (None, MODEL):
        raise ProviderUnavailable("static", f"it has no model but {MODEL}", action="leave memorySearch.model out")
    return StaticProvider()


def open_space(space: Space) -> EmbeddingProvider | None:
    """Open a provider that embeds into the space of an index, if that needs no configuration; else return None."""
    if space.provider == "static":
        from memory_core.embeddings.static import StaticProvider

        provider = StaticProvider()
        return provider if provider.space == space else None
    return None
