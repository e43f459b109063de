"""Find where notes link to a name and mention it, and which names stand beside it there.

Nothing of this is kept: it is read from the index when somebody asks, so that an index costs what it cost.
"""

from __future__ import annotations

import posixpath
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import chain

from memory_core.records import KnownName, Mention, NameKind, Neighbour, Related
from memory_core.search.names import Entity, NameBook, find_about, find_chunks, load_names, load_whole
from memory_core.stores.interface import Reader
from memory_core.stores.values import DateRange
from memory_core.text.links import Link, find_blocks, find_links, read_lines
from memory_core.text.names import (
    choose_spelling,
    compile_spellings,
    find_names,
    fold_name,
    is_id,
    make_key,
    suggest_near,
)
from memory_core.text.tokens import WORD, may_be_unspaced

LINE_CHARS = 200  # of a line that is quoted
BESIDE_PLACES = 3  # that are quoted of each name beside another
MOST_WORDS = 5  # of a name that is found beside another without a link
MOST_COUNTED = 200  # names whose passages are counted
FOUND_CHARS = 2_000_000  # of the newest notes in which names are looked for that nobody has linked
RECURS = 3  # times that such a name stands there at least


@dataclass(frozen=True, slots=True)
class _Note:
    """A note as the index holds it, with its links.

    Attributes:
        path, date: Of the note.
        written: Its lines as they are.
        lines: See `LinkText`.
        links: In it, by line.
    """

    path: str
    date: str | None
    written: Sequence[str]
    lines: Sequence[str]
    links: Mapping[int, Sequence[Link]]


def find_related(reader: Reader, name: str, count: int) -> Related:
    """Find what notes tell of a name.

    Args:
        reader: Of the index.
        name: As somebody asks for it: any spelling, alias, tag or path of a note.
        count: The most entries of each list.

    Returns:
        Without a place, but with near names, for a name that no note holds.
    """
    book = load_names(reader)
    entity = book.resolve(name)
    vocabulary = _Vocabulary(book)
    linking = {note.path: note for note in _load_notes(reader, reader.find_linking())}
    vocabulary.add_links(linking.values())
    texts = reader.load_texts(find_about(reader, entity, DateRange()).chunks, whole=False)
    mentioning = {text.path for text in texts}
    others = _load_notes(reader, {text.id for text in texts if text.path not in linking})
    found = _Finder(entity, vocabulary)
    for note in chain(linking.values(), others):
        # The index knows no word of a link such as [x](the%20note.md).
        if note.path in mentioning or found.is_linked(note):
            found.read(note)
    for own in book.notes.values():
        found.read_tags(own.path, own.date, own.tags)
    if not found.places and not entity.notes:
        return Related(name=name, names=tuple(_suggest(reader, vocabulary, name, count)))
    return found.conclude(count)


def find_near(reader: Reader, book: NameBook, name: str, count: int) -> list[str]:
    """Return names that are near to one that no note holds, the nearest first."""
    vocabulary = _Vocabulary(book)
    vocabulary.add_links(_load_notes(reader, reader.find_linking()))
    return [each.name for each in _suggest(reader, vocabulary, name, count)]


def list_names(reader: Reader, count: int) -> Related:
    """List the names that notes have or link to, those that most passages mention first; then some that only look like names."""
    vocabulary = _Vocabulary(load_names(reader))
    vocabulary.add_links(_load_notes(reader, reader.find_linking()))
    things = vocabulary.list_things()
    counted = [vocabulary.describe(reader, entity) for entity in things[:MOST_COUNTED]]
    known = sorted(counted, key=lambda each: (-each.count, each.name))
    names = known[:count]
    if len(names) < count:
        keys = {make_key(name) for entity in things for name in entity.names}
        names += [each for each in _find_unlinked(reader, keys) if each.count >= RECURS][: count - len(names)]
    return Related(names=tuple(names))


class _Vocabulary:
    """All things that have a name: those of notes, and those that notes link to.

    Args:
        book: The names that notes give themselves.
    """

    def __init__(self, book: NameBook) -> None:
        self.entities: dict[str, Entity] = {}
        self._spellings: dict[str, Counter[str]] = {}
        self._kinds: dict[str, NameKind] = {}
        self.resolve = cache(book.resolve)
        for entity in (each for each in book.describe_all() if not is_id(each.name)):
            self.entities[entity.id] = entity
            self._kinds[entity.id] = "note"
        for note in book.notes.values():
            for tag in note.tags:
                self._add(tag, "tag")

    def add_links(self, notes: Iterable[_Note]) -> None:
        """Learn the names that notes link to."""
        for note in notes:
            for link in chain.from_iterable(note.links.values()):
                self._add(link.target, "tag" if link.kind == "tag" else "link")

    def show(self, entity_id: str) -> str:
        """Return the name of a thing, as most notes spell it where no note has it."""
        entity = self.entities[entity_id]
        spellings = self._spellings.get(entity_id)
        return entity.name if entity.notes or not spellings else choose_spelling(spellings)

    @cached_property
    def _keys(self) -> dict[str, str]:
        """The ids of the things that a text may name without a link, by the words of their names."""
        found = {
            " ".join(WORD.findall(make_key(name))): entity.id
            for entity in self.entities.values()
            if not entity.is_day and self._kinds[entity.id] != "tag"
            for name in entity.names
        }
        found.pop("", None)
        return found

    @cached_property
    def _starts(self) -> frozenset[str]:
        """Their first words, without which most words of a text would be looked for with all that follow."""
        return frozenset(key.partition(" ")[0] for key in self._keys)

    @cached_property
    def _unspaced(self) -> list[str]:
        """Those in scripts without spaces."""
        return [key for key in self._keys if may_be_unspaced(key)]

    def find_in(self, text: str) -> Iterator[str]:
        """Yield the ids of the things whose names stand in a text, as often as they do."""
        folded = fold_name(text)
        words = WORD.findall(folded)
        at = 0
        while at < len(words):
            sizes = range(min(MOST_WORDS, len(words) - at), 0, -1) if words[at] in self._starts else ()
            size = next((size for size in sizes if " ".join(words[at : at + size]) in self._keys), 0)
            if size:
                yield self._keys[" ".join(words[at : at + size])]
            at += size or 1
        if not folded.isascii():
            yield from (self._keys[key] for key in self._unspaced if key in folded and key not in words)

    def list_things(self) -> list[Entity]:
        """Return the things of which notes speak, but for daily notes, those first that are linked most often."""
        shown = [entity for entity in self.entities.values() if not entity.is_day]
        return sorted(shown, key=lambda entity: -self._spellings.get(entity.id, Counter()).total())

    def describe(self, reader: Reader, entity: Entity) -> KnownName:
        """Describe a thing, and count the passages that mention it; of a tag, its uses: the plain word may mean anything."""
        kind = self._kinds[entity.id]
        count = self._spellings[entity.id].total() if kind == "tag" else len(find_chunks(reader, entity.names))
        return KnownName(name=self.show(entity.id), kind=kind, count=count, aliases=entity.others)

    def _add(self, name: str, kind: NameKind) -> None:
        entity = self.resolve(name)
        if entity.id and (entity.notes or make_key(name)) and not is_id(entity.name):
            self.entities.setdefault(entity.id, entity)
            self._kinds.setdefault(entity.id, "note" if entity.notes else kind)
            if kind == "link" and self._kinds[entity.id] == "tag":
                self._kinds[entity.id] = kind
            self._spellings.setdefault(entity.id, Counter())[name] += 1


class _Finder:
    """Finds the places that speak of a thing, and what stands beside it there.

    Args:
        entity: The thing.
        vocabulary: All things.
    """

    def __init__(self, entity: Entity, vocabulary: _Vocabulary) -> None:
        self._entity = entity
        self._vocabulary = vocabulary
        self._spellings = compile_spellings(entity.names)
        self._links: list[Mention] = []
        self._mentions: list[Mention] = []
        self._beside: dict[str, list[Mention]] = {}

    @property
    def places(self) -> list[Mention]:
        """All places found: those that link to it, and those that mention it."""
        return self._links + self._mentions

    def is_linked(self, note: _Note) -> bool:
        """Return True if a note links to it."""
        links = chain.from_iterable(note.links.values())
        return any(self._vocabulary.resolve(link.target).id == self._entity.id for link in links)

    def read(self, note: _Note) -> None:
        """Read the blocks of a note."""
        is_own = note.path in self._entity.notes
        for first, last in find_blocks(note.lines):
            links = [link for line in range(first, last + 1) for link in note.links.get(line, ())]
            ids = {self._vocabulary.resolve(link.target).id: link.line for link in links}
            text = "\n".join(note.lines[first : last + 1])
            if is_own:
                for each, line in ids.items():
                    self._add_neighbours({each}, _place(note, line))
                continue
            if self._entity.id in ids:
                place = _place(note, ids[self._entity.id])
                self._links.append(place)
            elif (at := self._spellings.find_line(text)) is not None:
                place = _place(note, first + at)
                self._mentions.append(place)
            else:
                continue
            self._add_neighbours({*ids, *self._vocabulary.find_in(text)}, place)

    def read_tags(self, path: str, date: str | None, tags: Sequence[str]) -> None:
        """Read the tags in the front matter of a note."""
        for tag in tags:
            if self._vocabulary.resolve(tag).id == self._entity.id and path not in self._entity.notes:
                self._links.append(Mention(path=path, line=1, date=date, text=f"tags: {tag}"))

    def conclude(self, count: int) -> Related:
        """Return what was found."""
        entity, shown, days = self._entity, self._vocabulary, _list_days(self.places)
        beside = sorted(self._beside.items(), key=lambda item: (-len(item[1]), shown.show(item[0])))
        return Related(
            name=shown.show(entity.id) if entity.id in shown.entities else entity.name,
            aliases=entity.others, notes=entity.notes, count=len(self.places),
            first=min(days, default=None), last=max(days, default=None), days=len(days),
            backlinks=_sort(self._links)[:count], mentions=_sort(self._mentions)[:count],
            beside=tuple(
                Neighbour(
                    name=shown.show(key), count=len(places), first=min(_list_days(places), default=None),
                    last=max(_list_days(places), default=None), places=_sort(places)[:BESIDE_PLACES],
                )
                for key, places in beside[:count]
            ),
        )  # fmt: skip

    def _add_neighbours(self, ids: Iterable[str], place: Mention) -> None:
        for each in ids:
            entity = self._vocabulary.entities.get(each)
            if entity is not None and each != self._entity.id and not entity.is_day:
                self._beside.setdefault(each, []).append(place)


def _place(note: _Note, index: int) -> Mention:
    line = " ".join(note.written[index][: 20 * LINE_CHARS].split())
    text = line if len(line) <= LINE_CHARS else f"{line[: LINE_CHARS - 1].rstrip()}…"
    return Mention(path=note.path, line=index + 1, date=note.date, text=text)


def _list_days(places: Iterable[Mention]) -> set[str]:
    """Return the dates of the notes of some places."""
    return {place.date for place in places if place.date}


def _sort(places: Sequence[Mention]) -> tuple[Mention, ...]:
    """Return places, those of the newest note first; those without a date last."""
    ordered = sorted(places, key=lambda place: (place.path, place.line))
    return tuple(sorted(ordered, key=lambda place: place.date or "", reverse=True))


def _load_notes(reader: Reader, ids: Iterable[int]) -> Iterator[_Note]:
    """Read the notes that hold some chunks."""
    for first, written in load_whole(reader, ids):
        text = read_lines(written)
        links: dict[int, list[Link]] = {}
        folder = posixpath.dirname(first.path)
        for link in find_links(text.prose):
            target = link.target
            if link.kind == "link":
                target = target[1:] if target.startswith("/") else posixpath.normpath(posixpath.join(folder, target))
            links.setdefault(link.line, []).append(link._replace(target=target))
        yield _Note(first.path, first.date, written, text.lines, links)


def _suggest(reader: Reader, vocabulary: _Vocabulary, name: str, count: int) -> Iterator[KnownName]:
    """Yield names that are near to one that no note holds: those with notes and links, then those that only look like names."""
    spelt = {spelling: entity.id for entity in vocabulary.list_things() for spelling in entity.names}
    near = dict.fromkeys(spelt[each] for each in suggest_near(name, [*spelt], count))
    yield from (vocabulary.describe(reader, vocabulary.entities[each]) for each in near)
    if len(near) < count:
        found = {each.name: each for each in _find_unlinked(reader, {make_key(each) for each in spelt})}
        yield from (found[each] for each in suggest_near(name, [*found], count - len(near)))


def _find_unlinked(reader: Reader, known: Iterable[str]) -> list[KnownName]:
    """Return what looks like a name in the newest notes and is not known, the most frequent first."""
    spellings: dict[str, Counter[str]] = {}
    room = FOUND_CHARS
    texts = reader.load_texts(reader.find_beginnings(), whole=True)
    for text in sorted(texts, key=lambda each: each.date or "", reverse=True):
        if room <= 0:
            break
        room -= len(text.text)
        for name in find_names(text.text[:FOUND_CHARS]):
            if key := make_key(name):
                spellings.setdefault(key, Counter())[name] += 1
    known = frozenset(known)
    found = [
        KnownName(name=choose_spelling(counts), kind="found", count=counts.total())
        for key, counts in spellings.items()
        if key not in known
    ]
    return sorted(found, key=lambda each: (-each.count, each.name))
