"""The items that answer a question, ranked by similarity times salience; and those that a new fact repeats or corrects.

Embeddings are stored by space and content, and compared exactly in SQL.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from memory_core.config.settings import Vector
from memory_core.items.likeness import CORRECTED_COSINE, Fact, corrects, is_same, list_told_as
from memory_core.items.store import rows
from memory_core.items.store.rows import Filter, Standing
from memory_core.records import Space
from memory_core.stores.sqlite.connections import Connection
from memory_core.stores.sqlite.encoding import load_distances, write_distance
from memory_core.stores.values import inverse_document_frequency
from memory_core.text.folding import clean, fold
from memory_core.text.spelling import list_spellings
from memory_core.text.terms import extract_words, is_cjk, write_index

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from memory_core.items.likeness import Words
    from memory_core.items.records import Draft

LOOK = 24  # items by meaning, and as many by words, that a new fact is compared with
SIMILAR = 3  # items that whoever writes a fact is told of
MAX_WORDS = 32  # of a question
DAY_SECONDS = 86_400.0
# A share of the question's words found is worth this share of a cosine: all words found are as good as a clear paraphrase.
WORD_SIMILARITY = 0.6
UNKNOWN = -2.0  # the cosine of an item without an embedding in the question's space
# Of salience. Repetition and age together move an item by less than half of its similarity, so that the better match wins.
REINFORCEMENT = 0.1  # added to 1 for each doubling of the sessions that said it
REINFORCEMENT_CAP = 1.3
HALF_LIFE_DAYS = 90.0  # since it was last said, after which half of the part that ages is left
AGELESS = 0.8  # the share that does not age


def find_space(connection: Connection, space: Space) -> tuple[int, Space] | None:
    """Return the number of a space with its dimensions, which the asked one may not know; None when it holds nothing."""
    row = connection.execute(
        "SELECT id, dimensions FROM spaces WHERE (provider, model, endpoint, input_type) = (?, ?, ?, ?)"
        " AND (dimensions = ? OR ? = 0) ORDER BY id DESC LIMIT 1",
        (space.provider, space.model, space.endpoint, space.input_type, space.dimensions, space.dimensions),
    ).fetchone()
    return None if row is None else (int(row[0]), replace(space, dimensions=int(row[1])))


def put_embeddings(connection: Connection, space: Space, hashes: Sequence[bytes], rows: NDArray[np.float32]) -> None:
    """Store embeddings of contents, inside a write transaction; those of contents that no item has any more are left out."""
    known = replace(space, dimensions=int(rows.shape[1]))
    connection.execute(
        "INSERT INTO spaces (provider, model, endpoint, input_type, dimensions) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
        (known.provider, known.model, known.endpoint, known.input_type, known.dimensions),
    )
    found = find_space(connection, known)
    assert found is not None
    connection.executemany(
        "INSERT OR REPLACE INTO embeddings SELECT ?, ?, ? WHERE EXISTS (SELECT 1 FROM items WHERE text_hash = ?)",
        [
            (found[0], text_hash, row.astype("<f4").tobytes(), text_hash)
            for text_hash, row in zip(hashes, rows, strict=True)
        ],
    )


def find_pending(connection: Connection, space: Space, limit: int) -> list[tuple[bytes, str]]:
    """Return contents without an embedding in a space, with their hashes: the items said last first; -1 is no limit."""
    found = find_space(connection, space)
    rows = connection.execute(
        "SELECT text_hash, content FROM items i WHERE NOT EXISTS"
        " (SELECT 1 FROM embeddings e WHERE e.space_id = ? AND e.hash = i.text_hash) ORDER BY said DESC LIMIT ?",
        (None if found is None else found[0], limit),
    )
    return [(row[0], row[1]) for row in rows]


def compare(
    connection: Connection, vector: tuple[Space, NDArray[np.float32]] | None, settings: Vector
) -> dict[int, float]:
    """Return the cosine of every item that has an embedding in the space of a vector, by key; none without a vector.

    An embedding of another length, which only damage can leave, counts as missing; one without a direction is like nothing.

    Args:
        connection: Inside a transaction.
        vector: A space, and a row of unit length.
        settings: Of sqlite-vec.
    """
    found = None if vector is None else find_space(connection, vector[0])
    if vector is None or found is None:
        return {}
    load_distances(connection, settings)
    query = vector[1].astype("<f4").tobytes()
    rows = connection.execute(
        f"SELECT key, {write_distance('float32', 'e.embedding')} FROM items i"
        " JOIN embeddings e ON e.space_id = :space AND e.hash = i.text_hash AND length(e.embedding) = :length",
        {"space": found[0], "length": len(query), "query": query},
    )
    return {int(str(key)): 0.0 if distance is None else 1 - float(str(distance)) for key, distance in rows}


SHORT = 2  # characters of a word that is found whole alone: many words hold them


def find_by_words(connection: Connection, among: Sequence[Standing], question: str) -> list[list[int]]:
    """Return for each word of a question the places of the items that hold it: so, in another form or word, or told otherwise."""
    found = []
    question = clean(question)
    for word in extract_words(question)[:MAX_WORDS] or question.split()[:MAX_WORDS]:
        quoted = [write_index(each).replace('"', " ").strip() for each in list_told_as(word.lower(), question)]
        spellings = list_spellings(fold(word)) if len(word) > SHORT or is_cjk(word) else ()
        keys = set().union(*(rows.find_words(connection, f'"{each}"') for each in quoted if each))
        found.append(
            [
                place
                for place, item in enumerate(among)
                if item.key in keys or any(each in text for text in list_spellings(item.folded) for each in spellings)
            ]
        )
    return found


def relate(
    connection: Connection,
    draft: Draft,
    cosines: Mapping[int, float],
    words: Words,
    *,
    look_for_corrections: bool,
    cued: bool,
) -> tuple[int | None, list[int], list[int]]:
    """Find what a new fact repeats or corrects among the settled items of its scope, inside a write transaction.

    Restating is looked for first: what only says an item again corrects none.

    Args:
        connection: Inside the transaction that will write the fact.
        draft: The fact.
        cosines: Of the fact with items by key, in whatever space.
        words: The static model, which compares the texts.
        look_for_corrections: Otherwise only repetitions are found.
        cued: It was said to correct one; see `corrects`.

    Returns:
        The key of the item that says the same, or None; the keys of the items that the fact corrects; and those of similar
        items, the nearest first.
    """
    among = rows.list_standings(connection, Filter(scope=draft.scope, current=True))
    nearest = sorted((item.key for item in among if item.key in cosines), key=lambda key: -cosines[key])
    weights = weigh_words(find_by_words(connection, among, draft.content), len(among))
    by_words = [among[place].key for place in (-weights).argsort(kind="stable") if weights[place]]
    candidates = rows.load_by_keys(connection, list(dict.fromkeys([*nearest[:LOOK], *by_words[:LOOK]])))
    fact, vector = Fact(draft.content), words.embed(draft.content)
    cued = cued and look_for_corrections
    compared = [
        (key, Fact(item.content), float(vector @ words.embed(item.content))) for key, item in candidates.items()
    ]
    compared.sort(key=lambda each: -each[2])
    for key, other, cosine in compared:
        restated = not cued or not (fact.list_left_over(other) or other.list_left_over(fact))
        if restated and is_same(fact, other, words, cosine):
            return key, [], []
    near = [key for key, _, cosine in compared if cosine >= CORRECTED_COSINE][:SIMILAR]
    if not look_for_corrections:
        return None, [], near
    corrected = [key for key, other, cosine in compared if corrects(fact, other, words, cosine, cued=cued)]
    return None, corrected[:1], near  # the nearest: a correction of several facts is a guess


def measure_salience(reinforced: NDArray[np.int64] | int, age_days: NDArray[np.float64] | float) -> NDArray[np.float64]:
    """Return the worth of facts apart from any question: min(1 + a log2(1 + r), cap) * (f + (1 - f) * 2 ** (-age / half-life)).

    The literal product of similarity, ln(1 + r) and 2 ** (-age / 30) gives a fact that was said once no worth at all, and lets
    repetition drown the better match; this form keeps both within a third of the similarity.

    Args:
        reinforced: How many other sessions said each, r.
        age_days: Days since each was last said; the future counts as now.
    """
    import numpy as np

    said = np.minimum(1 + REINFORCEMENT * np.log2(1 + np.maximum(reinforced, 0)), REINFORCEMENT_CAP)
    fresh = np.exp2(-np.maximum(age_days, 0.0) / HALF_LIFE_DAYS)
    return np.asarray(said * (AGELESS + (1 - AGELESS) * fresh))


def rank(
    among: Sequence[Standing],
    cosines: Mapping[int, float],
    words: Sequence[Sequence[int]],
    *,
    heirs: Mapping[int, int],
    formula: str,
    least_cosine: float,
    now: float,
    limit: int,
) -> list[tuple[int, float, float]]:
    """Return the items that a question finds by meaning or by words, the best first: key, score and similarity.

    A question that a superseded item would answer finds the one that holds in its place: "where do I live?" needs the words of "I
    live in Basel" to find "I moved to Bern".

    Args:
        among: All items that were asked for, and those whose place they have taken.
        cosines: By key, of those that have an embedding in the question's space.
        words: See `weigh_words`.
        heirs: For the keys of the latter those of the former.
        formula: See `measure_similarity`.
        least_cosine: Cosines below are those of unrelated texts.
        now: Unix seconds.
        limit: The most to return.
    """
    import numpy as np

    known = np.array([cosines.get(item.key, UNKNOWN) for item in among], dtype=np.float32)
    by_meaning = np.where(known >= least_cosine, measure_similarity(known, formula), 0)
    near = np.maximum(by_meaning, WORD_SIMILARITY * weigh_words(words, len(among)))
    places = {item.key: place for place, item in enumerate(among)}
    for key, heir in heirs.items():
        near[places[heir]], near[places[key]] = max(near[places[heir]], near[places[key]]), 0
    reinforced = np.array([item.reinforced for item in among], dtype=np.int64)
    age_days = (now - np.array([item.said for item in among])) / DAY_SECONDS
    scores = near * measure_salience(reinforced, age_days)
    best = [place for place in np.argsort(-scores, kind="stable")[:limit].tolist() if near[place] > 0]
    return [(among[place].key, round(float(scores[place]), 4), round(float(near[place]), 4)) for place in best]


def measure_similarity(cosines: NDArray[np.float32], formula: str) -> NDArray[np.floating]:
    """Return cosines as similarities in 0..1: themselves, or 1 / (1 + distance) of the two vectors of unit length."""
    import numpy as np

    if formula == "inverseDistance":
        return 1 / (1 + np.sqrt(np.maximum(2 - 2 * cosines, 0)))
    return np.clip(cosines, 0, 1)


def weigh_words(found: Sequence[Sequence[int]], items: int) -> NDArray[np.float64]:
    """Return for each item the share of the weight of a question's words that it holds, 0..1.

    Args:
        found: For each word the places of the items that hold it; a word that none holds counts in the whole.
        items: The number of items among which the words were looked for.
    """
    import numpy as np

    weights = [inverse_document_frequency(items, len(places)) for places in found]
    shares = np.zeros(items)
    for weight, places in zip(weights, found, strict=True):
        shares[list(places)] += weight / sum(weights)
    return shares
