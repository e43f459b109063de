"""The parts of README.md that are made from the code: `make docs` writes them, `make lint` compares them."""

from __future__ import annotations

import inspect
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from typing import Any

import memory_core
from memory_core import arguments, commands, errors
from memory_core.config import environment_table, settings_table
from memory_core.hookspecs import MemoryBackend
from tests.command import REPOSITORY

WIDTH = "100"  # of the help; whatever the terminal of the reader's build is


def example(command: str) -> str:
    """A command of the shell and what it prints."""
    return f"```console\n$ {command}\n{_output(command)}```\n"


def commands_help() -> str:
    """The help of the whole, then the usage and own arguments of every command."""
    parts = [f"```console\n$ memory-core --help\n{_output('memory-core --help')}```\n"]
    parts += [_command_section(command) for command in commands.COMMANDS]
    return "\n".join(parts)


def tools() -> str:
    """Every tool that the model of a main session is offered, with its arguments."""
    with memory_core.open_memory() as memory:
        schemas = memory.tool_schemas()
    rows = [f"| `{schema['name']}` | {_arguments(schema)} | {_purpose(schema)} |" for schema in schemas]
    return "\n".join(["| tool | arguments | purpose |", "| --- | --- | --- |", *rows, ""])


def _arguments(schema: Mapping[str, Any]) -> str:
    required = schema["parameters"]["required"]
    return ", ".join(f"`{name}{'' if name in required else '?'}`" for name in schema["parameters"]["properties"])


def _purpose(schema: Mapping[str, Any]) -> str:
    """The description's first sentence."""
    return re.split(r"(?<=\.)\s+(?=[A-Z])", schema["description"], maxsplit=1)[0]


def settings() -> str:
    """Every key of the configuration, then every environment variable."""
    return f"{settings_table()}\n{environment_table()}"


def error_tree() -> str:
    """The tree of errors as their module draws it."""
    _, _, tree = inspect.getdoc(errors).partition("\n\n")  # type: ignore[union-attr]  # the module has a docstring
    return f"```text\n{tree}\n```\n"


def operations() -> str:
    """Every operation of the hookspec with the first sentence of its docstring."""
    rows = [
        f"| `{name}({', '.join(list(inspect.signature(operation).parameters)[1:])})` | {_first(operation)} |"
        for name, operation in vars(MemoryBackend).items()
        if name.startswith("memory_")
    ]
    return "\n".join(["| operation | meaning |", "| --- | --- |", *rows, ""])


def _first(operation: object) -> str:
    return (inspect.getdoc(operation) or "").splitlines()[0]


def _command_section(command: arguments.Command) -> str:
    names = " or ".join(f"`{name}`" for name in (command.name, *command.aliases))
    rows = [f"- `{_spelling(each)}`: {each.details['help']}" for each in command.arguments]
    return "\n".join([f"**{names}**: {command.help}", "", *rows, ""] if rows else [f"**{names}**: {command.help}", ""])


def _spelling(each: arguments.Argument) -> str:
    return " ".join(filter(None, [each.names[0] if each.names[0].startswith("-") else "", each.details.get("metavar")]))


def _output(command: str) -> str:
    """What a command prints, with the interpreter at work in place of an installed `memory-core`."""
    program = f"{shlex.quote(sys.executable)} -m memory_core"
    with tempfile.TemporaryDirectory() as state_dir:
        environment = {"MEMORY_CORE_PROVIDER": "static", "MEMORY_CORE_STATE_DIR": state_dir, "COLUMNS": WIDTH}
        return subprocess.run(
            ["bash", "-o", "pipefail", "-c", command.replace("memory-core", program, 1)],
            check=True,
            cwd=REPOSITORY,
            encoding="utf-8",
            env={**os.environ, **environment},
            stdout=subprocess.PIPE,
        ).stdout
