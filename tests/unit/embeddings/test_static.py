"""The static model: read from its wheel, silent towards the host's log and the network."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_core.embeddings import static
from memory_core.embeddings.protocols import EmbeddingProvider, TokenModel
from memory_core.embeddings.static import BATCH, DIMENSIONS, LONGEST_WORD, VOCABULARY, StaticProvider
from memory_core.embeddings.vectors import round_to_int8, to_int8
from memory_core.errors import ProviderUnavailable
from memory_core.records import Space
from tests.command import REPOSITORY

TEXTS = ["The dentist moved to Harbour Street.", "第一批样机从盐田港发出", "PRS-2209", "a", "🦊"]


@pytest.fixture(scope="module")
def provider() -> Iterator[StaticProvider]:
    made = StaticProvider()
    yield made
    made.close()


def rows(provider: StaticProvider, texts: list[str]) -> list[list[float]]:
    return [row.tolist() for _, piece in provider.embed_documents(texts) for row in piece]


def test_it_is_a_provider_and_a_token_model(provider: StaticProvider) -> None:
    assert isinstance(provider, EmbeddingProvider)
    assert isinstance(provider, TokenModel)
    assert provider.space == Space(provider="static", model="l2_supercat_256", dimensions=DIMENSIONS)


def test_making_one_loads_nothing() -> None:
    code = """
import sys
from memory_core.embeddings.static import StaticProvider
StaticProvider().space
print(sorted({"numpy", "tokenizers", "wordllama"} & set(sys.modules)))
StaticProvider().embed_query("fence")
print(sorted({"wordllama", "safetensors"} & set(sys.modules)))
"""
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=REPOSITORY, capture_output=True, check=True, encoding="utf-8"
    )
    assert (done.stdout, done.stderr) == ("[]\n[]\n", "")


def test_rows_are_of_unit_length(provider: StaticProvider) -> None:
    made = np.array(rows(provider, TEXTS), dtype=np.float32)
    assert made.shape == (len(TEXTS), DIMENSIONS)
    assert np.linalg.norm(made, axis=1) == pytest.approx(1, abs=1e-5)


def test_meaning_is_nearness(provider: StaticProvider) -> None:
    instrument, guitar, tax = (
        provider.embed_query(text) for text in ("musical instrument", "guitar lesson", "income tax")
    )
    assert instrument @ guitar > instrument @ tax + 0.2


def test_pieces_come_in_order_and_a_text_does_not_depend_on_its_neighbours(provider: StaticProvider) -> None:
    texts = [f"note {number} about fences" for number in range(2 * BATCH + 3)]
    pieces = list(provider.embed_documents(texts))
    assert [first for first, _ in pieces] == [0, BATCH, 2 * BATCH]
    assert sum(len(piece) for _, piece in pieces) == len(texts)
    for number in (0, BATCH - 1, BATCH, len(texts) - 1):
        first, piece = pieces[number // BATCH]
        row = round_to_int8(provider.embed_query(texts[number])[None])[0]
        assert np.allclose(piece[number - first], row, atol=1e-6)


def test_rows_of_documents_fit_into_int8(provider: StaticProvider) -> None:
    (_, rows), *_ = provider.embed_documents(["the fence of the paddock", "", "Der Zaun"])
    numbers, factors = to_int8(rows)
    assert np.abs(numbers * factors - rows).max() < 1e-6
    assert np.linalg.norm(rows, axis=1) == pytest.approx([1, 0, 1], abs=1e-5)


def test_no_text_has_no_direction(provider: StaticProvider) -> None:
    assert not provider.embed_query("").any()
    assert list(provider.embed_documents([])) == []
    ((_, piece),) = provider.embed_documents(["", "fence", ""])
    assert [bool(row.any()) for row in piece] == [False, True, False]


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=80))
def test_any_text_is_finite_and_of_length_one_or_nothing(text: str) -> None:
    row = SHARED.embed_query(text)
    assert np.isfinite(row).all()
    assert float(np.linalg.norm(row)) == pytest.approx(1, abs=1e-5) or not row.any()


SHARED = StaticProvider()


@pytest.fixture(scope="module", autouse=True)
def close_shared() -> Iterator[None]:
    yield
    SHARED.close()


def test_tokens(provider: StaticProvider) -> None:
    ids = provider.token_ids(["fence", "", "fence fence"])
    assert ids[1] == []
    assert all(0 <= token < VOCABULARY for row in ids for token in row)
    vectors = provider.token_vectors(np.array(ids[0], dtype=np.uint16))
    assert vectors.shape == (len(ids[0]), DIMENSIONS)
    mean = vectors.sum(axis=0)
    assert np.allclose(round_to_int8(mean[None] / np.linalg.norm(mean))[0], provider.embed_query("fence"), atol=1e-6)


def test_tokens_that_only_spell_have_no_vectors(provider: StaticProvider) -> None:
    known, spelt = provider.token_ids(["开", "怕"])
    assert len(known) == 2
    assert len(spelt) > 3
    assert [bool(row.any()) for row in provider.token_vectors(np.array(known, dtype=np.uint16))] == [False, True]
    assert not provider.token_vectors(np.array(spelt, dtype=np.uint16)).any()


def test_it_is_loaded_again_after_closing() -> None:
    provider = StaticProvider()
    before = provider.embed_query("fence")
    provider.close()
    provider.close()
    assert (provider.embed_query("fence") == before).all()


def test_threads_load_one_model() -> None:
    provider = StaticProvider()
    made: list[object] = []
    threads = [threading.Thread(target=lambda: made.append(provider._load().tokenizer)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(map(id, made))) == 1


def test_a_wheel_without_the_model_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(static, "_find_package", lambda: tmp_path)
    with pytest.raises(ProviderUnavailable, match=r"wordllama's model cannot be read: .*l2_supercat_256") as raised:
        static._read_wheel()
    assert raised.value.action == "reinstall memory-core, or choose another provider: memorySearch.provider"


MANY = st.lists(
    st.one_of(
        st.sampled_from(["- The fence is green.", "a", "E11000", "第一批样机", "two  spaces", "line\nline", " begins"]),
        st.sampled_from(["x\u2581y", "<unk> x", "a</s>b", "", "\n", "x" * (LONGEST_WORD + 1)]),
        st.text(st.sampled_from("ab -\n\0\u2581漢é🙂.")),
    ),
    max_size=4,
)  # fmt: skip


@given(MANY)
def test_many_texts_are_cut_and_embedded_as_each_alone(texts: list[str]) -> None:
    assert SHARED.token_ids(texts) == [SHARED.token_ids([text])[0] for text in texts]
    tokenizer = SHARED._load().tokenizer
    assert SHARED.token_ids(texts) == [tokenizer.encode(text, add_special_tokens=False).ids for text in texts]
    assert rows(SHARED, texts) == [rows(SHARED, [text])[0] for text in texts]


def test_words_are_kept_up_to_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(static, "MOST_WORDS", 3)
    words = static._WordIds(SHARED._load().tokenizer)
    text = "the fence of the paddock beside the barn"
    for _ in range(2):
        assert words.cut([text]) == SHARED.token_ids([text])
        assert 0 < len(words) <= 3


def test_a_token_that_the_table_has_not_has_the_last_row_and_rows_may_be_changed() -> None:
    last, beyond = np.array([VOCABULARY - 1], np.uint16), np.array([VOCABULARY + 7], np.uint16)
    for _ in range(2):
        found = SHARED.token_vectors(beyond)
        assert (found == SHARED.token_vectors(last)).all()
        found[:] = 0


SHARING = """
import gc, weakref
from memory_core.embeddings.static import StaticProvider

first, second = StaticProvider(), StaticProvider()
first.embed_query("fence")
model = weakref.ref(first._model)
second.embed_query("fence")
assert second._model is model()
first.close()
assert second._model is model()
second.close()
gc.collect()
assert model() is None
"""


def test_providers_of_a_process_share_the_model_until_the_last_is_closed() -> None:
    """In a process of its own: the tests of this one keep a provider open."""
    subprocess.run([sys.executable, "-c", SHARING], cwd=REPOSITORY, check=True)
