"""The command `adopt`: notes of other programs, found, served where they lie or copied, and given back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import click

from memory_core.cli import output
from memory_core.cli.app import PATH, Options, argument, command, find_state_dir, open_source
from memory_core.config.agent import AgentConfig
from memory_core.config.environment import quote_words, shorten_home
from memory_core.config.load import find_adopted_config, load_config
from memory_core.errors import ConfigError, InvalidArgument
from memory_core.hosts.adopt import record
from memory_core.hosts.adopt.homes import Home, find_homes

ACTIONS: dict[record.Action, str] = {
    "copy": "copied",
    "update": "updated",
    "same": "unchanged",
    "leave": "left as they are",
}


@command("adopt")
@argument("path", required=False, type=PATH, help="a folder or file; the usual places without it")
@click.option("--copy", is_flag=True, help="copy into memory/imports of the workspace")
@click.option("--yes", is_flag=True, help="do it; without it, nothing is changed")
@click.option("--dry-run", is_flag=True, help="only show what would be done, as without --yes")
@click.option("--undo", is_flag=True, help="remove all that adopt has written; with --workspace, only what is in there")
def adopt(options: Options, *, path: str | None, copy: bool, yes: bool, dry_run: bool, undo: bool) -> None:
    """Find notes of other programs, and search them where they lie, or copy them."""
    if dry_run and yes:
        raise InvalidArgument("--dry-run", "and --yes exclude each other")
    if undo:
        _undo(options, find_state_dir(options))
        return
    config = open_source(options).current().agent(options.agent)
    homes = find_homes(path, config.search.time_zone)
    if not homes:
        sentence = "Nothing was found in the usual places."
        advice = "Name a folder of Markdown, a vault or an export: memory-core adopt PATH"
        output.tell({"homes": []}, f"{sentence}\n{advice}")
        return
    if not options.json:
        _print_homes(homes)
    if copy:
        _copy(path, homes, config, yes=yes)
        return
    _serve(options, path, homes, config, yes=yes)


def _print_homes(homes: Sequence[Home]) -> None:
    rows = [("found", "where", "holds")]
    for home in homes:
        notes = output.count(len(home.notes), "note") if home.served or not home.remarks else ""
        rows.append((home.title, shorten_home(home.path), ", ".join(filter(None, (notes, *home.remarks)))))
    output.print_table(rows)
    output.print_failures([failure for home in homes for failure in home.failures])


def _serve(options: Options, asked: str | None, homes: Sequence[Home], config: AgentConfig, *, yes: bool) -> None:
    if options.workspace:
        raise InvalidArgument(
            "--workspace",
            "goes with --copy: what is served where it lies is found beside every workspace",
            action="leave it out, or add --copy; memory-core init FOLDER --default makes a folder the default workspace",
        )
    unserved = [home.title for home in homes if not home.served]
    path = find_adopted_config(config.state_dir)
    told = {"homes": [_to_plain(home) for home in homes], "config": path}
    if not yes:
        if output.prints_json({**told, "changed": False}):
            return
        print("\nNothing has been changed.")
        if len(unserved) < len(homes):
            print(f"To search these notes where they lie:  {_format_command(asked)} --yes")
        print(f"To copy them into a workspace:         {_format_command(asked)} --copy --yes")
        return
    if len(unserved) == len(homes):
        raise InvalidArgument("PATH", f"a {unserved[0]} is no Markdown; add --copy, which writes it as Markdown")
    with record.change_record(config.state_dir) as adoption:
        record.add_served(adoption, homes)
        changed = record.write_config(adoption, config.state_dir)
    if output.prints_json({**told, "changed": changed}):
        return
    print(f"\n{'Written' if changed else 'Nothing to change in'}: {path}")
    served = load_config(path, state_dir=config.state_dir).agent(options.agent)
    print("These notes are searched in every folder, wherever neither --config nor --workspace is given.")
    folder = shorten_home(served.workspace)
    once = "." if served.workspace.is_dir() else f", once it is made: memory-core init {folder}"
    print(f"Where no workspace is named, new notes go to {folder}{once}")
    for title in unserved:
        output.complain(f"the {title} is no Markdown, and is left out", "add --copy to write it as Markdown")
    if options.config:
        output.complain(f"--config names {options.config}, which does not list these notes", "leave --config out")
    if changed:
        print("Next: memory-core index")


def _copy(asked: str | None, homes: Sequence[Home], config: AgentConfig, *, yes: bool) -> None:
    workspace = Path(config.workspace)
    if not workspace.is_dir():
        action = "make that folder, or name another with --workspace"
        raise ConfigError("there is no such workspace to copy into", origin=str(workspace), action=action)
    if yes:
        with record.change_record(config.state_dir) as adoption:
            steps = record.plan_copies(adoption, homes, workspace)
            record.copy_notes(adoption, steps, workspace)
    else:
        steps = record.plan_copies(record.load_record(config.state_dir), homes, workspace)
    shown = [{name: getattr(step, name) for name in ("action", "origin", "target", "reason")} for step in steps]
    if output.prints_json({"steps": shown, "changed": yes}):
        return
    print()
    for step in steps:
        target, about = step.target.relative_to(workspace), f"  ({step.reason})" if step.reason else ""
        print(f"{step.action:<6}  {shorten_home(Path(step.origin))}  ->  {target}{about}")
    counts = Counter(step.action for step in steps)
    done = ", ".join(f"{counts[action]} {words}" for action, words in ACTIONS.items() if counts[action])
    if yes:
        print(f"\n{workspace / record.IMPORTS}: {done or 'nothing to copy'}.")
        print("Next: memory-core index" if counts["copy"] + counts["update"] else "")
    else:
        print(f"\nNothing has been changed. To copy:  {_format_command(asked)} --copy --yes")


def _to_plain(home: Home) -> dict[str, object]:
    return {
        "source": home.source,
        "title": home.title,
        "path": home.path,
        "notes": [note.file.real_path for note in home.notes],
        "workspaces": home.workspaces,
        "remarks": home.remarks,
    }


def _format_command(path: str | None) -> str:
    return " ".join(["memory-core adopt", *([quote_words(path)] if path else [])])


def _undo(options: Options, state_dir: Path) -> None:
    with record.change_record(state_dir) as adoption:
        workspace = open_source(options).current().agent(options.agent).workspace if options.workspace else None
        removed, kept, indexed = record.undo(adoption, state_dir, workspace)
    if output.prints_json({"removed": removed, "kept": kept, "indexed": indexed}):
        return
    if not removed and not kept:
        print(f"Nothing was copied into {shorten_home(workspace)}." if workspace else "Nothing was adopted.")
        return
    print(f"Removed {output.count(removed, 'file')} that `adopt` had written.")
    for sentence in kept:
        output.complain(sentence)
    if indexed:
        print("Next: memory-core index, which takes these notes out of the index")
