"""A QMD that hangs, and one that is stopped: nobody waits longer than asked for, and no child outlives its owner."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from memory_core.backends.selector import Selector
from memory_core.config.settings import MemorySettings, SearchSettings, SyncSettings
from memory_core.errors import BackendUnavailable, SyncBusy, SyncStopped
from memory_core.hookspecs import BackendContext
from memory_core.threads import start_call, wait_for
from memory_qmd.backend import QmdBackend
from memory_qmd.config import QmdModels, QmdUpdate
from memory_qmd.doctor import diagnose
from memory_qmd.home import QmdHome
from memory_qmd.process import Processes
from memory_qmd.warm_server import exchange
from tests.command import Command
from tests.qmd.conftest import HANG_GUARD_SECONDS, FakeQmd, QmdAgent, ask, list_children
from tests.waiting import eventually

# A command may take as long as the fake hangs: whoever waits for one without a deadline of his own is found out.
ENDLESS = QmdUpdate(command_timeout_ms=600_000, update_timeout_ms=600_000, embed_timeout_ms=600_000, debounce_ms=0)
SHORT_SECONDS = 1.0
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")


@pytest.fixture
def fence(agent: QmdAgent) -> QmdAgent:
    """One note, indexed."""
    agent.note("MEMORY.md", "fence")
    agent.open().memory_sync(force=False, progress=None)
    return agent


@pytest.fixture
def models(tmp_path: Path) -> QmdModels:
    path = tmp_path / "a.gguf"
    path.write_bytes(b"GGUF fine")
    return QmdModels(embed=str(path))


def by_meaning(agent: QmdAgent, models: QmdModels, **settings: Any) -> QmdBackend:
    return agent.open(search_mode="vsearch", models=models, update=ENDLESS, **settings)


def sync(backend: QmdBackend) -> Any:
    return backend.memory_sync(force=False, progress=None)


def is_running(fake: FakeQmd, command: str) -> bool:
    """Return True once a command hangs: the fake's own child sleeps."""
    lines = list_children(fake)
    return any(f" {command}" in line for line in lines) and any("time.sleep(600)" in line for line in lines)


def seconds_of(work: Callable[[], object]) -> float:
    began = time.monotonic()
    work()
    return time.monotonic() - began


@pytest.mark.parametrize("mode", ["search", "vsearch"])
def test_every_search_of_a_hung_qmd_ends_at_its_own_deadline(
    fence: QmdAgent, fake: FakeQmd, models: QmdModels, mode: str
) -> None:
    backend = fence.open(search_mode=mode, models=models, update=ENDLESS)
    sync(backend)
    fake.fail(any="hang")
    for _ in range(3):  # after a failure QMD is asked for its version first

        def search() -> None:
            with pytest.raises(BackendUnavailable, match=r"no answer within|no time was left"):
                ask(backend, "fence", deadline=time.monotonic() + SHORT_SECONDS)

        assert seconds_of(search) < HANG_GUARD_SECONDS
    assert eventually(lambda: not list_children(fake))


def test_an_update_that_hangs_holds_no_search_up_and_ends_with_its_owner(fence: QmdAgent, fake: FakeQmd) -> None:
    backend = fence.open(update=ENDLESS, search=SearchSettings(sync=SyncSettings(on_search_budget_ms=500)))
    fence.note("memory/a.md", "gate")
    fake.fail(update="hang")
    assert ask(backend, "fence").stale
    assert eventually(lambda: is_running(fake, "update"))  # in the background, where the next search finds it
    assert seconds_of(backend.memory_close) < HANG_GUARD_SECONDS
    assert eventually(lambda: not list_children(fake))


def test_status_probe_and_doctor_of_a_hung_qmd_wait_for_one_command_at_most(fence: QmdAgent, fake: FakeQmd) -> None:
    fake.fail(any="hang")
    update = QmdUpdate(command_timeout_ms=300)
    backend = fence.open(update=update)
    calls = len(fake.calls())
    assert backend.memory_status().files == 1
    assert len(fake.calls()) == calls
    probe = backend.memory_probe()
    assert (probe.ok, "no answer within" in str(probe.error)) == (False, True)
    findings = diagnose(BackendContext(config=fence.config, settings=replace(fence.settings, update=update)))
    assert [finding.subject for finding in findings if finding.level == "fail"] == ["node"]
    assert len(fake.calls()) <= calls + 2  # fewer if one was killed before it could write its name down
    assert eventually(lambda: not list_children(fake))


@pytest.mark.parametrize("during", ["embed", "embed of a new model", "update"])
def test_a_sync_that_is_stopped_is_no_failure(
    fence: QmdAgent, fake: FakeQmd, models: QmdModels, tmp_path: Path, during: str
) -> None:
    if during == "embed of a new model":
        sync(by_meaning(fence, models))
        (tmp_path / "b.gguf").write_bytes(b"GGUF other")
        models = QmdModels(embed=str(tmp_path / "b.gguf"))
    backend = by_meaning(fence, models)
    fence.note("memory/a.md", "gate")
    command = during.split(maxsplit=1)[0]
    fake.fail(**{command: "hang"})
    running = start_call(lambda: sync(backend), name="sync")
    assert eventually(lambda: is_running(fake, command))
    assert backend.memory_close()
    with pytest.raises(SyncStopped):
        wait_for(running, HANG_GUARD_SECONDS)
    assert eventually(lambda: not list_children(fake))
    assert not (fence.home / "smoke-test").exists()
    assert QmdHome(fence.home).load_state().embed_failures == 0
    fake.fail()
    report = sync(by_meaning(fence, models))
    assert (report.pending, report.warnings) == (0, ())


def test_embedding_in_the_background_that_is_stopped_is_no_failure(
    fence: QmdAgent, fake: FakeQmd, models: QmdModels
) -> None:
    backend = by_meaning(fence, models)
    fake.fail(embed="hang")
    fence.note("memory/a.md", "gate")
    backend.memory_start()
    assert eventually(lambda: is_running(fake, "embed"))
    assert backend.memory_close()
    assert eventually(lambda: not list_children(fake))
    assert not [thread.name for thread in threading.enumerate() if thread.name.startswith("memory-qmd")]
    assert QmdHome(fence.home).load_state().embed_failures == 0


def test_whoever_waits_for_another_process_can_be_stopped(fence: QmdAgent) -> None:
    backend = fence.open(update=ENDLESS)
    with QmdHome(fence.home).lock(timeout_seconds=0):
        running = start_call(lambda: sync(backend), name="sync")
        assert not running.done()
        assert backend.memory_close()
        with pytest.raises(SyncStopped):
            wait_for(running, HANG_GUARD_SECONDS)
        with pytest.raises(SyncBusy):
            sync(fence.open(update=QmdUpdate(command_timeout_ms=50)))


def test_an_explicit_sync_embeds_also_during_the_pause_after_a_failure(
    fence: QmdAgent, fake: FakeQmd, models: QmdModels
) -> None:
    backend = by_meaning(fence, models)
    fake.fail(embed="exit 1 boom")
    report = sync(backend)
    assert report.pending == 1
    assert "boom" in report.warnings[0]
    assert QmdHome(fence.home).load_state().embed_not_before > time.time()
    report = sync(backend)
    assert len(fake.calls("embed")) == 2
    assert "boom" in report.warnings[0]  # it says so each time
    fake.fail()
    report = sync(backend)
    assert (report.pending, report.embedded, report.warnings) == (0, 1, ())


def test_an_explicit_sync_says_that_it_could_not_look(fence: QmdAgent, fake: FakeQmd, models: QmdModels) -> None:
    backend = by_meaning(fence, models)
    sync(backend)
    for file in fence.home.glob("index.sqlite*"):
        file.unlink()
    (fence.home / "index.sqlite").mkdir()
    assert any("cannot be read" in warning for warning in sync(backend).warnings)


def test_what_was_cancelled_or_busy_leaves_the_breaker_alone(
    agent: QmdAgent, fake: FakeQmd, models: QmdModels, tmp_path: Path
) -> None:
    agent.note("MEMORY.md", "fence")
    section = {"command": str(fake.program), "update": {"commandTimeoutMs": 50, "updateTimeoutMs": 600_000}}
    config = replace(
        agent.config,
        memory=MemorySettings(backend="qmd"),
        search=SearchSettings(provider="none"),
        backend_sections={"qmd": section},
    )
    selector = Selector(config)
    QmdHome(agent.home).create()
    with QmdHome(agent.home).lock(timeout_seconds=0):
        for _ in range(4):
            assert "another process" in selector.sync().warnings[-1]
        assert selector.status().backend_fallback is None
    fake.fail(update="hang")
    running = start_call(selector.sync, name="sync")
    assert eventually(lambda: is_running(fake, "update"))
    assert selector.close() == ()
    assert "closed" in wait_for(running, HANG_GUARD_SECONDS).warnings[-1]
    assert selector.status().backend_fallback is None


def test_ctrl_c_while_qmd_embeds_leaves_nothing_behind(
    agent: QmdAgent, fake: FakeQmd, models: QmdModels, tmp_path: Path
) -> None:
    agent.note("MEMORY.md", "fence")
    command = configured(agent, fake, tmp_path, searchMode="vsearch", models={"embed": models.embed})
    fake.fail(embed="hang")
    running = subprocess.Popen(
        [*command.start(), "index"], env=command.variables(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert eventually(lambda: is_running(fake, "embed"))
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=HANG_GUARD_SECONDS)
    finally:
        running.kill()
    assert (running.returncode, out) == (130, "")
    assert "memory-core: interrupted." in err
    assert eventually(lambda: not list_children(fake))
    assert QmdHome(agent.home).load_state().embed_failures == 0
    fake.fail()
    report = sync(by_meaning(agent, models))
    assert (report.pending, report.warnings) == (0, ())


def test_a_search_at_the_command_line_waits_for_no_update_that_hangs(
    agent: QmdAgent, fake: FakeQmd, tmp_path: Path
) -> None:
    agent.note("MEMORY.md", "fence")
    endless = {"commandTimeoutMs": 600_000, "updateTimeoutMs": 600_000, "debounceMs": 0}
    command = configured(agent, fake, tmp_path, update=endless, limits={"timeoutMs": 3000})
    sync(agent.open())
    agent.note("memory/a.md", "gate and fence")
    fake.fail(update="hang")
    done = command("search", "fence", timeout_seconds=HANG_GUARD_SECONDS)
    assert (done.code, "MEMORY.md" in done.out) == (0, True)
    assert "lacks some notes" in done.err or "builtin is used" in done.err  # the latter on a very slow machine
    assert eventually(lambda: not list_children(fake))


def configured(agent: QmdAgent, fake: FakeQmd, tmp_path: Path, **section: Any) -> Command:
    """The command line with QMD as its backend."""
    document = {
        "memory": {"backend": "qmd", "qmd": {"command": str(fake.program), **section}},
        "agents": {"defaults": {"memorySearch": {"sync": {"onSearchBudgetMs": 500}}}},
    }
    path = tmp_path / "config.json"
    path.write_text(json.dumps(document))
    return Command(agent.workspace, agent.config.state_dir, {"MEMORY_CORE_CONFIG": str(path)})


@pytest.fixture
def dribbling() -> Iterator[int]:
    """The port of a server that sends its answer byte by byte, for ever."""
    listener = socket.create_server(("127.0.0.1", 0))
    stopped = threading.Event()

    def dribble(connection: socket.socket) -> None:
        with connection:
            try:
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
                while not stopped.wait(0.02):
                    connection.sendall(b" ")
            except OSError:
                return

    def serve() -> None:
        while not stopped.is_set():
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=dribble, args=(connection,), daemon=True).start()

    threading.Thread(target=serve, daemon=True).start()
    yield int(listener.getsockname()[1])
    stopped.set()
    listener.close()


def test_a_server_that_dribbles_is_given_up_in_time(dribbling: int) -> None:
    def get() -> None:
        with pytest.raises(TimeoutError):
            exchange(dribbling, "GET", "/health", None, {}, timeout_seconds=0.3)

    assert seconds_of(get) < HANG_GUARD_SECONDS


def test_a_forked_child_neither_ends_nor_keeps_its_parents_processes(tmp_path: Path) -> None:
    """The parent is killed while its forked child lives: the QMD of the parent ends, though the child has its pipes."""
    ids = tmp_path / "ids"
    owner = "\n".join(
        [
            "import os, sys, time; from pathlib import Path",
            f"sys.path[:] = {sys.path!r}",
            "from memory_qmd.process import Processes",
            "processes = Processes()",
            f"server = processes.start_server([sys.executable, '-c', 'import time; time.sleep(600)'], env={{}}, "
            f"cwd=Path({str(tmp_path)!r}))",
            "child = os.fork()",
            "if not child:",
            "    processes.close()",  # must not end the parent's
            "    os.kill(server.pid, 0)",
            f"    Path({str(ids)!r} + '.new').write_text(f'{{os.getppid()}} {{os.getpid()}} {{server.pid}}')",
            f"    os.rename({str(ids)!r} + '.new', {str(ids)!r})",
            "    time.sleep(600)",
            "time.sleep(600)",
        ]
    )
    parent = subprocess.Popen([sys.executable, "-W", "ignore", "-c", owner], start_new_session=True)
    try:
        assert eventually(ids.exists)
        _, child, server = (int(word) for word in ids.read_text().split())
        assert is_alive(server)
        parent.kill()
        parent.wait(30)
        assert is_alive(child)
        assert eventually(lambda: not is_alive(server))
    finally:
        os.killpg(parent.pid, signal.SIGKILL)
        parent.wait(30)


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in {"Z", "X"}
    except FileNotFoundError:
        return False


def test_processes_that_are_closed_say_so() -> None:
    processes = Processes()
    processes.close()
    assert processes.is_closed


def test_a_closed_backend_does_not_advise_to_install_qmd(fence: QmdAgent) -> None:
    backend = fence.open()
    backend.memory_close()
    for work in (lambda: ask(backend, "fence"), lambda: sync(backend)):
        with pytest.raises(SyncStopped, match="closed") as error:
            work()
        assert error.value.action == ""
