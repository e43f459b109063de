"""Words that no note holds as they are asked: another spelling, joined or in two parts, or a wrong letter."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from memory_core.config.settings import ExtraPath
from memory_core.plugin import MemorySlot
from memory_core.records import CallContext
from memory_core.search.question import MISSPELT_SHARE, Question, analyse
from tests.command import Command
from tests.index import Index, make_filled

TODAY = date(2026, 3, 20)


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    with closing(make_filled(tmp_path)) as made:
        yield made


def paths(index: Index, text: str) -> list[str]:
    """The notes that a search by keyword alone shows, best first."""
    return [hit.path.removeprefix("memory/").removesuffix(".md") for hit in index.find(text, TODAY)]


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


def test_a_misspelt_word_that_only_builds_the_question_asks_for_nothing(index: Index) -> None:
    index.note("memory/a.md", "The ladder is in the shed.")
    assert [word.text for word in ask(index, "wher is the ladder").words] == ["ladder"]


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
    nothing = command("search", "guitarr", "--before", "1999-01-01")
    assert "Showing results" not in nothing.err
    assert nothing.out.startswith("No matches, also with guitar instead of guitarr: ")


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


# Words as the notes write them otherwise: each is found, and counts less than the word itself where it is only a part.


@pytest.mark.parametrize(
    ("written", "asked"),
    [
        # In groups and in one piece.
        ("Ring the plumber at +43 660 555-0192.", "+436605550192"),
        ("Ring the plumber at 06605550192.", "0660 555 0192"),
        ("Ring the plumber at 0660 5550 192.", "0660 555 01 92"),
        ("The account is AT61 1904 3002 3457 3201.", "AT611904300234573201"),
        ("The account is AT611904300234573201.", "AT61 1904 3002 3457 3201"),
        ("The printer has 3C:22:FB:0A:91:7E.", "3c22fb0a917e"),
        ("The printer has 3c22fb0a917e.", "3C-22-FB-0A-91-7E"),
        # Names of code and their parts.
        ("The crash is in parseInvoiceTotal.", "invoice crash"),
        ("Only renderMarkdownTable is slow.", "markdown"),
        ("Set HTTPServerPort first.", "server port"),
        ("The step parse-invoice-total is slow.", "parseInvoiceTotal"),
        ("MAX_RETRY_DELAY is nine.", "retry delay"),
        # Joined, split and hyphenated.
        ("The check-in is at noon.", "checkin"),
        ("Our checkin desk is closed.", "check-in"),
        ("The key of the play ground.", "playground"),
        # German, Dutch and Nordic compounds.
        ("Der Fahrradschlüssel hängt am Haken.", "Wo ist der Schlüssel für das Rad?"),
        ("Die Heizungsrechnung ist bezahlt, die Rechnung vom Gas nicht; Heizung läuft.", "Heizungsrechnung"),
        ("De fietssleutel ligt in de la; de fiets staat buiten.", "waar is de sleutel van de fiets"),
        ("Källardörren är låst. En dörr till vinden; källar finns.", "dörren källare"),
        ("Brændeovnen ryger. Brænde ligger ude.", "ovnen"),
        # Irregular plurals.
        ("There are mice behind the stove.", "mouse"),
        ("The wolf was seen twice, they say.", "where are the wolves"),
        ("Both criteria were met in the end.", "criterion"),
        ("Die Kakteen brauchen im Winter kein Wasser.", "Wie oft gieße ich den Kaktus?"),
        ("Gli uomini della squadra arrivano alle nove.", "quando arriva l'uomo della squadra"),
    ],
)
def test_a_word_is_found_as_the_notes_write_it(index: Index, written: str, asked: str) -> None:
    index.note("memory/wanted.md", f"{written}\n")
    assert paths(index, asked)[:1] == ["wanted"]


@pytest.mark.parametrize(
    ("path", "asked"),
    [
        ("places/Hotel Seeblick.md", "Hotel Seeblick"),
        ("places/Hotel Seeblick.md", "What do you know about Seeblick?"),
        ("work/otter-migration/notes.md", "otter migration"),
        ("garden_shed.md", "shed"),
        ("ProjectFalcon.md", "falcon"),
        ("2026-02-11 Zahnarzt.md", "Zahnarzt"),
        ("東京旅行.md", "東京旅行"),
    ],
)
def test_words_of_a_path_find_its_note(index: Index, path: str, asked: str) -> None:
    index.note(f"memory/{path}", "Breakfast from seven.\n")
    assert paths(index, asked)[:1] == [path.removesuffix(".md")]


def test_a_part_counts_less_than_the_word(index: Index) -> None:
    index.note("memory/whole.md", "Der Schlüssel liegt im Flur.\n")
    index.note("memory/part.md", "Der Fahrradschlüssel liegt im Flur. Das Fahrrad steht draußen.\n")
    assert paths(index, "Schlüssel Flur") == ["whole", "part"]
    (term, _) = ask(index, "Schlüssel Flur").words
    assert [(form.word, form.worth) for form in term.forms] == [("fahrradschlüssel", 0.3)]


@pytest.mark.parametrize(
    ("written", "asked"),
    [
        ("Der Fahrradschlüssel hängt am Haken.", "Wo ist das Fass?"),
        ("Die Gastgeberin kommt um acht.", "Was kostet das Gas?"),  # "tgeberin" is no word
        ("The passport and the transport are booked.", "what is the port of the server"),
        ("Versicherung zahlen. Hund füttern.", "Wann kommt die Lebensversicherung?"),  # nothing of life insurance
        ("Call 0660 555 0192.", "06605550193"),
        ("parseInvoiceTotal fails.", "voice"),
        ("The men of the village sing.", "mention"),
    ],
)
def test_a_stranger_finds_nothing(index: Index, written: str, asked: str) -> None:
    index.note("memory/other.md", f"{written}\n")
    assert paths(index, asked) == []


def test_the_folders_of_the_machine_are_no_words(index: Index, tmp_path: Path) -> None:
    folder = tmp_path / "elsewhere" / "quince"
    folder.mkdir(parents=True)
    (folder / "medlar.md").write_text("Breakfast from seven.\n")
    index.search = replace(index.search, extra_paths=(ExtraPath(path=str(folder)),))
    assert paths(index, "medlar") == [str(folder / "medlar")]
    assert paths(index, "elsewhere") == []


# Other words of a family.


def check_finds(index: Index, asked: str, note: str) -> None:
    """Check that a question finds the note, of two, without saying that it was taken for another one."""
    index.note("memory/a.md", f"- {note}.\n")
    index.note("memory/b.md", "- The kettle is blue.\n")
    assert paths(index, asked) == ["a"]
    assert ask(index, asked).interpreted_as == {}


@pytest.mark.parametrize(
    ("asked", "note"),
    [
        ("allergies", "Allergic to peanuts"),
        ("What allergies do I have?", "Allergic to peanuts"),
        ("allergisch", "Ein Allergen im Brot"),
        ("physiotherapist", "Physiotherapy on Mondays"),
        ("alergia", "Es alérgica al polen"),
        ("photographer", "The photographic paper"),
    ],
)
def test_a_word_finds_another_one_of_its_family(index: Index, asked: str, note: str) -> None:
    check_finds(index, asked, note)


@pytest.mark.parametrize(
    ("asked", "note"),
    [("numbers", "A numb finger"), ("the universities", "The universe"), ("the counter", "The count")],
)
def test_words_that_share_letters_alone_are_of_no_family(index: Index, asked: str, note: str) -> None:
    index.note("memory/a.md", f"- {note}.\n")
    assert not any(term.forms for term in ask(index, asked).words if not term.asked)


# Short forms, and words that mean the same.


@pytest.mark.parametrize(
    ("asked", "note"),
    [
        ("physiotherapist", "Physio on Mondays"),
        ("Wann habe ich Physio?", "Physiotherapie am Montag"),
        ("When is my mother's birthday?", "Mum's birthday is in March"),
        ("What is wrong with the refrigerator?", "The fridge makes a noise"),
        ("Whose children came?", "Two kids of the neighbour came"),
        ("When is the wedding?", "She got married in May"),  # "marry", which is irregular
        ("grandmother", "Gran is in Leeds"),
        ("Wann kommt meine Großmutter?", "Oma kommt am Montag"),
        ("Was haben die Fahrräder gekostet?", "Die Räder kosteten viel"),  # all forms of the other word
        ("Wem gehört das Mobiltelefon?", "Das Handy gehört Lars"),
        ("Haartrockner Toilette", "Das Klo ist grün"),
    ],
)
def test_a_word_finds_its_short_form_and_what_means_the_same(index: Index, asked: str, note: str) -> None:
    check_finds(index, asked, note)


@pytest.mark.parametrize(
    ("asked", "note"),
    [
        ("the understanding", "Look under the sink"),  # a beginning that is a word of its own
        ("the extraordinary plan", "An extra key"),
        ("When is my mother's birthday?", "My father is sixty"),
        ("the vacations", "A vacant flat"),  # one stem, but not one word
    ],
)
def test_a_beginning_or_a_relative_is_no_synonym(index: Index, asked: str, note: str) -> None:
    index.note("memory/a.md", f"- {note}.\n")
    assert not any(term.forms for term in ask(index, asked).words)


def test_a_word_that_the_notes_hold_is_not_asked_in_others(index: Index) -> None:
    index.note("memory/a.md", "- Mother likes tea.\n")
    index.note("memory/b.md", "- Mum likes coffee.\n")
    assert paths(index, "What does mother like?") == ["a"]


# Rows of tables.


def test_a_note_with_a_row_of_the_name_that_is_asked_for_passes(index: Index) -> None:
    index.note(
        "memory/a.md",
        "# Servers\n\n| Host | Address |\n| --- | --- |\n| oak-db | 10.4.2.17 |\n| oak-web | 10.4.2.18 |\n",
    )
    index.note("memory/b.md", "- The oak is a tree, says the web, and its db-oak is none.\n")
    (hit, *_) = index.find("IP of oak-web", TODAY, min_score=0.35)
    assert "| oak-web | 10.4.2.18 |" in hit.snippet
