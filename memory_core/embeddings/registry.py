"""From the configuration to a provider: which one "auto" means, and who opens it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from memory_core.errors import ProviderUnavailable
from memory_core.hookspecs import EmbeddingProvider, Space
from memory_core.settings import AgentConfig

Open = Callable[[AgentConfig], EmbeddingProvider]


def _open_static(config: AgentConfig) -> EmbeddingProvider:
    from memory_core.embeddings.static import StaticProvider

    if config.search.model not in (None, "l2_supercat_256"):
        raise ProviderUnavailable(
            "static", f"it has one model, not {config.search.model!r}", action="leave memorySearch.model out"
        )
    return StaticProvider()


OPENERS: Mapping[str, Open] = {"static": _open_static}


@dataclass(frozen=True, slots=True)
class Choice:
    """Which provider serves an agent.

    Attributes:
        provider: Its id, never "auto"; "none" is keyword search alone.
        reason: Why, for the status.
    """

    provider: str
    reason: str


def choose(config: AgentConfig) -> Choice:
    """What the configuration asks for; "auto" is resolved without opening anything."""
    if config.search.provider != "auto":
        return Choice(config.search.provider, "memorySearch.provider")
    return Choice("static", "auto: no local model and no key is configured")


def open_provider(config: AgentConfig) -> EmbeddingProvider | None:
    """The provider that serves an agent; None for "none". Loads no model yet.

    Raises:
        ProviderUnavailable: It cannot be opened; says why and what to do.
    """
    choice = choose(config)
    if choice.provider == "none":
        return None
    opener = OPENERS.get(choice.provider)
    if opener is None:
        raise ProviderUnavailable(
            choice.provider,
            "this version cannot open it yet",
            action='choose "static" or "none": memorySearch.provider',
        )
    return opener(config)


def open_space(space: Space) -> EmbeddingProvider | None:
    """A provider that embeds into a space that an index holds, where that needs no configuration; else None."""
    if space.provider == "static":
        from memory_core.embeddings.static import StaticProvider

        provider = StaticProvider()
        return provider if provider.space == space else None
    return None
