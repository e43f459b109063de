"""The store keeps which words of the notes share a stem, as long as a note holds them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest

from memory_core.sources.files import list_files
from memory_core.sources.notes import read_note
from memory_core.sync.syncer import cut
from tests.index import Index

GERMAN = "Die Rechnungen liegen bei der Steuer.\n"


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    with closing(Index(tmp_path / "notes", tmp_path / "state")) as made:
        yield made


def held(index: Index) -> set[str]:
    """The words that the index holds forms of."""
    index.sync()
    with index.store.database.read() as connection:
        return {
            str(row[0])
            for row in connection.execute("SELECT word FROM word_forms WHERE language NOT IN ('spelt', 'mirrored')")
        }


def test_words_in_other_languages_are_kept_and_english_ones_not(index: Index) -> None:
    index.note("memory/a.md", "The invoices are with the tax office.\n")
    assert held(index) == set()
    index.note("memory/b.md", GERMAN)
    assert held(index) == {"rechnungen", "liegen", "steuer"}
    with index.store.read() as reader:
        assert reader.find_forms(["rechnung", "zaun"], ["de"]) == {"rechnung": ["rechnungen"]}
        assert reader.find_forms(["rechnung"], ["es", "fr"]) == {}


def test_a_word_goes_with_the_last_note_that_holds_it(index: Index) -> None:
    index.note("memory/a.md", GERMAN)
    index.note("memory/b.md", "Die Steuer ist noch nicht bezahlt.\n")
    assert {"rechnungen", "steuer", "bezahlt"} <= held(index)
    index.note("memory/a.md", "Das Geheimnis ist nicht mehr da.\n")
    assert held(index) == {"geheimnis", "mehr", "steuer", "bezahlt"}
    (index.workspace / "memory/b.md").unlink()
    assert held(index) == {"geheimnis", "mehr"}
    (index.workspace / "memory/a.md").unlink()
    assert held(index) == set()


def test_words_of_a_transaction_that_failed_are_added_by_the_next(index: Index) -> None:
    index.note("memory/a.md", GERMAN)
    index.sync()
    (file,) = list_files(index.config).files
    again = cut(file, read_note(file), index.search.chunking)
    with index.store.write() as writer:
        writer.drop_files([writer.list_files()[0].id])
    with suppress(ZeroDivisionError), index.store.write() as writer:
        writer.put_files([again])
        raise ZeroDivisionError
    with index.store.write() as writer:
        writer.put_files([again])
    assert held(index) == {"rechnungen", "liegen", "steuer"}


def test_a_rebuild_brings_words_back(index: Index) -> None:
    index.note("memory/a.md", GERMAN)
    before = held(index)
    with index.store.database.write() as connection:
        connection.execute("DELETE FROM word_forms")
    index.sync(force=True)
    assert held(index) == before
