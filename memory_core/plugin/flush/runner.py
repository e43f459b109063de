"""A bounded runner of flush turns for hosts that cannot run a nested turn, and the record of outcomes; never raises."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
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
from memory_core.errors import MemoryCoreError
from memory_core.plugin.activity import record_flush
from memory_core.plugin.flush import cycles
from memory_core.plugin.flush.policy import FlushTurn, WallClock, utc_now
from memory_core.records import CallContext
from memory_core.sources import sessions_json
from memory_core.text.messages import is_silent_reply
from memory_core.tools import results
from memory_core.tools.append import APPEND, Writing, memory_append

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
    writing = Writing(
        workspace=config.workspace,
        state_dir=config.state_dir,
        today=turn.day,
        pinned=turn.target,
        recalled=recalled,
    )
    return {APPEND["name"]: lambda arguments: memory_append(arguments, writing)}


def make_handlers(memory: Memory, config: AgentConfig, turn: FlushTurn) -> dict[str, ToolFunction]:
    """Make the handlers of a turn's tools for a host that runs the turn itself: whatever goes wrong is in the result."""

    def catch(name: str, handler: ToolFunction) -> ToolFunction:
        def run(arguments: Any) -> dict[str, Any]:
            try:
                return results.make_encodable(handler(arguments))
            except Exception as error:  # noqa: BLE001 -- nothing may get out to the host
                return results.shape_failure(error, name)

        return run

    handlers = make_flush_tools(turn, config, recalled=memory.recalled(turn.session_key))
    return {name: catch(name, handler) for name, handler in handlers.items()}


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
    try:
        if memory.allows(context, config):
            record_flush(config, turn, outcome)
    except MemoryCoreError as error:
        logger.warning("the flush of %s is not in the activity log: %s", turn.session_key, error)
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
    try:
        run = _Run(turn, complete, tools, _first_messages(turn, history), max_steps, max_seconds, max_tokens, clock)
    except Exception as error:
        logger.exception("A memory flush cannot begin")
        return FlushOutcome(status="failed", reason=f"{type(error).__name__}: {error}")
    try:
        return run.run()
    except Exception as error:
        logger.exception("The memory flush of %s failed", turn.session_key)
        return run.end("failed", f"{type(error).__name__}: {error}")


def record_outcome(
    turn: FlushTurn,
    outcome: FlushOutcome,
    sessions: Path,
    *,
    clock: WallClock = utc_now,
    prepare: Callable[[dict[str, Any]], None] | None = None,
    keep: int | None = None,
) -> bool:
    """Record the outcome of a turn in a `sessions.json`; returns False, with a warning, if that fails.

    A turn that did not fail is the last one of its compaction cycle. So is the third failed one, with a warning.

    Args:
        turn: The turn.
        outcome: Its outcome.
        sessions: The file: the host's, or that of `cycles`, which decides between them.
        clock: The present time.
        prepare, keep: See `sessions_json.record_flush`.
    """
    try:
        failures = sessions_json.record_flush(
            sessions,
            turn.session_key,
            compaction_count=turn.compaction_count,
            at_ms=int(clock().timestamp() * 1000),
            failed=outcome.status == "failed",
            session_id=turn.session_id,
            prepare=prepare,
            keep=keep,
        )
    except MemoryCoreError as error:
        logger.warning("The memory flush of %s could not be recorded: %s", turn.session_key, error)
        return False
    if failures >= sessions_json.FAILURES_PER_CYCLE:
        logger.warning(
            "The memory flush of %s is given up for this compaction cycle after %d failures; the last one: %s",
            turn.session_key,
            failures,
            outcome.reason,
        )
    return True


@dataclass(slots=True)
class _Run:
    turn: FlushTurn
    complete: Complete
    handlers: Mapping[str, ToolHandler]
    messages: list[Message]
    max_steps: int
    max_seconds: float
    max_tokens: int
    clock: Callable[[], float]
    started: float = field(init=False)
    steps: int = 0
    tokens: int = 0
    stores: int = 0
    appended: int = 0
    reminded: bool = False

    def __post_init__(self) -> None:
        self.started = self.clock()

    def run(self) -> FlushOutcome:
        while not (limit := self.find_limit()):
            message = self.ask()
            self.messages.append(message)
            calls = message.get("tool_calls")
            if isinstance(calls, list) and calls:
                self.messages += [self.answer(call, position) for position, call in enumerate(calls)]
            elif (outcome := self.judge(message)) is not None:
                return outcome
        return self.end("stored" if self.stores else "failed", limit)

    def find_limit(self) -> str:
        """Return the bound that is reached, as a reason; "" if none is."""
        if self.steps >= self.max_steps:
            return f"stopped after {self.steps} steps"
        if self.tokens >= self.max_tokens:
            return f"stopped after {self.tokens:,} tokens"
        return f"stopped after {self.max_seconds:g} s" if self.count_left_seconds() <= 0 else ""

    def count_left_seconds(self) -> float:
        return self.max_seconds - (self.clock() - self.started)

    def ask(self) -> Message:
        self.steps += 1
        left = self.count_left_seconds()
        schemas = [
            {"type": "function", "function": dict(schema)}
            for name, schema in self.turn.tools.items()
            if name in self.handlers
        ]
        response = call_within(
            left,
            lambda: self.complete(
                list(self.messages), schemas, max_tokens=self.max_tokens - self.tokens, timeout_seconds=left
            ),
        )
        message = parse_message(response)
        self.tokens += count_written_tokens(response, message)
        return message

    def judge(self, message: Mapping[str, Any]) -> FlushOutcome | None:
        """Judge a message that calls no tool; returns the outcome of the turn, or None to let the model try once more."""
        text = join_text(message)
        if self.stores:
            return self.end("stored", f"{self.appended} paragraphs were appended to {self.turn.target}")
        if is_silent_reply(text):
            return self.end("nothing", "the model had nothing to store")
        if self.reminded:
            return self.end("failed", "the model neither stored anything nor replied with NO_REPLY")
        self.reminded = True
        self.messages.append({"role": "user", "content": REMINDER})
        return None

    def answer(self, call: object, position: int) -> Message:
        """Run one tool call; returns the message with its result."""
        facts = call if isinstance(call, Mapping) else {}
        result = self.call(facts) if position < MAX_CALLS_PER_STEP else {"error": "too many calls in one step"}
        content = json.dumps(result, ensure_ascii=False, default=str)[:MAX_RESULT_CHARS]
        return {"role": "tool", "tool_call_id": str(facts.get("id", "")), "content": content}

    def call(self, call: Mapping[str, Any]) -> object:
        function = call.get("function")
        function = function if isinstance(function, Mapping) else {}
        name = str(function.get("name", ""))
        handler = self.handlers.get(name) if name in self.turn.tools else None
        if handler is None:
            return {"error": f"there is no tool {name!r} in this turn; known are {', '.join(self.turn.tools)}"}
        try:
            result = handler(parse_arguments(function.get("arguments")))
        except Exception as error:
            logger.info("A tool of the memory flush of %s failed", self.turn.session_key, exc_info=True)
            return {"error": f"{error}", "action": getattr(error, "action", "")}
        self.count(name, result)
        return result

    def count(self, name: str, result: object) -> None:
        if name == APPEND["name"] and isinstance(result, Mapping) and "error" not in result:
            self.stores += 1
            appended = result.get("appended")
            self.appended += appended if isinstance(appended, int) else 0

    def end(self, status: FlushStatus, reason: str) -> FlushOutcome:
        return FlushOutcome(
            status=status,
            reason=reason,
            appended=self.appended,
            steps=self.steps,
            tokens=self.tokens,
            seconds=self.clock() - self.started,
        )


def _first_messages(turn: FlushTurn, history: Sequence[Mapping[str, Any]]) -> list[Message]:
    messages = [dict(message) for message in history]
    if messages and messages[0].get("role") == "system" and isinstance(messages[0].get("content"), str):
        messages[0]["content"] += f"\n\n{turn.system_prompt}"
    else:
        messages.insert(0, {"role": "system", "content": turn.system_prompt})
    return [*messages, {"role": "user", "content": turn.prompt}]
