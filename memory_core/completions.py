"""Chat completions in OpenAI's form: call the model within a deadline, and parse the answers that servers really send."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from memory_core.errors import InvalidArgument, expect
from memory_core.text.messages import TEXT_PARTS
from memory_core.text.tokens import estimate_tokens
from memory_core.threads import NoAnswer, start_call, wait_for

if TYPE_CHECKING:
    import asyncio

Message = dict[str, Any]
Spoken = TypeVar("Spoken", bound=Mapping[str, Any])


class Complete(Protocol):
    """The host's function that calls the model once; an exception fails the turn."""

    def __call__(
        self, messages: list[Message], tools: list[dict[str, Any]], *, max_tokens: int, timeout_seconds: float
    ) -> Mapping[str, Any]:
        """Return a chat completion in OpenAI's form, `{choices: [{message}], usage?}`, or its message alone.

        Args:
            messages: The conversation, in OpenAI's form.
            tools: The tools offered, likewise: `{type: "function", function: schema}`.
            max_tokens: The most tokens of the answer.
            timeout_seconds: The time after which nobody waits for the answer any more.
        """


class AsyncComplete(Protocol):
    """`Complete` as a coroutine function, for asynchronous hosts."""

    async def __call__(
        self, messages: list[Message], tools: list[dict[str, Any]], *, max_tokens: int, timeout_seconds: float
    ) -> Mapping[str, Any]:
        """Return a chat completion; see `Complete`."""


def check_complete(complete: object) -> None:
    """Raise unless a host has given a function, or none.

    Raises:
        InvalidArgument: It is neither.
    """
    expect(complete is None or callable(complete), "complete", "a function or None", complete)


def call_in_loop(loop: asyncio.AbstractEventLoop, complete: AsyncComplete) -> Complete:
    """Return a function for other threads that awaits the coroutine in an event loop, and cancels it when time is up."""
    import asyncio

    def ask(
        messages: list[Message], tools: list[dict[str, Any]], *, max_tokens: int, timeout_seconds: float
    ) -> Mapping[str, Any]:
        asked = complete(messages, tools, max_tokens=max_tokens, timeout_seconds=timeout_seconds)
        returned: object = asked
        if not inspect.iscoroutine(returned):
            told = f"expected a coroutine function, not one that returns {_name_kind(returned)}"
            raise InvalidArgument("complete", told)
        answer = asyncio.run_coroutine_threadsafe(asked, loop)
        try:
            return answer.result(timeout_seconds)
        finally:
            answer.cancel()

    return ask


def _name_kind(value: object) -> str:
    return "None" if value is None else f"a {type(value).__name__}"


def call_within(seconds: float, call: Callable[[], Mapping[str, Any]]) -> Mapping[str, Any]:
    """Call in a daemon thread and wait at most the given seconds: a hung model must not hang the host.

    Raises:
        TimeoutError: No answer came in time; the thread is abandoned.
        Exception: The exception that the call raised.
    """
    answer = start_call(call, name="memory-completion")
    try:
        return wait_for(answer, seconds)
    except NoAnswer as error:
        raise TimeoutError(f"the model gave no answer within {max(0.0, seconds):.3g} s") from error


def parse_message(response: Mapping[str, Any]) -> Message:
    """Return the assistant's message of a completion.

    Raises:
        InvalidArgument: The host's function returned no mapping, but a coroutine, for example.
        ValueError: It holds none.
    """
    returned: object = response
    if inspect.iscoroutine(returned):
        returned.close()
    if not isinstance(returned, Mapping):
        expected = "a function that returns a mapping, the completion"
        raise InvalidArgument("complete", f"expected {expected}, not one that returns {_name_kind(returned)}")
    choices = response.get("choices")
    found = choices[0].get("message") if isinstance(choices, list) and choices else response
    if not isinstance(found, Mapping) or not ("content" in found or "tool_calls" in found):
        raise ValueError("the model's answer holds no message")
    return {"role": "assistant", "content": found.get("content")} | (
        {"tool_calls": found["tool_calls"]} if found.get("tool_calls") else {}
    )


def count_written_tokens(response: Mapping[str, Any], message: Mapping[str, Any]) -> int:
    """Count the tokens that the model wrote, by its own count or else by estimate."""
    return _sum_usage(response, "completion_tokens") or estimate_tokens(json.dumps(message, default=str))


def count_tokens(response: Mapping[str, Any], asked: object) -> int:
    """Count the tokens that the model read and wrote, by its own count or else by estimate.

    Args:
        response: A chat completion; one that failed may be empty.
        asked: What it was asked, which JSON can tell.
    """
    counted = _sum_usage(response, "prompt_tokens", "completion_tokens")
    return counted or estimate_tokens(json.dumps([asked, response], default=str))


def _sum_usage(response: Mapping[str, Any], *names: str) -> int:
    """Return the sum of some of the model's own counts; 0 if it gave none."""
    usage = response.get("usage")
    counted = [usage.get(name) for name in names] if isinstance(usage, Mapping) else []
    return sum(each for each in counted if isinstance(each, int) and each > 0)


_FENCED = re.compile(r"\A\s*```\w*\s*\n(.*?)\n?```\s*\Z", re.DOTALL)


def read_arguments(response: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the arguments of the tool calls of a completion; of one without any, the JSON that its text is.

    Raises:
        ValueError: There are none that can be read.
    """
    message = parse_message(response)
    calls = message.get("tool_calls")
    try:
        if isinstance(calls, list) and calls:
            return [parse_arguments(call["function"]["arguments"]) for call in calls]
        text = join_text(message)
        fenced = _FENCED.match(text)
        return [parse_arguments(fenced[1] if fenced else text)]
    except (TypeError, KeyError, RecursionError) as error:
        raise ValueError("the model's answer holds no JSON object") from error


def split_turns(messages: Iterable[Spoken]) -> list[list[Spoken]]:
    """Return messages turn by turn: each begins with a message of the user, or several of them, but for the first."""
    turns: list[list[Spoken]] = []
    for message in messages:
        if not turns or (message.get("role") == "user" and turns[-1][-1].get("role") != "user"):
            turns.append([])
        turns[-1].append(message)
    return turns


def join_text(message: Mapping[str, Any]) -> str:
    """Return the text of a message, whose content is a string or a list of parts; documents and files are not its words."""
    content = message.get("content")
    if isinstance(content, list):
        said = (part for part in content if isinstance(part, Mapping) and part.get("type", "text") in TEXT_PARTS)
        return "".join(str(part.get("text", "")) for part in said)
    return content if isinstance(content, str) else ""


def parse_arguments(raw: object) -> Mapping[str, Any]:
    """Parse the arguments of a tool call: JSON in a string, or with some servers an object.

    Raises:
        ValueError: The string is no JSON.
        TypeError: The arguments are no object.
    """
    value = json.loads(raw) if isinstance(raw, str) else raw
    if not isinstance(value, Mapping):
        raise TypeError("the arguments are no JSON object")
    return value
