"""The common half of the protocols that are spoken with httpx: an endpoint, JSON objects as answers, and vectors in them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from memory_core.embeddings.credentials import Endpoint, find_origin
from memory_core.embeddings.models import Plan
from memory_core.embeddings.remote.http import MAX_RESULTS_BYTES, Http, bound_answer
from memory_core.embeddings.vectors import decode, shorten
from memory_core.errors import InvalidEmbedding

if TYPE_CHECKING:
    from memory_core.embeddings.vectors import Row


class HttpApi:
    """A half of a `Transport` and of a `BatchApi`; what is asked, and where vectors stand in an answer, is the protocol's.

    httpx is imported when the first request is sent.
    """

    max_texts = 50_000

    def __init__(self, endpoint: Endpoint, plan: Plan, http: Http) -> None:
        self._provider = endpoint.provider
        self._url = endpoint.base_url or ""
        self._plan = plan
        self._http = http

    async def load(self) -> None:
        """See `Transport`: httpx needs no time to load."""

    async def close(self) -> None:
        """See `Transport` and `BatchApi`."""
        await self._http.close()

    async def _fetch_object(self, method: str, url: str, **arguments: Any) -> dict[str, Any]:
        """Return the JSON object that answers a request.

        Raises:
            InvalidEmbedding: The body is no JSON object.
        """
        _, body = await self._http.fetch(method, url, **arguments)
        try:
            found = json.loads(body)
        except (ValueError, RecursionError) as error:
            raise InvalidEmbedding(self._provider, "its batch API sent no JSON") from error
        if not isinstance(found, dict):
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
        _, body = await self._http.fetch("GET", url, max_bytes=limit)
        rows = {}
        for key, vector in map(find_vector, _parse_lines(body)):
            with suppress(InvalidEmbedding):
                rows[str(key)] = decode(vector, provider=self._provider)
        return rows


def _parse_lines(body: bytes) -> Iterator[dict[str, Any]]:
    """Yield the JSON objects of a results file; a line that is none counts as a text that failed."""
    for line in body.splitlines():
        try:
            found = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(found, dict):
            yield found
