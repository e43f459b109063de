"""Two machines sync their notes over a real bare repository; no line is lost, whatever happens meanwhile."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import unicodedata
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from memory_core.errors import InvalidArgument, RemoteUnreachable, SharingFailed
from memory_core.sharing import STATE, sharing
from memory_core.sharing.repository import hold
from memory_core.sharing.sharing import LEFT
from memory_core.sharing.workspace import BELOW_NOTE, ODD_NAME, SAME_NAME, TOO_LARGE
from memory_core.sources.refusals import BINARY, FOLDER
from memory_core.sources.writer import FIRST_NOTE
from tests.machines import MARKS, Machine, list_objects, make_machines, make_remote, run_git
from tests.waiting import eventually

DAY = "memory/2026-03-02.md"


ENCRYPTED = pytest.mark.parametrize("machines", [False, True], ids=["readable", "encrypted"], indirect=True)


@pytest.fixture
def machines(tmp_path: Path, request: pytest.FixtureRequest) -> tuple[Machine, Machine]:
    laptop, desktop = make_machines(tmp_path, ["laptop", "desktop"], encrypt=getattr(request, "param", False))
    laptop.write("MEMORY.md", "# Memory\n\n- The cat is called Mia.\n- The car is red.\n")
    laptop.write(DAY, "# 2026-03-02\n\n- 08:10 Breakfast\n")
    laptop.sync()
    desktop.sync()
    return laptop, desktop


def add_commit(repository: Path, ref: str, change: str) -> None:
    """Make a commit behind `main`, or the first one, as somebody may by hand."""
    after = "from refs/heads/main^0\n" if (repository / "refs" / "heads" / "main").exists() else ""
    text = f"commit {ref}\ncommitter a <a@b> 1 +0000\ndata 1\nx\n{after}{change}"
    command = ["git", f"--git-dir={repository}", "fast-import", "--quiet"]
    subprocess.run(command, input=text.encode(), check=True, capture_output=True)


def sync_all(*machines: Machine) -> None:
    for machine in (*machines, *machines):
        machine.sync()
    assert all(machine.notes() == machines[0].notes() for machine in machines)


@ENCRYPTED
def test_notes_of_both_meet_and_only_notes_are_in_the_workspace(machines: tuple[Machine, Machine]) -> None:
    laptop, desktop = machines
    laptop.append(DAY, "- 10:00 Call\n")
    desktop.append(DAY, "- 09:00 Mail\n")
    desktop.write("memory/people/ann.md", "# Ann\n\nShe lives in Bern.\n")
    sync_all(laptop, desktop)
    assert laptop.read(DAY) == "# 2026-03-02\n\n- 08:10 Breakfast\n- 09:00 Mail\n- 10:00 Call\n"
    assert sorted(laptop.notes()) == ["MEMORY.md", DAY, "memory/people/ann.md"]


def test_a_sync_without_changes_makes_no_commit(machines: tuple[Machine, Machine]) -> None:
    laptop, desktop = machines
    before = run_git(laptop.remote, "rev-parse", "main")
    for _ in range(3):
        assert [machine.sync().sent for machine in machines] == [(), ()]
    assert run_git(laptop.remote, "rev-parse", "main") == before
    assert run_git(laptop.remote, "rev-list", "--merges", "main") == ""
    assert "missing" not in run_git(desktop.repository, "fsck", "--full")


def test_a_filled_folder_joins_and_what_both_have_stands_once(
    machines: tuple[Machine, Machine], tmp_path: Path
) -> None:
    third = Machine(tmp_path / "third", machines[0].remote)
    third.write("MEMORY.md", "# Memory\n\n- The car is red.\n- The boat is new.\n")
    third.init()
    sync_all(third, *machines)
    assert set(third.count_lines().values()) == {1}
    assert "- The boat is new." in machines[0].read("MEMORY.md")


@pytest.mark.parametrize("is_first", [True, False])
def test_the_note_that_init_has_made_gives_way_on_either_side(tmp_path: Path, is_first: bool) -> None:
    own = "# Mine\n\n- The cat is called Mia.\n"
    remote = make_remote(tmp_path / "remote.git")
    laptop, desktop = (Machine(tmp_path / name, remote) for name in ("laptop", "desktop"))
    laptop.write("MEMORY.md", FIRST_NOTE if is_first else own)
    desktop.write("MEMORY.md", own if is_first else FIRST_NOTE)
    laptop.init()
    desktop.init()
    laptop.sync()
    assert laptop.read("MEMORY.md") == desktop.read("MEMORY.md") == own


def test_both_sides_of_a_conflict_stand_and_are_told(machines: tuple[Machine, Machine]) -> None:
    laptop, desktop = machines
    for machine, colour in zip(machines, ("green", "white"), strict=True):
        machine.write("MEMORY.md", machine.read("MEMORY.md").replace("is red", f"is red and {colour}"))
    laptop.sync()
    told = desktop.sync().conflicts
    assert [(path, each.first, each.second) for path, each in told] == [
        ("MEMORY.md", "- The car is red and green.", "- The car is red and white.")
    ]
    sync_all(laptop, desktop)
    assert not any(mark in laptop.read("MEMORY.md") for mark in MARKS)


def test_a_deleted_line_and_a_deleted_note_stay_deleted(machines: tuple[Machine, Machine]) -> None:
    laptop, desktop = machines
    laptop.write("MEMORY.md", "# Memory\n\n- The car is red.\n")
    laptop.path(DAY).unlink()
    desktop.append("MEMORY.md", "- The dog is old.\n")
    sync_all(laptop, desktop)
    assert desktop.notes() == {"MEMORY.md": b"# Memory\n\n- The car is red.\n- The dog is old.\n"}


def test_an_offline_machine_waits_and_catches_up(machines: tuple[Machine, Machine]) -> None:
    laptop, desktop = machines
    away = laptop.remote.rename(laptop.remote.with_name("away"))
    laptop.append(DAY, "- 11:00 On the train\n")
    with pytest.raises(RemoteUnreachable):
        laptop.sync()
    state = laptop.sharing.load()
    assert state is not None
    assert (state.waits, state.synced < state.tried) == (True, True)
    away.rename(laptop.remote)
    sync_all(laptop, desktop)
    assert "On the train" in desktop.read(DAY)


def test_a_lost_race_is_made_anew(machines: tuple[Machine, Machine]) -> None:
    """A hook of the remote lets another commit win once the first push has begun."""
    laptop, desktop = machines
    add_commit(laptop.remote, "refs/heads/side", "M 100644 inline memory/side.md\ndata 7\n# Side\n\n")
    hook = laptop.remote / "hooks" / "update"
    hook.write_text("#!/bin/sh\nrm -f hooks/update\ngit update-ref refs/heads/main refs/heads/side\n")
    hook.chmod(0o755)
    laptop.append(DAY, "- 12:00 Lunch\n")
    laptop.sync()
    assert not hook.exists()
    sync_all(laptop, desktop)
    assert (desktop.count_lines()["- 12:00 Lunch"], desktop.read("memory/side.md")) == (1, "# Side\n")


@pytest.mark.parametrize("step", [1, 5, 7, *range(9, 25)])
def test_a_sync_that_is_killed_loses_and_doubles_nothing(machines: tuple[Machine, Machine], step: int) -> None:
    laptop, desktop = machines
    desktop.write("memory/a.md", "# A\n\n- Kept.\n")
    sync_all(laptop, desktop)
    desktop.append(DAY, "- Of the desktop\n")
    desktop.write("memory/a.md", "# A\n\n- Kept.\n- Also of the desktop\n")
    desktop.write("MEMORY.md", desktop.read("MEMORY.md").replace("Mia.", "Mia Two."))
    desktop.sync()
    laptop.append(DAY, "- Of the laptop\n")
    assert not laptop.sync_until(step)
    laptop.append(DAY, "- After the kill\n")
    laptop.write("memory/a.md", laptop.read("memory/a.md").replace("- Kept.\n", "- Kept.\n- In between\n"))
    sync_all(laptop, desktop)
    lines = laptop.count_lines()
    new = ["of the desktop", "Also of the desktop", "Of the laptop", "After the kill", "In between"]
    assert [line for line in new if lines[f"- {line[0].upper()}{line[1:]}"] != 1] == []
    assert set(lines.values()) == {1}


@pytest.mark.parametrize("step", range(10, 24))
def test_what_is_deleted_after_a_killed_sync_has_written_it_stays_deleted(
    machines: tuple[Machine, Machine], step: int
) -> None:
    """One note is then again as it was before the sync, and of another one more has changed than the sync has written."""
    laptop, desktop = machines
    desktop.append("MEMORY.md", "- The lamp is green.\n")
    desktop.append(DAY, "- 13:00 From the desktop\n")
    desktop.write("memory/a.md", "# A\n\n- Made by the desktop.\n")
    desktop.sync()
    before = laptop.notes()
    assert not laptop.sync_until(step)
    changed = {path for path, data in laptop.notes().items() if path.endswith(".md") and before.get(path) != data}
    if "MEMORY.md" in changed:
        laptop.write("MEMORY.md", before["MEMORY.md"].decode())
    if DAY in changed:
        laptop.write(DAY, before[DAY].decode() + "- 14:00 One\n- 15:00 Two\n")
    if "memory/a.md" in changed:
        laptop.path("memory/a.md").unlink()
    sync_all(laptop, desktop)
    stands = desktop.count_lines()
    assert stands["- The lamp is green."] == ("MEMORY.md" not in changed)
    assert stands["- 13:00 From the desktop"] == (DAY not in changed)
    assert desktop.path("memory/a.md").exists() == ("memory/a.md" not in changed)


def test_what_a_killed_sync_has_not_written_comes_though_half_of_it_stands_already(
    machines: tuple[Machine, Machine],
) -> None:
    laptop, desktop = machines
    lines = [f"- 13:0{number} Said on both machines\n" for number in range(3)]
    desktop.append(DAY, "".join(lines))
    desktop.sync()
    before = laptop.read(DAY)
    assert not laptop.sync_until(10)
    assert laptop.read(DAY) == before
    laptop.append(DAY, "".join(lines[:2]))
    sync_all(laptop, desktop)
    assert desktop.read(DAY) == before + "".join(lines)


@pytest.mark.parametrize("renamer", [0, 1])
def test_a_note_that_one_renames_and_the_other_changes_is_one_after_a_killed_sync(
    machines: tuple[Machine, Machine], renamer: int
) -> None:
    laptop, desktop = machines
    lines = [f"- The line of number {number}.\n" for number in range(4)]
    laptop.write("memory/a.md", "# A\n\n" + "".join(lines))
    sync_all(laptop, desktop)

    def change(machine: Machine) -> None:
        if machine is machines[renamer]:
            machine.path("memory/a.md").rename(machine.path("memory/b.md"))
        else:
            machine.write("memory/a.md", "# A\n\n" + "".join(lines[1:]))

    change(desktop)
    desktop.sync()
    assert not laptop.sync_until(10)
    change(laptop)
    sync_all(laptop, desktop)
    assert not desktop.path("memory/a.md").exists()
    assert desktop.read("memory/b.md") == "# A\n\n" + "".join(lines[1:])


@pytest.mark.parametrize("step", range(9, 17))
def test_what_is_added_under_the_old_name_after_a_killed_sync_comes_under_the_new_one(
    machines: tuple[Machine, Machine], step: int
) -> None:
    laptop, desktop = machines
    laptop.write("memory/b.md", "# The note that moves\n\n- The first line of it.\n- The second line of it.\n")
    sync_all(laptop, desktop)
    desktop.path("memory/b.md").rename(desktop.path("memory/a.md"))
    desktop.sync()
    assert not laptop.sync_until(step)
    old = laptop.path("memory/b.md")
    place = "memory/b.md" if old.exists() else "memory/a.md"
    laptop.write(place, laptop.read(place).replace("- The second", "- A line in between.\n- The second"))
    sync_all(laptop, desktop)
    assert not old.exists()
    assert {*laptop.count_lines().values()} == {1}
    assert "- A line in between." in desktop.read("memory/a.md")


@pytest.mark.parametrize("step", range(9, 16))
def test_a_sync_that_is_killed_while_it_finishes_a_killed_one_doubles_nothing(
    machines: tuple[Machine, Machine], step: int
) -> None:
    laptop, desktop = machines
    laptop.write("memory/b.md", "# B\n\n- The first line of it.\n- The second line of it.\n")
    sync_all(laptop, desktop)
    desktop.append("memory/b.md", "- A line of the desktop.\n")
    desktop.append(DAY, "- 13:00 From the desktop\n")
    desktop.sync()
    assert not laptop.sync_until(10)
    laptop.path("memory/b.md").rename(laptop.path("memory/0.md"))
    assert not laptop.sync_until(step)
    laptop.write("memory/b.md", "# B\n\n- Another note of the same name.\n")
    sync_all(laptop, desktop)
    lines = laptop.count_lines()
    assert {line: count for line, count in lines.items() if line[0] == "-" and count != 1} == {}
    assert lines["- A line of the desktop."] == lines["- 13:00 From the desktop"] == 1


def test_what_is_appended_to_a_note_while_it_is_replaced_is_kept(machines: tuple[Machine, Machine]) -> None:
    laptop, desktop = machines
    desktop.append(DAY, "- 13:00 From the desktop\n")
    desktop.sync()
    with laptop.path(DAY).open("a", encoding="utf-8") as opened:
        replace = os.replace

        def append_late(source: str, target: str, **options: int | None) -> None:
            replace(source, target, **options)
            if Path(target).name == Path(DAY).name and not opened.closed:
                opened.write("- 14:00 Late\n")
                opened.close()

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(os, "replace", append_late)
            laptop.sync()
    sync_all(laptop, desktop)
    assert [laptop.count_lines()[f"- {line}"] for line in ("13:00 From the desktop", "14:00 Late")] == [1, 1]


def test_a_secret_stays_here_and_is_named_without_being_told(machines: tuple[Machine, Machine]) -> None:
    laptop, desktop = machines
    secret = "ghp_" + "a1B2c3D4e5" * 4
    laptop.append("MEMORY.md", f"- token: {secret}\n")
    laptop.append(DAY, "- 15:00 Walk\n")
    assert laptop.sync().withheld == ("MEMORY.md:5",)
    desktop.append("MEMORY.md", "- The bike is blue.\n")
    desktop.sync()
    laptop.sync()
    assert "The bike is blue" in laptop.read("MEMORY.md")
    assert secret in laptop.read("MEMORY.md")
    desktop.sync()
    assert "15:00 Walk" in desktop.read(DAY)
    assert not any(secret.encode() in data for data in list_objects(laptop.remote))
    laptop.write("MEMORY.md", laptop.read("MEMORY.md").replace(f"- token: {secret}\n", ""))
    sync_all(laptop, desktop)


@pytest.mark.parametrize("way", ["renamed", "moved", "by a third note"])
def test_what_went_into_a_note_with_a_secret_stays_on_other_machines(
    machines: tuple[Machine, Machine], way: str
) -> None:
    laptop, desktop = machines
    secret = "ghp_" + "a1B2c3D4e5" * 4
    lines = [f"- The line of number {number}.\n" for number in range(3)]
    laptop.write("memory/a.md", "# A\n\n" + "".join(lines))
    laptop.write("memory/c.md", "# C\n\n- The line that goes to a.\n- It stays here.\n")
    sync_all(laptop, desktop)
    before = desktop.notes()
    if way == "renamed":
        laptop.path("memory/a.md").rename(laptop.path("memory/b.md"))
    else:
        laptop.write("memory/a.md", "# A\n\n" + "".join(lines[1:]))
        laptop.write("memory/b.md", "# B\n\n" + lines[0])
    if way == "by a third note":
        laptop.write("memory/c.md", "# C\n\n- It stays here.\n")
        laptop.append("memory/a.md", "- The line that goes to a.\n")
    laptop.append("memory/b.md", f"- token: {secret}\n")
    laptop.append(DAY, "- 15:00 Walk\n")
    done = laptop.sync()
    assert done.sent == (DAY,)
    told = {"memory/a.md": LEFT.format("memory/b.md"), "memory/c.md": LEFT.format("memory/a.md")}
    assert done.left_out == {path: told[path] for path in [*told][: 1 + (way == "by a third note")]}
    desktop.sync()
    desktop.append("memory/a.md", "- A line of the desktop.\n")
    assert {**desktop.notes(), DAY: b"", "memory/a.md": b""} == {**before, DAY: b"", "memory/a.md": b""}
    assert desktop.read("memory/a.md") == before["memory/a.md"].decode() + "- A line of the desktop.\n"
    desktop.sync()
    laptop.sync()
    laptop.write("memory/b.md", laptop.read("memory/b.md").replace(f"- token: {secret}\n", ""))
    sync_all(laptop, desktop)
    stands = desktop.count_lines()
    assert {stands[line.strip()] for line in (*lines, "- A line of the desktop.")} == {1}
    assert desktop.path("memory/a.md").exists() == (way != "renamed")
    assert not any(secret.encode() in data for data in list_objects(laptop.remote))


def test_a_note_of_short_lines_that_is_renamed_and_gains_a_secret_stays_on_other_machines(
    machines: tuple[Machine, Machine],
) -> None:
    laptop, desktop = machines
    secret = "ghp_" + "a1B2c3D4e5" * 4
    laptop.write("memory/a.md", "# A\n\n- milk\n- eggs\n- bread\n")
    sync_all(laptop, desktop)
    laptop.path("memory/a.md").rename(laptop.path("memory/b.md"))
    laptop.append("memory/b.md", f"- token: {secret}\n")
    done = laptop.sync()
    assert done.sent == ()
    assert done.left_out == {"memory/a.md": LEFT.format("memory/b.md")}
    desktop.sync()
    assert desktop.read("memory/a.md") == "# A\n\n- milk\n- eggs\n- bread\n"
    laptop.write("memory/b.md", laptop.read("memory/b.md").replace(f"- token: {secret}\n", ""))
    sync_all(laptop, desktop)
    assert "memory/a.md" not in desktop.notes()
    assert desktop.read("memory/b.md") == "# A\n\n- milk\n- eggs\n- bread\n"


@pytest.mark.parametrize("step", range(9, 15))
def test_a_note_with_a_secret_loses_nothing_by_a_killed_sync(machines: tuple[Machine, Machine], step: int) -> None:
    laptop, desktop = machines
    secret = "ghp_" + "a1B2c3D4e5" * 4
    laptop.append("MEMORY.md", f"- token: {secret}\n- Not sent either.\n")
    desktop.append("MEMORY.md", "- The bike is blue.\n")
    desktop.sync()
    assert not laptop.sync_until(step)
    laptop.sync()
    assert laptop.count_lines()["- Not sent either."] == laptop.count_lines()["- The bike is blue."] == 1
    assert secret in laptop.read("MEMORY.md")
    laptop.write("MEMORY.md", laptop.read("MEMORY.md").replace(f"- token: {secret}\n", ""))
    sync_all(laptop, desktop)
    assert not any(secret.encode() in data for data in list_objects(laptop.remote))


def test_line_ends_of_windows_stay_where_they_are_and_travel_nowhere(machines: tuple[Machine, Machine]) -> None:
    laptop, desktop = machines
    desktop.path(DAY).write_bytes(desktop.path(DAY).read_bytes().replace(b"\n", b"\r\n"))
    assert desktop.sync().sent == ()
    laptop.append(DAY, "- 16:00 Tea\n")
    laptop.sync()
    desktop.sync()
    assert desktop.path(DAY).read_bytes() == b"# 2026-03-02\r\n\r\n- 08:10 Breakfast\r\n- 16:00 Tea\r\n"
    assert b"\r" not in laptop.path(DAY).read_bytes()
    assert desktop.sync().sent == laptop.sync().sent == ()


@pytest.mark.parametrize("name", ["Café", "Ταΐζω"])  # the capital of the second is written in two characters
def test_one_note_under_two_spellings_of_its_name_is_one(machines: tuple[Machine, Machine], name: str) -> None:
    laptop, desktop = machines
    first, second = f"memory/{name}.md", unicodedata.normalize("NFD", f"memory/{name.upper()}.md")
    laptop.write(first, "# Name\n\n- One.\n")
    laptop.sync()
    desktop.write(second, "# Name\n\n- Two.\n")
    desktop.sync()
    laptop.sync()
    assert laptop.read(first) == desktop.read(second) == "# Name\n\n- One.\n- Two.\n"
    assert desktop.sync().sent == laptop.sync().sent == ()


def test_names_that_some_systems_do_not_allow_are_named_and_left_out(machines: tuple[Machine, Machine]) -> None:
    laptop, _ = machines
    odd = {
        f"memory/{name}.md"
        for name in ("a:b", "con", "NUL ", "Com².old", "x./y", "x /y", "語" * 80, "z.md/y", "day", "link", "\udcff")
    }
    for name in odd - {"memory/link.md"} | {"memory/Day.md", "memory/console.md"}:
        laptop.write(name, "# One\n")
    laptop.path("memory/link.md").symlink_to(laptop.path("MEMORY.md"))
    done = laptop.sync()
    assert set(done.left_out) == odd
    assert (done.left_out["memory/z.md/y.md"], done.left_out["memory/con.md"]) == (BELOW_NOTE, ODD_NAME)
    assert set(done.sent) == {"memory/Day.md", "memory/console.md"}


def test_a_note_that_cannot_be_read_is_not_taken_for_deleted(machines: tuple[Machine, Machine]) -> None:
    laptop, desktop = machines
    real = laptop.path("MEMORY.md").rename(laptop.folder / "elsewhere.md")
    laptop.path("MEMORY.md").symlink_to(real)
    with pytest.raises(SharingFailed, match=r"MEMORY\.md cannot be synced: it is a symbolic link"):
        laptop.sync()
    desktop.sync()
    assert desktop.path("MEMORY.md").exists()


@pytest.mark.parametrize(("data", "problem"), [(b"x" * 4_500_000, TOO_LARGE), (b"a\0b\n", BINARY)])
def test_a_note_that_is_none_any_more_is_named_and_the_others_are_synced(
    machines: tuple[Machine, Machine], data: bytes, problem: str
) -> None:
    laptop, desktop = machines
    before = laptop.read("MEMORY.md")
    laptop.path("MEMORY.md").write_bytes(data)
    laptop.append(DAY, "- 18:00 From the laptop\n")
    for number in range(2):
        desktop.append("MEMORY.md", f"- Line {number} of the desktop.\n")
        desktop.sync()
        assert laptop.sync().left_out == {"MEMORY.md": problem}
    desktop.sync()
    assert "- 18:00 From the laptop" in desktop.count_lines()
    assert laptop.path("MEMORY.md").read_bytes() == data
    laptop.write("MEMORY.md", before + "- Mended.\n")
    sync_all(laptop, desktop)
    lines = [*before.split("\n")[2:-1], "- Line 0 of the desktop.", "- Line 1 of the desktop.", "- Mended."]
    assert [desktop.count_lines()[line] for line in lines] == [1] * 5


def test_a_secret_in_a_name_is_not_sent(machines: tuple[Machine, Machine]) -> None:
    laptop, desktop = machines
    secret = "ghp_" + "a1B2c3D4e5" * 4
    laptop.write(f"memory/{secret}.md", "# A token\n")
    laptop.append(DAY, "- 18:00 From the laptop\n")
    done = laptop.sync()
    assert len(done.withheld) == 1
    assert secret not in done.withheld[0]
    laptop.path("MEMORY.md").rename(laptop.path(f"memory/{secret}.md"))
    told = laptop.sync()
    assert told.left_out.keys() == {"MEMORY.md"}
    assert secret not in repr(told)
    desktop.sync()
    assert desktop.notes().keys() == {"MEMORY.md", DAY}
    assert not any(secret.encode() in data for data in list_objects(laptop.remote))


@pytest.mark.parametrize("is_known", [False, True])
def test_a_folder_in_the_place_of_a_note_is_named_and_stops_and_deletes_nothing(
    machines: tuple[Machine, Machine], is_known: bool
) -> None:
    laptop, desktop = machines
    desktop.write("memory/x.md", "# X\n\n- Kept.\n")
    desktop.sync()
    if is_known:
        laptop.sync()
        laptop.path("memory/x.md").unlink()
    laptop.path("memory/x.md").mkdir()
    laptop.append(DAY, "- 18:00 From the laptop\n")
    for line in ("", "- Another line.\n"):
        desktop.append("memory/x.md", line)
        desktop.sync()
        assert laptop.sync().left_out == {"memory/x.md": FOLDER}
    desktop.sync()
    assert "- 18:00 From the laptop" in desktop.count_lines()
    laptop.path("memory/x.md").rmdir()
    sync_all(laptop, desktop)
    assert laptop.read("memory/x.md") == "# X\n\n- Kept.\n- Another line.\n"
    laptop.path("memory/x.md").unlink()
    sync_all(laptop, desktop)
    assert not desktop.path("memory/x.md").exists()


@pytest.mark.parametrize("step", range(9, 21))
def test_a_killed_sync_remembers_that_there_was_no_place_for_a_note(
    machines: tuple[Machine, Machine], step: int
) -> None:
    laptop, desktop = machines
    desktop.write("memory/x.md", "# X\n\n- Kept.\n")
    desktop.append(DAY, "- 18:00 From the desktop\n")
    desktop.sync()
    laptop.path("memory/x.md").mkdir()
    laptop.append(DAY, "- 19:00 From the laptop\n")
    laptop.sync_until(step)
    laptop.path("memory/x.md").rmdir()
    sync_all(laptop, desktop)
    assert desktop.read("memory/x.md") == "# X\n\n- Kept.\n"
    assert {*laptop.count_lines().values()} == {1}


def test_a_file_in_the_place_of_a_folder_of_notes_is_no_obstacle_for_others(machines: tuple[Machine, Machine]) -> None:
    laptop, desktop = machines
    laptop.write("memory/people", "no note")
    desktop.write("memory/people/ann.md", "# Ann\n")
    desktop.append(DAY, "- 18:00 From the desktop\n")
    desktop.sync()
    assert list(laptop.sync().left_out) == ["memory/people/ann.md"]
    assert "- 18:00 From the desktop" in laptop.count_lines()


@pytest.mark.parametrize("names", [("memory/a.md", "memory/b.md"), ("memory/both.md", "memory/both.md")])
def test_a_workspace_whose_notes_all_have_other_names_is_synced(
    machines: tuple[Machine, Machine], names: tuple[str, str]
) -> None:
    laptop, desktop = machines
    for old, new in zip(("MEMORY.md", DAY), names, strict=True):
        laptop.append(new, laptop.read(old) + f"- New in {new}\n")
        laptop.path(old).unlink()
    desktop.append(DAY, "- 09:00 Mail\n")
    laptop.sync()
    sync_all(desktop, laptop)
    assert set(names) <= set(desktop.notes())
    lines = desktop.count_lines()
    assert [lines[each] for each in ("- The cat is called Mia.", "- 08:10 Breakfast", "- 09:00 Mail")] == [1, 1, 1]


def test_a_folder_of_notes_that_became_a_link_is_not_taken_for_deleted(machines: tuple[Machine, Machine]) -> None:
    laptop, desktop = machines
    laptop.write("memory/people/ann.md", "# Ann\n")
    sync_all(laptop, desktop)
    real = laptop.path("memory/people").rename(laptop.folder / "elsewhere")
    laptop.path("memory/people").symlink_to(real)
    with pytest.raises(SharingFailed, match=r"people/ann\.md cannot be synced: it is a symbolic link"):
        laptop.sync()
    desktop.sync()
    assert desktop.path("memory/people/ann.md").exists()


def wipe(machine: Machine, *kept: str) -> None:
    for name in machine.notes().keys() - kept:
        machine.path(name).unlink()


NEW = {
    "nothing": {},
    "another day": {"memory/2026-03-03.md": "# 2026-03-03\n"},
    "old names": {"MEMORY.md": FIRST_NOTE, DAY: "# 2026-03-02\n\n- 20:00 Began anew\n"},
}


@pytest.mark.parametrize("new", NEW.values(), ids=NEW)
def test_a_workspace_that_has_lost_all_notes_deletes_none_elsewhere(
    machines: tuple[Machine, Machine], new: dict[str, str]
) -> None:
    laptop, desktop = machines
    laptop.write("MEMORY.md", f"{FIRST_NOTE}\n- The cat is called Mia.\n")
    sync_all(laptop, desktop)
    before = desktop.count_lines()
    wipe(laptop)
    for name, text in new.items():
        laptop.write(name, text)
    with pytest.raises(SharingFailed, match="has lost 2 of its 2 notes") as error:
        laptop.sync()
    assert "sync --restore" in error.value.action
    desktop.append("MEMORY.md", "- Written meanwhile.\n")
    desktop.sync()
    laptop.sharing.sync("restore")
    sync_all(laptop, desktop)
    assert before + Counter(["- Written meanwhile."]) <= laptop.count_lines()
    assert {line for text in new.values() for line in text.split("\n") if line} <= laptop.count_lines().keys()


def test_most_notes_are_deleted_only_if_the_person_says_so(machines: tuple[Machine, Machine]) -> None:
    laptop, desktop = machines
    for name in ("a", "b", "c"):
        laptop.write(f"memory/{name}.md", f"# Note {name}\n\n- What stands in {name}.\n")
    sync_all(laptop, desktop)
    before = desktop.notes()
    wipe(laptop, "MEMORY.md")
    laptop.append("MEMORY.md", "- Written after.\n")
    with pytest.raises(SharingFailed, match="has lost 4 of its 5 notes"):
        laptop.sync()
    state = laptop.sharing.load()
    assert state is not None
    assert "--delete" in state.action
    laptop.sharing.sync("restore")
    sync_all(desktop, laptop)
    assert laptop.notes().keys() == before.keys()
    wipe(laptop, "MEMORY.md")
    laptop.sharing.sync("delete")
    sync_all(desktop, laptop)
    assert desktop.notes().keys() == {"MEMORY.md"}


def test_a_few_of_many_notes_are_deleted_without_a_question_and_restored_if_asked(
    machines: tuple[Machine, Machine],
) -> None:
    laptop, desktop = machines
    for number in range(6):
        laptop.write(f"memory/{number}.md", f"# Note {number}\n\n- What stands in it: {number}.\n")
    sync_all(laptop, desktop)
    before = laptop.notes()
    wipe(laptop, *sorted(before)[:4])
    laptop.sharing.sync("restore")
    assert laptop.notes() == before
    wipe(laptop, *sorted(before)[:4])
    sync_all(laptop, desktop)
    assert len(desktop.notes()) == 4


def test_an_emptied_workspace_that_is_set_up_again_takes_what_the_remote_has(machines: tuple[Machine, Machine]) -> None:
    laptop, desktop = machines
    shutil.rmtree(laptop.workspace)
    laptop.sharing.switch_off()
    laptop.init()
    sync_all(laptop, desktop)
    assert len(laptop.notes()) == 2


def test_a_remote_that_has_lost_all_notes_deletes_none_here(machines: tuple[Machine, Machine]) -> None:
    laptop, desktop = machines
    before = laptop.notes()
    add_commit(laptop.remote, "refs/heads/main", f"D MEMORY.md\nD {DAY}\nM 100644 inline memory/b.md\ndata 2\nx\n\n")
    with pytest.raises(SharingFailed, match="the remote has lost 2 of its 2 notes"):
        laptop.sync()
    assert laptop.notes() == before
    for name in desktop.notes():  # whoever means it deletes them here, too
        desktop.path(name).unlink()
    assert desktop.sync().taken == ("memory/b.md",)
    laptop.sharing.init(str(make_remote(laptop.remote.with_name("new.git"))))
    assert laptop.notes() == before


@ENCRYPTED
def test_what_a_person_has_said_to_delete_is_deleted_on_all_machines(machines: tuple[Machine, Machine]) -> None:
    laptop, desktop = machines
    wipe(laptop)
    laptop.sharing.sync("delete")
    desktop.append(DAY, "- 14:00 Written meanwhile\n")
    sync_all(desktop, laptop)
    assert laptop.notes().keys() == {DAY}
    laptop.write("memory/b.md", "# B\n\n- Begun anew.\n")
    sync_all(laptop, desktop)


@ENCRYPTED
def test_what_a_person_has_said_to_delete_is_deleted_also_where_the_past_was_purged_since(
    machines: tuple[Machine, Machine],
) -> None:
    laptop, desktop = machines
    wipe(laptop)
    laptop.write("memory/b.md", "# B\n\n- Begun anew.\n")
    laptop.sharing.sync("delete")
    laptop.sharing.purge()
    sync_all(desktop, laptop)
    assert desktop.notes().keys() == {"memory/b.md"}
    wipe(laptop)
    with pytest.raises(SharingFailed, match="has lost 1 of its 1 notes"):
        laptop.sync()


@ENCRYPTED
@pytest.mark.parametrize("said_before", [False, True])
def test_what_the_remote_has_lost_is_asked_for_also_where_the_past_was_purged_since(
    machines: tuple[Machine, Machine], tmp_path: Path, said_before: bool
) -> None:
    laptop, desktop = machines
    for name in "abc":
        laptop.write(f"memory/{name}.md", f"# Note {name}\n\n- What stands in {name}.\n")
    sync_all(laptop, desktop)
    if said_before:
        wipe(laptop, "MEMORY.md", "memory/a.md")
        laptop.sharing.sync("delete")
        desktop.sync()
    before = desktop.notes()
    laptop.write("memory/new.md", "# New\n\n- Begun anew.\n")
    for name in before:  # one by one, which nobody asks about
        laptop.path(name).unlink()
        laptop.sync()
    tablet = Machine(tmp_path / "tablet", laptop.remote)
    tablet.init(key=laptop.sharing.key if laptop.sharing.key.exists() else None)
    tablet.sharing.purge()
    with pytest.raises(SharingFailed, match=f"the remote has lost {len(before)} of its {len(before)} notes"):
        desktop.sync()
    assert desktop.notes() == before
    desktop.sharing.sync("restore")
    tablet.sync()
    assert tablet.notes().keys() == before.keys() | {"memory/new.md"}


def test_notes_that_a_person_has_said_to_write_anew_are_written_anew_on_all_machines(
    machines: tuple[Machine, Machine],
) -> None:
    laptop, desktop = machines
    for name in [*laptop.notes()]:
        laptop.write(name, f"# Anew\n\n- Quite another text in {name} today.\n")
    with pytest.raises(SharingFailed, match="has lost"):
        laptop.sync()
    laptop.sharing.sync("delete")
    desktop.sync()
    assert desktop.notes() == laptop.notes()


def test_what_the_remote_loses_after_a_person_has_said_to_delete_is_asked_for(
    machines: tuple[Machine, Machine],
) -> None:
    laptop, desktop = machines
    for name in "abc":
        laptop.write(f"memory/{name}.md", f"# Note {name}\n\n- What stands in {name}.\n")
    sync_all(laptop, desktop)
    wipe(laptop, "MEMORY.md", "memory/a.md")
    laptop.sharing.sync("delete")
    add_commit(laptop.remote, "refs/heads/main", "D MEMORY.md\nD memory/a.md\n")
    with pytest.raises(SharingFailed, match="the remote has lost 2 of its 5 notes"):
        desktop.sync()
    assert len(desktop.notes()) == 5


def test_the_only_note_is_not_deleted_without_a_question(tmp_path: Path) -> None:
    laptop, desktop = make_machines(tmp_path, ["laptop", "desktop"])
    laptop.write("MEMORY.md", "# Memory\n\n- The cat is called Mia.\n")
    sync_all(laptop, desktop)
    laptop.write("MEMORY.md", "# Memory\n\n- All of it is written anew.\n")
    sync_all(laptop, desktop)
    laptop.path("MEMORY.md").unlink()
    with pytest.raises(SharingFailed, match="has lost 1 of its 1 notes"):
        laptop.sync()
    laptop.sharing.sync("restore")
    add_commit(laptop.remote, "refs/heads/main", "D MEMORY.md\n")
    with pytest.raises(SharingFailed, match="the remote has lost 1 of its 1 notes"):
        desktop.sync()
    assert desktop.notes() == laptop.notes() != {}


@pytest.mark.parametrize("step", range(8, 21))
def test_notes_that_are_lost_after_a_killed_sync_are_deleted_nowhere(
    machines: tuple[Machine, Machine], step: int
) -> None:
    laptop, desktop = machines
    desktop.append("MEMORY.md", "- The lamp is green.\n")
    desktop.write("memory/a.md", "# A\n\n- Made by the desktop.\n")
    desktop.sync()
    before = desktop.notes()
    assert not laptop.sync_until(step)
    wipe(laptop)
    for _ in range(2):
        with pytest.raises(SharingFailed, match=r"has lost . of its . notes") as error:
            laptop.sync()
        assert "sync --restore" in error.value.action
    desktop.sync()
    assert desktop.notes() == before
    laptop.sharing.sync("restore")
    assert laptop.notes() == before
    sync_all(laptop, desktop)
    assert desktop.notes() == before


ODD_FILES = {
    "M 120000 inline memory/a.md\ndata 11\n/etc/passwd\n": "is a symbolic link, which memory ignores",
    "M 100644 inline memory/a.md\ndata 3\na\0b\n": "is binary, or UTF-16: it holds NUL bytes",
    f"M 100644 inline memory/a.md\ndata 4500000\n{'x' * 4500000}\n": TOO_LARGE,
}


@pytest.mark.parametrize("change", ODD_FILES, ids=["link", "binary", "large"])
def test_what_is_no_note_in_the_remote_is_left_out_and_a_note_in_its_place_stays(
    machines: tuple[Machine, Machine], change: str
) -> None:
    laptop, desktop = machines
    laptop.write("memory/a.md", "# A\n\n- Kept.\n")
    sync_all(laptop, desktop)
    odd = change + change.replace("/a.md", "/b.md") + change.replace("/a.md", "/con.md")
    add_commit(laptop.remote, "refs/heads/main", odd)
    named = {"memory/a.md": ODD_FILES[change], "memory/b.md": ODD_FILES[change], "memory/con.md": ODD_NAME}
    assert laptop.sync().left_out == named
    desktop.append(DAY, "- 18:00 Written\n")
    desktop.append("memory/a.md", "- Also of the desktop\n")
    desktop.sync()
    sync_all(laptop, desktop)
    assert laptop.read("memory/a.md") == "# A\n\n- Kept.\n- Also of the desktop\n"
    assert set(laptop.notes()) == {"MEMORY.md", DAY, "memory/a.md"}
    assert "- 18:00 Written" in laptop.count_lines()
    assert "memory/b.md" in run_git(laptop.remote, "ls-tree", "-r", "--name-only", "main")


def test_a_second_spelling_of_a_name_in_the_remote_replaces_nothing(machines: tuple[Machine, Machine]) -> None:
    laptop, desktop = machines
    laptop.write("memory/day.md", "# Day\n\n- Kept.\n")
    sync_all(laptop, desktop)
    add_commit(laptop.remote, "refs/heads/main", "M 100644 inline memory/Day.md\ndata 8\n- Other\n\n")
    assert laptop.sync().left_out == {"memory/Day.md": SAME_NAME.format("memory/day.md")}
    sync_all(laptop, desktop)
    assert laptop.read("memory/day.md") == "# Day\n\n- Kept.\n"


def test_the_user_s_own_repository_and_settings_of_git_change_nothing(
    machines: tuple[Machine, Machine], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    laptop, desktop = machines
    subprocess.run(["git", "init", "--quiet", str(laptop.workspace)], check=True)
    own = sorted(path.stat().st_mtime_ns for path in (laptop.workspace / ".git").rglob("*"))
    marker = tmp_path / "ran"
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    for name in ("pre-push", "post-checkout"):
        (hooks / name).write_text(f"#!/bin/sh\ntouch {marker}\n")
        (hooks / name).chmod(0o755)
    (Path.home() / ".gitconfig").write_text(
        f"[core]\n\tautocrlf = true\n\thooksPath = {hooks}\n[commit]\n\tgpgSign = true\n[push]\n\tgpgSign = true\n"
        "[safe]\n\tbareRepository = explicit\n[init]\n\tdefaultBranch = other\n[fetch]\n\tprune = true\n"
    )
    monkeypatch.setenv("GIT_DIR", str(laptop.workspace / ".git"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "index"))
    laptop.append(DAY, "- 17:00 Home\n")
    laptop.sync()
    desktop.sync()
    assert "17:00 Home" in desktop.read(DAY)
    assert sorted(path.stat().st_mtime_ns for path in (laptop.workspace / ".git").rglob("*")) == own
    assert not marker.exists()


def test_a_remote_that_asks_for_a_password_fails_without_a_question(tmp_path: Path) -> None:
    machine = Machine(tmp_path / "m", tmp_path)
    with pytest.raises(RemoteUnreachable):
        machine.sharing.init("http://user@127.0.0.1:9/notes.git", public=True)
    assert machine.sharing.load() is None


@pytest.mark.parametrize("url", ["--upload-pack=touch /tmp/x", "ext::sh -c true", ""])
def test_a_url_that_would_run_a_program_is_refused(tmp_path: Path, url: str) -> None:
    with pytest.raises(SharingFailed, match="names no remote"):
        Machine(tmp_path / "m", tmp_path).sharing.init(url)


def test_a_lock_that_a_killed_git_left_in_the_remote_is_named(
    machines: tuple[Machine, Machine], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sharing, "TRIES", 2)
    laptop, _ = machines
    laptop.append(DAY, "- 18:00 From the laptop\n")
    lock = laptop.remote / "refs" / "heads" / "main.lock"
    lock.touch()
    with pytest.raises(RemoteUnreachable, match=r"refs/heads/main\.lock$") as error:
        laptop.sync()
    assert "Remove that file" in error.value.action
    lock.unlink()
    laptop.sync()


def test_what_a_server_says_that_takes_nothing_is_told(machines: tuple[Machine, Machine]) -> None:
    laptop, _ = machines
    laptop.append(DAY, "- 18:00 From the laptop\n")
    hook = laptop.remote / "hooks" / "pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho 'The archive is frozen.' >&2\necho 'Ask Ann.' >&2\nexit 1\n")
    hook.chmod(0o755)
    with pytest.raises(SharingFailed, match=r"it says: The archive is frozen\. Ask Ann\.$") as error:
        laptop.sync()
    assert "sync init URL" in error.value.action
    hook.unlink()
    assert laptop.sync().sent == (DAY,)


def test_a_repository_with_other_files_is_not_taken_for_notes(tmp_path: Path) -> None:
    remote = make_remote(tmp_path / "code.git")
    add_commit(remote, "refs/heads/main", "M 100644 inline setup.py\ndata 2\nx\n\n")
    with pytest.raises(InvalidArgument, match=r"holds setup\.py"):
        Machine(tmp_path / "m", remote).init()


def test_a_remote_that_was_made_anew_takes_the_notes_and_none_is_lost(machines: tuple[Machine, Machine]) -> None:
    laptop, desktop = machines
    laptop.remote.rename(laptop.remote.with_name("old"))
    make_remote(laptop.remote)
    laptop.append(DAY, "- 18:00 One\n")
    desktop.append(DAY, "- 19:00 Two\n")
    sync_all(laptop, desktop)
    assert set(laptop.count_lines().values()) == {1}
    assert {"- 18:00 One", "- 19:00 Two"} <= set(laptop.count_lines())


@ENCRYPTED
def test_purged_text_is_gone_and_other_machines_do_not_bring_it_back(machines: tuple[Machine, Machine]) -> None:
    laptop, desktop = machines
    laptop.append("MEMORY.md", "- The surprise party is in the garden.\n")
    sync_all(laptop, desktop)
    desktop.append(DAY, "- 20:00 Written while away\n")
    desktop.sync()
    laptop.sync()
    laptop.write("MEMORY.md", laptop.read("MEMORY.md").replace("- The surprise party is in the garden.\n", ""))
    laptop.sharing.purge()
    desktop.append(DAY, "- 21:00 Written after it\n")
    sync_all(desktop, laptop)
    run_git(laptop.remote, "gc", "--quiet", "--prune=now")
    for repository in (laptop.remote, laptop.repository, desktop.repository):
        assert not any(b"surprise party" in data for data in list_objects(repository))
    assert laptop.count_lines()["- 21:00 Written after it"] == desktop.count_lines()["- 20:00 Written while away"] == 1
    assert "surprise" not in desktop.read("MEMORY.md")
    assert run_git(laptop.remote, "rev-list", "--count", "main").strip() == "2"


def count_open(path: Path) -> int:
    """Return how many descriptors of this process are of a file."""
    wanted, found = path.stat(), 0
    for descriptor in range(1024):
        with suppress(OSError):  # it is closed
            found += os.path.samestat(os.fstat(descriptor), wanted)
    return found


def test_a_sync_that_waits_for_the_lock_does_not_undo_what_is_said_meanwhile(
    machines: tuple[Machine, Machine],
) -> None:
    laptop, _ = machines
    state = laptop.config.sharing_dir / STATE
    said = json.loads(state.read_text()) | {"on": False, "url": "/elsewhere"}
    with ThreadPoolExecutor(1) as pool:
        with hold(state.with_name("lock")):
            waiting = pool.submit(laptop.sync)
            assert eventually(lambda: count_open(state.with_name("lock")) == 2), "it does not wait for the lock"
            state.write_text(json.dumps(said))
        assert isinstance(waiting.exception(), SharingFailed)
    assert json.loads(state.read_text()) == said


def test_sync_off_and_init_again_go_on_from_there(machines: tuple[Machine, Machine]) -> None:
    laptop, desktop = machines
    laptop.sharing.switch_off()
    with pytest.raises(SharingFailed, match="not synced"):
        laptop.sync()
    laptop.write("MEMORY.md", "# Memory\n\n- The car is red.\n")
    laptop.init()
    sync_all(laptop, desktop)
    assert "Mia" not in desktop.read("MEMORY.md")
    laptop.sharing.switch_off()
    laptop.write("MEMORY.md", FIRST_NOTE)
    laptop.init()
    sync_all(laptop, desktop)
    assert desktop.read("MEMORY.md") == FIRST_NOTE


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="gives a folder to another user")
def test_a_remote_of_another_user_is_told_with_what_helps(tmp_path: Path) -> None:
    (machine,) = make_machines(tmp_path, ["laptop"])
    os.chown(machine.remote, 65534, 65534)
    machine.write("MEMORY.md", "# Memory\n\n- The pier is closed.\n")
    with pytest.raises(RemoteUnreachable, match=r"safe\.directory") as caught:
        machine.sync()
    assert "belongs to another user" in caught.value.action
