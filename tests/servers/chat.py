"""An OpenAI-compatible chat endpoint on the loopback interface whose model follows fixed rules.

https://platform.openai.com/docs/api-reference/chat-streaming
"""

from __future__ import annotations

import json
import re
import socket
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Literal, Self

Message = dict[str, Any]
Kind = Literal["search", "answer", "append", "store", "silent", "summary"]

FOUND_NOTHING = "I found nothing about that in my memory."
NO_TOOLS = "I have no memory here."
SUMMARY = "They talked; what matters was written down."
REMEMBER = "Remember: "  # what the user says next is appended to the notes
PIECE = 5  # characters of text or arguments in one event, so that words and JSON are torn


class ChatServer:
    """Serves until the `with` block ends. Its model searches first, and then says what the tool message says, only that.

    A user who asks for the flush turn gets a call of memory_append, then NO_REPLY; one who asks for a summary gets one.

    Attributes:
        stores: What it appends in a flush turn; "" for nothing, so that NO_REPLY comes at once.
        status: Of every answer; anything but 200 comes without a stream.
        requests: The bodies of all requests, in the order of their arrival.
        keys: Their `Authorization` headers.
        kinds: How often it answered in which way.
    """

    def __init__(self) -> None:
        self.stores = ""
        self.status = 200
        self.requests: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        self.kinds: Counter[Kind] = Counter()
        self._lock = threading.Lock()
        self._server = _HttpServer(("127.0.0.1", 0), _handler(self))
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def url(self) -> str:
        """The base URL."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def events(self, body: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """The stream that answers a request, one event after the other."""
        message, finish = self._take(body)
        for delta in ({"role": "assistant", "content": ""}, *_deltas(message)):
            yield _event(body, {"index": 0, "delta": delta, "finish_reason": None})
        yield _event(body, {"index": 0, "delta": {}, "finish_reason": finish})

    def completion(self, body: dict[str, Any]) -> dict[str, Any]:
        """The answer to a request that asks for no stream."""
        message, finish = self._take(body)
        calls = [
            {"id": call["id"], "type": "function", "function": {"name": call["name"], "arguments": call["arguments"]}}
            for call in message.get("tool_calls", [])
        ]
        said = {"role": "assistant", "content": message.get("content")} | ({"tool_calls": calls} if calls else {})
        choice = {"index": 0, "message": said, "finish_reason": finish}
        usage = {"prompt_tokens": 10, "completion_tokens": 10, "total_tokens": 20}
        return _event(body, choice) | {"object": "chat.completion", "created": 0, "usage": usage}

    def _take(self, body: dict[str, Any]) -> tuple[Message, str]:
        """The model's message, and why it ended."""
        kind, message = self._answer(body["messages"], [tool["function"]["name"] for tool in body.get("tools", [])])
        with self._lock:
            self.requests.append(body)
            self.kinds[kind] += 1
        return message, "tool_calls" if "tool_calls" in message else "stop"

    def _answer(self, messages: Sequence[Message], tools: Sequence[str]) -> tuple[Kind, Message]:
        last = messages[-1]
        asked = next(_text(message) for message in reversed(messages) if message["role"] == "user")
        if "NO_REPLY" in asked:
            if last["role"] == "user" and self.stores and "memory_append" in tools:
                return "store", _calling("memory_append", {"text": self.stores})
            return "silent", {"content": "NO_REPLY"}
        if asked.startswith("Summarise the conversation"):
            return "summary", {"content": SUMMARY}
        if last["role"] == "tool":
            return "answer", {"content": _quoting(_text(last))}
        return _call_a_tool(asked, tools)


def _call_a_tool(asked: str, tools: Sequence[str]) -> tuple[Kind, Message]:
    if asked.startswith(REMEMBER) and "memory_append" in tools:
        return "append", _calling("memory_append", {"text": f"- {asked.removeprefix(REMEMBER)}"})
    if "memory_search" not in tools:
        return "answer", {"content": NO_TOOLS}
    return "search", _calling("memory_search", {"query": asked})


def _quoting(tool_message: str) -> str:
    """Return the content of a tool message: its first passage and where it stands, cited as the prompt asks."""
    hits = json.loads(tool_message).get("results", [])
    if not hits:
        return FOUND_NOTHING
    snippet = re.sub(r"\s+", " ", hits[0]["snippet"])
    cited = f" Source: {hits[0]['citation']}" if "citation" in hits[0] else ""
    return f"{hits[0]['path']} says: {snippet}{cited}"


def _text(message: Message) -> str:
    """The text of a message, whose content may be a list of parts."""
    content = message["content"]
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


def _calling(name: str, arguments: dict[str, Any]) -> Message:
    return {"tool_calls": [{"id": f"call_{name}", "name": name, "arguments": json.dumps(arguments)}]}


def _deltas(message: Message) -> Iterator[dict[str, Any]]:
    """The message in pieces: the name and id of a call come first, its arguments torn."""
    for piece in _pieces(message.get("content", "")):
        yield {"content": piece}
    for index, call in enumerate(message.get("tool_calls", [])):
        opening = {"name": call["name"], "arguments": ""}
        yield {"tool_calls": [{"index": index, "id": call["id"], "type": "function", "function": opening}]}
        for piece in _pieces(call["arguments"]):
            yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}


def _pieces(text: str) -> list[str]:
    return [text[start : start + PIECE] for start in range(0, len(text), PIECE)]


def _event(body: dict[str, Any], choice: dict[str, Any]) -> dict[str, Any]:
    return {"id": "chatcmpl-1", "object": "chat.completion.chunk", "model": body["model"], "choices": [choice]}


class _HttpServer(ThreadingHTTPServer):
    daemon_threads = True


def _handler(server: ChatServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def setup(self) -> None:
            super().setup()
            # Without it the kernel holds back every small event for 40 ms.
            self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

        def do_POST(self) -> None:
            server.keys.append(self.headers["Authorization"])
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if self.path != "/v1/chat/completions" or server.status != 200:
                self.send_error(404 if server.status == 200 else server.status)
                return
            self.send_response(200)
            if not body.get("stream"):
                answer = json.dumps(server.completion(body)).encode()
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)
                return
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            for event in server.events(body):
                self._chunk(f"data: {json.dumps(event)}\n\n".encode())
            self._chunk(b"data: [DONE]\n\n")
            self._chunk(b"")

        def _chunk(self, data: bytes) -> None:
            self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
            self.wfile.flush()

        def log_message(self, *args: object) -> None:
            """Tests read `requests` instead."""

    return Handler
