"""`memory-core doctor`: what it finds wrong around builtin, around another backend, and what it exits with."""

from __future__ import annotations

import importlib
import os
import resource
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from memory_core.backends import doctor
from memory_core.backends.builtin import diagnose
from memory_core.config.agent import AgentConfig
from memory_core.config.settings import ExtraPath, Local, SearchSettings, StoreSettings, SyncSettings, Vector
from memory_core.hookspecs import BackendContext
from memory_core.plugin.memory import open_memory
from memory_core.records import Finding, Probe
from tests.command import SAMPLE, Command, as_ordinary_owner
from tests.index import Index


@pytest.fixture
def index(tmp_path: Path) -> Index:
    index = Index(tmp_path / "clawd", tmp_path / "state", search=SearchSettings(provider="none"))
    index.note("MEMORY.md", "The fence is of oak.\n")
    return index


def found(config: AgentConfig) -> dict[str, Finding]:
    return {finding.subject: finding for finding in diagnose(BackendContext(config=config))}


def test_all_is_well(index: Index) -> None:
    index.sync()
    findings = found(index.config)
    assert {subject: finding.level for subject, finding in findings.items()} == dict.fromkeys(
        ("workspace", "index", "vectors", "provider", "events"), "ok"
    )
    assert findings["workspace"].message == f"1 note in {index.workspace}"
    assert findings["index"].message.startswith("1 file in ")


def test_nothing_is_written(index: Index) -> None:
    assert "first sync makes" in found(index.config)["index"].message
    assert not index.state.exists()


def test_a_workspace_that_is_missing_empty_or_partly_unreadable(index: Index, tmp_path: Path) -> None:
    missing = found(replace(index.config, workspace=tmp_path / "gone"))["workspace"]
    assert (missing.level, bool(missing.action)) == ("fail", True)
    (tmp_path / "empty").mkdir()
    assert found(replace(index.config, workspace=tmp_path / "empty"))["workspace"].level == "warn"
    search = replace(index.search, extra_paths=(ExtraPath(path="../nowhere"), ExtraPath(path="../nothing")))
    partly = found(replace(index.config, search=search))["workspace"]
    assert partly.level == "warn"
    assert "../nothing: no such file or directory, and 1 more" in partly.message


def test_notes_that_are_left_out(index: Index) -> None:
    index.note("memory/scan.md", "\0\0")
    index.note("memory/words.md", "\0")
    index.sync()
    finding = found(index.config)["index"]
    assert finding.level == "warn"
    assert "; it lacks memory/scan.md: is binary, or UTF-16: it holds NUL bytes, and 1 more" in finding.message


@pytest.mark.parametrize("damage", ["no database", "torn pages"])
def test_a_damaged_index(index: Index, damage: str) -> None:
    index.sync()
    index.store.close()
    path = index.config.store_path
    if damage == "torn pages":
        data = bytearray(path.read_bytes())
        half = len(data) // 2  # one page alone may be free, and then nothing is lost
        data[half:] = b"\xff" * len(data[half:])
        path.write_bytes(data)
    else:
        path.write_bytes(b"garbage " * 1000)
    finding = found(index.config)["index"]
    assert (finding.level, bool(finding.action)) == ("fail", True)


def test_an_index_that_cannot_be_made_or_written(index: Index) -> None:
    command = Command(index.workspace, index.state, {"MEMORY_CORE_PROVIDER": "none"})
    index.state.mkdir()
    index.state.chmod(0o555)
    outcome = command("doctor", "--json", before=as_ordinary_owner)
    level = {finding["subject"]: finding["level"] for finding in outcome.json["findings"]}["index"]
    assert (outcome.code, outcome.json["ok"], level) == (1, False, "fail")
    index.state.chmod(0o755)
    assert command("index").code == 0
    (index.state / "memory-core").chmod(0o555)
    outcome = command("doctor", "--json", before=as_ordinary_owner)
    level = {finding["subject"]: finding["level"] for finding in outcome.json["findings"]}["index"]
    assert (outcome.code, outcome.json["ok"], level) == (0, True, "warn")
    (index.state / "memory-core").chmod(0o755)


def test_vec0_that_cannot_be_loaded(index: Index, tmp_path: Path) -> None:
    broken = StoreSettings(vector=Vector(extension_path=str(tmp_path / "vec0.so")))
    finding = found(replace(index.config, search=replace(index.search, store=broken)))["vectors"]
    assert (finding.level, "does not exist" in finding.message) == ("warn", True)
    off = StoreSettings(vector=Vector(enabled=False))
    assert found(replace(index.config, search=replace(index.search, store=off)))["vectors"].level == "ok"


def test_a_provider_that_makes_no_embeddings(index: Index, tmp_path: Path) -> None:
    model = tmp_path / "gone.gguf"
    search = replace(index.search, provider="local", local=Local(model_path=str(model)))
    finding = found(replace(index.config, search=search))["provider"]
    assert (finding.level, "gone.gguf" in finding.message) == ("fail", True)
    static = found(replace(index.config, search=replace(index.search, provider="static")))["provider"]
    assert (static.level, "256 dimensions" in static.message) == ("ok", True)


def test_memory_that_is_off_and_what_was_dropped(index: Index) -> None:
    config = replace(index.config, slot="none", warnings=("something was dropped",))
    findings = [finding for finding in diagnose(BackendContext(config=config)) if finding.subject == "config"]
    assert [finding.level for finding in findings] == ["warn", "warn"]
    unwatched = replace(index.config, search=replace(index.search, sync=SyncSettings(watch=False)))
    assert "false" in found(unwatched)["events"].message


@pytest.mark.skipif(sys.platform != "linux", reason="counts descriptors in /proc")
def test_events_that_the_system_refuses(index: Index) -> None:
    importlib.import_module("watchdog.observers")  # which would need descriptors too
    looking = doctor.examine(index.config, Probe(ok=True, provider="none"))
    while next(looking).subject != "provider":
        pass
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    last = max(int(fd.name) for fd in Path("/proc/self/fd").iterdir())
    taken = [os.open(os.devnull, os.O_RDONLY) for _ in range(last)]  # no gap is left below the limit
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(taken) + 1, hard))
    try:
        finding = next(looking)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        for fd in taken:
            os.close(fd)
    assert (finding.subject, finding.level) == ("events", "warn")
    assert "max_user_instances" in finding.action


def test_a_backend_that_cannot_be_loaded_or_looked_at(index: Index) -> None:
    with open_memory({"memory": {"backend": "nowhere"}}, workspace=index.workspace, state_dir=index.state) as memory:
        findings = memory.diagnose()
    assert (findings[-1].subject, findings[-1].level) == ("nowhere", "fail")
    assert "no installed package" in findings[-1].message


def test_another_backends_findings_follow_under_its_name(tmp_path: Path) -> None:
    config = tmp_path / "config.json5"
    config.write_text('{memory: {backend: "qmd", qmd: {command: "no-such-qmd"}}}')
    command = Command(SAMPLE, tmp_path / "state")
    outcome = command("--config", str(config), "doctor")
    assert outcome.code == 1
    assert "of builtin, which takes over while qmd fails: none yet" in outcome.out
    last = outcome.out.splitlines()[-1]
    assert last.startswith("fail  qmd program")
    assert last.endswith("or set memory.qmd.command")
    assert not outcome.err
    assert list(tmp_path.iterdir()) == [config]
