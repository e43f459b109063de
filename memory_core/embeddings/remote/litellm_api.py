"""The provider "litellm": whatever litellm knows by a model string, such as cohere/embed-v4.0. litellm is an extra.

Importing litellm takes 3.6 s and 180 MB, so it is imported when the first request is sent, in a thread; the first question
waits for it, and has time left to be asked however long that took. litellm on its own reads `.env` files, fetches a price list
and prints hints; `import_litellm` prevents that.
"""

from __future__ import annotations

import asyncio
import importlib
import logging
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import httpx

from memory_core.__about__ import explain_install
from memory_core.embeddings.credentials import Endpoint
from memory_core.embeddings.error_mapping import ForeignError, extract_message, from_status, scrub
from memory_core.embeddings.models import Plan
from memory_core.embeddings.protocols import TextKind, make_unusable
from memory_core.embeddings.remote.http import ACCEPTED, Body, bound_answer, keep_out_of_logs
from memory_core.embeddings.remote.loop import run_in_thread
from memory_core.embeddings.vectors import decode, shorten
from memory_core.errors import (
    InvalidEmbedding,
    ProviderError,
    ProviderUnavailable,
    ProviderUnreachable,
    RequestTimeout,
)
from memory_core.threads import make_fork_lock

if TYPE_CHECKING:
    from memory_core.embeddings.vectors import Row

# Read by litellm while it is imported: no price list from the network, no `.env` of the working folder, no log of its own.
_QUIET_IMPORT = {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "LITELLM_MODE": "PRODUCTION", "LITELLM_LOG": "CRITICAL"}
# litellm takes a Gemini text that begins so for the name of a file to fetch.
_REFERENCES = ("files/", "data:", "gs://", "https://generativelanguage.googleapis.com/")
_IMPORTING = make_fork_lock()
_OF_THE_WIRE = frozenset({"content-encoding", "content-length", "transfer-encoding"})  # headers; the answer is unpacked


def to_litellm_name(model: str) -> str:
    """Return a model's name in litellm: `litellm/cohere/embed-v4.0` is `cohere/embed-v4.0`."""
    return model.removeprefix("litellm/")


def find_vendor(model: str) -> str:
    """Return the vendor in a model's name: "cohere" of `cohere/embed-v4.0`."""
    return to_litellm_name(model).partition("/")[0]


class BoundedClient(httpx.Client):
    """A client for vendors' libraries that call it in a thread. It reads answers within bounds, like `http.HttpApi`.

    It follows no redirect, because a key would go along.

    Args:
        texts: The most texts in one request, which bounds its answer.
        timeout_seconds: For connecting, and for each read.
        headers: Sent with every request.
    """

    def __init__(self, *, texts: int, timeout_seconds: float, headers: dict[str, str]) -> None:
        super().__init__(timeout=timeout_seconds, follow_redirects=False, headers=headers)
        self.headers["Accept-Encoding"] = ACCEPTED
        self._limit_bytes = bound_answer(texts)

    def send(self, request: httpx.Request, *, stream: bool = False, **options: Any) -> httpx.Response:  # noqa: ARG002
        """Send a request and read its whole answer, whatever `stream` says.

        Raises:
            BadBody: The answer is too large, or packed in a way that was not asked for.
        """
        options["follow_redirects"] = False
        answer = super().send(request, stream=True, **options)
        try:
            body = Body(answer.status_code, answer.headers, self._limit_bytes)
            for piece in answer.iter_raw():
                if not body.add(piece):
                    break
        finally:
            answer.close()
        kept = [(name, value) for name, value in answer.headers.multi_items() if name.lower() not in _OF_THE_WIRE]
        return httpx.Response(answer.status_code, headers=kept, content=bytes(body.content), request=request)


class LitellmTransport:
    """Sends one request through `litellm.embedding`, in a thread that is abandoned when the request is cancelled."""

    def __init__(self, endpoint: Endpoint, plan: Plan) -> None:
        self._endpoint = endpoint
        self._plan = plan
        self._vendor = find_vendor(plan.space.model)
        self._client: Any = None
        self._http: BoundedClient | None = None

    async def send(self, texts: Sequence[str], kind: TextKind) -> Sequence[Row]:
        """See `Transport`."""
        try:
            await run_in_thread(import_litellm)  # takes seconds, which are not the provider's
            # litellm's own time-out is for each read, not for the whole.
            async with asyncio.timeout(self._endpoint.timeout_seconds):
                return self._read_rows(await run_in_thread(lambda: self._embed(texts, kind)))
        except ProviderError:
            raise
        except ImportError as error:
            raise _import_error(self._endpoint.provider, error) from error
        except Exception as error:  # noqa: BLE001 - litellm raises bare Exceptions too; every one is mapped
            failure = error
        # Raised outside the handler: the original, whose text may hold the key, is no part of the new error's context.
        shown = scrub(extract_message(str(failure)), self._endpoint.secrets)
        raise self._map_error(failure, shown) from ForeignError.of(failure, shown)

    async def load(self) -> None:
        """See `Transport`."""
        try:
            await run_in_thread(import_litellm)
        except ImportError as error:
            raise _import_error(self._endpoint.provider, error) from error

    async def close(self) -> None:
        """See `Transport`."""
        if self._http is not None:
            self._http.close()

    def _embed(self, texts: Sequence[str], kind: TextKind) -> Any:
        litellm = import_litellm()
        with keep_out_of_logs():
            return litellm.embedding(**self._make_request(texts, kind))

    def _make_request(self, texts: Sequence[str], kind: TextKind) -> dict[str, Any]:
        plan, endpoint = self._plan, self._endpoint
        headers = {name: value.reveal() for name, value in endpoint.headers.items()}
        client = self._open_client(headers)
        optional = {
            "api_key": endpoint.api_key.reveal() if endpoint.api_key else None,
            "api_base": endpoint.base_url,
            "dimensions": plan.dimensions,
            plan.model.type_field: plan.input_type(kind) or None,
            "client": client,
            "extra_headers": headers if headers and client is None else None,
        }
        gemini = self._vendor == "gemini"
        return {
            "model": to_litellm_name(plan.space.model),
            "input": [" " + text if gemini and text.startswith(_REFERENCES) else text for text in texts],
            "timeout": endpoint.timeout_seconds,
            "max_retries": 0,
            "no-log": True,  # litellm's own name for "call no logging callback"
            **{name: value for name, value in optional.items() if value is not None},
        }

    def _open_client(self, headers: dict[str, str]) -> Any:
        """Open the client that is closed with the provider, because litellm never closes its own; None where litellm takes none.

        It carries the configured headers, because litellm's code for Voyage drops them.
        """
        url, key, seconds = self._endpoint.base_url, self._endpoint.api_key, self._endpoint.timeout_seconds
        takes_one = self._vendor in {"gemini", "voyage"} or (self._vendor == "openai" and url and key)
        with _IMPORTING:
            if self._client is not None or not takes_one:
                return self._client
            http: Any = BoundedClient(texts=self._plan.provider.max_items, timeout_seconds=seconds, headers=headers)
            if self._vendor == "openai" and key:
                import openai  # its third version names httpx2's client in its types, and takes this one as well

                self._client = openai.OpenAI(
                    api_key=key.reveal(), base_url=url, timeout=seconds, max_retries=0, http_client=http
                )
            else:
                from litellm.llms.custom_httpx.http_handler import HTTPHandler

                self._client = HTTPHandler(timeout=seconds, client=http)
            self._http = http
            return self._client

    def _read_rows(self, response: Any) -> list[Row]:
        provider = self._endpoint.provider
        try:
            items = [item["embedding"] for item in sorted(response.data, key=lambda item: item["index"])]
        except (AttributeError, KeyError, TypeError) as error:
            raise InvalidEmbedding(provider, "no embeddings came back that could be read") from error
        dimensions = self._plan.shortened_dimensions
        return [shorten(decode(item, provider=provider), dimensions) for item in items]

    def _map_error(self, error: Exception, shown: str) -> ProviderError:
        provider = self._endpoint.provider
        status, kind = getattr(error, "status_code", None), type(error).__name__
        if kind in {"Timeout", "TimeoutError"}:
            return RequestTimeout(provider, f"no answer within {self._endpoint.timeout_seconds:g} s")
        if _is_connect_error(error):
            return ProviderUnreachable(provider, f"it cannot be reached: {shown}")
        if kind == "APIConnectionError" or not isinstance(status, int):
            return ProviderUnavailable(provider, f"the request failed: {shown}")
        headers = getattr(error, "litellm_response_headers", None) or {}
        return from_status(provider, status, str(error), headers, shown=shown)


def import_litellm() -> Any:
    """Import litellm without telemetry, network, `.env` or log.

    A litellm that the host has imported before is left as it is.
    """
    with _IMPORTING:
        imported = sys.modules.get("litellm")  # reason: a host that uses litellm has set it as it wants it
        if imported is not None:
            return imported
        before = {name: os.environ[name] for name in _QUIET_IMPORT if name in os.environ}
        os.environ.update(_QUIET_IMPORT)
        try:
            litellm: Any = importlib.import_module("litellm")
        finally:
            for name in _QUIET_IMPORT:
                os.environ.pop(name, None)
            os.environ.update(before)
        litellm.telemetry = False
        litellm.suppress_debug_info = True
        litellm.turn_off_message_logging = True
        for name in ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy"):
            logging.getLogger(name).setLevel(logging.CRITICAL)
        return litellm


def _is_connect_error(error: BaseException) -> bool:
    """Return True if httpx could make no connection: all vendors' code in litellm uses it, and litellm does not tell."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, httpx.ConnectError):
        cause = cause.__cause__ or cause.__context__
    return cause is not None


def _import_error(provider: str, error: ImportError) -> ProviderError:
    return make_unusable(provider, f"litellm cannot be imported: {error}", action=explain_install("litellm"))
