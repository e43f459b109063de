"""One HTTP call: bounded in bytes and in time, kept out of logs, with refusals and all errors turned into ours.

`HttpApi` makes it, and is the common half of the protocols that are spoken so: JSON objects as answers, and vectors in them.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import json
import logging
import zlib
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit, urlunsplit

from memory_core.embeddings.credentials import Endpoint, find_origin, is_on_this_machine
from memory_core.embeddings.error_mapping import ForeignError, extract_message, from_status, scrub
from memory_core.embeddings.models import Plan
from memory_core.embeddings.protocols import make_unusable
from memory_core.embeddings.vectors import decode, shorten
from memory_core.errors import (
    InvalidEmbedding,
    ProviderError,
    ProviderUnavailable,
    ProviderUnreachable,
    RequestTimeout,
)

if TYPE_CHECKING:
    import httpx

    from memory_core.embeddings.vectors import Row

# What every request accepts; an answer that is packed otherwise was not asked for.
ACCEPTED = "gzip, deflate"
# A refusal is searched for known words and shown in one line; what is behind this is not read.
MAX_REFUSAL_BYTES = 64 << 10
# Of answers to all requests but those for embeddings, which say themselves how much may come.
MAX_ANSWER_BYTES = 8 << 20
# 8,192 dimensions, written with 25 characters each, which is more than any model and any server needs.
_TEXT_BYTES = 200 << 10
_MAX_EMBEDDINGS_BYTES = 256 << 20
# 50,000 vectors of 3,072 dimensions, as the batch API sends them, take 820 MB.
MAX_RESULTS_BYTES = 1 << 30


def bound_answer(texts: int, *, most_bytes: int = _MAX_EMBEDDINGS_BYTES) -> int:
    """Return the most bytes that the embeddings of so many texts can take."""
    return min((1 << 20) + texts * _TEXT_BYTES, most_bytes)


class BadBody(Exception):
    """A body that cannot be read; the text says why."""


class Body:
    """Collects the pieces of an answer's body. A refusal is cut at a limit; any other body above its limit is an error.

    Args:
        status: Of the answer.
        headers: Of the answer, found by lower-case name.
        limit_bytes: The most that is taken.

    Attributes:
        content: What was collected.

    Raises:
        BadBody: It is packed in a way that was not asked for, or twice, which could unpack to any size.
    """

    def __init__(self, status: int, headers: Mapping[str, str], limit_bytes: int) -> None:
        self._cuts = status >= 300
        self._limit_bytes = MAX_REFUSAL_BYTES if self._cuts else limit_bytes
        self.content = bytearray()
        packed = headers.get("content-encoding", "").strip().lower()
        if packed not in {"", "identity", "gzip", "deflate"}:
            raise BadBody("its answer is compressed in a way that was not asked for")
        # httpx unpacks each piece whole, and 64 KB may hold 64 MB. 47 tells gzip from zlib.
        self._unpacker = zlib.decompressobj(47) if packed in {"gzip", "deflate"} else None

    def add(self, piece: bytes) -> bool:
        """Take a piece as it came; return False when no more is wanted.

        Raises:
            BadBody: The body is too large, or cannot be unpacked.
        """
        if self._unpacker is not None:
            try:
                piece = self._unpacker.decompress(piece, self._limit_bytes + 1 - len(self.content))
            except zlib.error as error:
                raise BadBody("its answer cannot be decompressed") from error
        self.content += piece
        if len(self.content) <= self._limit_bytes:
            return True
        if not self._cuts:
            raise BadBody(f"its answer is larger than {self._limit_bytes / 1e6:.1f} MB")
        del self.content[self._limit_bytes :]
        return False


_NETWORK_ACTION = "Check the network, and memorySearch.remote.baseUrl where it is set."
_URL_ACTION = "Check that it runs and that memorySearch.remote.baseUrl is right."

_unlogged: contextvars.ContextVar[bool] = contextvars.ContextVar("memory_core_unlogged", default=False)


def _keep_others(_: logging.LogRecord) -> bool:
    """Let pass the records of everybody's requests but ours, whose URLs and headers may hold credentials."""
    return not _unlogged.get()


_LOGGERS = ("httpx", "httpcore.http11", "httpcore.proxy", "openai._base_client")


@contextmanager
def keep_out_of_logs() -> Iterator[None]:
    """Keep the requests of a block out of the logs of HTTP libraries; those of other threads and tasks are logged on."""
    for name in _LOGGERS:
        logging.getLogger(name).addFilter(_keep_others)  # once, however often it is added
    token = _unlogged.set(True)
    try:
        yield
    finally:
        _unlogged.reset(token)


def join_url(base: str, path: str) -> str:
    """Append a path to the path of a URL; its query string stays behind it."""
    parts = urlsplit(base)
    return urlunsplit(parts._replace(path=parts.path.rstrip("/") + path, fragment=""))


class HttpApi:
    """A client of one endpoint, for one event loop: what every `Transport` and `BatchApi` over HTTP shares.

    Each vendor's adds its requests and reads its answers. httpx is imported when the first request is sent.
    """

    max_texts = 50_000
    key_header, key_prefix = "Authorization", "Bearer "

    def __init__(self, endpoint: Endpoint, plan: Plan) -> None:
        self._endpoint = endpoint
        self._provider = endpoint.provider
        self._url = endpoint.base_url or ""
        self._plan = plan
        self._client: httpx.AsyncClient | None = None

    async def load(self) -> None:
        """See `Transport`: httpx needs no time to load."""

    async def request(
        self, method: str, url: str, *, max_bytes: int = MAX_ANSWER_BYTES, **arguments: Any
    ) -> tuple[int, Mapping[str, str], bytes]:
        """Return status, headers and body of an answer, whatever its status; the body of a refusal may be cut.

        Args:
            method: Of HTTP.
            url: Where the request goes.
            max_bytes: The most that the body may hold, before and after it is decompressed.
            arguments: Of `httpx.AsyncClient.stream`.

        Raises:
            ProviderError: No answer came, or not in time, or one that cannot be read.
        """
        timeout = self._endpoint.timeout_seconds
        try:
            with keep_out_of_logs():
                async with asyncio.timeout(timeout):
                    return await self._exchange(method, url, max_bytes, arguments)
        except ProviderError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever httpx raises is mapped
            failure = error
        # Raised outside the handler: the original, whose text may hold a header, is no part of the new error's context.
        shown = scrub(str(failure), self._endpoint.secrets)
        raise self._map_error(failure, url, shown) from ForeignError.of(failure, shown)

    async def fetch(
        self, method: str, url: str, *, max_bytes: int = MAX_ANSWER_BYTES, **arguments: Any
    ) -> tuple[Mapping[str, str], bytes]:
        """Return headers and body of an answer that is no refusal.

        Raises:
            ProviderError: The request was refused, or no answer came.
        """
        status, headers, body = await self.request(method, url, max_bytes=max_bytes, **arguments)
        if status >= 300:
            raise self.to_error(status, headers, body)
        return headers, body

    def to_error(self, status: int, headers: Mapping[str, str], body: bytes) -> ProviderError:
        """Return the error that a refusal stands for, its message without secrets."""
        text = body.decode("utf-8", errors="replace")
        shown = scrub(extract_message(text), self._endpoint.secrets)
        return from_status(self._provider, status, text, headers, shown=shown)

    async def close(self) -> None:
        """See `Transport` and `BatchApi`."""
        if self._client is not None:
            await self._client.aclose()

    async def _exchange(
        self, method: str, url: str, max_bytes: int, arguments: Mapping[str, Any]
    ) -> tuple[int, Mapping[str, str], bytes]:
        if self._client is None:
            self._client = self._new_client()
        async with self._client.stream(method, url, **arguments) as answer:
            body = Body(answer.status_code, answer.headers, max_bytes)
            async with contextlib.aclosing(cast("AsyncGenerator[bytes, None]", answer.aiter_raw())) as pieces:
                async for piece in pieces:
                    if not body.add(piece):
                        break
            return answer.status_code, answer.headers, bytes(body.content)

    def _map_error(self, error: Exception, url: str, shown: str) -> ProviderError:
        import httpx

        provider, place = self._provider, find_origin(url)
        if isinstance(error, TimeoutError):
            return RequestTimeout(provider, f"{place} did not answer within {self._endpoint.timeout_seconds:g} s")
        if isinstance(error, BadBody):
            return ProviderUnavailable(provider, f"{place}: {error}", action=_URL_ACTION)
        if isinstance(error, httpx.TransportError):
            kind = ProviderUnreachable if isinstance(error, httpx.ConnectError) else ProviderUnavailable
            reason = shown or type(error).__name__
            action = _URL_ACTION if is_on_this_machine(url) else _NETWORK_ACTION
            unreached = kind(provider, f"{place} cannot be reached: {reason}", action=action)
            unreached.about_text = kind is ProviderUnavailable  # a text may end the server
            return unreached
        if isinstance(error, httpx.InvalidURL | UnicodeError):
            return make_unusable(provider, "its URL cannot be used", action=_URL_ACTION)
        return InvalidEmbedding(provider, f"the exchange with {place} failed: {type(error).__name__}: {shown}")

    def _new_client(self) -> httpx.AsyncClient:
        """Make a client without timeouts, redirects (a key would go along), and proxies for this machine."""
        import httpx

        endpoint, on_this_machine = self._endpoint, is_on_this_machine(self._url)
        key = {self.key_header: self.key_prefix + endpoint.api_key.reveal()} if endpoint.api_key else {}
        client = httpx.AsyncClient(
            timeout=None,  # noqa: S113 - each request stands under asyncio.timeout, which bounds it as a whole
            headers=key,
            trust_env=not on_this_machine,
            # Loading certificates that are not used takes 45 ms.
            verify=not (on_this_machine and urlsplit(self._url).scheme == "http"),
        )
        client.headers.update({name: value.reveal() for name, value in endpoint.headers.items()})
        client.headers["Accept-Encoding"] = ACCEPTED
        return client

    async def _fetch_object(self, method: str, url: str, **arguments: Any) -> dict[str, Any]:
        """Return the JSON object that answers a request.

        Raises:
            InvalidEmbedding: The body is no JSON object.
        """
        _, body = await self.fetch(method, url, **arguments)
        found = _parse_object(body)
        if found is None:
            raise InvalidEmbedding(self._provider, "its batch API sent no JSON object")
        return found

    def _read_rows(self, body: bytes, find_vectors: Callable[[Any], list[Any]]) -> list[Row]:
        """Return the vectors of an answer, each where its text stood in the request."""
        vectors: list[Any] | None
        try:
            vectors = find_vectors(json.loads(body))
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            vectors = None
        if vectors is None:  # outside the handler: the answer is no part of the new error's context
            raise InvalidEmbedding(self._provider, f"{find_origin(self._url)} sent no embeddings that could be read")
        dimensions = self._plan.shortened_dimensions
        return [shorten(decode(vector, provider=self._provider), dimensions) for vector in vectors]

    async def _fetch_rows(
        self, url: str, texts: int, find_vector: Callable[[dict[str, Any]], tuple[Any, Any]]
    ) -> Mapping[str, Row]:
        """Return the vectors of a results file by key; a text whose line holds none is sent by a request."""
        limit = bound_answer(texts, most_bytes=MAX_RESULTS_BYTES)
        _, body = await self.fetch("GET", url, max_bytes=limit)
        rows = {}
        for line in filter(None, map(_parse_object, body.splitlines())):
            key, vector = find_vector(line)
            with suppress(InvalidEmbedding):
                rows[str(key)] = decode(vector, provider=self._provider)
        return rows


def _parse_object(text: bytes) -> dict[str, Any] | None:
    """Return a JSON object; None for what is none."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
