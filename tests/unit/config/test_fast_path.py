"""Sections that are read without pydantic are read as pydantic reads them."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, get_args, get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, TypeAdapter

from memory_core.config.fast_path import construct
from memory_core.config.fields import Secret, Section, to_camel
from memory_core.config.located import annotate, to_plain
from memory_core.config.settings import Chunking, Compaction, MemorySettings, ProviderAccount, SearchSettings

MODELS = (SearchSettings, MemorySettings, Compaction, ProviderAccount)
ADAPTERS: dict[type[Any], TypeAdapter[Any]] = {model: TypeAdapter(model) for model in MODELS}

SCALARS: st.SearchStrategy[Any] = (
    st.none()
    | st.booleans()
    | st.integers(-2, 5000)
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(["", "a", "static", "memory", "none", "on", "allow", "deny", "sqlite", "2mb", "0", "x" * 50])
)


def contents(model: type[Any], depth: int = 4) -> st.SearchStrategy[dict[str, Any]]:
    """Objects under the model's own keys, seldom others, whose values are often of the right kind."""
    hints = get_type_hints(model)
    known = {to_camel(each.name): values(hints[each.name], depth) for each in fields(model)}
    return st.fixed_dictionaries({}, optional={**known, "unknownKey": st.just(1)} if depth == 1 else known)


def values(hint: Any, depth: int) -> st.SearchStrategy[Any]:
    sections = [arm for arm in (hint, *get_args(hint)) if isinstance(arm, type) and is_dataclass(arm)]
    if not sections or depth == 0:
        return SCALARS | st.lists(SCALARS, max_size=2) | st.dictionaries(st.sampled_from("ab"), SCALARS, max_size=2)
    inner = contents(sections[0], depth - 1)
    return SCALARS | st.lists(inner, max_size=2) if hint is not sections[0] else inner


@given(st.sampled_from(MODELS).flatmap(lambda model: st.tuples(st.just(model), contents(model))))
def test_what_is_taken_is_what_pydantic_makes_of_it(case: tuple[type[Any], dict[str, Any]]) -> None:
    model, content = case
    node = annotate(content, "section", "file", [])
    section = construct(model, node)
    if section is not None:
        expected = ADAPTERS[model].validate_json(json.dumps(to_plain(node)))
        assert section == expected
        assert repr(section) == repr(expected)  # 1 and 1.0 are equal, but not the same


@pytest.mark.parametrize(
    ("model", "content"),
    [
        (SearchSettings, {}),
        (SearchSettings, {"provider": "openai", "model": "text-embedding-3-small", "fallback": "static"}),
        (SearchSettings, {"remote": {"apiKey": "k", "headers": {"x": "y"}, "batch": {"enabled": True}}}),
        (SearchSettings, {"query": {"minScore": 0, "hybrid": {"vectorWeight": 1, "textWeight": None}}}),
        (SearchSettings, {"sources": ["memory", "sessions"], "extraPaths": [{"path": "~/wiki", "pattern": "*.md"}]}),
        (MemorySettings, {"backend": "qmd", "scope": {"default": "deny", "rules": [{"action": "allow", "match": {}}]}}),
        (Compaction, {"reserveTokensFloor": 8000, "memoryFlush": {"forceFlushTranscriptBytes": "4mb"}}),
        (ProviderAccount, {"apiKey": "k", "baseUrl": "http://localhost:1/v1"}),
    ],
)
def test_what_people_write_needs_no_pydantic(model: type[Any], content: dict[str, Any]) -> None:
    assert construct(model, annotate(content, "section", "file", [])) == TypeAdapter(model).validate_python(
        content, strict=False
    )


@pytest.mark.parametrize(
    ("model", "content"),
    [
        (SearchSettings, {"provider": "nonesuch"}),
        (SearchSettings, {"query": {"maxResults": 0}}),
        (SearchSettings, {"query": {"maxResults": True}}),
        (SearchSettings, {"query": {"minScore": float("nan")}}),
        (SearchSettings, {"query": []}),
        (SearchSettings, {"model": ""}),
        (SearchSettings, {"typo": 1}),
        (Chunking, {"tokens": 10, "overlap": 10}),
        (MemorySettings, {"scope": {"rules": [{}]}}),
    ],
)
def test_mistakes_are_left_to_pydantic(model: type[Any], content: dict[str, Any]) -> None:
    assert construct(model, annotate(content, "section", "file", [])) is None


@dataclass
class Foreign:
    """A backend's own section that says nothing of how it is read."""

    size: int = 3


class ForeignModel(BaseModel):
    """A section as a model of pydantic."""

    size: int = 3


@dataclass(kw_only=True)
class Lax(Section):
    """A section that has its own rules."""

    __pydantic_config__ = {"extra": "allow"}  # noqa: RUF012  # as pydantic wants it
    size: int = 3


@pytest.mark.parametrize("model", [Foreign, ForeignModel, Lax])
def test_models_declared_otherwise_are_left_to_pydantic(model: type[Any]) -> None:
    assert construct(model, annotate({"size": 4}, "section", "file", [])) is None


def test_a_key_stays_secret() -> None:
    account = construct(ProviderAccount, annotate({"apiKey": "sk-visible"}, "section", "file", []))
    assert account is not None
    assert account.api_key == Secret("sk-visible")
    assert "sk-visible" not in repr(account)
