"""Forms of words: which words of the notes share a stem in their language, where that is not the keyword index's own.

The table holds the distinct words of chunks in those languages, as long as any chunk holds them.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from typing import TypeAlias, cast

from memory_core.stores.sqlite import Connection, load_tokenizer
from memory_core.stores.values import pair_forms
from memory_core.text.languages import Language, stem_text, stem_words

Seen: TypeAlias = dict[Language, set[str]]  # see `stem_text`


def put(connection: Connection, texts: Iterable[str], seen: Seen) -> None:
    """Add the words of texts, inside a write transaction.

    Args:
        connection: Inside the transaction.
        texts: Of chunks.
        seen: What is in the table already, so that most words are not written again; what is added is added to it.
    """
    found = [each for text in texts for each in stem_text(text, seen)]
    if found:
        connection.executemany("INSERT INTO word_forms VALUES (?, ?, ?) ON CONFLICT DO NOTHING", found)


def drop_unused(connection: Connection, texts: Iterable[str]) -> None:
    """Drop the words of texts that no chunk holds any more, inside the write transaction that has dropped the texts."""
    if _is_empty(connection):
        return
    found = sorted({each for text in texts for each in stem_text(text)})
    if not found:
        return
    tokenize = load_tokenizer(connection)
    tokens = {each.word: tokenize(each.word.encode()) for each in found}
    wanted = json.dumps([token for several in tokens.values() for token in several])
    rows = connection.execute("SELECT term FROM chunks_terms WHERE term IN (SELECT value FROM json_each(?))", (wanted,))
    held = {row[0] for row in rows}
    connection.executemany(
        "DELETE FROM word_forms WHERE language = ? AND stem = ? AND word = ?",
        [each for each in found if held.isdisjoint(tokens[each.word])],
    )


def find(connection: Connection, words: Collection[str], languages: Sequence[Language]) -> dict[str, list[str]]:
    """Find the other forms of words in lower case, by word; a word without any is left out."""
    if _is_empty(connection):
        return {}
    asked = [each for language in languages for each in stem_words(words, language)]
    stored = connection.execute(
        "SELECT f.language, f.stem, f.word FROM json_each(?) AS asked JOIN word_forms f"
        " ON f.language = asked.value ->> 0 AND f.stem = asked.value ->> 1",
        (json.dumps(sorted({(language, stem) for language, stem, _ in asked})),),
    )
    return pair_forms(asked, cast("Iterable[tuple[str, str, str]]", stored))


def _is_empty(connection: Connection) -> bool:
    return not connection.execute("SELECT EXISTS (SELECT 1 FROM word_forms)").get
