"""The judgement on what one side of a sync has lost: most of it is deleted on the other side only if a person has said so."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Literal, NamedTuple

from memory_core.errors import SharingFailed
from memory_core.sharing.merge import Read, Tree, list_own

FEW = 2  # notes or items that are deleted without a question, also if they are most
TAKE_BACK = "Take them back: memory-core sync --restore; or delete them on all machines: memory-core sync --delete"
SEND_AGAIN = "Send them again: memory-core sync --restore; or delete them here, too: memory-core sync --delete"

# What happens to what one side has lost: too much is refused; all returns, or only if it is too much; or all is deleted.
Losses = Literal["refuse", "restore", "join", "delete"]
ListIds = Callable[
    [str], Collection[str]
]  # returns the ids of what a text holds, or of what of it was deleted on purpose


class Loss(NamedTuple):
    """The names of what one side has lost, and True if nothing else is kept, though new things may be there."""

    names: set[str]
    is_all: bool


class _Kind(NamedTuple):
    """Things that are lost and kept together: all notes, or the items of one text.

    Attributes:
        what, whose: Its name in messages, and that of the side here.
        paths: Its texts in the base.
        list: Returns the names of all that a state has.
        find: Returns what a state has lost of the base.
        list_forgotten: Returns the names of what of the base a person has deleted here one by one.
    """

    what: str
    whose: str
    paths: Collection[str]
    list: Callable[[Tree], Collection[str]]
    find: Callable[[Tree], Loss]
    list_forgotten: Callable[[], Collection[str]] = frozenset

    def is_worth_asking(self, lost: Collection[str], side: Tree) -> bool:
        """Return True if it is worth a question that these were all: several, or the only note where no other one stands."""
        return len(lost) > 1 or (self.what == "notes" and not self.list(side))


def settle_losses(
    base: dict[str, str],
    mine: Tree,
    theirs: Tree,
    read: Read,
    *,
    losses: Losses,
    others: Mapping[str, ListIds],
    forgotten: Mapping[str, ListIds],
    workspace: Path,
    find_meant: Callable[[], Tree | None],
) -> bool:
    """Take from the base the notes and other texts that are to return where they were lost.

    Args:
        base: The last state that both sides had.
        mine, theirs: The states of this machine and of the remote.
        read: Returns the text of a hash.
        losses: What happens to what one side has lost.
        others, forgotten: The texts beside the notes, by path.
        workspace: The one of this machine.
        find_meant: Returns the last state of the remote to which a person has agreed; None if nobody was asked since the base.

    Returns:
        True if all of a kind was forgotten here, which is not to be asked for elsewhere.

    Raises:
        SharingFailed: Most would be deleted elsewhere, or all here, and nobody has said so.
    """
    is_meant = False
    for kind in _list_kinds(dict(base), read, others, forgotten, workspace):
        here, there = kind.find(mine), kind.find(theirs)
        if here.names and (forgot := here.names.intersection(kind.list_forgotten())):
            is_meant |= here.is_all and forgot == here.names
            here = here._replace(names=here.names - forgot)
        unasked = there.names
        if losses == "refuse" and there.is_all and unasked and (meant := find_meant()) is not None:
            unasked = unasked - kind.find(meant).names
        lost, lost_there, known = here.names - there.names, unasked - here.names, kind.list(base)
        is_most = len(lost) > FEW and 2 * len(lost) > len(known)
        is_much = is_most or (here.is_all and kind.is_worth_asking(here.names, mine))
        # Of most that the remote has lost, the person of the other machine was asked.
        is_much_there = there.is_all and kind.is_worth_asking(unasked, theirs)
        count = f"of its {len(known)} {kind.what}, which would be deleted"
        for names, much, problem, action in (
            (lost, is_much, f"{kind.whose} has lost {len(lost)} {count} everywhere", TAKE_BACK),
            (lost_there, is_much_there, f"the remote has lost {len(lost_there)} {count} here", SEND_AGAIN),
        ):
            if names and much and losses == "refuse":
                raise SharingFailed(problem, action=action)
            if names and (losses == "restore" or (much and losses == "join")):
                # Of what was begun anew under an old name, nothing tells which lines were deleted.
                for path in kind.paths if much else names.intersection(kind.paths) or kind.paths:
                    base.pop(path, None)
    return is_meant


def _list_kinds(
    base: Tree, read: Read, others: Mapping[str, ListIds], forgotten: Mapping[str, ListIds], workspace: Path
) -> Iterator[_Kind]:
    def list_notes(tree: Tree) -> dict[str, str]:
        return {path: blob for path, blob in tree.items() if path not in others}

    def list_items(path: str, tree: Tree, ids: Mapping[str, ListIds] = others) -> set[str]:
        return {*ids[path](read(tree[path]))} if path in tree else set()

    def find_items(path: str, side: Tree) -> Loss:
        lost = list_items(path, base) - list_items(path, side)
        return Loss(lost, lost == list_items(path, base))

    notes = list_notes(base)
    yield _Kind("notes", str(workspace), notes, list_notes, lambda side: find_lost(notes, list_notes(side), read))
    for path in others:
        names = partial(list_items, path)
        yield _Kind("items", f"{path} here", [path], names, partial(find_items, path), partial(names, base, forgotten))


def find_lost(base: Tree, side: Tree, read: Read) -> Loss:
    """Find the notes that a version of a folder has lost: less than half of their lines stand in it, in whatever notes.

    One whose name stands over another text counts only where no note is kept: all were written anew.
    """
    blobs = {*side.values()}
    changed = [path for path, blob in base.items() if blob not in blobs]
    gone = [path for path in changed if path not in side or not list_own(read(side[path]))]
    is_kept = not changed or any(blob in blobs and list_own(read(blob)) for blob in base.values())
    texts = {path: list_own(read(base[path])) for path in (gone if is_kept else changed)}
    stands = {line for blob in blobs for line in list_own(read(blob))} if texts else set()
    lost = {path for path, lines in texts.items() if 2 * len(lines & stands) < len(lines) or not lines}
    is_all = not is_kept and len(lost) == len(changed)
    return Loss(lost if is_all else lost.intersection(gone), is_all)
