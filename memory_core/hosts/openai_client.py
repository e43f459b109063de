"""Ask the model of a flush turn through a client of OpenAI's Python package, or through one that looks like it."""

from __future__ import annotations

from typing import Any

from memory_core.completions import Complete, Message
from memory_core.hosts.messages.chat import write_assistant, write_call


def make_complete(client: Any, model: str) -> Complete:
    """Return a function that asks a model once, for `MemorySlot.compact`.

    Args:
        client: An `openai.OpenAI`.
        model: The model's id at its endpoint.
    """

    def complete(
        messages: list[Message], tools: list[dict[str, Any]], *, max_tokens: int, timeout_seconds: float
    ) -> Message:
        answer = client.chat.completions.create(
            model=model, messages=messages, tools=tools, max_completion_tokens=max_tokens, timeout=timeout_seconds
        )
        return read_completion(answer)

    return complete


def read_completion(answer: Any) -> Message:
    """Return the message of a `ChatCompletion` in OpenAI's form."""
    said = answer.choices[0].message
    calls = [write_call(call.id, call.function.name, call.function.arguments) for call in said.tool_calls or ()]
    return write_assistant(said.content or "", calls)
