"""Read the configuration: strict, in several dialects, resolved per agent.

Only `load_config` reads files and the environment; all other rooms are given the `AgentConfig` of one agent.
"""

from memory_core.config.agent import normalize_agent_id
from memory_core.config.description import (
    Row,
    build_config_schema,
    describe,
    render_environment_table,
    render_settings_table,
)
from memory_core.config.environment import ENVIRONMENT
from memory_core.config.fields import parse_size_bytes
from memory_core.config.load import Config, load_config
from memory_core.config.problems import validate_section

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
