"""The commands for what is kept of conversations: items, and the journal of turns."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from memory_core.as_json import to_json
from memory_core.cli import app, output
from memory_core.cli.app import PATH, Group, Options, argument, command, join_words, open_memory, open_notes, read_text
from memory_core.config.agent import AgentConfig
from memory_core.config.environment import quote_words
from memory_core.config.problems import find_similar
from memory_core.errors import InvalidArgument, MemoryCoreError
from memory_core.history.history import History
from memory_core.items.records import Item, read_items, write_items
from memory_core.items.store.file import DROP_ASIDE, ItemsFile
from memory_core.plugin import activity
from memory_core.records import ITEM_KINDS, Finding, Origin
from memory_core.sharing.sharing import list_remains
from memory_core.sources.journal import Journal
from memory_core.sources.origins import cite_origin, load_sources
from memory_core.sources.transcripts import SHOWN, SUFFIX
from memory_core.text.dates import begin_day, parse_day
from memory_core.text.messages import quote_safely
from memory_core.tools.arguments import read_citation

if TYPE_CHECKING:
    from memory_core.items.items import Items
    from memory_core.plugin.memory import Memory

items = Group("items", help="List, show, add, promote, forget, export or import items: short facts beside the notes.")
TURN_ON = (
    "`memory-core items list QUERY` finds it. To turn them on: memory-core config set memorySearch.items.enabled true"
)
ONLY_SESSIONS = (
    "delete a line of a note in your editor, or write the new state beside it; an item: memory-core items forget ID;"
    " a text out of old versions: memory-core history purge --match TEXT"
)
_with_scope = click.option("--scope", metavar="NAME", help="only items of this scope")
_with_tags = click.option("--tag", "tags", multiple=True, metavar="TAG", help="a tag; may be given several times")
_with_after = click.option("--after", metavar="DATE", help='last said on this day or later, YYYY-MM-DD or "yesterday"')
_with_before = click.option("--before", metavar="DATE", help="last said before this day")


def _open_memory(options: Options) -> Memory:
    """Open the memory of an agent that has items, or of a project, which need no workspace; any other needs one."""
    memory = open_memory(options)
    config = memory.config()
    return memory if config.project is not None or config.items_path.exists() else open_notes(options)


@contextmanager
def _open(options: Options) -> Iterator[tuple[Items, AgentConfig]]:
    with _open_memory(options) as memory:
        held = memory.items
        yield held, memory.config()
        if held.warning:
            output.complain(held.warning)
        else:
            for aside in ItemsFile(held.path, writable=False).list_set_aside():
                output.complain(f"an items file was damaged and set aside: {aside}", DROP_ASIDE)


@items.command("list")
@argument("query", nargs=-1, help="question or words to look for")
@_with_scope
@_with_tags
@click.option("--session", metavar="KEY", help="what this session has said, alone or not; of a UUID, its beginning")
@_with_after
@_with_before
@click.option("--limit", type=int, default=20, metavar="N", help="at most N items (20)")
def list_items(options: Options, *, query: tuple[str, ...], limit: int, **conditions: Any) -> None:
    """List items, the one said last first; or those that answer a question, the best first."""
    with _open(options) as (held, config):
        conditions |= _read_days(held, conditions) | _read_session(config, held, conditions)
        if not query:
            found = list(held.list(limit=limit, **conditions))
            total = held.count(**conditions)
            if not output.prints_json({"items": found, "total": total}):
                _print_items(found)
                if not found:
                    print("No such items." if any(conditions.values()) else "No items yet.")
                if len(found) < total:
                    output.print_aside(f"{len(found)} of {total} items; --limit shows more.")
            return
        answer = held.query(" ".join(query), limit=limit, **conditions)
    if output.prints_json(answer):
        return
    if answer.warning:
        output.complain(f"keywords answer alone: {answer.warning}")
    for hit in answer.hits:
        output.write(output.hang(f"{hit.item.id}  {hit.score:.2f}  ", _describe(hit.item)))
    if not answer.hits:
        print("No matches.")


@items.command("show")
@argument("item_id", metavar="ID", help="id as the list shows it")
def show(options: Options, *, item_id: str) -> None:
    """Show one item with its origin: who said it, where, and the message or note that it was learned from."""
    with _open_memory(options) as memory:
        item, config = memory.items.get(item_id), memory.config()
    if item is None:
        raise MemoryCoreError(f"there is no item {item_id!r}", action="`memory-core items list` shows the ids.")
    if output.prints_json(item):
        return
    output.write(quote_safely(item.content))
    times = {name: output.format_time(getattr(item, name)) for name in ("created", "updated", "said", "recalled")}
    facts = {name: getattr(item, name) for name in ("id", "scope", "tags", "kind", "agent")}
    (source,) = load_sources(config, [item.origin])
    output.print_pairs(
        facts
        | {"said by": item.origin.by, "session": item.origin.session, "host": item.origin.host, "said first": item.origin.at}
        | {"learned from": cite_origin(item.origin), "which says": source and quote_safely(source)} | times
        | {"said by other sessions": item.reinforced, "pending": item.pending or None, "superseded by": item.superseded_by}
    )  # fmt: skip


@items.command("add")
@argument("text", nargs=-1, required=True, help="the fact, one or two sentences")
@click.option("--scope", metavar="NAME", help="where it belongs (memorySearch.items.scope)")
@_with_tags
@click.option("--kind", type=click.Choice(ITEM_KINDS), help="fact (without it), preference or decision")
@click.option("--corrects", is_flag=True, help="it takes the place of the fact that it corrects")
@click.option("--corrects-id", metavar="ID", help="it takes the place of this fact")
def add(
    options: Options,
    *,
    text: tuple[str, ...],
    corrects: bool,
    corrects_id: str | None,
    kind: str | None,
    **facts: Any,
) -> None:
    """Keep a short fact; the same fact is kept once."""
    with _open(options) as (held, config):
        if corrects_id is not None and held.get(corrects_id) is None:
            raise InvalidArgument(
                "--corrects-id", f"there is no item {corrects_id!r:.80}", action="memory-core items list"
            )
        facts["supersedes"] = () if corrects_id is None else (corrects_id,)
        kind = kind or ("fact" if corrects_id is None else "correction")
        done = held.write(join_words("TEXT", text), corrects=corrects, kind=kind, origin=Origin(by="user"), **facts)
        if not (config.search.items.enabled or config.search.recall.enabled):
            output.complain("items are off, so no agent gets it", TURN_ON)
    if output.prints_json(done):
        return
    verb = "Known already, said once more" if done.outcome == "reinforced" else "Kept"
    output.write(f"{verb}: {done.item.id}  {_describe(done.item)}")
    if done.superseded:
        print(f"It takes the place of {', '.join(done.superseded)}.")
    elif corrects:
        output.complain("no fact was found that it corrects", "`memory-core items list` shows the facts.")
    if done.warning:
        output.complain(f"it has no embedding yet: {done.warning}")


@items.command("promote")
@argument("ids", nargs=-1, required=True, metavar="ID...", help="ids as the list shows them")
def promote(options: Options, *, ids: tuple[str, ...]) -> int:
    """Let pending items count as facts, and superseded ones again in place of what corrects them."""
    ids = tuple(dict.fromkeys(ids))
    with _open(options) as (held, _):
        promoted = held.promote(ids)
        found = held.get_many(ids)
    if not output.prints_json({"promoted": promoted, "items": found}):
        _print_items(found)
        print(f"{output.count(promoted, 'item')} promoted.")
    return _name_missing(ids, found)


@items.command("forget")
@argument("ids", nargs=-1, metavar="[ID]...", help="ids as the list shows them")
@click.option("--query", metavar="WORDS", help="items that hold all of these words")
@click.option("--session", metavar="KEY", help="what only this session has said; of a UUID, its beginning")
@_with_after
@_with_before
@_with_scope
@click.option("--dry-run", is_flag=True, help="only show what would be deleted")
def forget(options: Options, *, ids: tuple[str, ...], dry_run: bool, **conditions: Any) -> int:
    """Delete items for good: all that meet every condition given."""
    with _open_memory(options) as memory:
        config = memory.config()
        conditions |= _read_days(memory.items, conditions) | _read_session(config, memory.items, conditions)
        done = memory.items.forget(ids=ids, dry_run=dry_run, **conditions)
        if done.items and not dry_run:
            activity.record(config, "forgot", "items forget", None, [item.id for item in done.items])
        told = [*_find_in_past(config, done.items), *list_remains(config, done.items, of_person=done.of_person)]
    if not output.prints_json({**to_json(done), "remains": [*done.remains, *told]}):
        _print_items(done.items)
        verb = "would be deleted" if done.dry_run else "deleted"
        print(f"{output.count(len(done.items), 'item')} {verb}.")
        for sentence in (*done.remains, *told):
            output.complain(sentence)
    return _name_missing(ids, done.items)


def _name_missing(ids: Iterable[str], found: Iterable[Item]) -> int:
    """Name the ids of which no item was found; return the exit code."""
    missing = sorted(set(ids) - {item.id for item in found})
    if missing:
        output.complain(f"there is no such item: {', '.join(missing)}")
    return 1 if missing else 0


@items.command("export")
def export(options: Options) -> None:
    """Print all items as JSON lines."""
    with _open(options) as (held, _):
        for line in write_items(held.export()):
            print(line, end="")


@items.command("import")
@argument("file", type=PATH, help="JSON lines as `items export` prints them; - is standard input")
def restore(options: Options, *, file: str) -> None:
    """Add exported items; those that are there already are left as they are."""
    try:
        read = read_items(read_text("FILE", file), file)
    except ValueError as error:
        raise InvalidArgument("FILE", str(error)) from error
    with _open(options) as (held, _):
        new = held.restore(read)
    output.tell({"read": len(read), "new": new}, f"{new} of {len(read)} items were new.")


def _print_items(items: Sequence[Item]) -> None:
    for item in items:
        output.write(output.hang(f"{item.id}  ", _describe(item)))


def _describe(item: Item) -> str:
    """Return an item on one line, with what a reader of a list should know of it."""
    facts = [*(f"#{tag}" for tag in item.tags)]
    if item.reinforced:
        facts.append(f"said {item.reinforced + 1} times")
    if item.pending:
        facts.append("pending")
    if item.superseded_by:
        facts.append(f"superseded by {item.superseded_by}")
    return quote_safely(item.content) + (f"  ({', '.join(facts)})" if facts else "")


def _read_days(held: Items, given: Mapping[str, Any]) -> dict[str, float | None]:
    """Return the beginnings of the days that --after and --before name, as Unix seconds; None for one that is not given."""
    zone = held.time_zone
    return {
        name: None if day is None else begin_day(zone, parse_day(day, f"--{name}", timezone=zone)).timestamp()
        for name, day in ((each, given[each]) for each in ("after", "before"))
    }


def _read_session(config: AgentConfig, held: Items, given: Mapping[str, Any]) -> dict[str, str | None]:
    """Return the whole id of the session that --session names."""
    asked = given["session"]
    return {"session": asked and _find_session(Journal(config.journal_dir), held, asked)[0]}


def _find_in_past(config: AgentConfig, items: Sequence[Item]) -> list[str]:
    """Say which items old versions of notes still hold, and how to purge those."""
    with closing(History(config, writable=False)) as history:
        texts = [item.content.rstrip(".") for item in items if history.exists()]
        held = [text for text in texts if history.find_text(text)]
    return [
        f"old versions of notes hold the text: memory-core history purge --match {quote_words(each)}" for each in held
    ]


# ---- The journal of turns: pause and resume it, forget a session, and what `doctor` says of it.


LEAST_ID = 6  # characters of a UUID that stand for the whole
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
READ_SECONDS = 10.0  # that a pause waits for what was said before it


@contextmanager
def _changing(config: AgentConfig) -> Iterator[Journal]:
    """Yield the journal of an agent.

    Raises:
        StoreError: It cannot be written.
    """
    action = "make the folder writable, or try again in a moment"
    with app.changing(config.journal_dir, "the journal cannot be changed", action):
        yield Journal(config.journal_dir)


def _pause(options: Options, *, on: bool) -> AgentConfig:
    """Pause or resume the journal, once it has what was said before, or has passed over it; return the configuration."""
    with open_notes(options) as memory, _changing(memory.config()) as journal:
        journal.catch_up(seconds=READ_SECONDS)
        journal.pause(on=on)
        return memory.config()


@command("pause")
def pause(options: Options) -> None:
    """Keep nothing of what is said from now on in the journal, until `resume`."""
    _pause(options, on=True)
    output.tell({"paused": True}, "The journal keeps nothing until you run: memory-core resume")


@command("resume")
def resume(options: Options) -> None:
    """Let the journal keep what is said again, but for what was said meanwhile."""
    on = _pause(options, on=False).search.items.capture.journal
    rest = "" if on else " once memorySearch.items.capture.journal is true"
    output.tell({"paused": False}, f"The journal keeps what is said{rest}.")


@command("forget")
@argument("text", nargs=-1, help="is refused, with the commands that forget a text")
@click.option(
    "--session", "key", metavar="ID", help="the host's id of the session, as hits show it; of a UUID, its beginning"
)
@click.option("--dry-run", is_flag=True, help="only count what would be forgotten")
def forget_session(options: Options, *, text: tuple[str, ...], key: str | None, dry_run: bool) -> int:
    """Forget what a session said: its turns in the journal, and the items that only it has brought."""
    if key is None or text:
        is_id = len(text) == 1 and re.match(r"[0-9a-f]{8}(-|\Z)", text[0])
        action = f"memory-core forget --session {text[0]}" if is_id else ONLY_SESSIONS
        raise InvalidArgument("--session", "this command forgets a whole session, by its id", action=action)
    with open_notes(options) as memory:
        config = memory.config()
        with _changing(config) as journal:
            key, near = _find_session(journal, memory.items, key)
            logs = journal.describe_logs([key])
            turns = len(journal.forget(lambda session, _text, _at: session.key == key, dry_run=dry_run))
        done = memory.items.forget(session=key, dry_run=dry_run)
        items = done.items
        # Of its log, items tell what is known after its turns are gone.
        remains = () if dry_run else tuple(each for each in done.remains if each != journal.describe_logs([key]))
        if not dry_run:
            from memory_core.backends.past import wipe_index

            if turns or items:
                activity.record(config, "forgot", "forget", key, [item.id for item in items])
            memory.sync()
            remains += tuple(wipe_index(config.store_path))
    if turns or items:
        remains += (logs,)
    forgotten = {"messages": turns, "items": [item.id for item in items], "dryRun": dry_run, "remains": remains}
    if not output.prints_json(forgotten):
        counted = f"{output.count(turns, 'message')} and {output.count(len(items), 'item')}"
        output.write(f"{counted} {'would be' if dry_run else 'are'} forgotten.")
        for sentence in [*remains, *list_remains(config, items, of_person=done.of_person)]:
            output.complain(sentence)
    if not (turns or items):
        hint = f"; did you mean {near}?" if near else ""
        output.complain(f"no session {key!r} has said anything that is kept{hint}")
    return 0 if turns or items else 1


def _find_session(journal: Journal, items: Items, asked: str) -> tuple[str, str]:
    """Return the id of the session that is asked for, and a near one if there is no such session.

    Args:
        journal, items: In which it has said something.
        asked: Its id, the beginning of a UUID, or the path of its turns as a hit shows it.

    Raises:
        InvalidArgument: Several ids begin so, or one that is no UUID: "session-1" may be gone, and is not "session-10".
    """
    sessions = journal.list_sessions()
    keys = {*(session.key for session in sessions), *(item.origin.session or "" for item in items.export())} - {""}
    file = read_citation(asked).path.removeprefix(SHOWN).removesuffix(SUFFIX) + SUFFIX
    named = {session.key for session in sessions if session.file_name == file} | keys & {asked}
    begun = sorted(key for key in keys if key.startswith(asked))
    if not named and len(asked) >= LEAST_ID and all(map(_UUID.fullmatch, begun)):
        named = {*begun}
    if len(named) > 1:
        raise InvalidArgument("--session", f"{asked!r} is the beginning of several: {', '.join(sorted(named))}")
    if begun and not named:
        near = " or ".join(map(repr, begun[:3]))
        raise InvalidArgument("--session", f"{asked!r} is not a whole id; did you mean {near}?")
    for key in named - {asked}:
        output.print_aside(f"Session {key}:")
    if named:
        return named.pop(), ""
    near = find_similar(asked, keys, likeness=0.6)
    return asked, repr(near) if near else ""


def diagnose_journal(config: AgentConfig) -> Iterator[Finding]:
    """Yield what is to be known about the journal: that it is on or paused, and what it lacks."""
    if not config.search.items.capture.journal:
        return
    journal, about = Journal(config.journal_dir), partial(Finding, "journal")
    days = config.search.items.capture.retention_days
    message = f"{output.count(len(journal.list_sessions()), 'session')} in {journal.folder}, for {days:g} days"
    if journal.is_paused:
        yield about("warn", f"{message}; paused, nothing is kept", "run: memory-core resume")
    else:
        yield about("ok", message)
    if problem := journal.find_write_problem():
        yield about("fail", f"nothing is kept: {problem}", "make it writable, and run: memory-core index")
    if problem := journal.find_problem():
        yield about("warn", f"at {problem}")
    if unread := journal.count_unread():
        message = f"transcripts hold {output.count(unread, 'message')} that it lacks"
        yield about("warn", message, "run: memory-core index")
