"""Names that several rooms must agree on: the slot, its default agent, and the backends that ship with memory-core."""

from __future__ import annotations

from collections.abc import Mapping

SLOT_ID = "memory-core"  # in `plugins.slots.memory`, in plugin.json and among the entry points of SLOTS_GROUP
SLOTS_GROUP = "memory_core.slots"
NO_SLOT = "none"

DEFAULT_AGENT = "main"

BUILTIN = "builtin"
# Entry points by name, so that these are found without a scan of all installed packages (50 ms). A test compares them with
# pyproject.toml.
SHIPPED_BACKENDS: Mapping[str, str] = {
    BUILTIN: "memory_core.backends.builtin:PLUGIN",
    "qmd": "memory_qmd.plugin:PLUGIN",
    "postgres": "memory_core.backends.postgres_plugin:PLUGIN",
}
