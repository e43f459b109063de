"""The commands that keep one memory on several machines (sync, its status, off, purge) or take it to another: export, import."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Timer
from typing import TYPE_CHECKING

import click

from memory_core.as_json import to_json
from memory_core.cli import output
from memory_core.cli.app import PATH, Group, Options, argument, command, name_options, open_memory, open_notes
from memory_core.config.agent import AgentConfig
from memory_core.config.environment import expand_home, find_home, quote_words, shorten_home
from memory_core.config.projects import find_repository
from memory_core.config.resolution import find_current_folder
from memory_core.errors import ConfigError, InvalidArgument, SharingFailed
from memory_core.plugin.sharing import judge_owner, open_sharing, propose, sync_behind
from memory_core.sharing import STATE, list_due
from memory_core.sharing.sharing import INIT, NOT_SYNCED, ItemsOf, Shared, Sharing
from memory_core.sources.redaction import redact

if TYPE_CHECKING:
    from memory_core.plugin.memory import Memory
    from memory_core.plugin.moving import Moved

QUIET_SECONDS = 5.0  # before a terminal is told what is waited for
KEEP_KEY = (
    "Keep a copy of it where you keep passwords: whoever loses it cannot read the remote any more, and nobody can help"
)
_ITEMS = {
    "person": " and the items of the person",
    "project": " and the items of this project",
    "nobody": "; no items, unless you add --items for those of the person",
}


@contextmanager
def _open(options: Options, url: str = "", *, items: bool = False) -> Iterator[tuple[Sharing, AgentConfig]]:
    """Open the sync of a workspace; a terminal is told which remote is waited for, if that takes long.

    Args:
        options: Of the command.
        url: The remote that is set up now; "" for the one that is.
        items: Those of the person are to travel with it.
    """
    config = _find_config(options)
    if url:
        _refuse_guess(config)
    whose: ItemsOf = "person" if items else judge_owner(config) if url else ""
    with open_sharing(config, whose) as sharing:

        def tell() -> None:
            with suppress(SharingFailed):  # of a damaged state, which the command tells
                state = None if url else sharing.load()
                remote = redact(url) or (state.shown_url if state else "the remote")
                output.print_aside(f"Waiting for {remote}, which has two minutes for each answer.")

        timer = Timer(QUIET_SECONDS, tell)
        timer.daemon = True
        if sys.stderr.isatty():
            timer.start()
        try:
            yield sharing, config
        except SharingFailed as error:
            error.action = _complete(error.action, options)
            raise
        finally:
            timer.cancel()


def _refuse_guess(config: AgentConfig) -> None:
    """Refuse to set up the default workspace from a repository without notes: those of the repository may be meant.

    Raises:
        ConfigError: Nobody named the workspace, and the current folder lies in a repository that has none.
    """
    here = find_current_folder()
    is_default = config.is_found and (config.project is None or config.project.folder != config.workspace)
    repository = find_repository(here, find_home()) if is_default and here else None
    if repository is not None:
        default = f"memory-core --workspace {quote_words(str(config.workspace))} sync init URL"
        action = f"make them: memory-core init; or for the default workspace: {default}"
        raise ConfigError("there are no notes in this repository", origin=str(repository), action=action)


def _complete(action: str, options: Options) -> str:
    """Give the commands of an action the options of this one, without which they may act on other notes."""
    return action.replace("memory-core sync", f"{quote_words('memory-core', *name_options(options))} sync")


def _find_config(options: Options) -> AgentConfig:
    """Return the configuration of a workspace; of one that is gone only where it was synced, which tells the way back."""
    with open_memory(options) as memory:
        config = memory.config()
    if not (config.sharing_dir / STATE).exists():
        open_notes(options, writes=True).close()
    return config


@click.group("sync", cls=Group, invoke_without_command=True)
@click.option(
    "--behind", is_flag=True, help="as hooks and the MCP server start it: says nothing, also when it does not work"
)
@click.option(
    "--minutes",
    metavar="N",
    type=click.FloatRange(min=0),
    default=0.0,
    help="with --behind, leave out what was tried within so many minutes",
)
@click.option(
    "--restore",
    is_flag=True,
    help="take back notes and items that are gone here, and send again those that are gone there",
)
@click.option("--delete", is_flag=True, help="also delete most notes or items, which a sync refuses without it")
@click.pass_context
def sync(context: click.Context, *, behind: bool, minutes: float, restore: bool, delete: bool) -> None:
    """Sync notes and items with the other machines; once `sync init` has set it up, sessions do so when they end."""
    if context.invoked_subcommand is not None:
        return
    options = context.ensure_object(Options)
    if restore and delete:
        raise InvalidArgument("--restore", "it does not go with --delete")
    if behind:
        for config in list_due(_find_config(options), minutes):
            sync_behind(config)
        return
    with _open(options) as (sharing, config):
        _report(config, sharing.sync("restore" if restore else "delete" if delete else "refuse"))


@sync.command("init")
@argument("url", help="an empty git repository, or the one of your other machine, as git clone takes it")
@click.option("--encrypt", is_flag=True, help="encrypt with age what is sent, to a new key")
@click.option("--key", metavar="FILE", type=PATH, help="the key file of your other machine")
@click.option(
    "--items", is_flag=True, help="the items of the person travel with this remote, also if it is a repository's"
)
@click.option("--public", is_flag=True, help="send notes readable to a repository that anybody can read")
def init(options: Options, *, url: str, encrypt: bool, key: str | None, items: bool, public: bool) -> None:
    """Set up the sync with a remote, and sync; the notes of both sides are merged."""
    with _open(options, url, items=items) as (sharing, config):
        done = sharing.init(url, encrypt=encrypt, key=None if key is None else Path(key), public=public)
        _report(config, done)
        place = shorten_home(config.workspace)
        output.complain(f"synced are MEMORY.md, USER.md, memory/ in {place}{_ITEMS[sharing.items]}, no other file")
        if encrypt:
            output.complain(f"the key is in {shorten_home(sharing.key)}", f"{KEEP_KEY}.")


@sync.command("status")
def show_status(options: Options) -> int:
    """Show the remote, when it was last synced, and what is not sent."""
    with _open(options) as (sharing, _):
        state = sharing.load()
    action = "" if state is None else _complete(state.action, options)
    told = {} if state is None else to_json(state) | {"url": state.shown_url, "action": action}
    if output.prints_json({"on": False} | told):
        return 0
    if state is None:
        output.complain(NOT_SYNCED, _complete(INIT, options))
        return 0
    pairs: dict[str, object] = {
        "remote": state.shown_url, "encrypted": "yes" if state.encrypted else "no", "state": "on" if state.on else "off",
        "last synced": output.format_time(state.synced or None) or "never",
    }  # fmt: skip
    if state.problem:
        again = "; it will be tried again" if state.waits else ""
        pairs |= {"last tried": output.format_time(state.tried), "problem": f"{state.problem}{again}"}
        pairs |= {"next step": action} if action else {}
    output.print_pairs(pairs)
    if not state.on:
        output.complain(NOT_SYNCED, _complete(INIT.replace("URL", state.shown_url), options))
    _name_rest(Shared(withheld=state.withheld, left_out=state.left_out))
    return 0


@sync.command("off")
def switch_off(options: Options) -> None:
    """Sync no more; notes and remote stay as they are, and `sync init` goes on from there."""
    with _open(options) as (sharing, _):
        sharing.switch_off()
    output.tell({"on": False}, "The notes are not synced any more.")


@sync.command("purge")
def purge(options: Options) -> None:
    """Sync, and take the past of all notes and items from the remote; the other machines follow at their next sync."""
    with _open(options) as (sharing, config):
        _report(config, sharing.purge())
    if not options.json:
        action = (
            "A host of repositories may keep it for some weeks: ask it to collect garbage, or make the repository anew."
        )
        output.complain("the remote has no past any more", action)


def _report(config: AgentConfig, done: Shared) -> None:
    """Print what a sync did, and propose what is to be decided."""
    propose(config, done)
    conflicts = [{"path": path, "first": each.first, "second": each.second} for path, each in done.conflicts]
    if output.prints_json(to_json(done) | {"conflicts": conflicts}):
        return
    output.write(f"Sent {output.count(len(done.sent), 'file')}, took {len(done.taken)}.")
    if done.conflicts:
        names = ", ".join(sorted({path for path, _ in done.conflicts}))
        lines = sum(each.first.count("\n") + 1 for _, each in done.conflicts)
        what = f"both versions of {output.count(lines, 'line')} stand in {names}"
        output.complain(what, "Choose: memory-core review")
    _name_rest(done)


def _name_rest(done: Shared) -> None:
    for place in done.withheld:
        output.complain(f"{place} looks like a secret; that note is not sent", "Take the secret out of it.")
    for path, problem in done.left_out.items():
        output.complain(f"left out: {path} {problem}")


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
    from memory_core.plugin.moving import export_memory

    with open_notes(options) as memory:
        memory.sync()  # so that the history has the notes as they are
        target = Path(expand_home(str(target)))  # cmd.exe leaves that to programs
        done = export_memory(_find_layer(memory, layer), target)
    _report_moved(done, f"Written to {target}")


@command("import")
@argument("source", metavar="FOLDER|FILE.zip", type=click.Path(path_type=Path), help="what export has written")
@_with_layer
def import_from(options: Options, *, source: Path, layer: str | None) -> None:
    """Add exported notes, items and old versions to a workspace; nothing that is there is changed."""
    from memory_core.plugin.moving import import_memory

    with open_notes(options, writes=True) as memory:
        done = import_memory(_find_layer(memory, layer), Path(expand_home(str(source))))
        memory.sync()
    _report_moved(done, "Imported")


def _report_moved(done: Moved, verb: str) -> None:
    if output.prints_json(done):
        return
    parts = (
        output.count(done.notes, "note"), output.count(done.items, "item"),
        f"{output.count(done.versions, 'old version')} at {output.count(done.moments, 'moment')}",
    )  # fmt: skip
    print(f"{verb}: {', '.join(parts)}.")
    for path in done.aside:
        output.complain(f"{path}: it is here, since another note has its own place")
    for sentence in done.left_out:
        output.complain(f"left out: {sentence}")
