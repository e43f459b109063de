"""The commands that check a configuration, with every error at once, and that set up a shell."""

from __future__ import annotations

import logging
import os
from collections.abc import Collection, Iterator, Mapping, Sequence

import click
from click.shell_completion import get_completion_class

from memory_core.backends.loader import find_plugin, find_section_problems
from memory_core.cli import output
from memory_core.cli.app import APP, COMPLETION_VARIABLE, PROGRAM, Group, Options, argument, command
from memory_core.config.agent import AgentConfig, explain_off
from memory_core.config.description import Row, describe, explain_other_spellings
from memory_core.config.dialects import list_unread
from memory_core.config.environment import expand_home
from memory_core.config.load import Config, find_slot_problem, load_config
from memory_core.embeddings.credentials import resolve_endpoint
from memory_core.embeddings.local.model import find_model_file
from memory_core.errors import BackendError, ConfigError, ProviderUnavailable
from memory_core.sources.roots import MAKE_IT, find_workspace_problem
from memory_core.tools import schemas

log = logging.getLogger(__name__)


config = Group("config", help="Explain a configuration file, or list every error in it.")


@config.command("check")
@argument(
    "file", required=False, type=click.Path(readable=False), help="the file, instead of the one that --config names"
)
def check(options: Options, *, file: str | None) -> int:
    """Explain a configuration file, or list every error in it."""
    try:
        settings = load_config(
            file or options.config, workspace=options.workspace, state_dir=options.state_dir, refuses=False
        )
    except ConfigError as error:
        return _print_problems(error, options)
    try:
        warnings = _check(settings, options.agent)
    except ConfigError as error:
        return _print_problems(error, options, [*_find_backend_doubts(_read_backend(settings))])
    unused = {warning.partition(":")[0] for warning in warnings}
    rows = [row for row in describe(settings, options.agent) if not _is_below(row.key, unused)]
    rows = _add_tools(rows, settings.agent(options.agent))
    warnings = [*warnings, *explain_other_spellings(settings, options.agent)]
    if settings.included:
        rows.insert(1, Row("included by $include", [str(path) for path in settings.included], "file"))
    if unread := list_unread(settings.document, settings.dialect):
        rows.insert(1, Row("not read", unread, "file"))
    if options.json:
        output.print_json({"settings": [row._asdict() for row in rows], "warnings": warnings})
    else:
        _print_settings(rows)
        for warning in warnings:
            output.complain(warning)
    return 0


def _print_settings(rows: Sequence[Row]) -> None:
    """Print a resolved configuration: document and places, then the settings that are not the default."""
    changed = [row for row in rows if row.origin != "default" or "." not in row.key]
    output.print_pairs({row.key: _format_setting(row) for row in changed})
    print(f"\n{len(rows) - len(changed)} other settings keep their defaults; --json lists them.")


def _format_setting(row: Row) -> str:
    spelling = f": {row.spelling}" if row.spelling else ""
    return f"{output.format_value(row.value)}  ({row.origin}{spelling})"


def _is_below(key: str, unused: Collection[str]) -> bool:
    return any(key == each or key.startswith(f"{each}.") for each in unused)


def _print_problems(error: ConfigError, options: Options, warnings: Sequence[str] = ()) -> int:
    if options.json:
        problems = [str(problem) for problem in error.problems]
        told = {"error": str(error), "action": error.action}
        output.print_json({**told, "origin": error.origin, "problems": problems, "warnings": warnings})
    for problem in error.problems:
        output.complain(f"{error.origin}: {problem}")
    for warning in warnings:
        output.complain(warning)
    return 2


def _check(settings: Config, agent_id: str) -> list[str]:
    """Return what is doubtful about a configuration that every command takes.

    Raises:
        ConfigError: With everything that any command would refuse.
    """
    agent = settings.agent(agent_id)
    problems, ignored = find_section_problems(agent)
    if slot := find_slot_problem(settings.slot):
        problems.append(slot)
    settings.refuse(problems)
    left_out = [warning for each in (agent_id, *settings.agents) for warning in settings.agent(each).warnings]
    return list(dict.fromkeys([*left_out, *ignored, *_find_doubts(agent)]))


def _find_doubts(agent: AgentConfig) -> Iterator[str]:
    yield from _find_backend_doubts(agent.memory.backend)
    if off := explain_off(agent):
        yield f"{off}; {off.action}"
    if problem := find_workspace_problem(agent.workspace):
        yield f"{problem}; {MAKE_IT}"
    for extra in agent.search.extra_paths:
        path = agent.workspace / expand_home(extra.path)
        if not os.path.lexists(path):
            yield f"memorySearch.extraPaths: {path} does not exist"
    yield from _find_provider_doubts(agent)


def _find_provider_doubts(agent: AgentConfig) -> Iterator[str]:
    """Yield what is wrong with the endpoint or the model file of the providers, whose keys may come from elsewhere."""
    for provider in dict.fromkeys((agent.search.provider, agent.search.fallback)):
        try:
            if provider == "local":
                find_model_file(agent)
            elif provider == "openai-compatible":
                resolve_endpoint(agent, provider, environ=os.environ, resolve_api_key=None)
        except ProviderUnavailable as error:
            yield f"{error}. {error.action}"


def _read_backend(settings: Config) -> str:
    """Return the chosen backend, also of a configuration whose other settings are wrong."""
    memory = settings.document.get("memory")
    named = memory.get("backend") if isinstance(memory, Mapping) else None
    return named if isinstance(named, str) else settings.agent().memory.backend


def _find_backend_doubts(backend: str) -> Iterator[str]:
    try:
        find_plugin(backend)
    except BackendError as error:
        log.debug("backend %r cannot be loaded", backend, exc_info=True)
        yield f"{error}; builtin answers instead"


def _add_tools(rows: list[Row], agent: AgentConfig) -> list[Row]:
    """Add the names of the tools behind the dialect, which may change them."""
    if not agent.enabled:
        return rows
    names = [schema["name"] for schema in schemas.list_tools(agent, "rw")]
    place = next(index for index, row in enumerate(rows) if row.key == "dialect") + 1
    return [*rows[:place], Row("tools", names, "dialect" if agent.dialect == "orbit" else "default"), *rows[place:]]


@command("completion")
@argument("shell", type=click.Choice(["bash", "zsh", "fish"]), metavar="SHELL", help="bash, zsh or fish")
def completion(options: Options, *, shell: str) -> None:  # noqa: ARG001
    """Print a script that completes commands in a shell."""
    kind = get_completion_class(shell)
    assert kind is not None  # click knows all three
    print(kind(APP, {}, PROGRAM, COMPLETION_VARIABLE).source())
