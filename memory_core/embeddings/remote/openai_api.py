"""Providers that speak OpenAI's embeddings protocol, spoken to directly with httpx.

openai, openrouter, voyage, mistral, ollama, and any other server by its URL: vLLM, LM Studio, llama.cpp, gateways.
Protocol: https://platform.openai.com/docs/api-reference/embeddings/create
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from memory_core.embeddings.credentials import Endpoint, find_origin
from memory_core.embeddings.plan import Plan
from memory_core.embeddings.protocols import TextKind
from memory_core.embeddings.remote.bodies import MAX_REFUSAL_BYTES, bound_answer
from memory_core.embeddings.remote.http import Http, join_url
from memory_core.embeddings.vectors import decode, shorten
from memory_core.errors import InvalidEmbedding

if TYPE_CHECKING:
    from memory_core.embeddings.vectors import Row


class OpenAITransport:
    """Sends one request to `<base URL>/embeddings`. httpx is imported when the first one is sent."""

    def __init__(self, endpoint: Endpoint, plan: Plan) -> None:
        self._endpoint = endpoint
        self._plan = plan
        self._asks_base64 = plan.provider.base64
        self._http = Http(endpoint)

    async def send(self, texts: Sequence[str], kind: TextKind) -> Sequence[Row]:
        """See `Transport`."""
        url, limit = join_url(self._endpoint.base_url or "", "/embeddings"), bound_answer(len(texts))
        request = self._make_request(texts, kind)
        status, headers, body = await self._http.request("POST", url, max_bytes=limit, json=request)
        if self._asks_base64 and status in {400, 422} and b"encoding_format" in body:
            self._asks_base64 = False
            return await self.send(texts, kind)
        if status >= 300:
            raise self._http.to_error(status, headers, body)
        return self._read_rows(body, headers)

    async def load(self) -> None:
        """See `Transport`: httpx needs no time to load."""

    async def close(self) -> None:
        """See `Transport`."""
        await self._http.close()

    def _make_request(self, texts: Sequence[str], kind: TextKind) -> dict[str, Any]:
        plan = self._plan
        optional = {
            plan.provider.dimensions_field: plan.dimensions,
            "input_type": plan.input_type(kind) or None,
            "encoding_format": "base64" if self._asks_base64 else None,
        }
        named = {name: value for name, value in optional.items() if value is not None}
        return {"model": plan.space.model, "input": list(texts), **named}

    def _read_rows(self, body: bytes, headers: Mapping[str, str]) -> list[Row]:
        provider = self._endpoint.provider
        try:
            answer = json.loads(body)
            if "data" not in answer:
                raise self._http.to_error(_find_status(answer), headers, body[:MAX_REFUSAL_BYTES])
            items = answer["data"]
            if all(isinstance(item.get("index"), int) for item in items):
                items = sorted(items, key=lambda item: item["index"])
            vectors = [item["embedding"] for item in items]
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            vectors = None
        if vectors is None:  # outside the handler: the answer is no part of the new error's context
            raise InvalidEmbedding(
                provider, f"{find_origin(self._endpoint.base_url or '')} sent no embeddings that could be read"
            )
        dimensions = self._plan.shortened_dimensions
        return [shorten(decode(vector, provider=provider), dimensions) for vector in vectors]


def _find_status(answer: Mapping[str, Any]) -> int:
    """Return the status of an error that came with HTTP 200 (OpenRouter does so); 502 when it names none."""
    error = answer.get("error")
    code = error.get("code") if isinstance(error, dict) else None
    return code if isinstance(code, int) and 400 <= code < 600 else 502
