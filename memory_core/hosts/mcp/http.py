"""The MCP server over streamable HTTP, on this machine unless a secret is set.

A web page may send requests to servers on the machine of its reader, so the package mcp checks `Host` and `Origin` there. Whoever
asks from another machine has to know the secret, which no page does.
"""

from __future__ import annotations

import hmac
import os
import re
import signal
import sys
from ipaddress import ip_address
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from mcp.server.transport_security import TransportSecuritySettings
from starlette.responses import PlainTextResponse

from memory_core.errors import InvalidArgument, MemoryCoreError
from memory_core.hosts.mcp.notes import MOST_SESSIONS
from memory_core.hosts.mcp.server import end_process, end_session, make_server
from memory_core.hosts.mcp.stdio import MAX_LINE_BYTES, tidy_json
from memory_core.hosts.serving import listen, run
from memory_core.plugin.slot import MemorySlot
from memory_core.records import CallContext

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

PORT = 8765
PATH = "/mcp"
TOKEN_VARIABLE = "MEMORY_CORE_MCP_TOKEN"  # noqa: S105 -- a variable's name; on the command line, other users would see it
MIN_TOKEN_CHARS = 16
LAST_ANSWERS_SECONDS = 1  # for open requests after a signal

LOCAL_NAMES = ("localhost", "127.0.0.1", "[::1]")
LOCAL_ONLY = TransportSecuritySettings(
    allowed_hosts=[f"{name}{port}" for name in LOCAL_NAMES for port in ("", ":*")],
    allowed_origins=[
        f"{scheme}://{name}{port}" for scheme in ("http", "https") for name in LOCAL_NAMES for port in ("", ":*")
    ],
)


def parse_address(text: str) -> tuple[str, int]:
    """Return host and port of `HOST:PORT`, `HOST`, `PORT` or `[IPV6]:PORT`; port 0 is any that is free.

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
    return host, PORT if port is None else port


def is_local(host: str) -> bool:
    """Return True if only programs of this machine can reach a host."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def serve_http(slot: MemorySlot, context: CallContext, host: str, port: int) -> None:
    """Serve until SIGINT or SIGTERM; then close the slot.

    Raises:
        MemoryCoreError: The address cannot be used, or it is not local and no secret is set.
    """
    app = make_application(slot, context, local=is_local(host), token=read_token(host))
    with listen(host, port) as listener:
        try:
            for number in (signal.SIGINT, signal.SIGTERM):  # uvicorn raises it again when it has ended its requests
                signal.signal(number, lambda number, _: end_process(slot, context, 128 + number))
            slot.start()
            slot.session_started(context)
            name = f"[{host}]" if ":" in host else host
            sys.stderr.write(f"memory-core: serving MCP at http://{name}:{listener.getsockname()[1]}{PATH}\n")
            sys.stderr.flush()
            run(app, listener, lifespan="on", grace_seconds=LAST_ANSWERS_SECONDS)
        finally:
            end_session(slot, context)


def make_application(slot: MemorySlot, context: CallContext, *, local: bool, token: str) -> ASGIApp:
    """Return the server as an ASGI application that answers only programs which may read the notes.

    Args:
        slot: The memory.
        context: The session of all clients.
        local: Only this machine can reach it: a request has to name it so, else a web page sends it.
        token: The secret; "" for none.
    """
    checks = LOCAL_ONLY if local else TransportSecuritySettings(enable_dns_rebinding_protection=False)
    app = make_server(slot, context).streamable_http_app(
        streamable_http_path=PATH, max_sessions=MOST_SESSIONS, transport_security=checks
    )

    async def ask_for_token(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and token:
            said = dict(scope["headers"]).get(b"authorization", b"")
            scheme, _, secret = said.partition(b" ")
            if scheme.lower() != b"bearer" or not hmac.compare_digest(secret, token.encode()):
                reason = f"Authorization: expected 'Bearer' and the secret in {TOKEN_VARIABLE} of the server\n"
                await PlainTextResponse(reason, 401, {"WWW-Authenticate": "Bearer"})(scope, receive, send)
                return
        await app(scope, _tidy_body(receive) if scope["type"] == "http" else receive, send)

    return ask_for_token


def _tidy_body(receive: Receive) -> Receive:
    """Return what gives an application the body of a request in one piece, as `tidy_json` makes it; a huge one as it is."""
    given = False

    async def receive_tidily() -> Message:
        nonlocal given
        message = await receive()
        if given or message["type"] != "http.request":
            return message
        given, body = True, message.get("body", b"")
        while message.get("more_body") and len(body) <= MAX_LINE_BYTES:
            message = await receive()
            if message["type"] != "http.request":
                return message
            body += message.get("body", b"")
        return {**message, "body": tidy_json(body) if len(body) <= MAX_LINE_BYTES else body}

    return receive_tidily


def read_token(host: str) -> str:
    """Return the secret that clients have to send; "" for none.

    Raises:
        MemoryCoreError: There is none, though the address is not local; or it is too short.
    """
    token = os.environ.get(TOKEN_VARIABLE, "")
    advice = f"set {TOKEN_VARIABLE} to a secret of {MIN_TOKEN_CHARS} characters or more"
    if not token and not is_local(host):
        raise MemoryCoreError(
            f"{host} can be reached from other machines, whose users could read and write the notes",
            action=f"{advice}, which clients send as bearer token; or serve at 127.0.0.1",
        )
    if token and not re.fullmatch(rf"[!-~]{{{MIN_TOKEN_CHARS},}}", token):
        raise MemoryCoreError(f"{TOKEN_VARIABLE} is no safe secret", action=f"{advice}, letters and digits")
    return token
