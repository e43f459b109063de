"""The streams of an MCP server over standard input and output.

They differ from those of the package mcp in what a server must survive: the first lines are answered before the server is there,
whatever is no message is answered with an error, and a client that has gone is noticed even while nobody writes. The threads are
daemons, so that none of them keeps the process alive.
"""

from __future__ import annotations

import itertools
import select
import threading
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable
from concurrent.futures import Future
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any

from memory_core.hosts.mcp.greeting import Greeting
from memory_core.hosts.mcp.lines import OutputLost, explain_loss, parse_message, read_lines, to_line, write

if TYPE_CHECKING:
    from anyio.from_thread import BlockingPortal
    from mcp.shared._stream_protocols import ReadStream, WriteStream
    from mcp.shared.message import SessionMessage
    from mcp_types import JSONRPCMessage

    Incoming = ReadStream[SessionMessage | Exception]
    Outgoing = WriteStream[SessionMessage]

LAST_ANSWERS_SECONDS = 60.0  # for what was asked before the input ended; longer than any tool takes
LAST_WORDS_SECONDS = 5.0  # for a client that has closed its end and reads slowly


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
            False if the input ended without that, or the client has closed its end of the output.

        Raises:
            OutputLost: Standard output takes no more.
        """
        _start_thread(self._listen, "memory-mcp-input")
        self._wanted.wait()
        if self._lost is not None and self._lost.gone:
            return False
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
            self._lost = explain_loss(error)
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
                write(self.writer, answer)
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
            await open_requests.wait_for_answers()
        await to_server.aclose()
        await refusals.aclose()

    spoken = anyio.Event()

    async def speak() -> None:
        try:
            async for item in from_server:
                if not entrance.is_given(item.message):
                    await anyio.to_thread.run_sync(
                        write, entrance.writer, to_line(item.message), abandon_on_cancel=True
                    )
                open_requests.answer(item.message)
        except OSError as error:
            lost(explain_loss(error))
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
        """Count a request; one that is cancelled gets no answer, and one that listens for changes gets it at the end only."""
        from mcp_types import JSONRPCNotification, JSONRPCRequest

        if isinstance(message, JSONRPCRequest) and message.method != "subscriptions/listen":
            self._counts[str(message.id)] += 1
        elif isinstance(message, JSONRPCNotification) and message.method == "notifications/cancelled":
            self._discard((message.params or {}).get("requestId"))

    def answer(self, message: JSONRPCMessage) -> None:
        """Take an answer off the count."""
        from mcp_types import JSONRPCError, JSONRPCResponse

        if isinstance(message, JSONRPCResponse | JSONRPCError):
            self._discard(message.id)

    async def wait_for_answers(self) -> None:
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


def _watch(writer: int, portal: BlockingPortal, lost: Callable[[OutputLost], Any]) -> None:
    """Wait until the other end of standard output is closed; a file has none."""
    poll = select.poll()
    poll.register(writer, 0)  # errors and hang-ups are told of unasked
    poll.poll()
    with suppress(RuntimeError):
        portal.call(lost, OutputLost("the client has closed it", gone=True))
