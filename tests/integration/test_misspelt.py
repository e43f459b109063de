"""Words that no note holds as they are asked: another spelling, joined or in two parts, or a wrong letter."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from datetime import date
from pathlib import Path

import pytest

from memory_core.config.settings import Hybrid
from memory_core.plugin import MemorySlot
from memory_core.records import CallContext, Query
from memory_core.search.pipeline import search
from memory_core.search.question import MISSPELT_SHARE, Question, analyse
from tests.command import Command
from tests.index import Index

TODAY = date(2026, 3, 20)


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    with closing(Index(tmp_path / "notes", tmp_path / "state")) as made:
        for number in range(12):
            made.note(f"memory/filler-{number}.md", f"Walked along the canal, lap {number}, then soup.\n")
        yield made


def paths(index: Index, text: str) -> list[str]:
    """The notes that a search by keyword alone shows, best first."""
    index.sync()
    with index.store.read() as reader:
        hits = search(reader, Query(text=text, today=TODAY), Hybrid(), vectors=None).hits
    return [hit.path.removeprefix("memory/").removesuffix(".md") for hit in hits]


def ask(index: Index, text: str) -> Question:
    index.sync()
    with index.store.read() as reader:
        return analyse(reader, text, TODAY)


# Wrong letters.


@pytest.mark.parametrize(
    ("asked", "meant"),
    [
        ("What did Kovalczik send?", {"kovalczik": "kowalczyk"}),  # two letters of nine
        ("What did Cowalczyk send?", {"cowalczyk": "kowalczyk"}),  # of a long word, the first letter
        ("Where is the tellescope?", {"tellescope": "telescope"}),
        ("Where is the telecsope?", {"telecsope": "telescope"}),
        ("the price of the tnet", {"tnet": "tent"}),
        ("Where is the cent?", {}),  # the first letter of a short word
        ("Where is the tenants?", {}),  # two letters of seven
        ("Where is the tet?", {}),  # a word of three
        ("Where are the tents?", {}),  # the stem is there
        ("Where is TLS_telescop or B2telescope?", {}),  # identifiers
        ("Who paid 4512?", {}),
        ("When did he send and sent?", {}),
        ("What did he spend?", {}),  # a verb that we know, though no note holds it
        ("What was that, thiss?", {}),  # near to a word that builds sentences
        ("帐篷在哪里?", {}),
    ],
)
def test_a_word_that_no_note_holds_is_taken_for_the_nearest(index: Index, asked: str, meant: dict[str, str]) -> None:
    index.note("memory/kin.md", "Kowalczyk sent the telescope and the tent. This cost 4513.\n")
    assert ask(index, asked).interpreted_as == meant


def test_of_equally_near_words_the_commoner_is_taken(index: Index) -> None:
    index.note("memory/a.md", "The barge is old.\n")
    index.note("memory/b.md", "A badge, and\n\na second badge.\n")
    index.note("memory/c.md", "The badge is in the drawer.\n")
    assert ask(index, "Where is the baxge?").interpreted_as == {"baxge": "badge"}


def test_a_common_word_of_the_language_is_right(index: Index) -> None:
    index.note("memory/a.md", "The moving van has a gilt edge.\n")
    index.note("memory/b.md", "Das Gut liegt bei Mitte.\n")
    assert ask(index, "the gift").interpreted_as == {}
    assert ask(index, "the gikt").interpreted_as == {"gikt": "gilt"}
    assert ask(index, "Was ist mit der Miete?").interpreted_as == {}
    assert ask(index, "Was ist mit der Mittee?").interpreted_as == {"mittee": "mitte"}


def test_a_wrong_letter_finds_the_note_and_counts_half(index: Index) -> None:
    index.note("memory/kin.md", "Kowalczyk lent us the telescope.\n")
    assert paths(index, "What did Kovalczik lend us?") == ["kin"]
    asked, right = (ask(index, f"telescope {name}") for name in ("Kovalczik", "Kowalczyk"))
    assert asked.weights[0] == right.weights[0]
    assert asked.weights[1] > right.weights[1]  # of a word that no chunk holds
    assert asked.certainty == 1 - MISSPELT_SHARE * asked.weights[1] / sum(asked.weights)
    assert right.certainty == 1.0


def test_a_text_of_many_unknown_words_is_not_looked_into_word_by_word(index: Index) -> None:
    index.note("memory/kin.md", "Kowalczyk lent us the telescope.\n")
    unknown = [f"zq{first}{second}xq" for first in "abcd" for second in "mnop"]
    assert ask(index, " ".join([*unknown[:5], "Kovalczik"])).interpreted_as == {"kovalczik": "kowalczyk"}
    assert ask(index, " ".join([*unknown, "Kovalczik"])).interpreted_as == {}


def test_a_word_goes_with_the_note_that_held_it(index: Index) -> None:
    index.note("memory/kin.md", "Kowalczyk lent us the telescope.\n")
    assert ask(index, "Kovalczik").interpreted_as
    index.note("memory/kin.md", "Somebody lent us the telescope.\n")
    assert not ask(index, "Kovalczik").interpreted_as


def test_the_answer_says_what_was_taken_for_what(tmp_path: Path) -> None:
    (tmp_path / "MEMORY.md").write_text("Kowalczyk lent us the telescope.\n")
    config = {"memorySearch": {"provider": "none", "query": {"explain": True}}}
    with MemorySlot(config, workspace=tmp_path, state_dir=tmp_path / "state") as slot:
        context = CallContext.local("agent:main:main")
        found = slot.call_tool("memory_search", {"query": "What did Kovalczik lend us?"}, context)
        assert found["interpretedAs"] == {"kovalczik": "kowalczyk"}
        assert found["results"]
        assert "interpretedAs" not in slot.call_tool("memory_search", {"query": "What did Kowalczyk lend us?"}, context)
        terms = slot.call_tool("memory_explain", {"query": "What did Kovalczik lend us?"}, context)["asked"]["terms"]
        assert [(each["text"], each["meant"]) for each in terms] == [("kovalczik", "kowalczyk"), ("lend", None)]


def test_the_command_says_so_before_the_results(command: Command) -> None:
    assert command("index").code == 0
    shown = command("search", "the musicel instrument guitarr")
    assert "Showing results for guitar instead of guitarr:" in shown.err
    assert "guitar, taken for guitarr" in command("explain", "guitarr").out


# Letters and umlauts.


@pytest.mark.parametrize(
    "spellings",
    [
        ("Müller", "Mueller", "Muller"),
        ("Søren", "Soeren", "Soren"),
        ("Gauß", "Gauss"),
        ("Łukasz", "Lukasz"),
        ("Đurić", "Duric"),
        ("Þórsson", "Thorsson"),
        ("Bjærke", "Bjaerke"),
        ("Cœurderoy", "Coeurderoy"),
        ("Yıldız", "Yildiz"),
        ("José", "Jose"),
        ("Håkon", "Haakon", "Hakon"),
    ],
)
def test_every_spelling_of_a_name_finds_every_other(index: Index, spellings: tuple[str, ...]) -> None:
    for number, spelling in enumerate(spellings):
        index.note(f"memory/{number}.md", f"{spelling} called about the boiler, number {number}.\n")
    everywhere = {str(number) for number in range(len(spellings))}
    for spelling in spellings:
        question = ask(index, f"Who is {spelling}?")
        assert {*paths(index, f"Who is {spelling}?")} == everywhere, spelling
        assert not question.interpreted_as


@pytest.mark.parametrize(
    ("said", "asked"),
    [
        ("Müller", "Mueller"),
        ("Mueller", "Müller"),
        ("Gauß", "Gauss"),
        ("Gauss", "Gauß"),
        ("Lukasz", "Łukasz"),
        ("Łukasz", "Lukasz"),
    ],
)
def test_items_and_names_meet_their_other_spellings(tmp_path: Path, said: str, asked: str) -> None:
    (tmp_path / "MEMORY.md").write_text(f"The boiler was mended by {said} himself.\n\nThe lamp is new.\n")
    config = {"memorySearch": {"provider": "none", "items": {"enabled": True}}}
    with MemorySlot(config, workspace=tmp_path, state_dir=tmp_path / "state") as slot:
        context = CallContext.local("agent:main:main")
        slot.call_tool("memory_store", {"text": f"{said} mends boilers."}, context)
        slot.call_tool("memory_store", {"text": "The lamp is new."}, context)
        recalled = slot.call_tool("memory_recall", {"query": f"What does {asked} do?"}, context)
        assert [item["text"] for item in recalled["results"]] == [f"{said} mends boilers."]
        found = slot.call_tool("memory_search", {"query": "boiler", "about": asked}, context)
        assert [hit["snippet"] for hit in found["results"]] == [f"The boiler was mended by {said} himself."]


def test_names_without_an_umlaut_are_not_taken_for_each_other(index: Index) -> None:
    index.note("memory/one.md", "Michael called about the boiler.\n")
    index.note("memory/two.md", "Michal called about the boiler.\n")
    assert paths(index, "Michael")[:1] == ["one"]
    assert paths(index, "Michal")[:1] == ["two"]
    assert all(not term.forms for name in ("Michael", "Michal") for term in ask(index, name).words)


def test_ate_is_not_at(index: Index) -> None:
    index.note("memory/ate.md", "We ate mussels.\n")
    index.note("memory/at.md", "We met at noon, at the pier, at last.\n")
    assert paths(index, "What was eaten?") == paths(index, "Where did she eat?") == paths(index, "Who ate?") == ["ate"]


# Joined and split words.


@pytest.mark.parametrize(
    ("asked", "note"),
    [
        ("notebook", "note-book"),
        ("note book", "notebook"),
        ("note-book", "notebook"),
        ("hotspot", "hot-spot"),
        ("hot spot", "hotspot"),
        ("hot-spot", "hot spot"),
    ],
)
def test_joined_and_split_spellings_meet(index: Index, asked: str, note: str) -> None:
    index.note("memory/it.md", f"The {note} is in the drawer.\n")
    index.note("memory/other.md", "The lamp is in the cellar.\n")
    assert paths(index, asked)[:1] == ["it"]
    assert not ask(index, asked).interpreted_as
