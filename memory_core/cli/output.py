"""Output of the command line: results on standard output, messages and progress on standard error."""

from __future__ import annotations

import io
import json
import logging
import os
import re
import sys
import textwrap
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from memory_core.as_json import to_camel, to_json

if TYPE_CHECKING:
    from rich.progress import Progress as Bars
    from rich.progress import TaskID

    from memory_core.records import FileFailure, Finding, Probe, Progress, ProgressCallback, Status, SyncReport

Record = TypeVar("Record")

NOTICES = "memory_core.embeddings.credentials"  # what goes there is always shown, as where notes are sent
INDEX_IT = "run: memory-core index"
NOUNS = {"memory": "note", "workspace": "other .md file", "sessions": "session"}  # for a file, by its source
BAR_SECONDS = 0.5  # shorter work shows no bar
# Styles, by hand, since every search in a terminal would wait 100 ms for the import of rich, a third of its time.
BOLD, DIM, MATCH, RESET = "\x1b[1m", "\x1b[2m", "\x1b[1;33m", "\x1b[0m"
CHANGES = {"-": "\x1b[31m", "+": "\x1b[32m", "@": "\x1b[36m"}  # by the first character of a line of a diff
STYLES = {"ok": "\x1b[32m", "warn": "\x1b[33m", "fail": "\x1b[1;31m"}  # of levels of findings
LINE_SECONDS = 5.0  # before and between lines, where there is no terminal

# A note must not move the cursor or retitle the window of its reader: all control characters but tab and line end.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")


class _Notices(logging.Handler):
    """Prints records as complaints of the command."""

    def emit(self, record: logging.LogRecord) -> None:
        complain(record.getMessage())


def prepare_streams(*, debug: bool) -> None:
    """Let both streams print any character, escaped where their encoding lacks it; show log records only with `debug`."""
    handler = logging.StreamHandler() if debug else logging.NullHandler()
    logging.basicConfig(handlers=[handler], level=logging.DEBUG if debug else logging.WARNING)
    if not debug:
        show_notices(NOTICES)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def show_notices(name: str) -> None:
    """Print the records of a logger as complaints of the command."""
    notices = logging.getLogger(name)
    if not any(isinstance(each, _Notices) for each in notices.handlers):
        notices.addHandler(_Notices())


def complain(what: str, action: str | None = None) -> None:
    """Print `memory-core: <what>. <action>` on standard error, as one line."""
    print_aside(_CONTROL.sub("", " ".join(f"memory-core: {_join_sentences(what, action)}".split())))


def print_aside(line: str) -> None:
    """Print a line on standard error; nothing happens if that takes none: the work goes on without."""
    try:
        print(line, file=sys.stderr, flush=True)
    except OSError:  # nor does Python complain at exit of what is still buffered
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())


def print_json(value: Any) -> None:
    """Print a record or a mapping as JSON; text in any script stays readable."""
    print(json.dumps(to_json(value), ensure_ascii=False, indent=2))


def write(text: str, style: str = "", end: int | None = None) -> None:
    """Print text of notes, on a terminal without control characters; a pipe gets them all.

    Args:
        text: The text.
        style: In which a terminal shows it, such as `BOLD`.
        end: The characters at its beginning that have the style; None for all.
    """
    try:
        shown = _clean(text)
        if style and shows_colours():
            end = len(shown) if end is None else end
            shown = f"{style}{shown[:end]}{RESET}{shown[end:]}"
        print(shown, flush=True)
    except BrokenPipeError:  # the reader has gone, as `| head` does, and wants no more
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _clean(text: str) -> str:
    return _CONTROL.sub("", text) if sys.stdout.isatty() else text


def print_hits(result: Mapping[str, Any], query: str, explain_none: Callable[[], str]) -> None:
    """Print the result of memory_search: place, score and snippet of every hit, best first.

    Args:
        result: Of the tool.
        query: The question, whose words are highlighted on a terminal.
        explain_none: Called if there are no hits; returns why, or "" if that is said.
    """

    for fallback in filter(None, (result.get("fallback"), result.get("backendFallback"))):
        complain(f"{fallback['to']} is used instead of {fallback['from']}: {fallback['reason']}")
    if "asOf" in result:
        print_aside(f"As of {result['asOf']['moment']}:")
    if period := result.get("period"):
        until = "" if period["to"] == period["from"] else f" to {period['to']}"
        print_aside(f"{_clean(repr(period['text']))} is taken for {period['from']}{until}.")
    hits, taken = result["results"], result.get("interpretedAs", {}).items()
    for asked, meant in taken if hits else ():
        print_aside(f"Showing results for {meant} instead of {_clean(asked)}:")
    warning = result.get("warning")
    complain_of_answer(warning, result.get("action"), stale=result.get("stale", False))
    if not hits:
        why = explain_none() if "hint" in result or not warning else ""
        none = "".join(["No matches", *(f", also with {meant} instead of {_clean(asked)}" for asked, meant in taken)])
        write(hang("", f"{none}: {why}") if why else f"{none}.")
        return
    clean = [{**hit, "snippet": _clean(hit["snippet"]), "path": _clean(hit["path"])} for hit in hits]
    columns, colours = find_columns(), shows_colours()
    shown = (
        format_hit(hit, query, columns=columns, colours=colours)
        + _describe_now(hit)
        + _describe_successor(hit)
        + _describe_origin(hit)
        + (f"\n    (also in {_clean(', '.join(hit['alsoIn']))})" if hit.get("alsoIn") else "")
        for hit in clean
    )
    print("\n\n".join(shown))


def complain_of_answer(warning: str | None, action: str | None, *, stale: bool = False) -> None:
    """Print what an answer warns of, and that the index lacks something unless the warning says so, and what to do."""
    from memory_core.records import BEING_MADE, INDEX_LACKS

    if warning:
        complain(warning, action)
    if stale and not any(each in (warning or "") for each in (INDEX_LACKS, BEING_MADE)):
        complain("the index lacks some notes, or their last changes", INDEX_IT)


def _describe_now(hit: Mapping[str, Any]) -> str:
    """Return the lines below a hit of the past that say what stands there today; "" for one of the present."""
    now = hit.get("now")
    if now is None:
        return ""
    if now["status"] != "changed" or "text" not in now:
        return f"\n    ({TODAY[now['status']]})"
    lines = "".join(f"\n    > {line}".rstrip() for line in _clean(now["text"]).splitlines())
    return f"\n    ({TODAY['changed']}, to:){lines}"


def _describe_successor(hit: Mapping[str, Any]) -> str:
    """Return the line below a hit that was replaced, with what stands in its place; "" for any other hit."""
    newer = hit.get("supersededBy")
    if newer is None:
        return ""
    since = f", since {newer['since'][:16]}" if "since" in newer else ""
    old = f"line {newer['replaces']} is " if "replaces" in newer and hit["startLine"] != hit["endLine"] else ""
    return f"\n    ({old}superseded by {_clean(newer['path'])}:L{newer['line']}{since}: {_clean(newer['text'])})"


def _describe_origin(hit: Mapping[str, Any]) -> str:
    """Return the line below a hit that says who said it, where and when; "" for what stands in a note without a session."""
    from memory_core.records import OUTSIDERS

    origin = hit.get("origin", {})
    places = [*filter(None, map(origin.get, ("host", "session", "project")))]
    if not places and origin.get("by") not in OUTSIDERS:
        return ""
    known = _clean(", ".join([*filter(None, [origin.get("at", "")[:16]]), *places]))
    return f"\n    (said by {_name_speakers(hit) or origin['by']}: {known})" if known else ""


def _name_speakers(hit: Mapping[str, Any]) -> str:
    """Return who says the lines of a session that are shown, where that is both; its origin has one for all of them."""
    from memory_core.sources.transcripts import SHOWN, SPEAKERS

    said = {line.partition(":")[0] for line in hit["snippet"].splitlines() if ":" in line}
    return "user and agent" if hit["path"].startswith(SHOWN) and said >= {*SPEAKERS.values()} else ""


def _join_sentences(what: str, action: str | None) -> str:
    what = what.rstrip(" .")
    clauses = [clause for clause in (action or "").split("; ") if clause.rstrip(" .").casefold() not in what.casefold()]
    action = "; ".join(clauses)
    ended = what if what.endswith("?") else f"{what}."
    if not action.startswith("memory-core "):  # a command is typed as it stands
        action = f"{action[:1].upper()}{action[1:]}"
    return f"{ended} {action}" if action else ended


MOST_FAILURES = 50  # that are named one by one
TODAY = {"unchanged": "it is the same today", "changed": "it has changed since", "gone": "it is gone today"}


def print_document(result: Mapping[str, Any], *, whole: bool) -> None:
    """Print the text of a note, and on standard error where it ends or goes on.

    Args:
        result: Of memory_get.
        whole: The user asked for no number of lines, and wants to know that there are more.
    """
    if result["status"] == "ok" and result["lines"]:
        write(result["text"])
    elif result["status"] == "ok":
        first = result["from"]
        print_aside("The note is empty." if first == 1 else f"The note ends before line {first}.")
    if "asOf" in result and result["status"] == "ok":
        print_aside(f"As of {result['asOf']['moment']}; {TODAY[result['now']]}.")
    if whole and result.get("nextFrom") is not None:
        print_aside(f"The note goes on: --from {result['nextFrom']}")
    elif result.get("truncated") and "nextFrom" not in result:
        last = result["from"] + result["lines"] - 1
        print_aside(f"Line {last} is cut: it is longer than a page. `memory-core open` names the file.")


def prints_json(value: Any) -> bool:
    """Print a value as JSON where `--json` asks for it; return whether it did, so that nothing else is printed."""
    import click

    is_asked: bool = click.get_current_context().obj.json
    if is_asked:
        print_json(value)
    return is_asked


def print_record(record: Record, show: Callable[[Record], None]) -> None:
    """Print a record as JSON, or for a person with `show`."""
    if not prints_json(record):
        show(record)


def tell(value: Any, sentence: str) -> None:
    """Print a record or a mapping as JSON, or a sentence for a person."""
    print_record(value, lambda _: write(sentence))


def print_result(result: Mapping[str, Any], show: Callable[[Mapping[str, Any]], None]) -> int:
    """Print the result of a tool as JSON, or for a person with `show`; return the exit code."""
    if not prints_json(result) and "error" not in result:
        show(result)
    if "error" in result:
        error, help_of_command = spell(result["error"])
        complain(error, result.get("action") or help_of_command)
    elif result.get("status") == "not_found":
        if "asOf" in result:
            complain(
                f"{result['path']}: there was no such note at {result['asOf']['moment']}",
                f"See its versions: memory-core history {result['path']}",
            )
        else:
            action = result.get("action") or "`memory-core status` names the workspace."
            complain(f"{result['path']}: there is no such note", action)
    return find_code(result)


def spell(error: str) -> tuple[str, str | None]:
    """Return an error with its argument as this command spells it, and the help to read; others as they are."""
    import click

    argument, _, problem = error.partition(": ")
    context = click.get_current_context(silent=True)
    if context is None or not problem:
        return error, None
    for each in context.command.params:
        given = each.opts[0].lstrip("-").replace("-", "_")
        if argument in (to_camel(each.name or ""), to_camel(given)):
            spelled = each.opts[0] if isinstance(each, click.Option) else each.make_metavar(context)
            return f"{spelled.strip('[].')}: {problem}", f"Try: {context.command_path} --help"
    return error, None


def find_code(result: Mapping[str, Any]) -> int:
    """Return the exit code for the result of a tool: 2 for a wrong argument, and where the configuration has memory off."""
    if "error" not in result:
        return 1 if result.get("status") == "not_found" else 0
    return 2 if "code" in result or "disabled" in result else 1


def print_pairs(pairs: Mapping[str, object]) -> None:
    """Print names and values in two columns; None and empty values are left out."""
    shown = {name: value for name, value in pairs.items() if value not in (None, "", (), [], {})}
    width = max(map(len, shown), default=0)
    for name, value in shown.items():
        print(hang(f"{name:<{width}}  ", format_value(value)))


def hang(label: str, text: str) -> str:
    """Return a label and a text; on a terminal, the lines of the text are wrapped to its width and begin below each other."""

    columns = find_columns()
    return label + text if columns is None else "\n".join(_wrap(text, columns, label, " " * len(label)))


def _wrap(text: str, columns: int, first: str, rest: str) -> list[str]:
    """Cut a text into lines with their indents; a path or a URL stays in one piece, so that it can be copied."""
    wrapper = textwrap.TextWrapper(columns, first, rest, break_long_words=False, break_on_hyphens=False)
    return wrapper.wrap(text)


def count(number: int, noun: str) -> str:
    """Return a number with its noun: 1 note, 2 notes."""
    return f"{number} {noun if number == 1 else noun + 's'}"


def shorten(names: Sequence[str]) -> str:
    """Return the first four of some names, and how many more there are."""
    shown = ", ".join(names[:4])
    return shown if len(names) <= 4 else f"{shown} and {len(names) - 4} more"


def suggest(name: str, known: Collection[str]) -> str:
    """Return the question behind an unknown name if a known one may be meant; "" if none is near."""
    from memory_core.config.problems import find_similar

    meant = find_similar(name, known, likeness=0.6)
    return f"; did you mean {meant!r}?" if meant else ""


def print_table(rows: Sequence[Sequence[str]]) -> None:
    """Print rows in columns; the first one names them. On a terminal, cells that are too wide are wrapped."""
    if sys.stdout.isatty():
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text

        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
        for name in rows[0]:
            table.add_column(name, overflow="fold", no_wrap=not table.columns)  # what is typed stays in one piece
        for row in rows[1:]:
            table.add_row(*(Text(_clean(text)) for text in row))
        Console(highlight=False).print(table)
        return
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        write("  ".join(f"{text:<{width}}" for text, width in zip(row, widths, strict=True)).rstrip())


def format_value(value: object) -> str:
    """Return a value for a person: yes or no, names with their values, parts with commas between them."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {format_value(item)}" for name, item in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(format_value, value))
    return str(value)


def print_findings(findings: Sequence[Finding]) -> None:
    """Print findings, one line each: level, subject, message and action."""
    width = max((len(finding.subject) for finding in findings), default=0)
    for finding in findings:
        text = _join_sentences(finding.message, finding.action) if finding.action else finding.message
        line = hang(f"{finding.level:<4}  {finding.subject:<{width}}  ", " ".join(text.split()))
        write(line, STYLES[finding.level], len(finding.level))


def print_status(status: Status) -> None:
    """Print a status: the index, then backend and provider; problems go to standard error."""
    if "off" in status.details:
        print_pairs({"agent": status.agent, "workspace": status.workspace, "memory": f"off: {status.details['off']}"})
        return
    counts = status.indexed or status.files > 0
    print_pairs(
        {
            "agent": status.agent,
            "workspace": status.workspace,
            "index": status.store if status.indexed else f"none yet; the next search makes it, or {INDEX_IT}",
            "size": f"{status.store_bytes / 1e6:.1f} MB" if status.indexed else None,
            "files": f"{status.files}{_describe_sources(status)}" if counts else None,
            "of them": ", ".join(f"{number} in {path}" for path, number in status.extra.items()),
            "chunks": status.chunks if counts else None,
            "up to date": None if status.dirty is None else f"no; {INDEX_IT}" if status.dirty else "yes",
            "last sync": format_time(status.last_sync),
            "backend": status.backend,
            "embeddings": f"{status.provider} {status.model or ''}".strip(),
            "missing embeddings": status.pending or None,
            "vectors": f"{status.vector} ({status.vector_reason})" if status.vector_reason else status.vector,
            **status.details,
        }
    )
    for fallback in filter(None, (status.fallback, status.backend_fallback)):
        complain(f"{fallback.to} is used instead of {fallback.origin}: {fallback.reason}")
    _print_failures(status)


def _describe_sources(status: Status) -> str:
    """Return how many files are of which kind, if not all are notes."""
    kinds = ", ".join(count(number, NOUNS.get(source, source)) for source, number in status.sources.items())
    return f" ({kinds})" if {*status.sources} - {"memory"} else ""


def count_files(number: int, sources: Mapping[str, int]) -> str:
    """Return how many of the files are notes and how many sessions; all are notes where no sources are known."""
    sessions = sources.get("sessions", 0)
    notes = count(number - sessions, "note")
    return f"{notes}, {count(sessions, 'session')}" if sessions else notes


def format_time(seconds: float | None) -> str | None:
    """Return a local date and time; None for None."""
    return None if seconds is None else time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(seconds))


def print_report(report: SyncReport, sources: Mapping[str, int]) -> None:
    """Print a report of a sync, and how many files of each source are indexed; failures go to standard error."""
    verb = "Rebuilt the index:" if report.reindexed else "Indexed"
    if report.backend_fallback is not None:
        verb = f"Indexed in {report.backend_fallback.to} alone:"
    counts = ", ".join(f"{getattr(report, each)} {each}" for each in ("added", "changed", "removed", "unchanged"))
    print(f"{verb} {count_files(report.files, sources)} in {count(report.chunks, 'chunk')} ({counts}).")
    pending = f", {report.pending} still without embedding" if report.pending else ""
    print(
        f"Embedded {count(report.embedded, 'text')}, {report.cached} had an embedding before{pending}. {report.seconds:.1f} s"
    )
    _print_failures(report)


def print_failures(failures: Sequence[FileFailure]) -> None:
    """Print what is left out and why, to standard error."""
    from memory_core.sources.refusals import describe_failure

    for failure in failures[:MOST_FAILURES]:
        complain(describe_failure(failure))
    if more := failures[MOST_FAILURES:]:
        complain(f"{len(more)} more are left out: --json lists them")


def _print_failures(record: Status | SyncReport) -> None:
    print_failures(record.failures)
    for warning in record.warnings:
        complain(warning)


def print_probe(probe: Probe) -> None:
    """Print the outcome of a probe; an error goes to standard error."""
    who = f"{probe.provider} {probe.model or ''}".strip()
    if not probe.ok:
        complain(f"{who} does not work: {(probe.error or '').removeprefix(f'{probe.provider}: ')}", probe.action)
    elif probe.dimensions is None:
        print(f"{who}: no embeddings, notes are found by keyword")
    else:
        print(f"{who} works: {probe.dimensions} dimensions in {probe.seconds:.2f} s")
    if probe.warning:
        complain(probe.warning, probe.action)


@contextmanager
def show_progress(*, clock: Callable[[], float] = time.monotonic) -> Iterator[ProgressCallback]:
    """Show how far a sync is: by bars on a terminal, by a line every few seconds elsewhere, and not at all in short work."""
    is_terminal = sys.stderr.isatty()
    quiet_until = clock() + (BAR_SECONDS if is_terminal else LINE_SECONDS)
    bars: Bars | None = None
    tasks: dict[str, TaskID] = {}
    with ExitStack() as stack:

        def show(progress: Progress) -> None:
            nonlocal quiet_until, bars
            if clock() < quiet_until:
                return
            if not is_terminal:
                print_aside(f"{progress.phase}: {progress.done} of {progress.total}")
                quiet_until = clock() + LINE_SECONDS
                return
            bars = bars or stack.enter_context(_make_bars())
            if progress.phase not in tasks:
                tasks[progress.phase] = bars.add_task(progress.phase, total=progress.total)
            bars.update(tasks[progress.phase], completed=progress.done, total=progress.total)

        yield show


def _make_bars() -> Bars:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description:<10}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    return Progress(*columns, console=Console(stderr=True), transient=True)


INDENT = "    "
MOST_COLUMNS = 100  # longer lines are hard to read, however wide the window is
LEAST_COLUMNS = 30
_ENDING = re.compile(r"(?<=....)(?:ing|ed|es|s)\Z")  # of a word: "lessons" marks "lesson", too
_MARK = re.compile(r"[-*+] +|\d{1,9}[.)] +|> ?")


def format_hit(hit: Mapping[str, Any], query: str, *, columns: int | None = None, colours: bool = False) -> str:
    """Return a hit as text: its place and score, and its snippet, indented.

    Args:
        hit: As memory_search returns it.
        query: The question, whose words are highlighted.
        columns: Of the terminal, to which lines are wrapped; None wraps none.
        colours: Highlight place and words.
    """
    place = f"{hit['path']}:L{hit['startLine']}-L{hit['endLine']}"
    lines = re.sub(r"(?:[ \t]*\n){3,}", "\n\n", hit["snippet"]).splitlines()  # hidden comments leave empty lines
    lines = [line.rstrip() for line in lines]
    if columns is not None:
        lines = [part for line in lines for part in wrap_line(line, columns - len(INDENT))]
    if colours:
        lines = [_highlight(line, query) for line in lines]
        place = f"{BOLD}{place}{RESET}"
    score = f"{hit['score']:.2f}" if columns is None else f"{name_score(hit['score'])} {hit['score']:.2f}"
    return "\n".join([f"{place}  {score}", *(f"{INDENT}{line}".rstrip() for line in lines)])


def name_score(score: float) -> str:
    """Return a word for a score: of answers above .75 nine in ten are right, of those below .45 one in eight."""
    return "certain" if score >= 0.75 else "likely" if score >= 0.45 else "weak"


def find_columns() -> int | None:
    """Return the columns to which text for a terminal is wrapped; None if standard output is no terminal."""
    if not sys.stdout.isatty():
        return None
    import shutil

    return max(min(shutil.get_terminal_size().columns, MOST_COLUMNS), LEAST_COLUMNS)


def shows_colours() -> bool:
    """Return True on a terminal that shows colours, unless NO_COLOR is set (https://no-color.org)."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def wrap_line(line: str, columns: int) -> list[str]:
    """Cut one line into lines of at most so many columns; further lines of a list item stand under its text.

    A word that is longer is left whole.
    """
    body = line.lstrip()
    indent = line[: len(line) - len(body)]
    mark = _MARK.match(body)
    hanging = indent + " " * (len(mark[0]) if mark else 0)
    if len(line) <= columns or len(hanging) > columns // 2:
        return [line]
    return _wrap(body, columns, indent, hanging)


def _highlight(line: str, query: str) -> str:
    from memory_core.text.terms import extract_words

    words = (word for word in extract_words(query) if len(word) > 1 or not word.isascii())
    stems = sorted({_ENDING.sub("", word) for word in words}, key=len, reverse=True)
    if not stems:
        return line
    pattern = "|".join(rf"\b{re.escape(stem)}\w*" if stem.isascii() else re.escape(stem) for stem in stems)
    return re.sub(pattern, lambda match: f"{MATCH}{match[0]}{RESET}", line, flags=re.IGNORECASE)
