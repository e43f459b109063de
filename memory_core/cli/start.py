"""The program without a command, which says how to begin, and `init`, which makes a workspace."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import click

from memory_core.atomic import replace_file
from memory_core.cli import app, hosts, output
from memory_core.cli.app import PATH, Options, argument, command, find_state_dir, open_source
from memory_core.config.environment import expand_home, find_home, quote_words, shorten_home
from memory_core.config.projects import find_project, find_repository
from memory_core.config.resolution import (
    find_current_folder,
    find_default_workspace,
    find_remembered,
    make_absolute,
    recall_default_workspace,
)
from memory_core.errors import MemoryCoreError
from memory_core.hosts.adopt.homes import find_homes
from memory_core.hosts.install import changes, programs
from memory_core.sources.unsearched import find_unsearched
from memory_core.sources.vaults import VAULT
from memory_core.sources.writer import make_workspace

ADD = 'memory-core add "The dentist is on Friday at nine."'
OWN = "memory-core init ~/notes --default"
AS_DEFAULT = "Use it wherever no other workspace is named, and the current folder holds no notes?"


def welcome(options: Options) -> None:
    """Print which workspace is used, and three commands to go on with."""
    settings = open_source(options).current()
    folder = settings.agent(options.agent).workspace
    exists, why = folder.is_dir(), app.explain_guess(settings, options.agent) or "as it is configured"
    if exists:
        steps = {
            ADD: "write into the note of the day",
            ASK: "ask the notes",
        }
    else:
        steps = {
            OWN: "make a workspace, and use it from every folder",
            "memory-core adopt": "or search the notes that other programs keep",
        }
    is_somewhere = any(changes.are_in_place(each.list_parts()) for each in programs.PROGRAMS.values())
    host = next(_find_free_hosts(), "" if is_somewhere else "claude-code")
    if host:
        steps[f"memory-core install {host}"] = f"give {programs.PROGRAMS[host].title} this memory"
    else:
        steps["memory-core doctor"] = "check that all is well"
    if output.prints_json({"workspace": folder, "exists": exists, "why": why, "next": list(steps)}):
        return
    missing = "" if exists else "; it is not there yet"
    print(f"memory-core keeps memory in plain Markdown.\n\nWorkspace: {shorten_home(folder)} ({why}){missing}")
    _print_steps(steps)
    print("\nAll commands: memory-core --help")


ASK = "memory-core search appointment for my teeth"
SEARCH_ALL = """memory-core config set memorySearch.sources "['memory', 'workspace']\""""


def _print_steps(steps: Mapping[str, str]) -> None:
    width = max(map(len, steps))
    print("\nNext:")
    for step, about in steps.items():
        print(f"  {step:<{width}}   {about}".rstrip())


def _make_default(options: Options, workspace: Path) -> None:
    """Remember a workspace as the default one, and say so if notes are not searched any more."""
    state_dir = find_state_dir(options)
    former = find_default_workspace(os.environ, state_dir)
    path = find_remembered(state_dir)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    replace_file(path, f"{workspace}\n".encode())
    with suppress(MemoryCoreError):  # every other command tells what is wrong with the configuration
        config = replace(open_source(options).current().agent(options.agent), workspace=workspace, layers=())
        if find_unsearched(config, [former], os.environ):
            action = f"to search them, too: memory-core adopt {_quote(former)} --yes"
            output.complain(
                f"the notes in {shorten_home(former)}, the default workspace until now, are not searched any more",
                action,
            )


@command("init")
@argument("folder", required=False, type=PATH, help="the folder, new or not; without it the current one")
@click.option("--default", "default", is_flag=True, help="also use it wherever no other workspace is named")
def init(options: Options, *, folder: str | None, default: bool) -> None:
    """Make a workspace: a folder with MEMORY.md and memory/."""
    here = find_current_folder()
    workspace = make_absolute(expand_home(folder or options.workspace or "."), here, os.environ)
    above = find_project(app.find_nearest(workspace) or workspace, find_home())
    made = make_workspace(workspace)
    if made and above not in (None, workspace):
        action = f"to search those again, remove {' and '.join(made)} here"
        output.complain(
            f"from {shorten_home(workspace)}, the notes in {shorten_home(above)} are not searched any more", action
        )
    if made and workspace == Path(find_home()):
        output.complain("this is your home folder", f"notes are easier to keep apart in one of their own: {OWN}")
    asks = not options.json and sys.stdin.isatty() and sys.stderr.isatty()
    is_default = recall_default_workspace(find_state_dir(options)) == workspace
    done = f"Made {' and '.join(made)} in" if made else "There is a workspace already:"
    if not options.json:  # before questions, whose answers may never come
        suffix = ", the default workspace" if is_default or default else ""
        print(f"{done} {shorten_home(workspace)}{suffix}", flush=True)
    if not is_default and (default or (asks and click.confirm(AS_DEFAULT, err=True))):
        _make_default(options, workspace)
        is_default = True
    free = [name for name in _find_free_hosts() if not (asks and _put_into(name, workspace, options))]
    homes = [home for home in find_homes(None) if workspace not in home.workspaces.values()]
    found = [{"title": home.title, "path": home.path, "notes": len(home.notes)} for home in homes]
    facts = {"workspace": workspace, "made": made, "default": is_default, "hosts": free, "adoptable": found}
    if output.prints_json(facts):
        return
    named = "" if is_default or workspace == here else f" --workspace {_quote(workspace)}"
    steps = {
        ADD.replace(" add", f"{named} add"): "write into the note of the day",
        ASK.replace(" search", f"{named} search"): "ask the notes",
    }
    if len(made) == 2 and (others := app.count_markdown(workspace)):  # it was no workspace before
        # What is set holds in all workspaces of this user.
        search_all = SEARCH_ALL if is_default else ASK.replace(" search", f"{named} search --sources memory,workspace")
        if (workspace / VAULT).is_dir():
            adopt = f"memory-core adopt {_quote(workspace)} --yes"
            steps[adopt] = (
                "search this vault as it is, from every folder; MEMORY.md and memory/ are not needed for that"
            )
        steps[search_all] = f"search the {output.count(others, app.OTHER_FILE)} in it, too"
    # The notes at the root of a repository are for its own sessions, and these find them; those in a folder below they do not.
    is_project = not is_default and find_repository(workspace, find_home()) == workspace
    if not (is_default or is_project):
        steps[f"memory-core init {_quote(workspace)} --default"] = "use it from every folder"
    for name in free:
        title, by_folder = programs.PROGRAMS[name].title, is_project and programs.PROGRAMS[name].in_folder
        bound = "" if by_folder else f" --workspace {_quote(workspace)}"
        about = f"give {title} the notes of the folder of each session" if by_folder else f"give these notes to {title}"
        steps[f"memory-core install {name}{bound}"] = about
    if homes:
        kept = ", ".join(f"{home.title} ({output.count(len(home.notes), 'note')})" for home in homes)
        steps["memory-core adopt"] = f"search what else is on this machine: {kept}"
    _print_steps(steps)


def _find_free_hosts() -> Iterator[str]:
    """Yield the hosts that this user has, and that lack memory-core."""
    for name, program in programs.PROGRAMS.items():
        is_here = not program.is_local and program.find_home().is_dir()
        if is_here and not changes.are_in_place(program.list_parts()):
            yield name


def _put_into(host: str, workspace: Path, options: Options) -> bool:
    """Put memory-core into a host if the user says so; return True if that was done."""
    title = programs.PROGRAMS[host].title
    if not click.confirm(f"Put memory-core into {title}, with these notes?", err=True):
        return False
    try:
        hosts.install_into(host, replace(options, workspace=str(workspace)))
    except MemoryCoreError as error:
        output.complain(str(error), error.action)
        return False
    return True


def _quote(path: Path) -> str:
    """Return a path as one word of a shell, with `~` for the home folder where that needs no quotes."""
    short = shorten_home(path)
    return short if short[:2] == "~/" and quote_words(short[2:]) == short[2:] else quote_words(str(path))
