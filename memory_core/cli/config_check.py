"""`memory-core config check`: every error of a configuration at once, or what it resolves to."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from memory_core.cli import output
from memory_core.cli.parser import Options
from memory_core.config.switch import explain_off
from memory_core.errors import BackendError, ConfigError
from memory_core.tools import schemas

if TYPE_CHECKING:
    from memory_core.config.agent import AgentConfig
    from memory_core.config.description import Row

log = logging.getLogger(__name__)


def run(options: Options) -> int:
    """Explain a configuration, or list every error in it; return the exit code."""
    from memory_core.backends.loader import check_sections, find_plugin
    from memory_core.config import describe, load_config

    try:
        config = load_config(options.file or options.config, workspace=options.workspace, state_dir=options.state_dir)
        check_sections(config.agent(options.agent), origin=config.origin)
    except ConfigError as error:
        if options.json:
            output.print_json({"origin": error.origin, "problems": [str(problem) for problem in error.problems]})
        for problem in error.problems:
            output.complain(f"{error.origin}: {problem}")
        return 2
    agent = config.agent(options.agent)
    rows, warnings = _add_tools(describe(config, options.agent), agent), list(agent.warnings)
    try:
        find_plugin(agent.memory.backend)
    except BackendError as error:
        log.debug("backend %r cannot be loaded", agent.memory.backend, exc_info=True)
        warnings.append(f"{error}; builtin answers instead")
    if off := explain_off(agent):
        warnings.append(f"{off}; {off.action}")
    if options.json:
        output.print_json({"settings": [row._asdict() for row in rows], "warnings": warnings})
    else:
        output.print_settings(rows)
        for warning in warnings:
            output.complain(warning)
    return 0


def _add_tools(rows: list[Row], agent: AgentConfig) -> list[Row]:
    """Add the names of the tools behind the dialect, which may change them."""
    from memory_core.config.description import Row

    if not agent.enabled:
        return rows
    names = [schema["name"] for schema in schemas.list_tools(agent, "rw")]
    ours = names == [schema["name"] for schema in schemas.ALL]
    place = next(index for index, row in enumerate(rows) if row.key == "dialect") + 1
    return [*rows[:place], Row("tools", names, "default" if ours else "dialect"), *rows[place:]]
