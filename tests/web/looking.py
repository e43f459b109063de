"""Looks at the page as a reviewer of its accessibility and its layout would."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.web.page import AXE

# A colour that still fades is none that a reader sees for long; a transition that another replaces is rejected, hence "settled".
FADED = "Promise.allSettled(document.getAnimations().map((each) => each.finished)).then(() => null)"
OVERLAPS = (Path(__file__).parent / "overlaps.js").read_text(encoding="utf-8")


def look(page: Any) -> None:
    """Fail for whatever axe calls serious or worse, for text over other text, and for a page wider than its window."""
    page.evaluate(FADED)
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate("axe.run().then((result) => result.violations)")
    problems = [
        f"{each['id']}: {node['html'][:200]} {node['failureSummary'][:300]}"
        for each in found
        if each["impact"] in ("serious", "critical")
        for node in each["nodes"]
    ]
    problems += page.evaluate(OVERLAPS)
    if not page.evaluate("document.documentElement.scrollWidth <= innerWidth"):
        problems.append("the page is wider than its window")
    if problems:
        raise AssertionError("\n".join(problems))


def ask(page: Any, question: str) -> None:
    """Type a question, and wait for its answer."""
    page.get_by_label("Ask this memory").fill(question)
    page.locator("#found li").first.wait_for()
    page.wait_for_function("() => document.querySelector('#results > li, #lost > li')")
