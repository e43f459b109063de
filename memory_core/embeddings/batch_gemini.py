"""Gemini's asynchronous embedding batches: a JSONL file is uploaded, an operation reads it, another file holds the results.

https://ai.google.dev/gemini-api/docs/batch-api and https://ai.google.dev/api/files (resumable uploads): at most 2 GB a file.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from memory_core.embeddings.batch import JobState
from memory_core.embeddings.batch_openai import json_lines, read_object
from memory_core.embeddings.credentials import Endpoint, origin
from memory_core.embeddings.failures import lasting
from memory_core.embeddings.http import Http
from memory_core.embeddings.plan import Plan
from memory_core.embeddings.vectors import decoded
from memory_core.errors import ProviderUnavailable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Row = NDArray[np.float32]


class GeminiBatches:
    """A `BatchApi`."""

    max_texts = 50_000
    max_bytes = 500_000_000

    def __init__(self, endpoint: Endpoint, what: Plan) -> None:
        self._url = endpoint.base_url or ""
        self._plan = what
        self._http = Http(endpoint, key_header="x-goog-api-key", key_prefix="")

    async def submit(self, texts: Mapping[str, str]) -> str:
        """See `BatchApi`."""
        lines = "\n".join(json.dumps({"key": key, "request": self._item(text)}) for key, text in texts.items())
        file = await self._uploaded(lines.encode())
        batch = {"displayName": "memory-core", "inputConfig": {"fileName": file}}
        url = f"{self._url}/models/{self._plan.space.model}:asyncBatchEmbedContent"
        return str((await self._json("POST", url, json={"batch": batch}))["name"])

    async def state(self, job: str) -> JobState:
        """See `BatchApi`."""
        found = await self._json("GET", f"{self._url}/{job}")
        about = found.get("metadata") or {}
        state = str(about.get("state", "")).rpartition("_")[2]  # BATCH_STATE_SUCCEEDED, or JOB_STATE_SUCCEEDED
        output = (found.get("response") or {}).get("responsesFile") or (about.get("output") or {}).get("responsesFile")
        if not found.get("done") and state not in {"SUCCEEDED", "FAILED", "CANCELLED", "EXPIRED"}:
            return JobState("running")
        return JobState("done" if state == "SUCCEEDED" else "failed", results=output or "", reason=state.lower())

    async def results(self, state: JobState) -> Mapping[str, Row]:
        """See `BatchApi`."""
        _, body = await self._http.fetched("GET", f"{self._beside('download')}/{state.results}:download?alt=media")
        return dict(_rows(body, self._plan.space.provider))

    async def cancel(self, job: str) -> None:
        """See `BatchApi`."""
        await self._http.fetched("POST", f"{self._url}/{job}:cancel")

    async def close(self) -> None:
        """See `BatchApi`."""
        await self._http.close()

    def _item(self, text: str) -> dict[str, Any]:
        item: dict[str, Any] = {"model": f"models/{self._plan.space.model}", "content": {"parts": [{"text": text}]}}
        if self._plan.document_type:
            item["taskType"] = self._plan.document_type
        if self._plan.dimensions:
            item["outputDimensionality"] = self._plan.dimensions
        return item

    async def _uploaded(self, content: bytes) -> str:
        """Upload a file; its name, such as files/abc."""
        command = {
            "X-Goog-Upload-Protocol": "resumable",
            "X-Goog-Upload-Command": "start",
            "X-Goog-Upload-Header-Content-Length": str(len(content)),
            "X-Goog-Upload-Header-Content-Type": "application/jsonl",
        }
        about = {"file": {"displayName": "memory-core"}}
        headers, _ = await self._http.fetched("POST", f"{self._beside('upload')}/files", headers=command, json=about)
        url = headers.get("x-goog-upload-url", "")
        if origin(url) != origin(self._url):  # the key goes along
            raise lasting(ProviderUnavailable(self._plan.space.provider, "its upload went to another host"))
        finish = {"X-Goog-Upload-Offset": "0", "X-Goog-Upload-Command": "upload, finalize"}
        found = await self._json("POST", url, headers=finish, content=content)
        return str(found["file"]["name"])

    def _beside(self, service: str) -> str:
        """The base URL with `/upload` or `/download` before its version: https://host/upload/v1beta."""
        root, _, version = self._url.rpartition("/")
        return f"{root}/{service}/{version}"

    async def _json(self, method: str, url: str, **arguments: Any) -> dict[str, Any]:
        _, body = await self._http.fetched(method, url, **arguments)
        return read_object(body, self._plan.space.provider)


def _rows(body: bytes, provider: str) -> Iterator[tuple[str, Row]]:
    for line in json_lines(body):
        values = ((line.get("response") or {}).get("embedding") or {}).get("values")
        if values:
            yield str(line.get("key")), decoded(values, provider=provider)
