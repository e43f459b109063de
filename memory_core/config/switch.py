"""Reasons why memory is off for an agent, in the words of its configuration. Pure."""

from __future__ import annotations

from memory_core.config.agent import AgentConfig
from memory_core.config.names import NO_SLOT, SLOT_ID, SWITCH_ON
from memory_core.errors import MemoryOff


def explain_off(config: AgentConfig) -> MemoryOff | None:
    """Return why memory is off for an agent, and how it is switched on; None when it is on."""
    if config.enabled:
        return None
    if config.slot == NO_SLOT:
        return MemoryOff(f'plugins.slots.memory is "{NO_SLOT}"', action=SWITCH_ON)
    if config.slot != SLOT_ID:
        return MemoryOff(f"plugins.slots.memory names another plugin, {config.slot!r}", action=SWITCH_ON)
    if config.dialect == "orbit":
        return MemoryOff("the file has no table [embedding]", action="add [embedding] to the file")
    return MemoryOff("memorySearch.enabled is false", action=SWITCH_ON)


def refuse_off(config: AgentConfig) -> None:
    """Raise unless memory is on for an agent.

    Raises:
        MemoryOff: It is off.
    """
    reason = explain_off(config)
    if reason is not None:
        raise reason
