"""Providers that speak OpenAI's embeddings protocol, spoken to directly with httpx.

openai, openrouter, voyage, mistral, ollama, and any other server by its URL: vLLM, LM Studio, llama.cpp, gateways.
Protocol: https://platform.openai.com/docs/api-reference/embeddings/create

Many texts go through OpenAI's batch API: a JSONL file is uploaded, a job reads it, another file holds the results.
https://platform.openai.com/docs/guides/batch: at most 50,000 embedding inputs and 200 MB a job, done within 24 hours.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from memory_core.embeddings.credentials import Endpoint
from memory_core.embeddings.models import Plan
from memory_core.embeddings.protocols import TextKind
from memory_core.embeddings.remote.batches import JobState
from memory_core.embeddings.remote.http import MAX_REFUSAL_BYTES, HttpApi, bound_answer, join_url

if TYPE_CHECKING:
    from memory_core.embeddings.vectors import Row


_RUNNING = frozenset({"validating", "in_progress", "finalizing", "cancelling"})


class OpenAIApi(HttpApi):
    """A `Transport`, which sends one request to `<base URL>/embeddings`, and a `BatchApi`."""

    max_bytes = 190_000_000

    def __init__(self, endpoint: Endpoint, plan: Plan) -> None:
        super().__init__(endpoint, plan)
        self._asks_base64 = plan.provider.base64

    async def send(self, texts: Sequence[str], kind: TextKind) -> Sequence[Row]:
        """See `Transport`."""
        url, limit = join_url(self._url, "/embeddings"), bound_answer(len(texts))
        request = self._make_request(texts, kind)
        status, headers, body = await self.request("POST", url, max_bytes=limit, json=request)
        if self._asks_base64 and status in {400, 422} and b"encoding_format" in body:
            self._asks_base64 = False
            return await self.send(texts, kind)
        if status >= 300:
            raise self.to_error(status, headers, body)
        return self._read_rows(body, lambda answer: self._find_vectors(answer, headers, body))

    async def submit(self, texts: Mapping[str, str]) -> str:
        """See `BatchApi`."""
        lines = "\n".join(json.dumps(self._make_line(key, text)) for key, text in texts.items())
        upload = {"file": ("memory.jsonl", lines.encode(), "application/jsonl")}
        file = await self._fetch_object("POST", join_url(self._url, "/files"), data={"purpose": "batch"}, files=upload)
        job = {"input_file_id": file["id"], "endpoint": "/v1/embeddings", "completion_window": "24h"}
        return str((await self._fetch_object("POST", join_url(self._url, "/batches"), json=job))["id"])

    async def fetch_state(self, job: str) -> JobState:
        """See `BatchApi`. A job that expired or was cancelled may have embedded a part of its texts."""
        found = await self._fetch_object("GET", join_url(self._url, f"/batches/{job}"))
        status, output = str(found.get("status")), found.get("output_file_id") or ""
        if status in _RUNNING:
            return JobState("running")
        return JobState("done" if status == "completed" else "failed", results=output)

    async def fetch_results(self, state: JobState, texts: int) -> Mapping[str, Row]:
        """See `BatchApi`."""
        url = join_url(self._url, f"/files/{state.results}/content")
        return await self._fetch_rows(url, texts, _find_vector)

    async def cancel(self, job: str) -> None:
        """See `BatchApi`."""
        await self._fetch_object("POST", join_url(self._url, f"/batches/{job}/cancel"))

    def _make_request(self, texts: Sequence[str], kind: TextKind) -> dict[str, Any]:
        plan = self._plan
        optional = {
            plan.provider.dimensions_field: plan.dimensions,
            "input_type": plan.input_type(kind) or None,
            "encoding_format": "base64" if self._asks_base64 else None,
        }
        named = {name: value for name, value in optional.items() if value is not None}
        return {"model": plan.space.model, "input": list(texts), **named}

    def _find_vectors(self, answer: Any, headers: Mapping[str, str], body: bytes) -> list[Any]:
        if "data" not in answer and not {"error", "message", "detail"}.isdisjoint(answer):
            raise self.to_error(_find_status(answer), headers, body[:MAX_REFUSAL_BYTES])
        items = answer["data"]
        if all(isinstance(item.get("index"), int) for item in items):
            items = sorted(items, key=lambda item: item["index"])
        return [item["embedding"] for item in items]

    def _make_line(self, key: str, text: str) -> dict[str, Any]:
        body: dict[str, Any] = {"model": self._plan.space.model, "input": text, "encoding_format": "base64"}
        if self._plan.dimensions:
            body["dimensions"] = self._plan.dimensions
        return {"custom_id": key, "method": "POST", "url": "/v1/embeddings", "body": body}


def _find_status(answer: Mapping[str, Any]) -> int:
    """Return the status of an error that came with HTTP 200 (OpenRouter does so); 500 when it names none."""
    error = answer.get("error")
    code = error.get("code") if isinstance(error, dict) else None
    return code if isinstance(code, int) and 400 <= code < 600 else 500


def _find_vector(line: Mapping[str, Any]) -> tuple[Any, Any]:
    items = ((line.get("response") or {}).get("body") or {}).get("data") or [{}]
    return line.get("custom_id"), items[0].get("embedding")
