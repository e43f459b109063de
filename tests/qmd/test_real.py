"""The backend on the real QMD: run by `make test-qmd`, offline once it is installed."""

from __future__ import annotations

import json
import shutil
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from memory_core.errors import BackendUnavailable
from memory_qmd.config import QmdDaemon, QmdLimits, QmdPath, QmdUpdate
from tests.command import SAMPLE, SAMPLE_NOTES
from tests.qmd.conftest import PATIENT, WARM_SECONDS, QmdAgent, ask, paths
from tests.waiting import eventually

NO_DEBOUNCE = QmdUpdate(debounce_ms=0)

# Questions that share words with their note, as QMD needs without an embedding model.
QUESTIONS = [
    ("What does PRS-2209 complain about?", "memory/projects/statement-redesign.md"),
    ("What did commit 0ad3e88 change?", "memory/2026-02-04.md"),
    ("Which value does clock.max_self_drift_ms have?", "memory/2026-03-10.md"),
    ("ブートローダーはどのバージョン以上に更新する必要がありますか？", "memory/2026-01-15.md"),
    ("第一批样机什么时候从盐田港发出？", "memory/2026-01-27.md"),
    ("Who walks the puppy when we are away?", "memory/2026-01-10.md"),
    ("What did the garage do to the brake pads?", "memory/2026-01-24.md"),
    ("How was the lentil curry?", "memory/2026-02-07.md"),
    ("When is the next guitar lesson?", "memory/2026-02-21.md"),
    ("Where is the wedding?", "memory/2026-03-07.md"),
]


def test_ten_questions_in_plain_language_find_their_note(real: QmdAgent) -> None:
    backend = real.open(limits=PATIENT)
    found = {question: paths(ask(backend, question))[:3] for question, _ in QUESTIONS}
    assert [question for question, path in QUESTIONS if path not in found[question]] == []


def test_nonsense_finds_nothing(real: QmdAgent) -> None:
    backend = real.open(limits=PATIENT)
    for nonsense in ("purple quantum giraffe sandwich", "zxqv brfl", "lex: vec: hyde:", '-- "" - --'):
        assert ask(backend, nonsense).hits == ()


@pytest.mark.parametrize(
    "text", ["--help", "-c other", "vec: commit 0ad3e88", "intent: commit\nlex: 0ad3e88", '"0ad3e88', "a\0b 0ad3e88"]
)
def test_a_question_is_never_an_option_or_syntax(real: QmdAgent, text: str) -> None:
    result = ask(real.open(limits=PATIENT), text)
    if "0ad3e88" in text:
        assert paths(result)[0] == "memory/2026-02-04.md"


def test_passages_quote_the_file(real: QmdAgent) -> None:
    for hit in ask(real.open(limits=PATIENT), "meter readings clock drift").hits:
        lines = (real.workspace / hit.path).read_text().split("\n")[hit.start_line - 1 : hit.end_line]
        for piece in hit.snippet.split("\n"):
            assert piece == "…" or any(piece.strip("…") in line for line in lines)


def test_updates_when_a_note_is_made_changed_and_removed(real: QmdAgent) -> None:
    backend = real.open(update=NO_DEBOUNCE, limits=PATIENT)
    assert ask(backend, "zebra").hits == ()
    note = real.note("memory/2026-11-01.md", "# Zoo\n\nSaw a zebra.\n")
    assert paths(ask(backend, "zebra")) == ["memory/2026-11-01.md"]
    note.write_text("# Zoo\n\nSaw an okapi.\n")
    assert ask(backend, "zebra").hits == ()
    assert paths(ask(backend, "okapi")) == ["memory/2026-11-01.md"]
    note.rename(note.with_name("2026-11-02.md"))
    assert paths(ask(backend, "okapi")) == ["memory/2026-11-02.md"]
    note.with_name("2026-11-02.md").unlink()
    assert ask(backend, "okapi").hits == ()


def test_our_configuration_is_left_as_it_is(real: QmdAgent) -> None:
    backend = real.open(limits=PATIENT)
    backend.memory_sync(force=False, progress=None)
    config = real.home / "config" / "index.yml"
    before = config.read_bytes()
    ask(backend, "commit")
    backend.memory_sync(force=True, progress=None)
    assert config.read_bytes() == before


def test_a_project_folder_cannot_redirect_us(real: QmdAgent, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    marker = tmp_path / "hook-ran"
    for folder in (real.workspace / ".qmd", real.config.state_dir / ".qmd"):
        folder.mkdir(parents=True)
        hook = {"path": str(SAMPLE), "pattern": "**/*.md", "update": f"touch {marker}"}
        (folder / "index.yml").write_text(json.dumps({"collections": {"evil": hook}}))
    backend = real.open(limits=PATIENT)
    monkeypatch.chdir(real.workspace)
    assert paths(ask(backend, "0ad3e88")) == ["memory/2026-02-04.md"]
    assert not marker.exists()
    assert not (real.workspace / ".qmd" / "index.sqlite").exists()


def test_odd_names_are_found_again(real: QmdAgent, tmp_path: Path) -> None:
    names = ["Weekly Plan_v1.2.md", "100% #1?x.md", "日本 ノート.md", "note😀.md", "a & b/c;d.md", "-n.md"]
    folder = tmp_path / "odd names"
    # Equal texts would be one hit.
    texts = {f"qmd/odd-main/{name}": f"zebra in box {number}" for number, name in enumerate(names)}
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(texts[f"qmd/odd-main/{name}"])
    backend = real.open(paths=(QmdPath(path=str(folder), name="odd"),), limits=replace(PATIENT, max_results=20))
    result = ask(backend, "zebra", max_results=20)
    assert {*paths(result)} == texts.keys()
    for hit in result.hits:
        assert backend.memory_get(hit.path, 1, 5).text == texts[hit.path]


def test_a_corrupt_database_heals(real: QmdAgent) -> None:
    backend = real.open(limits=PATIENT)
    backend.memory_sync(force=False, progress=None)
    database = real.home / "index.sqlite"
    for suffix in ("-wal", "-shm"):
        database.with_name(database.name + suffix).unlink(missing_ok=True)
    database.write_bytes(b"garbage " * 10_000)
    assert backend.memory_sync(force=False, progress=None).reindexed
    assert paths(ask(backend, "0ad3e88")) == ["memory/2026-02-04.md"]


def test_a_missing_root_keeps_its_documents(real: QmdAgent, tmp_path: Path) -> None:
    outside = tmp_path / "mounted"
    outside.mkdir()
    (outside / "a.md").write_text("zebra")
    backend = real.open(paths=(QmdPath(path=str(outside)),), update=NO_DEBOUNCE, limits=PATIENT)
    files = backend.memory_sync(force=False, progress=None).files
    away = outside.rename(tmp_path / "away")
    real.note("memory/new.md", "okapi")
    report = backend.memory_sync(force=False, progress=None)
    assert (report.files, len(report.warnings)) == (files + 1, 1)
    away.rename(outside)
    assert paths(ask(backend, "zebra")) == ["qmd/mounted-main/a.md"]


def test_eight_cold_updates_at_once(real: QmdAgent) -> None:
    reports = []
    backends = [real.open() for _ in range(8)]
    threads = [
        threading.Thread(
            target=lambda one: reports.append(one.memory_sync(force=False, progress=None)), args=(backend,)
        )
        for backend in backends
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [report.files for report in reports] == [SAMPLE_NOTES] * 8


def test_the_warm_server(real: QmdAgent) -> None:
    real.note("memory/my zebra.md", "zebra")
    backend = real.open(daemon=QmdDaemon(enabled=True), update=NO_DEBOUNCE, limits=PATIENT)
    backend.memory_sync(force=False, progress=None)
    backend.memory_start()

    def warm() -> bool:
        assert paths(ask(backend, "zebra")) == ["memory/my zebra.md"]
        return backend.memory_status().details["warm server"] == "ready"

    assert eventually(warm, seconds=WARM_SECONDS)
    real.note("memory/okapi.md", "okapi")
    assert paths(ask(backend, "okapi")) == ["memory/okapi.md"]
    (real.workspace / "memory" / "okapi.md").unlink()
    backend.memory_sync(force=True, progress=None)
    assert eventually(warm, seconds=WARM_SECONDS)
    assert ask(backend, "okapi").hits == ()
    backend.memory_close()
    assert backend.memory_status().details["warm server"] == "off"


def test_vsearch_without_a_model_answers_in_words(real: QmdAgent) -> None:
    result = ask(real.open(search_mode="vsearch", limits=PATIENT), "commit 0ad3e88")
    assert paths(result)[0] == "memory/2026-02-04.md"
    assert result.warning is not None
    assert "is not downloaded" in result.warning
    assert "set memory.qmd.models.embed" in str(result.action)


def test_the_deadline_holds(real: QmdAgent) -> None:
    backend = real.open(limits=QmdLimits(timeout_ms=20))
    backend.memory_sync(force=False, progress=None)
    with pytest.raises(BackendUnavailable, match=r"no answer within|no time was left"):
        ask(backend, "commit")


def test_the_old_version(old: QmdAgent) -> None:
    old.note("memory/Weekly Plan_v1.2.md", "zebra crossing")
    backend = old.open(limits=PATIENT, update=NO_DEBOUNCE)
    assert paths(ask(backend, "Where is the zebra crossing?"))[0] == "memory/Weekly Plan_v1.2.md"
    result = ask(backend, "What did commit 0ad3e88 change?")
    assert paths(result)[0] == "memory/2026-02-04.md"
    assert result.hits[0].start_line <= 12 <= result.hits[0].end_line
    assert backend.memory_status().details["QMD version"] == "0.9.0"
    assert backend.memory_status().files == SAMPLE_NOTES + 1


def test_a_home_of_the_old_version_serves_the_new_one(old: QmdAgent, real: QmdAgent) -> None:
    before = old.open(limits=PATIENT)
    before.memory_sync(force=False, progress=None)
    assert old.home == real.home
    after = real.open(limits=PATIENT)
    assert paths(ask(after, "What did commit 0ad3e88 change?"))[0] == "memory/2026-02-04.md"
    shutil.rmtree(real.home)
    assert paths(ask(after, "What did commit 0ad3e88 change?"))[0] == "memory/2026-02-04.md"
