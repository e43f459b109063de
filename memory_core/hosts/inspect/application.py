"""The server of the page on 127.0.0.1: answers about one agent's memory as JSON, the files of the page, and its guard.

Whoever has the link is let in, from no other page, and only to read, unless `--review` lets proposals be settled: that takes
one more secret, which the page is given with the proposals. The secret stands in the link's fragment, which no browser sends;
the page's script sends it in a header. A cookie would go to every port of this machine.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memory_core.__about__ import explain_install
from memory_core.as_json import to_json
from memory_core.config.agent import AgentConfig, refuse_off
from memory_core.errors import InvalidArgument, MemoryCoreError, PathRefused
from memory_core.hosts.inspect import notes
from memory_core.hosts.serving import listen, resting_when_quiet, run
from memory_core.items.layered import open_items
from memory_core.plugin.reviewing import Review
from memory_core.records import Status
from memory_core.sources.activity import Activity
from memory_core.sources.origins import cite_origin, load_sources
from memory_core.text.messages import quote_safely
from memory_core.tools.results import shape_explanation

try:
    import uvicorn  # noqa: F401 -- so that it is missed now, not when the page is served
    from starlette.applications import Starlette
    from starlette.responses import FileResponse, JSONResponse, PlainTextResponse
    from starlette.routing import Mount, Route
    from starlette.staticfiles import StaticFiles
except ImportError as error:
    raise MemoryCoreError(f"the page needs the package {error.name}", action=explain_install("inspect")) from error

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from memory_core.plugin.memory import Memory

STATIC = Path(__file__).parent / "static"
ADDRESS = "127.0.0.1"
MOST_ITEMS = 500  # that are listed, those said last
MAX_CHARS = 1_000  # of a message that an item was learned from
MOST_ENTRIES = 300  # of the activity log, the last ones


def serve(memory: Memory, port: int, announce: Callable[[str], None], *, review: bool = False) -> None:
    """Serve one agent's memory on 127.0.0.1 until SIGINT or SIGTERM; it rests after a quiet minute.

    Args:
        memory: The memory, which the caller closes.
        port: The port; 0 takes a free one.
        announce: Called with the link that opens the page, before the first request is answered.
        review: The page may settle proposals for the notes.

    Raises:
        MemoryCoreError: The port cannot be had.
    """
    called = threading.Event()
    with listen(ADDRESS, port) as listener, resting_when_quiet(memory.rest, called):
        bound = listener.getsockname()[1]
        pen = secrets.token_urlsafe(32) if review else None
        guard = PageGuard(make_application(memory, called.set, pen), bound, pen)
        announce(f"http://{ADDRESS}:{bound}/#token={guard.token}")
        run(guard, listener, lifespan="off", grace_seconds=2)


def make_application(memory: Memory, note_call: Callable[[], None], pen: str | None = None) -> Starlette:
    """Return the application for one agent's memory; wrap it in a `PageGuard` before it is served.

    Args:
        memory: The memory.
        note_call: Called after each question.
        pen: The secret that settles proposals; None leaves the page without them.
    """

    def config() -> AgentConfig:
        resolved = memory.config()
        refuse_off(resolved)
        return resolved

    # Each takes the query of a request, and raises a subclass of `MemoryCoreError` when there is no answer, such as `MemoryOff`.
    answers: Mapping[str, Callable[[Mapping[str, str]], Any]] = {
        "search": lambda query: shape_explanation(memory.explain(_need(query, "q"))),
        "explain": lambda query: shape_explanation(memory.explain(_need(query, "q"), _need(query, "place"))),
        "notes": lambda _: {**notes.list_days(config()), "reviews": pen is not None},
        "note": lambda query: notes.show_note(config(), _need(query, "path")),
        "items": lambda _: _list_items(config()),
        "activity": lambda _: _list_activity(config(), memory.list_activity(limit=MOST_ENTRIES)),
        "changes": lambda _: notes.list_changes(config()),
        "versions": lambda query: notes.list_versions(config(), _need(query, "path")),
        "version": lambda query: notes.show_version(config(), _need(query, "path"), _need(query, "version")),
        "proposals": lambda _: _list_proposals(memory, pen),
        "health": lambda query: {
            "status": _shape_status(memory.status()),
            "findings": to_json(memory.diagnose() if query.get("deep") else []),
        },
    }
    return Starlette(
        routes=[
            Route("/", lambda _: FileResponse(STATIC / "index.html")),
            *(Route(f"/api/{name}", _make_endpoint(answer, note_call)) for name, answer in answers.items()),
            Route("/api/resolve", _make_endpoint(lambda query: _resolve(memory, query), note_call), methods=["POST"]),
            Mount("/static", StaticFiles(directory=STATIC)),
        ]
    )


def _make_endpoint(
    answer: Callable[[Mapping[str, str]], Any], note_call: Callable[[], None]
) -> Callable[[Request], Response]:
    """Return an endpoint, which Starlette runs in a thread, that answers a question or says why it cannot."""

    def endpoint(request: Request) -> Response:
        try:
            return JSONResponse(answer(request.query_params))
        except MemoryCoreError as error:
            status = 404 if isinstance(error, PathRefused) else 400 if isinstance(error, InvalidArgument) else 503
            return JSONResponse({"error": str(error), "action": error.action}, status)
        finally:
            note_call()

    return endpoint


def _list_proposals(memory: Memory, pen: str | None) -> dict[str, Any]:
    """Return what is proposed for the notes, and the secret that settles it; nothing on a page that only reads."""
    if pen is None:
        return {"enabled": False, "proposals": []}
    with closing(Review(memory.config(), memory.items, memory.sync)) as held:
        return {"enabled": True, "pen": pen, "proposals": to_json(held.find())}


def _resolve(memory: Memory, query: Mapping[str, str]) -> dict[str, Any]:
    """Accept, reject or undo, as the page's buttons ask for it."""
    action = _need(query, "action")
    if action not in ("accept", "reject", "undo"):
        raise InvalidArgument("action", f"expected accept, reject or undo, not {action!r:.20}")
    with closing(Review(memory.config(), memory.items, memory.sync)) as held:
        if action == "undo":
            return {"path": held.undo().path}
        ids = [_need(query, "id")]
        (done,) = held.accept(ids, query.get("text") or None) if action == "accept" else held.reject(ids)
        return {"path": done.path}


def _need(query: Mapping[str, str], name: str) -> str:
    value = query.get(name, "").strip()
    if not value:
        raise InvalidArgument(name, "is missing")
    return value


def _list_items(config: AgentConfig) -> dict[str, Any]:
    """Return the items of every scope, the one said last first; the file is read only."""
    with closing(open_items(config, access="ro")) as items:
        found, total = items.list(limit=MOST_ITEMS), items.count()
        gone = items.get_many({item.superseded_by for item in found if item.superseded_by})
    corrected = {item.id: item.content for item in gone}
    sources = load_sources(config, [item.origin for item in found])
    return {
        "enabled": config.search.items.enabled, "total": total,
        "items": [
            to_json(item) | {"correctedBy": corrected.get(item.superseded_by or ""), "place": cite_origin(item.origin)}
            | {"learnedFrom": quote_safely(learned or "")[:MAX_CHARS]}
            for item, learned in zip(found, sources, strict=True)
        ],
    }  # fmt: skip


def _list_activity(config: AgentConfig, entries: list[Activity]) -> dict[str, Any]:
    """Return entries of the activity log, the latest first, with the items that they name as far as those still stand."""
    ids = {place for entry in entries for place in entry.places if not _is_note(place)}
    with closing(open_items(config, access="ro")) as items:
        standing = {item.id: item.content for item in items.get_many(ids)} if ids else {}

    def describe(place: str) -> dict[str, Any]:
        if not _is_note(place):
            return {"place": place, "text": standing.get(place)}
        path, _, line = place.rpartition("#L")
        return {"place": place, "path": path or place, "line": int(line) if path and line.isdigit() else 0}

    shown = [{**to_json(entry), "places": list(map(describe, entry.places))} for entry in entries]
    return {"enabled": config.search.activity.enabled, "activity": shown}


def _is_note(place: str) -> bool:
    """Return True for a note's path or citation, False for the id of an item."""
    return "." in place or "/" in place or "#" in place


def _shape_status(status: Status) -> dict[str, Any]:
    """Return the rows of the view of the index's health, as they are shown."""
    return {
        "agent": status.agent, "workspace": str(status.workspace), "index": str(status.store or "none yet"),
        "size": f"{status.store_bytes / 1e6:.1f} MB", "notes": status.files, "passages": status.chunks,
        "embeddings": status.embeddings, "waiting to be embedded": status.pending,
        "up to date": {True: "no", False: "yes", None: "unknown"}[status.dirty], "backend": status.backend,
        "provider": f"{status.provider} {status.model or ''}".strip(), "vectors": status.vector,
        "left out": [f"{each.path}: {each.reason}" for each in status.failures], "warnings": list(status.warnings),
    }  # fmt: skip


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
    """Lets questions through to an application that bring the link's secret, and what asks for the empty page.

    Args:
        app: The application.
        port: The port that it is served on; other Hosts are refused, so that no foreign name leads here.
        pen: The secret that a request brings besides that is not only to read; None lets none through.

    Attributes:
        token: The secret, which questions bring as bearer token.
    """

    def __init__(self, app: ASGIApp, port: int, pen: str | None = None) -> None:
        self._app = app
        self._pen = pen
        self._hosts = {f"127.0.0.1:{port}".encode(), f"localhost:{port}".encode()}
        self.token = secrets.token_urlsafe(32)

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

        async def refuse(status: int, text: str) -> None:
            await PlainTextResponse(text, status)(scope, receive, harden)

        if headers.get(b"host") not in self._hosts:
            await refuse(421, "This page is served at 127.0.0.1 only.")
        elif scope["method"] not in ("GET", "HEAD") and not self._may_write(scope["method"], headers):
            await refuse(405, "This page is for reading only.")
        elif not self._comes_from_here(headers):
            await refuse(403, "Other pages may not ask here.")
        elif scope["path"] == "/" or scope["path"].startswith("/static/") or self._is_let_in(headers):
            await self._app(scope, receive, harden)
        else:
            await refuse(403, "The secret of the link is missing: open the link that memory-core inspect printed.")

    def _comes_from_here(self, headers: Mapping[bytes, bytes]) -> bool:
        """Return False for a request that a page of another origin sends; older browsers name it in one header only."""
        own = {b"http://" + host for host in self._hosts}
        site, origin = headers.get(b"sec-fetch-site", b"none"), headers.get(b"origin")
        return site in (b"none", b"same-origin") and (origin is None or origin in own)

    def _may_write(self, method: str, headers: Mapping[bytes, bytes]) -> bool:
        given = headers.get(b"x-memory-core-review", b"")
        return method == "POST" and self._pen is not None and secrets.compare_digest(given, self._pen.encode())

    def _is_let_in(self, headers: Mapping[bytes, bytes]) -> bool:
        return secrets.compare_digest(headers.get(b"authorization", b""), f"Bearer {self.token}".encode())
