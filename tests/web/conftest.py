"""A browser, and the page of a sample memory that a hostile note has got into."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.web.page import CHROMIUM, MISSING, Server, live, serve

HOSTILE = """# <script>window.broken = 1</script>

<img src=x onerror="window.broken = 2"> and <svg onload=window.broken=3> harpsichord

- [harpsichord](javascript:window.broken=4) <a href="javascript:window.broken=5" onclick="window.broken=6">here</a>
- <iframe srcdoc="<script>parent.broken=7</script>"></iframe> ![](http://127.0.0.1:9/harpsichord.png)

<style>body { display: none }</style> <base href="http://127.0.0.1:9/">

"""


@pytest.fixture(scope="session")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("inspect")
    live(folder)
    (folder / "ws/memory/hostile.md").write_text(HOSTILE + "x" * 1_000_000 + "\n", encoding="utf-8")
    return folder


@pytest.fixture(scope="module")  # while one is open, a loop runs in this thread, which other tests cannot have
def browser() -> Iterator[Any]:
    sync_api = pytest.importorskip("playwright.sync_api", reason=MISSING)
    with sync_api.sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=str(CHROMIUM), args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture
def server(workspace: Path) -> Iterator[Server]:
    with serve(workspace) as started:
        yield started


@pytest.fixture
def page(browser: Any, server: Server) -> Iterator[Any]:
    context = browser.new_context(viewport={"width": 1440, "height": 1000})
    opened = context.new_page()
    opened.problems = problems = []
    opened.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
    opened.on("pageerror", lambda error: problems.append(str(error)))
    opened.goto(server.link)
    opened.locator("#agent").get_by_text("notes").wait_for()
    yield opened
    assert problems == []
    context.close()
