"""The plugin that a host loads: the slot, one agent's memory, the manifest."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from memory_core.plugin.memory import Memory, open_memory
    from memory_core.plugin.slot import MemorySlot

__all__ = ["Memory", "MemorySlot", "open_memory"]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used."""
    from importlib import import_module

    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = "slot" if name == "MemorySlot" else "memory"
    return getattr(import_module(f"{__name__}.{module}"), name)
