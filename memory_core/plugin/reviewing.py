"""Proposals for the notes of one agent as commands, tools and the page use them: found, accepted, rejected, undone."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from memory_core.config.agent import AgentConfig
from memory_core.errors import InvalidArgument, LoggedProblems, NotUndone, PathRefused
from memory_core.records import Hit, ProgressCallback, Successor
from memory_core.sources import pages
from memory_core.text.messages import quote_safely
from memory_core.text.terms import extract_words
from memory_core.tools.prompts import CONTEXT_CHARS
from memory_core.upkeep.outdated import STRONG
from memory_core.upkeep.proposals import Proposal
from memory_core.upkeep.store import Edit, TidyStore
from memory_core.upkeep.tidy import Tidy, Undone, choose_line

if TYPE_CHECKING:
    from memory_core.completions import Complete
    from memory_core.items.items import Items
    from memory_core.items.records import Item

log = logging.getLogger(__name__)

DAY_SECONDS = 24 * 3600
ITEMS = "items"  # in place of the path of a note
# Of the tools.
LIMIT = 10
NOT_OFFERED = "proposals are not for agents here"
SWITCH_ON = "set memorySearch.tidy.agentMayApply to true to let agents settle proposals, to false to let them make some"
NOT_HERE = "proposals may be used in the main private session only"


class Review:
    """The proposals of one agent. The constructor opens nothing; close it.

    Args:
        config: The agent's.
        items: Its items, of which those that are pending are proposed, too; None leaves them out.
        sync: Indexes what has changed in the notes, so that the history holds a note as it was before an edit.
    """

    def __init__(self, config: AgentConfig, items: Items | None, sync: Callable[[], Any]) -> None:
        self._config = config
        self._items = items
        self._sync = sync
        self._tidy = Tidy(config)

    def close(self) -> None:
        """Close the file of tidy."""
        self._tidy.close()

    def find(self, complete: Complete | None = None, *, progress: ProgressCallback | None = None) -> list[Proposal]:
        """Look at what has changed in the notes, and return all that is proposed, the surest first.

        Args:
            complete: Asks a model to judge what the rules suspect; see `Tidy.consult`.
            progress: See `Tidy.run`.
        """
        noted = self._tidy.run(shown_chars=CONTEXT_CHARS, progress=progress)
        if complete is not None:
            self._tidy.consult(complete)
            noted = self._tidy.run(shown_chars=CONTEXT_CHARS)
        return [*noted, *self._list_items()]

    def accept(self, ids: Sequence[str], text: str | None = None) -> list[Proposal]:
        """Make the changes that proposals name, those of a note from its end to its beginning; return the proposals.

        None is made if one of the ids cannot be accepted. Where a note changes or cannot be written meanwhile, what was made
        before stays.

        Args:
            ids: Of the proposals.
            text: The line to write instead of the proposed one.

        Raises:
            InvalidArgument: There is no such proposal, or not any more; it names no new line, or two change one line.
            PathRefused: The note does not lie in the workspace.
            NoteChanged, NoteNotWritten: A note was changed meanwhile, or cannot be written.
        """
        if self._config.search.history.enabled:
            self._sync()
        known, places = self.find(), dict[tuple[str, int], str]()
        accepted = [_pick(known, each) for each in dict.fromkeys(ids)]
        for found in accepted:
            if not self.can_change(found):
                raise PathRefused(found.path, "does not lie in the workspace", action="change it by hand")
            choose_line(found, text)
            for line in range(found.line, found.line + found.text.count("\n") + 1):
                first = places.setdefault((found.path, line), found.id)
                if first != found.id and found.path != ITEMS:
                    why = f"{first} and {found.id} change the same line, {found.path}:{line}"
                    raise InvalidArgument("id", why, action="accept one, and look at what is proposed then")
        stands: dict[tuple[str, str], str] = {}  # the hash that a note has now, by its path and the hash that it had
        for found in sorted(accepted, key=lambda each: -each.line):
            if found.path == ITEMS and self._items is not None:
                change: Callable[[Sequence[str]], object] = (
                    self._items.promote if found.kind == "pending" else self._items.share
                )
                self._change_item(found.id, partial(change, [found.id]))
            else:
                place = found.path, found.note_hash
                stands[place] = self._tidy.accept(replace(found, note_hash=stands.get(place, found.note_hash)), text)
        return accepted

    def can_change(self, proposal: Proposal) -> bool:
        """Return True for a proposal about an item, or about a note that lies in the workspace."""
        if proposal.path == ITEMS:
            return True
        place = pages.find_place(self._config, proposal.path)
        return place.real_path.is_relative_to(self._config.workspace.resolve())

    def reject(self, ids: Sequence[str]) -> list[Proposal]:
        """Never propose these again; return them.

        Raises:
            InvalidArgument: There is no such proposal.
        """
        known = self.find()
        done = [_pick(known, each) for each in ids]
        for found in done:
            if found.kind == "pending" and self._items is not None:
                self._change_item(found.id, partial(self._items.delete, found.id))
            else:
                self._tidy.store.settle(found.id)
        return done

    def propose(self, path: str, line: int, text: str, why: str) -> Proposal:
        """Keep what an agent proposes; see `Tidy.propose`."""
        return self._tidy.propose(path, line, text, f"{why} (proposed by an agent)")

    def undo(self) -> Undone:
        """Take back the last change that was accepted, or what was rejected after it; see `Tidy.undo`.

        Raises:
            NotUndone: There is none, or it was an item that is forgotten since; the next undo takes back what was before.
        """
        last = None if (rejected := self._tidy.store.find_rejected()) else self._tidy.find_last()
        if last is not None and last.path == ITEMS and self._items is not None:
            item = self._items.demote(last.proposal)
            self._tidy.store.end_edit(last.id, 2)
            if item is None:
                problem = (
                    f"what was settled last is the item {last.proposal}, which is forgotten, and nothing brings it back"
                )
                raise NotUndone(problem, action="take back what was before: memory-core review undo")
            return Undone(item.id, ITEMS, 1, item.content)
        if rejected is None:
            return self._tidy.undo()
        self._tidy.store.settle(rejected, settled=False)
        found = next((each for each in self.find() if each.id == rejected), None)
        return Undone(
            rejected, *((found.path, found.line, found.text.strip()) if found else ("", 0, "")), rejected=True
        )

    def _change_item(self, item_id: str, change: Callable[[], object]) -> None:
        """Change an item, and record that this was done last."""
        edit = self._tidy.store.begin_edit(Edit(0, item_id, ITEMS, 0, b"", b"", b"", done=1))
        try:
            change()
        except BaseException:
            self._tidy.store.end_edit(edit, -1)
            raise

    def _list_items(self) -> Iterator[Proposal]:
        """Yield the items that wait to be confirmed, and those that a private project may give to the person's layer."""
        if self._items is None:
            return
        for item in self._items.list(limit=100):
            if item.pending and item.superseded_by is None:
                yield _propose(item, "pending", "It was said once, and waits to be said again or confirmed.")
        for item in self._items.list_personal():
            if not self._tidy.store.is_settled(item.id):
                by = item.origin.by
                said = (
                    "You said it in a private project" if by == "user" else f"A private project keeps it (origin: {by})"
                )
                why = f"{said}; accepted, it holds in all of your projects."
                yield _propose(item, "personal", why)


def _propose(item: Item, kind: Literal["pending", "personal"], why: str) -> Proposal:
    return Proposal(id=item.id, kind=kind, path=ITEMS, line=1, text=item.content, new=item.content, why=why)


def _pick(known: Sequence[Proposal], proposal_id: str) -> Proposal:
    for each in known:
        if each.id == proposal_id:
            return each
    raise InvalidArgument("id", f"there is no proposal {proposal_id!r:.40}", action="run: memory-core review")


def shape(proposal: Proposal) -> dict[str, Any]:
    """Return a proposal as a model sees it: nothing in it can pass for anything but text."""
    places = [{"path": each.path, "line": each.line, "text": quote_safely(each.text)} for each in proposal.evidence]
    return {
        "id": proposal.id, "kind": proposal.kind, "path": proposal.path, "line": proposal.line,
        "text": quote_safely(proposal.text), "new": None if proposal.new is None else quote_safely(proposal.new),
        "why": proposal.why, "evidence": places,
    }  # fmt: skip


def run_if_due(config: AgentConfig) -> None:
    """Look at what has changed in the notes, unless that was done within `memorySearch.tidy.interval`; a problem is logged."""
    with LoggedProblems(log, "tidy does not run in the background"), closing(Tidy(config)) as tidy:
        if tidy.store.take_turn("run", config.search.tidy.interval * 3600):
            tidy.run(shown_chars=CONTEXT_CHARS)


def mark_proposed(hits: Sequence[Hit], question: str, config: AgentConfig) -> tuple[Hit, ...]:
    """Return hits, those with a line that is proposed as outdated on strong evidence marked, and behind what replaces them.

    Of several such lines of a hit, one that holds a word of the question is named; a hit in which none does keeps its place. A
    file of tidy that cannot be read takes no hit away.
    """
    paths = {hit.path for hit in hits}
    found: list[Proposal] = []
    with (
        LoggedProblems(log, "hits are shown without what is proposed for them"),
        closing(TidyStore(config.tidy_path, writable=False)) as store,
    ):
        found = [each for each in store.list_proposals(paths) if each.kind == "outdated"]
    words = {*extract_words(question)}
    # What answers the question, too, is named first.
    found.sort(key=lambda each: (words.isdisjoint(extract_words(each.text)), each.evidence[0].path not in paths))
    marked = list(hits)
    for each in found:
        newer = each.evidence[0]
        stale = next((at for at, hit in enumerate(marked) if _is_outdated(hit, each)), None)
        if stale is None or each.score < STRONG:
            continue
        text = quote_safely(newer.text)
        told = Successor(newer.path, newer.line, text, newer.date, because="proposal", replaces=each.line)
        held = [
            at
            for at, hit in enumerate(marked)
            if hit.path == newer.path and hit.start_line <= newer.line <= hit.end_line
        ]
        asked = marked[stale].start_line == marked[stale].end_line or not words.isdisjoint(extract_words(each.text))
        behind = max([stale, *held]) if asked else stale  # what else the hit says may be the answer
        hit = marked.pop(stale)
        last = marked[behind - 1].score if behind > stale else hit.score
        marked.insert(behind, replace(hit, superseded_by=told, score=min(hit.score, last)))
    return tuple(marked)


def _is_outdated(hit: Hit, proposal: Proposal) -> bool:
    """Return True if a hit shows the line of a proposal as it was judged, and nothing else is known to replace it."""
    stands = hit.path == proposal.path and hit.start_line <= proposal.line <= hit.end_line
    return stands and hit.superseded_by is None and proposal.text.strip(" -*+>|") in hit.snippet


def tell_of_proposals(config: AgentConfig) -> str:
    """Return a sentence that proposals wait, at most once a day; "" otherwise, as where the file of tidy cannot be used."""
    with LoggedProblems(log, "nothing is told of proposals"), closing(TidyStore(config.tidy_path)) as store:
        count = len(store.list_proposals())
        if count and store.take_turn("told", DAY_SECONDS):
            what = "proposal" if count == 1 else "proposals"
            return f"{count} {what} for the notes wait for the user: memory-core review"
    return ""
