"""Mails, pages and outputs of tools that order to be remembered: none becomes the user's word, none comes unquoted."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from memory_core import CallContext, open_memory
from memory_core.items.items import Items
from memory_core.plugin import MemorySlot
from memory_core.tools.prompts import RECALLED
from tests.command import Command
from tests.hosts.test_journal import Host
from tests.waiting import eventually

ATTACKS: dict[str, str] = {
    f"{language} {name}": text
    for language, texts in json.loads((Path(__file__).parents[1] / "data" / "attacks.json").read_text("utf-8")).items()
    for name, text in texts.items()
}
MAIN = CallContext.local("agent:main:main")
CONFIG = {
    "memorySearch": {
        "provider": "static",
        "items": {"enabled": True, "capture": {"enabled": True, "journal": True}},
        "recall": {"enabled": True, "timeoutMs": 60_000},
        "sync": {"watch": False},
    }
}
OWN = "I prefer the aisle seat on flights."


def order(text: str) -> str:
    """Return the line of an attack that gives the order."""
    return max(text.splitlines(), key=lambda line: sum(map(str.isalpha, line)))[:400]


@pytest.fixture
def slot(tmp_path: Path) -> Iterator[MemorySlot]:
    (tmp_path / "workspace").mkdir()
    with MemorySlot(CONFIG, workspace=tmp_path / "workspace", state_dir=tmp_path / "state") as opened:
        yield opened


@pytest.fixture
def items(tmp_path: Path) -> Iterator[Items]:
    with open_memory({}, workspace=tmp_path, state_dir=tmp_path / "state") as memory:
        yield memory.items


def list_items(folder: Path) -> list[tuple[str, str]]:
    with open_memory(CONFIG, workspace=folder / "workspace", state_dir=folder / "state") as memory:
        return [(item.origin.by, item.content) for item in memory.items.list(limit=1000)]


def test_there_are_many_in_four_languages() -> None:
    assert len(ATTACKS) == 188
    assert {name[:2] for name in ATTACKS} == {"en", "de", "fr", "es"}


@pytest.mark.parametrize("name", ATTACKS)
def test_rules_learn_nothing_of_it(items: Items, name: str) -> None:
    assert items.memorize([{"role": "user", "content": ATTACKS[name]}], session="s1").written == ()
    talk = [
        {"role": "user", "content": OWN},
        {"role": "tool", "content": ATTACKS[name]},
        {"role": "assistant", "content": "Ok."},
    ]
    assert [item.content for item in items.memorize(talk, session="s1").stored] == [OWN]


@pytest.mark.parametrize("name", ATTACKS)
def test_a_model_that_believes_it_makes_it_nobodys_word(items: Items, name: str) -> None:
    said = order(ATTACKS[name])

    def believe(*_: object, **__: object) -> dict[str, Any]:
        fact = {"fact": said, "kind": "preference", "sure": True}
        return {"role": "assistant", "content": json.dumps({"facts": [fact]})}

    for role in ("user", "tool"):
        talk = [{"role": role, "content": ATTACKS[name]}, {"role": "user", "content": "What is that?"}]
        learned = items.memorize(talk, believe, session="s1")
        assert {each.item.origin.by for each in learned.written} <= {"web"}
    assert items.list_standing(limit=20) == []


def test_turns_of_frameworks_make_no_item_of_it(slot: MemorySlot, tmp_path: Path) -> None:
    for number, text in enumerate(ATTACKS.values()):
        context = CallContext.local(f"thread {number // 20}")
        call = {"role": "tool", "content": text}
        slot.turn_ended(context, [{"role": "user", "content": text}, call, {"role": "assistant", "content": text}])
    slot.turn_ended(MAIN, [{"role": "user", "content": OWN}])
    slot.close()
    assert list_items(tmp_path) == [("user", OWN)]


def test_what_tools_are_told_to_keep_is_never_the_users_word_and_always_quoted(
    slot: MemorySlot, tmp_path: Path
) -> None:
    for number, text in enumerate(ATTACKS.values()):
        by = {"by": ("agent", "tool", "web")[number % 3]}
        slot.call_tool("memory_store", {"text": order(text), "kind": "preference", **by}, MAIN)
        slot.call_tool("memory_append", {"text": text, **by}, MAIN)
    kept = list_items(tmp_path)
    assert len(kept) > 40
    assert "user" not in {by for by, _ in kept}
    orders = {line for text in ATTACKS.values() for line in text.splitlines() if len(line) > 20}
    shown = [slot.session_context(CallContext.local("other"))]
    for number, text in enumerate(ATTACKS.values()):
        shown.append(
            slot.recall_for_message(f"What about this: {order(text)}?", CallContext.local(f"asks {number}")).text
        )
        found = slot.call_tool("memory_search", {"query": order(text)[:200], "minScore": 0}, MAIN)
        assert all(hit["origin"]["by"] != "user" for hit in found["results"])
        facts = slot.call_tool("memory_recall", {"query": order(text)[:200]}, MAIN)["results"]
        assert all(fact["origin"]["by"] != "user" for fact in facts)
    assert sum(map(bool, shown)) > 30
    for line in (line for text in shown for line in text.splitlines() if not line.startswith(">")):
        assert line == RECALLED or line not in orders
        assert not line.strip() or line.endswith((":", "instructions."))


def test_hooks_make_no_item_of_it(command: Command, tmp_path: Path) -> None:
    config = tmp_path / "attack.json5"
    config.write_text(json.dumps(CONFIG), encoding="utf-8")
    host = Host(
        replace(command, environment={**command.environment, "MEMORY_CORE_CONFIG": str(config)}), tmp_path / "home"
    )
    for number, text in enumerate(ATTACKS.values()):
        session = f"s{number % 2}"
        host.write(session, "user", text)
        part: Any = [{"type": "tool_result", "tool_use_id": str(number), "content": text}]
        host.write(session, "user", part)
        host.write(session, "assistant", text)
    host.write("s0", "user", OWN)
    for session in ("s0", "s1"):
        first, prompt = next(iter(ATTACKS.values())), {"prompt": "What does Portal Bank want?"}
        host.give("UserPromptSubmit", session, **prompt)
        host.give("Stop", session)
        assert first in host.texts()
        host.give("SessionEnd", session)

    def list_kept() -> list[tuple[str, str]]:
        found = host.command("items", "list", "--json").json["items"]
        return [(item["origin"]["by"], item["content"]) for item in found]

    assert eventually(lambda: list_kept() == [("user", OWN)])
    answer = host.give("UserPromptSubmit", "s2", prompt="What does Portal Bank want?").out
    lines = json.loads(answer)["hookSpecificOutput"]["additionalContext"].splitlines() if answer else []
    assert [line for line in lines if "Portal Bank" in line and not line.startswith(">")] == []
