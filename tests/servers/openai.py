"""OpenAI's embeddings, files and batches on the loopback interface.

https://platform.openai.com/docs/api-reference/embeddings/create
https://platform.openai.com/docs/api-reference/files
https://platform.openai.com/docs/api-reference/batch
"""

from __future__ import annotations

import base64
import json
import struct
import threading
from typing import Any

from tests.servers.loopback import Reply, Request, Server, openai_error, vector_of
from tests.waiting import HANG_GUARD_SECONDS


class OpenAIServer(Server):
    """Answers `/v1/embeddings`, `/v1/files` and `/v1/batches`.

    Attributes:
        dimensions: Of its vectors, when a request names none (`output_dimension` is how Voyage and Mistral call them).
        max_items: Texts it takes in one request.
        max_characters: Characters it takes of one text.
        replaced: Vectors for certain texts, instead of the usual ones.
        base64: Whether it knows `encoding_format`; otherwise it refuses it.
        files: Contents by file id.
        jobs: Batch jobs by id, in order of submission.
        polls_until_done: So many polls find a job in progress.
        ends_as: The status a job ends with; "expired" and "cancelled" have done half of it.
        refused: Texts whose line in a job fails.
    """

    def __init__(self, *, dimensions: int = 8) -> None:
        super().__init__()
        self.dimensions = dimensions
        self.max_items = 2048
        self.max_characters = 100_000
        self.replaced: dict[str, list[float]] = {}
        self.base64 = True
        self.files: dict[str, bytes] = {}
        self.jobs: dict[str, dict[str, Any]] = {}
        self.polls_until_done = 0
        self.ends_as = "completed"
        self.refused: set[str] = set()

    @property
    def url(self) -> str:
        """The base URL."""
        return f"{self.origin}/v1"

    def batches(self) -> list[list[str]]:
        """The texts of every embeddings request, in order of arrival."""
        return [request.json()["input"] for request in self.sent("/embeddings")]

    def answer(self, request: Request) -> Reply:
        if request.path.endswith("/embeddings"):
            return self.embeddings(request.json())
        parts = request.path.removeprefix("/v1/").split("/")
        if parts[0] == "files":
            return self._upload(request) if request.method == "POST" else Reply(200, self.files[parts[1]])
        if parts[0] == "batches":
            return self._batch(request, parts)
        return openai_error(404, f"no such path: {request.path}")

    def submitted(self) -> list[list[str]]:
        """The texts of every batch job, in order of submission."""
        lines = [self.files[job["input_file_id"]].splitlines() for job in self.jobs.values()]
        return [[json.loads(line)["body"]["input"] for line in of_job] for of_job in lines]

    def vector(self, text: str, dimensions: int) -> list[float]:
        """The vector of a text, the same at every call, not of unit length."""
        return vector_of(text, dimensions)

    def _upload(self, request: Request) -> Reply:
        # One part of a multipart form after the other; the file is the one with a name.
        boundary = request.headers["content-type"].partition("boundary=")[2].encode()
        parts = request.body.split(b"--" + boundary)
        content = next(part for part in parts if b"filename=" in part).partition(b"\r\n\r\n")[2].removesuffix(b"\r\n")
        name = f"file-{len(self.files)}"
        self.files[name] = content
        return Reply(200, {"id": name, "object": "file", "bytes": len(content), "purpose": "batch"})

    def _batch(self, request: Request, parts: list[str]) -> Reply:
        if len(parts) == 1:
            name = f"batch_{len(self.jobs)}"
            self.jobs[name] = {"id": name, **request.json()}
            return Reply(200, {**self.jobs[name], "status": "validating"})
        if parts[1] not in self.jobs:
            return openai_error(404, f"No batch found with id '{parts[1]}'.")
        if parts[2:] == ["cancel"]:
            return Reply(200, {**self.jobs[parts[1]], "status": "cancelling"})
        return Reply(200, self._ended(self.jobs[parts[1]]))

    def _ended(self, job: dict[str, Any]) -> dict[str, Any]:
        if self.polls_until_done > 0:
            self.polls_until_done -= 1
            return {**job, "status": "in_progress"}
        if self.ends_as == "failed":
            return {**job, "status": "failed", "errors": {"data": [{"message": "token limit"}]}}
        lines = self.files[job["input_file_id"]].splitlines()
        kept = lines[: len(lines) // 2] if self.ends_as != "completed" else lines
        self.files[f"out-{job['id']}"] = b"\n".join(self._line(json.loads(line)) for line in kept[::-1])
        return {**job, "status": self.ends_as, "output_file_id": f"out-{job['id']}"}

    def _line(self, line: dict[str, Any]) -> bytes:
        text = line["body"]["input"]
        if text in self.refused:
            response: dict[str, Any] = {"status_code": 400, "body": {"error": {"message": "no"}}}
        else:
            answer = self.embeddings({**line["body"], "input": [text]}).body
            response = {"status_code": 200, "body": answer}
        return json.dumps({"custom_id": line["custom_id"], "response": response, "error": None}).encode()

    def embeddings(self, body: dict[str, Any]) -> Reply:
        """The answer to one embeddings request."""
        texts = body["input"]
        if not self.base64 and "encoding_format" in body:
            return openai_error(400, "unknown field: encoding_format")
        if len(texts) > self.max_items:
            return openai_error(400, f"batch size {len(texts)} > maximum allowed batch size {self.max_items}")
        if any(len(text) > self.max_characters for text in texts):
            return openai_error(400, "This model's maximum context length is exceeded.")
        dimensions = body.get("dimensions", body.get("output_dimension", self.dimensions))
        vectors = [self.replaced.get(text) or self.vector(text, dimensions) for text in texts]
        encode = _base64 if body.get("encoding_format") == "base64" else list
        data = [{"object": "embedding", "index": n, "embedding": encode(row)} for n, row in enumerate(vectors)]
        return Reply(200, {"object": "list", "model": body["model"], "data": data[::-1], "usage": {"total_tokens": 1}})


def _base64(vector: list[float]) -> str:
    return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()


class HeldServer(OpenAIServer):
    """Answers a request for a text that begins with "held: " only when it is told to."""

    def __init__(self) -> None:
        super().__init__(dimensions=1536)
        self.is_asked, self.may_answer = threading.Event(), threading.Event()

    def answer(self, request: Request) -> Reply:
        if any(text.startswith("held: ") for text in request.json()["input"]):
            self.is_asked.set()
            self.may_answer.wait(HANG_GUARD_SECONDS)
        return super().answer(request)
