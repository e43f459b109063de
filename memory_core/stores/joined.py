"""Several indexes read as one, so that one ranking answers from all of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import date
from typing import TYPE_CHECKING

from memory_core.stores.interface import Reader, best_of
from memory_core.stores.values import (
    ChunkText,
    DateRange,
    IndexedChunk,
    ServingSpace,
    SyncState,
    Term,
    WindowCosine,
    WindowTokens,
    inverse_document_frequency,
    sort_equals,
)
from memory_core.text.languages import Relation

if TYPE_CHECKING:
    from memory_core.embeddings.vectors import Row


class JoinedReader:
    """Implements `stores.interface.Reader` on readers of several indexes.

    The id of a chunk is its own, times the number of indexes, plus that of its index. Indexes whose vectors are of another space
    than those of the first one that has any are read by keyword alone.

    Args:
        readers: By what their paths begin with, such as "person:"; the first one is that of the session's workspace.
    """

    def __init__(self, readers: Mapping[str, Reader]) -> None:
        self._prefixes, self._readers = [*readers], [*readers.values()]
        self._counts: defaultdict[str, list[int]] = defaultdict(lambda: [0] * len(self._readers))
        self._sizes = [reader.count_chunks() for reader in self._readers]
        serving = [reader.load_serving_space() for reader in self._readers]
        self._serving = next((each for each in serving if each is not None), None)
        self._spaces = [
            each.id if each and self._serving and each.space.matches(self._serving.space) else None for each in serving
        ]

    def holds_notes(self) -> bool:
        """See `Reader`."""
        return any(reader.holds_notes() for reader in self._readers)

    def count_chunks(self) -> int:
        """See `Reader`."""
        return sum(self._sizes)

    def load_workspace(self) -> str | None:
        """See `Reader`; that of the first index."""
        return self._readers[0].load_workspace()

    def load_state(self) -> SyncState:
        """See `Reader`; of the first index, whose provider's outage is that of all."""
        return self._readers[0].load_state()

    def load_serving_space(self) -> ServingSpace | None:
        """See `Reader`."""
        return self._serving

    def stem(self, text: str) -> list[str]:
        """See `Reader`; indexes of one kind stem alike."""
        return self._readers[0].stem(text)

    def count_by_stem(self, stems: Collection[str]) -> dict[str, int]:
        """See `Reader`."""
        return self._add_up([reader.count_by_stem(stems) for reader in self._readers])

    def count_by_prefix(self, prefixes: Collection[str]) -> dict[str, int]:
        """See `Reader`."""
        return self._add_up([reader.count_by_prefix(prefixes) for reader in self._readers])

    def count_phrase(self, phrase: str) -> int:
        """See `Reader`."""
        return self._add_up([{phrase: reader.count_phrase(phrase)} for reader in self._readers])[phrase]

    def _add_up(self, several: Sequence[Mapping[str, int]]) -> dict[str, int]:
        """Return the sums of what the indexes have counted, and remember the counts of each."""
        total: dict[str, int] = {}
        for number, counts in enumerate(several):
            for text, count in counts.items():
                total[text] = total.get(text, 0) + count
                self._counts[text][number] = count
        return total

    def find_forms(self, words: Collection[str], languages: Sequence[Relation]) -> dict[str, list[str]]:
        """See `Reader`."""
        found: dict[str, dict[str, None]] = {}
        for reader in self._readers:
            for word, forms in reader.find_forms(words, languages).items():
                found.setdefault(word, {}).update(dict.fromkeys(forms))
        return {word: [*forms] for word, forms in found.items()}

    def find_spelt(self, begin: str, end: str, lengths: tuple[int, int]) -> list[str]:
        """See `Reader`."""
        return [*dict.fromkeys(word for reader in self._readers for word in reader.find_spelt(begin, end, lengths))]

    def find_by_keyword(self, terms: Sequence[Term], dates: DateRange, depth: int) -> dict[int, float]:
        """See `Reader`. Each index weighs terms by its own counts, so its scores are brought to the weights of all."""
        found: dict[int, float] = {}
        for number, reader in enumerate(self._readers):
            held = [(term, count) for term in terms if (count := self._count(term, number))]
            if not held:
                continue
            own = sum(inverse_document_frequency(self._sizes[number], count) for _, count in held)
            factor = sum(inverse_document_frequency(self.count_chunks(), term.documents) for term, _ in held) / own
            here = sorted((term._replace(documents=count) for term, count in held), key=lambda term: term.documents)
            scored = reader.find_by_keyword(here, dates, depth)
            found |= {self._widen(chunk_id, number): factor * score for chunk_id, score in scored.items()}
        return best_of(self, found, depth)

    def _count(self, term: Term, number: int) -> int:
        """Return the number of chunks of an index that hold a term in its commonest form."""
        spelt = [term.text, " ".join(term.stems)]
        spelt += [each for form in term.forms for each in (form.word, form.stem)]
        counts = [self._counts[each][number] for each in spelt if each in self._counts]
        return min(max(counts, default=0), term.documents)

    def find_nearest(self, space_id: int, vector: Row, dates: DateRange, depth: int) -> dict[int, float]:  # noqa: ARG002
        """See `Reader`."""
        found: dict[int, float] = {}
        for number, (reader, own) in enumerate(zip(self._readers, self._spaces, strict=True)):
            if own is not None:
                near = reader.find_nearest(own, vector, dates, depth)
                found |= {self._widen(chunk_id, number): cosine for chunk_id, cosine in near.items()}
        return best_of(self, found, depth)

    def find_by_name(self, name: str, dates: DateRange, limit: int) -> list[int]:
        """See `Reader`; a path of one layer is looked for there alone."""
        named = next((prefix for prefix in self._prefixes if prefix and name.startswith(prefix.lower())), "")
        return [
            self._widen(chunk_id, number)
            for number, (prefix, reader) in enumerate(zip(self._prefixes, self._readers, strict=True))
            if prefix == named or not named
            for chunk_id in reader.find_by_name(name.removeprefix(named), dates, limit)
        ][:limit]

    def find_dated(self, first: date, last: date, limit: int) -> list[int]:
        """See `Reader`."""
        found = self.load_chunks(self._collect(lambda reader: reader.find_dated(first, last, limit)))
        ordered = sorted(found, key=lambda chunk: (chunk.date or "", chunk.source, chunk.path, chunk.start_line))
        return [chunk.id for chunk in ordered[:limit]]

    def sort_equals(self, ids: Collection[int]) -> list[int]:
        """See `Reader`."""
        ordered = dict.fromkeys(chunk.id for chunk in sort_equals(self.load_chunks(ids)))
        return [*ordered, *(each for each in ids if each not in ordered)]

    def load_chunks(self, ids: Collection[int]) -> list[IndexedChunk]:
        """See `Reader`."""
        return [
            chunk._replace(id=self._widen(chunk.id, number), path=self._prefixes[number] + chunk.path)
            for number, own in self._split(ids)
            for chunk in self._readers[number].load_chunks(own)
        ]

    def find_phrases(self, phrases: Sequence[str], dates: DateRange) -> list[int]:
        """See `Reader`."""
        return self._collect(lambda reader: reader.find_phrases(phrases, dates))

    def find_beginnings(self) -> list[int]:
        """See `Reader`."""
        return self._collect(lambda reader: reader.find_beginnings())

    def find_linking(self) -> list[int]:
        """See `Reader`."""
        return self._collect(lambda reader: reader.find_linking())

    def load_texts(self, ids: Collection[int], *, whole: bool) -> list[ChunkText]:
        """See `Reader`."""
        return [
            text._replace(id=self._widen(text.id, number), path=self._prefixes[number] + text.path)
            for number, own in self._split(ids)
            for text in self._readers[number].load_texts(own, whole=whole)
        ]

    def compare_windows(self, space_id: int, vector: Row, chunk_ids: Collection[int]) -> list[WindowCosine]:  # noqa: ARG002
        """See `Reader`."""
        return [
            window._replace(chunk_id=self._widen(window.chunk_id, number))
            for number, own in self._split(chunk_ids)
            if (space := self._spaces[number]) is not None
            for window in self._readers[number].compare_windows(space, vector, own)
        ]

    def load_tokens(self, space_id: int, chunk_ids: Collection[int]) -> list[WindowTokens] | None:  # noqa: ARG002
        """See `Reader`."""
        found: list[WindowTokens] = []
        for number, own in self._split(chunk_ids):
            space = self._spaces[number]
            tokens = None if space is None else self._readers[number].load_tokens(space, own)
            if tokens is None:
                return None
            found += [each._replace(chunk_id=self._widen(each.chunk_id, number)) for each in tokens]
        return found

    def load_log_lines(self, source: str, path: str) -> Sequence[int]:
        """See `Reader`; session logs are those of the workspace."""
        return self._readers[0].load_log_lines(source, path)

    def _widen(self, chunk_id: int, number: int) -> int:
        return chunk_id * len(self._readers) + number

    def _split(self, ids: Iterable[int]) -> Iterator[tuple[int, list[int]]]:
        """Yield the number of each index to which some ids belong, with its own ids."""
        split: defaultdict[int, list[int]] = defaultdict(list)
        for each in ids:
            own, number = divmod(each, len(self._readers))
            split[number].append(own)
        yield from sorted(split.items())

    def _collect(self, find: Callable[[Reader], Iterable[int]]) -> list[int]:
        return [
            self._widen(chunk_id, number) for number, reader in enumerate(self._readers) for chunk_id in find(reader)
        ]
