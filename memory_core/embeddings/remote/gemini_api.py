"""The provider "gemini", spoken to directly with httpx: its own protocol, which is told if a text is a question or a note.

Protocol: https://ai.google.dev/api/embeddings#method:-models.batchembedcontents.

Many texts go through its asynchronous batches: a JSONL file is uploaded, an operation reads it, another file holds the results.
https://ai.google.dev/gemini-api/docs/batch-api and https://ai.google.dev/api/files (resumable uploads): at most 2 GB a file.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit

from memory_core.embeddings.credentials import find_origin
from memory_core.embeddings.models import Plan
from memory_core.embeddings.protocols import TextKind, make_unusable
from memory_core.embeddings.remote.batches import JobState
from memory_core.embeddings.remote.http import HttpApi, bound_answer, join_url

if TYPE_CHECKING:
    from memory_core.embeddings.vectors import Row


class GeminiApi(HttpApi):
    """A `Transport`, which sends one request to `<base URL>/models/<model>:batchEmbedContents`, and a `BatchApi`."""

    max_bytes = 500_000_000
    key_header, key_prefix = "x-goog-api-key", ""

    async def send(self, texts: Sequence[str], kind: TextKind) -> Sequence[Row]:
        """See `Transport`."""
        url = join_url(self._url, f"/models/{self._plan.space.model}:batchEmbedContents")
        request = {"requests": [_make_item(self._plan, text, kind) for text in texts]}
        _, body = await self.fetch("POST", url, max_bytes=bound_answer(len(texts)), json=request)
        return self._read_rows(body, lambda answer: [item["values"] for item in answer["embeddings"]])

    async def submit(self, texts: Mapping[str, str]) -> str:
        """See `BatchApi`."""
        lines = "\n".join(
            json.dumps({"key": key, "request": _make_item(self._plan, text, "document")}) for key, text in texts.items()
        )
        file = await self._upload(lines.encode())
        batch = {"displayName": "memory-core", "inputConfig": {"fileName": file}}
        url = join_url(self._url, f"/models/{self._plan.space.model}:asyncBatchEmbedContent")
        return str((await self._fetch_object("POST", url, json={"batch": batch}))["name"])

    async def fetch_state(self, job: str) -> JobState:
        """See `BatchApi`."""
        found = await self._fetch_object("GET", join_url(self._url, f"/{job}"))
        about = found.get("metadata") or {}
        state = str(about.get("state", "")).rpartition("_")[2]  # BATCH_STATE_SUCCEEDED, or JOB_STATE_SUCCEEDED
        output = (found.get("response") or {}).get("responsesFile") or (about.get("output") or {}).get("responsesFile")
        if not found.get("done") and state not in {"SUCCEEDED", "FAILED", "CANCELLED", "EXPIRED"}:
            return JobState("running")
        return JobState("done" if state == "SUCCEEDED" else "failed", results=output or "")

    async def fetch_results(self, state: JobState, texts: int) -> Mapping[str, Row]:
        """See `BatchApi`."""
        url = join_url(self._service_url("download"), f"/{state.results}:download")
        url += "&alt=media" if "?" in url else "?alt=media"
        return await self._fetch_rows(url, texts, _find_vector)

    async def cancel(self, job: str) -> None:
        """See `BatchApi`."""
        await self.fetch("POST", join_url(self._url, f"/{job}:cancel"))

    async def _upload(self, content: bytes) -> str:
        """Upload a file and return its name, such as files/abc."""
        command = {
            "X-Goog-Upload-Protocol": "resumable",
            "X-Goog-Upload-Command": "start",
            "X-Goog-Upload-Header-Content-Length": str(len(content)),
            "X-Goog-Upload-Header-Content-Type": "application/jsonl",
        }
        about = {"file": {"displayName": "memory-core"}}
        headers, _ = await self.fetch(
            "POST", join_url(self._service_url("upload"), "/files"), headers=command, json=about
        )
        url = headers.get("x-goog-upload-url", "")
        if find_origin(url) != find_origin(self._url):  # the key goes along
            raise make_unusable(self._provider, "its upload went to another host")
        finish = {"X-Goog-Upload-Offset": "0", "X-Goog-Upload-Command": "upload, finalize"}
        found = await self._fetch_object("POST", url, headers=finish, content=content)
        return str(found["file"]["name"])

    def _service_url(self, service: str) -> str:
        """Return the base URL with `/upload` or `/download` before its version: https://host/upload/v1beta."""
        parts = urlsplit(self._url)
        root, _, version = parts.path.rpartition("/")
        return urlunsplit(parts._replace(path=f"{root}/{service}/{version}"))


def _make_item(plan: Plan, text: str, kind: TextKind) -> dict[str, Any]:
    """Return the request for one text, an EmbedContentRequest."""
    item: dict[str, Any] = {"model": f"models/{plan.space.model}", "content": {"parts": [{"text": text}]}}
    if task := plan.input_type(kind):
        item["taskType"] = task
    if plan.dimensions:
        item["outputDimensionality"] = plan.dimensions
    return item


def _find_vector(line: Mapping[str, Any]) -> tuple[Any, Any]:
    return line.get("key"), ((line.get("response") or {}).get("embedding") or {}).get("values")
