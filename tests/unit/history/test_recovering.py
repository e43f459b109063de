"""Which text was purged is found out from a content that still holds it, and only from such a one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_core.history.store.purging import PURGED, TAGS, make_tag, purge, recover_texts
from memory_core.text.wording import Wording

TEXT = st.text("ab c\n", max_size=20)


@given(TEXT, TEXT, TEXT, st.text("xyz", min_size=1, max_size=9))
def test_a_text_is_recovered(before: str, between: str, after: str, secret: str) -> None:
    data = f"{before}{secret}{between}{secret}{after}".encode()
    purged = purge(data, [Wording(secret)])
    found = recover_texts(data, purged, lambda wording: wording.folded in (secret, secret * 2))
    assert purge(data, found) == purged


@pytest.mark.parametrize(
    ("data", "purged"),
    [
        ("- rent: 700\n", "- rent: [purged]\n- more\n"),
        ("- rent: \n", "- rent: [purged]\n"),
        ("- rent: [purged]\n", "- rent: [purged]\n"),
        ("- 7 and 8\n", "- [purged] and [purged]\n- 8\n"),
        ("", "[purged]"),
        ("ab", "abb[purged]"),
    ],
)
def test_another_content_tells_nothing(data: str, purged: str) -> None:
    assert recover_texts(data.encode(), purged.encode(), lambda _: True) == ()


def test_a_text_of_another_tag_is_not_taken() -> None:
    tag = make_tag(Wording("700"))
    known = [
        number
        for number in range(1000)
        if recover_texts(b"- rent: %d" % number, b"- rent: [purged]", lambda wording: make_tag(wording) == tag)
    ]
    assert 700 in known
    assert len(known) < 3 * 1000 / TAGS
    assert len({make_tag(Wording(str(number))) for number in range(1000)}) == TAGS


def test_a_mark_stays_what_it_is() -> None:
    assert purge(f"{PURGED} urge".encode(), [Wording("urge"), Wording("purged")]) == f"{PURGED} {PURGED}".encode()
