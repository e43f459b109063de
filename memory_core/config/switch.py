"""Reasons why memory is off for an agent, in the words of its configuration. Pure."""

from __future__ import annotations

from memory_core.config.agent import AgentConfig
from memory_core.config.names import NO_SLOT, SLOT_ID
from memory_core.errors import MemoryOff


def explain_off(config: AgentConfig) -> MemoryOff | None:
    """Return why memory is off for an agent, and how it is switched on; None when it is on."""
    if config.enabled:
        return None
    if config.slot == SLOT_ID:
        if config.dialect == "orbit":
            return MemoryOff("the file has no table [embedding]", action="add [embedding] to the file")
        return MemoryOff("memorySearch.enabled is false", action="set memorySearch.enabled to true")
    action = f'set plugins.slots.memory to "{SLOT_ID}"'
    if not config.search.enabled:
        action += " and add [embedding]" if config.dialect == "orbit" else " and memorySearch.enabled to true"
    if config.slot == NO_SLOT:
        return MemoryOff(f'plugins.slots.memory is "{NO_SLOT}"', action=action)
    return MemoryOff(f"plugins.slots.memory names another plugin, {config.slot!r}", action=action)


def refuse_off(config: AgentConfig) -> None:
    """Raise unless memory is on for an agent.

    Raises:
        MemoryOff: It is off.
    """
    reason = explain_off(config)
    if reason is not None:
        raise reason
