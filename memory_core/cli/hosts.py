"""The commands for hosts: put memory-core into them, and be one; what `doctor` says of them."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from memory_core.cli import app, output
from memory_core.cli.app import Options, argument, command
from memory_core.config.agent import AgentConfig
from memory_core.config.environment import CONFIG, expand_home, quote_words, shorten_home
from memory_core.config.load import Config, find_adopted_config, load_config
from memory_core.config.resolution import find_default_workspace
from memory_core.config.settings import DEFAULT_AGENT
from memory_core.errors import InvalidArgument, MemoryCoreError
from memory_core.hosts.install import changes, programs
from memory_core.hosts.mcp import check_server
from memory_core.plugin.flush.cycles import preview
from memory_core.records import Finding
from memory_core.sources.roots import NOTES_FOLDER
from memory_core.sources.unsearched import find_unsearched


@command("install")
@argument("host", required=False, help="the host; without it, all hosts are listed")
@click.option(
    "--capture",
    is_flag=True,
    help="also keep what is said, learn from it and recall it; set in --config FILE, or your own",
)
@click.option("--dry-run", is_flag=True, help="only show what would be changed")
def install(options: Options, *, host: str | None, capture: bool, dry_run: bool) -> None:
    """Put memory-core into the configuration of another host, such as codex."""
    if host is None:
        _list_programs("To put memory-core into one of them:  memory-core install HOST")
    else:
        install_into(host, options, capture=capture, dry_run=dry_run)


def install_into(host: str, options: Options, *, capture: bool = False, dry_run: bool = False) -> None:
    """Put memory-core into a host, with the configuration and the workspace that are named, if any.

    Raises:
        MemoryCoreError: There is no such host, or its files cannot be changed.
    """
    (host, program), state_dir = _find_program(host), app.find_state_dir(options)
    settings: list[changes.FileChange] = []
    if capture and program.captures:
        settings = changes.plan_settings(find_config_file(options), CAPTURED, _name_place(program), state_dir)
    if program.serves:
        check_server()
    bound = app.list_options(options)
    _check_workspace(bound)
    parts = program.list_parts(bound)
    planned = [*changes.plan_install(parts, state_dir), *settings]
    if settings:
        output.print_aside(CAPTURE)
        if not dry_run and sys.stdin.isatty() and not click.confirm("Turn that on?", err=True):
            output.complain("nothing was changed", f"the tools alone, without --capture: memory-core install {host}")
            return
    if capture and not program.captures:
        output.complain(f"{program.title} {NO_TURNS}")
    if dry_run:
        with suppress(MemoryCoreError):  # the configuration is to be made, too
            _settle_workspace(host, bound, _load_usual(bound), dry_run=True)
        _report(planned, "", "", dry_run=True)
        return
    replaced = changes.find_replaced(parts)
    former = _find_former(parts)
    if not settings:  # they make the configuration where there is none
        _load_usual(bound)
    changes.make_changes(planned, state_dir)
    config = _load_usual(bound)
    notes = [_settle_workspace(host, bound, config)]
    for entry in replaced:
        name = f"{'.'.join(entry.keys)} in {shorten_home(entry.path)}"
        notes.append(f"{name} was another one; to have that back: memory-core uninstall {host}")
    if program.captures and config.search.items.capture.journal:
        own = "".join(f" --{name} {quote_words(bound[name])}" for name in ("config", "state-dir") if name in bound)
        off = f"memory-core config set memorySearch.items.capture.journal false{own}"
        notes.append(f"Capture {'is' if capture else 'stays'} on, and what is said is kept; to end that: {off}")
    done = "\n".join((f"memory-core is in place in {program.title}.", *notes))
    start = "" if program.is_local else f"Next: start {program.title} anew, and it has this memory."
    why, action = program.find_idle(program.find_home()) if program.find_idle else ("", "")
    note = f"{why}; {action}." if why else program.note
    _report(planned, done, " ".join(filter(None, (note, start))), dry_run=False)
    if former and find_unsearched(config, [former], os.environ):
        copy = f"memory-core adopt {quote_words(str(former))} --copy --yes --workspace {quote_words(str(config.workspace))}"
        output.complain(f"{program.title} searches the notes in {shorten_home(former)} no more", f"copy them: {copy}")


def _find_former(parts: Sequence[changes.Part]) -> Path | None:
    """Return the workspace that a host has had where no folder of a session gives another; None without memory-core."""
    with suppress(MemoryCoreError):  # it is written anew
        if changes.are_in_place(parts):
            return _load_usual(programs.read_options(parts)).workspace
    return None


def _load_usual(bound: Mapping[str, str]) -> AgentConfig:
    """Return the configuration that a host has with these options where no folder of a session gives another workspace."""
    settings, agent = _load_bound(bound)
    config = settings.agent(agent)
    if not config.is_found:
        return config
    return replace(config, workspace=find_default_workspace(os.environ, config.state_dir), project=None)


def _check_workspace(bound: Mapping[str, str]) -> None:
    """Refuse a workspace that is named and can be none; one that is missing can still be made.

    Raises:
        InvalidArgument: A file stands there, or above, or its drive is not there.
    """
    if "workspace" not in bound:
        return
    above = app.find_nearest(Path(bound["workspace"]))
    if above is None or not os.path.isdir(above):  # noqa: PTH112  # Path.is_dir raises where a folder above may not be entered
        problem = f"{above or bound['workspace']} is no folder, and a workspace is one"
        raise InvalidArgument("--workspace", problem, action="name a folder")


def _settle_workspace(host: str, bound: Mapping[str, str], config: AgentConfig, *, dry_run: bool = False) -> str:
    """Make the default workspace if a host needs it and it is missing; return a line or two on the notes that the host gets."""
    usual = config.workspace
    given = f"Its configuration is {bound['config']}. " if "config" in bound else ""
    if not config.is_found:
        make = f", which does not exist yet; make it: memory-core init {quote_words(str(usual))}"
        return f"{given}Its notes are in {shorten_home(usual)}{'.' if usual.is_dir() else make}"
    made = ""
    if not os.path.lexists(usual) and dry_run:
        output.print_aside(f"would be made for notes: {shorten_home(usual)}")
    elif not os.path.lexists(usual):
        (usual / NOTES_FOLDER).mkdir(parents=True)
        made = ", which was made now"
    served, other = "Its notes are in", "Other notes"
    if programs.PROGRAMS[host].in_folder:
        served = "Sessions in a folder with MEMORY.md, or notes in memory/, use those, all others"
        other = "The same notes for all sessions"
    return f"{given}{served} {shorten_home(usual)}{made}.\n{other}: memory-core install {host} --workspace FOLDER"


def _load_bound(bound: Mapping[str, str]) -> tuple[Config, str]:
    """Return the configuration that a host has with these options, whatever the variables of this shell, and its agent."""
    environ = {name: value for name, value in os.environ.items() if name not in app.BINDING.values()}
    workspace, state_dir = bound.get("workspace"), bound.get("state-dir")
    settings = load_config(bound.get("config"), environ=environ, state_dir=state_dir, workspace=workspace)
    return settings, bound.get("agent", DEFAULT_AGENT)


CAPTURE = (
    "What is said in your sessions will be kept on this machine without secrets, for 90 days, learned from, and put beside later"
    " messages that call it to mind. `memory-core pause` and `forget` leave things out, `uninstall` turns it off."
)
KEPT = (
    "\nSo does what was kept of sessions, until its days are over: `memory-core activity` shows their ids, `memory-core forget"
    " --session ID` removes one.\nItems stay until you run: memory-core items forget ID"
)
NO_TURNS = (
    "hands on no turns, so nothing of its sessions is kept or recalled by itself, and no setting was changed. Its agents"
    " search, read and write notes by the tools."
)
CAPTURED = (("items", "capture", "enabled"), ("items", "capture", "journal"), ("recall", "enabled"))  # in memorySearch


def find_config_file(options: Options) -> Path:
    """Return the configuration that is changed: the one that is named, else the user's own; it need not exist."""
    named = options.config or os.environ.get(CONFIG)
    return Path(expand_home(named)).absolute() if named else find_adopted_config(app.find_state_dir(options))


def _name_place(program: programs.Program) -> str:
    """Return the name under which it is recorded that an installation needs capture: a host may have several folders."""
    return f"{program.title} in {program.find_home().absolute()}"


@command("uninstall")
@argument("host", required=False, help="the host; without it, all hosts are listed")
@click.option("--dry-run", is_flag=True, help="only show what would be changed")
def uninstall(options: Options, *, host: str | None, dry_run: bool) -> None:
    """Take memory-core out of the configuration of another host."""
    if host is None:
        _list_programs("To take memory-core out of one of them:  memory-core uninstall HOST")
        return
    host, program = _find_program(host)
    parts = program.list_parts()
    state_dir = app.find_state_dir(options)
    released, others = changes.plan_release(_name_place(program), state_dir)
    planned = [*changes.plan_uninstall(parts, state_dir), *released]
    if not dry_run:
        changes.make_changes(planned, state_dir)
    done = f"{program.title} is without memory-core."
    if planned and not dry_run and len(changes.find_missing(parts)) < len(parts):
        done = f"{program.title} has the entry for memory-core that it had before; to remove it, uninstall again."
    note = "Your notes and their index stay."
    if others:
        note += f" Capture stays on for {', '.join(others)}."
    if released:
        note += KEPT
    _report(planned, done, note, dry_run=dry_run)


def _find_program(asked: str) -> tuple[str, programs.Program]:
    """Return the id of a host, and the host.

    Raises:
        MemoryCoreError: There is none, or its file is another program's here.
    """
    if (name := programs.find_host(asked)) is None:
        raise InvalidArgument(
            "HOST",
            f"there is no host {asked!r}{output.suggest(asked, programs.PROGRAMS)}",
            action="see what is there: memory-core install; any other MCP client starts: memory-core mcp",
        )
    program = programs.PROGRAMS[name]
    if program.is_local and Path("plugin.json").exists():
        raise MemoryCoreError(
            "mcp.json in this folder is part of the plugin that plugin.json describes", action="go to another folder"
        )
    return name, program


def _list_programs(hint: str) -> None:
    rows: list[dict[str, Any]] = []
    for name, program in programs.PROGRAMS.items():
        home, parts = program.find_home(), program.list_parts()
        found = parts[0].path.exists() if program.is_local else home.is_dir()
        rows.append({"host": name, "found": found, "inPlace": changes.are_in_place(parts), "home": str(home)})
    if output.prints_json({"hosts": rows}):
        return
    rows.sort(key=lambda row: not row["found"])  # what this computer has comes first
    table = [
        (row["host"], "in place" if row["inPlace"] else "no" if row["found"] else "-", shorten_home(Path(row["home"])))
        for row in rows
    ]
    output.print_table([("host", "memory-core", "its configuration"), *table])
    print()
    print(output.hang("-: ", "this computer has no such folder, so the program is not here, or was never started."))
    print(f"\n{hint}")


def _report(planned: Sequence[changes.FileChange], done: str, note: str, *, dry_run: bool) -> None:
    files = [{"path": change.path, "change": change.verb} for change in planned]  # their text may hold keys
    if output.prints_json({"changed": bool(planned) and not dry_run, "files": files}):
        return
    if dry_run:
        for change in planned:
            if not change.is_copy:
                print(changes.show_change(change), end="")
            elif change.after:
                print(f"kept for uninstall: {change.path}")
        print("Nothing has been changed." if planned else "Nothing would change.")
        return
    for change in planned:
        print(f"{change.verb:<8} {change.path}")
    print(done if planned else f"Nothing to do: {done}")
    if note and planned:
        print(note)


def diagnose_hosts(config: AgentConfig) -> Iterator[Finding]:
    """Yield a finding about each host of this user: if memory-core is in place there, works, and has the notes of this shell."""
    for name, program in programs.PROGRAMS.items():
        if program.is_local:
            continue  # its entry holds in the current folder alone, where any `mcp.json` may lie
        parts = program.list_parts()
        missing = changes.find_missing(parts)
        action = f"memory-core install {name}"
        if len(missing) == len(parts):
            if not program.find_home().is_dir():
                continue
            message, action = f"memory-core is not in {program.title}; to change that: {action}", ""
        elif missing:
            message = f"{program.title}: {missing[0].path} lacks what memory-core needs there"
        elif problem := programs.find_problem(parts):
            message = f"{program.title}: {problem}"
        else:
            message, action = _compare_workspace(name, parts, config)
        yield Finding("hosts", "warn" if action else "ok", message, action)
        if program.find_idle and not missing:
            message, action = program.find_idle(program.find_home())
            if message:
                yield Finding("hosts", "warn", message, action)


def _compare_workspace(name: str, parts: Sequence[changes.Part], config: AgentConfig) -> tuple[str, str]:
    """Return what there is to say of a host in which memory-core works, and what to do if it does not search the notes here."""
    title = programs.PROGRAMS[name].title
    message = f"memory-core is in place in {title}"
    try:
        settings, agent = _load_bound(programs.read_options(parts))
        theirs = settings.agent(agent).workspace
    except MemoryCoreError as error:
        return f"{title} starts memory-core so that it fails: {error}", f"memory-core install {name}"
    if theirs == config.workspace:
        return message, ""
    missing = "" if theirs.exists() else ", which does not exist"
    message += (
        f", and searches {shorten_home(theirs)}{missing}, not {shorten_home(config.workspace)} as this command does"
    )
    if theirs.is_dir() and not config.workspace.is_dir():
        return message, f"memory-core init {quote_words(str(theirs))} --default"
    make = f"make it: memory-core init {quote_words(str(theirs))}; or let it search these: " if missing else ""
    return message, f"{make}memory-core install {name} --workspace {quote_words(str(config.workspace))}"


@command("chat")
@click.option("--base-url", metavar="URL", help="an OpenAI-compatible endpoint, without /chat/completions")
@click.option("--model", metavar="ID", required=True, help="the chat model's id at that endpoint")
@click.option("--context-window", type=int, default=128_000, metavar="N", help="tokens of the model's context (128000)")
@click.option("--script", type=app.PATH, metavar="FILE", help="say the lines of a file instead of reading the terminal")
def chat(options: Options, *, base_url: str | None, model: str, context_window: int, script: str | None) -> None:
    """Chat with a model that has this memory (the reference host)."""
    from memory_core.hosts import reference

    lines = None if script is None else app.read_text("--script", script).split("\n")
    with reference.ReferenceHost(
        app.open_source(options), options.agent, base_url=base_url, model=model, context_window=context_window
    ) as host:
        if lines is not None:
            reference.play(host, lines)
        else:
            reference.converse(host)


@command("flush")
@click.option(
    "--session", metavar="FILE|KEY", required=True, help="the session's transcript, or its key in sessions.json"
)
@click.option("--dry-run", is_flag=True, help="changes nothing: the command only shows the turn, which hosts run")
def flush(options: Options, *, session: str, dry_run: bool) -> None:  # noqa: ARG001
    """Show if a session would be asked to save notes before its compaction, and why."""
    with app.open_memory(options) as memory:
        shown = preview(memory.config(), session)
    output.print_record(shown, _print_preview)


def _print_preview(facts: Mapping[str, Any]) -> None:
    """Print if a flush turn is due and why, then its prompts."""
    spelt = {re.sub("[A-Z]", lambda found: f" {found[0].lower()}", name): value for name, value in facts.items()}
    texts = {title: spelt.pop(title) for title in ("system prompt", "prompt")}
    output.print_pairs(spelt)
    for title, text in texts.items():
        if text:
            output.write(f"\n{title}:\n" + "\n".join(f"    {line}".rstrip() for line in text.splitlines()))
