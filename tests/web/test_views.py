"""Facts, history and activity on the page: read only, complete, and as empty as the memory is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest

import memory_core
from tests.web.looking import look
from tests.web.page import AXE, CHROMIUM, MISSING, serve

pytest.importorskip("playwright.sync_api", reason=MISSING)
pytestmark = pytest.mark.skipif(not CHROMIUM.exists() or not AXE.exists(), reason=MISSING)


def turn_to(page: Any, view: str) -> None:
    page.get_by_role("link", name=view, exact=True).click()
    page.wait_for_load_state("networkidle")


def test_facts_show_where_they_come_from(page: Any) -> None:
    turn_to(page, "Facts")
    assert page.locator("#facts-lead").inner_text().startswith("5 facts beside the notes")
    tea = page.locator("#facts > li", has_text="Prefers tea").inner_text()
    for fact in ("preference", "#food", "said by the user", "agent:main:telegram:direct:7", "by 1 other session since"):
        assert fact in tea
    assert "said by the agent" in page.locator("#facts > li", has_text="The vet is").inner_text()
    lena = page.locator("#facts > li", has_text="Lena may visit")
    assert "pending" in lena.inner_text()
    assert "both cats" not in lena.inner_text()
    lena.get_by_text("learned from sessions/claude-code-7.jsonl#L2").click()
    assert "she may visit us in May, with both cats." in lena.inner_text()
    old = page.locator("#facts > li.old").inner_text()
    assert "on 3 March at nine" in old
    assert "Now: The dentist is on 5 March" in old
    look(page)
    page.get_by_label("Filter facts").fill("#cat lind")
    assert page.locator("#facts > li").count() == 1
    page.get_by_label("Filter facts").fill("zebra")
    page.get_by_text("No fact holds all of these words.").wait_for()
    look(page)


def test_history_shows_what_changed_and_a_note_as_it_stood(page: Any) -> None:
    turn_to(page, "History")
    assert "versions of notes" in page.locator("#history-lead").inner_text()
    look(page)
    page.locator("#moments").get_by_role("button", name="MEMORY.md").first.click()
    page.locator(".diff .added", has_text="The bicycle is blue.").wait_for()
    assert page.locator(".diff .removed").count() == 1
    assert page.locator("#events li").count() == 2
    look(page)
    page.locator("#events button").nth(1).click()
    page.get_by_role("heading", name="As it came").wait_for()
    page.get_by_text("The note as it stood on").click()
    page.locator("#version .unit").first.wait_for()
    assert "bicycle is blue" not in page.locator("#version").inner_text()
    look(page)
    page.get_by_role("button", name="All changes").click()
    page.locator("#moments > li").first.wait_for()


def test_activity_shows_who_did_what_and_no_text_of_what_was_forgotten(page: Any) -> None:
    turn_to(page, "Activity")
    page.locator("#activity .entry").first.wait_for()
    shown = page.locator("#activity").inner_text()
    for part in (
        "stored",
        "recalled",
        "flushed",
        "forgot",
        "memory_append",
        "agent:main:telegram:direct:7",
        "forgotten",
    ):
        assert part in shown
    assert "Dr. Lind" in shown  # stands
    assert "Okafor" not in shown  # was forgotten
    look(page)
    page.get_by_label("Session").select_option("agent:main:telegram:direct:7")
    assert page.locator("#activity .entry").count() == 3
    page.locator("#activity button").first.click()
    page.locator("#note .unit").first.wait_for()
    look(page)
    page.keyboard.press("Escape")
    assert page.locator("#note").is_hidden()


def test_a_note_leads_to_its_history(page: Any) -> None:
    page.locator("#latest button").first.click()
    page.locator("#note").get_by_role("button", name="History").click()
    page.locator("#past-name").wait_for()
    assert page.evaluate("location.hash") == "#history/MEMORY.md"


def test_a_young_memory_says_what_will_be_where(browser: Any, tmp_path: Path) -> None:
    (tmp_path / "ws").mkdir()
    with serve(tmp_path) as server:
        page = browser.new_page()
        page.goto(server.link)
        page.get_by_text("No notes yet.").wait_for()
        look(page)
        for view, text in (
            ("Days", "No notes yet"), ("Facts", "No facts yet"), ("History", "No history yet"), ("Activity", "Nothing yet"),
        ):  # fmt: skip
            turn_to(page, view)
            page.locator(f"#view-{view.lower().replace('days', 'calendar')}").get_by_text(text).first.wait_for()
            look(page)
        page.close()
    assert not list((tmp_path / "state").rglob("*.items.sqlite"))


def test_a_memory_that_is_off_is_said_to_be_in_each_view(browser: Any, workspace: Path) -> None:
    off = workspace / "none.json5"
    off.write_text('{plugins: {slots: {memory: "none"}}}', encoding="utf-8")
    with serve(workspace, "--config", str(off)) as server:
        page = browser.new_page()
        page.goto(server.link)
        for view, place in (
            ("search", "#verdict"),
            ("calendar", "#day"),
            ("facts", "#view-facts"),
            ("history", "#view-history"),
        ):
            page.goto(f"{server.origin}/#{view}")
            page.locator(place).get_by_text('plugins.slots.memory is "none". Set plugins.slots.memory to').wait_for()
        page.close()


def test_what_today_s_configuration_does_not_serve_is_not_in_the_past(tmp_path: Path) -> None:
    for path in ("memory/a.md", "private/b.md"):
        (tmp_path / "ws" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "ws" / path).write_text("- The boat is green.\n", encoding="utf-8")
    more = {"agents": {"defaults": {"memorySearch": {"provider": "none", "extraPaths": ["private"]}}}}
    with memory_core.open_memory(more, workspace=tmp_path / "ws", state_dir=tmp_path / "state") as memory:
        assert memory.sync().files == 2
        assert memory.explain("green boat").passages[0].path in ("memory/a.md", "private/b.md")
    with serve(tmp_path) as server, httpx.Client(headers=server.headers) as owner:
        changed = owner.get(f"{server.origin}/api/changes").json()["moments"]
        assert [moment["notes"] for moment in changed] == [["memory/a.md"]]
        for question in ("versions?path=private/b.md", "version?path=private/b.md&version=2"):
            assert owner.get(f"{server.origin}/api/{question}").status_code == 404
        assert owner.get(f"{server.origin}/api/version?path=memory/a.md&version=99999").status_code == 404


def test_a_history_that_is_off_is_said_to_be(workspace: Path) -> None:
    off = workspace / "without.json5"
    off.write_text(
        "{agents: {defaults: {memorySearch: {history: {enabled: false}, activity: {enabled: false}}}}}",
        encoding="utf-8",
    )
    with serve(workspace, "--config", str(off)) as server, httpx.Client(headers=server.headers) as owner:
        answer = owner.get(f"{server.origin}/api/changes")
        assert (answer.status_code, "no history is kept" in answer.json()["error"]) == (503, True)
        assert owner.get(f"{server.origin}/api/activity").json()["enabled"] is False
