"""The MCP server over standard input and output, with a reader and a writer of lines of its own.

Those of the package mcp lack what a server must survive:

- A line that is no message is answered with an error, under its id where one can be read, and an answer that JSON cannot hold
  becomes one; there, the first is left unanswered, and the second ends the server.
- What strict JSON forbids but says clearly is understood: a byte order mark, half a surrogate, control characters in a string.
- A line has a size limit.
- When the input ends, requests that came before get their answers; there, they are cancelled. A client that has closed its end
  of the output is noticed even while nobody writes.
"""

from __future__ import annotations

import json
import os
import re
import select
import signal
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING

import anyio
import mcp_types as types
from anyio.from_thread import BlockingPortal
from mcp.shared.message import SessionMessage
from pydantic import ValidationError
from pydantic_core import from_json

from memory_core.errors import MemoryCoreError
from memory_core.hosts.mcp.server import end_process, end_session, make_server
from memory_core.plugin.slot import MemorySlot
from memory_core.records import CallContext
from memory_core.text.messages import replace_surrogates

if TYPE_CHECKING:
    from mcp.shared._stream_protocols import ReadStream, WriteStream

MAX_LINE_BYTES = 8 * 1024 * 1024  # the longest text that memory_append takes is 64 KB
POLL_SECONDS = 0.02
LAST_ANSWERS_SECONDS = 60.0  # for what was asked before the input ended; longer than any tool takes
LAST_WORDS_SECONDS = 5.0  # for a client that has closed its end and reads slowly
SEPARATORS = "\x85\u2028\u2029"  # JSON holds them as they are, but some clients end lines at them

_JSON_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|[{}\[\]:,]|[^\s"{}\[\]:,]+', re.DOTALL)


def serve_stdio(slot: MemorySlot, context: CallContext) -> None:
    """Serve one session until the client closes either stream, or on SIGINT or SIGTERM; then close the slot.

    Raises:
        MemoryCoreError: Standard input or output is closed or takes no more.
    """
    reader, writer = take_over()
    try:
        anyio.run(_serve, slot, context, reader, writer)
    finally:
        end_session(slot, context)


async def _serve(slot: MemorySlot, context: CallContext, reader: int, writer: int) -> None:
    lost = ""
    async with anyio.create_task_group() as group:

        def leave(reason: str, *, gone: bool) -> None:
            nonlocal lost
            if gone:
                end_process(slot, context, 0)
            lost = reason
            group.cancel_scope.cancel()

        await group.start(_end_on_signal, slot, context)
        async with open_streams(reader, writer, leave) as (incoming, outgoing):
            server = make_server(slot, context)
            slot.start()
            slot.session_started(context)
            await server.run(incoming, outgoing, server.create_initialization_options())
        group.cancel_scope.cancel()
    if lost:
        raise MemoryCoreError(
            f"standard output cannot be written: {lost}", action="start the server from an MCP client"
        )


async def _end_on_signal(slot: MemorySlot, context: CallContext, *, task_status: anyio.abc.TaskStatus[None]) -> None:
    """End the process on SIGINT or SIGTERM, with the exit code that a shell gives to that; Windows sends none to wait for."""
    try:
        with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
            task_status.started()
            async for number in signals:
                end_process(slot, context, 128 + number)
    except NotImplementedError:
        task_status.started()


def take_over() -> tuple[int, int]:
    """Return descriptors of standard input and output that nobody else has.

    From now on whatever reads standard input finds it empty, and what is printed goes to standard error: the protocol alone
    reaches the client.

    Raises:
        MemoryCoreError: One of them is closed.
    """
    for descriptor, name in enumerate(("standard input", "standard output")):
        try:
            os.fstat(descriptor)
        except OSError as error:
            raise MemoryCoreError(f"{name} is closed", action="start the server from an MCP client") from error
    nothing = os.open(os.devnull, os.O_RDWR)  # takes the place of standard error where that is closed
    reader, writer = os.dup(0), os.dup(1)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    if nothing != 2:
        os.close(nothing)
    return reader, writer


@asynccontextmanager
async def open_streams(
    reader: int, writer: int, lost: Callable[..., object]
) -> AsyncIterator[tuple[ReadStream[SessionMessage | Exception], WriteStream[SessionMessage]]]:
    """Open the streams of a server. Its input ends once every request that came before the end has its answer.

    Two threads wait for the client. They are daemons, so that none of them keeps the process alive.

    Args:
        reader, writer: As `take_over` returned them.
        lost: Called in the event loop when the writer takes no more, with the reason, and with `gone` if the client has closed
            its end, as it may.
    """
    to_server, seen = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    said, from_server = anyio.create_memory_object_stream[SessionMessage](0)
    refusals = said.clone()
    unanswered, spoken = set[str](), anyio.Event()  # the ids of requests; a client may write a number as a string

    async def take(line: bytes) -> None:
        message, refusal = parse_message(line)
        if refusal is not None:
            await refusals.send(SessionMessage(refusal))
        elif message is not None:
            _hear(message, unanswered)
            await to_server.send(SessionMessage(message))

    async def finish() -> None:
        with anyio.move_on_after(LAST_ANSWERS_SECONDS):
            while unanswered:
                await anyio.sleep(POLL_SECONDS)
        await to_server.aclose()
        await refusals.aclose()

    async def speak() -> None:
        try:
            async for item in from_server:
                await anyio.to_thread.run_sync(write, writer, to_line(item.message), abandon_on_cancel=True)
                if isinstance(item.message, types.JSONRPCResponse | types.JSONRPCError):
                    unanswered.discard(str(item.message.id))
        except OSError as error:
            lost(error.strerror or str(error), gone=isinstance(error, BrokenPipeError))
        spoken.set()

    def listen() -> None:
        with suppress(Exception):  # once the server has ended nobody takes them any more
            for line in read_lines(reader):
                portal.call(take, line)
            portal.call(finish)

    async with anyio.create_task_group() as group, BlockingPortal() as portal:
        group.start_soon(speak)
        threading.Thread(target=listen, name="memory-mcp-input", daemon=True).start()
        leave = partial(portal.call, partial(lost, "the client has closed it", gone=True))
        threading.Thread(target=watch, args=(writer, leave), name="memory-mcp-output", daemon=True).start()
        try:
            yield seen, said
        finally:
            await portal.stop(cancel_remaining=True)
            said.close()
            refusals.close()
            with anyio.move_on_after(LAST_WORDS_SECONDS):
                await spoken.wait()
            group.cancel_scope.cancel()


def watch(writer: int, leave: Callable[[], object]) -> None:
    """Leave once the other end of a stream is closed; a file has none, and Windows does not tell."""
    if hasattr(select, "poll"):
        poll = select.poll()
        poll.register(writer, 0)  # errors and hang-ups are told of unasked
        poll.poll()
        with suppress(RuntimeError):
            leave()


def _hear(message: types.JSONRPCMessage, unanswered: set[str]) -> None:
    """Note a request; one that is cancelled gets no answer, and one that listens for changes gets it at the end only."""
    if isinstance(message, types.JSONRPCRequest) and message.method != "subscriptions/listen":
        unanswered.add(str(message.id))
    elif isinstance(message, types.JSONRPCNotification) and message.method == "notifications/cancelled":
        unanswered.discard(str((message.params or {}).get("requestId")))


def read_lines(descriptor: int) -> Iterator[bytes]:
    """Yield the lines of a stream until it ends, but no blank ones; of one longer than `MAX_LINE_BYTES`, one byte more."""
    with open(descriptor, "rb", closefd=False) as stream, suppress(OSError):  # a terminal that is gone
        while line := stream.readline(MAX_LINE_BYTES + 1):
            if line.strip() or len(line) > MAX_LINE_BYTES:
                yield line.removesuffix(b"\n")
            while len(line) > MAX_LINE_BYTES and not line.endswith(b"\n"):
                line = stream.readline(MAX_LINE_BYTES + 1)


def parse_message(line: bytes) -> tuple[types.JSONRPCMessage | None, types.JSONRPCError | None]:
    """Return the message in a line, or the error to answer with; exactly one of them is None.

    Args:
        line: One line, as `read_lines` yields it.
    """
    if len(line) > MAX_LINE_BYTES:
        return None, _refuse(types.INVALID_REQUEST, f"the line is longer than {MAX_LINE_BYTES:,} bytes", find_id(line))
    try:
        document = from_json(tidy_json(line), allow_inf_nan=False)
    except ValueError as error:
        return None, _refuse(types.PARSE_ERROR, f"the line is no JSON: {error}", find_id(line))
    if not isinstance(document, dict):
        return None, _refuse(types.INVALID_REQUEST, "expected one JSON-RPC message, which is an object")
    known = _keep_id(document.get("id"))
    if "method" in document and "id" in document and known is None:
        return None, _refuse(types.INVALID_REQUEST, "id: expected a string or an integer")
    try:
        return types.jsonrpc_message_adapter.validate_python(document, by_name=False), None
    except ValidationError:
        # A message without a method answers a request of ours, whose number must not be taken for one of the client's.
        told = 'expected a JSON-RPC message: {"jsonrpc": "2.0", "id": 1, "method": "...", "params": {}}'
        return None, _refuse(types.INVALID_REQUEST, told, known if "method" in document else None)


def _refuse(code: int, message: str, number: int | str | None = None) -> types.JSONRPCError:
    return types.JSONRPCError(jsonrpc="2.0", id=number, error=types.ErrorData(code=code, message=message))


def tidy_json(data: bytes) -> bytes:
    """Return JSON without marks of a byte order, halves of surrogates and bare control characters, which strict readers refuse.

    What is strict already, and what is no JSON at all, comes back without the marks only.
    """
    data = data.lstrip(b"\xef\xbb\xbf \t")
    try:
        from_json(data)
    except ValueError:
        with suppress(ValueError, RecursionError):
            document = json.loads(data.decode(errors="surrogatepass"), strict=False)
            return replace_surrogates(json.dumps(document, ensure_ascii=False)).encode()
    return data


def find_id(line: bytes) -> int | str | None:
    """Return the id of a request that cannot be parsed; None where none can be read, or no method says that it is a request."""
    depth, key, awaits, called, number = 0, b"", False, False, None
    for found in _JSON_TOKEN.finditer(line):
        token = found[0]
        if token in (b"{", b"["):
            depth, awaits = depth + 1, False
        elif token in (b"}", b"]"):
            depth -= 1
        elif depth == 1 and token == b":":
            awaits = True
        elif depth == 1 and token != b",":
            if not awaits:
                key = token
            elif key == b'"method"':
                called = True
            elif key == b'"id"':
                with suppress(ValueError):
                    number = _keep_id(from_json(token))
            awaits = False
        if depth < 1 and token in (b"}", b"]"):
            break
    return number if called else None


def _keep_id(value: object) -> int | str | None:
    return value if isinstance(value, int | str) and not isinstance(value, bool) else None


def to_line(message: types.JSONRPCMessage) -> bytes:
    """Return a message as one line; in place of one that JSON cannot hold, an error that says so."""
    try:
        line = message.model_dump_json(by_alias=True, exclude_unset=True)
        for mark in SEPARATORS:
            line = line.replace(mark, f"\\u{ord(mark):04x}")
        return line.encode() + b"\n"
    except ValueError as error:  # lone surrogates
        told = f"the answer is no JSON: {error.__class__.__name__}"
        return to_line(_refuse(types.INTERNAL_ERROR, told, getattr(message, "id", None)))


def write(writer: int, data: bytes) -> None:
    """Write all of the data."""
    left = memoryview(data)
    while left:
        left = left[os.write(writer, left) :]
