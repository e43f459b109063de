"""The commands that search: hits, the reasons for them, a page that shows both, and what notes say of a name."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial, reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from memory_core import explanations, records
from memory_core.as_json import to_camel
from memory_core.cli import app, output
from memory_core.cli.app import Options, argument, command, open_notes, with_sources
from memory_core.config.agent import explain_off
from memory_core.config.environment import quote_words, split_words
from memory_core.config.settings import DEFAULT_AGENT
from memory_core.errors import InvalidArgument, MemoryCoreError
from memory_core.records import NOTHING_INDEXED
from memory_core.sources.refusals import describe_os_error, quote_name

if TYPE_CHECKING:
    from memory_core.plugin.memory import Memory

SHOWN = 8  # passages that are listed; --json lists all
LINE = 60  # characters of the passage that are quoted
MOST_QUOTED = 300  # characters of a question in a command that is proposed
BAR = 10  # characters of a full bar
ROW = "{:>2}  {:>5}  {:>8}  {:>5}  {:>7}  {}"  # of the table of passages
_FILE = re.compile(r"/|\.(md|jsonl)\b")  # in a word that names a note or a session log
NAMES = 30  # that are listed where no number is asked for
OPENS_AT_LINE = ("vi", "vim", "nvim", "nano", "emacs", "emacsclient", "micro", "kak")  # editors that take +LINE FILE
KINDS = {"note": "note", "tag": "tag", "link": "linked, without a note", "found": "looks like a name"}


def _with_limits(most: str, least: str) -> Callable[[app.Run], app.Run]:
    """Add the options that limit a search, with what `--max-results` and `--min-score` do."""
    limits = (
        click.option("--max-results", type=int, metavar="N", help=f"{most}, 1 to 100"),
        click.option("--min-score", type=float, metavar="X", help=f"{least}, 0 to 1"),
        click.option("--after", metavar="DATE", help='only from this date on, YYYY-MM-DD or "yesterday"'),
        click.option("--before", metavar="DATE", help="only up to this date"),
        click.option("--today", metavar="DATE", help='the day from which "yesterday" is counted, YYYY-MM-DD'),
        click.option("--about", metavar="NAME", help="only what mentions this name, or an alias of it"),
    )
    return lambda function: reduce(lambda made, limit: limit(made), reversed(limits), function)


@command("search")
@argument("query", nargs=-1, required=True, help="question or words to look for")
@_with_limits("show at most N hits", "leave out hits whose evidence, not whose score, is below X")
@click.option(
    "--as-of", metavar="TIME", help='as notes stood then: YYYY-MM-DD or "yesterday" (its end), or a date and time'
)
@click.option(
    "--open", "opened", type=click.IntRange(1), metavar="N", help="open hit N in the editor that EDITOR names"
)
@with_sources
def search(
    options: Options,
    *,
    query: tuple[str, ...],
    as_of: str | None,
    opened: int | None,
    today: str | None,
    **limits: Any,
) -> int:
    """Search the notes by meaning and by keyword."""
    words = os.fsencode(" ".join(query)).decode("utf-8", "replace")
    asked = {"query": words, "asOf": as_of, **{to_camel(name): value for name, value in limits.items()}}
    with open_notes(options, today) as memory:
        result = memory.call_tool("memory_search", asked)
        unfinished = result.get("stale") and not (result["results"] and "warning" in result)
        if unfinished and _finish_sync(memory, result):
            result = {**memory.call_tool("memory_search", asked), "stale": False}
        explained = NOTHING_INDEXED in result.get("warning", "") and app.explain_empty(memory)
        unsearched = partial(app.describe_unsearched, memory.config())
        explain_none = partial(_explain_none, memory, options, words, today, None if as_of else limits)

        def show(found: Mapping[str, Any]) -> None:
            if explained and found["warning"].rstrip(".") == NOTHING_INDEXED:  # which says the same
                found = {name: value for name, value in found.items() if name != "warning"}
            output.print_hits(found, words, lambda: unsearched() if explained else explain_none())

        code = output.print_result(result, show)
        if opened is not None and code == 0:
            _open_hit(memory, result["results"], opened)
    return code


def _explain_none(
    memory: Memory, options: Options, words: str, today: str | None, limits: Mapping[str, Any] | None
) -> str:
    """Return in a sentence why a question found nothing, and the command that tells more of the same notes.

    Of a search in the past, for which the limits are None, nothing is explained.
    """
    if limits is None:
        return "other words, or a lower --min-score, may find more."
    bounds = _write_options({name: limits[name] for name in ("after", "before", "about")})
    rest = {"today": today, "max_results": limits["max_results"], "min_score": limits["min_score"]}
    rest |= {"agent": None if options.agent == DEFAULT_AGENT else options.agent}
    rest |= {name: getattr(options, name) for name in ("workspace", "config", "state_dir", "sources")}
    asked = quote_words(words) if len(words) <= MOST_QUOTED else "QUESTION"
    command = " ".join(filter(None, ("memory-core explain", asked, bounds, _write_options(rest))))
    within = f" within {bounds}" if bounds else ""
    reason = f"other words, or a lower --min-score, may find more{within}"
    with suppress(MemoryCoreError):  # of a backend that cannot explain; the command says so, too
        from memory_core.search.verdicts import describe_distance

        found = memory.explain(words, **limits)
        if found.verdict.cause == "no_words":
            reason = f"{found.verdict.reason}; {found.verdict.action}"
        elif found.asked.terms and not any(term.documents for term in found.asked.terms):
            listed = ", ".join(repr(term.text) for term in found.asked.terms[:3])
            reason = f"no note{within} holds {listed}, and none is near in meaning"
        elif found.passages:
            best = found.passages[0]
            place = f"{quote_name(best.path)}:L{best.start_line} ({_cut(best.text, 2 * LINE)})"
            reason = describe_distance(f"the nearest, {place},", best.evidence, found.min_score)
    unsearched = app.describe_unsearched(memory.config())
    return f"{'; '.join(filter(None, (reason, unsearched)))}. Why: {command}"


def _write_options(given: Mapping[str, Any]) -> str:
    """Return options as a shell takes them, without those that were not given."""
    shown = {name.replace("_", "-"): value for name, value in given.items() if value is not None}
    return " ".join(f"--{name} {quote_words(str(value))}" for name, value in shown.items())


def _open_hit(memory: Memory, hits: Sequence[Mapping[str, Any]], number: int) -> None:
    """Open a hit in the user's editor, at its line where the editor is known to take one, and wait until it is closed."""
    import subprocess

    from memory_core.sources import pages

    file = pages.resolve(memory.config(), hits[number - 1]["path"]) if number <= len(hits) else None
    if file is None:
        raise InvalidArgument("--open", f"there is no hit {number} that is a file here; found were {len(hits)}")
    named = os.environ.get("VISUAL") or os.environ.get("EDITOR")
    if not named and not sys.stdout.isatty():
        raise InvalidArgument(
            "--open", "no editor is named, and vi needs a terminal", action="set EDITOR to one of yours"
        )
    editor = split_words(named or ("notepad" if sys.platform == "win32" else "vi"))
    at_line = [f"+{hits[number - 1]['startLine']}"] if Path(editor[0]).name in OPENS_AT_LINE else []
    try:
        subprocess.run([*editor, *at_line, str(file.real_path)], check=True)  # noqa: S603 - the user's own
    except (OSError, subprocess.CalledProcessError) as error:
        reason = describe_os_error(error) if isinstance(error, OSError) else error
        raise InvalidArgument("--open", f"{editor[0]}: {reason}", action="set EDITOR to an editor of yours") from None


def _finish_sync(memory: Memory, result: Mapping[str, Any]) -> bool:
    """Finish the sync that a search left to the background, since a command has none. Return False if that is no use.

    Another process that syncs is waited for only if nothing is indexed yet.
    """
    details = memory.status().details
    if "provider out" in details or ("busy" in details and NOTHING_INDEXED not in result.get("warning", "")):
        return False
    with output.show_progress() as progress:
        try:
            return memory.finish_sync(result["backend"], progress=progress)
        except MemoryCoreError:
            return False  # the first answer says why, in its warning


@command("explain")
@argument(
    "query",
    nargs=-1,
    required=True,
    metavar="QUERY... [PLACE]",
    help="question or words that were looked for; last the note or line that was missed, MEMORY.md or MEMORY.md#L3",
)
@_with_limits("as if N hits were asked for", "as if the gate were X")
@with_sources
def explain(options: Options, *, query: tuple[str, ...], today: str | None, **limits: Any) -> None:
    """Tell why a search finds what it finds, and why it does not find one note or line."""
    question, place = _split_words(query)
    with open_notes(options, today) as memory:
        found = memory.explain(question, place, **limits)
        if not found.asked.chunks:
            app.explain_empty(memory)
    if output.prints_json(found):
        return
    output.complain_of_answer(found.warning, found.action)
    output.write(describe_search(found))


def _split_words(words: Sequence[str]) -> tuple[str, str | None]:
    """Return a question and the place behind it; None where the last word names no file and the question is not quoted.

    >>> _split_words(["alarm", "code"]), _split_words(["alarm", "code", "MEMORY.md:L3"])
    (('alarm code', None), ('alarm code', 'MEMORY.md:L3'))
    """
    *question, last = words
    if question and (_FILE.search(last) or (len(question) == 1 and " " in question[0].strip())):
        return " ".join(question), last
    return " ".join(words), None


@command("inspect")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=0, metavar="N", help="port to serve on; a free one without it"
)
@click.option("--review", is_flag=True, help="let the page settle what tidy proposes; without it, it only reads")
@with_sources
def inspect(options: Options, *, port: int, review: bool) -> None:
    """Serve a page on this machine that shows searches, their reasons, notes and the index."""
    from memory_core.hosts.inspect.application import serve
    from memory_core.plugin.memory import Memory

    with open_notes(options) as memory:  # says now what is wrong, not in the page
        off = explain_off(memory.config())

    def announce(link: str) -> None:
        if not output.prints_json({"url": link}):
            print(f"{link}\n(for your eyes: whoever has it reads the notes; Ctrl-C ends it)")
        sys.stdout.flush()
        if off is not None:
            output.complain(f"{off}, and the page shows nothing", off.action)

    with suppress(KeyboardInterrupt), Memory(app.open_source(options), agent=options.agent) as memory:
        serve(memory, port, announce, review=review)


def describe_search(found: explanations.Explanation) -> str:
    """Return an explanation as text for a person."""
    verdict, lines = found.verdict, [output.hang("", _begin(found))]
    if verdict.action:
        lines.append(output.hang("What you can do: ", f"{verdict.action}.".replace("?.", "?")))
    if verdict.stage == "file":  # which the search cannot tell of
        return "\n".join(lines)
    if question := _describe_question(found.asked):
        lines += ["", *question]
    examined = None if found.place is None else found.place.examined
    if examined is not None:
        lines += ["", *_describe_passage(examined, found)]
    if found.passages:
        lines += ["", *_list_passages(found)]
    return "\n".join(lines)


def _begin(found: explanations.Explanation) -> str:
    reason = found.verdict.reason
    if found.place is None:
        return f"{reason[:1].upper()}{reason[1:]}."
    state = "came" if found.verdict.stage == "shown" else "did not come"
    return f"{quote_name(str(found.place.place))} {state}: {reason}."


def _describe_question(asked: explanations.AskedQuestion) -> list[str]:
    pairs = {
        "looked for": ", ".join(map(_describe_term, asked.terms)),
        "left out": ", ".join(asked.left_out),
        "names": ", ".join(asked.names),
        "period": asked.first if asked.first == asked.last else f"{asked.first} to {asked.last}",
        "language": asked.language,
    }
    return [output.hang(f"{name:<11} ", value) for name, value in pairs.items() if value]


def _describe_term(term: explanations.AskedTerm) -> str:
    forms = f", also as {', '.join(term.forms)}" if term.forms else ""
    meant = f"{term.meant}, taken for {term.text}" if term.meant else term.text
    return f"{meant} (in {output.count(term.documents, 'passage') if term.documents else 'none'}{forms})"


def _describe_passage(passage: explanations.Examined, found: explanations.Explanation) -> list[str]:
    """Return the stages of the place that was asked for."""
    from memory_core.text.dates import ordinal

    ranks = {
        "by keyword": _describe_rank(passage.keyword_rank),
        "by meaning": _describe_meaning(passage, found),
        "looked at": f"yes, {ordinal(passage.unit_rank)} of all lines" if passage.unit_rank else "no",
        "score": f"{passage.score or 0:.2f}",
        "evidence": f"{passage.evidence or 0:.2f} {_draw(passage.evidence)}  gate {found.min_score:.2f}"
        + (f"; words {passage.text_score:.2f}" if passage.text_score is not None else "")
        + (f", meaning {passage.vector_score:.2f}" if passage.vector_score is not None else ""),
        "shown": f"in result {passage.shown_as}" if passage.shown_as else "no",
    }
    if not passage.holds and not passage.lacks:  # of a backend that does not tell
        ranks = {name: ranks[name] for name in ("score", "evidence", "shown")}
    # The lines that the figures are about may be more than those that were asked for.
    ends = "" if passage.end_line == passage.start_line else f"-L{passage.end_line}"
    pairs = {"passage": _cut(f"L{passage.start_line}{ends}: {passage.text}"), **ranks}
    return [output.hang(f"{name:<11} ", value) for name, value in pairs.items()]


def _cut(text: str, most: int = LINE) -> str:
    text = " ".join(text.split())
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"


def _describe_rank(rank: int | None) -> str:
    return "not found" if rank is None else f"rank {rank}"


def _describe_meaning(passage: explanations.Examined, found: explanations.Explanation) -> str:
    if passage.is_embedded is None:
        return "not compared" if found.mode == "keyword" else "unknown"
    if not passage.is_embedded:
        return "no embedding yet"
    cosine = "" if passage.cosine is None else f", cosine {passage.cosine:.2f}"
    return f"{_describe_rank(passage.vector_rank)}{cosine}"


def _list_passages(found: explanations.Explanation) -> list[str]:
    lines = [ROW.format("", "score", "evidence", "words", "meaning", "passage")]
    for passage in found.passages[:SHOWN]:
        mark = str(passage.shown_as or {"gate": "-", "packing": "."}.get(passage.verdict.stage, "?"))
        figures = (passage.score, passage.evidence, passage.text_score, passage.vector_score)
        shown = ("" if figure is None else f"{figure:.2f}" for figure in figures)
        lines.append(ROW.format(mark, *shown, f"{quote_name(passage.path)}#L{passage.start_line}"))
    more = len(found.passages) - SHOWN
    legend = "number: its result; -: below the gate; .: ranked behind"
    return [*lines, f"    ({legend}{f'; {more} more: --json' if more > 0 else ''})"]


def _draw(value: float | None) -> str:
    full = round(BAR * min(max(value or 0.0, 0.0), 1.0))
    return "█" * full + "░" * (BAR - full)


@command("related")
@argument("name", nargs=-1, help="name, alias or tag; without it, list the names")
@click.option("--max-results", type=int, metavar="N", help="show at most N entries of each list, 1 to 100")
@with_sources
def related(options: Options, *, name: tuple[str, ...], max_results: int | None) -> None:
    """Tell where notes link to a name and mention it, and what stands beside it."""
    asked = " ".join(name).strip() if name else None
    if asked == "":
        raise InvalidArgument(
            "NAME", "is empty", action="name a person, a project or a thing; without it, list the names"
        )
    most = max_results if max_results is not None or asked else NAMES
    with open_notes(options) as memory:
        found = memory.related(asked, max_results=most)
        if NOTHING_INDEXED in (found.warning or ""):
            app.explain_empty(memory)
    if output.prints_json(found):
        return
    output.complain_of_answer(found.warning, found.action, stale=found.stale)
    output.write(describe_related(found))


def describe_related(found: records.Related) -> str:
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


def _describe_times(found: records.Related) -> str:
    if not found.count:
        return "no other note links to it or mentions it"
    times = output.count(found.count, "place")
    if found.first is None:
        return times
    since = f"{found.first} to {found.last}" if found.last != found.first else f"on {found.first}"
    return f"{times}, {since}, in notes of {output.count(found.days, 'day')}"


def _describe_aliases(aliases: Sequence[str]) -> str:
    return f" ({', '.join(aliases)})" if aliases else ""


def _list_places(title: str, places: Sequence[records.Mention]) -> list[str]:
    if not places:
        return []
    return ["", title, *(output.hang(f"  {quote_name(each.path)}#L{each.line}  ", each.text) for each in places)]


def _describe_neighbour(each: records.Neighbour) -> str:
    since = f", since {each.first}" if each.first else ""
    where = ", ".join(f"{quote_name(place.path)}#L{place.line}" for place in each.places)
    return output.hang(f"  {each.name}  ", f"{output.count(each.count, 'time')}{since}: {where}")


def _list_names(names: Sequence[records.KnownName]) -> list[str]:
    return [
        f"{each.count:>5}  {each.name}{_describe_aliases(each.aliases)}{'' if each.kind == 'note' else f'  [{KINDS[each.kind]}]'}"
        for each in names
    ]
