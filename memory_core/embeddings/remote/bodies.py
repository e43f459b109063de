"""Bodies of HTTP answers, read within bounds: so many bytes as they come, and so many when they are unpacked."""

from __future__ import annotations

import contextlib
import zlib
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from dataclasses import dataclass, field

# What every request accepts; an answer that is packed otherwise was not asked for.
ACCEPTED = "gzip, deflate"
# A refusal is searched for known words and shown in one line; what is behind this is not read.
MAX_REFUSAL_BYTES = 64 << 10
# Of answers to all requests but those for embeddings, which say themselves how much may come.
MAX_ANSWER_BYTES = 8 << 20
_MAX_LAYERS = 2


# 8,192 dimensions, written with 25 characters each, which is more than any model and any server needs.
_TEXT_BYTES = 200 << 10
_MAX_EMBEDDINGS_BYTES = 256 << 20
# 50,000 vectors of 3,072 dimensions, as the batch API sends them, take 820 MB.
_MAX_RESULTS_BYTES = 1 << 30


def bound_answer(texts: int) -> int:
    """Return the most bytes that the embeddings of so many texts can take."""
    return min((1 << 20) + texts * _TEXT_BYTES, _MAX_EMBEDDINGS_BYTES)


def bound_results(texts: int) -> int:
    """Return the most bytes that the results of a batch job of so many texts can take."""
    return min((1 << 20) + texts * _TEXT_BYTES, _MAX_RESULTS_BYTES)


class BadBody(Exception):
    """A body that cannot be read; the text says why."""


@dataclass(slots=True)
class Body:
    """Collects the pieces of one body.

    Attributes:
        limit_bytes: The most that is taken, packed and unpacked.
        cuts: True if what is behind the limit is left out; False if such a body is refused.
    """

    limit_bytes: int
    cuts: bool
    _unpackers: list[Callable[[bytes], bytes]] = field(default_factory=list)
    _received: int = 0
    _unpacked: bytearray = field(default_factory=bytearray)
    _is_full: bool = False

    @classmethod
    def of(cls, status: int, headers: Mapping[str, str], limit_bytes: int) -> Body:
        """Begin the body of an answer; `headers` are found by lower-case name.

        Raises:
            BadBody: It is packed in a way that was not asked for.
        """
        refused = status >= 300
        body = cls(MAX_REFUSAL_BYTES if refused else limit_bytes, cuts=refused)
        names = [name.strip().lower() for name in headers.get("content-encoding", "")[:200].split(",")]
        layers = [name for name in reversed(names) if name not in {"", "identity"}]
        if len(layers) > _MAX_LAYERS or not set(layers) <= {"gzip", "x-gzip", "deflate"}:
            raise BadBody("its answer is compressed in a way that was not asked for")
        body._unpackers = [body._new_unpacker(deflated=name == "deflate") for name in layers]
        return body

    def add(self, piece: bytes) -> bool:
        """Take a piece; return False when no more is wanted.

        Raises:
            BadBody: The body is too large, or what it is packed into is damaged.
        """
        self._received += len(piece)
        try:
            for unpack in self._unpackers:
                piece = unpack(piece)
        except zlib.error as error:
            raise BadBody("its answer cannot be decompressed") from error
        self._unpacked += piece
        if not self._is_full and max(self._received, len(self._unpacked)) <= self.limit_bytes:
            return True
        if not self.cuts:
            raise BadBody(f"its answer is larger than {self.limit_bytes / 1e6:.1f} MB")
        del self._unpacked[self.limit_bytes :]
        return False

    def content(self) -> bytes:
        """Return what was collected."""
        return bytes(self._unpacked)

    def _new_unpacker(self, *, deflated: bool) -> Callable[[bytes], bytes]:
        # 47 finds out by itself whether the stream is gzip or zlib; "deflate" of some servers is neither.
        unpacker = zlib.decompressobj(47)
        begun = False

        def unpack(piece: bytes) -> bytes:
            nonlocal unpacker, begun
            room = self.limit_bytes - len(self._unpacked) + 1
            if not piece or unpacker.eof:
                return b""
            try:
                unpacked = unpacker.decompress(piece, room)
            except zlib.error:
                if begun or not deflated:
                    raise
                unpacker = zlib.decompressobj(-15)
                unpacked = unpacker.decompress(piece, room)
            begun = True
            self._is_full |= bool(unpacker.unconsumed_tail)  # of whichever layer: the rest of it would be lost
            return unpacked

        return unpack


async def read_body(body: Body, pieces: AsyncGenerator[bytes, None]) -> bytes:
    """Read a body from the pieces in which it comes, which are closed in the end.

    Raises:
        BadBody: It cannot be read.
    """
    async with contextlib.aclosing(pieces):
        async for piece in pieces:
            if not body.add(piece):
                break
    return body.content()


def read_body_now(body: Body, pieces: Iterator[bytes]) -> bytes:
    """Read a body like `read_body`, in a thread that may block."""
    for piece in pieces:
        if not body.add(piece):
            break
    return body.content()
