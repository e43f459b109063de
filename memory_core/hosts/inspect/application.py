"""The server of the page on 127.0.0.1: questions as JSON, and the files of the page."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memory_core.config.agent import refuse_off
from memory_core.errors import InvalidArgument, MemoryCoreError, PathRefused
from memory_core.hosts.inspect import facts, notes, past
from memory_core.hosts.inspect.guard import PageGuard
from memory_core.hosts.serving import RestWhenQuiet, listen
from memory_core.records import Finding, Status
from memory_core.tools.results import shape_explanation

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

    from memory_core.config.agent import AgentConfig
    from memory_core.plugin.memory import Memory

STATIC = Path(__file__).parent / "static"
ADDRESS = "127.0.0.1"


class Questions:
    """The questions that the page asks about one agent's memory; each takes the query of a request and answers with JSON.

    Every method raises a subclass of `MemoryCoreError` when there is no answer, such as `MemoryOff`.
    """

    def __init__(self, memory: Memory) -> None:
        self._memory = memory

    def search(self, query: Mapping[str, str]) -> Any:
        """Search, and tell where every passage stood."""
        return shape_explanation(self._memory.explain(_need(query, "q")))

    def explain(self, query: Mapping[str, str]) -> Any:
        """Search, and tell why a place did not come."""
        return shape_explanation(self._memory.explain(_need(query, "q"), _need(query, "place")))

    def list_notes(self, _: Mapping[str, str]) -> Any:
        """List all notes with their days."""
        config = self._read_config()
        return {"agent": config.agent, "workspace": str(config.workspace), "notes": notes.list_days(config)}

    def show_note(self, query: Mapping[str, str]) -> Any:
        """Show one note as it stands."""
        return notes.show_note(self._read_config(), _need(query, "path"))

    def list_items(self, _: Mapping[str, str]) -> Any:
        """List the facts that agents have stored."""
        return facts.list_items(self._read_config())

    def list_activity(self, _: Mapping[str, str]) -> Any:
        """List what sessions have done."""
        return facts.list_activity(self._read_config(), self._memory.list_activity(limit=facts.MOST_ENTRIES))

    def list_changes(self, _: Mapping[str, str]) -> Any:
        """List what changed last in the notes."""
        return past.list_changes(self._read_config())

    def list_versions(self, query: Mapping[str, str]) -> Any:
        """List the versions of one note."""
        return past.list_versions(self._read_config(), _need(query, "path"))

    def show_version(self, query: Mapping[str, str]) -> Any:
        """Show one note as it stood."""
        return past.show_version(self._read_config(), _need(query, "path"), _need(query, "version"))

    def check_health(self, query: Mapping[str, str]) -> Any:
        """Show the index's state; with `deep`, also what the doctor finds."""
        findings = self._memory.diagnose() if query.get("deep") else []
        return {"status": _shape_status(self._memory.status()), "findings": list(map(_shape_finding, findings))}

    def _read_config(self) -> AgentConfig:
        config = self._memory.config()
        refuse_off(config)
        return config


def serve(memory: Memory, port: int, announce: Callable[[str], None]) -> None:
    """Serve one agent's memory on 127.0.0.1 until SIGINT or SIGTERM; it rests after a quiet minute.

    Args:
        memory: The memory, which the caller closes.
        port: The port; 0 takes a free one.
        announce: Called with the link that opens the page once, before the first request is answered.

    Raises:
        MemoryCoreError: The port cannot be had, or a package is missing.
    """
    try:
        import markdown_it  # noqa: F401 -- so that it is missed now, not when the first note is opened
        import starlette  # noqa: F401 -- as above
        import uvicorn
    except ImportError as error:
        raise MemoryCoreError(
            f"the page needs the package {error.name}", action='run: pip install "memory-core-py[inspect]"'
        ) from error
    quiet = RestWhenQuiet(memory.rest)
    with listen(ADDRESS, port) as listener, quiet:
        bound = listener.getsockname()[1]
        guard = PageGuard(make_application(memory, quiet.note_call), bound)
        config = uvicorn.Config(
            guard, log_config=None, access_log=False, ws="none", lifespan="off", server_header=False,
            timeout_graceful_shutdown=2,
        )  # fmt: skip
        announce(f"http://{ADDRESS}:{bound}/?token={guard.token}")
        uvicorn.Server(config).run(sockets=[listener])


def make_application(memory: Memory, note_call: Callable[[], None]) -> Starlette:
    """Return the application for one agent's memory; wrap it in a `PageGuard` before it is served.

    Args:
        memory: The memory.
        note_call: Called after each question.
    """
    from starlette.applications import Starlette
    from starlette.responses import FileResponse
    from starlette.routing import Mount, Route
    from starlette.staticfiles import StaticFiles

    def show_page(_: Request) -> Response:
        return FileResponse(STATIC / "index.html")

    asked = Questions(memory)
    questions = {
        "search": asked.search, "explain": asked.explain, "notes": asked.list_notes, "note": asked.show_note,
        "items": asked.list_items, "activity": asked.list_activity, "changes": asked.list_changes,
        "versions": asked.list_versions, "version": asked.show_version, "health": asked.check_health,
    }  # fmt: skip
    return Starlette(
        routes=[
            Route("/", show_page),
            *(Route(f"/api/{name}", _answer(question, note_call)) for name, question in questions.items()),
            Mount("/static", StaticFiles(directory=STATIC)),
        ]
    )


def _answer(
    question: Callable[[Mapping[str, str]], Any], note_call: Callable[[], None]
) -> Callable[[Request], Response]:
    """Return an endpoint, which Starlette runs in a thread, that answers a question or says why it cannot."""
    from starlette.responses import JSONResponse

    def endpoint(request: Request) -> Response:
        try:
            return JSONResponse(question(request.query_params))
        except MemoryCoreError as error:
            status = 404 if isinstance(error, PathRefused) else 400 if isinstance(error, InvalidArgument) else 503
            return JSONResponse({"error": str(error), "action": error.action}, status)
        finally:
            note_call()

    return endpoint


def _need(query: Mapping[str, str], name: str) -> str:
    value = query.get(name, "").strip()
    if not value:
        raise InvalidArgument(name, "is missing")
    return value


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


def _shape_finding(finding: Finding) -> dict[str, str]:
    return {"subject": finding.subject, "level": finding.level, "message": finding.message, "action": finding.action}
