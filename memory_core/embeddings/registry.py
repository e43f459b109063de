"""Choose the provider that the configuration means, and open it. Its module is imported when it is first opened."""

from __future__ import annotations

import os
from dataclasses import replace
from importlib.util import find_spec
from typing import NamedTuple, cast

from memory_core.__about__ import explain_install
from memory_core.config.agent import AgentConfig
from memory_core.config.settings import ProviderId, Remote
from memory_core.embeddings.protocols import EmbeddingProvider
from memory_core.errors import ProviderUnavailable
from memory_core.records import KeySources

# Order of "auto", after a local model.
AUTOMATIC = ("openai", "gemini", "voyage", "mistral")


class Choice(NamedTuple):
    """The provider that serves an agent.

    Attributes:
        provider: Its id, never "auto"; "none" is keyword search alone.
        reason: Why, one clause for the status.
        model: The configured model; None if none is, or if the one that is cannot be meant for this provider.
        missing: The reason why not the configured provider serves, and the command that mends it; "" if it does.
    """

    provider: str
    reason: str
    model: str | None = None
    missing: str = ""


def choose_provider(config: AgentConfig, keys: KeySources) -> Choice:
    """Resolve `memorySearch.provider`. Opens nothing: for "auto" a model file is looked for, and keys are looked up."""
    model = config.search.model
    if config.search.provider == "litellm" and find_spec("litellm") is None:
        reason = "the static model answers, because litellm is not installed"
        return Choice("static", reason, missing=f"{reason}. {explain_install('litellm')}")
    if config.search.provider != "auto":
        return Choice(config.search.provider, "memorySearch.provider names it", model)
    found = _choose_automatically(config, keys)
    if model is None:
        return found
    from memory_core.embeddings.models import may_serve

    if may_serve(found.provider, model):
        return found._replace(model=model)
    return found._replace(reason=f"{found.reason}; memorySearch.model is another provider's, so it takes its default")


def _choose_automatically(config: AgentConfig, keys: KeySources) -> Choice:
    from memory_core.embeddings.credentials import KeyPlaces, find_key
    from memory_core.embeddings.local.model import find_weights, resolve_model_path

    if (path := resolve_model_path(config)) and find_weights(path).is_file():
        return Choice("local", "memorySearch.local.modelPath names a model")
    for provider in AUTOMATIC:
        found = find_key(config, provider, KeyPlaces(keys.auto_environ, keys.resolve))
        if found:
            return Choice(provider, f"a key was found in {found[1]}")
    where = "" if keys.auto_environ else " in the configuration or offered by the host"
    return Choice(
        "static", f"the one that is built in: it needs no key, and none{where} was found, nor a local model file"
    )


def open_provider(config: AgentConfig, keys: KeySources) -> EmbeddingProvider | None:
    """Open the provider that serves an agent; None for "none". Loads no model and sends nothing yet.

    Raises:
        ProviderUnavailable: It cannot be opened; says why and what to do.
    """
    chosen = choose_provider(config, keys)
    if chosen.provider == "none":
        return None
    return _open(replace(config, search=replace(config.search, model=chosen.model)), chosen.provider, keys)


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
    return _open(replace(config, search=own), search.fallback, keys)


def _open(config: AgentConfig, provider: str, keys: KeySources) -> EmbeddingProvider:
    """Open a provider by its id, through the module of its route."""
    config = replace(config, search=replace(config.search, provider=cast("ProviderId", provider)))
    if provider == "static":
        from memory_core.embeddings.static import MODEL, StaticProvider

        if config.search.model not in (None, MODEL):
            raise ProviderUnavailable("static", f"it has no model but {MODEL}", action="leave memorySearch.model out")
        return StaticProvider()
    if provider == "local":
        from memory_core.embeddings.local.provider import open_provider as open_local

        return open_local(config, environ=os.environ)
    from memory_core.embeddings.credentials import KeyPlaces
    from memory_core.embeddings.remote.provider import open_remote

    return open_remote(config, KeyPlaces(os.environ, keys.resolve))
