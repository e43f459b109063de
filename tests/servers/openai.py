"""OpenAI's embeddings, files and batches on the loopback interface.

https://platform.openai.com/docs/api-reference/embeddings/create
https://platform.openai.com/docs/api-reference/files
https://platform.openai.com/docs/api-reference/batch
"""

from __future__ import annotations

import base64
import struct
from typing import Any

from tests.servers.loopback import Reply, Request, Server, openai_error, vector_of


class OpenAIServer(Server):
    """Answers `/v1/embeddings`.

    Attributes:
        dimensions: Of its vectors, when a request names none (`output_dimension` is how Voyage and Mistral call them).
        max_items: Texts it takes in one request.
        max_characters: Characters it takes of one text.
        replaced: Vectors for certain texts, instead of the usual ones.
        base64: Whether it knows `encoding_format`; otherwise it refuses it.
    """

    def __init__(self, *, dimensions: int = 8) -> None:
        super().__init__()
        self.dimensions = dimensions
        self.max_items = 2048
        self.max_characters = 100_000
        self.replaced: dict[str, list[float]] = {}
        self.base64 = True

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
        return openai_error(404, f"no such path: {request.path}")

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
        vectors = [self.replaced.get(text) or vector_of(text, dimensions) for text in texts]
        encode = _base64 if body.get("encoding_format") == "base64" else list
        data = [{"object": "embedding", "index": n, "embedding": encode(row)} for n, row in enumerate(vectors)]
        return Reply(200, {"object": "list", "model": body["model"], "data": data[::-1], "usage": {"total_tokens": 1}})


def _base64(vector: list[float]) -> str:
    return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()
