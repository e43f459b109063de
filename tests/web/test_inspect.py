"""The page of `memory-core inspect` in Debian's Chromium, as people use it and as a hostile note attacks it."""

from __future__ import annotations

import os
import re
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, ClassVar

import httpx
import pytest

from tests.web.looking import ask, look
from tests.web.page import AXE, CHROMIUM, MISSING, Server, serve

pytest.importorskip("playwright.sync_api", reason=MISSING)
pytestmark = pytest.mark.skipif(not CHROMIUM.exists() or not AXE.exists(), reason=MISSING)


def test_search_and_what_fell_below_the_gate(page: Any) -> None:
    ask(page, "Which musical instrument am I learning?")
    assert page.locator("#results > li").first.inner_text().startswith("memory/2026-02-21.md")
    lost = page.locator("#lost > li").first.inner_text()
    assert "below the gate" in lost
    assert page.locator("#found meter").count() >= 10
    look(page)


def test_why_not_this_note(page: Any) -> None:
    ask(page, "Which musical instrument am I learning?")
    page.get_by_label("Why not this note?").fill("memory/2026-01-05.md")
    page.get_by_role("button", name="Explain").click()
    page.locator("#reason").get_by_text("What you can do").wait_for()
    assert "ranks" in page.locator("#reason").inner_text()


def test_a_note_opens_at_the_lines_of_the_hit(page: Any) -> None:
    ask(page, "Which musical instrument am I learning?")
    page.locator("#results button").first.click()
    page.locator("#note .unit.hit").first.wait_for()
    assert page.locator("#note h2").first.inner_text() == "memory/2026-02-21.md"
    assert page.locator("#note .unit").count() > 3
    look(page)


def test_the_calendar_marks_the_days_of_hits(page: Any) -> None:
    ask(page, "Which musical instrument am I learning?")
    page.get_by_role("link", name="Days").click()
    day = page.get_by_role("button", name=re.compile("2026-02-21.*found by the search"))
    day.click()
    look(page)
    page.locator("#of-day button").first.click()
    page.locator("#note h2").first.wait_for()


def test_twenty_thousand_notes_of_one_day_are_listed_in_parts(browser: Any, server: Server) -> None:
    """As an import brings them: neither their paths nor their day make the page large."""
    page = browser.new_page()

    def answer(route: Any) -> None:
        response = route.fetch()
        held = response.json()
        held["notes"] = [
            {**held["notes"][0], "path": f"memory/note-{number:05d}.md", "day": "2026-11-01"}
            for number in range(20_000)
        ]
        route.fulfill(response=response, json=held)

    page.route("**/api/notes*", answer)
    page.goto(server.link)
    page.locator("#agent").get_by_text("20,000 notes").wait_for()
    ask(page, "heron")
    page.get_by_label("Why not this note?").fill("note-0123")
    assert page.locator("#paths option").count() == 10
    page.get_by_role("link", name="Days").click()
    page.get_by_role("button", name=re.compile("2026-11-01, 20,000 notes")).click()
    assert page.locator("#of-day > li").count() == 100
    page.get_by_role("button", name="Show more of 20,000 notes").press("Enter")
    assert page.evaluate("document.activeElement.textContent") == "memory/note-00100.md"
    assert page.evaluate("document.querySelectorAll('*').length") < 2_000
    page.close()


def test_the_health_of_the_index(page: Any) -> None:
    page.get_by_role("link", name="Health").click()
    page.locator("#status dd").first.wait_for()
    page.get_by_role("button", name="Check everything").click()
    page.locator("#findings b").first.wait_for()
    look(page)


def test_nothing_of_a_hostile_note_runs(page: Any, server: Server) -> None:
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.evaluate("window.reports = []; addEventListener('securitypolicyviolation', (e) => reports.push(e.blockedURI))")
    ask(page, "harpsichord")
    page.get_by_role("button", name=re.compile("hostile")).first.click()
    page.locator("#note .unit").first.wait_for()
    assert "<script>window.broken = 1</script>" in page.locator("#note").inner_text()
    assert (
        page.locator("#note script, #note img, #note a, #note svg, #note iframe, #note style, #note base").count() == 0
    )
    assert page.evaluate("[typeof window.broken, reports.length]") == ["undefined", 0]
    assert all(url.startswith(server.origin) for url in requests)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1440])
def test_both_schemes_at_both_widths(page: Any, width: int, scheme: str, tmp_path: Path) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme=scheme)
    ask(page, "What does PRS-2209 complain about?")
    page.locator("#results button").first.click()
    page.locator("#note .unit.hit").first.wait_for()
    page.evaluate("scrollTo(0, 0)")
    look(page)
    folder = Path(os.environ.get("INSPECT_SCREENSHOTS") or tmp_path)
    page.screenshot(path=folder / f"search-{scheme}-{width}.png")
    for view in ("Days", "Facts", "History", "Activity", "Health"):
        page.get_by_role("link", name=view, exact=True).click()
        page.wait_for_load_state("networkidle")
        look(page)
        page.screenshot(path=folder / f"{view.lower()}-{scheme}-{width}.png")


def test_everything_by_keyboard(page: Any) -> None:
    page.get_by_label("Ask this memory").focus()
    page.keyboard.type("Which musical instrument am I learning?")
    page.locator("#results > li").first.wait_for()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "place"
    page.keyboard.press("Enter")
    page.locator("#note .unit.hit").first.wait_for()
    assert page.evaluate("document.activeElement.id") == "note"
    walk(page, "Days", back=True)
    page.keyboard.press("Enter")
    page.get_by_role("button", name=re.compile("2026-02-21")).wait_for()
    walk(page, "Facts", back=True)
    page.keyboard.press("Enter")
    page.locator("#facts > li").first.wait_for()
    walk(page, "History", back=True)
    page.keyboard.press("Enter")
    page.locator("#moments > li").first.wait_for()
    walk(page, "MEMORY.md")
    page.keyboard.press("Enter")
    page.locator(".diff .added").first.wait_for()
    walk(page, "Activity", back=True)
    page.keyboard.press("Enter")
    page.locator("#activity .entry").first.wait_for()
    walk(page, re.compile(r"memory/.*\.md"))
    page.keyboard.press("Enter")
    page.locator("#note .unit").first.wait_for()
    page.keyboard.press("Escape")
    assert page.locator("#note").is_hidden()


def walk(page: Any, text: str | re.Pattern[str], *, back: bool = False) -> None:
    """Move the focus by the keyboard alone, to what has a text."""
    for _ in range(60):
        page.keyboard.press("Shift+Tab" if back else "Tab")
        if re.match(text, page.evaluate("document.activeElement.textContent").strip()):
            return
    raise AssertionError(f"the focus never comes to {text}")


def test_the_secret_is_needed_from_this_host_and_to_read_only(workspace: Path) -> None:
    with serve(workspace) as server:
        with httpx.Client() as stranger:
            assert stranger.get(f"{server.origin}/api/notes").status_code == 403
            assert stranger.get(f"{server.origin}/api/notes?token={server.link.partition('=')[2]}").status_code == 403
            for told in ("Bearer", "Bearer wrong", server.link.partition("=")[2], "Bearer \xe9"):
                shown = {b"authorization": told.encode("latin-1")}
                assert stranger.get(f"{server.origin}/api/notes", headers=shown).status_code == 403, told
            assert stranger.get(server.origin, headers={"host": "evil.example"}).status_code == 421
            empty = stranger.get(server.origin)
            assert (empty.status_code, "set-cookie" in empty.headers) == (200, False)
        with httpx.Client(headers=server.headers) as owner:
            answer = owner.get(server.origin)
            assert answer.status_code == 200
            assert answer.headers["content-security-policy"].startswith("default-src 'none'; script-src 'self'")
            assert owner.post(f"{server.origin}/api/notes").status_code == 405
            assert owner.get(f"{server.origin}/api/notes", headers={"host": "evil.example"}).status_code == 421
            assert owner.get(f"{server.origin}/api/notes", headers={"sec-fetch-site": "cross-site"}).status_code == 403
            for origin in ("http://evil.example", "null", server.origin.replace("http:", "https:")):
                assert owner.get(f"{server.origin}/api/notes", headers={"origin": origin}).status_code == 403
            assert owner.get(f"{server.origin}/api/notes", headers={"origin": server.origin}).status_code == 200
            assert owner.get(f"{server.origin}/api/note", params={"path": "/etc/passwd"}).status_code == 404
            assert owner.get(f"{server.origin}/static/../application.py").status_code == 404
            with ThreadPoolExecutor(50) as pool:
                asked = [
                    pool.submit(owner.get, f"{server.origin}/api/note?path=MEMORY.md", timeout=60) for _ in range(200)
                ]
                assert {each.result().status_code for each in asked} == {200}
    assert not list((workspace / "state").rglob("*.sock"))


class Eavesdropper(BaseHTTPRequestHandler):
    """Another program on this machine, on another port: a page that asks all it may, and keeps what browsers send it."""

    heard: ClassVar[list[str]] = []
    page = b"""<!doctype html><script>
        window.told = [];
        new BroadcastChannel("memory-core secret").onmessage = ({ data }) => told.push(data);
        new BroadcastChannel("memory-core secret").postMessage(null);
    </script>"""

    def do_GET(self) -> None:
        self.heard.append(f"{self.path} {self.headers}")
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(self.page)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def test_a_reload_and_a_second_tab_work_and_no_other_port_hears_the_secret(page: Any, server: Server) -> None:
    secret = server.link.partition("#token=")[2]
    assert page.evaluate("location.href") == f"{server.origin}/"
    page.reload()
    page.locator("#agent").get_by_text("notes").wait_for()
    for address in (server.origin, f"{server.origin}/#calendar", server.link):
        tab = page.context.new_page()
        tab.goto(address)
        tab.locator("#agent").get_by_text("notes").wait_for()
        assert secret not in tab.evaluate("location.href")
        tab.reload()
        tab.locator("#agent").get_by_text("notes").wait_for()
        tab.close()
    assert page.context.cookies() == []
    assert page.evaluate("localStorage.length") == 0

    with ThreadingHTTPServer(("127.0.0.1", 0), Eavesdropper) as beside:
        Thread(target=beside.serve_forever, daemon=True).start()
        other = page.context.new_page()
        other.goto(f"http://127.0.0.1:{beside.server_port}/")
        read = "fetch(url).then((answer) => answer.text(), (error) => `${error}`)"
        seen = other.evaluate(f"(url) => {read}", f"{server.origin}/api/notes")
        assert "MEMORY.md" not in seen
        shown = other.evaluate(
            "(url) => new Promise((done) => { const tab = window.open(url); setTimeout(() => { try {"
            " done(tab.sessionStorage.length) } catch (error) { done(error.name) } }, 1000) })",
            server.origin,
        )
        assert shown in ("SecurityError", "TypeError")
        assert other.evaluate("told.filter(Boolean)") == []
        other.evaluate("fetch('/pixel')")
        beside.shutdown()
    assert Eavesdropper.heard
    assert not any(secret in heard for heard in Eavesdropper.heard)


def test_without_the_link_nothing_is_shown(browser: Any, server: Server) -> None:
    context = browser.new_context()
    tab = context.new_page()
    tab.goto(server.origin)
    tab.locator("#verdict").get_by_text("open the link that memory-core inspect printed").wait_for()
    tab = context.new_page()
    tab.goto(f"{server.origin}/#token=wrong")
    tab.locator("#verdict").get_by_text("open the link that memory-core inspect printed").wait_for()
    tab.goto(server.link)
    tab.locator("#agent").get_by_text("notes").wait_for()
    context.close()


def test_a_memory_that_is_off_shows_nothing(workspace: Path) -> None:
    off = workspace / "off.json5"
    off.write_text("{agents: {defaults: {memorySearch: {enabled: false}}}}", encoding="utf-8")
    questions = (
        "notes", "note?path=MEMORY.md", "search?q=instrument", "explain?q=a&place=MEMORY.md", "items", "activity", "changes",
        "versions?path=MEMORY.md", "version?path=MEMORY.md&version=1",
    )  # fmt: skip
    with serve(workspace, "--config", str(off)) as server, httpx.Client(headers=server.headers) as owner:
        for question in questions:
            answer = owner.get(f"{server.origin}/api/{question}")
            assert (answer.status_code, "memory is off" in answer.json()["error"]) == (503, True)


def test_what_is_looked_at_stands_in_the_address(page: Any) -> None:
    ask(page, "Which musical instrument am I learning?")
    page.locator("#results button").first.click()
    page.locator("#note .unit.hit").first.wait_for()
    address = page.url
    assert "q=Which+musical+instrument" in address
    assert "note=memory%2F2026-02-21.md" in address
    assert "token" not in address
    page.reload()
    page.locator("#note .unit.hit").first.wait_for()
    assert page.locator("#query").input_value() == "Which musical instrument am I learning?"
    assert page.locator("#results > li").first.inner_text().startswith("memory/2026-02-21.md")
    assert page.url == address


def test_back_leads_to_the_question_before(page: Any) -> None:
    ask(page, "When is the marriage ceremony?")
    page.locator("#query").blur()
    ask(page, "Which musical instrument am I learning?")
    page.locator("#results button").first.click()
    page.locator("#note h2").first.wait_for()
    page.go_back()
    page.locator("#note").wait_for(state="hidden")
    page.go_back()
    page.locator("#results > li").filter(has_text="wedding").first.wait_for()
    assert page.locator("#query").input_value() == "When is the marriage ceremony?"
    page.go_back()
    page.locator("#home").wait_for()
    assert page.locator("#query").input_value() == ""


def test_the_question_goes_along_to_other_views(page: Any) -> None:
    ask(page, "Which musical instrument am I learning?")
    page.get_by_role("link", name="Days").click()
    page.get_by_role("button", name=re.compile("2026-02-21.*found by the search")).wait_for()
    page.reload()
    page.get_by_role("button", name=re.compile("2026-02-21.*found by the search")).wait_for()
    page.get_by_role("link", name="Search").click()
    assert page.locator("#results > li").first.inner_text().startswith("memory/2026-02-21.md")


def test_filters_stay_on_reload(page: Any) -> None:
    page.get_by_role("link", name="Facts").click()
    page.locator("#facts > li").first.wait_for()
    every = page.locator("#facts > li").count()
    page.get_by_label("Filter facts").fill("fact:that nobody has told")
    page.reload()
    page.locator("#facts .empty").wait_for()
    page.get_by_label("Filter facts").fill("")
    assert page.locator("#facts > li").count() == every
    page.get_by_role("link", name="Activity").click()
    page.locator("#activity li").first.wait_for()
    session = page.locator("#activity-session option").nth(1).get_attribute("value")
    page.get_by_label("Session").select_option(index=1)
    shown = page.locator("#activity .entry").count()
    page.reload()
    page.locator("#activity .entry").first.wait_for()
    page.wait_for_function(f"document.querySelectorAll('#activity .entry').length === {shown}")
    assert page.locator("#activity-session").input_value() == session


def test_a_first_visit_says_how_to_begin(browser: Any, tmp_path: Path) -> None:
    (tmp_path / "ws/memory").mkdir(parents=True)
    with serve(tmp_path) as server:
        page = browser.new_page()
        page.goto(server.link)
        page.locator("#latest .empty").first.wait_for()
        assert [code for code in page.locator("#latest code").all_inner_texts() if code.startswith("memory-core ")] == [
            'memory-core add "The dentist is on Friday at nine."',
            "memory-core install claude-code",
            "memory-core adopt",
        ]
        page.close()
