"""A bounded runner of flush turns for hosts that cannot run a nested turn; never raises."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from memory_core.completions import (
    Complete,
    Message,
    call_within,
    count_written_tokens,
    join_text,
    parse_arguments,
    parse_message,
)
from memory_core.config.agent import AgentConfig
from memory_core.errors import LoggedProblems, MemoryCoreError, expect
from memory_core.plugin import activity
from memory_core.plugin.flush import cycles
from memory_core.plugin.flush.policy import FlushTurn
from memory_core.records import CallContext
from memory_core.sources.redaction import redact
from memory_core.text.messages import is_silent_reply
from memory_core.tools.append import memory_append

if TYPE_CHECKING:
    from memory_core.plugin.memory import Memory

logger = logging.getLogger(__name__)

MAX_CALLS_PER_STEP = 16
MAX_RESULT_CHARS = 16_000
REMINDER = (
    "Nothing was stored: your text is shown to nobody and kept nowhere."
    " Call memory_append, or reply with exactly NO_REPLY."
)

ToolHandler = Callable[[Mapping[str, Any]], object]
ToolFunction = Callable[[Mapping[str, Any]], dict[str, Any]]  # one of ours: its result is a JSON object
FlushStatus = Literal["stored", "nothing", "failed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FlushOutcome:
    """The outcome of a flush turn.

    Attributes:
        status: "stored" (also if the note held all of it already), "nothing" to store, or "failed".
        reason: One sentence.
        appended: The number of paragraphs appended.
        steps: The number of calls of the model.
        tokens: The tokens that the model wrote, by its own count or by estimate.
        seconds: The duration of the turn.
    """

    status: FlushStatus
    reason: str
    appended: int = 0
    steps: int = 0
    tokens: int = 0
    seconds: float = 0.0


def make_flush_tools(
    turn: FlushTurn, config: AgentConfig, *, recalled: frozenset[str] = frozenset()
) -> dict[str, ToolFunction]:
    """Make the handlers of a turn's tools: `memory_append`, which here writes the turn's note only."""
    from memory_core.items.destination import find_destination

    def append(arguments: Mapping[str, Any]) -> dict[str, Any]:
        layer = find_destination(config, None, turn.day)
        return memory_append(arguments, layer, CallContext(), today=turn.day, pinned=turn.target, recalled=recalled)

    return {"memory_append": append}


def run_with(memory: Memory, config: AgentConfig, turn: FlushTurn, complete: Complete, **limits: Any) -> FlushOutcome:
    """Run a turn with the memory of its agent, and record how it went; see `run_flush`."""
    tools = make_flush_tools(turn, config, recalled=memory.recalled(turn.session_key))
    outcome = run_flush(turn, complete, tools, **limits)
    record(memory, config, turn, outcome)
    return outcome


def record(memory: Memory, config: AgentConfig, turn: FlushTurn, outcome: FlushOutcome) -> bool:
    """Record how a turn went: in its session, and in the activity log where the scope lets its session see notes.

    Returns:
        False if the session cannot be told: then the turn comes again.
    """
    context = CallContext(
        agent=turn.agent, session_key=turn.session_key, chat_type=turn.chat_type or None, channel=turn.channel or None
    )
    with LoggedProblems(logger, "the flush of %s is not in the activity log", turn.session_key):
        if memory.allows(context, config):
            places = [turn.target] if outcome.status == "stored" else []
            activity.record(config, "flushed", "flush", turn.session_key, places, outcome=outcome.status)
    return cycles.record(turn, outcome, config)


def run_flush(
    turn: FlushTurn,
    complete: Complete,
    tools: Mapping[str, ToolHandler],
    *,
    history: Sequence[Mapping[str, Any]] = (),
    max_steps: int = 6,
    max_seconds: float = 60.0,
    max_tokens: int = 4000,
    clock: Callable[[], float] = time.monotonic,
) -> FlushOutcome:
    """Run a flush turn; never raises. The host shows nothing of the turn, and keeps nothing of it in the session.

    Args:
        turn: The turn that `policy.plan_flush` planned.
        complete: The function that calls the model, in a thread of its own, which is abandoned when time is up.
        tools: Handlers by name, such as those of `make_flush_tools`; only those that the turn names are offered. The
            model is told of the errors that they raise.
        history: The session so far, in OpenAI's form; the turn's system prompt is appended to its first message if
            that is a system message.
        max_steps: The most calls of the model.
        max_seconds: The most seconds for the turn; a handler that has begun is waited for.
        max_tokens: The most tokens that the model may write over all steps.
        clock: Seconds, monotonic.
    """
    started, steps, tokens, reminded = clock(), 0, 0, False
    stored: list[int] = []  # the paragraphs of each call that stored something

    def end(status: FlushStatus, reason: str) -> FlushOutcome:
        seconds = clock() - started
        return FlushOutcome(
            status=status, reason=reason, appended=sum(stored), steps=steps, tokens=tokens, seconds=seconds
        )

    try:
        expect(callable(complete), "complete", "a function", complete)
        messages = _first_messages(turn, history)
        schemas = [
            {"type": "function", "function": dict(schema)} for name, schema in turn.tools.items() if name in tools
        ]
        while True:
            left = max_seconds - (clock() - started)
            bounds = (
                (steps >= max_steps, f"{steps} steps"),
                (tokens >= max_tokens, f"{tokens:,} tokens"),
                (left <= 0, f"{max_seconds:g} s"),
            )
            if reached := next((bound for is_reached, bound in bounds if is_reached), ""):
                return end("stored" if stored else "failed", f"stopped after {reached}")
            steps += 1
            ask = partial(complete, list(messages), schemas, max_tokens=max_tokens - tokens, timeout_seconds=left)
            response = call_within(left, ask)
            message = parse_message(response)
            tokens += count_written_tokens(response, message)
            messages.append(message)
            calls = message.get("tool_calls")
            if isinstance(calls, list) and calls:
                messages += [_answer(turn, tools, call, position, stored) for position, call in enumerate(calls)]
            elif stored:
                return end("stored", f"{sum(stored)} paragraphs were appended to {turn.target}")
            elif is_silent_reply(join_text(message)):
                return end("nothing", "the model had nothing to store")
            elif reminded:
                return end("failed", "the model neither stored anything nor replied with NO_REPLY")
            else:
                reminded = True
                messages.append({"role": "user", "content": REMINDER})
    except MemoryCoreError as error:
        logger.warning("The memory flush of %s failed: %s", turn.session_key, error)
        return end("failed", str(error))
    except Exception as error:
        logger.exception("The memory flush of %s failed", turn.session_key)
        return end("failed", f"{type(error).__name__}: {error}")


def _answer(
    turn: FlushTurn, tools: Mapping[str, ToolHandler], call: object, position: int, stored: list[int]
) -> Message:
    """Run one tool call, note in `stored` what it has stored, and return the message with its result."""
    facts = call if isinstance(call, Mapping) else {}
    function = facts.get("function")
    function = function if isinstance(function, Mapping) else {}
    name = str(function.get("name", ""))
    handler = tools.get(name) if name in turn.tools else None
    result: object
    if position >= MAX_CALLS_PER_STEP:
        result = {"error": "too many calls in one step"}
    elif handler is None:
        result = {"error": f"there is no tool {name!r} in this turn; known are {', '.join(turn.tools)}"}
    else:
        try:
            arguments = parse_arguments(function.get("arguments"))
            result = handler(leave_out_secrets(arguments) if name == "memory_append" else arguments)
        except Exception as error:
            logger.info("A tool of the memory flush of %s failed", turn.session_key, exc_info=True)
            result = {"error": f"{error}", "action": getattr(error, "action", "")}
        if name == "memory_append" and isinstance(result, Mapping) and "error" not in result:
            appended = result.get("appended")
            stored.append(appended if isinstance(appended, int) else 0)
    content = json.dumps(result, ensure_ascii=False, default=str)[:MAX_RESULT_CHARS]
    return {"role": "tool", "tool_call_id": str(facts.get("id", "")), "content": content}


def leave_out_secrets(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of an append that nobody has asked for, without the secrets in its text."""
    text = arguments.get("text")
    return {**arguments, "text": redact(text)} if isinstance(text, str) else {**arguments}


def _first_messages(turn: FlushTurn, history: Sequence[Mapping[str, Any]]) -> list[Message]:
    messages = [dict(message) for message in history]
    if messages and messages[0].get("role") == "system" and isinstance(messages[0].get("content"), str):
        messages[0]["content"] += f"\n\n{turn.system_prompt}"
    else:
        messages.insert(0, {"role": "system", "content": turn.system_prompt})
    return [*messages, {"role": "user", "content": turn.prompt}]
