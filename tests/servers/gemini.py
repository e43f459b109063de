"""Gemini's embeddings on the loopback interface.

https://ai.google.dev/api/embeddings#method:-models.batchembedcontents
https://ai.google.dev/gemini-api/docs/batch-api
https://ai.google.dev/api/files
"""

from __future__ import annotations

import json
from typing import Any

from memory_core.errors import (
    AuthenticationFailed,
    InputTooLarge,
    InvalidEmbedding,
    ProviderUnavailable,
    QuotaExhausted,
    RateLimited,
)
from tests.servers.clients import KEY
from tests.servers.loopback import Reply, Request, Server, vector_of


def gemini_error(status: int, message: str, name: str = "INTERNAL") -> Reply:
    """An error as Google words it: https://cloud.google.com/apis/design/errors."""
    return Reply(status, {"error": {"code": status, "message": message, "status": name}})


# Answers of which both our client and litellm's make the same errors: the answer, the error, the requests it takes.
GEMINI_FAULTS = [
    (gemini_error(400, f"API key not valid: {KEY}", "INVALID_ARGUMENT"), AuthenticationFailed, 1),
    (gemini_error(403, f"{KEY} may not", "PERMISSION_DENIED"), AuthenticationFailed, 1),
    (gemini_error(404, f"no such model, {KEY}", "NOT_FOUND"), ProviderUnavailable, 1),
    (gemini_error(429, f"slow down {KEY}", "RESOURCE_EXHAUSTED"), RateLimited, 4),
    (gemini_error(429, f"no credit balance {KEY}", "RESOURCE_EXHAUSTED"), QuotaExhausted, 1),
    (gemini_error(400, f"at most 100 requests {KEY}", "INVALID_ARGUMENT"), InputTooLarge, 1),
    (gemini_error(500, f"oops {KEY}"), ProviderUnavailable, 4),
    (Reply(200, {"embeddings": []}), InvalidEmbedding, 4),
    (Reply(200, b"x" * 99, truncated=True), ProviderUnavailable, 4),
]


class GeminiServer(Server):
    """Answers `models/<model>:batchEmbedContents`, at most 100 texts at a time, and asynchronous batches.

    Attributes:
        dimensions: Of its vectors, when a request names none.
        files: Contents by name.
        jobs: The input file of every batch job.
        polls_until_done: So many polls find a job running.
        ends_as: The state a job ends with.
    """

    def __init__(self, *, dimensions: int = 3072) -> None:
        super().__init__()
        self.dimensions = dimensions
        self.files: dict[str, bytes] = {}
        self.jobs: list[str] = []
        self.polls_until_done = 0
        self.ends_as = "SUCCEEDED"

    @property
    def url(self) -> str:
        """The base URL."""
        return f"{self.origin}/v1beta"

    def batches(self) -> list[list[str]]:
        """The texts of every embeddings request, in order of arrival."""
        return [
            [content_text(item) for item in request.json()["requests"]] for request in self.sent(":batchEmbedContents")
        ]

    def answer(self, request: Request) -> Reply:
        path = request.path
        if path.endswith(":batchEmbedContents"):
            return self.embeddings(request.json())
        if path.startswith("/upload/v1beta/files"):
            return self._upload(request)
        if path.endswith(":asyncBatchEmbedContent"):
            self.jobs.append(request.json()["batch"]["inputConfig"]["fileName"])
            return Reply(200, {"name": f"batches/{len(self.jobs) - 1}", "metadata": {"state": "BATCH_STATE_PENDING"}})
        if path.startswith("/v1beta/batches/"):
            return self._operation(path)
        if path.startswith("/download/v1beta/"):
            return Reply(200, self.files[path.removeprefix("/download/v1beta/").removesuffix(":download")])
        return gemini_error(404, f"no such path: {path}", "NOT_FOUND")

    def _upload(self, request: Request) -> Reply:
        if not request.path.endswith("/session"):
            return Reply(200, {}, {"X-Goog-Upload-URL": f"{self.origin}/upload/v1beta/files/session"})
        self.files["files/in"] = request.body
        return Reply(200, {"file": {"name": "files/in"}})

    def _operation(self, path: str) -> Reply:
        name = path.removeprefix("/v1beta/")
        if self.polls_until_done > 0:
            self.polls_until_done -= 1
            return Reply(200, {"name": name, "metadata": {"state": "BATCH_STATE_RUNNING"}})
        if self.ends_as != "SUCCEEDED":
            return Reply(200, {"name": name, "done": True, "metadata": {"state": f"BATCH_STATE_{self.ends_as}"}})
        lines = [json.loads(line) for line in self.files[self.jobs[int(name.rpartition("/")[2])]].splitlines()]
        answers = [
            {"key": line["key"], "response": {"embedding": {"values": self.values(line["request"])}}} for line in lines
        ]
        self.files["files/out"] = b"\n".join(json.dumps(answer).encode() for answer in answers[::-1])
        done = {"name": name, "done": True, "metadata": {"state": "BATCH_STATE_SUCCEEDED"}}
        return Reply(200, {**done, "response": {"responsesFile": "files/out"}})

    def embeddings(self, body: dict[str, Any]) -> Reply:
        """The answer to one embeddings request."""
        items = body["requests"]
        if len(items) > 100:
            message = "* BatchEmbedContentsRequest.requests: at most 100 requests can be in one batch"
            return gemini_error(400, message, "INVALID_ARGUMENT")
        return Reply(200, {"embeddings": [{"values": self.values(item)} for item in items]})

    def values(self, item: dict[str, Any]) -> list[float]:
        """The vector of one EmbedContentRequest."""
        return vector_of(content_text(item), item.get("outputDimensionality", self.dimensions))


def content_text(item: dict[str, Any]) -> str:
    """The text of one EmbedContentRequest."""
    return "".join(part["text"] for part in item["content"]["parts"])
