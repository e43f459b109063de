"""The backend on the fake QMD: what it asks, when it updates, what it shows."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from memory_core.config.settings import ExtraPath, SearchSettings
from memory_core.errors import BackendIndexEmpty, BackendUnavailable, PathRefused
from memory_core.hookspecs import BackendContext
from memory_core.sources.files import list_files
from memory_qmd import folders, updates
from memory_qmd.config import QmdDaemon, QmdLimits, QmdPath, QmdUpdate
from tests.qmd.conftest import PATIENT, FakeQmd, QmdAgent, ask, paths
from tests.waiting import eventually

NO_DEBOUNCE = QmdUpdate(debounce_ms=0)


def test_finds_a_note_by_a_question_in_plain_language(agent: QmdAgent, fake: FakeQmd) -> None:
    agent.note("memory/2026-03-01.md", "# Sunday\n\nThe dentist moved to Harbour Street.\n")
    agent.note("memory/2026-03-02.md", "# Monday\n\nBought paint for the fence.\n")
    result = ask(agent.open(), "Where did the dentist move to?")
    assert paths(result) == ["memory/2026-03-01.md"]
    hit = result.hits[0]
    assert (hit.start_line, hit.end_line, hit.snippet) == (1, 3, "# Sunday\n\nThe dentist moved to Harbour Street.")
    assert (result.backend, result.mode, result.stale, result.warning) == ("qmd", "keyword", False, None)
    (call,) = fake.calls("query")
    assert call[-1] == "lex: dentist\nlex: move"
    assert call[call.index("-c") + 1 :: 2][0].endswith("-main")


def test_nothing_is_started_by_making_one(agent: QmdAgent, fake: FakeQmd) -> None:
    agent.open()
    assert not agent.config.state_dir.exists()
    assert fake.calls() == []


def test_an_empty_workspace_is_said_to_be_empty(agent: QmdAgent) -> None:
    result = ask(agent.open(), "anything")
    assert (result.hits, result.warning) == ((), "No memories indexed yet")


def test_an_empty_index_over_notes_is_no_failure_of_qmd(agent: QmdAgent, fake: FakeQmd) -> None:
    agent.note("MEMORY.md", "paint")
    fake.fail(update="say nothing done")
    with pytest.raises(BackendIndexEmpty) as error:
        ask(agent.open(), "paint")
    assert not error.value.counts_as_failure


def test_nonsense_and_stop_words_find_nothing(agent: QmdAgent, fake: FakeQmd) -> None:
    agent.note("MEMORY.md", "The fence is green, and the shed is blue.")
    backend = agent.open()
    backend.memory_sync(force=False, progress=None)
    assert ask(backend, "the of and is").hits == ()
    assert ask(backend, "purple quantum giraffe sandwich").hits == ()
    assert ask(backend, "green purple quantum giraffe sandwich").hits == ()
    assert len(fake.calls("query")) == 1  # the others need no process


def test_updates_only_when_files_changed(agent: QmdAgent, fake: FakeQmd) -> None:
    note = agent.note("MEMORY.md", "fence")
    backend = agent.open(update=NO_DEBOUNCE)
    for _ in range(3):
        ask(backend, "fence")
    backend.memory_sync(force=False, progress=None)
    assert len(fake.calls("update")) == 1
    note.write_text("fence and a gate")
    assert paths(ask(backend, "gate")) == ["MEMORY.md"]
    assert len(fake.calls("update")) == 2
    note.unlink()
    assert paths(ask(backend, "gate")) == []


def test_updates_are_debounced_and_the_answer_is_marked_stale(agent: QmdAgent, fake: FakeQmd) -> None:
    agent.note("MEMORY.md", "fence")
    backend = agent.open(update=QmdUpdate(debounce_ms=60_000))
    assert not ask(backend, "fence").stale
    agent.note("memory/a.md", "fence and gate")
    result = ask(backend, "fence")
    assert result.stale
    assert paths(result) == ["MEMORY.md"]
    assert len(fake.calls("update")) == 1
    assert backend.memory_status().dirty
    report = backend.memory_sync(force=False, progress=None)
    assert (report.files, report.added, report.unchanged) == (2, 1, 1)


def test_boot_updates_in_the_background(agent: QmdAgent, fake: FakeQmd) -> None:
    agent.note("MEMORY.md", "fence")
    backend = agent.open(update=QmdUpdate(debounce_ms=100))
    backend.memory_start()
    backend.memory_start()
    assert eventually(lambda: backend.memory_status().files == 1)
    agent.note("memory/a.md", "fence and gate")
    backend.memory_sync_soon()
    assert eventually(lambda: backend.memory_status().files == 2)
    backend.memory_close()
    assert backend.memory_close()


def test_a_slow_first_update_leaves_the_answer_to_builtin(
    agent: QmdAgent, fake: FakeQmd, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_QMD_UPDATE_SECONDS", "600")
    agent.note("MEMORY.md", "fence")
    fake.fail(update="hang")
    with pytest.raises(BackendIndexEmpty):
        ask(agent.open(limits=QmdLimits(timeout_ms=600)), "fence")


def test_collections_are_written_whole_and_carry_the_agent(agent: QmdAgent) -> None:
    agent.note("MEMORY.md", "fence")
    (agent.workspace / "memory").mkdir()
    agent.open().memory_sync(force=False, progress=None)
    document = json.loads((agent.home / "config" / "index.yml").read_text())
    assert document["collections"].keys() == {"memory-root-main", "memory-dir-main"}
    assert document["models"].keys() == {"embed", "generate", "rerank"}


@pytest.mark.parametrize("drift", ["edited", "gone"])
def test_drift_of_the_configuration_is_repaired(agent: QmdAgent, fake: FakeQmd, drift: str) -> None:
    agent.note("MEMORY.md", "fence")
    backend = agent.open()
    backend.memory_sync(force=False, progress=None)
    config = agent.home / "config" / "index.yml"
    before = config.read_bytes()
    if drift == "edited":
        config.write_text('{"collections": {}}')
    else:
        config.unlink()
    backend.memory_sync(force=False, progress=None)
    assert config.read_bytes() == before
    assert paths(ask(backend, "fence")) == ["MEMORY.md"]


def test_other_collections_mean_a_new_database(agent: QmdAgent, tmp_path: Path) -> None:
    agent.note("MEMORY.md", "fence")
    outside = tmp_path / "Team Notes"
    outside.mkdir()
    (outside / "a.md").write_text("fence of the team")
    with_paths = agent.open(paths=(QmdPath(path=str(outside)),))
    assert set(paths(ask(with_paths, "fence"))) == {"MEMORY.md", "qmd/team-notes-main/a.md"}
    without = agent.open()
    assert paths(ask(without, "fence")) == ["MEMORY.md"]
    assert without.memory_status().files == 1


def test_a_missing_root_keeps_its_documents(agent: QmdAgent, tmp_path: Path) -> None:
    outside = tmp_path / "mounted"
    outside.mkdir()
    (outside / "a.md").write_text("fence of the team")
    agent.note("MEMORY.md", "paint")
    backend = agent.open(paths=(QmdPath(path=str(outside)),), update=NO_DEBOUNCE)
    backend.memory_sync(force=False, progress=None)
    away = outside.rename(tmp_path / "away")
    agent.note("MEMORY.md", "paint and fence")
    report = backend.memory_sync(force=False, progress=None)
    assert len(report.warnings) == 1
    assert "is missing" in report.warnings[0]
    assert report.files == 2
    assert paths(ask(backend, "fence")) == ["MEMORY.md"]
    away.rename(outside)
    assert "qmd/mounted-main/a.md" in paths(ask(backend, "fence"))


def test_extra_paths_and_workspace_notes_keep_their_names(agent: QmdAgent, tmp_path: Path) -> None:
    (tmp_path / "extra").mkdir()
    (tmp_path / "extra" / "e.md").write_text("fence one")
    (tmp_path / "single.md").write_text("fence two")
    agent.note("docs/d.md", "fence three")
    agent.note("AGENTS.md", "fence four")
    search = SearchSettings(
        sources=("memory", "workspace"),
        extra_paths=(ExtraPath(path=str(tmp_path / "extra")), ExtraPath(path="../single.md")),
    )
    result = ask(agent.open(search=search), "fence")
    assert set(paths(result)) == {f"{tmp_path}/extra/e.md", "../single.md", "docs/d.md"}
    assert {hit.source for hit in result.hits if hit.path == "docs/d.md"} == {"workspace"}


def test_links_and_hidden_files_are_not_shown(agent: QmdAgent, tmp_path: Path) -> None:
    secret = tmp_path / "secret.md"
    secret.write_text("fence of the neighbour")
    agent.note("memory/a.md", "fence of ours")
    (agent.workspace / "memory" / "link.md").symlink_to(secret)
    agent.note("memory/.hidden/b.md", "fence hidden")
    assert paths(ask(agent.open(), "fence")) == ["memory/a.md"]


def test_get_reads_the_file_as_it_is_now(agent: QmdAgent, tmp_path: Path) -> None:
    outside = tmp_path / "team"
    outside.mkdir()
    (outside / "a.md").write_text("one\ntwo\nthree\n")
    agent.note("MEMORY.md", "fence\n")
    backend = agent.open(paths=(QmdPath(path=str(outside)),))
    document = backend.memory_get("qmd/team-main/a.md", 2, 1)
    assert (document.text, document.truncated, document.next_from) == ("two", True, 3)
    assert backend.memory_get("MEMORY.md", 1, 10).text == "fence"
    assert backend.memory_get("qmd/team-main/gone.md", 1, 10).status == "not_found"


@pytest.mark.parametrize(
    "path",
    [
        "qmd/team-main/../../secret.md",
        "qmd/team-main/link.md",
        "qmd/team-main/.hidden.md",
        "qmd/team-main/notes.txt",
        "qmd/other-main/a.md",
        "qmd/",
        "/etc/passwd",
        "../secret.md",
    ],
)
def test_get_refuses_what_is_in_no_collection(agent: QmdAgent, tmp_path: Path, path: str) -> None:
    outside = tmp_path / "deep" / "team"
    outside.mkdir(parents=True)
    for name in ("secret.md", "deep/secret.md", "deep/team/.hidden.md", "deep/team/notes.txt"):
        (tmp_path / name).write_text("secret")
    (outside / "link.md").symlink_to(tmp_path / "secret.md")
    with pytest.raises(PathRefused):
        agent.open(paths=(QmdPath(path=str(outside)),)).memory_get(path, 1, 10)


def test_files_outside_are_listed_under_the_names_of_hits(agent: QmdAgent, tmp_path: Path) -> None:
    (tmp_path / "team").mkdir()
    (tmp_path / "team" / "a.md").write_text("fence of the team")
    agent.note("docs/d.md", "fence")
    agent.note("MEMORY.md", "paint")
    section = replace(agent.settings, paths=(QmdPath(path="../team"), QmdPath(path="docs")))
    added = folders(BackendContext(config=agent.config, settings=section))
    listed = {file.path for file in list_files(replace(agent.config, folders=added)).files}
    assert listed == {"MEMORY.md", "qmd/team-main/a.md", "docs/d.md"}
    backend = agent.open(paths=section.paths)
    assert set(paths(ask(backend, "fence"))) == listed - {"MEMORY.md"}
    assert backend.memory_get("docs/d.md", 1, 1).text == "fence"
    with pytest.raises(PathRefused):
        backend.memory_get("other/d.md", 1, 1)
    whole = agent.open(paths=(QmdPath(path="."),))
    assert whole.memory_get("MEMORY.md", 1, 1).text == "paint"
    assert whole.memory_get("docs/d.md", 1, 1).text == "fence"


def test_many_files_are_not_looked_at_for_every_question(agent: QmdAgent, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(updates, "COSTLY_SECONDS", 0)
    monkeypatch.setattr(updates, "GOOD_FOR", 1e6)
    agent.note("MEMORY.md", "fence")
    backend = agent.open(update=NO_DEBOUNCE)
    ask(backend, "fence")
    ask(backend, "fence")  # the first look that found nothing to do
    agent.note("memory/a.md", "gate")
    assert paths(ask(backend, "gate")) == []
    backend.memory_sync(force=False, progress=None)
    assert paths(ask(backend, "gate")) == ["memory/a.md"]


def test_dates_limit_the_hits(agent: QmdAgent) -> None:
    for day in ("2026-01-01", "2026-02-01", "2026-03-01"):
        agent.note(f"memory/{day}.md", "fence")
    agent.note("memory/changed-today.md", "fence")
    result = ask(agent.open(), "fence", after=date(2026, 1, 15), before=date(2026, 2, 15))
    assert paths(result) == ["memory/2026-02-01.md"]


def test_limits_hold(agent: QmdAgent) -> None:
    for number in range(8):
        agent.note(f"memory/{number}.md", "fence " * 200)
    backend = agent.open(limits=replace(PATIENT, max_results=5, max_snippet_chars=100, max_injected_chars=250))
    result = ask(backend, "fence", max_results=10)
    assert len(result.hits) == 2
    assert all(len(hit.snippet) <= 100 for hit in result.hits)
    assert len(ask(backend, "fence", max_results=1).hits) == 1


def test_the_same_text_in_two_files_is_one_hit_that_names_both(agent: QmdAgent) -> None:
    agent.note("memory/a.md", "fence")
    agent.note("memory/b.md", "fence")
    (hit,) = ask(agent.open(), "fence").hits
    assert (hit.path, hit.also_in) == ("memory/a.md", ("memory/b.md",))


def test_old_versions_slug_names_and_join_words(
    agent: QmdAgent, fake: FakeQmd, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_QMD_VERSION", "0.9.0")
    agent.note("MEMORY.md", "fence of oak")
    agent.note("memory/Weekly Plan_v1.2.md", "fence of iron")
    agent.note("memory/a/b c.md", "fence of glass")
    agent.note("memory/a/b-c.md", "fence of straw")  # the same slug; the one that is indexed last wins
    backend = agent.open()
    result = ask(backend, "Which fence is of oak, iron, glass or straw?")
    assert set(paths(result)) == {"MEMORY.md", "memory/Weekly Plan_v1.2.md", "memory/a/b-c.md"}
    assert fake.calls("query") == []
    assert all(call.count("-c") == 1 for call in fake.calls("search"))
    assert backend.memory_status().details["QMD version"] == "0.9.0"


def test_the_version_is_asked_once_for_all_processes(agent: QmdAgent, fake: FakeQmd) -> None:
    agent.note("MEMORY.md", "fence")
    ask(agent.open(), "fence")
    ask(agent.open(), "fence")
    assert len(fake.calls("--version")) == 1


def test_a_session_that_may_not_write_reads_what_is_there(agent: QmdAgent, fake: FakeQmd) -> None:
    note = agent.note("MEMORY.md", "fence")
    with pytest.raises(BackendIndexEmpty):
        ask(agent.open(access="ro"), "fence")
    agent.open().memory_sync(force=False, progress=None)
    note.write_text("fence and gate")
    reader = agent.open(access="ro")
    assert paths(ask(reader, "fence")) == ["MEMORY.md"]
    with pytest.raises(BackendUnavailable):
        reader.memory_sync(force=True, progress=None)
    assert len(fake.calls("update")) == 1


def test_a_missing_program_says_what_to_install(agent: QmdAgent) -> None:
    agent.note("MEMORY.md", "fence")
    with pytest.raises(BackendUnavailable, match="not installed") as error:
        ask(agent.open(command="no-such-qmd"), "fence")
    assert "npm install" in error.value.action


def test_status_runs_nothing(agent: QmdAgent, fake: FakeQmd) -> None:
    agent.note("MEMORY.md", "fence")
    status = agent.open().memory_status()
    assert (status.indexed, status.dirty, status.files) == (False, True, 0)
    assert fake.calls() == []
    assert not agent.home.exists()


def test_probe_opens_the_database(agent: QmdAgent, fake: FakeQmd) -> None:
    assert agent.open().memory_probe().ok
    assert fake.calls() == [["collection", "list"]]
    fake.fail(collection="crash")
    probe = agent.open().memory_probe()
    assert not probe.ok
    assert probe.action is not None
    assert "Node 22" in probe.action


def test_the_warm_server_answers_and_starts_anew_after_a_rebuild(agent: QmdAgent, fake: FakeQmd) -> None:
    agent.note("memory/my fence.md", "fence of oak")
    backend = agent.open(daemon=QmdDaemon(enabled=True))
    backend.memory_sync(force=False, progress=None)
    ask(backend, "fence")
    assert fake.calls("mcp") == []  # not before start
    backend.memory_start()

    def warm() -> bool:
        asked = len(fake.calls("query"))
        assert paths(ask(backend, "fence")) == ["memory/my fence.md"]
        return len(fake.calls("query")) == asked

    assert eventually(warm)
    assert backend.memory_status().details["warm server"] == "ready"
    backend.memory_sync(force=True, progress=None)
    assert eventually(warm)
    assert len(fake.calls("mcp")) == 2
    fake.fail(_query="die")
    assert paths(ask(backend, "fence")) == ["memory/my fence.md"]
    assert "failed" in str(backend.memory_status().details["warm server"])


def test_processes_update_one_at_a_time(agent: QmdAgent, fake: FakeQmd, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_QMD_UPDATE_SECONDS", "0.05")
    agent.note("MEMORY.md", "fence")
    code = "\n".join(
        [
            "import sys; from pathlib import Path",
            f"sys.path[:] = {sys.path!r}",
            "from tests.qmd.conftest import agent_on",
            f"agent = agent_on(Path({str(agent.config.state_dir.parent)!r}), Path({str(agent.workspace)!r}), "
            f"Path({str(fake.program)!r}))",
            "backend = agent.open()",
            "print(backend.memory_sync(force=True, progress=None).files)",
            "backend.memory_close()",
        ]
    )
    children = [subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) for _ in range(4)]
    assert [child.communicate()[0] for child in children] == ["1\n"] * 4
    assert len(fake.calls("update")) == 4  # none collided, so none was run again


def test_the_child_sees_a_bent_environment(agent: QmdAgent, fake: FakeQmd, monkeypatch: pytest.MonkeyPatch) -> None:
    from memory_qmd.home import QmdHome

    for name in ("CI", "QMD_EMBED_MODEL", "INDEX_PATH"):
        monkeypatch.setenv(name, "/elsewhere")
    environment = QmdHome(agent.home).build_environment()
    assert "CI" not in environment
    assert "QMD_EMBED_MODEL" not in environment
    assert environment["INDEX_PATH"] == str(agent.home / "index.sqlite")
    assert environment["PATH"] == os.environ["PATH"]
    assert environment["QMD_FORCE_CPU"] == "1"
    assert "QMD_FORCE_CPU" not in QmdHome(agent.home).build_environment({"QMD_LLAMA_GPU": "cuda"})


def test_an_agent_that_is_off_has_no_collections(agent: QmdAgent) -> None:
    agent.note("MEMORY.md", "fence")
    off = replace(agent.config.search, enabled=False)
    assert ask(agent.open(search=off), "fence").hits == ()
