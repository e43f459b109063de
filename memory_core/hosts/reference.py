"""The reference host: a chat loop that does everything that a host does with the slot, and nothing else.

It keeps sessions like Clawdbot: `<state dir>/agents/<id>/sessions/<session id>.jsonl` and `sessions.json`.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import time
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack, closing
from functools import partial
from typing import Any, Self

import httpx

from memory_core.config.agent import AgentConfig
from memory_core.config.fields import Secret
from memory_core.config.load import ConfigSource
from memory_core.config.settings import ProviderAccount
from memory_core.errors import MemoryCoreError
from memory_core.plugin.slot import MemorySlot
from memory_core.records import CallContext
from memory_core.sources import sessions_json
from memory_core.text.tokens import estimate_tokens

log = logging.getLogger(__name__)

Message = dict[str, Any]
Show = Callable[[str], object]

MAX_TOOL_STEPS = 8
PAUSE_SECONDS = 120.0  # without data, after which an answer is given up
KEEP_MESSAGES = 4  # stay word for word when a session is compacted
OPENAI_URL = "https://api.openai.com/v1"
BASE_PROMPT = "You are a helpful assistant. Be brief."
SUMMARY_PROMPT = "Summarise the conversation above in at most 200 words: facts, decisions, open questions."


class EndpointFailed(MemoryCoreError):
    """The chat endpoint gave no answer; the message says why, without the key."""


class ChatEndpoint:
    """One model behind one endpoint.

    Args:
        base_url: The URL without `/chat/completions`.
        model: The model's id at the endpoint.
        api_key: None for endpoints that need none.
    """

    def __init__(self, base_url: str, model: str, *, api_key: Secret | None = None) -> None:
        headers = {"Authorization": f"Bearer {api_key.reveal()}"} if api_key else {}
        self._url = f"{base_url.rstrip('/')}/chat/completions"
        self._model = model
        self._client = httpx.Client(headers=headers, timeout=PAUSE_SECONDS)

    def complete(
        self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]], *, show: Show | None = None, **_: float
    ) -> Message:
        """Return the assistant's message: its text is shown as it arrives, by default to nobody; its calls are put together.

        Raises:
            EndpointFailed: No answer, or one that is not a stream of completions.
        """
        body: dict[str, Any] = {"model": self._model, "messages": list(messages), "stream": True}
        if tools:
            body["tools"] = list(tools)
        try:
            with self._client.stream("POST", self._url, json=body) as response:
                if response.status_code != httpx.codes.OK:
                    raise EndpointFailed(
                        f"{self._url} answered {response.status_code}", action="check --base-url, --model and the key"
                    )
                return _assemble(_read_deltas(response), show)
        except (httpx.HTTPError, ValueError, KeyError, TypeError) as error:
            raise EndpointFailed(
                f"{self._url}: {type(error).__name__}: {error}", action="check --base-url and the network"
            ) from error

    def close(self) -> None:
        """Close its connections."""
        self._client.close()


def _read_deltas(response: httpx.Response) -> Iterable[Mapping[str, Any]]:
    """Yield the deltas of a stream of server-sent events (https://platform.openai.com/docs/api-reference/chat-streaming)."""
    for line in response.iter_lines():
        data = line.removeprefix("data:").strip()
        if line.startswith("data:") and data != "[DONE]":
            for choice in json.loads(data).get("choices", []):
                yield choice.get("delta") or {}


def _assemble(deltas: Iterable[Mapping[str, Any]], show: Show | None) -> Message:
    text: list[str] = []
    calls: dict[int, dict[str, Any]] = {}
    for delta in deltas:
        if delta.get("content"):
            text.append(delta["content"])
            if show is not None:
                show(delta["content"])
        for piece in delta.get("tool_calls") or []:
            call = calls.setdefault(
                piece.get("index", 0), {"id": "", "type": "function", "function": {"name": "", "arguments": ""}}
            )
            call["id"] = piece.get("id") or call["id"]
            for part in ("name", "arguments"):
                call["function"][part] += (piece.get("function") or {}).get(part) or ""
    message: Message = {"role": "assistant", "content": "".join(text)}
    if calls:
        message["tool_calls"] = [calls[index] for index in sorted(calls)]
    return message


class ReferenceHost:
    """One session of one agent with one model, at the terminal.

    Args:
        source: The configuration.
        agent: The agent's id.
        base_url: Of the model's endpoint; None is that of `models.providers.openai`.
        model: The model's id there.
        context_window: Tokens of its context.

    Raises:
        ConfigError: The configuration cannot be used.
    """

    def __init__(
        self, source: ConfigSource, agent: str, *, base_url: str | None, model: str, context_window: int
    ) -> None:
        config = source.current().agent(agent)
        self._open_slot = partial(MemorySlot, source)
        self._open_endpoint = partial(open_endpoint, config, base_url, model)
        self._key = f"agent:{config.agent}:main"
        self._context = CallContext(agent=config.agent, session_key=self._key, chat_type="direct")
        self._sessions = config.sessions_dir
        self._window = context_window
        self._limit = max(context_window - config.compaction.reserve_tokens_floor, context_window // 2)
        self._show = partial(print, end="", flush=True)
        self._session_id = uuid.uuid4().hex
        self._transcript = self._sessions / f"{self._session_id}.jsonl"
        self._messages: list[Message] = []  # that are still in the model's context, without the system prompt
        self._summary = ""  # of the messages that compaction removed
        self._opening, self._recalls = "", list[str]()  # what memory put in front of the session, and of its messages

    def __enter__(self) -> Self:
        """Open the slot and the endpoint, and start this session."""
        with ExitStack() as opened:
            self._endpoint = opened.enter_context(closing(self._open_endpoint()))
            self._slot = opened.enter_context(closing(self._open_slot()))
            self._slot.start()
            self._slot.session_started(self._context)
            self._opening = self._slot.session_context(self._context)
            self._record(starts=True)
            self._opened = opened.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        """Close the slot and the endpoint."""
        self._opened.close()

    def run_turn(self, text: str) -> str:
        """Answer the user: ask the model, run its tool calls, ask again; then compact if the window is full.

        Raises:
            EndpointFailed: The model gave no answer; the user's message stays in the session.
        """
        self._recalls += filter(None, [self._slot.recall_for_message(text, self._context).text])
        self._add({"role": "user", "content": text})
        answer = self._answer()
        self._show("\n")
        self._record()
        self._slot.session_updated(self._key)
        self._slot.turn_ended(self._context, self._messages, self._endpoint.complete, host="chat")
        if self.count_tokens() >= self._limit:
            self.compact()
        else:
            self._flush(compacting=False)
        return answer

    def count_tokens(self) -> int:
        """Estimate the tokens of the next request to the model."""
        return sum(estimate_tokens(json.dumps(message, ensure_ascii=False)) for message in self._build_prompt())

    def compact(self) -> None:
        """Run the flush turn, then replace the older messages by a summary."""
        self._flush(compacting=True)
        older, self._messages = _split(self._messages)
        if not older:
            return
        asked = [*self._build_system(), *older, {"role": "user", "content": SUMMARY_PROMPT}]
        self._summary, self._recalls = self._endpoint.complete(asked, [])["content"], []
        self._log({"type": "compaction", "summary": self._summary})
        self._slot.compacted(self._context)
        self._record(compacted=True)

    def _add(self, message: Message) -> None:
        """Append a message to the context and to the transcript."""
        self._messages.append(message)
        text = [{"type": "text", "text": message["content"]}]  # as session files have it
        self._log({"type": "message", "message": {**message, "content": text}})

    def _log(self, line: Mapping[str, Any]) -> None:
        """Append one line to the transcript, a file of JSON lines."""
        self._transcript.parent.mkdir(parents=True, exist_ok=True)
        with self._transcript.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line, ensure_ascii=False) + "\n")

    def _answer(self) -> str:
        tools = self._slot.tool_schemas(self._context, form="openai")
        for _ in range(MAX_TOOL_STEPS):
            message = self._endpoint.complete(self._build_prompt(), tools, show=self._show)
            self._add(message)
            calls = message.get("tool_calls") or []
            if not calls:
                return str(message["content"])
            for call in calls:
                self._add(self._run(call))
        return ""

    def _run(self, call: Mapping[str, Any]) -> Message:
        """Run one tool call; errors go to the model."""
        try:
            arguments = json.loads(call["function"]["arguments"] or "{}")
        except ValueError as error:
            result: Mapping[str, Any] = {"error": f"the arguments are not JSON: {error}", "code": "invalid_argument"}
        else:
            result = self._slot.call_tool(call["function"]["name"], arguments, self._context)
        return {"role": "tool", "tool_call_id": call["id"], "content": json.dumps(result, ensure_ascii=False)}

    def _flush(self, *, compacting: bool) -> None:
        """Run the silent turn if one is due; nothing of it is shown or kept in the session."""
        session = self._slot.session(
            self._context,
            self._key,
            total_tokens=self.count_tokens(),
            context_window=self._window,
            transcript=self._transcript,
        )
        turn = self._slot.before_compaction(session, compacting=compacting)
        if turn is None:
            return

        outcome = self._slot.run_flush(turn, self._endpoint.complete, history=self._build_prompt())
        log.info("memory flush: %s, %s", outcome.status, outcome.reason)

    def _build_system(self) -> list[Message]:
        parts = [BASE_PROMPT, self._slot.prompt_section(self._context), self._opening, *self._recalls]
        if self._summary:
            parts.append(f"Summary of the conversation so far:\n{self._summary}")
        return [{"role": "system", "content": "\n\n".join(part for part in parts if part)}]

    def _build_prompt(self) -> list[Message]:
        return [*self._build_system(), *self._messages]

    def _record(self, *, starts: bool = False, compacted: bool = False) -> None:
        """Update `sessions.json`, so that other programs see this session; one that starts has no counts of the one before."""

        def change(entry: dict[str, Any]) -> None:
            counts = [name for name in entry if name == "compactionCount" or name.startswith("memoryFlush")]
            for name in counts if starts else ():
                del entry[name]
            if compacted:
                entry["compactionCount"] = int(entry.get("compactionCount") or 0) + 1
            entry.update(
                sessionId=self._session_id,
                updatedAt=int(time.time() * 1000),
                totalTokens=self.count_tokens(),
                contextTokens=self._window,
            )

        sessions_json.update(self._sessions / sessions_json.FILE_NAME, self._key, change)


def open_endpoint(config: AgentConfig, base_url: str | None, model: str) -> ChatEndpoint:
    """Return an endpoint with the key and, without a base URL, the URL of `models.providers.openai`."""
    account = config.providers.get("openai", ProviderAccount())
    key = account.api_key or Secret(os.environ.get("OPENAI_API_KEY", ""))
    return ChatEndpoint(base_url or account.base_url or OPENAI_URL, model, api_key=key or None)


def converse(host: ReferenceHost) -> None:
    """Read lines until the input ends; at a terminal, an error of the model is printed and the chat goes on.

    Raises:
        EndpointFailed: The model gives no answer, and the input is not a terminal.
    """
    prompt = "> " if sys.stdin.isatty() else ""
    while True:
        try:
            play(host, [input(prompt)])
        except EOFError:
            return
        except EndpointFailed as error:
            if not sys.stdin.isatty():
                raise
            print(f"{error}. {error.action}", file=sys.stderr)


def play(host: ReferenceHost, lines: Iterable[str]) -> None:
    """Say every line to the host, in order; blank lines and lines that begin with `#` are left out."""
    for line in lines:
        text = line.strip()
        if text and not text.startswith("#"):
            host.run_turn(text)


def _split(messages: Sequence[Message]) -> tuple[list[Message], list[Message]]:
    """Split off the last few messages, from a user's message on, so that a tool call stays with its result."""
    start = max(len(messages) - KEEP_MESSAGES, 0)
    while start > 0 and messages[start]["role"] != "user":
        start -= 1
    return list(messages[:start]), list(messages[start:])
