"""The items that match a question by words, and those that a new fact repeats or corrects."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from memory_core.items.likeness import Fact, corrects, is_same
from memory_core.items.store import rows
from memory_core.items.store.rows import Standing
from memory_core.stores.sqlite import Connection
from memory_core.text.terms import cut_cjk, extract_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from memory_core.items.likeness import Words
    from memory_core.items.records import Draft

LOOK = 24  # items by meaning, and as many by words, that a new fact is compared with
MAX_WORDS = 32  # of a question


@dataclass(frozen=True, slots=True)
class Relations:
    """The items that a new fact meets.

    Attributes:
        repeated: The key of the item that says the same; None if none does.
        corrected: The keys of the items that it corrects.
    """

    repeated: int | None
    corrected: tuple[int, ...] = ()


def find_by_words(connection: Connection, among: Sequence[Standing], question: str) -> list[list[int]]:
    """Return for each word of a question the places of the items that hold it, in another form of the word or within a word."""
    found = []
    for word in extract_words(question)[:MAX_WORDS] or question.split()[:MAX_WORDS]:
        quoted, folded = cut_cjk(word).replace('"', " ").strip(), word.casefold()
        keys = rows.find_words(connection, f'"{quoted}"') if quoted else set()
        found.append([place for place, item in enumerate(among) if item.key in keys or folded in item.folded])
    return found


def relate(
    connection: Connection,
    draft: Draft,
    cosines: Mapping[int, float],
    words: Words,
    *,
    look_for_corrections: bool,
) -> Relations:
    """Find what a new fact repeats or corrects among the settled items of its scope, inside a write transaction.

    Restating is looked for first: what only says an item again corrects none.

    Args:
        connection: Inside the transaction that will write the fact.
        draft: The fact.
        cosines: Of the fact with items by key, in whatever space.
        words: The static model, which compares the texts.
        look_for_corrections: Otherwise only repetitions are found.
    """
    where, values = rows.make_condition(scope=draft.scope)
    among = rows.list_standings(connection, f"{where} AND superseded_by IS NULL", values)
    nearest = sorted((item.key for item in among if item.key in cosines), key=lambda key: -cosines[key])
    by_words = [among[place].key for place in _count_words(find_by_words(connection, among, draft.content))]
    candidates = rows.load_by_keys(connection, list(dict.fromkeys([*nearest[:LOOK], *by_words[:LOOK]])))
    fact, vector = Fact(draft.content), words.embed(draft.content)
    cued = draft.kind == "correction" and look_for_corrections
    compared = [
        (key, Fact(item.content), float(vector @ words.embed(item.content))) for key, item in candidates.items()
    ]
    compared.sort(key=lambda each: -each[2])
    for key, other, cosine in compared:
        restated = not cued or not (fact.list_left_over(other) or other.list_left_over(fact))
        if restated and is_same(fact, other, words, cosine):
            return Relations(key)
    if not look_for_corrections:
        return Relations(None)
    corrected = [key for key, other, cosine in compared if corrects(fact, other, words, cosine, cued=cued)]
    return Relations(None, tuple(corrected[:1]))  # the nearest: a correction of several facts is a guess


def _count_words(found: Iterable[Sequence[int]]) -> list[int]:
    """Return the places of the items that hold any word, those with the rarer and more words first."""
    counts: dict[int, float] = {}
    for places in found:
        for place in places:
            counts[place] = counts.get(place, 0.0) + 1 / len(places)
    return sorted(counts, key=lambda place: -counts[place])
