"""The names that notes give themselves, the name that somebody asks for, and the chunks and units that mention it."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from memory_core.search.question import choose_spellings
from memory_core.sources.roots import LONGTERM_NAMES, USER_NAME
from memory_core.stores.interface import Reader
from memory_core.stores.values import DateRange
from memory_core.text.markdown import FrontMatter, is_markdown, parse_heading, read_front_matter, strip_suffix
from memory_core.text.names import Spellings, compile_spellings, fold_name, is_date, make_key, make_keys, split_phrases

if TYPE_CHECKING:
    from memory_core.stores.values import ChunkText

_MOST_CHUNKS = 1000  # of one note that a name belongs to
# What an agent's hosts keep beside the notes; the names of these files are words such as "user" and "tools".
_NO_THINGS = frozenset(
    {*LONGTERM_NAMES, USER_NAME, "AGENTS.md", "BOOTSTRAP.md", "CLAUDE.md", "DREAMS.md", "HEARTBEAT.md", "IDENTITY.md",
    "SOUL.md", "TOOLS.md"}
)  # fmt: skip
# A line of tags alone near the beginning of a note, which are those of the whole note.
_TAG_LINE = re.compile(r"^[ \t]*(?:tags::?[ \t]*)?((?:#[^\W\d_][\w/-]*#?[ \t,]*)+)$", re.MULTILINE | re.IGNORECASE)
_LINE_TAG = re.compile(r"#([^\W\d_][\w/-]*)")
_MOST_WORDS = 6  # of a heading that is a name; a longer one is a sentence


@dataclass(frozen=True, slots=True)
class NamedNote:
    """A note with the names that it gives itself.

    Attributes:
        path: Of the note.
        date: Of the note; None if it has none.
        stem: Its file name without `.md`.
        others: Its title and aliases.
        tags: Those of its front matter.
        line_tags: Those of lines of tags alone, near its beginning, which are links besides.
    """

    path: str
    date: str | None
    stem: str
    others: tuple[str, ...]
    tags: tuple[str, ...]
    line_tags: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Entity:
    """A thing with a name.

    Attributes:
        id: The same for all names of one thing.
        name: As it is shown.
        others: Its other names.
        notes: The paths of the notes about it.
    """

    id: str
    name: str
    others: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """All of its names."""
        return (self.name, *self.others)

    @property
    def is_day(self) -> bool:
        """True for a daily note, which is a time rather than a thing."""
        return is_date(self.name)


class NameBook:
    """All names that notes give themselves.

    A name belongs to the note whose file has it, else to the note that has it as title or alias. One that several notes claim
    belongs to none of them, so that no two things are taken for one; names are never followed from one to the next.

    Args:
        notes: All of them.
    """

    def __init__(self, notes: Sequence[NamedNote]) -> None:
        self.notes = {note.path: note for note in notes}
        self._stems: dict[str, list[str]] = {}
        self._others: dict[str, list[str]] = {}
        self._written_out: dict[str, list[str]] = {}
        for note in notes:
            self._stems.setdefault(make_key(note.stem), []).append(note.path)
            for key in {make_key(name) for name in note.others}:
                self._others.setdefault(key, []).append(note.path)
            for key in {make_keys(name)[1] for name in (note.stem, *note.others)}:
                self._written_out.setdefault(key, []).append(note.path)

    def resolve(self, name: str) -> Entity:
        """Return the thing that a name, the target of a link, or a tag means; one without notes if no note has the name."""
        key, written_out = make_keys(posixpath.basename(name) if is_markdown(name) or "/" in name else name)
        paths = self._find(key) or self._find(written_out)
        if "/" in name:
            end = "/" + strip_suffix(fold_name(name).lstrip("./"))
            exact = [path for path in paths if ("/" + strip_suffix(fold_name(path))).endswith(end)]
            if not exact and not is_markdown(name):  # a tag in a tag
                return Entity(make_key(name), name)
            paths = exact or paths
        if len(paths) == 1:
            return self._describe(paths[0])
        return Entity(key, name, notes=tuple(paths))

    def _find(self, key: str) -> Sequence[str]:
        return self._stems.get(key) or self._others.get(key) or self._written_out.get(key) or ()

    def find_tagged(self, name: str) -> list[str]:
        """Return the paths of the notes that have a name as a tag, or part of one, or lie in a folder of this name."""
        keys = {*make_keys(name)}
        return [
            note.path
            for note in self.notes.values()
            for tag in (*note.tags, *note.line_tags, *posixpath.dirname(note.path).split("/")[1:])
            if any(key and f"/{key}/" in f"/{own}/" for key in keys for own in make_keys(tag))
        ]

    def _describe(self, path: str) -> Entity:
        """Return the thing that one note is about."""
        note = self.notes[path]
        own = [name for name in note.others if [*self._find(make_key(name))] == [path]]
        stem_key = make_key(note.stem)
        titles = [name for name in own if make_key(name) == stem_key]
        others = [*dict.fromkeys(name for name in own if make_key(name) != stem_key)]
        if others and len(self._find(stem_key)) > 1:  # of several notes with one file name
            return Entity(path, others[0], tuple(others[1:]), (path,))
        return Entity(path, titles[0] if titles else note.stem, tuple(others), (path,))

    def describe_all(self) -> Iterable[Entity]:
        """Yield the things that notes are about, but for daily notes, the long-term memory and what hosts keep beside it."""
        for note in self.notes.values():
            if not is_date(note.stem[:10]) and posixpath.basename(note.path) not in _NO_THINGS:
                yield self._describe(note.path)


def load_names(reader: Reader) -> NameBook:
    """Read the names of all notes from the beginnings of them."""
    texts = reader.load_texts(reader.find_beginnings(), whole=False)
    cut = {text.id for text in texts if text.text.startswith("---") and not text.text.count("\n---")}
    if cut:  # its front matter goes on in the next chunk
        texts = [text for text in texts if text.id not in cut]
        texts += [
            text._replace(text="\n".join(lines[text.start_line - 1 :])) for text, lines in load_whole(reader, cut)
        ]
    return NameBook([_read(text) for text in texts])


def load_whole(reader: Reader, ids: Iterable[int]) -> Iterator[tuple[ChunkText, list[str]]]:
    """Yield the notes that hold some chunks: the first chunk of each, and all lines of the note."""
    for _, several in groupby(reader.load_texts([*ids], whole=True), key=lambda text: (text.source, text.path)):
        chunks = [*several]
        yield chunks[0], _join_chunks(chunks)


def _join_chunks(chunks: Sequence[ChunkText]) -> list[str]:
    """Return the lines of a note from its chunks, which overlap, and which may cut a long line into pieces."""
    lines: list[str] = []
    whole = 0  # lines that the chunks so far hold
    for chunk in chunks:
        own = chunk.text.split("\n")
        start = chunk.start_line - 1
        lines += [""] * (start - len(lines))
        if start == whole - 1 and len(own) == 1 and lines[start] != own[0]:
            lines[start] += own[0]  # the next piece of a line that is too long
        else:
            lines += own[len(lines) - start :]
        whole = len(lines)
    return lines


def _read(text: ChunkText) -> NamedNote:
    stem = strip_suffix(posixpath.basename(text.path))
    meta = read_front_matter(text.text) if text.start_line == 1 else FrontMatter()
    others = [*meta.aliases]
    is_thing = not is_date(stem[:10]) and posixpath.basename(text.path) not in _NO_THINGS
    for title in (_find_title(text.text), meta.title):
        key = make_key(title)
        # One word as a heading, such as "Overview", names nothing unless the file has it, too.
        if is_thing and key and (1 < len(key.split()) <= _MOST_WORDS or key == make_key(stem)):
            others.insert(0, title)
    written = _TAG_LINE.findall(text.text) if text.start_line == 1 else []
    tags = tuple(tag for tag in meta.tags if not tag.isdigit())
    of_lines = tuple(_LINE_TAG.findall(" ".join(written)))
    return NamedNote(text.path, text.date, stem, tuple(dict.fromkeys(others)), tags, of_lines)


def _find_title(text: str) -> str:
    """Return the first heading of the first level near the beginning of a note; "" if there is none."""
    for line in text.split("\n", 40)[:40]:
        heading = parse_heading(line) if line.startswith("#") else None
        if heading is not None and heading[0] == 1:
            return heading[1]
    return ""


def find_chunks(reader: Reader, names: Iterable[str], dates: DateRange | None = None) -> set[int]:
    """Find at least the chunks that mention any of some names."""
    found: set[int] = set()
    for name in names:
        phrases = [set(reader.find_phrases([phrase], dates or DateRange())) for phrase in split_phrases(name)]
        if phrases:
            found |= set.intersection(*phrases)
    return found


@dataclass(frozen=True, slots=True)
class About:
    """A thing that a search is restricted to.

    Attributes:
        chunks: At least those that mention it, or belong to its own notes.
        spellings: Find it in a unit.
        paths: Of its own notes, and of those that it is a tag of: all of their units count.
    """

    chunks: Collection[int]
    spellings: Spellings
    paths: Collection[str]

    def holds(self, path: str, unit: str) -> bool:
        """Return True if a unit of a note mentions it, or belongs to one of its own notes."""
        return path in self.paths or self.spellings.find_line(unit) is not None


def find_about(reader: Reader, entity: Entity, dates: DateRange, tagged: Collection[str] = ()) -> About:
    """Return what restricts a search to a thing; its chunks are none if no note mentions it.

    Args:
        reader: Of the index.
        entity: The thing.
        dates: Those of the notes.
        tagged: The paths of notes that have its name as a tag.
    """
    names, paths = _spell_names(reader, entity.names), {*entity.notes, *tagged}
    chunks = find_chunks(reader, names, dates)
    for path in paths:
        chunks.update(reader.find_by_name(path.lower(), dates, _MOST_CHUNKS))
    return About(chunks, compile_spellings(names), paths)


def _spell_names(reader: Reader, names: Sequence[str]) -> list[str]:
    """Return names, and each again with one of its words in another spelling of the notes, such as Mueller."""
    found = dict.fromkeys(names)
    for name in names:
        words = {word.lower(): word for word in name.split()}
        for word, related in reader.find_forms(words, ["spelt"]).items():
            found.update(dict.fromkeys(name.replace(words[word], other) for other in choose_spellings(word, related)))
    return list(found)
