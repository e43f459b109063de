"""The commands that put memory-core into other hosts and answer their hooks; and what `doctor` says of them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from memory_core.cli import output
from memory_core.cli.opening import open_memory
from memory_core.cli.parser import Options
from memory_core.config.settings import DEFAULT_AGENT
from memory_core.errors import InvalidArgument, MemoryCoreError
from memory_core.records import Finding

if TYPE_CHECKING:
    from memory_core.hosts.install.changes import FileChange
    from memory_core.hosts.install.programs import Program


def run_install(options: Options) -> int:
    """Put memory-core into a host's configuration; without a host, list them."""
    from memory_core.hosts.install import changes, programs

    if options.host is None:
        return _list_programs(options)
    program = _find_program(options.host)
    if program.serves:
        programs.check_server()
    parts = program.plan(program.find_home(), programs.find_start(list_options(options)))
    planned = changes.plan_install(parts)
    if not options.dry_run:
        changes.make_changes(planned, parts)
    return _report(options, planned, f"memory-core is in place in {program.title}.", program.note)


def run_uninstall(options: Options) -> int:
    """Take memory-core out of a host's configuration."""
    from memory_core.hosts.install import changes, programs

    program = _find_program(options.host)
    parts = program.plan(program.find_home(), programs.find_start())
    planned = changes.plan_uninstall(parts)
    if not options.dry_run:
        changes.make_changes(planned, parts)
    done = f"{program.title} is without memory-core."
    if planned and not options.dry_run and changes.are_in_place(parts):
        done = f"{program.title} has the entry for memory-core that it had before; to remove it, uninstall again."
    return _report(options, planned, done, "Your notes and their index stay.")


def diagnose_hosts() -> list[Finding]:
    """Return a finding about each host of this user: if memory-core is in place there, and works."""
    from memory_core.hosts.install import changes, programs

    findings = []
    for name, program in programs.PROGRAMS.items():
        if program.find_home == Path.cwd:
            continue  # its entry holds in the current folder alone, where any `mcp.json` may lie
        home = program.find_home()
        parts = program.plan(home, programs.find_start())
        missing = changes.find_missing(parts)
        if len(missing) < len(parts):
            problem = (
                f"{missing[0].path} lacks what memory-core needs there"
                if missing
                else programs.find_problem(name, home)
            )
            findings.append(
                Finding(
                    subject="hosts",
                    level="warn",
                    message=f"{program.title}: {problem}",
                    action=f"memory-core install {name}",
                )
                if problem
                else Finding(
                    subject="hosts", level="ok", message=f"memory-core is in place in {program.title}", action=""
                )
            )
        elif home.is_dir():
            message = f"memory-core is not in {program.title}; to change that: memory-core install {name}"
            findings.append(Finding(subject="hosts", level="ok", message=message, action=""))
    return findings


def _find_program(name: str) -> Program:
    from memory_core.hosts.install.programs import PROGRAMS

    if name not in PROGRAMS:
        raise InvalidArgument("HOST", f"expected one of {', '.join(PROGRAMS)}, not {name!r}")
    return PROGRAMS[name]


def list_options(options: Options) -> dict[str, str]:
    """Return the options that the host has to pass on; folders and files by their whole path."""
    named = {"config": options.config, "workspace": options.workspace, "state-dir": options.state_dir}
    given = {name: str(Path(value).expanduser().absolute()) for name, value in named.items() if value}
    return given if options.agent == DEFAULT_AGENT else {**given, "agent": options.agent}


def _list_programs(options: Options) -> int:
    from memory_core.hosts.install import changes, programs

    rows = []
    for name, program in programs.PROGRAMS.items():
        home = program.find_home()
        parts = program.plan(home, programs.find_start())
        rows.append((name, "in place" if changes.are_in_place(parts) else "no", str(home)))
    if options.json:
        output.print_json(
            {"hosts": [{"host": name, "inPlace": state == "in place", "home": home} for name, state, home in rows]}
        )
        return 0
    output.print_table([("host", "memory-core", "its configuration"), *rows])
    print("\nTo put memory-core into one of them:  memory-core install HOST --dry-run")
    return 0


def _report(options: Options, planned: Sequence[FileChange], done: str, note: str) -> int:
    from memory_core.hosts.install.changes import show_change

    if options.json:
        files = [{"path": change.path, "change": change.verb} for change in planned]  # their text may hold keys
        output.print_json({"changed": bool(planned) and not options.dry_run, "files": files})
        return 0
    if options.dry_run:
        for change in planned:
            print(
                f"kept for uninstall: {change.path}\n" if change.is_copy and change.after else show_change(change),
                end="",
            )
        print("Nothing has been changed." if planned else "Nothing would change.")
        return 0
    for change in planned:
        print(f"{change.verb:<8} {change.path}")
    print(done if planned else f"Nothing to do: {done}")
    if note and planned:
        print(note)
    return 0


def run_hook(options: Options) -> int:
    """Answer one hook. Returns 1 where it failed: to the hosts, 2 means that the prompt or the compaction is forbidden."""
    from memory_core.hosts.claude_code import hook
    from memory_core.plugin.slot import MemorySlot

    hook.prepare_process()
    try:
        with open_memory(
            options
        ) as memory:  # raises where the configuration is wrong, of which a slot only writes to the log
            config = memory.config()
        shown = config.state_dir / "memory-core" / f"{config.agent}.shown"
        with closing(MemorySlot(options.config, workspace=options.workspace, state_dir=options.state_dir)) as slot:
            hook.answer_hook(
                sys.stdin,
                sys.stdout,
                slot,
                options.agent,
                host=options.host,
                shown=shown,
                index=lambda: _start_index(options),
            )
    except MemoryCoreError as error:
        output.complain(str(error), error.action)
        return 1
    return 0


def _start_index(options: Options) -> None:
    """Index in a process of its own: Claude Code ends what a session's end starts after 1.5 s. `doctor` tells if it failed."""
    import subprocess

    from memory_core.hosts.install.programs import find_start

    nothing = subprocess.DEVNULL
    subprocess.Popen(  # noqa: S603  # memory-core itself
        find_start(list_options(options)).write("index"),
        stdin=nothing,
        stdout=nothing,
        stderr=nothing,
        start_new_session=True,
    )
