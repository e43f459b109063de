"""The provider "gemini", spoken to directly with httpx: its own protocol, which is told if a text is a question or a note.

Protocol: https://ai.google.dev/api/embeddings#method:-models.batchembedcontents.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from memory_core.embeddings.credentials import Endpoint, find_origin
from memory_core.embeddings.plan import Plan
from memory_core.embeddings.protocols import TextKind
from memory_core.embeddings.remote.bodies import bound_answer
from memory_core.embeddings.remote.gemini_batches import make_item
from memory_core.embeddings.remote.http import Http, join_url
from memory_core.embeddings.vectors import decode, shorten
from memory_core.errors import InvalidEmbedding

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Row = NDArray[np.float32]


class GeminiTransport:
    """Sends one request to `<base URL>/models/<model>:batchEmbedContents`. httpx is imported when the first one is sent."""

    def __init__(self, endpoint: Endpoint, plan: Plan) -> None:
        self._endpoint = endpoint
        self._plan = plan
        self._http = Http(endpoint, key_header="x-goog-api-key", key_prefix="")

    async def send(self, texts: Sequence[str], kind: TextKind) -> Sequence[Row]:
        """See `Transport`."""
        url = join_url(self._endpoint.base_url or "", f"/models/{self._plan.space.model}:batchEmbedContents")
        request = {"requests": [make_item(self._plan, text, kind) for text in texts]}
        _, body = await self._http.fetch("POST", url, max_bytes=bound_answer(len(texts)), json=request)
        return self._read_rows(body)

    async def load(self) -> None:
        """See `Transport`."""

    async def close(self) -> None:
        """See `Transport`."""
        await self._http.close()

    def _read_rows(self, body: bytes) -> list[Row]:
        provider = self._endpoint.provider
        vectors: list[Any] | None
        try:
            vectors = [item["values"] for item in json.loads(body)["embeddings"]]
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            vectors = None
        if vectors is None:  # outside the handler: the answer is no part of the new error's context
            raise InvalidEmbedding(
                provider, f"{find_origin(self._endpoint.base_url or '')} sent no embeddings that could be read"
            )
        dimensions = self._plan.shortened_dimensions
        return [shorten(decode(vector, provider=provider), dimensions) for vector in vectors]
