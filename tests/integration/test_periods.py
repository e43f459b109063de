"""Questions that name a period: what is listed, what is preferred, and what is said where no note is of that time."""

from __future__ import annotations

from collections.abc import Iterator
from cProfile import Profile
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from pstats import Stats
from typing import Any

import pytest

import memory_core
from memory_core.config.load import ConfigSource
from memory_core.plugin.memory import Memory
from memory_core.records import CallContext
from memory_core.text.dates import get_today
from tests.command import Command

TODAY = date(2026, 10, 7)  # a Wednesday
NOTES = {
    "MEMORY.md": "The lighthouse keeper is Ines.\n",
    "memory/2026-09-12.md": "- Booked the dentist on 3 October at nine.\n- The boat is painted blue.\n",
    "memory/2026-09-30.md": "- Plan for the week of 5 October: mend the nets.\n",
    "memory/2026-10-03.md": "- Ines rang about the lamp.\n- Bought two coils of rope.\n",
    "memory/2026-10-04.md": "- The lamp of the lighthouse was replaced.\n",
    "memory/2026-10-06.md": "- Sailed to the island.\n- Ate soup.\n",
    "memory/harbour.md": "The lamp of the harbour was bought in Lisbon.\n",
}


@pytest.fixture(scope="module", params=["none", "static"])
def memory(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    folder = tmp_path_factory.mktemp("periods")
    for path, text in NOTES.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    source = ConfigSource({"memorySearch": {"provider": request.param}}, workspace=folder, state_dir=folder / "state")
    with Memory(source, today=lambda: TODAY) as memory:
        yield memory


def ask(memory: Memory, text: str, **arguments: Any) -> dict[str, Any]:
    return memory.call_tool("memory_search", {"query": text, **arguments})


def paths(answer: dict[str, Any]) -> list[str]:
    return [hit["path"] for hit in answer["results"]]


@pytest.mark.parametrize(
    ("question", "line"),
    [
        ("what happens on Thursday", "- Bins go out on Thursdays."),
        ("Thursday", "- Choir is on Thursday at eight."),
        ("was ist am Donnerstag", "- Donnerstags singt der Chor."),
        ("qué hay el jueves", "- El coro canta los jueves."),
        ("木曜日", "- 木曜日はゴミの日。"),
    ],
)
def test_a_weekday_without_a_note_finds_what_is_done_on_it(question: str, line: str, tmp_path: Path) -> None:
    (tmp_path / "memory").mkdir()
    (tmp_path / "MEMORY.md").write_text(f"# Home\n\n- The boat is blue.\n{line}\n", encoding="utf-8")
    (tmp_path / "memory/2026-10-06.md").write_text(
        "- Thursday was nice. Donnerstag, jueves, 木曜日.\n", encoding="utf-8"
    )
    source = ConfigSource({"memorySearch": {"provider": "none"}}, workspace=tmp_path, state_dir=tmp_path / "state")
    with Memory(source, today=lambda: TODAY) as memory:
        (hit,) = ask(memory, question)["results"]
        assert hit["path"] == "MEMORY.md"
        assert line in hit["snippet"]
        assert "boat" not in hit["snippet"]


def test_a_bare_period_lists_its_notes_in_order_of_time(memory: Memory) -> None:
    answer = ask(memory, "What happened last weekend?")
    assert paths(answer) == ["memory/2026-10-03.md", "memory/2026-10-04.md"]
    assert answer["period"] == {"from": "2026-10-03", "to": "2026-10-04", "text": "last weekend"}
    assert "rope" in answer["results"][0]["snippet"]
    assert "warning" not in answer
    assert paths(ask(memory, "what did we do since 30 September", maxResults=2)) == [
        "memory/2026-09-30.md",
        "memory/2026-10-04.md",  # spread over the period
    ]


def test_as_many_notes_of_a_period_are_shown_as_are_asked_for(tmp_path: Path) -> None:
    (tmp_path / "memory").mkdir()
    for day in range(1, 31):
        (tmp_path / f"memory/2026-09-{day:02}.md").write_text(f"- Sailed {day} miles.\n", encoding="utf-8")
    source = ConfigSource({"memorySearch": {"provider": "none"}}, workspace=tmp_path, state_dir=tmp_path / "state")
    with Memory(source, today=lambda: TODAY) as memory:
        answer = ask(memory, "What happened in September?")
        assert len(paths(answer)) == 12
        assert answer["warning"] == "18 more notes are of this period"
        assert len(paths(ask(memory, "What happened in September?", maxResults=40))) == 30
        answer = ask(memory, "What happened in September?", maxResults=29)
        assert answer["warning"] == "1 more note is of this period"


def test_what_happened_yesterday(memory: Memory) -> None:
    answer = ask(memory, "What happened yesterday?")
    assert paths(answer) == ["memory/2026-10-06.md", "memory/2026-09-30.md"]  # whose plan is of that week
    assert "Sailed" in answer["results"][0]["snippet"]
    assert "soup" in answer["results"][0]["snippet"]


def test_lines_of_other_notes_that_name_a_day_or_its_week_count_as_its_notes(memory: Memory) -> None:
    named = ask(memory, "What is on 3 October?")
    assert paths(named) == ["memory/2026-10-03.md", "memory/2026-09-12.md"]
    assert "dentist" in named["results"][1]["snippet"]
    assert "blue" not in named["results"][1]["snippet"]
    week = ask(memory, "what happened on 5 October")
    assert paths(week) == ["memory/2026-09-30.md"]
    assert week["warning"] == "no note is dated 2026-10-05"


def test_a_day_without_a_note_answers_nothing_and_says_so(memory: Memory) -> None:
    answer = ask(memory, "What did I do on 14 August?")
    assert answer["results"] == []
    assert answer["warning"] == "no note is dated 2026-08-14"
    assert answer["period"] == {"from": "2026-08-14", "to": "2026-08-14", "text": "14 August"}
    assert ask(memory, "What is on 9999-12-31?")["results"] == []  # the last day of all


def test_a_longer_period_without_a_note_is_named(memory: Memory) -> None:
    answer = ask(memory, "What happened in the week of 10 August?")
    assert answer["warning"] == "no note is dated 2026-08-10 to 2026-08-16"
    assert answer["period"] == {"from": "2026-08-10", "to": "2026-08-16", "text": "week of 10 August"}


def test_a_note_of_a_week_is_of_its_period(tmp_path: Path) -> None:
    for path, text in {"2026-W32.md": "Painted the deck.\n", "2026-W33.md": "Caulked the hull.\n"}.items():
        (tmp_path / "memory").mkdir(exist_ok=True)
        (tmp_path / "memory" / path).write_text(text, encoding="utf-8")
    source = ConfigSource({"memorySearch": {"provider": "none"}}, workspace=tmp_path, state_dir=tmp_path / "state")
    with Memory(source, today=lambda: TODAY) as memory:
        assert paths(ask(memory, "What happened in the week of 10 August?")) == ["memory/2026-W33.md"]


def test_with_a_topic_the_notes_of_the_period_are_preferred_not_required(memory: Memory) -> None:
    assert paths(ask(memory, "What about the lamp was noted last weekend?"))[0].startswith("memory/2026-10-0")
    assert "memory/harbour.md" in paths(ask(memory, "Where was the lamp of the harbour bought last weekend?"))


def test_notes_of_the_day_that_is_named_come_first_whatever_they_say(memory: Memory) -> None:
    assert paths(ask(memory, "What about the lamp of the lighthouse was said yesterday?"))[0] == "memory/2026-10-06.md"
    assert paths(ask(memory, "Was passierte am 1. Oktober mit der Solaranlage?"))[:1] == []  # a day without a note
    assert paths(ask(memory, "Was passierte gestern mit der Solaranlage?"))[0] == "memory/2026-10-06.md"


def test_lines_of_the_days_around_that_tell_of_a_day_are_found(tmp_path: Path) -> None:
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory/2026-10-06.md").write_text("- The day after tomorrow at nine: car inspection.\n- Soup.\n")
    (tmp_path / "memory/2026-09-29.md").write_text(
        "- Sailing.\n\nTomorrow we rest.\n\n- Next Thursday the oven comes.\n"
    )
    (tmp_path / "memory/2026-10-03.md").write_text("- Yesterday the oven was cold.\n- The day before we baked.\n")
    source = ConfigSource({"memorySearch": {"provider": "none"}}, workspace=tmp_path, state_dir=tmp_path / "state")
    with Memory(source, today=lambda: TODAY) as memory:
        assert [hit["snippet"] for hit in ask(memory, "What is on tomorrow?")["results"]] == [
            "- The day after tomorrow at nine: car inspection."
        ]
        assert "oven" in ask(memory, "What happened on 1 October?")["results"][0]["snippet"]
        cold = ask(memory, "What happened on 2 October?")
        assert [hit["snippet"] for hit in cold["results"]] == ["- Yesterday the oven was cold."]
        assert cold["warning"] == "no note is dated 2026-10-02"


@pytest.mark.parametrize(
    ("written", "line", "asked"),
    [
        ("2026-09-25", "- Dentist Thursday 22, 12:40", "What is on 22 October?"),
        ("2026-09-25", "- Optician: Thursday 22nd, six o'clock", "What is on Thursday 22 October?"),
        ("2026-09-25", "- Tea with Ines on the 22nd of October.", "What is on 22 October?"),
        ("2026-09-25", "- Plumber 22nd October", "What is on 22 October?"),
        ("2026-09-25", "- Winterreifen Do 22.10. 16:00", "Was steht am 22. Oktober an?"),
        ("2026-09-25", "- Ines wants the figures by Thu 22 Oct", "What is on 22 October?"),
        ("2026-09-25", "- Zahnarzt Donnerstag, den 22. um neun", "Was steht am 22. Oktober an?"),
        ("2026-09-25", "- vacuna: jueves 22, 9:30", "¿Qué tengo el 22 de octubre?"),
        ("2026-09-25", "- dentiste jeudi 22 à neuf heures", "Qu'est-ce qu'il y a le 22 octobre ?"),
        ("2026-10-06", "- Out in the boat yesterday, three hours.", "What did we do on 5 October?"),
        ("2026-10-06", "- Flu jab last Friday, arm sore for two days.", "What happened on Friday 2 October?"),
        ("2026-10-06", "- Gestern die Netze geflickt.", "Was haben wir am 5. Oktober gemacht?"),
        ("2026-10-06", "- Ayer vino el fontanero.", "¿Qué pasó el 5 de octubre?"),
        ("2026-10-06", "- Le plombier est venu avant-hier.", "Que s'est-il passé le 4 octobre ?"),
    ],
)
def test_a_line_of_another_note_that_names_the_day_is_found(
    tmp_path: Path, written: str, line: str, asked: str
) -> None:
    (tmp_path / "memory").mkdir()
    note = f"- Soup.\n{line}\n- Club Thursday 22 h\n- Tomorrow we rest.\n"
    (tmp_path / f"memory/{written}.md").write_text(note, encoding="utf-8")
    source = ConfigSource({"memorySearch": {"provider": "none"}}, workspace=tmp_path, state_dir=tmp_path / "state")
    with Memory(source, today=lambda: TODAY) as memory:
        assert [hit["snippet"] for hit in ask(memory, asked)["results"]] == [line]
        assert paths(ask(memory, "What happened on 28 September?")) == []


def test_a_holiday_is_a_matter_unless_a_note_was_written_on_it(tmp_path: Path) -> None:
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory/2025-12-25.md").write_text("- Goose, and a walk on the beach.\n")
    (tmp_path / "memory/2026-09-12.md").write_text("- We spend Christmas in Shrewsbury.\n")
    source = ConfigSource({"memorySearch": {"provider": "none"}}, workspace=tmp_path, state_dir=tmp_path / "state")
    with Memory(source, today=lambda: TODAY) as memory:
        assert paths(ask(memory, "What did we do on Christmas Day?")) == ["memory/2025-12-25.md"]
        assert paths(ask(memory, "Where do we spend Christmas?")) == ["memory/2026-09-12.md"]
        assert "period" not in ask(memory, "What did we do at Halloween?")


def test_a_period_without_any_note_is_left_out(memory: Memory) -> None:
    answer = ask(memory, "Which lamp of the harbour was bought in Lisbon in March?")
    assert paths(answer)[0] == "memory/harbour.md"
    assert "period" not in answer


def test_dates_that_are_searched_hold_for_a_period(memory: Memory) -> None:
    assert paths(ask(memory, "What happened last weekend?", before="2026-10-03")) == ["memory/2026-10-03.md"]


def test_an_explanation_tells_the_period_and_where_each_note_is_shown(memory: Memory) -> None:
    found = memory.explain("What happened last weekend?", "memory/2026-10-04.md", 1)
    assert (found.asked.first, found.asked.last) == ("2026-10-03", "2026-10-04")
    assert found.place is not None
    assert found.place.examined is not None
    assert found.place.examined.shown_as == 2


def open_notes(folder: Path, notes: dict[str, str]) -> Memory:
    for path, text in notes.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    source = ConfigSource({"memorySearch": {"provider": "none"}}, workspace=folder, state_dir=folder / "state")
    return Memory(source, today=lambda: TODAY)


@pytest.mark.parametrize(
    "question",
    [
        "Was ist am Donnerstag?",
        "Was ist am Sonntag?",
        "What is on Saturday?",
        "What is on Sunday?",
        "Was ist am 8. Oktober?",
    ],
)
def test_words_that_look_like_short_names_of_days_answer_for_none(question: str, tmp_path: Path) -> None:
    lines = "People do not forget, so they sat in the sun.\n\nSo do we.\n"
    with open_notes(tmp_path, {"memory/draft.md": lines}) as memory:
        assert ask(memory, question)["results"] == []


def test_a_short_name_that_labels_a_day_is_found(tmp_path: Path) -> None:
    with open_notes(tmp_path, {"memory/plan.md": "Mo: Turnen\n\nDo: Chor um acht\n\nWir lernen es so.\n"}) as memory:
        (hit,) = ask(memory, "Was ist am Donnerstag?")["results"]
        assert hit["snippet"] == "Do: Chor um acht"


def test_a_line_of_the_weekday_is_weak_evidence_for_a_date(tmp_path: Path) -> None:
    notes = {"memory/shop.md": "The shop is open late on Thursdays.\n"}
    with open_notes(tmp_path / "a", notes) as memory:
        (hit,) = ask(memory, "What is on 8 October?")["results"]
        assert hit["score"] < 0.6
        assert ask(memory, "What is on 8 October?", minScore=0.6)["results"] == []
        assert ask(memory, "What is on Thursday?")["results"][0]["score"] == 1
        assert ask(memory, "birthday on 8 October")["results"] == []
    notes["memory/people/Bo.md"] = "Birthday 8 October 1979.\n"
    with open_notes(tmp_path / "b", notes) as memory:
        for question in ("What is on 8 October?", "birthday on 8 October"):
            assert paths(ask(memory, question)) == ["memory/people/Bo.md"]


@pytest.mark.parametrize(
    ("line", "question"),
    [
        (
            "Die Pacht für den Garten verlängert sich am 3. Februar. Der Schlüssel hängt im Schuppen.",
            "Was ist am 3. Februar?",
        ),
        ("The trial was moved from Nov 20 to Dec 8.", "What happens on 8 December?"),
        ("The trial was moved from Nov 20 to Dec 8.", "What happens on Nov 20?"),
        ("Oles fødselsdag, birthday, 2.7.2018", "What is on 2 July?"),
    ],
)
def test_a_line_that_writes_the_day_in_another_way_is_found(line: str, question: str, tmp_path: Path) -> None:
    with open_notes(tmp_path, {"memory/notes.md": f"{line}\n"}) as memory:
        (hit,) = ask(memory, question)["results"]
        assert hit["snippet"] == line


def test_a_feast_with_a_year_is_a_day(tmp_path: Path) -> None:
    notes = {"memory/2024-12-31.md": "- Fondue bei den Nachbarn.\n", "memory/2024-03-04.md": "- Neues Büro.\n"}
    with open_notes(tmp_path, notes) as memory:
        answer = ask(memory, "Was war an Silvester 2024?")
        assert paths(answer) == ["memory/2024-12-31.md"]
        assert answer["period"]["text"] == "Silvester 2024"


def test_an_explanation_of_a_day_shows_the_line_that_came(tmp_path: Path) -> None:
    text = "---\ntags: [x]\n---\nThe mooring is behind the mill, and it is paid each year.\n\nThe lease ends on 3 February.\n"
    with open_notes(tmp_path, {"memory/lease.md": text}) as memory:
        found = memory.explain("What happens on 3 February?")
        assert found.verdict.cause == "shown"
        assert found.passages[0].shown_as == 1


SUNDAY = date(2026, 11, 29)
PLANS = {
    "MEMORY.md": "- Compost turned in October.\n- Elternabend am 3. Dezember um 19 Uhr.\n",
    "marathon.md": "# Marathon plan\n\n- Next week: a long run of 18 km.\n",
    "memory/2026-01-14.md": "- Moved the wardrobe.\n",
    "memory/2026-10-03.md": "- Bought a used cargo bike from Tomasz.\n",
    "memory/2026-11-05.md": "- Dentist on 2 December at nine.\n- Soup.\n",
    "memory/2026-11-12.md": "- The trip to Lisbon begins on 14 January.\n",
    "memory/2026-11-20.md": "- Painted the door.\n",
    "memory/2026-11-28.md": "- Flight on Friday at 7:10\n- Went to the sauna on Friday.\n",
}


@pytest.fixture(scope="module", params=["none", "static"])
def plans(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    folder = tmp_path_factory.mktemp("plans")
    for path, text in PLANS.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    source = ConfigSource({"memorySearch": {"provider": request.param}}, workspace=folder, state_dir=folder / "state")
    with Memory(source, today=lambda: SUNDAY) as memory:
        yield memory


@pytest.mark.parametrize(
    ("question", "days", "lines"),
    [
        ("What is on 3 December?", "2026-12-03", ["- Elternabend am 3. Dezember um 19 Uhr."]),
        ("Was ist am 3. Dezember?", "2026-12-03", ["- Elternabend am 3. Dezember um 19 Uhr."]),
        ("Qu'est-ce qui est prévu le 3 décembre ?", "2026-12-03", ["- Elternabend am 3. Dezember um 19 Uhr."]),
        ("3 December", "2026-12-03", ["- Elternabend am 3. Dezember um 19 Uhr."]),
        ("¿Qué tengo el 2 de diciembre?", "2026-12-02", ["- Dentist on 2 December at nine."]),
        ("what is planned for January", "2027-01-01 2027-01-31", ["- The trip to Lisbon begins on 14 January."]),
        ("what is on Friday?", "2026-12-04", ["- Flight on Friday at 7:10"]),
        ("next friday", "2026-12-04", ["- Flight on Friday at 7:10"]),
        (
            "next week",
            "2026-11-30 2026-12-06",
            [
                "- Dentist on 2 December at nine.",
                "- Elternabend am 3. Dezember um 19 Uhr.",
                "- Flight on Friday at 7:10",
            ],
        ),
        ("What happened in January?", "2026-01-01 2026-01-31", ["- Moved the wardrobe."]),
        ("What did I do on Friday the 20th?", "2026-11-20", ["- Painted the door."]),
        ("what is on 20 November", "2026-11-20", ["- Painted the door."]),  # no note speaks of the next one
    ],
)
def test_a_question_about_days_to_come_finds_the_lines_that_name_them(
    plans: Memory, question: str, days: str, lines: list[str]
) -> None:
    answer = ask(plans, question)
    assert [hit["snippet"] for hit in answer["results"]] == lines  # in order of time
    assert " ".join(dict.fromkeys((answer["period"]["from"], answer["period"]["to"]))) == days


def test_what_was_is_not_sought_in_what_is_to_come(plans: Memory) -> None:
    answer = ask(plans, "What did we do on Friday?")
    assert answer["period"] == {"from": "2026-11-27", "to": "2026-11-27", "text": "Friday"}
    assert [hit["snippet"] for hit in answer["results"]] == ["- Went to the sauna on Friday."]


def test_days_to_come_that_are_told_of_need_no_note_of_their_own(plans: Memory) -> None:
    assert "warning" not in ask(plans, "What is on 3 December?")
    assert ask(plans, "What is on 9 December?")["warning"] == "no note is dated 2026-12-09"


@pytest.mark.parametrize("question", ["what did I buy in October", "what happened in October with Tomasz"])
def test_the_words_of_a_period_are_no_matter_that_notes_tell_of(plans: Memory, question: str) -> None:
    assert paths(ask(plans, question))[0] == "memory/2026-10-03.md"


def test_a_day_with_notes_is_meant_unless_the_other_words_stand_with_the_other(tmp_path: Path) -> None:
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory/2026-11-20.md").write_text("- Painted the door.\n\n- Soup with Ines.\n")
    (tmp_path / "memory/2026-11-24.md").write_text("- Dentist on Friday at nine.\n")
    source = ConfigSource({"memorySearch": {"provider": "none"}}, workspace=tmp_path, state_dir=tmp_path / "state")
    with Memory(source, today=lambda: date(2026, 11, 25)) as memory:
        assert paths(ask(memory, "dentist on friday"))[0] == "memory/2026-11-24.md"
        assert paths(ask(memory, "friday soup ines"))[0] == "memory/2026-11-20.md"
        assert paths(ask(memory, "friday")) == ["memory/2026-11-20.md"]


def test_what_is_to_come_is_found_without_a_verb_and_counted_from_today(tmp_path: Path) -> None:
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory/2026-11-20.md").write_text(
        "- Dentist on 3 December at nine.\n\n- Learned the knot in eight days.\n"
    )
    (tmp_path / "memory/2026-04-05.md").write_text("- Lamb with Ines.\n")
    source = ConfigSource({"memorySearch": {"provider": "none"}}, workspace=tmp_path, state_dir=tmp_path / "state")
    with Memory(source, today=lambda: date(2026, 11, 25)) as memory:
        for question in ("appointments in December", "What's on in eight days?", "Was steht in acht Tagen an?"):
            answer = ask(memory, question)
            assert answer["period"]["from"].startswith("2026-12-0"), question
            assert answer["results"][0]["snippet"].startswith("- Dentist"), question
        assert "period" not in ask(memory, "What did I learn in eight days?")
        assert ask(memory, "What did we eat at Easter?")["period"]["from"] == "2026-04-03"


def test_a_period_before_a_day_asks_for_no_former_state(tmp_path: Path) -> None:
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory/2026-05-20.md").write_text("- The keel hung on a rope.\n")
    (tmp_path / "memory/2026-07-30.md").write_text("- Painted the deck.\n")
    (tmp_path / "memory/2026-08-03.md").write_text("- 3 August: the grey rope has held.\n")
    source = ConfigSource({"memorySearch": {"provider": "none"}}, workspace=tmp_path, state_dir=tmp_path / "state")
    with Memory(source, today=lambda: SUNDAY) as memory:
        answer = ask(memory, "Which rope held the keel the week before 3 August?")
    assert paths(answer)[0] == "memory/2026-08-03.md"


def count_calls(folder: Path, notes: int, question: str) -> int:
    """Return the calls of functions in a search of as many notes of every fifth day, each of which names coming days."""
    (folder / "memory").mkdir(parents=True)
    for number in range(notes):
        day = SUNDAY - timedelta(5 * number)
        soon, later = day + timedelta(3), day + timedelta(33)
        told = f"- Dentist on {soon:%d %B}, {later:%d %B}.\n- Tomorrow we sail.\n- Choir on {soon:%A}.\n"
        (folder / f"memory/{day}.md").write_text(told, encoding="utf-8")
    source = ConfigSource({"memorySearch": {"provider": "none"}}, workspace=folder, state_dir=folder / "state")
    with Memory(source, today=lambda: SUNDAY) as memory:
        ask(memory, question)  # reads the tables
        profile = Profile()
        profile.runcall(ask, memory, question)
    return int(Stats(profile).total_calls)  # type: ignore[attr-defined]  # typeshed leaves it out


@pytest.mark.parametrize("question", ["What is on 4 December?", "What is planned for December?"])
def test_notes_that_name_other_days_cost_a_question_for_days_to_come_little(question: str, tmp_path: Path) -> None:
    few, many = (count_calls(tmp_path / str(notes), notes, question) for notes in (40, 240))
    assert many < 1.3 * few


ZONES = ("Etc/GMT+12", "Etc/GMT-14")  # never of one date


def write_where(zone: str, folder: Path, document: dict[str, Any]) -> str:
    """Append with a configuration, and return the name of the daily note that was written."""
    with memory_core.open_memory(document, workspace=folder, state_dir=folder / "state") as memory:
        assert memory.call_tool("memory_append", {"text": f"The ferry of {zone} leaves at six."})["appended"]
        answer = memory.call_tool("memory_search", {"query": "What did I note today?"})
    assert [hit["path"] for hit in answer["results"]] == [answer["results"][0]["path"]]
    return str(answer["results"][0]["path"])


@pytest.mark.parametrize("key", ["ours", "host's", "both"])
def test_the_day_is_that_of_the_users_time_zone(key: str, tmp_path: Path) -> None:
    for zone in ZONES:
        (tmp_path / zone).mkdir(parents=True)
        search = {"provider": "none"} | ({} if key == "host's" else {"timeZone": zone})
        document = {
            "memorySearch": search,
            "agents": {"defaults": {} if key == "ours" else {"userTimezone": zone if key == "host's" else "UTC"}},
        }
        day = get_today(zone, datetime.now(UTC))
        assert write_where(zone, tmp_path / zone, document) in {f"memory/{day}.md", f"memory/{day + timedelta(1)}.md"}


def test_the_time_of_a_call_goes_before(memory: Memory) -> None:
    context = CallContext(now=datetime(2026, 10, 5, 23, 30, tzinfo=UTC))
    answer = memory.call_tool("memory_search", {"query": "What happened yesterday?"}, context)
    assert paths(answer) == ["memory/2026-10-04.md"]


def test_a_script_and_a_command_say_which_day_it_is(tmp_path: Path, command: Command) -> None:
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory/2026-10-03.md").write_text(NOTES["memory/2026-10-03.md"], encoding="utf-8")
    with memory_core.open_memory(
        workspace=tmp_path, state_dir=tmp_path / "state", today=lambda: date(2026, 10, 4)
    ) as memory:
        assert paths(memory.call_tool("memory_search", {"query": "yesterday"})) == ["memory/2026-10-03.md"]
    asked = ("--workspace", str(tmp_path), "--today", "2026-10-04", "what", "happened", "yesterday")
    shown = command("search", *asked)
    assert "rope" in shown.out
    assert "'yesterday' is taken for 2026-10-03." in shown.err
    assert "period      2026-10-03" in command("explain", *asked).out
    assert "--today" in command("search", "--today", "soon", "x").error


@pytest.mark.parametrize("form", ["%Y-%m-%d", "%a %d %b %Y", "%d.%m.%Y Log", "%B %d, %Y"])
def test_a_day_of_a_long_log_is_what_stands_under_its_heading(form: str, tmp_path: Path) -> None:
    days = [date(2026, 7, 1) + timedelta(number) for number in range(60)]
    told = [f"The wheel turned.\n\n### Notes\n\nGlaze number {number}.\n\n" for number in range(60)]
    told[36] = told[36].replace("wheel turned", "kiln cracked")
    sections = "".join(f"## {day.strftime(form)}\n\n{text}" for day, text in zip(days, told, strict=True))
    (tmp_path / "notes/memory").mkdir(parents=True)
    (tmp_path / "notes/memory/log.md").write_text(f"# Pottery\n\n{sections}", encoding="utf-8")
    source = ConfigSource({}, workspace=tmp_path / "notes", state_dir=tmp_path / "state")
    with Memory(source, today=lambda: TODAY) as memory:
        [first] = ask(memory, "What happened on 1 July?")["results"]
        [hit] = ask(memory, "What happened on 6 August?")["results"]
    assert [first["snippet"].count(word) for word in ("Glaze", "Glaze number 0.")] == [1, 1]  # the log has that date
    assert hit["snippet"].endswith("The kiln cracked.\n\n### Notes\n\nGlaze number 36.")
    assert hit["snippet"].count("Glaze") == 1
