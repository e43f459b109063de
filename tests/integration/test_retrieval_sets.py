"""The frozen sets: every question finds its place among the first three, amid more than 200 other notes."""

from __future__ import annotations

from pathlib import Path

import pytest

from memory_core.config.settings import ProviderId, SearchSettings, SyncSettings
from tests.benchmarks.nonsense import EVERYDAY_WORDS, SMALL_TALK, nonsense
from tests.retrieval_sets import amid_others, searching


def settings(provider: ProviderId) -> SearchSettings:
    return SearchSettings(provider=provider, sync=SyncSettings(on_search=False))


@pytest.mark.parametrize(
    ("name", "provider"),
    [
        ("cjk", "none"), ("prose", "static"), ("code", "static"), ("code", "none"), ("de", "static"), ("de", "none"),
        ("es", "static"), ("es", "none"), ("fr", "static"), ("fr", "none"), ("pt", "static"), ("pt", "none"),
        ("it", "static"), ("it", "none"), ("nl", "static"), ("nl", "none"), ("ru", "static"), ("ru", "none"),
    ],
)  # fmt: skip
def test_nine_of_ten_questions_find_their_place_among_the_first_three(
    name: str, provider: ProviderId, tmp_path: Path
) -> None:
    questions = amid_others(name, tmp_path / "workspace")
    with searching(tmp_path / "workspace", tmp_path / "state", settings(provider)) as search:
        missed = [question.text for question in questions if not question.is_found(search(question.text))]
    assert len(missed) <= len(questions) // 10, missed


@pytest.mark.parametrize(("provider", "share"), [("static", 0.04), ("none", 0.06)])
def test_nonsense_finds_nothing(provider: ProviderId, share: float, tmp_path: Path) -> None:
    amid_others("", tmp_path / "workspace")
    queries = nonsense(300, EVERYDAY_WORDS)
    with searching(tmp_path / "workspace", tmp_path / "state", settings(provider)) as search:
        answered = [query for query in queries if search(query)]
        assert len(answered) <= share * len(queries), answered
        assert sum(bool(search(text)) for text in SMALL_TALK) <= len(SMALL_TALK) // 10
