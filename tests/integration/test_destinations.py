"""Where a fact goes: into the person's layer, the project's notes, or the private folder of a repository that others get."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest

from memory_core.config.load import ConfigSource
from memory_core.config.projects import find_private_folder
from memory_core.errors import ConfigError
from memory_core.plugin.memory import Memory
from memory_core.plugin.slot import MemorySlot
from memory_core.records import CallContext
from tests.integration.test_project_folders import make_repository
from tests.machines import git

GROUP = CallContext(session_key="agent:main:telegram:group:7", chat_type="group", channel="telegram")
SETTINGS: dict[str, Any] = {
    "memorySearch": {
        "provider": "static",
        "items": {"enabled": True, "capture": {"enabled": True}},
        "recall": {"enabled": True, "timeoutMs": 60_000},
    }
}
Open = Callable[[Path], Memory]


@pytest.fixture
def open_in(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Open]:
    """Opens the memory of a session in a folder; all have one state folder."""
    with ExitStack() as stack:

        def enter(folder: Path) -> Memory:
            monkeypatch.chdir(folder)
            source = ConfigSource(SETTINGS, state_dir=home / "state")
            source.folder = folder
            return stack.enter_context(Memory(source))

        yield enter


def append(memory: Memory, text: str, target: str | None = None, context: CallContext | None = None) -> dict[str, Any]:
    given = {"text": text} | ({"target": target} if target else {})
    done: dict[str, Any] = memory.call_tool("memory_append", given, context)
    return done


def find(memory: Memory, query: str) -> list[str]:
    return [hit["path"] for hit in memory.call_tool("memory_search", {"query": query, "minScore": 0.5})["results"]]


def make_project(folder: Path, *, remote: bool = False, ignored: bool = False, told: str = "") -> Path:
    """A repository with notes, and perhaps a remote and a file of its own."""
    make_repository(folder, *(["memory/", "MEMORY.md"] if ignored else []))
    (folder / "MEMORY.md").write_text("- The shop sells lamps.\n")
    if remote:
        git(folder, "remote", "add", "origin", "https://git.example.org/shop.git")
    if told:
        (folder / ".memory-core.toml").write_text(f"\ufeff[memory]\n{told}\n", encoding="utf-8")  # as Notepad saves it
    return folder


def test_what_holds_everywhere_goes_to_the_person(home: Path, open_in: Open) -> None:
    shop, other = open_in(make_project(home / "shop")), open_in(make_repository(home / "other"))
    assert not (home / ".memory-core").exists()
    done = append(shop, "- Commit messages are in English.", "person")
    assert (done["path"], done["status"]) == ("person:MEMORY.md", "appended")
    assert "English" in (home / ".memory-core" / "person" / "MEMORY.md").read_text()
    assert find(other, "language of commit messages") == ["person:MEMORY.md"]
    assert "denied" in append(shop, "- More.", "person", GROUP)


@pytest.mark.parametrize(
    ("facts", "written"),
    [
        ({}, True),
        ({"remote": True}, False),
        ({"remote": True, "ignored": True}, True),
        ({"remote": True, "told": "write = true"}, True),
        ({"told": "write = false"}, False),
    ],
)
def test_notes_that_others_get_are_written_only_if_the_project_says_so(
    home: Path, open_in: Open, facts: dict[str, Any], written: bool
) -> None:
    shop = make_project(home / "shop", **facts)
    memory = open_in(shop)
    before = sorted(shop.rglob("*.md"))
    day, fact = (
        append(memory, "The lamp supplier is Nordlicht."),
        append(memory, "- Lamps ship on Fridays.", "longterm"),
    )
    assert day["path"].startswith("memory/") is written
    assert (fact["path"] == "MEMORY.md") is written
    private = find_private_folder(shop, {"HOME": str(home)})
    assert private.exists() is not written
    if not written:
        assert day["path"].startswith("local:memory/")
        assert sorted(shop.rglob("*.md")) == before
        assert (shop / "MEMORY.md").read_text() == "- The shop sells lamps.\n"
    assert find(memory, "who is the lamp supplier")[0] == day["path"]
    assert find(memory, "what does the shop sell")[0] == "MEMORY.md"


def test_a_repository_without_notes_has_a_private_folder_from_its_first_fact_on(home: Path, open_in: Open) -> None:
    shop = make_repository(home / "shop")
    git(shop, "worktree", "add", "-q", "../fox", "-b", "fox")
    memory, fox = open_in(shop), open_in(home / "fox")
    assert memory.session_context() == ""
    assert not (home / ".memory-core").exists()
    assert append(fox, "- The lamp supplier is Nordlicht.", "longterm")["path"] == "local:MEMORY.md"
    assert find(memory, "who is the lamp supplier") == ["local:MEMORY.md"]
    assert "Nordlicht" in memory.session_context()
    assert sorted(shop.rglob("*.md")) == []


def test_a_workspace_that_was_named_is_written_as_ever(home: Path) -> None:
    shop = make_project(home / "shop", remote=True)
    with Memory(ConfigSource(SETTINGS, workspace=shop, state_dir=home / "state")) as memory:
        assert append(memory, "- Lamps ship on Fridays.", "longterm")["path"] == "MEMORY.md"
        assert "goes with projects" in append(memory, "- I like lamps.", "person")["error"]
        assert memory.items.path.name == "main.items.sqlite"


def test_preferences_are_the_persons_and_other_facts_the_projects(home: Path, open_in: Open) -> None:
    shop, other = open_in(make_project(home / "shop")), open_in(make_project(home / "other"))
    said = "I prefer tabs over spaces in code. We decided to host the shop on Hetzner."
    shop.items.memorize([{"role": "user", "content": said}], session="s")
    kinds = {item.content: item.kind for item in shop.items.list()}
    assert set(kinds.values()) == {"preference", "decision"}
    (preference,) = [item for item in other.items.list() if item.kind == "preference"]
    assert "tabs" in preference.content
    assert [item.kind for item in other.items.list()] == ["preference"]
    assert "tabs" in other.recall_for_message("Do I prefer tabs or spaces in code?").text
    assert "Hetzner" not in other.recall_for_message("Where did we decide to host the shop?").text
    assert "Hetzner" in shop.recall_for_message("Where did we decide to host the shop?").text
    assert len(shop.items.forget(ids=[preference.id]).items) == 1
    assert not other.items.list()


@pytest.mark.parametrize(
    "said",
    [
        "I prefer tabs over spaces in this repository.",
        "never use type annotations in this repo",
        "Never use tabs here.",
        "We never deploy on Fridays",
        "We always squash before merging",
        "Verwende in diesem Repo nie Semikolons.",
        "Benutze hier nie Tabs.",
        "Freitags deployen wir nie.",
        "On ne déploie jamais le vendredi.",
        "Ici, n'utilise jamais de tabulations.",
        "Nunca desplegamos los viernes.",
        "Aquí nunca uses tabuladores.",
    ],
)
def test_a_rule_of_this_place_or_of_a_we_is_the_projects(home: Path, open_in: Open, said: str) -> None:
    shop, other = open_in(make_project(home / "shop")), open_in(make_project(home / "other"))
    shop.items.memorize([{"role": "user", "content": said}], session="s")
    assert [item.kind for item in shop.items.list()] == ["preference"]
    assert shop.items.list()[0].content in shop.session_context()
    assert not other.items.list()


@pytest.mark.parametrize(
    "said",
    [
        "Never use tabs.",
        "Call me Kit.",
        "On weekends I never take calls.",
        "Ich mag keinen Kaffee.",
        "We never wear shoes at home.",
        "Nunca me llames de noche.",
        "We don't eat pork.",
        "We prefer window seats",
        "Wir essen kein Fleisch",
        "On ne mange jamais de porc",
        "No comemos carne",
    ],
)
def test_a_rule_that_names_no_place_is_the_persons(home: Path, open_in: Open, said: str) -> None:
    shop, other = open_in(make_project(home / "shop")), open_in(make_project(home / "other"))
    shop.items.memorize([{"role": "user", "content": said}], session="s")
    assert [item.kind for item in other.items.list()] == ["preference"]


def test_a_private_project_gives_away_nothing_without_review(home: Path, open_in: Open) -> None:
    from memory_core.plugin.reviewing import Review

    secret, other = open_in(make_project(home / "secret", told="private = true")), open_in(make_project(home / "other"))
    secret.items.memorize([{"role": "user", "content": "I prefer the codename Heron for the merger."}], session="s")
    assert append(secret, "I call the merger Heron.", "person")["status"] == "proposed"
    assert not other.items.list()
    assert not (home / ".memory-core" / "person" / "MEMORY.md").exists()

    with closing(Review(secret.config(), secret.items, secret.sync)) as review:
        proposed = [each for each in review.find() if each.kind == "personal"]
        assert [(each.text, each.why[:3]) for each in proposed] == [
            ("I prefer the codename Heron for the merger.", "You"),
            ("I call the merger Heron.", "A p"),
        ]
        assert "agent" in proposed[1].why
        review.reject([each.id for each in proposed])
        assert not [each for each in review.find() if each.kind == "personal"]
        secret.items.memorize([{"role": "user", "content": "I prefer dark mode in every editor."}], session="s")
        (next_one,) = [each for each in review.find() if each.kind == "personal"]
        review.accept([next_one.id])
        assert [item.content for item in other.items.list()] == ["I prefer dark mode in every editor."]
        assert not [each for each in review.find() if each.kind == "personal"]
        listed = [item.id for item in secret.items.list()]
        assert len(listed) == len({*listed}) == secret.items.count() == len([*secret.items.export()])
        assert review.undo().text == "I prefer dark mode in every editor."
        assert not other.items.list()
        assert next_one in review.find()
    assert append(secret, "Never use tabs in this repository.", "person")["status"] == "nothing new"


def test_the_journal_of_a_private_project_is_its_own(home: Path, open_in: Open) -> None:
    secret, other = open_in(make_project(home / "secret", told="private = true")), open_in(make_project(home / "other"))
    from memory_core.sources.journal import Journal

    assert secret.config().journal_dir.parent == other.config().journal_dir
    Journal(secret.config().journal_dir).pause(on=True)
    assert Journal(other.config().journal_dir).is_paused
    Journal(other.config().journal_dir).pause(on=False)
    assert not Journal(secret.config().journal_dir).is_paused


def test_a_project_learns_from_its_own_sessions_alone(
    home: Path, open_in: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    from memory_core.sources.journal import Journal, JournalSession
    from memory_core.sources.transcripts import Said

    capture = {"enabled": True, "journal": True}
    monkeypatch.setitem(SETTINGS, "memorySearch", {"provider": "none", "items": {"enabled": True, "capture": capture}})
    shop, other = open_in(make_project(home / "shop")), open_in(make_project(home / "other"))
    journal, session = (
        Journal(shop.config().journal_dir),
        JournalSession("claude-code", "s", str(home / "shop" / "src")),
    )
    journal.add(session, [Said("user", "We decided to host the shop on Hetzner.")])
    journal.end(session)
    other.sync()
    assert not other.items.list()
    shop.sync()
    assert ["Hetzner" in item.content for item in shop.items.list()] == [True]


def test_a_note_of_the_person_cannot_be_read_from_a_group(home: Path, open_in: Open) -> None:
    append(open_in(make_project(home / "shop")), "- I live in Mill Lane.", "person")
    with MemorySlot(ConfigSource(SETTINGS, state_dir=home / "state")) as slot:
        assert "Mill Lane" in slot.read_note("person:MEMORY.md")["text"]
        assert "error" in slot.read_note("person:MEMORY.md", GROUP)


@pytest.mark.parametrize("told", ["[memory]\nprivat = true", "[memory]\nprivate = 1", "memory = 3", "x = 1", "["])
def test_a_wrong_file_of_a_project_is_named(home: Path, open_in: Open, told: str) -> None:
    shop = make_project(home / "shop")
    (shop / ".memory-core.toml").write_text(told)
    with pytest.raises(ConfigError, match=r"memory-core\.toml"):
        open_in(shop).check()
