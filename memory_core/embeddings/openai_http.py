"""Providers that speak OpenAI's embeddings protocol, spoken to directly with httpx.

openai, openrouter, mistral, ollama, and any other server by its URL: vLLM, LM Studio, llama.cpp, gateways.
Protocol: https://platform.openai.com/docs/api-reference/embeddings/create
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from memory_core.embeddings.batch import BatchBackfill, Switch
from memory_core.embeddings.batch_openai import OpenAIBatches
from memory_core.embeddings.credentials import Endpoint, ResolveApiKey, origin, resolve_endpoint
from memory_core.embeddings.http import Http
from memory_core.embeddings.job_log import FileJobLog
from memory_core.embeddings.plan import Plan, plan
from memory_core.embeddings.requests import Backfill, Kind, RequestProvider, Retries
from memory_core.embeddings.vectors import decoded, shortened
from memory_core.errors import InvalidEmbedding
from memory_core.settings import AgentConfig

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Row = NDArray[np.float32]


def open_provider(
    config: AgentConfig,
    *,
    environ: Mapping[str, str],
    resolve_api_key: ResolveApiKey | None = None,
    retries: Retries | None = None,
    switch: Switch | None = None,
) -> RequestProvider:
    """The provider that `memorySearch.provider` names, one of those whose row has the route "openai". Opens nothing.

    Args:
        switch: Turns batches off after failures; None is the one that holds for the process.

    Raises:
        ProviderUnavailable: No key, no model or no usable URL is configured.
    """
    provider = config.search.provider
    endpoint = resolve_endpoint(config, provider, environ=environ, resolve_api_key=resolve_api_key)
    what = plan(config, provider, endpoint=endpoint.fingerprint)
    return RequestProvider(
        what.space,
        OpenAITransport(endpoint, what),
        limits=what.limits(),
        concurrency=what.provider.concurrency,
        announce=what.announce,
        retries=retries,
        backfill=_backfill(config, endpoint, what, switch),
    )


def _backfill(config: AgentConfig, endpoint: Endpoint, what: Plan, switch: Switch | None) -> Backfill | None:
    batch = config.search.remote.batch
    if not batch.enabled or endpoint.provider != "openai":
        return None
    log = FileJobLog(config.store_path.with_suffix(".batches.json"))
    return BatchBackfill(OpenAIBatches(endpoint, what), what.space, batch, log, switch)


class OpenAITransport:
    """Sends one request to `<base URL>/embeddings`. httpx is imported when the first one is sent."""

    def __init__(self, endpoint: Endpoint, what: Plan) -> None:
        self._endpoint = endpoint
        self._plan = what
        self._base64 = what.provider.base64
        self._http = Http(endpoint)

    async def send(self, texts: Sequence[str], kind: Kind) -> Sequence[Row]:
        """See `Transport`."""
        url = f"{self._endpoint.base_url}/embeddings"
        status, headers, body = await self._http.request("POST", url, json=self._request(texts, kind))
        if self._base64 and status in {400, 422} and b"encoding_format" in body:
            self._base64 = False
            return await self.send(texts, kind)
        if status >= 300:
            raise self._http.refusal(status, headers, body)
        return self._rows(body, headers)

    async def ready(self) -> None:
        """See `Transport`; httpx is imported in no time."""

    async def close(self) -> None:
        """See `Transport`."""
        await self._http.close()

    def _request(self, texts: Sequence[str], kind: Kind) -> dict[str, Any]:
        what = self._plan
        input_type = what.document_type if kind == "document" else what.query_type
        optional = {
            what.provider.dimensions_field: what.dimensions,
            "input_type": input_type or None,
            "encoding_format": "base64" if self._base64 else None,
        }
        named = {name: value for name, value in optional.items() if value is not None}
        return {"model": what.space.model, "input": list(texts), **named}

    def _rows(self, body: bytes, headers: Mapping[str, str]) -> list[Row]:
        provider = self._endpoint.provider
        try:
            answer = json.loads(body)
            if "data" not in answer:
                raise self._http.refusal(_status_within(answer), headers, body)
            items = answer["data"]
            if all(isinstance(item.get("index"), int) for item in items):
                items = sorted(items, key=lambda item: item["index"])
            vectors = [item["embedding"] for item in items]
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise InvalidEmbedding(
                provider, f"{origin(self._endpoint.base_url or '')} sent no embeddings that could be read"
            ) from error
        wanted = self._plan.dimensions if self._plan.model.shortens else None
        return [shortened(decoded(vector, provider=provider), wanted or 0) for vector in vectors]


def _status_within(answer: Mapping[str, Any]) -> int:
    """The status of an error that came with HTTP 200 (OpenRouter does so); 502 when it names none."""
    error = answer.get("error")
    code = error.get("code") if isinstance(error, dict) else None
    return code if isinstance(code, int) and 400 <= code < 600 else 502
