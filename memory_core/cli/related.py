"""The command `related`: what notes tell of a name, or which names there are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from memory_core.cli import opening, output
from memory_core.cli.parser import Options
from memory_core.errors import InvalidArgument
from memory_core.records import NOTHING_INDEXED
from memory_core.sources.roots import quote_name

if TYPE_CHECKING:
    from memory_core.records import KnownName, Mention, Neighbour, Related

NAMES = 30  # that are listed where no number is asked for
KINDS = {"note": "note", "tag": "tag", "link": "linked, without a note", "found": "looks like a name"}


def run_related(options: Options) -> int:
    """Print what is related to a name, or the names that there are."""
    name = " ".join(options.name).strip() if options.name else None
    if name == "":
        raise InvalidArgument(
            "NAME", "is empty", action="name a person, a project or a thing; without it, list the names"
        )
    most = options.max_results if options.max_results is not None or name else NAMES
    with opening.open_notes(options) as memory:
        found = memory.related(name, max_results=most)
        if NOTHING_INDEXED in (found.warning or ""):
            opening.explain_empty(memory)
    if options.json:
        output.print_json(found)
        return 0
    if found.warning:
        output.complain(found.warning, found.action)
    if found.stale:
        output.complain("the index lacks some notes, or their last changes", output.INDEX_IT)
    output.write(describe(found))
    return 0


def describe(found: Related) -> str:
    """Return what is related to a name as text for a person."""
    if found.name is None:
        return "\n".join(_list_names(found.names)) or "No note has a name, a link or a tag yet."
    if not found.count and not found.notes:
        near = "\n".join(["", "Names near to it:", *_list_names(found.names)]) if found.names else ""
        return f"No note mentions {found.name!r}.{near}"
    lines = [output.hang("", f"{found.name}{_describe_aliases(found.aliases)}: {_describe_times(found)}.")]
    if found.notes:
        lines.append(output.hang("Its note: " if len(found.notes) == 1 else "Its notes: ", ", ".join(found.notes)))
    lines += _list_places("Links and tags", found.backlinks)
    lines += _list_places("Mentions", found.mentions)
    if found.beside:
        lines += ["", "Beside it", *map(_describe_neighbour, found.beside)]
    return "\n".join(lines)


def _describe_times(found: Related) -> str:
    if not found.count:
        return "no other note links to it or mentions it"
    times = output.count(found.count, "place")
    if found.first is None:
        return times
    since = f"{found.first} to {found.last}" if found.last != found.first else f"on {found.first}"
    return f"{times}, {since}, in notes of {output.count(found.days, 'day')}"


def _describe_aliases(aliases: Sequence[str]) -> str:
    return f" ({', '.join(aliases)})" if aliases else ""


def _list_places(title: str, places: Sequence[Mention]) -> list[str]:
    if not places:
        return []
    return ["", title, *(output.hang(f"  {quote_name(each.path)}#L{each.line}  ", each.text) for each in places)]


def _describe_neighbour(each: Neighbour) -> str:
    since = f", since {each.first}" if each.first else ""
    where = ", ".join(f"{quote_name(place.path)}#L{place.line}" for place in each.places)
    return output.hang(f"  {each.name}  ", f"{output.count(each.count, 'time')}{since}: {where}")


def _list_names(names: Sequence[KnownName]) -> list[str]:
    return [
        f"{each.count:>5}  {each.name}{_describe_aliases(each.aliases)}{'' if each.kind == 'note' else f'  [{KINDS[each.kind]}]'}"
        for each in names
    ]
