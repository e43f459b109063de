"""The table is complete, sourced and found by name."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import pytest

from memory_core.config.load import load_config
from memory_core.config.settings import ProviderId
from memory_core.embeddings.models import MODELS, PROVIDERS, find_model
from tests.command import REPOSITORY


def test_every_provider_that_makes_requests_has_a_row() -> None:
    assert set(PROVIDERS) == set(get_args(ProviderId)) - {"auto", "static", "none"}


@pytest.mark.parametrize("row", [*PROVIDERS.values(), *MODELS])
def test_every_row_names_its_source(row: object) -> None:
    assert re.match(r"https://[\w.]+/", getattr(row, "source", ""))


@pytest.mark.parametrize("provider", ["openai", "gemini", "voyage", "mistral", "ollama", "openrouter", "local"])
def test_default_models_are_in_the_table(provider: str) -> None:
    model = PROVIDERS[provider].default_model

    assert model is not None
    assert find_model(model).dimensions > 0


@pytest.mark.parametrize(
    ("model", "query", "document"),
    [
        ("nomic-embed-text:v1.5", "search_query: ", "search_document: "),
        (
            "hf:ggml-org/embeddinggemma-300M-GGUF/embeddinggemma-300M-Q8_0.gguf",
            "task: search result | query: ",
            "title: none | text: ",
        ),
        ("intfloat/multilingual-e5-large", "query: ", "passage: "),
        ("intfloat/multilingual-e5-large-instruct", "", ""),
        ("snowflake-arctic-embed2", "query: ", ""),
        ("BAAI/bge-m3", "", ""),
        ("all-minilm:33m", "", ""),
        ("text-embedding-3-large", "", ""),
        ("someone's-own-model", "", ""),
    ],
)
def test_prefixes_follow_the_model_wherever_it_runs(model: str, query: str, document: str) -> None:
    row = find_model(model)

    assert (row.query_prefix, row.document_prefix) == (query, document)


def test_voyage_models_have_their_own_token_caps() -> None:
    caps = [find_model(f"voyage/{model}").max_tokens for model in ("voyage-4-lite", "voyage-4", "voyage-4-large")]

    assert caps == [1_000_000, 320_000, None]


def test_the_documentation_has_one_line_for_each_provider_and_names_its_model(tmp_path: Path) -> None:
    page = (REPOSITORY / "docs" / "embeddings.md").read_text()
    shown: dict[str, tuple[str, str]] = {}
    for section, model, key in re.findall(r"^\| `(\{ provider: .*\})` \|(.*)\|(.*)\|$", page, re.MULTILINE):
        file = tmp_path / "config.json5"
        file.write_text(f"{{ memorySearch: {section} }}")
        shown[load_config(file).agent("main").search.provider] = (model.strip(), key.strip(" `"))

    assert set(shown) == set(get_args(ProviderId)) - {"auto"}
    for provider, row in PROVIDERS.items():
        if row.needs_key:
            assert shown[provider] == (row.default_model, row.environment[0])
