"""OpenAI's batch API: a JSONL file is uploaded, a job reads it, another file holds the results.

https://platform.openai.com/docs/guides/batch: at most 50,000 embedding inputs and 200 MB a job, done within 24 hours.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from memory_core.embeddings.batch import JobState
from memory_core.embeddings.credentials import Endpoint
from memory_core.embeddings.http import Http
from memory_core.embeddings.plan import Plan
from memory_core.embeddings.vectors import decoded
from memory_core.errors import InvalidEmbedding

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Row = NDArray[np.float32]

_RUNNING = frozenset({"validating", "in_progress", "finalizing", "cancelling"})


class OpenAIBatches:
    """A `BatchApi`."""

    max_texts = 50_000
    max_bytes = 190_000_000

    def __init__(self, endpoint: Endpoint, what: Plan) -> None:
        self._url = endpoint.base_url
        self._plan = what
        self._http = Http(endpoint)

    async def submit(self, texts: Mapping[str, str]) -> str:
        """See `BatchApi`."""
        lines = "\n".join(json.dumps(self._line(key, text)) for key, text in texts.items())
        upload = {"file": ("memory.jsonl", lines.encode(), "application/jsonl")}
        file = await self._json("POST", "/files", data={"purpose": "batch"}, files=upload)
        job = {"input_file_id": file["id"], "endpoint": "/v1/embeddings", "completion_window": "24h"}
        return str((await self._json("POST", "/batches", json=job))["id"])

    async def state(self, job: str) -> JobState:
        """See `BatchApi`. A job that expired or was cancelled may have done a part of its texts."""
        found = await self._json("GET", f"/batches/{job}")
        status, output = str(found.get("status")), found.get("output_file_id") or ""
        if status in _RUNNING:
            return JobState("running")
        return JobState("done" if status == "completed" else "failed", results=output, reason=status)

    async def results(self, state: JobState) -> Mapping[str, Row]:
        """See `BatchApi`."""
        _, body = await self._http.fetched("GET", f"{self._url}/files/{state.results}/content")
        return dict(_rows(body, self._plan.space.provider))

    async def cancel(self, job: str) -> None:
        """See `BatchApi`."""
        await self._json("POST", f"/batches/{job}/cancel")

    async def close(self) -> None:
        """See `BatchApi`."""
        await self._http.close()

    def _line(self, key: str, text: str) -> dict[str, Any]:
        body: dict[str, Any] = {"model": self._plan.space.model, "input": text, "encoding_format": "base64"}
        if self._plan.dimensions:
            body["dimensions"] = self._plan.dimensions
        return {"custom_id": key, "method": "POST", "url": "/v1/embeddings", "body": body}

    async def _json(self, method: str, path: str, **arguments: Any) -> dict[str, Any]:
        _, body = await self._http.fetched(method, f"{self._url}{path}", **arguments)
        return read_object(body, self._plan.space.provider)


def _rows(body: bytes, provider: str) -> Iterator[tuple[str, Row]]:
    for line in json_lines(body):
        answer = (line.get("response") or {}).get("body") or {}
        for item in (answer.get("data") or [])[:1]:
            yield str(line.get("custom_id")), decoded(item.get("embedding"), provider=provider)


def read_object(body: bytes, provider: str) -> dict[str, Any]:
    """A JSON object.

    Raises:
        InvalidEmbedding: It is none.
    """
    try:
        found = json.loads(body)
    except ValueError as error:
        raise InvalidEmbedding(provider, "its batch API sent no JSON") from error
    if not isinstance(found, dict):
        raise InvalidEmbedding(provider, "its batch API sent no JSON object")
    return found


def json_lines(body: bytes) -> Iterator[dict[str, Any]]:
    """The JSON objects of a results file; a line that is none counts as a text that failed."""
    for line in body.splitlines():
        try:
            found = json.loads(line)
        except ValueError:
            continue
        if isinstance(found, dict):
            yield found
