"""The tab in which proposals are settled: for whoever has its secret, by keyboard alone, and only where it is asked for."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.integration.test_review import MEMORY, write
from tests.web.looking import look
from tests.web.page import AXE, CHROMIUM, MISSING, serve
from tests.web.test_inspect import walk


def test_only_the_pages_own_secret_changes_a_note(tmp_path: Path) -> None:
    write(tmp_path / "ws")
    note = tmp_path / "ws/MEMORY.md"
    with serve(tmp_path) as server, httpx.Client(headers=server.headers, timeout=60) as owner:
        assert owner.get(f"{server.origin}/api/proposals").json() == {"enabled": False, "proposals": []}
        assert owner.post(f"{server.origin}/api/resolve?action=undo").status_code == 405
    with serve(tmp_path, review=True) as server, httpx.Client(headers=server.headers, timeout=60) as owner:
        held = owner.get(f"{server.origin}/api/proposals").json()
        rent = next(each for each in held["proposals"] if each["line"] == 3)
        query = f"{server.origin}/api/resolve?id={rent['id']}&action=accept"
        pen = {"x-memory-core-review": held["pen"]}
        assert owner.post(query).status_code == 405
        assert owner.post(query, headers={"x-memory-core-review": "guess"}).status_code == 405
        assert owner.post(query, headers={**pen, "sec-fetch-site": "cross-site"}).status_code == 403
        assert owner.put(query, headers=pen).status_code == 405
        assert httpx.post(query, headers=pen).status_code == 403  # without the secret of the link
        assert owner.get(query).status_code == 405
        assert note.read_text(encoding="utf-8") == MEMORY
        assert owner.post(query, headers=pen).json() == {"path": "MEMORY.md"}
        assert "£445" in note.read_text(encoding="utf-8")
        assert "there is no proposal" in owner.post(query, headers=pen).json()["error"]
        assert owner.post(f"{server.origin}/api/resolve?action=undo", headers=pen).status_code == 200
        assert note.read_text(encoding="utf-8") == MEMORY


@pytest.mark.skipif(not CHROMIUM.exists() or not AXE.exists(), reason=MISSING)
def test_proposals_are_settled_by_keyboard(browser: Any, tmp_path: Path) -> None:
    write(tmp_path / "ws")
    note = tmp_path / "ws/MEMORY.md"
    with serve(tmp_path, review=True) as server:
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        page.goto(server.link)
        page.locator("#agent").get_by_text("notes").wait_for()
        walk(page, "Review")
        page.keyboard.press("Enter")
        page.locator("#proposals > li").nth(1).wait_for()
        look(page)
        page.set_viewport_size({"width": 390, "height": 900})
        look(page)
        walk(page, "Accept")
        page.keyboard.press("Enter")
        page.get_by_text(re.compile("^Changed: MEMORY.md")).wait_for()
        assert page.evaluate("document.activeElement.id") == "review-lead"
        assert note.read_text(encoding="utf-8") != MEMORY
        walk(page, "Take back")
        page.keyboard.press("Enter")
        page.get_by_text(re.compile("^Taken back")).wait_for()
        assert note.read_text(encoding="utf-8") == MEMORY
        walk(page, "Never again")
        page.keyboard.press("Enter")
        page.get_by_text(re.compile("^Never again: MEMORY.md. 1 proposal")).wait_for()
        page.close()
