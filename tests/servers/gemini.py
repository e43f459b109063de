"""Gemini's embeddings on the loopback interface.

https://ai.google.dev/api/embeddings#method:-models.batchembedcontents
"""

from __future__ import annotations

from typing import Any

from tests.servers.loopback import Reply, Request, Server, vector_of


def gemini_error(status: int, message: str, name: str = "INTERNAL") -> Reply:
    """An error as Google words it: https://cloud.google.com/apis/design/errors."""
    return Reply(status, {"error": {"code": status, "message": message, "status": name}})


class GeminiServer(Server):
    """Answers `models/<model>:batchEmbedContents`, at most 100 texts at a time.

    Attributes:
        dimensions: Of its vectors, when a request names none.
    """

    def __init__(self, *, dimensions: int = 3072) -> None:
        super().__init__()
        self.dimensions = dimensions

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
        if request.path.endswith(":batchEmbedContents"):
            return self.embeddings(request.json())
        return gemini_error(404, f"no such path: {request.path}", "NOT_FOUND")

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
