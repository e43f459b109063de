"""An httpx client for vendors' libraries that call it in a thread: bounded like `http.Http`. Imported when it is first used."""

from __future__ import annotations

from typing import Any

import httpx

from memory_core.embeddings.remote.bodies import ACCEPTED, Body, bound_answer, read_body_now


class BoundedClient(httpx.Client):
    """Reads answers within bounds and follows no redirect, because a key would go along.

    Args:
        texts: The most texts in one request, which bounds its answer.
        timeout_seconds: For connecting, and for each read.
        headers: Sent with every request.
    """

    def __init__(self, *, texts: int, timeout_seconds: float, headers: dict[str, str]) -> None:
        super().__init__(timeout=timeout_seconds, follow_redirects=False, headers=headers)
        self.headers["Accept-Encoding"] = ACCEPTED
        self._limit_bytes = bound_answer(texts)

    def send(self, request: httpx.Request, *, stream: bool = False, **options: Any) -> httpx.Response:  # noqa: ARG002
        """Send a request and read its whole answer, whatever `stream` says.

        Raises:
            BadBody: The answer is too large or cannot be decompressed.
        """
        options["follow_redirects"] = False
        answer = super().send(request, stream=True, **options)
        try:
            body = Body.of(answer.status_code, answer.headers, self._limit_bytes)
            content = read_body_now(body, answer.iter_raw())
        finally:
            answer.close()
        kept = [(name, value) for name, value in answer.headers.multi_items() if name.lower() not in _OF_THE_WIRE]
        return httpx.Response(answer.status_code, headers=kept, content=content, request=request)


_OF_THE_WIRE = frozenset({"content-encoding", "content-length", "transfer-encoding"})
