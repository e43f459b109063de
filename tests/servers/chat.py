"""A chat endpoint on the loopback interface whose model follows fixed rules; it speaks all protocols of `wires`."""

from __future__ import annotations

import json
import re
import socket
import threading
from collections import Counter
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler
from typing import Any, Literal

from tests.servers.loopback import Served
from tests.servers.wires import STREAMS, USED, WIRES, Message, Wire, read_text

Kind = Literal["search", "answer", "append", "store", "silent", "summary", "capture", "recalled"]

FOUND_NOTHING = "I found nothing about that in my memory."
NO_TOOLS = "I have no memory here."
SUMMARY = "They talked; what matters was written down."
REMEMBER = "Remember: "  # what the user says next is appended to the notes
OUR_TOOLS = ("memory_search", "memory_get", "memory_append")  # hosts put the name of the server in front
RECALLED = re.compile(r"^items:\n> \w+: (.+)$", re.MULTILINE)  # the first item of each recall in the system prompt
ASIDES = (
    "<system-reminder>",
    "<session_context>",
    "<hook_context>Recalled",
    "<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>",
)  # in messages of the user
ASKS_FOR_A_SUMMARY = (
    "Summarise the conversation",
    "create a detailed summary",
    "CONTEXT CHECKPOINT",
    "detailed prompt for continuing",
    "Do not mention the summary process",
    "reiterate the user request, summarize the context",
    "Please summarize this conversation",
)


class ChatServer(Served):
    """Serves until the `with` block ends. Its model searches first, and then says what the tool message says, only that.

    Where the system prompt holds what memory recalled, it says that and calls no tool. Asked for facts, it gives those of
    `facts` whose key stands in the exchange. A user who asks for the flush turn gets a call of memory_append, then NO_REPLY;
    one who asks for a summary gets one.

    Attributes:
        stores: What it appends in a flush turn; "" for nothing, so that NO_REPLY comes at once.
        script: Calls of tools, each with its arguments, which it makes one after another before it follows its rules.
        facts: What it learns from an exchange that holds a text, by that text.
        status: Of every answer; anything but 200 comes without a stream.
        counts: Report as used a token for every four characters of a request, so that sessions fill up; else 10.
        released: While it is not set, no call of memory_append in a flush turn is answered.
        requests: The bodies of all requests, in the order of their arrival.
        keys: Their `Authorization` headers.
        kinds: How often it answered in which way.
        order: The ways in which it answered, in order.
    """

    def __init__(self) -> None:
        super().__init__(_handler(self))
        self.stores = ""
        self.script: list[tuple[str, dict[str, Any]]] = []
        self.facts: dict[str, dict[str, Any]] = {}
        self.status = 200
        self.counts = False
        self.released = threading.Event()
        self.released.set()
        self.requests: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        self.kinds: Counter[Kind] = Counter()
        self.order: list[Kind] = []

    @property
    def url(self) -> str:
        """The base URL of OpenAI's protocols."""
        return f"{self.origin}/v1"

    def answer(self, wire: Wire, body: dict[str, Any]) -> Message:
        """Record a request and return the model's message: its content, or its calls."""
        messages, tools = wire.read(body)
        with self._lock:
            number = len(self.requests)
            self.requests.append(body)
        kind, message = self._follow_rules(messages, tools, f"call_{number}")
        with self._lock:
            self.kinds[kind] += 1
            self.order.append(kind)
        if kind == "store":
            self.released.wait(60)
        return message

    def _follow_rules(self, messages: Sequence[Message], tools: Sequence[str], call_id: str) -> tuple[Kind, Message]:
        if self.script:
            name, arguments = self.script.pop(0)
            return "answer", {"tool_calls": [{"id": call_id, "name": name, "arguments": json.dumps(arguments)}]}
        # OpenClaw has tools of these names itself; ours have the name of the server in front.
        offered = {name: tool for name in OUR_TOOLS for tool in sorted(tools, key=len) if tool.endswith(name)}
        spoken = [message for message in messages if _is_said(message)]
        said = (read_text(message.get("content")) for message in reversed(spoken) if message["role"] == "user")
        asked = next(said, "")  # a thread of Anthropic's sends what is new only
        asked = asked.strip('"')  # opencode quotes what it is given on its command line
        answered = spoken[-1]["role"] == "tool"

        def call(name: str, arguments: dict[str, Any]) -> Message:
            return {"tool_calls": [{"id": call_id, "name": offered[name], "arguments": json.dumps(arguments)}]}

        kind: Kind = "answer"
        message: Message = {"content": NO_TOOLS}
        if "store_facts" in tools:
            return "capture", {
                "tool_calls": [{"id": call_id, "name": "store_facts", "arguments": self._find_facts(asked)}]
            }
        if "NO_REPLY" in asked:
            stores = not answered and self.stores and "memory_append" in offered
            kind = "store" if stores else "silent"
            message = call("memory_append", {"text": self.stores}) if stores else {"content": "NO_REPLY"}
        elif any(words in asked for words in ASKS_FOR_A_SUMMARY):
            kind, message = "summary", {"content": SUMMARY}
        elif answered:
            message = {"content": _quote(read_text(spoken[-1]["content"]))}
        elif recalled := RECALLED.findall("\n".join(_read_system(messages))):
            kind, message = "recalled", {"content": f"As you said: {recalled[-1]}"}
        elif REMEMBER in asked and "memory_append" in offered:
            kind, message = "append", call("memory_append", {"text": f"- {asked.partition(REMEMBER)[2]}"})
        elif "memory_search" in offered:
            question = re.search(r"[^\]\n]+\?", asked)  # OpenClaw puts the time before it and facts behind it
            kind, message = "search", call("memory_search", {"query": question[0].strip() if question else asked})
        return kind, message

    def _find_facts(self, question: str) -> str:
        said = question.partition("The exchange:")[2]
        return json.dumps({"facts": [fact for text, fact in self.facts.items() if text in said]})


def _read_system(messages: Sequence[Message]) -> list[str]:
    return [read_text(message["content"]) for message in messages if message["role"] == "system"]


def _is_said(message: Message) -> bool:
    """Return False for what a host tells the model besides."""
    return message["role"] not in {"system", "developer"} and not read_text(message.get("content")).startswith(ASIDES)


def _quote(tool_message: str) -> str:
    """Return the content of a tool message: its first passage and where it stands, cited as the prompt asks."""
    start = tool_message.find("{")  # some hosts write a line of their own above
    try:
        hits = json.JSONDecoder().raw_decode(tool_message[start:])[0].get("results", [])
    except ValueError:
        return tool_message
    if not hits:
        return FOUND_NOTHING
    snippet = re.sub(r"\s+", " ", hits[0]["snippet"])
    cited = f" Source: {hits[0]['citation']}" if "citation" in hits[0] else ""
    return f"{hits[0]['path']} says: {snippet}{cited}"


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
            name = self.path.partition("?")[0].rpartition(":")[2]
            wire = WIRES.get(name)
            if wire is None or server.status != 200:
                self.send_error(404 if server.status == 200 else server.status)
                return
            body |= {"stream": True} if name == STREAMS else {}
            message = server.answer(wire, body)
            if server.counts:
                body[USED] = int(self.headers["Content-Length"]) // 4
            self.send_response(200)
            if not body.get("stream"):
                answer = json.dumps(wire.write(body, message)).encode()
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)
                return
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            for event in wire.stream(body, message):
                name = f"event: {event['type']}\n" if "type" in event else ""
                self._chunk(f"{name}data: {json.dumps(event)}\n\n".encode())
            if wire.end:
                self._chunk(wire.end)
            self._chunk(b"")

        def _chunk(self, data: bytes) -> None:
            self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
            self.wfile.flush()

        def log_message(self, *args: object) -> None:
            """Tests read `requests` instead."""

    return Handler
