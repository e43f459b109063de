"""One HTTP call, with vendors' refusals and httpx's errors turned into ours."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from memory_core.embeddings.credentials import Endpoint, origin, scrubbed
from memory_core.embeddings.failures import from_status, lasting, message_of
from memory_core.errors import ProviderError, ProviderUnavailable, ProviderUnreachable, RequestTimeout

if TYPE_CHECKING:
    import httpx

LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


class Http:
    """A client of one endpoint. httpx is imported at the first call. Used in one event loop only."""

    def __init__(self, endpoint: Endpoint, *, key_header: str = "Authorization", key_prefix: str = "Bearer ") -> None:
        self._endpoint = endpoint
        self._key_header = key_header
        self._key_prefix = key_prefix
        self._client: httpx.AsyncClient | None = None

    async def request(self, method: str, url: str, **arguments: Any) -> tuple[int, Mapping[str, str], bytes]:
        """Status, headers and body of an answer, whatever its status.

        Raises:
            ProviderError: None came, or not in time.
        """
        import httpx

        provider, timeout = self._endpoint.provider, self._endpoint.timeout_seconds
        try:
            async with asyncio.timeout(timeout):
                answer = await self._opened().request(method, url, **arguments)
        except TimeoutError as error:
            raise RequestTimeout(provider, f"{origin(url)} did not answer within {timeout:g} s") from error
        except httpx.TransportError as error:
            reason = scrubbed(str(error), self._endpoint.secrets) or type(error).__name__
            kind = ProviderUnreachable if isinstance(error, httpx.ConnectError) else ProviderUnavailable
            raise kind(
                provider,
                f"{origin(url)} cannot be reached: {reason}",
                action="Check that it runs and that memorySearch.remote.baseUrl is right.",
            ) from error
        return answer.status_code, answer.headers, answer.content

    async def fetched(self, method: str, url: str, **arguments: Any) -> tuple[Mapping[str, str], bytes]:
        """Headers and body of an answer that is no refusal.

        Raises:
            ProviderError: It was refused, or none came.
        """
        status, headers, body = await self.request(method, url, **arguments)
        if status >= 300:
            raise self.refusal(status, headers, body)
        return headers, body

    def refusal(self, status: int, headers: Mapping[str, str], body: bytes) -> ProviderError:
        """The error that a refusal stands for, its message without secrets."""
        text = body.decode("utf-8", errors="replace")
        shown = scrubbed(message_of(text), self._endpoint.secrets)
        error = from_status(self._endpoint.provider, status, text, headers, shown=shown)
        return lasting(error) if status < 400 and isinstance(error, ProviderUnavailable) else error

    async def close(self) -> None:
        """Let go of connections."""
        if self._client is not None:
            await self._client.aclose()

    def _opened(self) -> httpx.AsyncClient:
        if self._client is None:
            self._client = self._new_client()
        return self._client

    def _new_client(self) -> httpx.AsyncClient:
        """It has no timeouts of its own, follows no redirect (a key would go along), and asks no proxy for this machine."""
        import httpx

        endpoint = self._endpoint
        url = urlsplit(endpoint.base_url or "")
        on_this_machine = url.hostname in LOOPBACK
        key = {self._key_header: self._key_prefix + endpoint.api_key.reveal()} if endpoint.api_key else {}
        client = httpx.AsyncClient(
            timeout=None,  # noqa: S113 - each request stands under asyncio.timeout, which bounds it as a whole
            headers=key,
            trust_env=not on_this_machine,
            verify=not (on_this_machine and url.scheme == "http"),  # loading certificates that are not used takes 45 ms
        )
        client.headers.update({name: value.reveal() for name, value in endpoint.headers.items()})
        return client
