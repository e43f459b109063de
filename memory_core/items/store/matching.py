"""The items that match a question by words, and those that a new fact repeats or corrects."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from memory_core.items.likeness import Fact, corrects, is_same
from memory_core.items.store import rows
from memory_core.items.store.snapshots import UNKNOWN
from memory_core.stores.sqlite import Connection
from memory_core.text.terms import cut_cjk, extract_words

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy as np
    from numpy.typing import NDArray

    from memory_core.items.likeness import Words
    from memory_core.items.records import Draft
    from memory_core.items.store.snapshots import Snapshot, Snapshots
    from memory_core.items.store.vectors import ItemCosines

LOOK = 24  # items by meaning, and as many by words, that a new fact is compared with
MAX_WORDS = 32  # of a question
# A word that more items hold than this share, or this number, is not looked for within words besides: it tells next to nothing.
COMMON, MANY = 0.1, 100


@dataclass(frozen=True, slots=True)
class Relations:
    """The items that a new fact meets.

    Attributes:
        repeated: The key of the item that says the same; None if none does.
        corrected: The keys of the items that it corrects.
    """

    repeated: int | None
    corrected: tuple[int, ...] = ()


def find_by_words(connection: Connection, snapshot: Snapshot, question: str) -> list[NDArray[np.int64]]:
    """Return for each word of a question the places of the items that hold it, in another form of the word or within a word.

    What a search for substrings finds, this finds as well, but for words that many items hold anyway, which say nothing.
    """
    words = extract_words(question)[:MAX_WORDS] or question.split()[:MAX_WORDS]
    return [_find_word(connection, snapshot, word) for word in words]


def _find_word(connection: Connection, snapshot: Snapshot, word: str) -> NDArray[np.int64]:
    import numpy as np

    quoted = cut_cjk(word).replace('"', " ").strip()
    found = rows.find_words(connection, f'"{quoted}"') if quoted else np.zeros(0, dtype=np.int64)
    _, places = snapshot.locate(found)
    if len(places) > max(len(snapshot.keys) * COMMON, MANY):
        return places
    return np.union1d(places, snapshot.find_text(word.casefold()))


def relate(
    connection: Connection,
    snapshots: Snapshots,
    draft: Draft,
    cosines: ItemCosines,
    words: Words,
    *,
    look_for_corrections: bool,
) -> Relations:
    """Find what a new fact repeats or corrects among the settled items of its scope, inside a write transaction.

    Restating is looked for first: what only says an item again corrects none.

    Args:
        connection: Inside the transaction that will write the fact.
        snapshots: Of the file.
        draft: The fact.
        cosines: Of the fact with items, in whatever space.
        words: The static model, which compares the texts.
        look_for_corrections: Otherwise only repetitions are found.
    """
    import numpy as np

    where, values = rows.make_condition(scope=draft.scope)
    snapshot = snapshots.load(connection, f"{where} AND superseded_by IS NULL", values)
    near = snapshot.align(cosines)
    nearest = [place for place in np.argsort(-near, kind="stable")[:LOOK].tolist() if near[place] > UNKNOWN]
    by_words = _count_words(find_by_words(connection, snapshot, draft.content))
    places = list(dict.fromkeys([*nearest, *by_words[:LOOK]]))
    candidates = rows.load_by_keys(connection, snapshot.keys[places].tolist() if places else [])
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


def _count_words(found: Iterable[NDArray[np.int64]]) -> list[int]:
    """Return the places of the items that hold any word, those with the rarer and more words first."""
    counts: dict[int, float] = {}
    for places in found:
        for place in places.tolist():
            counts[place] = counts.get(place, 0.0) + 1 / len(places)
    return sorted(counts, key=lambda place: -counts[place])
