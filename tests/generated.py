"""Parts of README.md and docs/ that are made from the code: `make docs` writes them, `make lint` compares them.

Each public function returns Markdown. A page calls it in a cog block, `cog.out(generated.settings())`.
"""

from __future__ import annotations

import dataclasses
import inspect
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import click

import memory_core
from memory_core import errors
from memory_core.as_json import to_camel
from memory_core.cli import app
from memory_core.config.description import COMMON, list_settings
from memory_core.config.environment import ENVIRONMENT
from memory_core.hookspecs import (
    BackendContext,
    BackendPlugin,
    HostHooks,
    MemoryBackend,
    MemorySaver,
    RelationTeller,
    SearchExplainer,
    SessionFollower,
)
from memory_core.hosts.mcp.http import TOKEN_VARIABLE
from memory_core.records import CallContext
from memory_core.sources.journal import PAUSE
from memory_core.stores.postgres import DSN_VARIABLE, PostgresConfig
from memory_core.tools.arguments import TOOLS
from memory_qmd.config import QmdConfig
from tests import chart
from tests import postgres_chart as postgres_drawing
from tests import terminal as drawn_terminal
from tests.benchmarks.postgres import tables as postgres_tables
from tests.command import REPOSITORY

WIDTH = "100"  # columns of the help, whatever the terminal of the person who runs `make docs`


def example(command: str) -> str:
    """Return a shell command with its output."""
    return f"```console\n$ {command}\n{_output(command)}```\n"


def commands_help() -> str:
    """Return the help of the program, then what each command does, its arguments and its options."""
    parts = [f"```console\n$ memory-core --help\n{_output('memory-core --help')}```\n"]
    parts += [_command_section(name, command) for name, command in list_commands()]
    return "\n".join(parts)


def speed_table() -> str:
    """Return a table of the times that `make bench` kept last."""
    return chart.make_table()


def peers_table() -> str:
    """The table in docs/search.md of what stands beside other programs, as `make bench-peers OPTIONS=--keep` kept it last."""
    rows = json.loads((REPOSITORY / "tests" / "benchmarks" / "peers.json").read_text(encoding="utf-8"))
    lines = [
        f"| {row['peer']} | {row['name']} | {row['ours']:.3g} | {row['theirs']:.3g} | {row['ratio']:.3g} |"
        for row in rows
    ]
    return (
        "\n".join(["| beside | | memory-core | the other | ratio |", "| --- | --- | ---: | ---: | ---: |", *lines])
        + "\n"
    )


def speed_chart() -> str:
    """Return a picture of them."""
    return chart.draw()


def terminal() -> str:
    """Return a picture of a terminal in which somebody begins."""
    return drawn_terminal.draw()


def postgres_figures(part: str) -> str:
    """Return a table of one part of what `make bench-postgres` kept last."""
    return postgres_tables.TABLES[part](postgres_tables.load_figures()[part])


def postgres_targets() -> str:
    """Return a table of its targets."""
    return postgres_tables.tell_targets(postgres_tables.load_figures())


def postgres_arithmetic() -> str:
    """Return what follows from it for more agents and chunks."""
    return postgres_tables.tell_arithmetic(postgres_tables.load_figures())


def postgres_chart() -> str:
    """Return a picture of many agents at work."""
    return postgres_drawing.draw()


def tools() -> str:
    """Return a table of the tools that a main session is offered."""
    with memory_core.open_memory() as memory:
        schemas = memory.tool_schemas()
    rows = [(f"`{schema['name']}`", _arguments(schema), _first_sentence(schema["description"])) for schema in schemas]
    return _table(("tool", "arguments", "purpose"), rows)


def item_tools() -> str:
    """Return a table of the arguments of the tools for items."""
    rows = [
        (
            f"`{schema['name']}`",
            f"`{name}{'' if name in schema['parameters']['required'] else '?'}`",
            given["description"],
        )
        for schema in (TOOLS[f"memory_{each}"] for each in ("store", "recall", "forget"))
        for name, given in schema["parameters"]["properties"].items()
    ]
    return _table(("tool", "argument", "meaning"), rows)


def settings() -> str:
    """Return tables of all configuration keys, one for each section."""
    sections: dict[str, list[tuple[str, ...]]] = {}
    for key, default, meaning in list_settings():
        title = ".".join(key.split(".")[: 2 if key.startswith("memorySearch.") and key.count(".") > 1 else 1])
        sections.setdefault(title, []).append((f"`{key}`", f"`{default}`", meaning))
    head = ("key", "default", "meaning")
    return "\n".join(f"### {title}\n\n{_table(head, rows)}" for title, rows in sections.items())


def common_settings() -> str:
    """Return a table of the settings that people change."""
    rows = [
        (f"`{key}`", f"`{default}`", f"`{COMMON[key]}`", meaning)
        for key, default, meaning in list_settings()
        if key in COMMON
    ]
    return _table(("key", "default", "for example", "meaning"), rows)


def postgres_settings() -> str:
    """Return a table of all keys below `memory.postgres`."""
    rows = [
        (
            f"`memory.postgres.{to_camel(each.name)}`",
            f"`{json.dumps(getattr(PostgresConfig(), each.name))}`",
            each.metadata["description"],
        )
        for each in dataclasses.fields(PostgresConfig)
    ]
    return _table(("key", "default", "meaning"), rows)


def qmd_settings() -> str:
    """Return a table of all keys below `memory.qmd`."""
    return _table(("key", "default"), _settings_of(QmdConfig(), "memory.qmd"))


def environment() -> str:
    """Return a table of the environment variables that are read."""
    others = (
        (DSN_VARIABLE, "", "Where the PostgreSQL server is, without `memory.postgres.dsn`."),
        (TOKEN_VARIABLE, "", "The secret of clients of `memory-core mcp --http`."),
        (
            PAUSE,
            "",
            "`1` for a host: nothing is [kept or learned](items.md#the-journal-of-turns) of what is said there.",
        ),
    )
    rows = [(f"`{name}`", f"`{key}`" if key else "", meaning) for name, key, meaning in (*ENVIRONMENT, *others)]
    return _table(("variable", "key", "meaning"), rows)


def error_tree() -> str:
    """Return the error tree as its module draws it."""
    _, _, tree = inspect.getdoc(errors).partition("\n\n")  # type: ignore[union-attr]  # the module has a docstring
    return f"```text\n{tree}\n```\n"


def operations() -> str:
    """Return a table of the hooks that a backend implements."""
    optional = (MemorySaver, SessionFollower, SearchExplainer, RelationTeller)
    rows = [
        (name, need, meaning)
        for hooks, need in ((MemoryBackend, "required"), *((each, "optional") for each in optional))
        for name, meaning in _list_hooks(hooks)
    ]
    return _table(("hook", "", "meaning"), rows)


def host_hooks() -> str:
    """Return a table of the hooks that a host calls."""
    return _table(("hook", "meaning"), _list_hooks(HostHooks))


def backend_plugin() -> str:
    """Return a table of the fields of `BackendPlugin`."""
    return _fields(BackendPlugin)


def backend_context() -> str:
    """Return a table of the fields of `BackendContext`."""
    return _fields(BackendContext)


def call_context() -> str:
    """Return a table of the fields of `CallContext`."""
    return _fields(CallContext)


def _arguments(schema: Mapping[str, Any]) -> str:
    required = schema["parameters"]["required"]
    return ", ".join(f"`{name}{'' if name in required else '?'}`" for name in schema["parameters"]["properties"])


def _first_sentence(text: str) -> str:
    return re.split(r"(?<=\.)\s+(?=[A-Z])", text, maxsplit=1)[0]


def _settings_of(section: Any, key: str) -> Iterator[tuple[str, str]]:
    for item in dataclasses.fields(section):
        name, value = f"{key}.{to_camel(item.name)}", getattr(section, item.name)
        if dataclasses.is_dataclass(value):
            yield from _settings_of(value, name)
        elif item.name == "rules":
            yield f"`{name}`", "direct chats only"
        else:
            yield f"`{name}`", "`unset`" if value is None else f"`{json.dumps(value)}`"


def _list_hooks(specification: type) -> list[tuple[str, str]]:
    """Return the hooks of a specification, each with its arguments, and what they mean."""
    return [
        (f"`{name}({', '.join(list(inspect.signature(hook).parameters)[1:])})`", _summary(hook))
        for name, hook in vars(specification).items()
        if not name.startswith("_") and inspect.isfunction(hook)
    ]


def _summary(thing: object) -> str:
    """Return the first paragraph of a docstring, on one line."""
    return " ".join((inspect.getdoc(thing) or "").split("\n\n")[0].split())


def _fields(kind: type) -> str:
    """Return a table of the fields of a dataclass, as the section "Attributes" of its docstring describes them."""
    _, _, text = (inspect.getdoc(kind) or "").partition("Attributes:\n")
    entries = re.findall(r"^    ([\w, ]+): (.*(?:\n {8}.*)*)", text, re.MULTILINE)
    described = {name: " ".join(meaning.split()) for names, meaning in entries for name in names.split(", ")}
    rows = [(f"`{item.name}`", described[item.name]) for item in dataclasses.fields(kind)]
    return _table(("field", "meaning"), rows)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    return "".join(f"| {' | '.join(line)} |\n" for line in (head, ["---"] * len(head), *rows))


def list_commands() -> list[tuple[str, click.Command]]:
    """Return all commands by their whole names, those of groups included."""

    def walk(group: click.Group, path: str) -> Iterator[tuple[str, click.Command]]:
        context = click.Context(group)
        for name in group.list_commands(context):
            command = group.get_command(context, name)
            assert command is not None, name
            if not isinstance(command, click.Group) or command.invoke_without_command:
                yield f"{path}{name}", command
            if isinstance(command, click.Group):
                yield from walk(command, f"{path}{name} ")

    return list(walk(app.APP, ""))


def _command_section(name: str, command: click.Command) -> str:
    names = [name, *(alias for alias, meant in app.ALIASES.items() if meant == name)]
    own = [each for each in command.params if each not in app.COMMON]
    rows = [f"- `{_spelling(each)}`: {getattr(each, 'help', '')}" for each in own]
    title = " or ".join(f"`{each}`" for each in names)
    return "\n".join([f"**{title}**: {command.help}", "", *rows, *([""] if rows else [])])


def _spelling(each: click.Parameter) -> str:
    context = click.Context(app.APP)
    if isinstance(each, click.Option) and each.is_flag:
        return each.opts[0]
    return (
        f"{each.opts[0]} {each.make_metavar(context)}" if isinstance(each, click.Option) else each.make_metavar(context)
    )


def _output(command: str) -> str:
    """Run a command with this interpreter in place of an installed `memory-core`, and return what it prints.

    Notes that it searches are indexed before, so that it answers alike on a slow machine.
    """
    program = f"{shlex.quote(sys.executable)} -m memory_core"
    workspace = re.search(r"--workspace (\S+)", command)
    with tempfile.TemporaryDirectory() as state_dir:
        variables = {"MEMORY_CORE_PROVIDER": "static", "MEMORY_CORE_STATE_DIR": state_dir, "COLUMNS": WIDTH}
        prepare = f"{program} index {workspace[0]} >/dev/null 2>&1 && " if workspace else ""
        return subprocess.run(
            ["bash", "-o", "pipefail", "-c", prepare + command.replace("memory-core", program, 1)],
            check=True,
            cwd=REPOSITORY,
            encoding="utf-8",
            env={**os.environ, **variables},
            stdout=subprocess.PIPE,
        ).stdout
