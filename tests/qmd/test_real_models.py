"""`vsearch` and `query` on the real QMD, with tiny models that the test writes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memory_qmd.backend import QmdBackend
from memory_qmd.config import QmdDaemon, QmdModels, QmdUpdate, SearchMode
from memory_qmd.hits import AGREEMENT
from memory_qmd.home import QmdHome
from tests.benchmarks.nonsense import EVERYDAY_WORDS, SMALL_TALK, nonsense
from tests.command import SAMPLE
from tests.qmd.conftest import EMBED_MODEL, PATIENT, WARM_SECONDS, QmdAgent, ask, paths
from tests.waiting import eventually

NO_DEBOUNCE = QmdUpdate(debounce_ms=0)


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> QmdModels:
    pytest.importorskip("gguf", reason="the package gguf writes the models: `make test-qmd` installs it")
    from tests.qmd.models import write_models

    return write_models(tmp_path_factory.mktemp("models"))


@pytest.fixture
def notes(real: QmdAgent) -> QmdAgent:
    """Two notes instead of the sample."""
    for path in sorted(real.workspace.rglob("*.md")):
        path.unlink()
    real.note("memory/a.md", "Maria walks the puppy on Tuesday.\n")
    real.note("memory/b.md", "The hedge is near the shed.\n")
    return real


def test_vsearch_finds_by_meaning(notes: QmdAgent, models: QmdModels) -> None:
    backend = notes.open(search_mode="vsearch", models=models, limits=PATIENT, update=NO_DEBOUNCE)
    report = backend.memory_sync(force=False, progress=None)
    assert (report.embedded, report.pending, report.warnings) == (2, 0, ())
    result = ask(backend, "dog sitter")
    assert (paths(result), result.mode, result.warning) == (["memory/a.md"], "hybrid", None)
    assert result.hits[0].vector_score is not None
    assert result.hits[0].vector_score >= AGREEMENT
    assert paths(ask(backend, "fence")) == ["memory/b.md"]
    assert paths(ask(backend, "quantum")) == []


def test_a_new_note_is_embedded_and_a_new_model_takes_over(notes: QmdAgent, models: QmdModels, tmp_path: Path) -> None:
    from tests.local.bert import write_gguf
    from tests.qmd.models import build_embedder

    backend = notes.open(search_mode="vsearch", models=models, limits=PATIENT)
    backend.memory_sync(force=False, progress=None)
    notes.note("memory/c.md", "green\n")
    assert backend.memory_sync(force=False, progress=None).embedded == 1
    other = write_gguf(build_embedder((("dog", "hedge"), ("sitter", "shed"))), tmp_path / "other.gguf")
    switched = notes.open(search_mode="vsearch", models=QmdModels(embed=str(other)), limits=PATIENT, update=NO_DEBOUNCE)
    assert switched.memory_sync(force=False, progress=None).warnings == ()
    assert paths(ask(switched, "dog sitter"))[0] == "memory/b.md"


def test_query_expands_and_reranks(notes: QmdAgent, models: QmdModels) -> None:
    backend = notes.open(search_mode="query", models=models, limits=PATIENT)
    backend.memory_sync(force=False, progress=None)
    result = ask(backend, "puppy", min_score=0.0)
    assert paths(result)[0] == "memory/a.md"
    assert (result.mode, result.warning) == ("hybrid", None)


def _is_ready(backend: QmdBackend) -> bool:
    return backend.memory_status().details["warm server"] == "ready"


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("mode", ["vsearch", "query"])
def test_the_warm_server_gives_the_hits_of_the_command(
    notes: QmdAgent, models: QmdModels, mode: SearchMode, tmp_path: Path
) -> None:
    log, launcher = tmp_path / "calls", tmp_path / "qmd"
    launcher.write_text(f'#!/bin/sh\necho "$3" >> {log}\nexec {notes.settings.command} "$@"\n')
    launcher.chmod(0o755)
    questions = ("dog sitter", "fence", "quantum", "Who walks the puppy near the shed?")
    command = notes.open(search_mode=mode, models=models, limits=PATIENT)
    command.memory_sync(force=False, progress=None)
    warm = notes.open(
        command=str(launcher), search_mode=mode, models=models, limits=PATIENT, daemon=QmdDaemon(enabled=True)
    )
    warm.memory_start()

    assert eventually(lambda: ask(warm, "puppy").hits and _is_ready(warm), seconds=WARM_SECONDS)
    log.unlink()
    answers = [ask(warm, one, min_score=0.0) for one in questions]
    assert not log.exists()
    assert answers == [ask(command, one, min_score=0.0) for one in questions]


def test_a_model_that_does_not_load_is_reported_and_kept(notes: QmdAgent, tmp_path: Path) -> None:
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF" + bytes(100))
    backend = notes.open(search_mode="vsearch", models=QmdModels(embed=str(broken)), limits=PATIENT)
    report = backend.memory_sync(force=False, progress=None)
    assert (len(report.warnings), report.pending) == (1, 2)
    assert QmdHome.of(notes.config).load_state().embed_failures == 1
    assert paths(ask(backend, "puppy")) == ["memory/a.md"]


SAMPLE_QUESTIONS = json.loads(SAMPLE.with_name("sample_questions.json").read_text(encoding="utf-8"))


def test_the_questions_of_the_sample_find_their_note_by_words(real: QmdAgent) -> None:
    """Among the first three at the default minScore."""
    backend = real.open(limits=PATIENT)
    asked = [one for one in SAMPLE_QUESTIONS if one["kind"] != "meaning"]
    assert [one["question"] for one in asked if one["path"] not in paths(ask(backend, one["question"]))[:3]] == []


@pytest.mark.timeout(1800)  # a minute's work on two idle cores, a quarter of an hour where ten programs share them
@pytest.mark.skipif(EMBED_MODEL is None, reason="`make test-qmd` converts a real model: MEMORY_CORE_QMD_EMBED_MODEL")
def test_by_meaning_all_questions_find_their_note_and_nonsense_finds_none(real: QmdAgent) -> None:
    """Among the first three at the default minScore; asked of the warm server, because a process each takes minutes."""
    models, daemon = QmdModels(embed=EMBED_MODEL), QmdDaemon(enabled=True)
    backend = real.open(search_mode="vsearch", models=models, limits=PATIENT, daemon=daemon)
    backend.memory_sync(force=False, progress=None)
    backend.memory_start()
    assert eventually(lambda: ask(backend, "guitar").hits and _is_ready(backend), seconds=WARM_SECONDS)
    asked = [one for one in SAMPLE_QUESTIONS if one["path"] not in paths(ask(backend, one["question"]))[:3]]
    assert [one["question"] for one in asked] == []
    empty = [
        *nonsense(15, EVERYDAY_WORDS),
        *SMALL_TALK[:3],
        "purple quantum giraffe sandwich",
        "volcano eruption in Iceland",
    ]
    assert {text: paths(ask(backend, text)) for text in empty} == {text: [] for text in empty}
