"""Messages as lines of standard input and output.

A line that is no message is answered with an error, and an answer that JSON cannot hold with another one.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

from memory_core.errors import MemoryCoreError

if TYPE_CHECKING:
    from mcp_types import JSONRPCError, JSONRPCMessage

MAX_LINE_BYTES = 8 * 1024 * 1024  # the longest text that memory_append takes is 64 KB
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


def explain_loss(error: OSError) -> OutputLost:
    """Return why a write to standard output failed."""
    return OutputLost(error.strerror or str(error), gone=isinstance(error, BrokenPipeError))


def write(writer: int, data: bytes) -> None:
    """Write all of the data."""
    left = memoryview(data)
    while left:
        left = left[os.write(writer, left) :]
