"""The recipes of docs/frameworks.md, run as they stand there."""

from __future__ import annotations

import re
from typing import Any

from openai import OpenAI

from memory_core.hosts.messages.chat import read_texts
from memory_core.hosts.openai_client import make_complete
from memory_core.plugin import MemorySlot
from memory_core.records import CallContext
from tests.command import REPOSITORY
from tests.servers.chat import ChatServer


def read_recipe(title: str) -> str:
    """The code below the paragraph that begins with a title."""
    page = (REPOSITORY / "docs" / "frameworks.md").read_text(encoding="utf-8")
    found = re.search(rf"^{re.escape(title)}\..*?^```py\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    assert found, title
    return found[1]


def run_recipe(title: str, slot: MemorySlot, server: ChatServer, **names: Any) -> dict[str, Any]:
    """Run the code of a recipe with what it takes for granted, and return its names; all models are the scripted one."""
    client = OpenAI(base_url=server.url, api_key="placeholder")
    session = CallContext.local("thread-7")
    space: dict[str, Any] = {"slot": slot, "session": session, "chat": session, "OpenAI": lambda: client}
    space |= {"make_complete": make_complete, "read_texts": read_texts, "complete": make_complete(client, "rules")}
    space |= names
    exec(compile(read_recipe(title), title, "exec"), space)
    return space
