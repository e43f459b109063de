"""The door of the page: one browser on this machine, let in once by the link, from no other page, and only to read."""

from __future__ import annotations

import secrets
from collections.abc import MutableMapping
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none';"
    " frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types memory-core"
)
HEADERS = {
    "content-security-policy": POLICY,
    "cache-control": "no-store",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}


class PageGuard:
    """Lets requests through to an application that come from the browser which opened the link.

    Args:
        app: The application.
        port: The port that it is served on; other Hosts are refused, so that no foreign name leads here.

    Attributes:
        token: Opens the page once.
    """

    def __init__(self, app: ASGIApp, port: int) -> None:
        self._app = app
        self._hosts = {f"127.0.0.1:{port}".encode(), f"localhost:{port}".encode()}
        self._cookie = f"memory-core-{port}"
        self._session = secrets.token_urlsafe(32)
        self.token: str | None = secrets.token_urlsafe(24)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, as ASGI has it."""
        if scope["type"] != "http":
            return
        headers: dict[bytes, bytes] = dict(scope["headers"])

        async def harden(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
                message = {**message, "headers": [*message["headers"], *own]}
            await send(message)

        if headers.get(b"host") not in self._hosts:
            await _answer(harden, 421, "This page is served at 127.0.0.1 only.")
        elif scope["method"] not in ("GET", "HEAD"):
            await _answer(harden, 405, "This page is for reading only.")
        elif headers.get(b"sec-fetch-site", b"none") not in (b"none", b"same-origin"):
            await _answer(harden, 403, "Other pages may not ask here.")
        elif self._is_let_in(headers):
            await self._app(scope, receive, harden)
        elif (
            scope["method"] == "GET" and scope["path"] == "/" and self._spend(scope)
        ):  # a HEAD, as of a preview, opens nothing
            cookie = f"{self._cookie}={self._session}; Path=/; HttpOnly; SameSite=Strict"
            await _answer(harden, 303, "", {"location": "/", "set-cookie": cookie})
        else:
            await _answer(harden, 403, "The link is used up, or wrong. Run memory-core inspect again.")

    def _is_let_in(self, headers: MutableMapping[bytes, bytes]) -> bool:
        # Other programs on this machine set cookies for the same name, of any form; they may hide ours no more than match it.
        pairs = (each.strip().partition(b"=") for each in headers.get(b"cookie", b"").split(b";"))
        name, session = self._cookie.encode(), self._session.encode()
        return any(key == name and secrets.compare_digest(value, session) for key, _, value in pairs)

    def _spend(self, scope: Scope) -> bool:
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        if self.token is None or not secrets.compare_digest(given.encode(), self.token.encode()):
            return False
        self.token = None
        return True


async def _answer(send: Send, status: int, text: str, more: dict[str, Any] | None = None) -> None:
    body = text.encode()
    headers = {"content-type": "text/plain; charset=utf-8", "content-length": str(len(body)), **(more or {})}
    pairs = [(name.encode(), str(value).encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": status, "headers": pairs})
    await send({"type": "http.response.body", "body": body})
