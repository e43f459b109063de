"""The commands for items: list, show, add, promote, forget, export, import."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memory_core.cli import output
from memory_core.cli.parser import Argument, Command, Options
from memory_core.config.fields import to_camel
from memory_core.errors import InvalidArgument
from memory_core.records import ITEM_KINDS
from memory_core.text.messages import quote_safely

if TYPE_CHECKING:
    from memory_core.config.agent import AgentConfig
    from memory_core.items.items import Items
    from memory_core.items.records import Item
    from memory_core.plugin.memory import Memory

Opener = Callable[[Options], "Memory"]


class ItemCommands:
    """The commands, over the memory that their options name.

    Args:
        open_memory: Opens it.
    """

    def __init__(self, open_memory: Opener) -> None:
        self._open_memory = open_memory

    @property
    def rows(self) -> tuple[Command, ...]:
        """The rows of the table of commands."""
        scope = Argument.of("--scope", metavar="NAME", help="only items of this scope")
        tag = Argument.of(
            "--tag", dest="tags", action="append", metavar="TAG", help="a tag; may be given several times"
        )
        return (
            Command(
                name="items list",
                group="List, show, add, promote, forget, export or import items: short facts beside the notes.",
                help="List items, the one said last first; or those that answer a question, the best first.",
                run=self._run_list,
                arguments=(
                    Argument.of("query", metavar="QUERY", nargs="*", help="question or words to look for"),
                    scope,
                    tag,
                    Argument.of("--limit", type=int, default=20, metavar="N", help="at most N items (20)"),
                ),
            ),
            Command(
                name="items show",
                help="Show one item with its origin.",
                run=self._run_show,
                arguments=(Argument.of("id", metavar="ID", help="id as the list shows it"),),
            ),
            Command(
                name="items add",
                help="Keep a short fact; the same fact is kept once.",
                run=self._run_add,
                arguments=(
                    Argument.of("text", metavar="TEXT", nargs="+", help="the fact, one or two sentences"),
                    Argument.of("--scope", metavar="NAME", help="where it belongs (memorySearch.items.scope)"),
                    tag,
                    Argument.of("--kind", choices=ITEM_KINDS, default="fact", help="fact, preference or decision"),
                    Argument.of(
                        "--corrects", action="store_true", help="it takes the place of the fact that it corrects"
                    ),
                ),
            ),
            Command(
                name="items promote",
                help="Let pending items count as facts, so that they are found and recalled.",
                run=self._run_promote,
                arguments=(Argument.of("ids", metavar="ID", nargs="+", help="ids as the list shows them"),),
            ),
            Command(
                name="items forget",
                help="Delete items for good: all that meet every condition given.",
                run=self._run_forget,
                arguments=(
                    Argument.of("ids", metavar="ID", nargs="*", help="ids as the list shows them"),
                    Argument.of("--query", metavar="WORDS", help="items that hold all of these words"),
                    Argument.of("--session", metavar="KEY", help="what only this session has said"),
                    Argument.of("--after", metavar="DATE", help="last said on this day or later, YYYY-MM-DD"),
                    Argument.of("--before", metavar="DATE", help="last said before this day"),
                    scope,
                    Argument.of("--dry-run", action="store_true", help="only show what would be deleted"),
                ),
            ),
            Command(name="items export", help="Print all items as JSON lines.", run=self._run_export),
            Command(
                name="items import",
                help="Add exported items; those that are there already are left as they are.",
                run=self._run_import,
                arguments=(
                    Argument.of(
                        "file", metavar="FILE", help="JSON lines as `items export` prints them; - is standard input"
                    ),
                ),
            ),
        )

    @contextmanager
    def _open(self, options: Options) -> Iterator[Items]:
        with self._open_memory(options) as memory:
            items = memory.items
            yield items
            if items.warning:
                output.complain(items.warning)

    def _run_list(self, options: Options) -> int:
        tags = options.tags or []
        with self._open(options) as items:
            if not options.query:
                found = list(items.list(scope=options.scope, tags=tags, limit=options.limit))
                total = items.count(scope=options.scope)
                if options.json:
                    output.print_json({"items": found, "total": total})
                else:
                    _print_items(found)
                    if not found:
                        print("No items yet.")
                    if len(found) < total and not tags:
                        output.print_aside(f"{len(found)} of {total} items; --limit shows more.")
                return 0
            answer = items.query(" ".join(options.query), scope=options.scope, tags=tags, limit=options.limit)
        if options.json:
            output.print_json(answer)
            return 0
        if answer.warning:
            output.complain(f"keywords answer alone: {answer.warning}")
        for hit in answer.hits:
            output.write(f"{hit.item.id}  {hit.score:.2f}  {_describe(hit.item)}")
        if not answer.hits:
            print("No matches.")
        return 0

    def _run_show(self, options: Options) -> int:
        with self._open(options) as items:
            item = items.get(options.id)
        if item is None:
            error, action = f"there is no item {options.id!r}", "`memory-core items list` shows the ids."
            if options.json:
                output.print_json({"error": error, "action": action})
            output.complain(error, action)
            return 1
        if options.json:
            output.print_json(item)
            return 0
        output.write(quote_safely(item.content))
        times = {name: output.format_time(getattr(item, name)) for name in ("created", "updated", "said", "recalled")}
        facts = {name: getattr(item, name) for name in ("id", "scope", "tags", "kind", "agent", "session", "speaker")}
        output.print_pairs(
            facts | times
            | {"said by other sessions": item.reinforced, "pending": item.pending or None, "superseded by": item.superseded_by}
        )  # fmt: skip
        return 0

    def _run_add(self, options: Options) -> int:
        from memory_core.items.records import Provenance

        with self._open(options) as items:
            done = items.write(
                " ".join(options.text), scope=options.scope, tags=options.tags or [], kind=options.kind,
                corrects=options.corrects, provenance=Provenance(speaker="user"),
            )  # fmt: skip
        if options.json:
            output.print_json(done)
            return 0
        verb = "Known already, said once more" if done.outcome == "reinforced" else "Kept"
        output.write(f"{verb}: {done.item.id}  {_describe(done.item)}")
        if done.superseded:
            print(f"It takes the place of {', '.join(done.superseded)}.")
        elif options.corrects:
            output.complain("no fact was found that it corrects", "`memory-core items list` shows the facts.")
        if done.warning:
            output.complain(f"it has no embedding yet: {done.warning}")
        return 0

    def _run_promote(self, options: Options) -> int:
        ids = list(dict.fromkeys(options.ids))
        with self._open(options) as items:
            promoted = items.promote(ids)
            found = items.get_many(ids)
        if options.json:
            output.print_json({"promoted": promoted, "items": found})
        else:
            _print_items(found)
            print(f"{promoted} {'item' if promoted == 1 else 'items'} promoted.")
        missing = sorted(set(ids) - {item.id for item in found})
        if missing:
            output.complain(f"there is no such item: {', '.join(missing)}")
        return 1 if missing else 0

    def _run_forget(self, options: Options) -> int:
        with self._open_memory(options) as memory:
            done = memory.items.forget(
                ids=options.ids, query=options.query, session=options.session, scope=options.scope,
                after=_read_day("--after", options.after), before=_read_day("--before", options.before),
                dry_run=options.dry_run,
            )  # fmt: skip
            told = _find_in_past(memory.config(), done.items)
        if options.json:
            output.print_json({**output.to_plain(done), "remains": [*done.remains, *told]})
        else:
            _print_items(done.items)
            verb = "would be deleted" if done.dry_run else "deleted"
            print(f"{len(done.items)} {'item' if len(done.items) == 1 else 'items'} {verb}.")
            for sentence in (*done.remains, *told):
                output.complain(sentence)
        missing = sorted(set(options.ids) - {item.id for item in done.items})
        if missing:
            output.complain(f"there is no such item: {', '.join(missing)}")
        return 1 if missing else 0

    def _run_export(self, options: Options) -> int:
        with self._open(options) as items:
            for item in items.export():
                print(json.dumps(output.to_plain(item), ensure_ascii=False))
        return 0

    def _run_import(self, options: Options) -> int:
        read = list(_read_items(options.file))
        with self._open(options) as items:
            new = items.restore(read)
        if options.json:
            output.print_json({"read": len(read), "new": new})
        else:
            print(f"{new} of {len(read)} items were new.")
        return 0


def _print_items(items: Sequence[Item]) -> None:
    for item in items:
        output.write(f"{item.id}  {_describe(item)}")


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


def _read_day(option: str, text: str | None) -> float | None:
    """Return the beginning of a local day as Unix seconds; None stays None."""
    if text is None:
        return None
    try:
        return datetime.strptime(text, "%Y-%m-%d").astimezone().timestamp()
    except ValueError as error:
        raise InvalidArgument(option, f"expected a date as YYYY-MM-DD, not {text!r}") from error


def _read_items(file: str) -> Iterator[Item]:
    """Yield the items of a file of JSON lines.

    Raises:
        InvalidArgument: The file cannot be read, or a line is no item.
    """
    try:
        text = sys.stdin.read() if file == "-" else Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise InvalidArgument("FILE", f"{file} cannot be read: {reason}") from error
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            try:
                yield _to_item(json.loads(line))
            except (ValueError, TypeError, KeyError) as error:
                raise InvalidArgument("FILE", f"line {number} of {file} is no item: {error}") from error


def _to_item(raw: Mapping[str, Any]) -> Item:
    """Return an item from the object of one line.

    Raises:
        ValueError, TypeError, KeyError: The object is no item.
    """
    from memory_core.items.records import Item

    if not isinstance(raw, dict):
        raise TypeError("expected an object")
    names = {to_camel(each.name): each.name for each in fields(Item)}
    if unknown := raw.keys() - names.keys():
        raise ValueError(f"unknown key {min(unknown)!r}")
    kinds: Mapping[str, tuple[type, ...]] = {
        "pending": (bool,), "reinforced": (int,), "created": (int, float), "updated": (int, float), "said": (int, float),
        "tags": (list,), "recalled": (int, float, type(None)), "session": (str, type(None)),
        "superseded_by": (str, type(None)),
    }  # fmt: skip
    values = {}
    for key, name in names.items():
        if key not in raw:
            raise ValueError(f"{key} is missing")
        if not isinstance(raw[key], kinds.get(name, (str,))):
            raise TypeError(f"{key} has the wrong type")
        values[name] = raw[key]
    if not all(isinstance(tag, str) for tag in values["tags"]):
        raise TypeError("tags has the wrong type")
    return Item(**{**values, "tags": tuple(values["tags"])})


def _find_in_past(config: AgentConfig, items: Sequence[Item]) -> list[str]:
    """Say which items old versions of notes still hold, and how to purge those."""
    import shlex
    from contextlib import closing

    from memory_core.history.history import History

    with closing(History(config, writable=False)) as history:
        texts = [item.content.rstrip(".") for item in items if history.exists()]
        held = [text for text in texts if history.deletions.find_text(text)]
    return [
        f"old versions of notes hold the text: memory-core history purge --match {shlex.quote(each)}" for each in held
    ]
