"""The names under which old versions of QMD know files."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_qmd.collections import list_slugs


@pytest.mark.parametrize(
    ("path", "slug"),
    [
        ("Weekly Plan_v1.2.md", "weekly-plan-v1-2.md"),
        ("MEMORY.md", "memory.md"),
        ("A & B/c;d.md", "a-b/c-d.md"),
        ("日本 ノート.md", "日本-ノート.md"),
        ("a___b.md", "a/b.md"),
        ("note😀.md", "note1f600.md"),
        ("note😀.md", "note.md"),
        ("$route.md", "$route.md"),
        ("projects/-x-.md", "projects/x.md"),
    ],
)
def test_slugs(path: str, slug: str) -> None:
    assert slug in list_slugs(path)


@given(st.text(st.characters(exclude_characters="/\0"), min_size=1).map(lambda name: f"{name}.md"))
def test_slugs_of_slugs_are_themselves(name: str) -> None:
    for slug in list_slugs(name):
        if not slug.startswith("."):
            assert slug in list_slugs(slug)
