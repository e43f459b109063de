"""The MCP server over streamable HTTP, on this machine unless a secret is set.

A web page may send requests to servers on the machine of its reader. So `Host` and `Origin` are checked, and whoever asks from
another machine has to know the secret.
"""

from __future__ import annotations

import hmac
import os
import socket
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from ipaddress import ip_address
from typing import TYPE_CHECKING, Self
from urllib.parse import urlsplit

from memory_core.__about__ import explain_install
from memory_core.errors import InvalidArgument, MemoryCoreError
from memory_core.hosts.mcp.greeting import instruct
from memory_core.hosts.mcp.lazy_packages import make_lazy
from memory_core.plugin.slot import MemorySlot
from memory_core.records import CallContext

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

PORT = 8765
PATH = "/mcp"
TOKEN_VARIABLE = "MEMORY_CORE_MCP_TOKEN"  # noqa: S105 -- a variable's name; on the command line, other users would see it
MIN_TOKEN_CHARS = 16


@dataclass(frozen=True, slots=True)
class Address:
    """A place to listen at.

    Attributes:
        host: A name or an IP address.
        port: 0 for any that is free.
    """

    host: str = "127.0.0.1"
    port: int = PORT

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read `HOST:PORT`, `HOST`, `PORT` or `[IPV6]:PORT`.

        Raises:
            InvalidArgument: It is none of these.
        """
        wanted = f"127.0.0.1:{text}" if text.isdecimal() else text
        try:
            parts = urlsplit(f"//{wanted}")
            host, port = parts.hostname, parts.port
        except ValueError:
            host = port = None
        if not host or (parts.netloc != wanted) or "@" in wanted:
            raise InvalidArgument("--http", f"expected HOST:PORT, such as 127.0.0.1:{PORT}, not {text!r:.80}")
        return cls(host, PORT if port is None else port)

    @property
    def is_local(self) -> bool:
        """True if only programs of this machine can reach it."""
        return _is_loopback(self.host)

    def to_url(self, port: int) -> str:
        """Return the URL for clients, with the port that was taken."""
        return f"http://{f'[{self.host}]' if ':' in self.host else self.host}:{port}{PATH}"


def serve_http(slot: MemorySlot, context: CallContext, address: Address) -> None:
    """Serve until SIGINT or SIGTERM; then close the slot.

    Raises:
        MemoryCoreError: The package mcp is not installed, the address cannot be used, or it is not local and no secret is set.
    """
    token = _read_token(address)
    try:
        make_lazy("mcp", "mcp.server")
        import anyio
        import uvicorn
        from mcp.server.transport_security import TransportSecuritySettings

        from memory_core.hosts.mcp.changes import MOST_SESSIONS
        from memory_core.hosts.mcp.server import end_on_signal, make_server
    except ImportError as error:
        raise MemoryCoreError(
            "the MCP server needs the package mcp, version 2", action=explain_install("mcp")
        ) from error

    class Quiet(uvicorn.Server):
        @contextmanager
        def capture_signals(self) -> Iterator[None]:
            """Leave the signals to `end_on_signal`."""
            yield

    server = make_server(slot, context, instructions=instruct(slot, context))
    unchecked = TransportSecuritySettings(enable_dns_rebinding_protection=False)  # the guard checks for all addresses
    app = server.streamable_http_app(
        streamable_http_path=PATH, max_sessions=MOST_SESSIONS, transport_security=unchecked
    )
    guarded = Guard(app, local=address.is_local, token=token)
    config = uvicorn.Config(guarded, log_config=None, access_log=False, ws="none", lifespan="on")

    async def run() -> None:
        async with anyio.create_task_group() as group:
            await group.start(end_on_signal, slot)
            slot.start()
            slot.session_started(context)
            sys.stderr.write(f"memory-core: serving MCP at {address.to_url(listener.getsockname()[1])}\n")
            sys.stderr.flush()
            await Quiet(config).serve(sockets=[listener])
            group.cancel_scope.cancel()

    with _listen(address) as listener:
        try:
            anyio.run(run)
        finally:
            slot.close()


def _read_token(address: Address) -> str:
    """Return the secret that clients have to send; "" for none.

    Raises:
        MemoryCoreError: There is none, though the address is not local; or it is too short.
    """
    token = os.environ.get(TOKEN_VARIABLE, "")
    advice = f"set {TOKEN_VARIABLE} to a secret of {MIN_TOKEN_CHARS} characters or more"
    if not token and not address.is_local:
        raise MemoryCoreError(
            f"{address.host} can be reached from other machines, whose users could read and write the notes",
            action=f"{advice}, which clients send as bearer token; or serve at 127.0.0.1",
        )
    if token and (len(token) < MIN_TOKEN_CHARS or not token.isascii() or not token.isprintable()):
        raise MemoryCoreError(f"{TOKEN_VARIABLE} is no safe secret", action=f"{advice}, letters and digits")
    return token


@contextmanager
def _listen(address: Address) -> Iterator[socket.socket]:
    try:
        family, _, _, _, place = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)[0]
        listener = socket.create_server(place[:2], family=family, backlog=256)
        # Connections inherit it. Without it, the second part of an answer waits 40 ms for word that the first one has come.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    except (OSError, UnicodeError) as error:  # no name of a host may have an empty or a long part
        reason = getattr(error, "strerror", None) or str(error)
        action = "name another port: --http 127.0.0.1:0 takes a free one"
        raise MemoryCoreError(f"cannot serve at {address.host}:{address.port}: {reason}", action=action) from error
    with listener:
        yield listener


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class Guard:
    """Lets through only requests that come from programs which may read the notes.

    Args:
        app: What they ask.
        local: Only this machine can reach the server: a request has to name it so, else a web page sends it.
        token: The secret; "" for none.
    """

    def __init__(self, app: ASGIApp, *, local: bool, token: str) -> None:
        self._app = app
        self._local = local
        self._token = token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request that is refused, or pass it on."""
        from starlette.responses import PlainTextResponse

        if scope["type"] == "http" and (refusal := self.refuse(scope["headers"])) is not None:
            status, reason = refusal
            headers = {"WWW-Authenticate": "Bearer"} if status == 401 else None
            await PlainTextResponse(f"{reason}\n", status, headers)(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def refuse(self, headers: Iterable[tuple[bytes, bytes]]) -> tuple[int, str] | None:
        """Return the status and the reason for which a request is refused; None if it is not."""
        said = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in headers}
        host = _read_host(f"//{said.get('host', '')}")
        if self._local and not _is_loopback(host):
            return 421, "Host: expected localhost or 127.0.0.1"
        origin = _read_host(said["origin"]) if "origin" in said else host
        if not (origin and (origin == host or _is_loopback(origin))):
            return 403, "Origin: requests of web pages from elsewhere are refused"
        scheme, _, secret = said.get("authorization", "").partition(" ")
        shown = secret.encode("latin-1") if scheme.lower() == "bearer" else b""
        if self._token and not hmac.compare_digest(shown, self._token.encode()):
            return 401, f"Authorization: expected 'Bearer' and the secret in {TOKEN_VARIABLE} of the server"
        return None


def _read_host(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""
