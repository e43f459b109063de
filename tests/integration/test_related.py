"""What is related to a name: read from the index when somebody asks, by the command, the tool and in Python."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

import memory_core
from memory_core.errors import InvalidArgument, MemoryOff
from memory_core.plugin import MemorySlot
from memory_core.plugin.memory import Memory
from memory_core.records import CallContext, Related
from tests.command import SAMPLE, Command

JUDGED = json.loads((SAMPLE.parent / "sample_entities.json").read_text())

NOTES = {
    "MEMORY.md": "# Facts\n\n- The landlord is [[Mrs O'Brien]], phone 555-0172.\n- Will comes on Fridays; we will cook.\n",
    "memory/people/ada.md": (
        "---\naliases: [Countess, A. King]\ntags: [person]\n---\n# Ada Lovelace\n\nWorks with [[Harlan]] on #roof.\n"
    ),
    "memory/people/will.md": "# Will\n\nA friend.\n",
    "memory/projects/roof-repair.md": "# Roof repair\n\nSee [Ada](../people/ada.md) and [plan](plan%20b.md).\n",
    "memory/projects/plan b.md": "# Plan B\n\nA tent.\n",
    "memory/2026-01-05.md": (
        "# Monday\n\n- Ada ordered slates for the roof\n  repair with Mrs. O’Brien.\n- The countess paid.\n- Adam called.\n"
        "\n```\n[[Ada]] in code\n```\n\n<!-- Ada in a comment -->\n\n`[[Harlan]]` is written like this.\n"
    ),
    "memory/2026-02-01.md": "- [[ADA|She]] met [[Harlan]]; nothing else.\n- Will came.\n",
    "memory/2026-03-01.md": "- 横浜の工場は[[横浜]]にある。\n- 明日は横浜に行く。\n",
}


def write(folder: Path, notes: Mapping[str, str]) -> None:
    for path, text in notes.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)


def configure(**settings: Any) -> dict[str, Any]:
    return {"memorySearch": {"provider": "none", **settings}}


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    write(tmp_path / "ws", NOTES)
    with memory_core.open_memory(configure(), workspace=tmp_path / "ws", state_dir=tmp_path / "state") as opened:
        yield opened


def cited(found: Related) -> list[str]:
    return [f"{place.path}#L{place.line}" for place in (*found.backlinks, *found.mentions)]


@pytest.mark.parametrize(
    "name", ["Ada", "ada", "ADA LOVELACE", "countess", "a. king", "#ada", "people/ada.md", "memory/people/ada.md"]
)
def test_every_name_of_a_note_finds_the_same(memory: Memory, name: str) -> None:
    found = memory.related(name)
    assert found.name == "ada"
    assert set(found.aliases) == {"Ada Lovelace", "Countess", "A. King"}
    assert found.notes == ("memory/people/ada.md",)
    assert cited(found) == [
        "memory/2026-02-01.md#L1", "memory/projects/roof-repair.md#L3", "memory/2026-01-05.md#L3", "memory/2026-01-05.md#L5",
    ]  # fmt: skip
    assert (found.count, found.first, found.last, found.days) == (4, "2026-01-05", "2026-02-01", 2)
    beside = {each.name: each.count for each in found.beside}
    assert beside == {"Harlan": 2, "Roof repair": 1, "Mrs O'Brien": 1, "Plan B": 1, "roof": 1}


def test_the_long_term_memory_is_no_name_without_a_note(tmp_path: Path) -> None:
    write(tmp_path / "ws", {"MEMORY.md": "# Facts\n\nA tent.\n", "memory/2026-02-01.md": "See [[MEMORY]].\n"})
    with memory_core.open_memory(configure(), workspace=tmp_path / "ws", state_dir=tmp_path / "state") as memory:
        assert [(each.name, each.kind) for each in memory.related().names] == [("MEMORY", "note")]


def test_a_name_without_a_note_is_found_by_its_links_and_mentions(memory: Memory) -> None:
    found = memory.related("mrs o’brien")
    assert (found.name, found.notes, cited(found)) == ("Mrs O'Brien", (), ["MEMORY.md#L3"])
    found = memory.related("Harlan")
    assert cited(found) == ["memory/2026-02-01.md#L1", "memory/people/ada.md#L7"]
    found = memory.related("plan b")
    assert cited(found) == ["memory/projects/roof-repair.md#L3"]  # its link is written as plan%20b


def test_a_name_that_is_a_common_word_needs_its_capital(memory: Memory) -> None:
    assert cited(memory.related("will")) == ["memory/2026-02-01.md#L2", "MEMORY.md#L4"]


def test_names_in_scripts_without_spaces(memory: Memory) -> None:
    assert cited(memory.related("横浜")) == ["memory/2026-03-01.md#L1", "memory/2026-03-01.md#L2"]


def test_a_name_that_no_note_holds_brings_near_ones(memory: Memory) -> None:
    found = memory.related("Harlen")
    assert (found.name, found.count, found.names[0].name) == ("Harlen", 0, "Harlan")
    for hostile in (
        '"',
        "NEAR(a b)",
        "a* OR b",
        ".*",
        "[[",
        "'; DROP TABLE files; --",
        "%",
        "\x00a",
        "\ud800x",
        "a" * 200,
    ):
        try:
            assert not memory.related(hostile).notes
        except InvalidArgument as error:
            assert "holds no word" in str(error)  # noqa: PT017  # some do


def test_a_search_is_restricted_to_a_name(memory: Memory) -> None:
    def find(query: str, **more: Any) -> str:
        result = memory.call_tool("memory_search", {"query": query, "minScore": 0, **more})
        assert "error" not in result, result
        return "\n".join(hit["snippet"] for hit in result["results"])

    assert "Adam" in find("who called or paid")
    found = find("who called or paid", about="Ada Lovelace")
    assert "The countess paid." in found
    assert "Adam" not in found
    assert "She]] met" not in find("who called or paid", about="A. King", before="2026-01-31")
    assert find("landlord phone", about="Harlan", after="2026-02-02") == ""
    assert find("landlord phone", about="landlord") == "# Facts\n\n- The landlord is [[Mrs O'Brien]], phone 555-0172."
    assert find("tent", about="Plan B") == "# Plan B\n\nA tent."  # its own note
    result = memory.call_tool("memory_search", {"query": "who paid", "about": "Zoe"})
    assert result["results"] == []
    assert "mentions 'Zoe'" in result["warning"]
    assert "memory-core related" in result["action"]
    assert memory.call_tool("memory_search", {"query": "x", "about": "!!"})["code"] == "invalid_argument"


def test_a_title_and_the_line_as_it_is_written(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "memory/anna-müller.md": "---\ntitle: Doctor of roses\ntags: [2026, garden]\n---\n# Anna Müller\n",
            "memory/2026-01-01.md": "- Mu\u0308ller; `[[Anna Müller]]`, but anna mu\u0308ller <!-- aside --> said so.\n",
        },
    )
    with memory_core.open_memory(configure(), workspace=tmp_path, state_dir=tmp_path / "state") as memory:
        found = memory.related("doctor of roses")
        assert (found.name, found.aliases) == ("Anna Müller", ("Doctor of roses",))
        assert [place.text for place in found.mentions] == [
            "- Mu\u0308ller; `[[Anna Müller]]`, but anna mu\u0308ller <!-- aside --> said so."
        ]
        assert {each.name for each in memory.related().names} == {"Anna Müller", "garden"}


def test_two_things_are_never_one(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "memory/a.md": "---\naliases: [b, shared]\n---\nOf [[a]].\n",
            "memory/b.md": "---\naliases: [c, shared]\n---\nOf [[b]].\n",
            "memory/c.md": "---\naliases: [a]\n---\nOf [[c]].\n",
            "memory/x/notes.md": "# Notes\n\nOne.\n",
            "memory/y/notes.md": "# Notes\n\nTwo.\n",
            "memory/2026-01-01.md": "[[shared]] and [[x/notes]] and [[notes]].\n",
        },
    )
    with memory_core.open_memory(configure(), workspace=tmp_path, state_dir=tmp_path / "state") as memory:
        for name in "abc":
            assert memory.related(name).notes == (f"memory/{name}.md",)
            assert memory.related(name).aliases == ()
        assert memory.related("shared").notes == ("memory/a.md", "memory/b.md")
        assert memory.related("notes").notes == ("memory/x/notes.md", "memory/y/notes.md")
        assert memory.related("y/notes").notes == ("memory/y/notes.md",)


def test_the_entities_of_the_sample_that_a_reader_would_name(tmp_path: Path) -> None:
    with memory_core.open_memory(configure(), workspace=SAMPLE, state_dir=tmp_path) as memory:
        memory.sync()  # in a busy machine's own time: a call waits for a moment only
        listed = [{each.name, *each.aliases} for each in memory.related(max_results=15).names]
        folded = [{name.lower() for name in names} for names in listed]
        places = []
        for names in JUDGED["entities"]:
            wanted = {name.lower() for name in names}
            holding = [number for number, each in enumerate(folded) if each & wanted]
            assert len(holding) == 1, (names, listed)
            assert wanted <= folded[holding[0]], (names, listed)
            places.append(holding[0])
            answers = [memory.related(name) for name in names]
            assert all(answer.count and answer == answers[0] for answer in answers)
        assert len({*places}) == len(places)  # no false merge
        for one, other in JUDGED["apart"]:
            assert not any({one.lower(), other.lower()} <= each for each in folded)


def test_agents_are_offered_it_only_where_it_is_on(tmp_path: Path) -> None:
    write(tmp_path / "ws", NOTES)
    for on in (False, True):
        document = configure(query={"related": on})
        with memory_core.open_memory(document, workspace=tmp_path / "ws", state_dir=tmp_path / "state") as memory:
            assert ("memory_related" in {tool["name"] for tool in memory.tool_schemas()}) is on
            assert ("memory_related" in {tool["name"] for tool in memory.tool_schemas("ro")}) is on
            result = memory.call_tool("memory_related", {"name": "Harlan", "maxResults": 1})
            if on:
                assert result["backlinks"] == [
                    {
                        "path": "memory/2026-02-01.md", "line": 1, "date": "2026-02-01",
                        "text": "- [[ADA|She]] met [[Harlan]]; nothing else.", "citation": "memory/2026-02-01.md#L1",
                    }
                ]  # fmt: skip
                assert memory.call_tool("memory_related", {})["names"]
            else:
                assert "memorySearch.query.related" in result["error"]


def test_memory_that_is_off_or_denied_tells_nothing(tmp_path: Path) -> None:
    write(tmp_path / "ws", NOTES)
    off = {"memorySearch": {"provider": "none", "enabled": False, "query": {"related": True}}}
    with memory_core.open_memory(off, workspace=tmp_path / "ws", state_dir=tmp_path / "state") as memory:
        assert memory.call_tool("memory_related", {"name": "Ada"})["disabled"]
        with pytest.raises(MemoryOff):
            memory.related("Ada")
    denying = {"memory": {"scope": {"default": "deny"}}, **configure(query={"related": True})}
    slot = MemorySlot(denying, workspace=tmp_path / "ws", state_dir=tmp_path / "state")
    chat = CallContext(agent="main", session_key="agent:main:telegram:group:1")
    assert slot.call_tool("memory_related", {"name": "Ada"}, chat)["denied"]
    assert slot.call_tool("memory_search", {"query": "Ada", "about": "Ada"}, chat)["denied"]
    slot.close()


def test_a_session_that_may_not_write(tmp_path: Path) -> None:
    write(tmp_path / "ws", NOTES)
    slot = MemorySlot(configure(query={"related": True}), workspace=tmp_path / "ws", state_dir=tmp_path / "state")
    reading = CallContext(agent="main", access="ro")
    told = slot.call_tool("memory_related", {"name": "Ada"}, reading)
    assert told["unavailable"]
    slot.call_tool("memory_search", {"query": "Ada"}, CallContext(agent="main"))
    assert slot.call_tool("memory_related", {"name": "Ada"}, reading)["count"] == 4
    slot.close()


def test_an_empty_memory_says_so(tmp_path: Path) -> None:
    (tmp_path / "ws").mkdir()
    with memory_core.open_memory(configure(), workspace=tmp_path / "ws", state_dir=tmp_path / "state") as memory:
        assert "No memories indexed yet" in (memory.related("Ada").warning or "")


def test_extra_paths_and_the_past(tmp_path: Path) -> None:
    write(tmp_path / "ws", NOTES)
    write(tmp_path / "vault", {"team/zoe.md": "---\naliases: [Zoë B]\n---\n# Zoe\n\nKnows [[Ada]].\n"})
    document = configure(extraPaths=[str(tmp_path / "vault")])
    with memory_core.open_memory(document, workspace=tmp_path / "ws", state_dir=tmp_path / "state") as memory:
        assert memory.related("Zoë B").notes[0].endswith("team/zoe.md")
        assert [each.name for each in memory.related("zoe").beside] == ["ada"]
        memory.sync()
        before = datetime.now().astimezone().isoformat()
        (tmp_path / "ws/memory/people/ada.md").write_text("# Nobody\n")
        memory.sync()
        asked = {"query": "who paid", "about": "countess", "minScore": 0}
        told = memory.call_tool("memory_search", asked)
        assert [hit["snippet"] for hit in told["results"]] == ["- The countess paid."]  # as any word
        past = memory.call_tool("memory_search", {**asked, "query": "slates", "asOf": before})
        assert "Ada ordered slates" in past["results"][0]["snippet"]  # she was the countess then


def test_a_front_matter_that_fills_several_chunks(tmp_path: Path) -> None:
    names = ", ".join(f"Alias Number {number} of many" for number in range(60))
    write(
        tmp_path,
        {
            "memory/long.md": f"---\nnote: {'x ' * 3000}\naliases: [{names}]\n---\nText.\n",
            "MEMORY.md": "Alias Number 59 of many.\n",
        },
    )
    with memory_core.open_memory(configure(), workspace=tmp_path, state_dir=tmp_path / "state") as memory:
        assert memory.related("long").count == 1
        assert len(memory.related("alias number 7 of many").aliases) == 60


def test_aliases_on_a_line_that_is_longer_than_a_chunk(tmp_path: Path) -> None:
    names = ", ".join(f"A thing of the number {number} of very very many" for number in range(50))
    write(
        tmp_path,
        {
            "memory/wood.md": f"---\nnote: {'x ' * 900}\naliases: [{names}, Zebrano]\n---\n# Wood\n",
            "MEMORY.md": "Met Zebrano.\n",
        },
    )
    with memory_core.open_memory(configure(), workspace=tmp_path, state_dir=tmp_path / "state") as memory:
        found = memory.related("Zebrano")
        assert (found.notes, found.count) == (("memory/wood.md",), 1)


def test_a_line_of_a_megabyte_and_thousands_of_links(tmp_path: Path) -> None:
    many = " ".join(f"[[Name {number % 3000}]]" for number in range(40_000))
    write(tmp_path, {"memory/2026-01-01.md": many + "\n", "memory/2026-01-02.md": "[[" * 300_000 + "\n- [[Name 7]]\n"})
    with memory_core.open_memory(configure(), workspace=tmp_path, state_dir=tmp_path / "state") as memory:
        memory.sync()
        found = memory.related("name 7", max_results=100)
        assert cited(found) == ["memory/2026-01-02.md#L2", "memory/2026-01-01.md#L1"]
        assert len(found.beside) == 100
        assert max(len(place.text) for place in found.backlinks) <= 200
        assert memory.related("nam 2999").names[0].name == "Name 2999"


def test_the_command(tmp_path: Path) -> None:
    write(tmp_path / "ws", NOTES)
    command = Command(tmp_path / "ws", tmp_path / "state")
    lines = command("related", "a.", "king").out.splitlines()
    assert lines[0] == "ada (Ada Lovelace, Countess, A. King): 4 places, 2026-01-05 to 2026-02-01, in notes of 2 days."
    assert "Its note: memory/people/ada.md" in lines
    assert "  memory/2026-02-01.md#L1  - [[ADA|She]] met [[Harlan]]; nothing else." in lines
    assert command("related", "--json", "Harlan").json["count"] == 2
    assert "    4  ada (Ada Lovelace, Countess, A. King)" in command("related").out.splitlines()
    unknown = command("related", "Harlen")
    assert (unknown.code, unknown.out.splitlines()[0]) == (0, "No note mentions 'Harlen'.")
    assert command("related", "?!").code == 2
    assert "The countess paid." in command("search", "who paid", "--about", "a. king", "--min-score", "0").out
    assert "landlord" not in command("search", "who paid", "--about", "a. king", "--min-score", "0").out


def test_another_backend_refuses_by_name(tmp_path: Path) -> None:
    write(tmp_path / "ws", NOTES)
    document = {"memory": {"backend": "qmd"}, **configure(query={"related": True})}
    with memory_core.open_memory(document, workspace=tmp_path / "ws", state_dir=tmp_path / "state") as memory:
        with pytest.raises(InvalidArgument, match="'qmd' cannot tell"):
            memory.related("Ada")
        told = memory.call_tool("memory_search", {"query": "Ada", "about": "Ada"})
        assert "the backend 'qmd' cannot tell what is related to a name" in told["error"]


def test_links_by_a_label_count(memory: Memory) -> None:
    note = "# Walls\n\nAs [she][1] says.\n\n" + "- filler about walls and mortar\n" * 200 + "\n[1]: people/ada.md\n"
    write(memory.config().workspace, {"memory/walls.md": note})
    memory.sync()
    assert "memory/walls.md#L3" in [f"{each.path}#L{each.line}" for each in memory.related("ada").backlinks]


@pytest.mark.parametrize("name", ["", " "])
def test_an_empty_name_is_refused(tmp_path: Path, name: str) -> None:
    write(tmp_path / "ws", NOTES)
    done = Command(tmp_path / "ws", tmp_path / "state")("related", name)
    assert done.code == 2
    assert "NAME: is empty" in done.err


@pytest.mark.parametrize("command", [("activity",), ("related",), ("history",)])
def test_a_file_is_no_workspace(tmp_path: Path, command: tuple[str, ...]) -> None:
    (tmp_path / "note.md").write_text("- one\n")
    done = Command(tmp_path / "note.md", tmp_path / "state")(*command)
    assert done.code == 2
    assert "this is a file, and a workspace is a folder" in done.err


def open_notes(folder: Path, notes: Mapping[str, str]) -> Memory:
    write(folder / "ws", notes)
    return memory_core.open_memory(configure(), workspace=folder / "ws", state_dir=folder / "state")


def test_what_programs_write_is_no_name(tmp_path: Path) -> None:
    uuid = "3f0e0d0c-1234-4abc-8def-0123456789ab"
    talk = (
        "user: where is the kite?\nassistant: [[reply_to_current]] Ask Wilma Olsen.\n[[reply_to: 77]] [[audio_as_voice]]\n"
        f'<<<EXTERNAL_UNTRUSTED_CONTENT id="a1">>>\nSo said Wilma Olsen <b>TOTAL_COUNT</b> of {uuid}, om_19108d0c8d81f57.\n'
        f'<<<END_EXTERNAL_UNTRUSTED_CONTENT id="a1">>>\n[[{uuid}]] [[202603041205]] #abc1234d http://x.test/Thing-9 `RUN_ID`\n'
    )  # fmt: skip
    notes = {f"memory/2026-04-0{day}.md": f"# Day {day}\n\n{talk}" for day in range(1, 6)}
    hosts = dict.fromkeys(
        ("USER.md", "memory/AGENTS.md", "memory/TOOLS.md"), "# The user's tools\n\nA user, an agent.\n"
    )
    others = {f"memory/{uuid}.md": "A kite.\n", "memory/Kite.md": "Red.\n"}
    with open_notes(tmp_path, {**notes, **hosts, **others}) as memory:
        assert {each.name for each in memory.related(max_results=100).names} == {"Kite", "Wilma Olsen"}


def test_a_tag_an_alias_and_a_folder_belong_to_all_of_a_note(tmp_path: Path) -> None:
    text = "\n\n# Kiln\n\nThe door was welded in May.\n\n## Firing\n\nThe glaze of Olsen needs cone six.\n"
    notes = {
        "memory/a.md": f"---\ntags:\n  - craft/pottery\naliases: [The Oven]\n---{text}",
        "memory/b.md": "---\ntags: [Pottery]\n---\n\nClay is ordered each August.\n",
        "memory/garden/beds.md": "The door of the frame was welded in June.\n",
        "memory/c.md": "---\ntags: [potteryware]\n---\n\nThe door was welded in July.\n",
        "memory/d.md": "tags:: Gefäße, Töpferhof\nalias:: Große Öfen\n\nThe grate was cast in March.\n",
    }
    with open_notes(tmp_path, notes) as memory:

        def find(query: str, about: str) -> str:
            found = memory.call_tool("memory_search", {"query": query, "about": about, "minScore": 0})
            return " ".join(hit["snippet"] for hit in found["results"])

        for about in ("craft", "#craft", "craft/pottery", "pottery", "The Oven"):
            assert "in May" in find("when was the door welded", about)
            assert "cone six" in find("which cone needs the glaze", about)
            assert "June" not in find("when was the door welded", about)
        for about in ("Töpferhof", "toepferhof", "gefaesse", "Grosse Oefen"):
            assert "March" in find("when was the grate cast", about)
        assert "August" in find("when is clay ordered", "pottery")
        assert "July" not in find("when was the door welded", "pottery")
        assert "June" in find("when was the door welded", "garden")
        assert "May" not in find("when was the door welded", "garden")


def test_a_line_of_tags_alone_tags_the_whole_note(tmp_path: Path) -> None:
    notes = {
        "memory/kiln.md": "#pottery, #oven\n\nThe shelf was glued in May.\n",
        "memory/wheel.md": "# Wheel\ntags:: #pottery/wheel\n\n## Belt\n\nThe belt was bought in June.\n",
        "memory/shop.md": "We sell #pottery here.\n\nThe door was painted in July.\n",
    }
    with open_notes(tmp_path, notes) as memory:
        asked = {"query": "what was glued, bought or painted", "about": "pottery", "minScore": 0}
        shown = " ".join(hit["snippet"] for hit in memory.call_tool("memory_search", asked)["results"])
        assert ("May" in shown, "June" in shown, "July" in shown) == (True, True, False)
        assert memory.related("pottery").count == 3  # each line once
