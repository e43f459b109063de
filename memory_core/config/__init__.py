"""Read the configuration: strict, in several dialects, resolved per agent.

Only `load_config` reads files and the environment; all other rooms are given the `AgentConfig` of one agent. Names are
imported when they are first used, so that a module that needs one setting does not load the reader.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from memory_core.config.description import Row, describe, render_environment_table, render_settings_table
    from memory_core.config.environment import ENVIRONMENT
    from memory_core.config.fields import parse_size_bytes
    from memory_core.config.load import Config, load_config
    from memory_core.config.normal_form import normalize_agent_id
    from memory_core.config.problems import validate_section
    from memory_core.config.schema import build_config_schema

_MODULES = {
    "ENVIRONMENT": "environment",
    "Config": "load",
    "Row": "description",
    "normalize_agent_id": "normal_form",
    "build_config_schema": "schema",
    "describe": "description",
    "render_environment_table": "description",
    "load_config": "load",
    "parse_size_bytes": "fields",
    "render_settings_table": "description",
    "validate_section": "problems",
}

__all__ = [
    "ENVIRONMENT",
    "Config",
    "Row",
    "build_config_schema",
    "describe",
    "load_config",
    "normalize_agent_id",
    "parse_size_bytes",
    "render_environment_table",
    "render_settings_table",
    "validate_section",
]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used."""
    from importlib import import_module

    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
