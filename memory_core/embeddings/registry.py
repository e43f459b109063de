"""From the configuration to a provider: which one "auto" means, and who opens it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Protocol, cast

from memory_core.errors import ProviderUnavailable
from memory_core.hookspecs import EmbeddingProvider, ResolveApiKey, Space
from memory_core.settings import AgentConfig, ProviderId, Remote, SearchSettings


class Opener(Protocol):
    """Opens the provider that `memorySearch.provider` names; loads no model and sends nothing yet."""

    def __call__(
        self, config: AgentConfig, *, environ: Mapping[str, str], resolve_api_key: ResolveApiKey | None
    ) -> EmbeddingProvider:
        """Raises ProviderUnavailable when it cannot be opened; says why and what to do."""
        ...


@dataclass(frozen=True, slots=True)
class Choice:
    """Which provider serves an agent.

    Attributes:
        provider: Its id, never "auto"; "none" is keyword search alone.
        reason: Why, for the status.
    """

    provider: str
    reason: str


def choose(config: AgentConfig, resolve_api_key: ResolveApiKey | None = None) -> Choice:
    """What the configuration asks for; "auto" is resolved without opening anything: files and keys are looked for."""
    from memory_core.embeddings.credentials import choose_provider

    return Choice(*choose_provider(config, environ=os.environ, resolve_api_key=resolve_api_key))


def open_provider(config: AgentConfig, resolve_api_key: ResolveApiKey | None = None) -> EmbeddingProvider | None:
    """The provider that serves an agent; None for "none". Loads no model and sends nothing yet.

    Raises:
        ProviderUnavailable: It cannot be opened; says why and what to do.
    """
    chosen = choose(config, resolve_api_key).provider
    if chosen == "none":
        return None
    return _opened(config, config.search, chosen, resolve_api_key)


def open_fallback(config: AgentConfig, resolve_api_key: ResolveApiKey | None = None) -> EmbeddingProvider | None:
    """The provider that `memorySearch.fallback` names, with its own default model; None for "none".

    Nothing that is set for the provider in whose place it stands reaches it: no model, no input type, and above all no key,
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
    return _opened(config, own, search.fallback, resolve_api_key)


def _opened(
    config: AgentConfig, search: SearchSettings, provider: str, resolve_api_key: ResolveApiKey | None
) -> EmbeddingProvider:
    resolved = replace(config, search=replace(search, provider=cast("ProviderId", provider)))
    return _opener(provider)(resolved, environ=os.environ, resolve_api_key=resolve_api_key)


def _opener(provider: str) -> Opener:
    """Each module is imported when its provider is first opened."""
    if provider == "static":
        return _open_static
    from memory_core.embeddings.models import PROVIDERS

    if PROVIDERS[provider].route == "openai":
        from memory_core.embeddings.openai_http import open_provider as open_openai

        return open_openai
    if PROVIDERS[provider].route == "local":
        from memory_core.embeddings.local import open_provider as open_local

        return open_local
    from memory_core.embeddings.litellm_provider import open_provider as open_litellm

    return open_litellm


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
    """A provider that embeds into a space that an index holds, where that needs no configuration; else None."""
    if space.provider == "static":
        from memory_core.embeddings.static import StaticProvider

        provider = StaticProvider()
        return provider if provider.space == space else None
    return None
