"""Copies of passages, reports that quote notes, and session logs that only ask: each passage comes once, and notes keep room."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import memory_core
from memory_core.plugin.memory import Memory
from memory_core.search.copies import tells
from tests.history import write_notes

FACTS = (
    ("which berth is ours", "The dinghy Wren lies at berth 9 of the north harbour."),
    ("when is paper collected", "Glass and paper are collected on the first Friday of a month."),
    ("what does the piano tuner charge", "The piano tuner Larsen charges 90 euros for an upright."),
    ("which tea does Noor like", "Noor drinks smoked tea with a slice of lemon."),
)


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    search = {"provider": "static", "sources": ["memory", "sessions"], "experimental": {"sessionMemory": True}}
    (tmp_path / "notes").mkdir()
    config = {"agents": {"defaults": {"memorySearch": search}}}
    with memory_core.open_memory(config, workspace=tmp_path / "notes", state_dir=tmp_path / "state") as opened:
        yield opened


def ask(memory: Memory, question: str, **more: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = memory.call_tool("memory_search", {"query": question, **more})["results"]
    return found


def write(memory: Memory, notes: dict[str, str]) -> None:
    write_notes(memory.config().workspace, notes)
    memory.sync()


def say(memory: Memory, name: str, *said: tuple[str, str]) -> None:
    folder = memory.config().sessions_dir
    folder.mkdir(parents=True, exist_ok=True)
    entries = [{"type": "message", "message": {"role": role, "content": text}} for role, text in said]
    (folder / f"{name}.jsonl").write_text("".join(json.dumps(entry) + "\n" for entry in entries))


@pytest.mark.parametrize(
    "archive", ["Archiv", "4. Archive", "_archive", "old", "Tagebuch alt", "backup-2025", "Papierkorb"]
)
def test_the_note_in_use_comes_before_its_copy_in_an_archive(memory: Memory, archive: str) -> None:
    text = f"# Harbour\n\n- {FACTS[0][1]}\n"
    live = "memory/places of the north/harbour.md"
    write(memory, {f"memory/{archive}/harbour.md": text, live: text})
    (hit,) = ask(memory, "which berth is ours")
    assert (hit["path"], hit["alsoIn"]) == (live, [f"memory/{archive}/harbour.md"])


def test_forty_snapshots_leave_room_for_other_notes(memory: Memory) -> None:
    text = f"# Harbour\n\n- {FACTS[0][1]}\n- Fees are due in May.\n"
    snapshots = {f"memory/archive/2026-W{week:02}/harbour.md": text for week in range(1, 41)}
    write(
        memory,
        {**snapshots, "memory/harbour.md": text, "memory/2026-03-08.md": "- Asked for a berth nearer to ours.\n"},
    )
    hits = {hit["path"]: hit for hit in ask(memory, "which berth is ours")}
    assert hits.keys() == {"memory/harbour.md", "memory/2026-03-08.md"}
    assert len(hits["memory/harbour.md"]["alsoIn"]) == 10
    assert "alsoIn" not in hits["memory/2026-03-08.md"]


def test_a_line_comes_before_its_quotation_in_a_note_with_a_shorter_name(memory: Memory) -> None:
    question, fact = FACTS[1]
    write(
        memory,
        {"memory/household.md": f"# Household\n\n- {fact}\n", "memory/m.md": f"# Mail\n\n> - {fact}\n\nThanks!\n"},
    )
    assert ask(memory, question)[0]["path"] == "memory/household.md"


def test_a_weekly_digest_is_named_by_the_notes_that_it_repeats(memory: Memory) -> None:
    days = {
        f"memory/2026-03-0{day}.md": f"# 2026-03-0{day}\n\n- {fact}\n- Fed the cat.\n"
        for day, (_, fact) in enumerate(FACTS, 2)
    }
    digest = "# Week 10\n\n" + "".join(f"- {fact}\n" for _, fact in FACTS)
    write(memory, {**days, "memory/weekly/2026-W10.md": digest, "memory/sorted.md": digest})
    for day, (question, fact) in enumerate(FACTS, 2):
        held = [hit for hit in ask(memory, question) if fact in hit["snippet"]]
        assert [(hit["path"], hit["alsoIn"]) for hit in held] == [
            (f"memory/2026-03-0{day}.md", ["memory/sorted.md", "memory/weekly/2026-W10.md"])
        ]  # fmt: skip


def test_a_digest_that_dates_what_it_quotes_is_one_likewise(memory: Memory) -> None:
    days = {f"memory/2026-03-0{day}.md": f"- {fact}\n" for day, (_, fact) in enumerate(FACTS, 2)}
    quoted = "".join(f"- **2026-03-0{day}**: {fact}\n" for day, (_, fact) in enumerate(FACTS, 2))
    weeks = {
        f"memory/weekly/2026-W{week}.md": f"# Week {week}\n\n{quoted}- Friday: pay rent.\n" for week in range(10, 16)
    }
    write(memory, days | weeks)
    for day, (question, fact) in enumerate(FACTS, 2):
        held = [hit["path"] for hit in ask(memory, question) if fact in hit["snippet"]]
        assert held == [f"memory/2026-03-0{day}.md"]


def test_a_copy_that_has_grown_shows_only_what_it_adds(memory: Memory) -> None:
    question, fact = FACTS[1]
    note = f"# Household\n\n- {fact}\n- Soup on Fridays.\n- Bins go out.\n"
    write(memory, {"memory/household.md": note, "memory/archive/household.md": f"{note}- A new lamp.\n"})
    hits = {hit["path"]: hit for hit in ask(memory, question)}
    assert hits["memory/household.md"]["alsoIn"] == ["memory/archive/household.md"]
    assert hits.get("memory/archive/household.md", {"snippet": "- A new lamp."})["snippet"] == "- A new lamp."


def test_a_numbered_line_is_that_which_it_repeats(memory: Memory) -> None:
    question, fact = FACTS[1]
    write(memory, {"memory/household.md": f"# Household\n\n- {fact}\n", "memory/top.md": f"# Top\n\n3. {fact}\n"})
    held = [hit["path"] for hit in ask(memory, question) if fact in hit["snippet"]]
    assert len(held) == 1


@pytest.mark.parametrize(
    "quoted",
    [
        "- [x] {}",
        "2. [ ] {}",
        "> [!note] From the harbour\n> {}",
        "> [!todo]-\n> - [x] {}",
        "!!! tip\n    {}",
        "- {} ^b7f2",
    ],
)
def test_a_line_with_a_box_in_a_callout_or_with_a_name_is_that_which_it_repeats(memory: Memory, quoted: str) -> None:
    notes = {
        "memory/harbour.md": f"# Harbour\n\n- {FACTS[0][1]}\n",
        "memory/weekly digest.md": f"# Sum\n\n{quoted.format(FACTS[0][1])}\n",
    }
    write(memory, notes)
    (hit,) = ask(memory, "which berth is ours")
    assert (hit["path"], hit["alsoIn"]) == ("memory/harbour.md", ["memory/weekly digest.md"])


def test_a_task_that_is_open_and_one_that_is_done_stay_apart(memory: Memory) -> None:
    task = "Send the signed contract of the north harbour to Mrs Weber by registered mail"
    write(memory, {"memory/tasks.md": f"# Tasks\n\n- [ ] {task}\n", "memory/done.md": f"# Done\n\n- [x] {task}\n"})
    assert len(ask(memory, "the contract for Mrs Weber")) == 2


def test_lines_of_two_people_who_share_a_long_one_stay_apart(memory: Memory) -> None:
    shared = "- All forms for travel and for sick leave are in the shared folder of the office on the drive.\n"
    people = {f"memory/people/{name}.md": f"# {name}\n\n{shared}- Allergic to nuts.\n" for name in ("Ann", "Ben")}
    write(memory, people)
    assert {hit["path"] for hit in ask(memory, "who is allergic to nuts")} == people.keys()


def test_lines_of_two_people_and_of_two_sections_stay_apart(memory: Memory) -> None:
    write(
        memory,
        {
            "memory/people/ann.md": "# Ann\n\n- Allergic to nuts.\n",
            "memory/people/ben.md": "# Ben\n\n- Allergic to nuts.\n",
            "memory/log.md": "# Log\n\n## Monday\n\n- Allergic to nuts.\n\n## Tuesday\n\n- Allergic to nuts.\n",
        },
    )
    hits = ask(memory, "who is allergic to nuts")
    assert {hit["path"] for hit in hits} == {"memory/people/ann.md", "memory/people/ben.md", "memory/log.md"}
    assert not any("alsoIn" in hit for hit in hits)


def test_reports_of_a_host_stand_below_what_they_quote(memory: Memory) -> None:
    notes = {f"memory/2026-04-1{day}.md": f"# 2026-04-1{day}\n\n- {fact}\n" for day, (_, fact) in enumerate(FACTS)}
    quotes = "".join(
        f"- Candidate: {fact}\n  - confidence: 0.62\n  - evidence: memory/2026-04-1{day}.md:3-3\n"
        for day, (_, fact) in enumerate(FACTS)
    )
    reports = {
        f"memory/dreaming/{kind}/2026-05-{day:02}.md": f"# {kind}\n\n{quotes}"
        for kind in ("rem", "deep")
        for day in range(1, 21)
    }
    write(memory, {**notes, **reports, "DREAMS.md": f"# Dreams\n\nSo {FACTS[0][1]}\n"})
    for day, (question, fact) in enumerate(FACTS):
        hits = ask(memory, question)
        assert hits[0]["path"] == f"memory/2026-04-1{day}.md"
        assert len(hits[0]["alsoIn"]) == 10
        assert sum("dreaming/" in hit["path"] for hit in hits) <= 3
        assert not any(fact in hit["snippet"] for hit in hits[1:])


def test_reports_within_daily_notes_stand_below_what_they_quote(memory: Memory) -> None:
    notes = {f"memory/2026-04-1{day}.md": f"# 2026-04-1{day}\n\n- {fact}\n" for day, (_, fact) in enumerate(FACTS)}
    quotes = "".join(
        f"- Candidate: {fact}\n  - confidence: 0.62\n  - evidence: memory/2026-04-1{day}.md:3-3\n  - status: staged\n"
        for day, (_, fact) in enumerate(FACTS)
    )
    block = f"## Light Sleep\n<!-- openclaw:dreaming:light:start -->\n{quotes}<!-- openclaw:dreaming:light:end -->\n"
    reports = {
        f"memory/2026-05-{day:02}.md": f"# 2026-05-{day:02}\n\n- Swept step {day} of the stairs.\n\n{block}"
        for day in range(1, 13)
    }
    write(memory, {**notes, **reports})
    for day, (question, fact) in enumerate(FACTS):
        first, *others = ask(memory, question)
        assert first["path"] == f"memory/2026-04-1{day}.md"
        assert not any(fact in hit["snippet"] for hit in others)
    (swept, *_) = ask(memory, "when was step 7 of the stairs swept")
    assert swept["path"] == "memory/2026-05-07.md"
    write(memory, {"memory/own.md": "# Nights\n\n## REM Sleep\n\n- Noor slept an hour in REM by the watch.\n"})
    assert ask(memory, "how long did Noor sleep in REM")[0]["path"] == "memory/own.md"


def test_notes_that_only_ask_leave_room_for_the_answer(memory: Memory) -> None:
    (question, fact), asking = FACTS[0], "berth is ours in the north harbour"
    asked = {
        f"memory/log/{number}.md": f"# Log {number}\n\n- Noor asked {number} times: which {asking}?\n\n"
        f"- Open {number}: which {asking}? Nobody knows.\n"
        for number in range(20)
    }
    write(memory, {"memory/boats.md": f"# Boats\n\n{fact}\n", **asked})
    assert ask(memory, question)[0]["path"] == "memory/boats.md"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("- Open: which berth? Nobody knows.", False),
        ("- Which berth? No one knows where it is.", False),
        ("- Welcher Platz? Das weiß niemand.", False),
        ("- Quelle place ? Personne ne sait.", False),
        ("- Какое место? Никто не знает.", False),
        ("- Nobody knows berth 9 but Larsen.", True),
    ],
)
def test_what_nobody_knows_tells_nothing(text: str, *, says: bool) -> None:
    assert tells(text) is says


def test_a_stock_answer_that_sessions_share_makes_no_copy(memory: Memory) -> None:
    write(memory, {"memory/boat.md": "- The boat has a new mast\n"})
    said = "My name is Pavel, I live in Brno, and my sister Hana keeps the keys of the flat."
    say(memory, "a", ("user", said), ("assistant", "Done. ok"))
    say(memory, "b", ("user", "Rename the branch of the parser, please."), ("assistant", "Done. ok"))
    say(memory, "c", ("user", said), ("assistant", "Done. ok"))
    memory.sync()
    (hit,) = [
        hit for hit in ask(memory, "who keeps the keys of the flat, is it done, ok?") if "Pavel" in hit["snippet"]
    ]
    assert "Done. ok" in hit["snippet"]
    assert [*hit["alsoIn"], hit["path"]] in (
        ["sessions/a.jsonl", "sessions/c.jsonl"],
        ["sessions/c.jsonl", "sessions/a.jsonl"],
    )


def test_a_correction_in_a_session_is_no_copy(memory: Memory) -> None:
    write(memory, {"memory/boat.md": f"- {FACTS[0][1]}\n"})
    said = f"Correction: {FACTS[0][1][:-1]} no longer, since the harbour master has given us number 14."
    say(memory, "a", ("user", said), ("assistant", "I have noted that."))
    say(memory, "b", ("assistant", FACTS[0][1]))
    memory.sync()
    hits = ask(memory, "which berth of the harbour is ours")
    assert any("number 14" in hit["snippet"] for hit in hits)
    assert [hit.get("alsoIn") for hit in hits if hit["path"] == "memory/boat.md"] == [["sessions/b.jsonl"]]


@pytest.mark.parametrize(
    ("question", "note", "replies"),
    [
        ("When does the tram to Lund leave?", "Tram to Lund: 07:40.", "I do not know when the tram to Lund leaves."),
        ("What is the code of the gate?", "The gate has the code 4471.", "Shall I look for the code of the gate?"),
        ("Wann kommt der Klempner?", "Der Klempner Voss kommt am Dienstag.", "Wann der Klempner kommt, weiß ich nicht."),
    ],
)  # fmt: skip
def test_notes_keep_room_beside_sessions_that_only_ask(memory: Memory, question: str, note: str, replies: str) -> None:
    for number in range(60):
        say(
            memory,
            f"s{number}",
            ("user", f"{question} I ask for the time number {number}."),
            ("assistant", f"{replies} ({number})"),
        )
    write(memory, {"memory/2026-04-01.md": f"# 2026-04-01\n\n- {note}\n- Bought bread.\n"})
    hits = ask(memory, question)
    assert any(note in hit["snippet"] for hit in hits)
    assert sum(hit["source"] == "sessions" for hit in hits) >= 1


@pytest.mark.parametrize(
    ("question", "told", "replies"),
    [
        ("Where is the key of the boat house?", "The key of the boat house is under the blue pot.", "I can't find it."),
        ("Wo liegt der Schlüssel?", "Der Schlüssel liegt beim Nachbarn Ortwin.", "Ich weiß nicht, wo der Schlüssel liegt."),
        ("¿Dónde está la llave?", "La llave está en el cajón azul.", "No sé dónde está la llave."),
    ],
)  # fmt: skip
def test_the_session_that_tells_comes_before_those_that_only_ask(
    memory: Memory, question: str, told: str, replies: str
) -> None:
    for number in range(40):
        say(memory, f"s{number}", ("user", f"{question} ({number})"), ("assistant", f"{replies} ({number})"))
    say(memory, "told", ("user", f"{told} Thanks for asking."), ("assistant", "Noted."))
    memory.sync()
    assert ask(memory, question)[0]["path"] == "sessions/told.jsonl"


@pytest.mark.parametrize(
    ("question", "note", "asked"),
    [
        ("How much is the deposit for the berth?", "Deposit for the berth: 1,900 euros.",
         ['"How much is the deposit for the berth?" Asked on day {}, no answer found.',
          "Kim wanted to know how much the deposit for the berth is, {}.",
          "Searched for the deposit for the berth, but there are no notes about it ({})."]),
        ("Wann beginnt der Segelkurs am See?", "Segelkurs am See: 9:15 am Steg 4.",
         ["Wann beginnt der Segelkurs am See? Am Tag {} finde ich nichts.", "Ich finde nichts zum Segelkurs am See, Tag {}."]),
    ],
)  # fmt: skip
def test_a_note_comes_before_digests_and_sessions_that_only_ask(
    memory: Memory, question: str, note: str, asked: list[str]
) -> None:
    digests = {
        f"memory/digest-{day}.md": f"# Digest {day}\n\n## Open\n\n- {question}\n- "
        + "\n- ".join(asked).format(*[day] * 3)
        + "\n"
        for day in range(12)
    }
    write(memory, {**digests, "memory/lease.md": f"# Boat\n\n{note}\n"})
    for has_sessions in (False, True):
        for day in range(12 * has_sessions):
            say(memory, f"s{day}", *(("user", each.format(day)) for each in asked))
        memory.sync()
        hits = ask(memory, question)
        assert note in hits[0]["snippet"]
        assert hits[0]["score"] >= 0.6 > max(hit["score"] for hit in hits[1:])


def test_a_question_that_heads_its_answer_is_no_open_one(memory: Memory) -> None:
    answers = "- How much is the deposit?\n- 1,900 euros, back after the season.\n\n## Who has the key of the berth?\n\nIlse.\n"
    write(
        memory,
        {"memory/answers.md": f"# Questions\n\n{answers}", "memory/boat.md": "- Asked for the tide at the berth.\n"},
    )
    for question, answer in (("How much is the deposit?", "1,900 euros"), ("Who has the key of the berth?", "Ilse")):
        hit = ask(memory, question)[0]
        assert answer in hit["snippet"]
        assert hit["score"] >= 0.6


def test_a_note_keeps_its_place_beside_hundreds_of_turns_about_it(memory: Memory) -> None:
    asked = [("user", f"Where is the key of the boat house, try {n}?") for n in range(300)]
    replies = [("assistant", f"I do not know where the key of the boat house is, try {n}.") for n in range(300)]
    for session in range(30):
        turns = zip(asked[session::30], replies[session::30], strict=True)
        say(memory, f"talk-{session}", *(each for turn in turns for each in turn))
    write(memory, {"memory/2026-03-08.md": "The boat house key lies under the blue pot.\n"})
    hits = ask(memory, "boat house key")
    assert "memory/2026-03-08.md" in [hit["path"] for hit in hits]


def test_explain_says_what_a_copy_repeats(memory: Memory) -> None:
    text = f"- {FACTS[2][1]}\n"
    write(
        memory,
        {
            "memory/tuner.md": text,
            "memory/tuner copy.md": text,
            "memory/more.md": f"{text}- Felt on the hammers is worn.\n",
        },
    )
    found = memory.explain(FACTS[2][0], "memory/tuner copy.md")
    assert found.place is not None
    assert (found.place.verdict.cause, found.place.verdict.reason) == (
        "copy", "it says the same as memory/more.md#L1, which is in result 1"
    )  # fmt: skip
    shown = [passage for passage in found.passages if passage.shown_as == 1]
    assert [(each.path, each.also_in) for each in shown] == [
        ("memory/more.md", ("memory/tuner.md", "memory/tuner copy.md"))
    ]


@pytest.mark.parametrize("count", [1, 2, 3])
def test_few_hits_are_the_best_of_many(memory: Memory, count: int) -> None:
    notes = {
        "memory/cake.md": "# Zwetschgenkuchen\n\nHefeteig und 1,5 kg Zwetschgen, 35 Minuten.\n",
        "memory/hilde.md": "# Hilde\n\nIsst gern Zwetschgenkuchen.\n",
        "memory/plums.md": "- Zwetschgen kauft man im September.\n",
    }
    write(memory, notes)
    say(
        memory,
        "a",
        ("user", "Pflaumenkuchen mag ich auch, und meinen Kaffee schwarz."),
        ("assistant", "Zwetschgen? Gut."),
    )
    memory.sync()
    many = [(hit["path"], hit["score"]) for hit in ask(memory, "Zwetschgen", maxResults=6)]
    assert "sessions/a.jsonl" in dict(many[1:])
    assert [(hit["path"], hit["score"]) for hit in ask(memory, "Zwetschgen", maxResults=count)] == many[:count]
