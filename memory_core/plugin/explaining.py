"""Explain a search to the end: the backend tells of its stages, and the files tell why a note is not in the index at all."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import replace

from memory_core.backends.selector import Selector
from memory_core.config.agent import AgentConfig
from memory_core.config.environment import quote_words
from memory_core.config.problems import find_similar
from memory_core.errors import FileUnreadable, InvalidArgument, PathRefused
from memory_core.explanations import AskedQuestion, Explanation, NotePlace, PlaceReport, Verdict
from memory_core.history.history import History
from memory_core.history.notes import name_note
from memory_core.records import MemoryFile, Query
from memory_core.sources import notes, pages
from memory_core.sources.files import list_files
from memory_core.sources.refusals import (
    FOLDER,
    HIDDEN,
    INSTEAD_OF_LINKS,
    NOT_MARKDOWN,
    OUTSIDE,
    SYMLINK,
    TOO_LONG,
    UNFIT_NAME,
    WITH_CONTROLS,
    quote_name,
)
from memory_core.sources.roots import SUFFIX
from memory_core.sources.transcripts import SHOWN
from memory_core.text.folding import clean
from memory_core.text.markdown import is_markdown, strip_suffix
from memory_core.tools.arguments import find_cited

INDEX_IT = "run: memory-core index"
AS_SEARCH_NAMES_IT = "correct the path; memory-core search names paths as they are to be written"
# What helps against a refusal; another one says itself which rule of names or settings it is.
ACTIONS = {
    FOLDER: "name a note in it",
    NOT_MARKDOWN: "save it as Markdown, under a name that ends in .md",
    SYMLINK: INSTEAD_OF_LINKS,
    UNFIT_NAME: "rename it",
    "is hidden": "give it a name that does not begin with a dot",
    "is in a hidden folder": "move it into a folder whose name does not begin with a dot",
    "is excluded by the configuration": "take it out of memorySearch.exclude.files, or of exclude in memorySearch.extraPaths",
    HIDDEN: "take it out of Obsidian's settings: Files and links, Excluded files; or Templates, Template folder location",
    "does not match the pattern of its extra path": "widen that pattern: memorySearch.extraPaths",
}
ALIKE = 0.8  # of a path, such as one with two letters swapped in twenty
MOST_NEAR = 3  # paths that are named where one of them may be meant
MALFORMED = (WITH_CONTROLS, TOO_LONG)  # these are said of the path, whatever lies there
MOVE_IT = "move it into memory/, or name its folder: memorySearch.extraPaths"
NOT_A_NOTE = (
    "only Markdown is remembered: name a note; the notes of a further folder are served by memorySearch.extraPaths"
)
_LACKS = "the note has changed since it was indexed, and the index lacks this line"
CHANGED = Verdict("index", "changed", _LACKS, INDEX_IT)


def explain(
    selector: Selector, config: AgentConfig, others: Sequence[AgentConfig], query: Query, place: NotePlace | None
) -> Explanation:
    """Search, and tell where every passage, and a place if one is given, stood after each stage.

    Args:
        selector: The agent's backends.
        config: The agent's.
        others: The other agents of the same configuration, to which a note may belong.
        query: The query.
        place: The place, by a path as a hit or a user names it.
    """
    found = _explain(selector, config, others, query, place)
    if found.verdict.cause != "not_embedded" or not found.action:
        return found
    # No sync embeds the note before that is done.
    verdict = replace(found.verdict, action=f"{found.action[:1].lower()}{found.action[1:]}".rstrip("."))
    report = None if found.place is None else replace(found.place, verdict=verdict)
    return replace(found, verdict=verdict, place=report)


def _explain(
    selector: Selector, config: AgentConfig, others: Sequence[AgentConfig], query: Query, place: NotePlace | None
) -> Explanation:
    if place is None:
        return selector.explain(query, None)
    if place.path.startswith(SHOWN):
        return selector.explain(query, place)  # of the files of session logs nothing is told
    file = _look_up(config, others, place)
    if isinstance(file, Verdict):
        # As a backend shows notes that are no files here.
        is_elsewhere = place.path.startswith(f"{config.memory.backend}/")
        found = selector.explain(query, place if is_elsewhere else None)
        is_known = found.place is not None and found.place.verdict.cause != "not_indexed"
        return found if is_known else _replace_verdict(found, place, file)
    place = replace(place, path=file.path)
    found = selector.explain(query, place)
    if found.place is None:
        return found
    told = None
    if found.place.verdict.stage in ("index", "unknown"):
        told = _read(file, place.line)
        if told is None and found.place.verdict.cause == "no_text" and selector.status().dirty:
            told = CHANGED
    if told is None and found.verdict.stage != "shown":
        told = _find_commented(file, found.asked)
    return found if told is None else _replace_verdict(found, place, told)


def read_place(config: AgentConfig, text: str, line: int | None = None) -> NotePlace:
    """Read a place as a user writes it: a path, a citation such as `MEMORY.md#L3`, or `MEMORY.md:3`.

    Raises:
        InvalidArgument: It is empty, its line is below 1, or it is of the past.
    """
    if not text.strip():
        raise InvalidArgument("path", "is empty", action="Name a note, or a line of it: MEMORY.md#L3.")
    if line is not None and line < 1:
        raise InvalidArgument("path", "lines count from 1", action="Name a line of the note: MEMORY.md#L3.")
    cited = find_cited(config, text)
    if cited.as_of is not None:
        raise InvalidArgument(
            "path", "is of the past, and only searches of the notes as they stand are explained",
            action=f"Name a place of today, such as {cited.path}.",
        )  # fmt: skip
    path, first = cited.path, cited.first
    head, colon, tail = path.rpartition(":")
    if first is None and colon and tail.isdecimal() and int(tail):
        path, first = head, int(tail)
    return NotePlace(path=path, line=first if line is None else line)


def _look_up(config: AgentConfig, others: Sequence[AgentConfig], place: NotePlace) -> MemoryFile | Verdict:
    """Return the file of a place; or else the verdict that there is none, or that it is not this agent's."""
    reason = action = ""
    try:
        if (file := pages.resolve(config, place.path)) is not None:
            return file
    except PathRefused as error:
        reason, action = error.reason, error.action or _advise(place.path, error.reason)
    if not reason or reason == OUTSIDE:
        meant = find_meant(place.path, (file.path for file in list_files(config).files))
        if meant and (file := pages.resolve(config, meant)) is not None:
            return file
        action = find_instead(config, place.path) or action
        for other in others:
            if _serves(other, place.path):
                whose = f"it is a note of the agent {other.agent!r}, and this is the memory of {config.agent!r}"
                return Verdict("file", "other_agent", whose, f"ask that one: --agent {other.agent}")
    if reason:
        what = "the path" if reason in MALFORMED else "it" if reason == FOLDER else "the file"
        return Verdict("file", "excluded", f"{what} {reason}", action)
    return Verdict("file", "missing", f"there is no such note in {config.workspace}", action or AS_SEARCH_NAMES_IT)


def find_instead(config: AgentConfig, path: str) -> str:
    """Return what may be meant by a path under which no note is, or how to see what was there once; "" if neither is known."""
    name = name_note(config, path if is_markdown(path) else f"{path}{SUFFIX}")
    known = [file.path for file in list_files(config).files]
    near = find_near(name, known)
    if name in near:  # it is there, and cannot be read
        return ""
    if near:
        return ask_if_meant(near)
    was = name_note(config, path)
    with closing(History(config, writable=False)) as history:
        if history.enabled and history.list_versions(was):
            return f"it was there once; see its versions: memory-core history {quote_words(was)}"
    numbers = _read_numbers(name)  # another day is no misspelling of one
    like = find_similar(name, [each for each in known if _read_numbers(each) == numbers], likeness=ALIKE)
    begun = [each for each in known if each.startswith(strip_suffix(name))]
    return ask_if_meant([like] if like else begun)


def _read_numbers(path: str) -> list[str]:
    return [each.lstrip("0") for each in re.findall(r"\d+", path)]


def find_near(path: str, known: Iterable[str]) -> list[str]:
    """Return the known paths that end with this one, whatever its case, also without its suffix."""
    wanted = clean(f"/{path if is_markdown(path) else f'{path}{SUFFIX}'}").lower()
    return [each for each in known if clean(f"/{each}").lower().endswith(wanted)]


def find_meant(path: str, known: Iterable[str]) -> str | None:
    """Return the known path that ends with this one, as `find_near`; None if there is none, or more than one."""
    near = find_near(path, known)
    return near[0] if len(near) == 1 else None


def ask_if_meant(near: Sequence[str]) -> str:
    """Return the question if one of some notes is meant; "" if there are none."""
    return f"did you mean {' or '.join(map(quote_name, near[:MOST_NEAR]))}?" if near else ""


def _advise(path: str, reason: str) -> str:
    """Return what helps against a refusal, judged by the path alone: of files outside this memory nothing is looked up."""
    if reason in MALFORMED:
        return AS_SEARCH_NAMES_IT
    if reason == OUTSIDE and not is_markdown(path):
        return NOT_A_NOTE
    return ACTIONS.get(reason, MOVE_IT)


def _serves(config: AgentConfig, path: str) -> bool:
    try:
        return pages.resolve(config, path) is not None
    except PathRefused:
        return False


def _read(file: MemoryFile, line: int | None) -> Verdict | None:
    """Return what the file tells of a note that the index lacks, or of a line; None if nothing is wrong with it."""
    try:
        text = notes.read_note(file).text
    except FileUnreadable as error:
        is_unfit = error.reason.startswith("is ")
        problem = error.reason if is_unfit else f"cannot be read: {error.reason}"
        action = f"{'correct the file' if is_unfit else 'see to it that you may read it'}; {INDEX_IT}"
        return Verdict("file", "unreadable", f"the file {problem}", action)
    if not text.strip():
        return Verdict("index", "no_text", "the note holds no text")
    count = text.count("\n") + (not text.endswith("\n"))
    if line is not None and line > count:
        action = "look for the text where it stands now: memory-core get"
        return Verdict("file", "no_such_line", f"the note ends before line {line}: it has {count}", action)
    return None


def _find_commented(file: MemoryFile, asked: AskedQuestion) -> Verdict | None:
    """Return the verdict on a note of which words that were looked for stand in Obsidian's comments alone; None if none does."""
    if not file.in_vault:
        return None
    note = notes.read_note(file)
    whole, text = (clean(each).lower() for each in (note.data.decode(errors="replace"), note.text))
    words = [repr(term.text) for term in asked.terms if term.text in whole and term.text not in text]
    if not words:
        return None
    stands = "stands" if len(words) == 1 else "stand"
    reason = f"{', '.join(words)} {stands} between %% and %%, and what Obsidian takes for a comment is left out"
    return Verdict("index", "no_text", reason, "take it out of the comment")


def _replace_verdict(found: Explanation, place: NotePlace, verdict: Verdict) -> Explanation:
    return replace(found, verdict=verdict, place=PlaceReport(place=place, verdict=verdict))
