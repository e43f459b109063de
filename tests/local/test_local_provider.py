"""The provider `local` on a tiny BERT, for real: the file is written here, llama.cpp computes, numpy checks."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from memory_core.config.settings import Local
from memory_core.embeddings.local import provider as local
from memory_core.embeddings.protocols import TokenEmbedder
from memory_core.errors import InvalidEmbedding, ProviderError, ProviderUnavailable, RequestTimeout
from tests.command import REPOSITORY
from tests.local.bert import WORDS, Bert, expected, ids, tiny_bert, words, write_gguf
from tests.servers.clients import agent_config, collected, wait_until

pytest.importorskip("llama_cpp", reason="llama-cpp-python is not installed")
pytest.importorskip("gguf", reason="gguf is not installed")

Open = Callable[..., local.LocalProvider]


@pytest.fixture(scope="module")
def bert() -> Bert:
    return tiny_bert(WORDS)


@pytest.fixture(scope="module")
def model(bert: Bert, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_gguf(bert, tmp_path_factory.mktemp("models") / "tiny.gguf")


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Open]:
    """Opens providers and closes them at the end."""
    providers: list[local.LocalProvider] = []

    def open_one(path: Path | str, *, context_tokens: int | None = None, **search: Any) -> local.LocalProvider:
        settings = Local(model_path=str(path), context_tokens=context_tokens)
        config = agent_config(tmp_path, "local", local=settings, **search)
        providers.append(local.open_provider(config, environ={}))
        return providers[-1]

    yield open_one
    for provider in providers:
        provider.close()


def test_embeddings_equal_a_forward_pass_in_numpy(bert: Bert, model: Path, opened: Open) -> None:
    texts = [words(*range(start, start + length)) for start, length in [(0, 1), (3, 5), (40, 20), (7, 62)]]
    provider = opened(model)
    rows = collected(provider, texts)

    for number, text in enumerate(texts):
        assert float(rows[number] @ expected(bert, text)) > 0.999
        np.testing.assert_allclose(provider.embed_query(text), rows[number], atol=2e-3)
    assert provider.space.dimensions == bert.dimensions


def test_a_text_is_embedded_alike_alone_and_in_company(bert: Bert, model: Path, opened: Open) -> None:
    texts = [words(number, number * 7, number * 13) for number in range(100)]
    rows = collected(opened(model), texts)

    assert sorted(rows) == list(range(100))
    assert min(float(rows[number] @ expected(bert, text)) for number, text in enumerate(texts)) > 0.999


@pytest.mark.parametrize("context_tokens", [None, 16, 4096])
def test_no_length_of_text_crashes_the_process(model: Path, opened: Open, context_tokens: int | None) -> None:
    provider = opened(model, context_tokens=context_tokens)
    texts = [words(*range(length)) for length in (1, 13, 14, 15, 61, 62, 63, 64, 65, 200, 5000)] + [
        "unknown",
        "数据库",
        "  ",
    ]
    rows = collected(provider, texts)

    assert sorted(rows) == list(range(len(texts)))
    assert all(np.linalg.norm(row) == pytest.approx(1, abs=1e-4) for row in rows.values())


def test_a_long_text_is_the_weighted_mean_of_its_parts(bert: Bert, model: Path, opened: Open) -> None:
    room = bert.context - 2
    row = collected(opened(model), [words(*range(room + 20))])[0]
    parts = room * expected(bert, words(*range(room))) + 20 * expected(bert, words(*range(room, room + 20)))

    assert float(row @ (parts / np.linalg.norm(parts))) > 0.999


def test_a_file_that_does_not_say_how_to_pool_is_pooled_by_the_mean(bert: Bert, tmp_path: Path, opened: Open) -> None:
    provider = opened(write_gguf(bert, tmp_path / "unpooled.gguf", pooling=None))

    assert float(provider.embed_query(words(1, 2, 3)) @ expected(bert, words(1, 2, 3))) > 0.999


def test_tokens_equal_a_forward_pass_and_belong_to_their_parts(bert: Bert, model: Path, opened: Open) -> None:
    provider = opened(model)
    parts = [words(3, 4), "\n" + words(5), "\n", "\n" + words(6, 7, 8)]
    ((_, (found,)),) = provider.embed_document_tokens([parts])
    states = bert.states(ids(bert, "".join(parts)))

    assert isinstance(provider, TokenEmbedder)
    assert list(found.counts) == [2, 1, 0, 3]
    np.testing.assert_allclose(found.row, expected(bert, "".join(parts)), atol=2e-3)
    assert found.tokens is not None
    np.testing.assert_allclose(found.tokens, states[1:-1], atol=2e-2)
    asked = provider.embed_query_tokens(parts).tokens
    assert asked is not None
    np.testing.assert_allclose(asked, found.tokens, atol=1e-2)


def test_a_long_text_keeps_all_its_tokens(bert: Bert, model: Path, opened: Open) -> None:
    parts = [words(*range(50)), " " + words(*range(50, 100)), " " + words(1)]
    found = opened(model).embed_query_tokens(parts)
    room = bert.context - 2

    assert list(found.counts) == [50, 50, 1]
    assert found.tokens is not None
    second = bert.states(ids(bert, words(*range(room, 100), 1)))[1:-1]
    np.testing.assert_allclose(found.tokens[room:], second, atol=2e-2)


@pytest.mark.parametrize("pooling", ["CLS", "LAST"])
def test_a_model_that_pools_otherwise_has_no_tokens(bert: Bert, tmp_path: Path, opened: Open, pooling: str) -> None:
    found = opened(write_gguf(bert, tmp_path / "other.gguf", pooling=pooling)).embed_query_tokens([words(1, 2, 3)])
    state = bert.states(ids(bert, words(1, 2, 3)))[0 if pooling == "CLS" else -1]

    assert found.tokens is None
    assert float(found.row @ state / np.linalg.norm(state)) > 0.999


def test_prefixes_follow_the_file_name_and_vectors_are_shortened(bert: Bert, tmp_path: Path, opened: Open) -> None:
    wide = tiny_bert(["task", ":", "search", "result", "|", "query", "title", "none", "text", *WORDS], dimensions=128)
    provider = opened(write_gguf(wide, tmp_path / "embeddinggemma-tiny.gguf"), output_dimensionality=64)
    query = provider.embed_query(words(1))
    tokens = provider.embed_query_tokens([words(1), " " + words(2)])
    whole = expected(wide, f"task : search result | query : {words(1)}")[:64]

    assert query.shape == (64,)
    assert tokens.tokens is not None
    assert (tokens.tokens.shape, list(tokens.counts)) == ((2, 64), [1, 1])
    assert float(query @ whole / np.linalg.norm(whole)) > 0.999
    assert float(collected(provider, [words(1)])[0] @ query) < 0.999


def test_dimensions_the_model_does_not_have_are_refused(model: Path, opened: Open) -> None:
    with pytest.raises(InvalidEmbedding, match="32 dimensions came back instead of 64"):
        opened(model, output_dimensionality=64).embed_query("word1")


def test_the_space_tells_files_of_one_name_apart(bert: Bert, tmp_path: Path, opened: Open) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    first = opened(write_gguf(bert, tmp_path / "a" / "m.gguf")).space
    again = opened(write_gguf(bert, tmp_path / "b" / "m.gguf")).space
    write_gguf(tiny_bert(WORDS[::-1], layers=1), tmp_path / "b" / "m.gguf")

    assert first == again
    assert opened(tmp_path / "b" / "m.gguf").space != first


@pytest.mark.parametrize("content", [b"", b"GGU", b"<html>not a model</html>", b"GGUF", b"GGUF" + bytes(100)])
def test_what_is_no_model_is_refused_with_a_reason(tmp_path: Path, opened: Open, content: bytes) -> None:
    path = tmp_path / "broken.gguf"
    path.write_bytes(content)

    with pytest.raises(
        ProviderUnavailable, match=r"broken\.gguf: (it is no GGUF file|llama\.cpp cannot load it)"
    ) as caught:
        opened(path).embed_query("hello")
    assert not caught.value.retryable
    assert "modelPath" in caught.value.action


def test_a_cut_off_model_is_refused_with_a_reason(model: Path, tmp_path: Path, opened: Open) -> None:
    path = tmp_path / "half.gguf"
    path.write_bytes(model.read_bytes()[: model.stat().st_size // 2])

    with pytest.raises(ProviderUnavailable, match="cannot load it"):
        opened(path).embed_query("hello")


def test_queries_go_before_documents_and_threads_do_not_mix(bert: Bert, model: Path, opened: Open) -> None:
    provider = opened(model)
    provider.embed_query("word1")
    texts = [words(*range(number, number + 60)) for number in range(600)]
    done: list[int] = []
    backfill = threading.Thread(target=lambda: done.append(len(collected(provider, texts))))
    backfill.start()
    waits = []
    while backfill.is_alive():
        begun = time.monotonic()
        assert float(provider.embed_query(words(5, 6)) @ expected(bert, words(5, 6))) > 0.999
        waits.append(time.monotonic() - begun)
    backfill.join()

    assert done == [600]
    assert np.median(waits) < 0.2


def test_close_in_the_middle_ends_the_backfill(model: Path, opened: Open) -> None:
    provider = opened(model)
    errors: list[ProviderError] = []
    begun = threading.Event()

    def embed() -> None:
        try:
            for _ in provider.embed_documents([words(*range(60))] * 5000):
                begun.set()
        except ProviderError as error:
            errors.append(error)

    worker = threading.Thread(target=embed)
    worker.start()
    assert begun.wait(20)
    provider.close()
    worker.join(10)

    assert "closed" in str(errors[0])
    with pytest.raises(ProviderUnavailable, match="closed"):
        provider.embed_query("hello")
    provider.close()


def test_a_query_does_not_wait_for_the_model_longer_than_it_may(model: Path, opened: Open, tmp_path: Path) -> None:
    path = tmp_path / "slow.gguf"
    shutil.copy(model, path)
    provider = opened(path)
    path.unlink()
    os.mkfifo(path)  # whoever opens it waits for somebody who writes
    with pytest.raises(RequestTimeout, match="still being opened"):
        provider.embed_query("hello", timeout_seconds=0)
    with path.open("wb"):
        path.unlink()
        shutil.copy(model, path)
    wait_until(lambda: not any(thread.name == "memory-core-local" for thread in threading.enumerate()), 20)

    assert provider.embed_query("hello", timeout_seconds=5).any()


def test_opening_loads_nothing_and_nothing_is_printed(model: Path, tmp_path: Path) -> None:
    script = f"""
import sys
from pathlib import Path
from memory_core.config.settings import Local
from memory_core.embeddings.local import provider as local
from tests.servers.clients import agent_config
config = agent_config(Path({str(tmp_path)!r}), "local", local=Local(model_path={str(model)!r}))
provider = local.open_provider(config, environ={{}})
loaded = {{"llama_cpp", "huggingface_hub", "httpx"}} & set(sys.modules)
assert not loaded, loaded
provider.embed_query("hello")
provider.close()
"""
    done = subprocess.run([sys.executable, "-c", script], cwd=REPOSITORY, capture_output=True, text=True, check=False)

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
