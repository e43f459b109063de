"""Proposals for a workspace, and its notes after one is accepted or taken back."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from memory_core.config.load import load_config
from memory_core.errors import InvalidArgument, NoteChanged, NoteNotWritten, NotUndone, PathRefused, StoreError
from memory_core.history.history import History
from memory_core.plugin.memory import open_memory
from memory_core.records import Progress
from memory_core.sources.notes import hash_bytes
from memory_core.upkeep.store import Edit
from memory_core.upkeep.tidy import Tidy
from tests.unit.upkeep.conftest import NOTES, House


def test_an_outdated_line_comes_with_its_evidence_and_the_exact_edit(house: House) -> None:
    rent, lesson = sorted(house.find("outdated"), key=lambda each: each.line)
    assert (rent.path, rent.line, rent.text) == ("MEMORY.md", 3, "- Rent: £410 a month")
    assert rent.new == "- Rent: £445 a month"
    assert [(each.path, each.line, each.date) for each in rent.evidence] == [("memory/2026-05-11.md", 1, "2026-05-11")]
    assert lesson.new == "- Evening class on Wednesdays at 18:30"


def test_nothing_is_written_before_a_proposal_is_accepted(house: House) -> None:
    house.find()
    assert {path: house.read(path).decode() for path in NOTES} == NOTES
    assert sorted(each.name for each in house.workspace.rglob("*") if each.is_file()) == sorted(
        path.rpartition("/")[2] for path in NOTES
    )


def test_an_accepted_edit_changes_one_line_and_undo_gives_back_every_byte(house: House) -> None:
    odd = b"\xef\xbb\xbf# Memory\r\n\r\n- Rent: \xc2\xa3410 a month\r\n- tabs\t and trailing  \r\nno end"
    house.write({"MEMORY.md": odd})
    (rent,) = house.find("outdated")
    house.tidy.accept(rent)
    assert house.read("MEMORY.md") == odd.replace(b"\xc2\xa3410", b"\xc2\xa3445")
    assert house.find("outdated") == []
    assert house.tidy.undo().path == "MEMORY.md"
    assert house.read("MEMORY.md") == odd
    assert [each.id for each in house.find("outdated")] == [rent.id]
    with pytest.raises(NotUndone, match="nothing to undo"):
        house.tidy.undo()


def test_a_line_is_replaced_by_one_line(house: House) -> None:
    rent = house.find("outdated")[0]
    with pytest.raises(InvalidArgument, match="one line"):
        house.tidy.accept(rent, "- Rent: £445\n- and another line")
    assert house.read("MEMORY.md").decode() == NOTES["MEMORY.md"]


def test_a_note_that_was_changed_since_is_never_overwritten(house: House) -> None:
    rent = house.find("outdated")[0]
    mine = house.read("MEMORY.md") + b"- my own line\n"
    house.write({"MEMORY.md": mine})
    with pytest.raises(NoteChanged):
        house.tidy.accept(rent)
    assert house.read("MEMORY.md") == mine
    again = next(each for each in house.find("outdated") if each.id == rent.id)  # proposed anew
    house.tidy.accept(again)
    assert b"- my own line\n" in house.read("MEMORY.md")


def test_undo_after_a_hand_edit_takes_back_only_its_own_line(house: House) -> None:
    house.tidy.accept(house.find("outdated")[0])
    house.write({"MEMORY.md": b"- mine\n" + house.read("MEMORY.md")})
    house.tidy.undo()
    assert house.read("MEMORY.md").decode() == "- mine\n" + NOTES["MEMORY.md"]


def test_undo_refuses_where_the_line_was_edited_since(house: House) -> None:
    rent = next(each for each in house.find("outdated") if "Rent" in each.text)
    house.tidy.accept(rent)
    mine = house.read("MEMORY.md").replace("£445".encode(), "£450".encode())
    house.write({"MEMORY.md": mine})
    with pytest.raises(NoteChanged):
        house.tidy.undo()
    assert house.read("MEMORY.md") == mine


def test_an_edit_whose_process_was_killed_is_known_to_be_made_or_not(house: House) -> None:
    rent = next(each for each in house.find("outdated") if "Rent" in each.text)
    house.tidy.accept(rent)
    with house.tidy.store.write() as connection:  # as if killed before it was recorded as made
        connection.execute("UPDATE edits SET done = 0")
    house.tidy.undo()
    assert house.read("MEMORY.md").decode() == NOTES["MEMORY.md"]
    house.tidy.accept(next(each for each in house.find("outdated") if each.id == rent.id))
    house.write(NOTES)
    with house.tidy.store.write() as connection:  # as if killed before the note was written
        connection.execute("UPDATE edits SET done = 0 WHERE done = 1")
    with pytest.raises(NotUndone, match="nothing to undo"):
        house.tidy.undo()


def test_a_killed_edit_that_adds_to_a_line_is_undone_though_the_note_has_grown(house: House) -> None:
    house.write(
        {"MEMORY.md": "- Our plumber is Ortwin\n", "memory/2026-06-01.md": "Our plumber is Hedda as of today.\n"}
    )
    marked = next(each for each in house.find("outdated") if "Ortwin" in each.text)
    assert marked.new is not None
    assert marked.new.startswith(marked.text)
    house.tidy.accept(marked)
    with house.tidy.store.write() as connection:  # as if killed before it was recorded as made
        connection.execute("UPDATE edits SET done = 0")
    house.write({"MEMORY.md": house.read("MEMORY.md") + b"- Bread on Fridays\n"})
    house.tidy.undo()
    assert house.read("MEMORY.md") == b"- Our plumber is Ortwin\n- Bread on Fridays\n"


@pytest.mark.parametrize("is_killed", [False, True])
def test_an_edit_that_was_not_written_is_not_made(house: House, *, is_killed: bool) -> None:
    resource = pytest.importorskip("resource", reason="only Unix limits the size of files")
    rent = "- Rent: £410 a month, paid by Bo\n".encode() + b"```\n" + 20_000 * b"0123456789abcdefghij\n" + b"```\n"
    house.write({"MEMORY.md": rent})
    made = house.tidy.propose("MEMORY.md", 1, "- Rent: £410 a month", "Bo pays no more")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, hard))  # the note is larger, all else is not
    try:
        with pytest.raises(NoteNotWritten, match="file too large"):
            house.tidy.accept(made)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert house.tidy.store.list_edits(done=0) == house.tidy.store.list_edits(done=1) == []
    if is_killed:  # before the note was written
        old, new = rent.partition(b"\n")[0], b"- Rent: \xc2\xa3410 a month"
        changed = hash_bytes(rent.replace(old, new))
        house.tidy.store.begin_edit(Edit(0, made.id, "MEMORY.md", 0, old, new, changed, done=0))
    assert [each.id for each in house.find("proposed")] == [made.id]
    with pytest.raises(NotUndone, match="nothing to undo"):
        house.tidy.undo()
    assert house.read("MEMORY.md") == rent


def test_a_run_that_fails_to_propose_keeps_what_it_has_read(house: House) -> None:
    house.write({"MEMORY.md": NOTES["MEMORY.md"] + "- The boiler is serviced next Friday.\n"})
    history = house.tidy._config.history_path
    history.parent.mkdir(parents=True, exist_ok=True)
    history.write_bytes(b"no database" * 1000)
    with pytest.raises(StoreError):
        house.find()
    assert house.tidy.store.list_stamps().keys() == NOTES.keys()


def test_an_undo_whose_process_was_killed_does_not_stop_the_next_one(house: House) -> None:
    for each in ("Rent", "class"):
        house.tidy.accept(next(one for one in house.find("outdated") if each in one.text))
    made = house.read("MEMORY.md")
    house.tidy.undo()
    with house.tidy.store.write() as connection:  # as if killed before the undo was recorded
        connection.execute("UPDATE edits SET done = 1")
    assert house.read("MEMORY.md") != made
    house.tidy.undo()
    assert house.read("MEMORY.md").decode() == NOTES["MEMORY.md"]


def test_an_undo_that_was_killed_gives_back_a_shortened_line_once(house: House) -> None:
    house.write({"MEMORY.md": "- Rent: £410 a month, paid by Bo\n"})
    house.tidy.accept(house.tidy.propose("MEMORY.md", 1, "- Rent: £410 a month", "Bo pays no more"))
    house.tidy.undo()
    with house.tidy.store.write() as connection:  # as if killed before the undo was recorded
        connection.execute("UPDATE edits SET done = 1")
    with pytest.raises(NotUndone, match="nothing to undo"):
        house.tidy.undo()
    assert house.read("MEMORY.md").decode() == "- Rent: £410 a month, paid by Bo\n"


def test_what_was_settled_is_not_proposed_again_wherever_the_line_moves(house: House) -> None:
    rent = next(each for each in house.find("outdated") if "Rent" in each.text)
    house.tidy.store.settle(rent.id)
    house.write({"MEMORY.md": "# Memory\n\nmore\n\n" + NOTES["MEMORY.md"].partition("\n\n")[2]})
    assert all(each.id != rent.id for each in house.find())


def test_only_changed_notes_are_read_again_and_the_answer_is_that_of_a_fresh_run(house: House) -> None:
    house.find()
    house.write({"memory/2026-07-01.md": "The rent goes up to £480 a month now.\n", "memory/2026-05-11.md": "quiet\n"})
    (house.workspace / "memory/2026-06-08.md").unlink()
    grown = house.find()
    house.config.tidy_path.unlink()
    with closing(Tidy(house.config)) as fresh:
        anew = fresh.run(shown_chars=10_000)
    assert [(each.kind, each.line, each.new) for each in grown] == [(each.kind, each.line, each.new) for each in anew]
    assert [each.new for each in grown] == ["- Rent: £480 a month"]


def test_how_far_a_run_is_is_told_of_what_has_changed(house: House) -> None:
    def list_steps() -> list[tuple[str, int, int]]:
        told: list[Progress] = []
        house.tidy.run(shown_chars=10_000, progress=told.append)
        return [(each.phase, each.done, each.total) for each in told]

    steps = list_steps()
    assert steps[:4] == [("files", number, 3) for number in range(4)]
    total = steps[-1][2]
    assert steps[4:] == [("statements", number, total) for number in range(total + 1)]
    assert list_steps() == []
    house.write({"memory/2026-07-01.md": "The rent goes up to £480 a month now.\n"})
    assert list_steps() == [("files", 0, 1), ("files", 1, 1), ("statements", 0, 1), ("statements", 1, 1)]


def test_two_lasting_lines_that_say_the_same_are_one_too_many(house: House) -> None:
    house.write({"memory/bank.md": "# Bank\n\n- The blue folder with the deeds is under the stairs\n"})
    house.write({"MEMORY.md": "# Memory\n\n- The blue folder with the deeds is under the stairs\n"})
    (found,) = house.find("repeated")
    assert (found.path, found.line, found.new) == ("memory/bank.md", 3, "")
    before = house.read("memory/bank.md")
    house.tidy.accept(found)
    assert house.read("memory/bank.md") == b"# Bank\n\n"
    house.tidy.undo()
    assert house.read("memory/bank.md") == before


def test_the_line_of_an_archive_is_the_one_too_many(house: House) -> None:
    for folder in ("Archiv", "topics"):
        house.write({f"memory/{folder}/bank.md": "# Bank\n\n- The blue folder with the deeds is under the stairs\n"})
    (found,) = house.find("repeated")
    assert (found.path, found.new) == ("memory/Archiv/bank.md", "")


def test_what_notes_of_several_days_say_is_proposed_for_memory_md(house: House) -> None:
    for day in ("2026-05-01", "2026-05-02", "2026-05-04"):
        house.write({f"memory/{day}.md": "The staging server is called Otter and has 16 cores.\n"})
    (found,) = house.find("missing")
    assert found.new == f"{found.text}\n- The staging server is called Otter and has 16 cores."
    house.tidy.accept(found)
    assert (
        house.read("MEMORY.md").decode()
        == NOTES["MEMORY.md"] + "- The staging server is called Otter and has 16 cores.\n"
    )
    house.tidy.undo()
    assert house.read("MEMORY.md").decode() == NOTES["MEMORY.md"]


def test_a_line_that_is_recalled_again_and_again_is_proposed_for_memory_md(house: House) -> None:
    house.write({"memory/2026-04-01.md": "The deploy key lives in the vault under the name harbour.\n"})
    with open_memory(workspace=house.workspace, state_dir=house.state) as memory:
        for _ in range(5):
            assert memory.call_tool("memory_get", {"path": "memory/2026-04-01.md"})["status"] == "ok"
    (found,) = house.find("missing")
    assert "recalled 5 times" in found.why


def test_a_relative_date_gets_the_day_that_the_history_knows(house: House) -> None:
    with open_memory(workspace=house.workspace, state_dir=house.state) as memory:
        memory.sync()
        house.write(
            {"memory/plans.md": "# Plans\n\n- the boiler was serviced the day before yesterday\n- Lunch on Fridays\n"}
        )
        memory.sync()
    (found,) = house.find("relative date")
    assert found.line == 3
    assert found.new is not None
    assert found.new.startswith("- the boiler was serviced the day before yesterday (20")
    with closing(History(house.config)) as history:
        assert history.list_versions("memory/plans.md")


def test_a_line_that_was_written_after_a_note_is_not_outdated_by_it(house: House) -> None:
    def write(rent: str) -> list[str]:
        house.write({"MEMORY.md": f"- Rent: {rent} a month\n"})
        return [each.text for each in house.find("outdated")]

    (house.workspace / "memory/2026-06-08.md").unlink()
    (house.workspace / "memory/2026-05-11.md").rename(house.workspace / "memory/2020-05-11.md")
    with open_memory(workspace=house.workspace, state_dir=house.state) as memory:
        assert write("£410") == ["- Rent: £410 a month"]
        memory.sync()
        house.tidy.accept(house.find("outdated")[0])
        memory.sync()
        house.tidy.undo()
        memory.sync()
        assert [each.text for each in house.find("outdated")] == ["- Rent: £410 a month"]  # nobody has written it anew
        assert write("£460") == []  # by the time of the file
        memory.sync()
        assert write("£460") == []
        assert write("£430") == []
    house.write({"memory/2999-01-01.md": "The rent goes up to £480 a month.\n"})
    assert "- Rent: £430 a month" in write("£430")


def test_a_note_outside_of_the_workspace_is_to_be_changed_by_hand(house: House, tmp_path: Path) -> None:
    (tmp_path / "vault").mkdir()
    note = tmp_path / "vault/home.md"
    note.write_text("# Home\n\n- Rent: £410 a month\n", encoding="utf-8")
    house.write({"MEMORY.md": "# Memory\n"})
    settings = {"memorySearch": {"extraPaths": [str(note.parent)]}}
    config = load_config(settings, workspace=house.workspace, state_dir=house.state).agent("main")
    with closing(Tidy(config)) as tidy:
        (found,) = (each for each in tidy.run(shown_chars=10_000) if each.kind == "outdated")
        assert (found.text, found.new) == ("- Rent: £410 a month", None)
        assert found.why.endswith("Change it by hand: the note lies outside of the workspace.")
        with pytest.raises(PathRefused, match="does not lie in the workspace"):
            tidy.propose(found.path, 3, "- Rent: £445 a month", "The user said so.")


def test_memory_md_that_no_session_start_shows_whole_is_told_where_it_ends(house: House) -> None:
    house.write(
        {"MEMORY.md": "# Memory\n\n" + "- a line of some forty characters, again\n" * 30 + "\n## Old trips\n- Ghent\n"}
    )
    (found,) = house.find("long", shown_chars=1000)
    assert found.new is None
    assert "memory/old-trips.md" in found.why
    assert house.find("long", shown_chars=5000) == []


def test_an_agents_proposal_waits_as_long_as_its_line_stands(house: House) -> None:
    made = house.tidy.propose("MEMORY.md", 5, "- Accountant: Sunniva Bell", "The user said so.")
    assert made.id in [each.id for each in house.find("proposed")]
    house.tidy.accept(next(each for each in house.find("proposed") if each.id == made.id))
    assert b"Sunniva" in house.read("MEMORY.md")
    with pytest.raises(InvalidArgument, match="no text in line"):
        house.tidy.propose("MEMORY.md", 2, "x", "y")


def test_what_an_agent_proposes_is_found_again_in_a_changed_note_and_asked_again_if_undone(house: House) -> None:
    first = house.tidy.propose("MEMORY.md", 5, "", "It is said twice.", others=[3])
    second = house.tidy.propose("MEMORY.md", 3, "- Rent: £420 a month", "The user said so.")
    house.write({"MEMORY.md": b"- mine\n" + house.read("MEMORY.md")})
    found = {each.id: each for each in house.find("proposed")}
    assert {each.id: each.line for each in found.values()} == {first.id: 6, second.id: 4}
    assert [each.line for each in found[first.id].evidence] == [4]
    house.tidy.accept(found[first.id])
    (left,) = house.find("proposed")
    house.tidy.accept(left)
    assert house.find("proposed") == []
    assert house.read("MEMORY.md").decode() == "- mine\n" + NOTES["MEMORY.md"].replace("£410", "£420").replace(
        "- Accountant: Prakash Nair\n", ""
    )
    house.tidy.undo()
    assert [each.id for each in house.find("proposed")] == [second.id]
    house.tidy.undo()
    assert sorted(each.id for each in house.find("proposed")) == sorted([first.id, second.id])
    assert house.read("MEMORY.md").decode() == "- mine\n" + NOTES["MEMORY.md"]


@pytest.mark.parametrize(
    ("old", "new"),
    [("- Accountant: Prakash Nair\n", ""), ("£410", "£415"), ("# Memory", "# Memory\n- Accountant: Prakash Nair")],
    ids=["its line is gone", "a line that speaks for it is gone", "its line stands twice"],
)
def test_what_an_agent_proposes_of_lines_that_stand_no_more_is_settled(house: House, old: str, new: str) -> None:
    made = house.tidy.propose("MEMORY.md", 5, "", "It is said twice.", others=[3])
    assert [each.id for each in house.find("proposed")] == [made.id]
    house.write({"MEMORY.md": NOTES["MEMORY.md"].replace(old, new)})
    assert house.find("proposed") == []
    house.write(NOTES)
    assert house.find("proposed") == []


def test_conflict_marks_and_half_written_notes_are_no_evidence(house: House) -> None:
    house.write(
        {
            "memory/2026-05-11.md": "<<<<<<< HEAD\nThe rent goes up to £445 a month.\n=======\nThe rent is £300.\n>>>>>>> x\n"
        }
    )
    house.write({"memory/2026-06-08.md": b"The evening class meets on Wedn\xff\xfe"})
    assert house.find("outdated") == []


def test_a_run_after_edits_proposes_what_a_first_run_does(house: House, tmp_path: Path) -> None:
    house.find()
    house.write({"memory/2026-06-08.md": "The evening class meets on Fridays from now on.\n"})
    house.write({"memory/2026-07-01.md": "Our accountant is Sunniva Bell now.\n"})
    (house.workspace / "memory/2026-05-11.md").unlink()
    config = load_config({}, workspace=house.workspace, state_dir=tmp_path / "other").agent("main")
    with closing(Tidy(config)) as first:
        expected = [replace(each, id="") for each in first.run(shown_chars=10_000)]
    assert [replace(each, id="") for each in house.find()] == expected
    assert {each.new for each in expected} == {
        "- Evening class on Fridays at 18:30",
        "- Accountant: Prakash Nair (until 2026-07-01, see memory/2026-07-01.md:1)",
    }


@pytest.mark.parametrize(
    ("line", "note", "new"),
    [
        ("Yoga is on Tuesdays at 18:00", "Yoga moves to Thursdays at 19:00.", "Yoga is on Thursdays at 19:00"),
        ("Piano on Mondays at 16:00 with Mrs Klein", "Piano moves to Fridays.", "Piano on Fridays at 16:00 with Mrs Klein"),
        ("Piano on Mondays at 16:00 with Mrs Klein", "Piano is on Fridays now. Mrs Braun teaches it.", None),
        ("Geige montags um 16:00 bei Frau Koch", "Geige ab jetzt freitags um 17:00 bei Frau Schneider.", None),
        ("Standup at 9:15 in room Oslo", "The standup is at 10:00 in room Bergen from now on.", None),
        ("Hausmeister: Herr Krause, Tel. 0761 222 111", "Krause ist weg, jetzt Frau Demir, Tel. 0761 333 999", None),
        ("Phone: 0161 496 0222", "My new phone number is 0161 496 0805.", "Phone: 0161 496 0805"),
        ("IBAN of the club: GB94 BARC 1020 1530 0934 59", "The club has a new IBAN: GB33 BUKB 2020 1555 5555 55",
         "IBAN of the club: GB33 BUKB 2020 1555 5555 55"),
        ("Handyvertrag bei Funkloch, 14,99 € im Monat", "Handyvertrag jetzt bei Netzwerk, 9,99 € im Monat", None),
        ("Home insurance: Hedgerow, 84 € a year", "Home insurance is with Otterburn now, 71 € a year, no longer Hedgerow.", None),
        ("Handy: O2, 20 € im Monat", "Handy jetzt bei Netzwerk statt O2, 15 € im Monat.", None),
        ("Strom: Stadtwerke, 95 € im Monat", "Strom jetzt bei Lichtwerk, 88 € im Monat, nicht mehr bei den Stadtwerken.", None),
        ("Gym: Barbell, 25 € a month", "Gym: switched from Barbell to Kettle, 22 € a month.", None),
        ("Internet: Funkloch, 45 € a month", "We cancelled Funkloch, internet is 40 € a month at Netzwerk.", None),
        ("Internet: Funkloch, 45 € a month", "Funkloch internet is now 40 € a month.", "Internet: Funkloch, 40 € a month"),
        ("Pottery fair on 3 October", "The pottery fair is moved from 3 October to 17 October.", "Pottery fair on 17 October"),
        ("Choir on Mondays at 18:30", "9:15 the choir meets on Wednesdays from now on.", None),  # when it was written
    ],
)  # fmt: skip
def test_a_value_is_swapped_only_where_the_rest_of_the_line_may_still_hold(
    house: House, line: str, note: str, new: str | None
) -> None:
    house.write({"MEMORY.md": f"- {line}\n", "memory/2026-05-11.md": f"{note}\n", "memory/2026-06-08.md": "quiet\n"})
    (found,) = house.find("outdated")
    assert found.new == f"- {new or f'{line} (until 2026-05-11, see memory/2026-05-11.md:1)'}"
