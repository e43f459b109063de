"""Every way in which QMD is known to fail, one test each: the call is answered in time, or says why it is not."""

from __future__ import annotations

import random
import re
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from memory_core.errors import BackendUnavailable
from memory_qmd.backend import QmdBackend
from memory_qmd.config import QmdDaemon, QmdLimits, QmdModels, QmdUpdate, SearchMode
from memory_qmd.home import QmdHome
from tests.qmd.conftest import (
    FAULT_WEIGHTS,
    FAULTS,
    HANG_GUARD_SECONDS,
    PATIENT,
    REAL,
    FakeQmd,
    QmdAgent,
    ask,
    list_children,
    paths,
)
from tests.waiting import eventually

SHORT_SECONDS = 0.7
TOO_LATE = r"no answer within|no time was left"  # the latter on a machine so busy that QMD was not even started


@pytest.fixture
def fence(agent: QmdAgent) -> QmdAgent:
    """One note, indexed."""
    agent.note("MEMORY.md", "fence")
    agent.open().memory_sync(force=False, progress=None)
    return agent


def gguf(folder: Path, name: str, content: bytes = b"GGUF fine") -> str:
    path = folder / name
    path.write_bytes(content)
    return str(path)


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("hang", TOO_LATE),
        ("crash", "SIGSEGV"),
        ("flood", "without end"),
        ("garbage", "cannot be read"),
        ("exit 1 SqliteError: boom", "status 1: SqliteError: boom"),
        ("exit 127 node: not found", "launcher finds no Node"),
        ("say {}", "cannot be read"),
        ("say hello", "cannot be read"),
    ],
)
def test_a_search_that_fails_says_why_in_time(fence: QmdAgent, fake: FakeQmd, fault: str, reason: str) -> None:
    fake.fail(query=fault)
    began = time.monotonic()
    deadline = began + SHORT_SECONDS if fault == "hang" else None
    with pytest.raises(BackendUnavailable, match=reason) as error:
        ask(fence.open(), "fence", deadline=deadline)
    assert time.monotonic() - began < HANG_GUARD_SECONDS
    assert error.value.action
    assert error.value.counts_as_failure
    assert eventually(lambda: not list_children(fake))


@pytest.mark.parametrize(
    "noise",
    [
        "\x1b]9;4;3\x07\x1b[?25lggml_cuda_init: found 0 devices\n[ggml] loading\n%s",
        "%s\nllama_free: done",
        "[1, 2, 3]\n[not json\n%s\n",
    ],
)
def test_noise_around_the_rows_is_read_over(fence: QmdAgent, fake: FakeQmd, noise: str) -> None:
    row = '[{"file": "qmd://memory-root-main/MEMORY.md", "score": 1, "snippet": "\\ud83d"}]'
    fake.fail(query="say " + noise % row)
    assert paths(ask(fence.open(), "fence")) == ["MEMORY.md"]


def test_an_empty_answer_is_believed_only_of_a_full_index(fence: QmdAgent, fake: FakeQmd) -> None:
    fake.fail(query="empty")
    result = ask(fence.open(), "fence")
    assert (result.hits, result.warning) == ((), None)


def test_a_corrupt_database_is_rebuilt(fence: QmdAgent, fake: FakeQmd) -> None:
    (fence.home / "index.sqlite").write_bytes(b"no database " * 1000)
    for suffix in ("-wal", "-shm"):
        (fence.home / f"index.sqlite{suffix}").unlink(missing_ok=True)
    backend = fence.open()
    assert backend.memory_status().files == 0
    report = backend.memory_sync(force=False, progress=None)
    assert (report.files, report.reindexed) == (1, True)
    assert paths(ask(backend, "fence")) == ["MEMORY.md"]


def test_a_database_that_qmd_finds_corrupt_is_rebuilt(fence: QmdAgent, fake: FakeQmd) -> None:
    fence.note("memory/a.md", "fence and gate")
    fake.fail(update=["exit 1 SqliteError: database disk image is malformed"])
    report = fence.open().memory_sync(force=False, progress=None)
    assert (report.files, report.added) == (2, 2)
    assert len(fake.calls("update")) == 3


def test_an_update_that_collides_is_run_once_more(fence: QmdAgent, fake: FakeQmd) -> None:
    fence.note("memory/a.md", "fence and gate")
    fake.fail(update=["exit 1 SqliteError: SQLITE_CONSTRAINT_PRIMARYKEY"])
    assert fence.open().memory_sync(force=False, progress=None).files == 2
    fence.note("memory/b.md", "fence and gate")
    fake.fail(update="exit 1 SqliteError: SQLITE_BUSY")
    with pytest.raises(BackendUnavailable, match="SQLITE_BUSY"):
        fence.open().memory_sync(force=False, progress=None)
    fake.fail()
    assert fence.open().memory_sync(force=False, progress=None).files == 3  # an update that failed is still pending


def test_an_update_that_fails_leaves_the_old_index_serving(fence: QmdAgent, fake: FakeQmd) -> None:
    fence.note("memory/a.md", "fence and gate")
    fake.fail(update="exit 1 boom")
    result = ask(fence.open(update=QmdUpdate(debounce_ms=0)), "fence")
    assert (paths(result), result.stale) == (["MEMORY.md"], True)
    assert result.warning is not None
    assert "boom" in result.warning


def test_a_model_that_is_not_there_holds_nothing_up(fence: QmdAgent, fake: FakeQmd, tmp_path: Path) -> None:
    models = QmdModels(embed=str(tmp_path / "none.gguf"))
    backend = fence.open(search_mode="vsearch", models=models)
    report = backend.memory_sync(force=False, progress=None)
    result = ask(backend, "fence")
    assert "none.gguf" in report.warnings[0]
    assert report.pending == 1
    assert (paths(result), result.mode) == (["MEMORY.md"], "keyword")
    assert result.warning is not None
    assert fake.calls("embed") == []
    assert not any("vec:" in call[-1] for call in fake.calls("query"))  # QMD, which would hang, is never asked for it


def test_a_file_that_is_no_model_is_not_shown_to_qmd(fence: QmdAgent, tmp_path: Path) -> None:
    path = Path(gguf(tmp_path, "bad.gguf", b"<html>not found</html>"))
    backend = fence.open(search_mode="vsearch", models=QmdModels(embed=str(path)))
    assert "no GGUF file" in backend.memory_sync(force=False, progress=None).warnings[0]
    ask(backend, "fence")
    assert path.exists()


def test_searches_by_meaning_once_embedded(fence: QmdAgent, fake: FakeQmd, tmp_path: Path) -> None:
    backend = fence.open(search_mode="vsearch", models=QmdModels(embed=gguf(tmp_path, "a.gguf")))
    report = backend.memory_sync(force=False, progress=None)
    assert (report.pending, report.embedded) == (0, 1)
    result = ask(backend, "the fence in the garden")
    assert (result.mode, result.provider, result.warning) == ("hybrid", "qmd", None)
    assert fake.calls("query")[-1][-1].startswith("vec: the fence in the garden\nlex: ")


def test_a_slow_mode_is_demoted(fence: QmdAgent, fake: FakeQmd, tmp_path: Path) -> None:
    backend = fence.open(search_mode="vsearch", models=QmdModels(embed=gguf(tmp_path, "a.gguf")))
    backend.memory_sync(force=False, progress=None)
    fake.fail(query="hang")
    with pytest.raises(BackendUnavailable, match=TOO_LATE):
        ask(backend, "fence", deadline=time.monotonic() + SHORT_SECONDS)
    fake.fail()
    result = ask(backend, "fence")
    assert (paths(result), result.mode) == (["MEMORY.md"], "keyword")
    assert result.warning is not None
    assert re.search(TOO_LATE, result.warning)


def warmed(fence: QmdAgent, tmp_path: Path, mode: SearchMode = "vsearch", **settings: Any) -> QmdBackend:
    """A backend whose warm server is ready for questions by meaning."""
    models = QmdModels(**{kind: gguf(tmp_path, f"{kind}.gguf") for kind in ("embed", "generate", "rerank")})
    backend = fence.open(search_mode=mode, models=models, daemon=QmdDaemon(enabled=True), **settings)
    backend.memory_sync(force=False, progress=None)
    backend.memory_start()

    def ready() -> bool:
        ask(backend, "fence")
        return str(backend.memory_status().details["warm server"]).startswith("ready")

    assert eventually(ready)
    return backend


@pytest.mark.parametrize("mode", ["vsearch", "query"])
def test_the_warm_server_answers_by_meaning_as_qmd_does(
    fence: QmdAgent, fake: FakeQmd, tmp_path: Path, mode: SearchMode
) -> None:
    backend = warmed(fence, tmp_path, mode)
    assert backend.memory_status().details["warm server"] == "ready"
    calls = len(fake.calls())
    warm = ask(backend, "the fence", min_score=0.0)
    assert len(fake.calls()) == calls
    assert warm == ask(fence.open(search_mode=mode, models=backend._qmd.settings.models), "the fence", min_score=0.0)
    assert len(fake.calls("query")) > 0
    assert (paths(warm), warm.mode) == (["MEMORY.md"], "hybrid")


@pytest.mark.parametrize("fault", ["hang", "die", "garbage"])
def test_a_warm_server_that_fails_by_meaning_is_replaced_in_the_same_call(
    fence: QmdAgent, fake: FakeQmd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    backend = warmed(fence, tmp_path)
    fake.fail(_evidence=fault)
    monkeypatch.setattr(
        "memory_qmd.warm_server.SHARE", 1 / PATIENT.timeout_ms
    )  # hardly waits for the server that hangs
    calls = len(fake.calls("query"))
    result = ask(backend, "fence")
    assert len(fake.calls("query")) == calls + 1
    assert (paths(result), result.mode, result.warning) == (["MEMORY.md"], "hybrid", None)
    assert "failed" in str(backend.memory_status().details["warm server"])
    assert not [line for line in list_children(fake) if " mcp " in line]


@pytest.mark.parametrize("status", [404, 500])
def test_a_warm_server_without_evidence_serves_words(
    fence: QmdAgent, fake: FakeQmd, tmp_path: Path, status: int
) -> None:
    fake.fail(**{"GET /evidence": str(status)})
    backend = warmed(fence, tmp_path)
    calls = len(fake.calls("query"))
    assert ask(backend, "fence").mode == "hybrid"
    assert len(fake.calls("query")) == calls + 1
    assert "words only" in str(backend.memory_status().details["warm server"])


def test_a_new_model_is_tried_before_the_old_vectors_go(fence: QmdAgent, fake: FakeQmd, tmp_path: Path) -> None:
    first = fence.open(search_mode="vsearch", models=QmdModels(embed=gguf(tmp_path, "a.gguf")))
    first.memory_sync(force=False, progress=None)
    broken = fence.open(search_mode="vsearch", models=QmdModels(embed=gguf(tmp_path, "b.gguf", b"GGUF broken")))
    report = broken.memory_sync(force=False, progress=None)
    assert "cannot be loaded" in report.warnings[0]
    assert broken.memory_status().embeddings == 1
    good = fence.open(search_mode="vsearch", models=QmdModels(embed=gguf(tmp_path, "c.gguf")))
    state = QmdHome(fence.home).load_state()
    assert (state.embed_failures, state.embed_not_before > time.time()) == (1, True)
    QmdHome(fence.home).save_state(replace(state, embed_not_before=0.0))
    assert good.memory_sync(force=False, progress=None).warnings == ()
    assert ["embed", "-f"] in fake.calls("embed")
    assert ask(good, "fence").mode == "hybrid"
    assert not (fence.home / "smoke-test").exists()


def test_an_embed_that_was_skipped_is_not_taken_for_done(fence: QmdAgent, fake: FakeQmd, tmp_path: Path) -> None:
    backend = fence.open(search_mode="vsearch", models=QmdModels(embed=gguf(tmp_path, "a.gguf")))
    fake.fail(embed="skip")
    assert "another process embeds" in backend.memory_sync(force=False, progress=None).warnings[0]


def test_embedding_pauses_longer_after_every_failure(fence: QmdAgent, fake: FakeQmd, tmp_path: Path) -> None:
    backend = fence.open(search_mode="vsearch", models=QmdModels(embed=gguf(tmp_path, "a.gguf")))
    fake.fail(embed="exit 1 boom")
    home = QmdHome(fence.home)
    pauses = []
    for _ in range(3):
        home.save_state(replace(home.load_state(), embed_not_before=0.0))
        began = time.time()
        backend.memory_sync(force=False, progress=None)
        ends_at = home.load_state().embed_not_before
        pauses.append((ends_at - time.time(), ends_at - began))
    assert all(least <= seconds <= most for seconds, (least, most) in zip((60, 120, 240), pauses, strict=True))
    assert not backend._indexer.is_embedding_due()  # in the background; an explicit sync tries in spite of it


@pytest.mark.real_qmd
def test_many_calls_with_random_faults_leave_nothing_behind(
    fence: QmdAgent, fake: FakeQmd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    many = 50 if REAL is None else 200  # the long run belongs to `make test-qmd`
    rng = random.Random(7)
    fake.fail(query=rng.choices(FAULTS, FAULT_WEIGHTS, k=many))
    backend = fence.open(limits=QmdLimits(timeout_ms=20_000))  # which few calls need: those that hang
    before = set(tmp_path.iterdir())
    answered = failed = 0
    for _ in range(many):
        began = time.monotonic()
        try:
            ask(backend, "fence")
            answered += 1
        except BackendUnavailable:
            failed += 1
        assert time.monotonic() - began < HANG_GUARD_SECONDS
    backend.memory_close()
    assert answered > many / 2
    assert failed > many / 20
    assert eventually(lambda: not list_children(fake))
    assert set(tmp_path.iterdir()) == before
    assert {path.name for path in fence.home.iterdir()} <= {
        "config", "cache", "index.sqlite", "index.sqlite-wal", "index.sqlite-shm", "state.json", "upkeep.lock"
    }  # fmt: skip
