"""The streams of an MCP server over standard input and output.

They differ from those of the package mcp in what a server must survive: a line that is no message is answered with an error, an
answer that JSON cannot hold with another one, and a client that has gone is noticed even while nobody writes. The threads are
daemons, so that none of them keeps the process alive.
"""

from __future__ import annotations

import itertools
import os
import select
import threading
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator
from concurrent.futures import Future
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any

from memory_core.errors import MemoryCoreError
from memory_core.hosts.mcp.greeting import Greeting

if TYPE_CHECKING:
    from anyio.from_thread import BlockingPortal
    from mcp.shared._stream_protocols import ReadStream, WriteStream
    from mcp.shared.message import SessionMessage
    from mcp_types import JSONRPCError, JSONRPCMessage

    Incoming = ReadStream[SessionMessage | Exception]
    Outgoing = WriteStream[SessionMessage]

MAX_LINE_BYTES = 8 * 1024 * 1024  # the longest text that memory_append takes is 64 KB
LAST_ANSWERS_SECONDS = 60.0  # for what was asked before the input ended; longer than any tool takes
LAST_WORDS_SECONDS = 5.0  # for a client that has closed its end and reads slowly
_READ_BYTES = 64 * 1024
_FIRST_FREE = 3  # above the three standard streams


class OutputLost(MemoryCoreError):
    """Standard output takes no more.

    Attributes:
        gone: The client has closed its end, as it may; else the system refused.
    """

    def __init__(self, reason: str, *, gone: bool) -> None:
        super().__init__(f"standard output cannot be written: {reason}", action="start the server from an MCP client")
        self.gone = gone


def take_over() -> tuple[int, int]:
    """Return descriptors of standard input and output that nobody else has.

    From now on whatever reads standard input finds it empty, and what is printed goes to standard error: the protocol alone
    reaches the client.

    Raises:
        MemoryCoreError: One of them is closed.
    """
    reader, writer = _duplicate(0, "standard input"), _duplicate(1, "standard output")
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    try:
        os.dup2(2, 1)
    except OSError:  # standard error is closed
        os.dup2(nothing, 1)
    os.close(nothing)
    return reader, writer


def _duplicate(descriptor: int, name: str) -> int:
    try:
        try:
            import fcntl
        except ImportError:  # Windows, which numbers them itself
            return os.dup(descriptor)
        return fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, _FIRST_FREE)
    except OSError as error:
        raise MemoryCoreError(f"{name} is closed", action="start the server from an MCP client") from error


def read_lines(descriptor: int) -> Iterator[bytes | None]:
    """Yield the lines of a stream until it ends; None in place of one that is longer than `MAX_LINE_BYTES`."""
    held = bytearray()
    skipping = False
    while chunk := _read(descriptor):
        *ends, rest = chunk.split(b"\n")
        for end in ends:
            fits = not skipping and len(held) + len(end) <= MAX_LINE_BYTES
            yield bytes(held + end) if fits else None
            held.clear()
            skipping = False
        skipping = skipping or len(held) + len(rest) > MAX_LINE_BYTES
        if skipping:
            held.clear()
        else:
            held += rest
    if held or skipping:
        yield None if skipping else bytes(held)


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, _READ_BYTES)
    except OSError:  # a terminal that is gone
        return b""


def parse_message(line: bytes | None) -> tuple[JSONRPCMessage | None, JSONRPCError | None]:
    """Return the message in a line, or the error to answer with; exactly one of them is None.

    Args:
        line: One line; None for one that is too long.
    """
    import mcp_types as types
    from pydantic import ValidationError
    from pydantic_core import from_json

    def refuse(code: int, message: str, number: int | str | None = None) -> tuple[None, JSONRPCError]:
        error = types.ErrorData(code=code, message=message)
        return None, types.JSONRPCError(jsonrpc="2.0", id=number, error=error)

    if line is None:
        return refuse(types.INVALID_REQUEST, f"the line is longer than {MAX_LINE_BYTES:,} bytes")
    try:
        document = from_json(line, allow_inf_nan=False)
    except ValueError as error:
        return refuse(types.PARSE_ERROR, f"the line is no JSON: {error}")
    if not isinstance(document, dict):
        return refuse(types.INVALID_REQUEST, "expected one JSON-RPC message, which is an object")
    number = document.get("id")
    known = number if isinstance(number, int | str) and not isinstance(number, bool) else None
    if "method" in document and "id" in document and known is None:
        return refuse(types.INVALID_REQUEST, "id: expected a string or an integer")
    try:
        return types.jsonrpc_message_adapter.validate_python(document, by_name=False), None
    except ValidationError:
        # A message without a method answers a request of ours, whose number must not be taken for one of the client's.
        return refuse(
            types.INVALID_REQUEST,
            'expected a JSON-RPC message: {"jsonrpc": "2.0", "id": 1, "method": "...", "params": {}}',
            known if "method" in document else None,
        )


def to_line(message: JSONRPCMessage) -> bytes:
    """Return a message as one line; in place of one that JSON cannot hold, an error that says so."""
    import mcp_types as types

    try:
        return message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"
    except ValueError as error:  # lone surrogates
        reason = types.ErrorData(
            code=types.INTERNAL_ERROR, message=f"the answer is no JSON: {error.__class__.__name__}"
        )
        number = getattr(message, "id", None)
        failed = types.JSONRPCError(jsonrpc="2.0", id=number, error=reason)
        return failed.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"


class Entrance:
    """The input of a server from its first line on: the greeting answers while it can, then the server hears the lines.

    Args:
        reader, writer: As `take_over` returned them.
        greeting: Answers the first lines.
    """

    def __init__(self, reader: int, writer: int, greeting: Greeting) -> None:
        self.writer = writer
        self._reader = reader
        self._greeting = greeting
        self._greeted: int | str | None = None  # the id of an answer that the server gives once more
        self._lock = threading.Lock()  # held while one line is answered, and while the server takes over
        self._wanted = threading.Event()
        self._ended = False
        self._lost: OutputLost | None = None
        self._server: Future[tuple[Callable[[bytes | None], Any], Callable[[], Any]]] = Future()

    def open(self) -> bool:
        """Listen in a thread, and wait until there is something for the server to do.

        Returns:
            False if the input ended without that.

        Raises:
            OutputLost: Standard output takes no more.
        """
        _start_thread(self._listen, "memory-mcp-input")
        self._wanted.wait()
        self._check()
        return not self._ended

    async def hand_over(
        self,
        take: Callable[[bytes | None], Coroutine[Any, Any, None]],
        finish: Callable[[], Coroutine[Any, Any, None]],
        portal: BlockingPortal,
    ) -> None:
        """Tell the server what it has to know of the greeting, and every line from now on.

        Raises:
            OutputLost: Standard output took no more meanwhile.
        """
        with self._lock:  # the thread waits for no more than one short answer
            self._check()
            self._greeted = self._greeting.opening
            for line in self._greeting.heard:
                await take(line)
            self._server.set_result((lambda line: portal.call(take, line), lambda: portal.call(finish)))

    def is_given(self, message: JSONRPCMessage) -> bool:
        """Return True for the server's answer to what the greeting has answered already; once."""
        from mcp_types import JSONRPCResponse

        if self._greeted is None or not isinstance(message, JSONRPCResponse) or message.id != self._greeted:
            return False
        self._greeted = None
        return True

    def _check(self) -> None:
        if self._lost is not None:
            raise self._lost

    def _listen(self) -> None:
        lines = (line for line in read_lines(self._reader) if line is None or line.strip())
        try:
            unanswered = self._greet(lines)
        except OSError as error:
            self._lost = _explain_loss(error)
            self._wanted.set()
            return
        self._ended = not unanswered
        self._wanted.set()
        take, finish = self._server.result()
        with suppress(Exception):  # once the server has ended nobody takes them any more
            for line in itertools.chain(unanswered, lines):
                take(line)
            finish()

    def _greet(self, lines: Iterable[bytes | None]) -> list[bytes | None]:
        """Answer lines until the server has to; return the first one for it, if any."""
        for line in lines:
            with self._lock:
                answer = None if self._server.done() else self._greeting.answer(line)
                if answer is None:
                    return [line]
                _write(self.writer, answer)
            self._wanted.set()
        return []


@asynccontextmanager
async def open_streams(
    entrance: Entrance, lost: Callable[[OutputLost], Any]
) -> AsyncIterator[tuple[Incoming, Outgoing]]:
    """Open the streams of a server. Its input ends once every request that came before the end has its answer.

    Args:
        entrance: Has listened so far.
        lost: Called in the event loop when the writer takes no more.
    """
    import anyio
    from anyio.from_thread import BlockingPortal
    from mcp.shared.message import SessionMessage

    to_server, seen = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    said, from_server = anyio.create_memory_object_stream[SessionMessage](0)
    refusals = said.clone()
    open_requests = _OpenRequests()

    async def take(line: bytes | None) -> None:
        message, refusal = parse_message(line)
        if refusal is not None:
            await refusals.send(SessionMessage(refusal))
        elif message is not None:
            open_requests.hear(message)
            await to_server.send(SessionMessage(message))

    async def finish() -> None:
        with anyio.move_on_after(LAST_ANSWERS_SECONDS):
            await open_requests.settled()
        await to_server.aclose()
        await refusals.aclose()

    spoken = anyio.Event()

    async def speak() -> None:
        try:
            async for item in from_server:
                if not entrance.is_given(item.message):
                    await anyio.to_thread.run_sync(
                        _write, entrance.writer, to_line(item.message), abandon_on_cancel=True
                    )
                open_requests.answer(item.message)
        except OSError as error:
            lost(_explain_loss(error))
        spoken.set()

    async def hand_over() -> None:
        try:
            await entrance.hand_over(take, finish, portal)
        except OutputLost as error:
            lost(error)

    async with anyio.create_task_group() as group, BlockingPortal() as portal:
        group.start_soon(speak)
        group.start_soon(hand_over)
        _start_thread(lambda: _watch(entrance.writer, portal, lost), "memory-mcp-output")
        try:
            yield seen, said
        finally:
            await portal.stop(cancel_remaining=True)
            said.close()
            refusals.close()
            with anyio.move_on_after(LAST_WORDS_SECONDS):
                await spoken.wait()
            group.cancel_scope.cancel()


class _OpenRequests:
    """The requests that still await an answer, by id; a client may use one id twice, and write a number as a string."""

    def __init__(self) -> None:
        import anyio

        self._counts: Counter[str] = Counter()
        self._changed = anyio.Event()

    def hear(self, message: JSONRPCMessage) -> None:
        """Count a request; one that is cancelled gets no answer."""
        from mcp_types import JSONRPCNotification, JSONRPCRequest

        if isinstance(message, JSONRPCRequest):
            self._counts[str(message.id)] += 1
        elif isinstance(message, JSONRPCNotification) and message.method == "notifications/cancelled":
            self._discard((message.params or {}).get("requestId"))

    def answer(self, message: JSONRPCMessage) -> None:
        """Take an answer off the count."""
        from mcp_types import JSONRPCError, JSONRPCResponse

        if isinstance(message, JSONRPCResponse | JSONRPCError):
            self._discard(message.id)

    async def settled(self) -> None:
        """Wait until no request is open."""
        import anyio

        while self._counts.total():
            self._changed = anyio.Event()
            await self._changed.wait()

    def _discard(self, number: object) -> None:
        """Forget a request; a client may send anything for its id."""
        name = str(number) if isinstance(number, int | str) else ""
        if self._counts[name] > 1:
            self._counts[name] -= 1
        else:
            del self._counts[name]
        self._changed.set()


def _start_thread(run: Callable[[], None], name: str) -> None:
    threading.Thread(target=run, name=name, daemon=True).start()


def _explain_loss(error: OSError) -> OutputLost:
    return OutputLost(error.strerror or str(error), gone=isinstance(error, BrokenPipeError))


def _watch(writer: int, portal: BlockingPortal, lost: Callable[[OutputLost], Any]) -> None:
    """Wait until the other end of standard output is closed; a file has none."""
    poll = select.poll()
    poll.register(writer, 0)  # errors and hang-ups are told of unasked
    poll.poll()
    with suppress(RuntimeError):
        portal.call(lost, OutputLost("the client has closed it", gone=True))


def _write(writer: int, data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[os.write(writer, left) :]
