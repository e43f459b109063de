"""Chat completions in OpenAI's form: asked for within a deadline, and read as servers really send them."""

from __future__ import annotations

import contextvars
import json
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import Any, Protocol

from memory_core.markdown import estimate_tokens

Message = dict[str, Any]


class Complete(Protocol):
    """Asks the model once; what it raises fails the turn."""

    def __call__(
        self, messages: list[Message], tools: list[dict[str, Any]], *, max_tokens: int, timeout_seconds: float
    ) -> Mapping[str, Any]:
        """A chat completion in OpenAI's form, `{choices: [{message}], usage?}`, or its message alone.

        Args:
            messages: In OpenAI's form.
            tools: The same: `{type: "function", function: schema}`.
            max_tokens: Of the answer.
            timeout_seconds: After which the answer is no longer waited for.
        """
        ...


def call_within(seconds: float, call: Callable[[], Mapping[str, Any]]) -> Mapping[str, Any]:
    """Call in a daemon thread, and wait for it no longer than so many seconds: a hung model must not hang the host.

    Raises:
        TimeoutError: There was no answer in time; the thread is abandoned.
        Exception: Whatever the call raised.
    """
    answer: Future[Mapping[str, Any]] = Future()

    def work() -> None:
        try:
            answer.set_result(call())
        except BaseException as error:  # noqa: BLE001  # raised where the answer is waited for
            # What would end this thread only must not end the host there.
            answer.set_exception(error if isinstance(error, Exception) else RuntimeError(repr(error)))

    context = contextvars.copy_context()
    threading.Thread(target=context.run, args=(work,), daemon=True, name="memory-completion").start()
    try:
        return answer.result(timeout=max(0.0, seconds))
    except TimeoutError as error:
        if answer.done():
            raise
        raise TimeoutError(f"the model gave no answer within {seconds:.3g} s") from error


def assistant_message(response: Mapping[str, Any]) -> Message:
    """The assistant's message of a completion.

    Raises:
        ValueError: There is none.
    """
    choices = response.get("choices")
    found = choices[0].get("message") if isinstance(choices, list) and choices else response
    if not isinstance(found, Mapping) or not ("content" in found or "tool_calls" in found):
        raise ValueError("the model's answer holds no message")
    return {"role": "assistant", "content": found.get("content")} | (
        {"tool_calls": found["tool_calls"]} if found.get("tool_calls") else {}
    )


def written_tokens(response: Mapping[str, Any], message: Mapping[str, Any]) -> int:
    """What the model wrote, as it counted, else as estimated."""
    usage = response.get("usage")
    told = usage.get("completion_tokens") if isinstance(usage, Mapping) else None
    return told if isinstance(told, int) and told > 0 else estimate_tokens(json.dumps(message, default=str))


def message_text(message: Mapping[str, Any]) -> str:
    """The text of a message, whose content is a string or a list of parts."""
    content = message.get("content")
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) for part in content if isinstance(part, Mapping))
    return content if isinstance(content, str) else ""


def call_arguments(raw: object) -> Mapping[str, Any]:
    """A call's arguments, which are JSON in a string, or an object with some servers.

    Raises:
        ValueError: The string is no JSON.
        TypeError: They are no object.
    """
    value = json.loads(raw) if isinstance(raw, str) else raw
    if not isinstance(value, Mapping):
        raise TypeError("the arguments are no JSON object")
    return value
