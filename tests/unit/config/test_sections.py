"""Sections of the configuration: values that compare, hash and show themselves by their settings."""

from __future__ import annotations

from memory_core.config.settings import Cache, Chunking, Remote


def test_sections_are_equal_if_their_settings_are() -> None:
    assert Chunking(tokens=600) == Chunking(tokens=600) != Chunking()
    assert len({Chunking(tokens=600), Chunking(tokens=600), Chunking(), Cache()}) == 3
    assert Chunking() != Cache()
    assert Chunking() != (Chunking().tokens, Chunking().overlap)


def test_a_section_shows_its_settings_but_those_that_may_hold_a_secret() -> None:
    shown = repr(Remote(base_url="https://user:password@example.com", timeout_seconds=5))
    assert shown.startswith("Remote(api_key=None, headers={}, timeout_seconds=5, batch=Batch(enabled=False, ")
    assert "password" not in shown
