"""Open the memory that the options of a command name, check their times, and say what to do where there are no notes."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from memory_core.cli import output
from memory_core.cli.parser import Options
from memory_core.config.resolution import find_current_folder, make_absolute
from memory_core.errors import ConfigError, ConfigProblem

if TYPE_CHECKING:
    from memory_core.config.load import ConfigSource
    from memory_core.plugin.memory import Memory

MOST_ENTRIES = 20_000  # that are looked at to count Markdown files: a home folder may hold millions
NAMED_BY = ("MEMORY_CORE_CONFIG", "MEMORY_CORE_WORKSPACE")


def open_source(options: Options) -> ConfigSource:
    """Return the configuration that the options name."""
    from memory_core.config.load import ConfigSource

    workspace, overrides = options.workspace, {}
    if options.sources:
        overrides["memorySearch.sources"] = [name.strip() for name in options.sources.split(",")]
        if "workspace" in overrides["memorySearch.sources"] and not _is_named(options):
            # "These files here": without notes of its own, no folder is taken for a workspace.
            workspace = make_absolute(".", find_current_folder(), os.environ)
    return ConfigSource(options.config, workspace=workspace, state_dir=options.state_dir, overrides=overrides)


def open_memory(options: Options) -> Memory:
    """Open the memory that the options name; a command resolves its configuration once."""
    from memory_core.config.load import FixedConfig
    from memory_core.plugin.memory import Memory

    memory = Memory(FixedConfig(open_source(options).current()), agent=options.agent)
    memory.check()
    return memory


def open_notes(options: Options) -> Memory:
    """Open the memory of an existing workspace; to a backend, a missing one would only be empty.

    Raises:
        ConfigError: There is no such workspace.
    """
    memory = open_memory(options)
    workspace = memory.config().workspace
    if not workspace.is_dir():
        problem = "this is a file, and a workspace is a folder" if workspace.exists() else "there is no such workspace"
        action = "make that folder, or name another with --workspace"
        if not _is_named(options):
            problem += ", and the current folder holds no MEMORY.md and no memory/"
            folder = find_current_folder()
            here = count_markdown(folder) if folder else 0
            other = f"{_describe(here)} here: --sources workspace" if here else action
            action = f"{other}; or take over what other programs keep: memory-core adopt"
        raise ConfigError([ConfigProblem("", problem)], origin=str(workspace), action=action)
    return memory


def check_as_of(options: Options) -> None:
    """Refuse what is no time by the name of the option; the tools call it asOf."""
    if options.as_of is not None:
        from memory_core.history.moments import parse_instant

        parse_instant(options.as_of, "--as-of")


def explain_empty(memory: Memory) -> None:
    """Say where a note goes in a workspace without any, and how many other Markdown files it holds."""
    from memory_core.sources.files import list_files

    config = memory.config()
    found = 0 if "workspace" in config.search.sources else count_markdown(config.workspace)
    if found:
        output.complain(f"0 notes; {_describe(found)} here: --sources workspace")
    elif not list_files(config).files:
        output.complain(
            f"0 notes in {config.workspace}",
            "Write MEMORY.md or memory/YYYY-MM-DD.md there, or run: memory-core add TEXT",
        )


def count_markdown(folder: Path) -> int:
    """Return the number of Markdown files in a folder, hidden ones and those of packages left out."""
    from memory_core.sources.roots import PACKAGE_TREES, SUFFIX

    found = seen = 0
    for _, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".") and name not in PACKAGE_TREES]
        found += sum(1 for name in files if name.endswith(SUFFIX) and not name.startswith("."))
        seen += len(folders) + len(files)
        if seen > MOST_ENTRIES:
            break
    return found


def _describe(number: int) -> str:
    return f"{number} other .md {'file' if number == 1 else 'files'}"


def _is_named(options: Options) -> bool:
    return bool(options.workspace or options.config or any(os.environ.get(name) for name in NAMED_BY))
