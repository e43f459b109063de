"""`memory-core config check`: every error of a configuration at once, or what it resolves to."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator

from memory_core.backends.loader import find_plugin, find_section_problems
from memory_core.cli import output
from memory_core.cli.parser import Options
from memory_core.config.agent import AgentConfig
from memory_core.config.description import Row, describe, explain_other_spellings
from memory_core.config.dialects import list_unread
from memory_core.config.load import Reading, read_config
from memory_core.config.source import find_slot_problem
from memory_core.config.switch import explain_off
from memory_core.errors import BackendError, ConfigError
from memory_core.sources.workspace import MAKE_IT, find_workspace_problem
from memory_core.tools import schemas

log = logging.getLogger(__name__)


def run(options: Options) -> int:
    """Explain a configuration, or list every error in it; return the exit code."""
    try:
        reading = read_config(options.file or options.config, workspace=options.workspace, state_dir=options.state_dir)
        warnings = _check(reading, options.agent)
    except ConfigError as error:
        return _print_problems(error, options)
    config = reading.config
    unused = {warning.partition(":")[0] for warning in warnings}
    rows = [row for row in describe(config, options.agent) if not _is_below(row.key, unused)]
    rows = _add_tools(rows, config.agent(options.agent))
    warnings = [*warnings, *explain_other_spellings(config, options.agent)]
    if unread := list_unread(reading.document, config.dialect):
        rows.insert(1, Row("not read", unread, "file"))
    if options.json:
        output.print_json({"settings": [row._asdict() for row in rows], "warnings": warnings})
    else:
        output.print_settings(rows)
        for warning in warnings:
            output.complain(warning)
    return 0


def _is_below(key: str, unused: Collection[str]) -> bool:
    return any(key == each or key.startswith(f"{each}.") for each in unused)


def _print_problems(error: ConfigError, options: Options) -> int:
    if options.json:
        output.print_json({"origin": error.origin, "problems": [str(problem) for problem in error.problems]})
    for problem in error.problems:
        output.complain(f"{error.origin}: {problem}")
    return 2


def _check(reading: Reading, agent_id: str) -> list[str]:
    """Return what is doubtful about a configuration that every command takes.

    Raises:
        ConfigError: With everything that any command would refuse.
    """
    config = reading.config
    agent = config.agent(agent_id)
    problems, ignored = find_section_problems(agent)
    if slot := find_slot_problem(config.slot):
        problems.append(slot)
    reading.refuse(problems)
    left_out = [warning for each in (agent_id, *config.agents) for warning in config.agent(each).warnings]
    return list(dict.fromkeys([*left_out, *ignored, *_find_doubts(agent)]))


def _find_doubts(agent: AgentConfig) -> Iterator[str]:
    try:
        find_plugin(agent.memory.backend)
    except BackendError as error:
        log.debug("backend %r cannot be loaded", agent.memory.backend, exc_info=True)
        yield f"{error}; builtin answers instead"
    if off := explain_off(agent):
        yield f"{off}; {off.action}"
    if problem := find_workspace_problem(agent.workspace):
        yield f"{problem}; {MAKE_IT}"


def _add_tools(rows: list[Row], agent: AgentConfig) -> list[Row]:
    """Add the names of the tools behind the dialect, which may change them."""
    if not agent.enabled:
        return rows
    names = [schema["name"] for schema in schemas.list_tools(agent, "rw")]
    place = next(index for index, row in enumerate(rows) if row.key == "dialect") + 1
    return [*rows[:place], Row("tools", names, "dialect" if agent.dialect == "orbit" else "default"), *rows[place:]]
