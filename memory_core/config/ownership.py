"""Settings that belong to the provider beside which they were set: another provider takes its own defaults. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from memory_core.config.located import Node, Path, find

AUTO = "auto"
MODEL: Path = ("model",)
# What one provider understands, and what opens its endpoint only.
OWNED: tuple[Path, ...] = (
    MODEL,
    ("outputDimensionality",),
    ("inputType",),
    ("queryInputType",),
    ("documentInputType",),
    ("remote", "baseUrl"),
    ("remote", "apiKey"),
    ("remote", "headers"),
)
# Providers that have no model of their own: one that was set beside no provider is meant for them.
WITHOUT_MODEL = frozenset({"openai-compatible", "litellm"})


def leave_out_foreign(sections: Sequence[Node]) -> tuple[list[Node], list[str]]:
    """Leave out of `memorySearch` what was set for another provider than the one that is named last.

    Args:
        sections: The section as each layer gives it, the last one wins.

    Returns:
        The sections without those settings, and a warning about each of them that no later layer sets.
    """
    serving = list(_list_providers(sections))
    final, names_it = serving[-1] if serving else (AUTO, "")
    kept: list[Node] = []
    foreign: list[tuple[Path, Node]] = []
    for section, (provider, _) in zip(sections, serving, strict=True):
        for path in _list_foreign(provider, final):
            node, rest = find(section, path)
            if not rest and not _is_for_any(node, section):
                foreign.append((path, node))
                section = _remove(section, path)  # noqa: PLW2901 - the section as it is kept
        kept.append(section)
    warnings = [
        f"{node.key} is left out: it belongs to another provider than the one that {names_it} names"
        for path, node in foreign
        if all(find(section, path)[1] for section in kept)
    ]
    return kept, warnings


def _list_providers(sections: Sequence[Node]) -> Iterator[tuple[str, str]]:
    """Yield for each section the provider that serves once it is laid over those before, and the key that names it."""
    provider, key = AUTO, ""
    for section in sections:
        node, rest = find(section, ("provider",))
        if not rest and isinstance(node.content, str):
            provider, key = node.content, node.key
        yield provider, key


def _list_foreign(provider: str, final: str) -> tuple[Path, ...]:
    if provider == final:
        return ()
    if provider == AUTO:  # whatever provider that would have been; an endpoint is meant for whoever comes
        return () if final in WITHOUT_MODEL else (MODEL,)
    return OWNED


def _is_for_any(node: Node, section: Node) -> bool:
    """Return True for what a variable or a flag sets alone: it is meant for whoever serves in this run."""
    return node.origin in ("environment", "flag") and bool(find(section, ("provider",))[1])


def _remove(node: Node, path: Path) -> Node:
    head, rest = str(path[0]), path[1:]
    assert isinstance(node.content, dict)
    children = dict(node.content)
    if rest:
        children[head] = _remove(children[head], rest)
    else:
        del children[head]
    return replace(node, content=children)
