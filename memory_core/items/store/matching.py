"""The items that match a question by words, and those that a new fact repeats or corrects."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from memory_core.items.likeness import Fact, corrects, is_same
from memory_core.items.store import rows
from memory_core.sqlite import Connection
from memory_core.text.terms import cut_cjk, extract_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from memory_core.items.words import Words

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


def find_by_words(connection: Connection, question: str) -> list[set[int]]:
    """Return for each word of a question the items that hold it, in another form of the word or within a word.

    What a search for substrings finds, this finds as well.
    """
    words = extract_words(question)[:MAX_WORDS] or question.split()[:MAX_WORDS]
    return [_find_word(connection, word) for word in words]


def _find_word(connection: Connection, word: str) -> set[int]:
    quoted = '"' + cut_cjk(word).replace('"', " ").strip() + '"'
    found = rows.find_words(connection, quoted) if quoted.strip('" ') else set()
    return found | rows.find_substring(connection, word.casefold())


def relate(
    connection: Connection,
    content: str,
    scope: str,
    cosines: Mapping[int, float],
    words: Words,
    *,
    look_for_corrections: bool,
) -> Relations:
    """Find what a new fact repeats or corrects among the settled items of its scope, inside a write transaction.

    Restating is looked for first: what only says an item again corrects none.

    Args:
        connection: Inside the transaction that will write the fact.
        content: The fact.
        scope: Its scope.
        cosines: Of the fact with items, by key, in whatever space.
        words: The static model, which compares the texts.
        look_for_corrections: Otherwise only repetitions are found.
    """
    where, values = rows.make_condition(scope=scope)
    allowed = {
        standing.key for standing in rows.list_standings(connection, f"{where} AND superseded_by IS NULL", values)
    }
    near = sorted((key for key in cosines if key in allowed), key=lambda key: -cosines[key])[:LOOK]
    by_words = _count_words(find_by_words(connection, content), allowed)
    candidates = rows.load_by_keys(connection, list(dict.fromkeys([*near, *by_words[:LOOK]])))
    fact, vector = Fact(content), words.embed(content)
    compared = [
        (key, Fact(item.content), float(vector @ words.embed(item.content))) for key, item in candidates.items()
    ]
    compared.sort(key=lambda each: -each[2])
    for key, other, cosine in compared:
        if is_same(fact, other, words, cosine):
            return Relations(key)
    if not look_for_corrections:
        return Relations(None)
    corrected = [key for key, other, cosine in compared if corrects(fact, other, words, cosine)]
    return Relations(None, tuple(corrected[:1]))  # the nearest: a correction of several facts is a guess


def _count_words(found: Iterable[set[int]], allowed: set[int]) -> list[int]:
    """Return the allowed items that hold any word, those with the rarer and more words first."""
    counts: dict[int, float] = {}
    for keys in found:
        for key in keys & allowed:
            counts[key] = counts.get(key, 0.0) + 1 / len(keys)
    return sorted(counts, key=lambda key: -counts[key])
