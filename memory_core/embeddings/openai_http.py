"""Providers that speak OpenAI's embeddings protocol, spoken to directly with httpx.

openai, openrouter, mistral, ollama, and any other server by its URL: vLLM, LM Studio, llama.cpp, gateways.
Protocol: https://platform.openai.com/docs/api-reference/embeddings/create
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from memory_core.embeddings.credentials import Endpoint, ResolveApiKey, origin, resolve_endpoint, scrubbed
from memory_core.embeddings.failures import from_status, lasting, message_of
from memory_core.embeddings.plan import Plan, plan
from memory_core.embeddings.requests import Kind, RequestProvider, Retries
from memory_core.embeddings.vectors import decoded, shortened
from memory_core.errors import InvalidEmbedding, ProviderError, ProviderUnavailable, RequestTimeout
from memory_core.settings import AgentConfig

if TYPE_CHECKING:
    import httpx
    import numpy as np
    from numpy.typing import NDArray

    Row = NDArray[np.float32]

LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


def open_provider(
    config: AgentConfig,
    *,
    environ: Mapping[str, str],
    resolve_api_key: ResolveApiKey | None = None,
    retries: Retries | None = None,
) -> RequestProvider:
    """The provider that `memorySearch.provider` names, one of those whose row has the route "openai". Opens nothing.

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
    )


class OpenAITransport:
    """Sends one request to `<base URL>/embeddings`. httpx is imported when the first one is sent."""

    def __init__(self, endpoint: Endpoint, what: Plan) -> None:
        self._endpoint = endpoint
        self._plan = what
        self._base64 = what.provider.base64
        self._client: httpx.AsyncClient | None = None

    async def send(self, texts: Sequence[str], kind: Kind) -> Sequence[Row]:
        """See `Transport`."""
        status, headers, body = await self._post(self._request(texts, kind))
        if self._base64 and status in {400, 422} and b"encoding_format" in body:
            self._base64 = False
            return await self.send(texts, kind)
        if status >= 300:
            raise self._refusal(status, headers, body)
        return self._rows(body, headers)

    async def close(self) -> None:
        """See `Transport`."""
        if self._client is not None:
            await self._client.aclose()

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

    async def _post(self, body: dict[str, Any]) -> tuple[int, Mapping[str, str], bytes]:
        import httpx

        provider, timeout = self._endpoint.provider, self._endpoint.timeout_seconds
        try:
            async with asyncio.timeout(timeout):
                answer = await self._opened().post(f"{self._endpoint.base_url}/embeddings", json=body)
        except TimeoutError as error:
            raise RequestTimeout(provider, f"{self._where()} did not answer within {timeout:g} s") from error
        except httpx.TransportError as error:
            reason = scrubbed(str(error), self._endpoint.secrets) or type(error).__name__
            raise ProviderUnavailable(
                provider,
                f"{self._where()} cannot be reached: {reason}",
                action="Check that it runs and that memorySearch.remote.baseUrl is right.",
            ) from error
        return answer.status_code, answer.headers, answer.content

    def _opened(self) -> httpx.AsyncClient:
        if self._client is None:
            self._client = new_client(self._endpoint, bearer=True)
        return self._client

    def _rows(self, body: bytes, headers: Mapping[str, str]) -> list[Row]:
        provider = self._endpoint.provider
        try:
            answer = json.loads(body)
            if "data" not in answer:
                raise self._refusal(_status_within(answer), headers, body)
            items = answer["data"]
            if all(isinstance(item.get("index"), int) for item in items):
                items = sorted(items, key=lambda item: item["index"])
            vectors = [item["embedding"] for item in items]
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise InvalidEmbedding(provider, f"{self._where()} sent no embeddings that could be read") from error
        wanted = self._plan.dimensions if self._plan.model.shortens else None
        return [shortened(decoded(vector, provider=provider), wanted or 0) for vector in vectors]

    def _refusal(self, status: int, headers: Mapping[str, str], body: bytes) -> ProviderError:
        text = body.decode("utf-8", errors="replace")
        shown = scrubbed(message_of(text), self._endpoint.secrets)
        error = from_status(self._endpoint.provider, status, text, headers, shown=shown)
        return lasting(error) if status < 400 and isinstance(error, ProviderUnavailable) else error

    def _where(self) -> str:
        return origin(self._endpoint.base_url or "")


def new_client(endpoint: Endpoint, *, bearer: bool) -> httpx.AsyncClient:
    """A client with the endpoint's headers. It has no timeouts of its own, follows no redirect (a key would go along),
    and asks no proxy for servers on this machine."""
    import httpx

    url = urlsplit(endpoint.base_url or "")
    on_this_machine = url.hostname in LOOPBACK
    headers = {"Authorization": f"Bearer {endpoint.api_key.reveal()}"} if bearer and endpoint.api_key else {}
    client = httpx.AsyncClient(
        timeout=None,  # noqa: S113 - each request stands under asyncio.timeout, which bounds it as a whole
        headers=headers,
        trust_env=not on_this_machine,
        verify=not (on_this_machine and url.scheme == "http"),  # loading certificates that are not used takes 45 ms
    )
    client.headers.update({name: value.reveal() for name, value in endpoint.headers.items()})
    return client


def _status_within(answer: Mapping[str, Any]) -> int:
    """The status of an error that came with HTTP 200 (OpenRouter does so); 502 when it names none."""
    error = answer.get("error")
    code = error.get("code") if isinstance(error, dict) else None
    return code if isinstance(code, int) and 400 <= code < 600 else 502
