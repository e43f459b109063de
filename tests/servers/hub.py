"""A Hugging Face hub with one file, on the loopback interface.

https://huggingface.co/docs/huggingface_hub/package_reference/file_download (`get_hf_file_metadata`): the resolve URL answers
with X-Repo-Commit, X-Linked-Etag (the SHA-256 of a large file) and X-Linked-Size, and takes ranges.
"""

from __future__ import annotations

import hashlib
import re
import threading

from tests.servers.loopback import Reply, Request, Server


class HubServer(Server):
    """Serves `content` at any resolve URL.

    Attributes:
        path: Of the file in its repository.
        break_after: A GET of more than so many bytes is cut off after half of them; None serves all.
        held: What a GET that resumes waits for; None does not wait.
    """

    def __init__(self, content: bytes, path: str) -> None:
        super().__init__()
        self.content = content
        self.path = path
        self.break_after: int | None = None
        self.held: threading.Event | None = None

    def ranges(self) -> list[str]:
        """The ranges that were asked for, in order of arrival."""
        return [request.headers.get("range", "") for request in self.requests if request.method == "GET"]

    def answer(self, request: Request) -> Reply:
        if not request.path.endswith(f"/resolve/main/{self.path}"):
            return Reply(404, b"", {"X-Error-Code": "EntryNotFound"})
        described = {
            "X-Repo-Commit": "0" * 40,
            "X-Linked-Etag": f'"{hashlib.sha256(self.content).hexdigest()}"',
            "X-Linked-Size": str(len(self.content)),
            "ETag": '"small"',
        }
        if request.method == "HEAD":
            return Reply(200, b"", {**described, "Content-Length": str(len(self.content))})
        return self._slice(request, described)

    def _slice(self, request: Request, described: dict[str, str]) -> Reply:
        match = re.fullmatch(r"bytes=(\d+)-", request.headers.get("range", ""))
        start = int(match[1]) if match else 0
        if match:
            described |= {"Content-Range": f"bytes {start}-{len(self.content) - 1}/{len(self.content)}"}
        left = len(self.content) - start
        breaks = self.break_after is not None and left > self.break_after
        rest = self.content[start : start + self.break_after] if self.break_after and breaks else self.content[start:]
        held = self.held if start else None
        return Reply(206 if match else 200, rest, described, after=held, truncated=breaks)
