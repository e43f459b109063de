"""The sync of one agent's notes and items with other machines, as commands and sessions use it."""

from __future__ import annotations

import json
import logging
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, wait
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from memory_core.as_json import to_json
from memory_core.atomic import replace_file
from memory_core.config.agent import AgentConfig, Project
from memory_core.config.environment import find_home, quote_words
from memory_core.config.projects import find_repository, is_private_folder
from memory_core.errors import ConfigError, MemoryCoreError
from memory_core.records import Finding
from memory_core.sharing import STATE, list_due
from memory_core.threads import start_call

if TYPE_CHECKING:
    from memory_core.items.records import Item
    from memory_core.sharing.sharing import ItemsOf, Shared, Sharing

log = logging.getLogger(__name__)

CLOSE_SECONDS = 10.0  # that a program waits for its syncs before it ends them
END_SECONDS = 3.0  # that their end may take
POLL_SECONDS = 0.05
JUST_NOW_MINUTES = 1.0  # in which another session has synced
UNREAD = "unread-items.txt"  # in the folder of a workspace's sync


@contextmanager
def open_sharing(config: AgentConfig, whose: ItemsOf = "") -> Iterator[Sharing]:
    """Open the sync of a workspace, with the items that travel with its notes, if any do.

    Args:
        config: Of the workspace, which may be found or named.
        whose: These items; "" for those of which `sync init` has decided.
    """
    from memory_core.items.items import Items
    from memory_core.items.records import Draft
    from memory_core.sharing.sharing import ITEMS_FOLDER, SharedText, Sharing

    whose = whose or _load_owner(config) or judge_owner(config)
    if whose == "nobody":
        yield Sharing(config, items=whose)
        return
    project = config.project or Project(folder=config.workspace)
    items = Items(replace(config, project=project if whose == "project" else None))
    taken = Taken(config.sharing_dir / UNREAD)

    def write(was: str, new: str) -> None:
        items.take_over(take_change(was, new))
        taken.remember(new)

    def list_forgotten(base: str) -> set[str]:
        told = {each.item.id: each.item.content for each in read_shared(base).values() if each.item}
        return {name for name, content in told.items() if items.was_forgotten(Draft(content=content, said_at=0.0))}

    text = SharedText(
        path=f"{ITEMS_FOLDER}{config.agent}.jsonl",
        read=lambda base: write_shared(hold(items.export(), read_shared(taken.pick(base)))),
        merge=lambda base, first, second: merge_items(taken.pick(base), first, second),
        write=write,
        refuse=refuse_lines,
        list_ids=lambda text: {name for name, each in read_shared(taken.pick(text)).items() if each.item},
        list_forgotten=list_forgotten,
    )
    with closing(items):
        yield Sharing(config, [text], whose)


def _load_owner(config: AgentConfig) -> ItemsOf:
    """Return what `sync init` has kept, which holds however the workspace is named now."""
    from memory_core.sharing.sharing import Sharing

    with suppress(MemoryCoreError):  # a damaged state is told by whoever syncs
        if state := Sharing(config).load():
            return state.items
    return ""


def judge_owner(config: AgentConfig) -> ItemsOf:
    """Judge whose items are to travel with the notes of a workspace, as it is named now.

    Those of a project go with the project, those of the person with notes of their own, and none with the folder of `local` or
    of a repository that is named, nor with one of which that cannot be known.
    """
    if config.project is not None:
        return "project"
    with suppress(ConfigError):  # this user has no home folder
        if config.is_own or not (
            is_private_folder(config.workspace, os.environ) or find_repository(config.workspace, find_home())
        ):
            return "person"
    return "nobody"


class SharedItem(NamedTuple):
    """An item as it is synced.

    Attributes:
        line: Its JSON, without when it was recalled here, and with what a newer version has put into it.
        item: None if this version cannot read it; its line stays as it is.
        whole: This version knows all of its fields.
    """

    line: str
    item: Item | None
    whole: bool = True


class Taken(NamedTuple):
    """Of the items that were synced last, those that this machine has wholly taken.

    A line that its version could not read was never taken: once a newer version reads it, it is new here, not deleted here.

    Attributes:
        path: A file with the ids of the others, a line each; need not exist.
    """

    path: Path

    def pick(self, base: str) -> str:
        """Leave out what this version reads and the one that synced it last did not."""
        if not self.path.exists():
            return base
        unread = {*self.path.read_text(encoding="utf-8", errors="surrogateescape").split("\n")}
        found = read_shared(base)
        return write_shared({name: each for name, each in found.items() if not each.whole or name not in unread})

    def remember(self, text: str) -> None:
        """Remember what this version cannot read of items that are synced, or of their fields."""
        unread = [name for name, each in read_shared(text).items() if not each.whole]
        if unread or self.path.exists():
            replace_file(self.path, "\n".join(unread).encode(errors="surrogateescape"))


def read_shared(text: str) -> dict[str, SharedItem]:
    """Return the lines of items, by the id; a line that has none is its own."""
    from memory_core.items.records import read_known

    found: dict[str, SharedItem] = {}
    for line in filter(str.strip, text.split("\n")):
        try:
            item, whole = read_known(line)
            found[item.id] = SharedItem(line, item, whole)
        except ValueError:
            found[_find_id(line)] = SharedItem(line, None, whole=False)
    return found


def _find_id(line: str) -> str:
    try:
        return str(json.loads(line)["id"])
    except (ValueError, LookupError, TypeError, RecursionError):
        return line


def refuse_lines(text: str) -> dict[int, str]:
    """Return the numbers of the lines that this version cannot read, from 1, and why."""
    from memory_core.items.records import read_known

    found: dict[int, str] = {}
    for number, line in enumerate(text.split("\n"), 1):
        try:
            if line.strip():
                read_known(line)
        except ValueError as error:
            found[number] = f"is no item that this version can read; it is kept and synced as it is ({error})"
    return found


def write_shared(items: Mapping[str, SharedItem]) -> str:
    """Return items as they are synced: a line each, in the order of their ids."""
    return "".join(f"{items[name].line}\n" for name in sorted(items))


def hold(items: Iterable[Item], base: Mapping[str, SharedItem]) -> dict[str, SharedItem]:
    """Return the items of this machine as they are synced: those that have not changed since the base with its lines."""
    unread = {name: each for name, each in base.items() if each.item is None}
    return {item.id: _write(item, base.get(item.id)) for item in items} | unread


def _write(item: Item, known: SharedItem | None) -> SharedItem:
    """Return an item as it is synced, with what is known of it that this version does not read."""
    item = replace(item, recalled=None)
    if known is not None and known.item == item:
        return known
    raw = to_json(item) if known is None or known.item is None else _put_over(json.loads(known.line), to_json(item))
    return SharedItem(json.dumps(raw, ensure_ascii=False), item)


def _put_over(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """Return an object with the fields of a new one, objects in it likewise, and those that only the old one has."""
    inner = {name for name, value in new.items() if isinstance(value, dict) and isinstance(old.get(name), dict)}
    return {**old, **new, **{name: _put_over(old[name], new[name]) for name in inner}}


def take_change(was: str, new: str) -> Callable[[Mapping[str, Item]], dict[str, Item]]:
    """Return a function that merges a change of the items with those that are held now."""
    old, changed = read_shared(was), read_shared(new)

    def take(held: Mapping[str, Item]) -> dict[str, Item]:
        merged = _merge(old, changed, hold(held.values(), old))
        read = {name: each.item or held.get(name) for name, each in merged.items()}
        return {name: item for name, item in read.items() if item is not None}

    return take


def merge_items(base: str, first: str, second: str) -> str:
    """Merge the items of two machines.

    An item that one side has deleted is gone. Of two changes the later one counts, and of a fact that both have learned the item
    that is older. Clocks decide only where both sides have changed one item; of two changes at one time the first side's counts.
    A line that cannot be read is the later change.
    """
    return write_shared(_merge(*map(read_shared, (base, first, second))))


def _merge(old: Mapping[str, SharedItem], *sides: Mapping[str, SharedItem]) -> dict[str, SharedItem]:
    from memory_core.items.store.rows import fold

    merged: dict[str, SharedItem] = {}
    found: list[tuple[Item, SharedItem]] = []
    for name in sides[0].keys() | sides[1].keys():
        versions = [side[name] for side in sides if name in side]
        changed = [each for each in versions if each != old.get(name)] or versions
        if len(versions) == 2 or name not in old:
            latest = max(changed, key=lambda each: (not each.item, each.item.updated if each.item else 0.0))
            if latest.item is None:
                merged[name] = latest
            else:
                found.append((latest.item, latest))
    facts: dict[tuple[str, str], tuple[Item, SharedItem]] = {}
    replaced: dict[str, str] = {}
    for item, shared in sorted(found, key=lambda each: (each[0].created, each[0].id)):
        fact = item.scope, fold(item.content)
        if fact not in facts:
            facts[fact] = item, shared
            continue
        kept, known = facts[fact]  # said on both machines
        replaced[item.id] = kept.id
        both = replace(
            kept, said=max(kept.said, item.said), updated=max(kept.updated, item.updated),
            tags=tuple(dict.fromkeys((*kept.tags, *item.tags))), reinforced=kept.reinforced + item.reinforced + 1,
            pending=kept.pending and item.pending, superseded_by=kept.superseded_by and item.superseded_by,
        )  # fmt: skip
        facts[fact] = both, known
    for item, known in facts.values():
        by = replaced.get(item.superseded_by or "", item.superseded_by)
        merged[item.id] = _write(replace(item, superseded_by=by), known)
    return merged


def diagnose_sharing(config: AgentConfig) -> list[Finding]:
    """Return a finding about the last sync of a workspace, and of each of its layers, with other machines that did not work."""
    return [found for each in (config, *config.layers) for found in _diagnose(each)]


def _diagnose(config: AgentConfig) -> list[Finding]:
    if not os.path.isfile(config.sharing_dir / STATE):  # noqa: PTH113 -- Path raises in a folder that may not be entered
        return []
    from memory_core.sharing.sharing import Sharing

    # What the state says to do is said of the workspace of a session, not of a layer.
    place = f"--workspace {quote_words(str(config.workspace))} " if config.layer else ""
    see = f"see: memory-core {place}sync status"
    try:
        state = Sharing(config).load()
    except MemoryCoreError as error:
        return [Finding("sync", "fail", str(error), see if place else error.action)]
    if state is None or not state.on or not state.problem:
        return []
    action = f"it will be tried again; {see}" if state.waits else see if place else state.action
    notes = f"the notes of the layer {config.layer}" if config.layer else "the notes"
    return [Finding("sync", "warn", f"{notes} are not synced: {state.problem}", action)]


def propose(config: AgentConfig, done: Shared) -> None:
    """Propose to take away the other machine's version of what both have changed; `review` shows it."""
    from memory_core.upkeep.tidy import Tidy

    for path, conflict in done.conflicts:
        try:
            lines = (config.workspace / path).read_text(encoding="utf-8", errors="replace").split("\n")
            first, second = conflict.first.split("\n"), conflict.second.split("\n")
            which = "these lines" if len(first) > 1 else "this line"
            why = f"Two machines have changed {which}; the other version stands, too."
            places = [at for at in range(len(lines)) if lines[at : at + len(first)] == first]
            at = min(places, key=lambda at: lines[at + len(first) :][: len(second)] != second)  # beside it, if anywhere
            others = [lines.index(line) + 1 for line in second if line.strip()]
            with closing(Tidy(config)) as tidy:
                tidy.propose(path, at + 1, "", why, count=len(first), others=others)
        except (MemoryCoreError, OSError, ValueError) as error:
            log.info("both versions stay in %s, and none is proposed: %s", path, error)


def sync_behind(config: AgentConfig) -> None:
    """Sync in the background; a problem is kept for `sync status`, and tried again after the next session."""
    try:
        with open_sharing(config) as sharing:
            propose(config, sharing.sync())
    except MemoryCoreError as error:
        log.info("the notes are not synced: %s", error)
    except Exception as error:  # noqa: BLE001 -- nobody waits for it; `Sharing` has kept what `sync status` tells
        log.warning("the notes are not synced, which is a defect: %r", error)


class BackgroundSyncs:
    """The syncs with other machines that the sessions of one memory start. Making one starts nothing.

    Args:
        start: Starts those in a process of its own that were not tried within so many minutes; nobody waits for it. None runs
            them in threads.
    """

    def __init__(self, start: Callable[[float], object] | None = None) -> None:
        self._start = start
        self._lock = threading.Lock()
        self._closed = False
        self._running: list[tuple[AgentConfig, Future[None]]] = []

    def start_if_due(self, config: AgentConfig, minutes: float = 0.0) -> None:
        """Sync a workspace and its layers in the background where that is set up; several may start at once.

        Nothing is synced that was tried within so many minutes.
        """
        due = list_due(config, minutes)
        if not due:
            return
        if self._start is not None:
            self._start(minutes)
            return
        with self._lock:
            if not self._closed:
                started = [(each, start_call(partial(sync_behind, each), name="memory-core-sharing")) for each in due]
                self._running = [*(each for each in self._running if not each[1].done()), *started]

    def close(self) -> tuple[str, ...]:
        """Start none any more; wait for the threads, end the git of those that take too long, and name what still runs."""
        with self._lock:
            self._closed = True
        left, until = self._running, time.monotonic() + CLOSE_SECONDS
        wait([sync for _, sync in left], CLOSE_SECONDS)
        while (left := [each for each in left if not each[1].done()]) and time.monotonic() < until + END_SECONDS:
            from memory_core.sharing.sharing import Sharing

            for config, _ in left:
                Sharing(config).stop()
            wait([sync for _, sync in left], POLL_SECONDS)  # it may begin another run of git meanwhile
        return tuple(f"the sync of {config.workspace} still runs" for config, _ in left)
