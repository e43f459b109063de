"""The choice of a provider: the configured one, or for "auto" the first that can work."""

from __future__ import annotations

from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

from memory_core.__about__ import explain_install
from memory_core.config.agent import AgentConfig
from memory_core.config.home import expand_home
from memory_core.embeddings.error_mapping import mark_permanent
from memory_core.errors import ProviderUnavailable
from memory_core.lazy_dataclasses import dataclass
from memory_core.records import KeySources

# Order of "auto", after a local model file.
AUTOMATIC = ("openai", "gemini", "voyage", "mistral")


@dataclass(frozen=True, slots=True)
class Choice:
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
        return replace(found, model=model)
    return replace(found, reason=f"{found.reason}; memorySearch.model is another provider's, so it takes its default")


def _choose_automatically(config: AgentConfig, keys: KeySources) -> Choice:
    if (path := resolve_model_path(config)) and path.is_file():
        return Choice("local", "memorySearch.local.modelPath is a file")
    from memory_core.embeddings.credentials import find_key

    for provider in AUTOMATIC:
        found = find_key(config, provider, environ=keys.auto_environ, resolve_api_key=keys.resolve)
        if found:
            return Choice(provider, f"a key was found in {found.origin}")
    where = "" if keys.auto_environ else " in the configuration or offered by the host"
    return Choice("static", f"no key{where} and no local model file were found")


def find_model_file(config: AgentConfig) -> Path | None:
    """Return the file that `local.modelPath` names; None for an hf: URI and when not set.

    Raises:
        ProviderUnavailable: It is neither a file nor an hf: URI.
    """
    path = resolve_model_path(config)
    if path is None or path.is_file():
        return path
    message = f"memorySearch.local.modelPath is no file: {config.search.local.model_path}"
    raise mark_permanent(ProviderUnavailable("local", message, action="Name a GGUF file, or hf:owner/repo/file.gguf."))


def resolve_model_path(config: AgentConfig) -> Path | None:
    """Return `local.modelPath` as an absolute path, relative ones to the workspace; None for an hf: URI and when not set."""
    configured = config.search.local.model_path
    if not configured or configured.startswith("hf:"):
        return None
    return config.workspace / expand_home(configured)
