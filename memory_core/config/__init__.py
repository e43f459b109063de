"""Read the configuration: strict, in several dialects, resolved per agent.

`load_config` alone reads a file and the environment; the rest of memory-core is given the `AgentConfig` of one agent.
pydantic is imported only when there is something to check.
"""

from typing import TYPE_CHECKING, Any

from memory_core.config.environment import ENVIRONMENT
from memory_core.config.load import SHIPPED_BACKENDS, Config, load_config
from memory_core.config.problems import validate_section
from memory_core.config.sections import agent_key
from memory_core.fields import parse_size_bytes

if TYPE_CHECKING:
    from memory_core.config.schema import config_schema
    from memory_core.config.tables import Row, describe, environment_table, settings_table

__all__ = [
    "ENVIRONMENT",
    "SHIPPED_BACKENDS",
    "Config",
    "Row",
    "agent_key",
    "config_schema",
    "describe",
    "environment_table",
    "load_config",
    "parse_size_bytes",
    "settings_table",
    "validate_section",
]


def __getattr__(name: str) -> Any:
    """What only `config check`, the manifest and the documentation need, resolved when first used."""
    from importlib import import_module

    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    room = "schema" if name == "config_schema" else "tables"
    return getattr(import_module(f"memory_core.config.{room}"), name)
