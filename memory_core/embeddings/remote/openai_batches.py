"""OpenAI's batch API: a JSONL file is uploaded, a job reads it, another file holds the results.

https://platform.openai.com/docs/guides/batch: at most 50,000 embedding inputs and 200 MB a job, done within 24 hours.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from memory_core.embeddings.credentials import Endpoint
from memory_core.embeddings.plan import Plan
from memory_core.embeddings.remote.batch_api import JobState, parse_lines, parse_object
from memory_core.embeddings.remote.bodies import bound_results
from memory_core.embeddings.remote.http import Http, join_url
from memory_core.embeddings.vectors import decode

if TYPE_CHECKING:
    from memory_core.embeddings.vectors import Row

_RUNNING = frozenset({"validating", "in_progress", "finalizing", "cancelling"})


class OpenAIBatches:
    """A `BatchApi`."""

    max_texts = 50_000
    max_bytes = 190_000_000

    def __init__(self, endpoint: Endpoint, plan: Plan) -> None:
        self._url = endpoint.base_url or ""
        self._plan = plan
        self._http = Http(endpoint)

    async def submit(self, texts: Mapping[str, str]) -> str:
        """See `BatchApi`."""
        lines = "\n".join(json.dumps(self._make_line(key, text)) for key, text in texts.items())
        upload = {"file": ("memory.jsonl", lines.encode(), "application/jsonl")}
        file = await self._fetch_json("POST", "/files", data={"purpose": "batch"}, files=upload)
        job = {"input_file_id": file["id"], "endpoint": "/v1/embeddings", "completion_window": "24h"}
        return str((await self._fetch_json("POST", "/batches", json=job))["id"])

    async def fetch_state(self, job: str) -> JobState:
        """See `BatchApi`. A job that expired or was cancelled may have embedded a part of its texts."""
        found = await self._fetch_json("GET", f"/batches/{job}")
        status, output = str(found.get("status")), found.get("output_file_id") or ""
        if status in _RUNNING:
            return JobState("running")
        return JobState("done" if status == "completed" else "failed", results=output, reason=status)

    async def fetch_results(self, state: JobState, texts: int) -> Mapping[str, Row]:
        """See `BatchApi`."""
        url = join_url(self._url, f"/files/{state.results}/content")
        _, body = await self._http.fetch("GET", url, max_bytes=bound_results(texts))
        return dict(_read_rows(body, self._plan.space.provider))

    async def cancel(self, job: str) -> None:
        """See `BatchApi`."""
        await self._fetch_json("POST", f"/batches/{job}/cancel")

    async def close(self) -> None:
        """See `BatchApi`."""
        await self._http.close()

    def _make_line(self, key: str, text: str) -> dict[str, Any]:
        body: dict[str, Any] = {"model": self._plan.space.model, "input": text, "encoding_format": "base64"}
        if self._plan.dimensions:
            body["dimensions"] = self._plan.dimensions
        return {"custom_id": key, "method": "POST", "url": "/v1/embeddings", "body": body}

    async def _fetch_json(self, method: str, path: str, **arguments: Any) -> dict[str, Any]:
        _, body = await self._http.fetch(method, join_url(self._url, path), **arguments)
        return parse_object(body, self._plan.space.provider)


def _read_rows(body: bytes, provider: str) -> Iterator[tuple[str, Row]]:
    for line in parse_lines(body):
        answer = (line.get("response") or {}).get("body") or {}
        for item in (answer.get("data") or [])[:1]:
            yield str(line.get("custom_id")), decode(item.get("embedding"), provider=provider)
