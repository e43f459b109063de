"""Relations of words: which words of the notes share a stem or a verb in their language, and how the notes spell words.

The table holds the distinct words of chunks, as long as any chunk holds them.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from typing import TypeAlias, cast

from memory_core.stores.sqlite.connections import Connection, load_tokenizer
from memory_core.stores.values import pair_forms
from memory_core.text.folding import fold_words
from memory_core.text.languages import Relation, relate_words, stem_words

Seen: TypeAlias = dict[Relation, set[str]]  # see `stem_text`


def put(connection: Connection, texts: Iterable[str], seen: Seen) -> None:
    """Add the words of texts, inside a write transaction.

    Args:
        connection: Inside the transaction.
        texts: Of chunks.
        seen: What is in the table already, so that most words are not written again; what is added is added to it.
    """
    found = [each for text in texts for each in relate_words(text, seen)]
    if found:
        connection.executemany("INSERT INTO word_forms VALUES (?, ?, ?) ON CONFLICT DO NOTHING", found)


def drop_unused(connection: Connection, texts: Iterable[str]) -> None:
    """Drop the words of texts that no chunk holds any more, inside the write transaction that has dropped the texts."""
    if _is_empty(connection):
        return
    found = sorted({each for text in texts for each in relate_words(text)})
    if not found:
        return
    tokenize = load_tokenizer(connection)
    tokens = {each.word: tokenize(fold_words(each.word).encode()) for each in found}
    wanted = json.dumps([token for several in tokens.values() for token in several])
    rows = connection.execute("SELECT term FROM chunks_terms WHERE term IN (SELECT value FROM json_each(?))", (wanted,))
    held = {row[0] for row in rows}
    connection.executemany(
        "DELETE FROM word_forms WHERE language = ? AND stem = ? AND word = ?",
        [each for each in found if held.isdisjoint(tokens[each.word])],
    )


def find(connection: Connection, words: Collection[str], languages: Sequence[Relation]) -> dict[str, list[str]]:
    """Find the other forms of words in lower case, by word; a word without any is left out."""
    held = connection.execute(
        "SELECT value FROM json_each(?) WHERE EXISTS (SELECT 1 FROM word_forms WHERE language = value)",
        (json.dumps([*languages]),),
    )
    asked = [
        each for (language,) in cast("list[tuple[Relation]]", held.fetchall()) for each in stem_words(words, language)
    ]
    stored = connection.execute(
        "SELECT f.language, f.stem, f.word FROM json_each(?) AS asked JOIN word_forms f"
        " ON f.language = asked.value ->> 0 AND f.stem = asked.value ->> 1",
        (json.dumps(sorted({(language, stem) for language, stem, _ in asked})),),
    )
    return pair_forms(asked, cast("Iterable[tuple[str, str, str]]", stored))


def find_spelt(connection: Connection, begin: str, end: str, lengths: tuple[int, int]) -> list[str]:
    """Find the words whose keys begin or end with some letters; see `Reader.find_spelt`."""
    found = connection.execute(
        " UNION ".join(
            f"SELECT word FROM word_forms WHERE language = '{kept}' AND stem >= :{part} AND stem < :{part} || char(1114111)"
            " AND length(stem) BETWEEN :shortest AND :longest"
            for kept, part in (("spelt", "begin"), ("mirrored", "end"))
        ),
        {"begin": begin, "end": end[::-1], "shortest": lengths[0], "longest": lengths[1]},
    )
    return [row[0] for row in found]


def _is_empty(connection: Connection) -> bool:
    return not connection.execute("SELECT EXISTS (SELECT 1 FROM word_forms)").get
