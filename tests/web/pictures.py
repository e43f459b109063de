"""The pictures of docs/ and README.md, taken of the page of `memory-core inspect` over the sample memory: `make pictures`.

The sample lives anew for each run, so that its times are those of the run; all else is the same.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from hashlib import blake2s
from pathlib import Path
from typing import Any, Literal
from zlib import crc32

from memory_core.hosts.inspect.application import STATIC
from tests.command import REPOSITORY
from tests.web.looking import ask
from tests.web.page import CHROMIUM, live, serve

WIDTH, HEIGHT = 1080, 660
MOST_BYTES = 150_000
HEADER_BYTES = 33  # of a PNG: the signature and the chunk IHDR
KEY = b"Page\0"
# A line and the note that outdates it, for the view of proposals.
OUTDATED = {
    "memory/house.md": "# House\n\n- Rent: £410 a month\n- Choir on Mondays at 19:30\n",
    "memory/2026-05-11.md": "The rent goes up to £445 a month from June.\nThe choir meets on Wednesdays from now on.\n",
}


def take_pictures(folder: Path, browser: Any) -> list[Path]:
    """Write all pictures into a folder, and return them.

    Args:
        folder: The folder.
        browser: Chromium, as playwright has opened it.

    Raises:
        ValueError: One is too large for a page of documentation.
    """
    written = []
    with tempfile.TemporaryDirectory() as temporary:
        live(Path(temporary))
        for path, text in OUTDATED.items():
            (Path(temporary) / "ws" / path).write_text(text, encoding="utf-8")
        with serve(Path(temporary), review=True) as server:
            context = browser.new_context(viewport={"width": WIDTH, "height": HEIGHT}, reduced_motion="reduce")
            page = context.new_page()
            page.goto(server.link)
            for name, (scheme, prepare) in PICTURES.items():
                page.emulate_media(color_scheme=scheme)
                page.goto(f"{server.origin}/#search")
                page.reload()
                page.locator("#latest li").first.wait_for()
                prepare(page)
                page.wait_for_load_state("networkidle")
                picture = folder / f"{name}.png"
                picture.write_bytes(_stamp(page.screenshot()))
                written.append(picture)
            context.close()
    for picture in written:
        if (size := picture.stat().st_size) > MOST_BYTES:
            raise ValueError(f"{picture} has {size} bytes, more than {MOST_BYTES}")
    return written


def hash_page() -> bytes:
    """Return what changes with the files of the page, so that a picture of an older one is known."""
    files = sorted(STATIC.iterdir())
    return blake2s(b"".join(file.read_bytes() for file in files), digest_size=8).hexdigest().encode()


def _stamp(png: bytes) -> bytes:
    """Return a PNG that says, in a chunk of text behind its header, of which page it is."""
    text = b"tEXt" + KEY + hash_page()
    chunk = (len(text) - 4).to_bytes(4, "big") + text + crc32(text).to_bytes(4, "big")
    return png[:HEADER_BYTES] + chunk + png[HEADER_BYTES:]


def _find(page: Any) -> None:
    ask(page, "Which musical instrument am I learning?")
    page.locator("#results button").first.click()
    page.locator("#note .unit.hit").first.wait_for()
    page.evaluate("scrollTo(0, 0)")


def _miss(page: Any) -> None:
    ask(page, "Which musical instrument am I learning?")
    page.get_by_label("Why not this note?").fill("memory/2026-01-05.md")
    page.get_by_role("button", name="Explain").click()
    page.locator("#stages li").first.wait_for()
    page.evaluate("document.activeElement.blur()")


def _list_activity(page: Any) -> None:
    page.get_by_role("link", name="Activity", exact=True).click()
    page.locator("#activity .entry").first.wait_for()


def _review(page: Any) -> None:
    page.get_by_role("link", name="Review", exact=True).click()
    page.locator("#proposals > li").nth(1).wait_for()


PICTURES: dict[str, tuple[Literal["light", "dark"], Callable[[Any], None]]] = {
    "inspect-search": ("light", _find), "inspect-miss": ("dark", _miss), "inspect-activity": ("light", _list_activity),
    "inspect-review": ("light", _review),
}  # fmt: skip


def main(folder: Path) -> None:
    """Take the pictures, and print their sizes."""
    from playwright import sync_api

    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=["--no-sandbox"])
        for picture in take_pictures(folder, browser):
            print(f"{picture}: {picture.stat().st_size:,} bytes")
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else REPOSITORY / "docs")
