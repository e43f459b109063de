"""Providers with a protocol of their own, through litellm: gemini, voyage, and whatever else litellm knows by a model string.

Importing litellm takes 3.6 s and 180 MB, so it is imported when the first request is sent, in a thread; the first question
waits for it, and is asked however long that took. litellm on its own reads `.env` files, fetches a price list and prints
hints: none of that here.
"""

from __future__ import annotations

import contextlib
import importlib
import logging
import os
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from memory_core.embeddings.batch import BatchBackfill, Switch
from memory_core.embeddings.batch_gemini import GeminiBatches
from memory_core.embeddings.credentials import Endpoint, ResolveApiKey, resolve_endpoint, scrubbed
from memory_core.embeddings.failures import Foreign, from_status, lasting, message_of
from memory_core.embeddings.job_log import FileJobLog
from memory_core.embeddings.loop import in_daemon_thread
from memory_core.embeddings.plan import Plan, plan
from memory_core.embeddings.requests import Backfill, Kind, RequestProvider, Retries
from memory_core.embeddings.vectors import decoded, shortened
from memory_core.errors import (
    InvalidEmbedding,
    ProviderError,
    ProviderUnavailable,
    ProviderUnreachable,
    RequestTimeout,
)
from memory_core.settings import AgentConfig

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Row = NDArray[np.float32]

# Read by litellm while it is imported: no price list from the network, no `.env` of the working folder, no log of its own.
_QUIET_IMPORT = {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "LITELLM_MODE": "PRODUCTION", "LITELLM_LOG": "CRITICAL"}
# litellm takes a Gemini text that begins so for the name of a file to fetch.
_REFERENCES = ("files/", "data:", "gs://", "https://generativelanguage.googleapis.com/")
_IMPORTING = threading.Lock()


def open_provider(
    config: AgentConfig,
    *,
    environ: Mapping[str, str],
    resolve_api_key: ResolveApiKey | None = None,
    retries: Retries | None = None,
    switch: Switch | None = None,
) -> RequestProvider:
    """The provider that `memorySearch.provider` names, one of those whose row has the route "litellm". Opens nothing.

    Args:
        switch: Turns batches off after failures; None is the one that holds for the process.

    Raises:
        ProviderUnavailable: No key or no model is configured.
    """
    provider = config.search.provider
    vendor = model_string(config.search.model or "").partition("/")[0] if provider == "litellm" else ""
    endpoint = resolve_endpoint(config, provider, environ=environ, resolve_api_key=resolve_api_key, vendor=vendor)
    what = plan(config, provider, endpoint=endpoint.fingerprint)
    return RequestProvider(
        what.space,
        LitellmTransport(endpoint, what),
        limits=what.limits(),
        concurrency=what.provider.concurrency,
        announce=what.announce,
        retries=retries,
        backfill=_backfill(config, endpoint, what, switch),
    )


def _backfill(config: AgentConfig, endpoint: Endpoint, what: Plan, switch: Switch | None) -> Backfill | None:
    batch = config.search.remote.batch
    if not batch.enabled or endpoint.provider != "gemini":
        return None
    log = FileJobLog(config.store_path.with_suffix(".batches.json"))
    return BatchBackfill(GeminiBatches(endpoint, what), what.space, batch, log, switch)


def model_string(model: str) -> str:
    """A model as litellm names it: `litellm/cohere/embed-v4.0` is `cohere/embed-v4.0`."""
    return model.removeprefix("litellm/")


class LitellmTransport:
    """Sends one request through `litellm.embedding`, in a thread that is abandoned when the request is cancelled."""

    def __init__(self, endpoint: Endpoint, what: Plan) -> None:
        self._endpoint = endpoint
        self._plan = what
        self._client: Any = None

    async def send(self, texts: Sequence[str], kind: Kind) -> Sequence[Row]:
        """See `Transport`."""
        try:
            return self._rows(await in_daemon_thread(lambda: self._embed(texts, kind)))
        except ProviderError:
            raise
        except ImportError as error:
            raise _not_installed(self._endpoint.provider, error) from error
        except Exception as error:  # noqa: BLE001 - litellm raises bare Exceptions too; every one is mapped
            failure = error
        # Raised outside the handler: the original, whose text may hold the key, is no part of the new error's context.
        shown = scrubbed(message_of(str(failure)), self._endpoint.secrets)
        raise self._mapped(failure, shown) from Foreign.of(failure, shown)

    async def ready(self) -> None:
        """See `Transport`."""
        try:
            await in_daemon_thread(quiet_litellm)
        except ImportError as error:
            raise _not_installed(self._endpoint.provider, error) from error

    async def close(self) -> None:
        """See `Transport`."""
        if self._client is not None:
            self._client.close()

    def _embed(self, texts: Sequence[str], kind: Kind) -> Any:
        litellm = quiet_litellm()
        return litellm.embedding(**self._request(texts, kind))

    def _request(self, texts: Sequence[str], kind: Kind) -> dict[str, Any]:
        what, endpoint = self._plan, self._endpoint
        gemini = endpoint.provider == "gemini"
        input_type = what.document_type if kind == "document" else what.query_type
        client = self._own_client()
        headers = {name: value.reveal() for name, value in endpoint.headers.items()}
        optional = {
            "api_key": endpoint.api_key.reveal() if endpoint.api_key else None,
            "api_base": endpoint.base_url,
            "dimensions": what.dimensions,
            what.model.type_field: input_type or None,
            "client": client,
            "extra_headers": headers if headers and client is None else None,
        }
        return {
            "model": what.provider.litellm_prefix + model_string(what.space.model),
            "input": [" " + text if gemini and text.startswith(_REFERENCES) else text for text in texts],
            "timeout": endpoint.timeout_seconds,
            "max_retries": 0,
            "no-log": True,  # litellm's own name for "call no logging callback"
            **{name: value for name, value in optional.items() if value is not None},
        }

    def _own_client(self) -> Any:
        """A client to be closed with the provider, for the vendors whose code in litellm takes one; litellm never closes its own.

        It carries the configured headers, because litellm's code for Voyage drops them.
        """
        endpoint = self._endpoint
        speaks_openai = model_string(self._plan.space.model).startswith("openai/")
        with _IMPORTING:
            if self._client is None and endpoint.provider in {"gemini", "voyage"}:
                self._client = self._new_handler()
            elif self._client is None and speaks_openai and endpoint.base_url and endpoint.api_key:
                self._client = self._new_openai_client(endpoint.base_url, endpoint.api_key.reveal())
            return self._client

    def _new_handler(self) -> Any:
        from litellm.llms.custom_httpx.http_handler import HTTPHandler

        handler = HTTPHandler(timeout=self._endpoint.timeout_seconds)
        handler.client.headers.update({name: value.reveal() for name, value in self._endpoint.headers.items()})
        return handler

    def _new_openai_client(self, base_url: str, api_key: str) -> Any:
        import openai

        headers = {name: value.reveal() for name, value in self._endpoint.headers.items()}
        seconds = self._endpoint.timeout_seconds
        return openai.OpenAI(
            api_key=api_key, base_url=base_url, timeout=seconds, max_retries=0, default_headers=headers
        )

    def _rows(self, response: Any) -> list[Row]:
        provider = self._endpoint.provider
        try:
            items = [item["embedding"] for item in sorted(response.data, key=lambda item: item["index"])]
        except (AttributeError, KeyError, TypeError) as error:
            raise InvalidEmbedding(provider, "no embeddings came back that could be read") from error
        wanted = self._plan.dimensions if self._plan.model.shortens else None
        return [shortened(decoded(item, provider=provider), wanted or 0) for item in items]

    def _mapped(self, error: Exception, shown: str) -> ProviderError:
        provider = self._endpoint.provider
        status, kind = getattr(error, "status_code", None), type(error).__name__
        if kind == "Timeout":
            return RequestTimeout(provider, f"no answer within {self._endpoint.timeout_seconds:g} s")
        if _never_connected(error):
            return ProviderUnreachable(provider, f"it cannot be reached: {shown}")
        if kind == "APIConnectionError" or not isinstance(status, int):
            return ProviderUnavailable(provider, f"the request failed: {shown}")
        headers = getattr(error, "litellm_response_headers", None) or {}
        return from_status(provider, status, str(error), headers, shown=shown)


def quiet_litellm() -> Any:
    """litellm, imported without telemetry, network, `.env` or log.

    What a host has imported before is left as the host set it.
    """
    with _IMPORTING:
        if "litellm" in sys.modules:
            return sys.modules["litellm"]
        with _environment(_QUIET_IMPORT):
            litellm: Any = importlib.import_module("litellm")
        litellm.telemetry = False
        litellm.suppress_debug_info = True
        litellm.turn_off_message_logging = True
        for name in ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy"):
            logging.getLogger(name).setLevel(logging.CRITICAL)
        return litellm


@contextlib.contextmanager
def _environment(values: Mapping[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _never_connected(error: BaseException) -> bool:
    """Whether httpx, which all vendors' code in litellm uses, could make no connection; litellm itself does not tell."""
    import httpx

    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, httpx.ConnectError):
        cause = cause.__cause__ or cause.__context__
    return cause is not None


def _not_installed(provider: str, error: ImportError) -> ProviderError:
    return lasting(
        ProviderUnavailable(
            provider, f"litellm cannot be imported: {error}", action='Install it: pip install "litellm>=1.83".'
        )
    )
