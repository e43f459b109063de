"""The commands for the journal of turns: pause and resume it, and forget a session."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import click

from memory_core.cli import output
from memory_core.cli.app import Options, command, open_notes
from memory_core.config.agent import AgentConfig
from memory_core.errors import StoreError
from memory_core.records import Finding
from memory_core.sharing.sharing import list_remains
from memory_core.sources.journal import Journal
from memory_core.sources.roots import describe_os_error

READ_SECONDS = 10.0  # that a pause waits for what was said before it


@contextmanager
def _changing(config: AgentConfig) -> Iterator[Journal]:
    """Yield the journal of an agent.

    Raises:
        StoreError: It cannot be written.
    """
    try:
        yield Journal(config.journal_dir)
    except OSError as error:
        action = "make the folder writable, or try again in a moment"
        raise StoreError(
            config.journal_dir, f"the journal cannot be changed: {describe_os_error(error)}", action=action
        ) from error


@command("pause")
def pause(options: Options) -> None:
    """Keep nothing of what is said from now on in the journal, until `resume`."""
    with open_notes(options) as memory, _changing(memory.config()) as journal:
        journal.catch_up(seconds=READ_SECONDS)  # what was said before
        journal.pause(on=True)
    output.tell({"paused": True}, "The journal keeps nothing until you run: memory-core resume", as_json=options.json)


@command("resume")
def resume(options: Options) -> None:
    """Let the journal keep what is said again, but for what was said meanwhile."""
    with open_notes(options) as memory, _changing(memory.config()) as journal:
        journal.catch_up(seconds=READ_SECONDS)  # and pass over it
        journal.pause(on=False)
        on = memory.config().search.items.capture.journal
    rest = "" if on else " once memorySearch.items.capture.journal is true"
    output.tell({"paused": False}, f"The journal keeps what is said{rest}.", as_json=options.json)


@command("forget")
@click.option("--session", "key", metavar="ID", required=True, help="the host's id of the session, as hits show it")
@click.option("--dry-run", is_flag=True, help="only count what would be forgotten")
def forget(options: Options, *, key: str, dry_run: bool) -> int:
    """Forget what a session said: its turns in the journal, and the items that only it has brought."""
    with open_notes(options) as memory:
        config = memory.config()
        items = memory.items.forget(session=key, dry_run=True).items
        with _changing(config) as journal:
            turns = journal.count(key)
            if not dry_run and turns:
                journal.forget(lambda session, _text, _at: session.key == key)
        remains: tuple[str, ...] = ()
        if not dry_run:
            from memory_core.backends.past import wipe_index

            remains = memory.items.forget(session=key).remains
            memory.sync()
            remains += tuple(wipe_index(config.store_path))
    if turns and not items:
        remains += (f"the host's logs of this session hold what was said: {key}",)
    if options.json:
        forgotten = {"messages": turns, "items": [item.id for item in items]}
        output.print_json({**forgotten, "dryRun": dry_run, "remains": remains})
    else:
        counted = f"{output.count(turns, 'message')} and {output.count(len(items), 'item')}"
        output.write(f"{counted} {'would be' if dry_run else 'are'} forgotten.")
        for sentence in [*remains, *list_remains(config, items)]:
            output.complain(sentence)
    if not (turns or items):
        output.complain(f"no session {key!r} has said anything that is kept")
    return 0 if turns or items else 1


def diagnose_journal(config: AgentConfig) -> Iterator[Finding]:
    """Yield what is to be known about the journal: that it is on or paused, and what it lacks."""
    if not config.search.items.capture.journal:
        return
    journal = Journal(config.journal_dir)
    count = len(journal.list_sessions())
    days = config.search.items.capture.retention_days
    message = f"{output.count(count, 'session')} in {journal.folder}, for {days:g} days"
    if journal.is_paused:
        message, action = f"{message}; paused, nothing is kept", "run: memory-core resume"
        yield Finding(subject="journal", level="warn", message=message, action=action)
    else:
        yield Finding(subject="journal", level="ok", message=message)
    if problem := journal.find_write_problem():
        action = "make it writable, and run: memory-core index"
        yield Finding(subject="journal", level="fail", message=f"nothing is kept: {problem}", action=action)
    if problem := journal.find_problem():
        yield Finding(subject="journal", level="warn", message=f"at {problem}", action="run: memory-core index")
    if unread := journal.count_unread():
        message = f"transcripts hold {output.count(unread, 'message')} that it lacks"
        yield Finding(subject="journal", level="warn", message=message, action="run: memory-core index")
