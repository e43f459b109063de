"""All that a host does with the memory slot, in as few lines as it takes."""

from memory_core import CallContext
from memory_core.plugin import MemorySlot

config = {
    "plugins": {"slots": {"memory": "memory-core"}},
    "agents": {"defaults": {"workspace": "tests/data/sample"}},
}
session = CallContext(agent="main", session_key="agent:main:telegram:direct:7", chat_type="direct", channel="telegram")

with MemorySlot(lambda: config) as slot:  # also takes a file or a mapping; all are looked at again at every call
    tools = slot.tool_schemas(session, form="openai")  # for the model; "anthropic" and "mcp" are other forms
    system_prompt = slot.system_text(session)

    # The model asks for a tool by its name; what comes back is JSON, whatever went wrong.
    found = slot.call_tool("memory_search", {"query": "Which retired teacher takes the puppy?"}, session)
    best = found["results"][0]
    note = slot.call_tool("memory_get", {"path": best["path"], "from": best["startLine"], "lines": 9}, session)

    config["plugins"]["slots"]["memory"] = "none"  # an operator turns memory off while the host runs
    refused = slot.call_tool("memory_search", {"query": "Which retired teacher takes the puppy?"}, session)

assert [tool["function"]["name"] for tool in tools] == ["memory_search", "memory_get", "memory_append"]
assert "call memory_search" in system_prompt
assert best["citation"].startswith("memory/2026-01-10.md#L")
assert "the retired teacher from 2B takes the puppy" in note["text"]
assert refused["disabled"]
