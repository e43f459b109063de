"""The pictures in docs/: small, used, and of the page as it is."""

from __future__ import annotations

import re
import struct
from pathlib import Path
from typing import Any

import pytest

from tests.command import REPOSITORY
from tests.web.page import CHROMIUM, MISSING
from tests.web.pictures import HEIGHT, KEY, MOST_BYTES, PICTURES, WIDTH, hash_page, take_pictures


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_is_small_and_used(name: str) -> None:
    picture = REPOSITORY / "docs" / f"{name}.png"
    data = picture.read_bytes()
    assert struct.unpack(">II", data[16:24]) == (WIDTH, HEIGHT), "run: make pictures"
    assert KEY + hash_page() in data[:100], "the page has changed; run: make pictures"
    assert len(data) <= MOST_BYTES
    pages = [REPOSITORY / "README.md", *(REPOSITORY / "docs").glob("*.md")]
    assert any(re.search(rf"!\[[^\]]+\]\((docs/)?{name}\.png\)", page.read_text(encoding="utf-8")) for page in pages)


@pytest.mark.skipif(not CHROMIUM.exists(), reason=MISSING)
def test_the_pictures_can_be_taken_anew(browser: Any, tmp_path: Path) -> None:
    assert [picture.stem for picture in take_pictures(tmp_path, browser)] == list(PICTURES)
