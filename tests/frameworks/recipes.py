"""The recipes of docs/hosts.md, run as they stand there."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from openai import OpenAI

from memory_core.hosts.messages.chat import read_texts
from memory_core.hosts.openai_client import make_complete
from memory_core.plugin import MemorySlot
from memory_core.records import CallContext
from tests.command import REPOSITORY
from tests.servers.chat import ChatServer

OLD = "The anchor lies behind the net in the old barn."
FACTS = ("- The gate code is 4711.", "- The piano tuner comes on Tuesday.")


def read_recipe(title: str) -> str:
    """The code below the paragraph that begins with a title."""
    page = (REPOSITORY / "docs" / "hosts.md").read_text(encoding="utf-8")
    found = re.search(rf"^{re.escape(title)}\..*?^```py\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    assert found, title
    return found[1]


def write_old_note(notes: Path) -> None:
    """Write a note that no system prompt holds unless a message calls it to mind."""
    (notes / "memory").mkdir(exist_ok=True)
    (notes / "memory" / "2020-01-01.md").write_text(f"{OLD}\n", encoding="utf-8")


def assert_recalled(server: ChatServer, number: int) -> None:
    """The first of some requests brought the old note to the model, and no request before them did."""
    assert OLD not in json.dumps(server.requests[:number])
    assert OLD in json.dumps(server.requests[number])


def run_recipe(title: str, slot: MemorySlot, server: ChatServer, **names: Any) -> dict[str, Any]:
    """Run the code of a recipe with what it takes for granted, and return its names; all models are the scripted one."""
    client = OpenAI(base_url=server.url, api_key="placeholder")
    session = CallContext.local("thread-7")
    space: dict[str, Any] = {"slot": slot, "session": session, "chat": session, "OpenAI": lambda: client}
    space |= {"make_complete": make_complete, "read_texts": read_texts, "complete": make_complete(client, "rules")}
    space |= names
    exec(compile(read_recipe(title), title, "exec"), space)
    return space
