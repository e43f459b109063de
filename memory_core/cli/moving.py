"""The commands that take a memory to another place: export and import."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from memory_core.cli import output
from memory_core.cli.app import Options, argument, command, open_notes
from memory_core.config.environment import expand_home
from memory_core.errors import InvalidArgument
from memory_core.plugin.moving import Moved, export_memory, import_memory

if TYPE_CHECKING:
    from memory_core.config.agent import AgentConfig
    from memory_core.plugin.memory import Memory

_with_layer = click.option("--layer", metavar="NAME", help="of this layer, such as person, not of the workspace")


def _find_layer(memory: Memory, name: str | None) -> AgentConfig:
    config = memory.config()
    if name is None:
        return config
    layer = config.find_named(name)
    if layer is None:
        known = ", ".join(each.layer for each in config.layers) or "none"
        raise InvalidArgument("--layer", f"there is no layer {name!r:.40} here; there are: {known}")
    return layer


@command("export")
@argument("target", metavar="FOLDER|FILE.zip", type=click.Path(path_type=Path), help="where to write it; must be new")
@_with_layer
def export(options: Options, *, target: Path, layer: str | None) -> None:
    """Write the notes, the items and all old versions of notes into a folder or a ZIP file."""
    with open_notes(options) as memory:
        memory.sync()  # so that the history has the notes as they are
        target = Path(expand_home(str(target)))  # cmd.exe leaves that to programs
        done = export_memory(_find_layer(memory, layer), target)
    _report(options, done, f"Written to {target}")


@command("import")
@argument("source", metavar="FOLDER|FILE.zip", type=click.Path(path_type=Path), help="what export has written")
@_with_layer
def import_from(options: Options, *, source: Path, layer: str | None) -> None:
    """Add exported notes, items and old versions to a workspace; nothing that is there is changed."""
    with open_notes(options, writes=True) as memory:
        done = import_memory(_find_layer(memory, layer), Path(expand_home(str(source))))
        memory.sync()
    _report(options, done, "Imported")


def _report(options: Options, done: Moved, verb: str) -> None:
    if options.json:
        output.print_json(done)
        return
    parts = (
        output.count(done.notes, "note"), output.count(done.items, "item"),
        f"{output.count(done.versions, 'old version')} at {output.count(done.moments, 'moment')}",
    )  # fmt: skip
    print(f"{verb}: {', '.join(parts)}.")
    for path in done.aside:
        output.complain(f"another note has its place: {path}")
    for sentence in done.left_out:
        output.complain(f"left out: {sentence}")
