"""The application: four questions as JSON, and the files of the page."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memory_core.config.switch import refuse_off
from memory_core.errors import InvalidArgument, MemoryCoreError, PathRefused
from memory_core.hosts.inspect import notes
from memory_core.records import Finding, Status
from memory_core.tools.results import shape_explanation

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

    from memory_core.config.agent import AgentConfig
    from memory_core.plugin.memory import Memory

STATIC = Path(__file__).parent / "static"
MAX_RESULTS = 100


def make_application(memory: Memory) -> Starlette:
    """Return the application for one agent's memory; wrap it in a `PageGuard` before it is served."""
    from starlette.applications import Starlette
    from starlette.responses import FileResponse
    from starlette.routing import Mount, Route
    from starlette.staticfiles import StaticFiles

    def show_page(_: Request) -> Response:
        return FileResponse(STATIC / "index.html")

    def read_config() -> AgentConfig:
        config = memory.config()
        refuse_off(config)
        return config

    def search(query: Mapping[str, str]) -> Any:
        return shape_explanation(memory.explain(_need(query, "q")))

    def explain(query: Mapping[str, str]) -> Any:
        return shape_explanation(memory.explain(_need(query, "q"), _need(query, "place")))

    def list_days(_: Mapping[str, str]) -> Any:
        config = read_config()
        return {"agent": config.agent, "workspace": str(config.workspace), "notes": notes.list_days(config)}

    def show_note(query: Mapping[str, str]) -> Any:
        return notes.show_note(read_config(), _need(query, "path"))

    def check(query: Mapping[str, str]) -> Any:
        findings = memory.diagnose() if query.get("deep") else []
        return {"status": _shape_status(memory.status()), "findings": list(map(_shape_finding, findings))}

    questions = {"search": search, "explain": explain, "notes": list_days, "note": show_note, "health": check}
    return Starlette(
        routes=[
            Route("/", show_page),
            *(Route(f"/api/{name}", _answer(question)) for name, question in questions.items()),
            Mount("/static", StaticFiles(directory=STATIC)),
        ]
    )


def _answer(question: Callable[[Mapping[str, str]], Any]) -> Callable[[Request], Response]:
    """Return an endpoint, which Starlette runs in a thread, that answers a question or says why it cannot."""
    from starlette.responses import JSONResponse

    def endpoint(request: Request) -> Response:
        try:
            return JSONResponse(question(request.query_params))
        except MemoryCoreError as error:
            status = 404 if isinstance(error, PathRefused) else 400 if isinstance(error, InvalidArgument) else 503
            return JSONResponse({"error": str(error), "action": error.action}, status)

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
