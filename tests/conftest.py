"""Every test runs without keys, without a network and in a home of its own."""

from __future__ import annotations

import os
import re
import shutil
import signal
from collections.abc import Generator
from functools import partial
from pathlib import Path

import hypothesis
import pytest

from memory_core.embeddings.remote.loop import Retries
from tests.command import REPOSITORY, SAMPLE, Command
from tests.guard import sitecustomize

# What could change an answer, reveal a key or name a folder outside the test.
_FOREIGN = re.compile(
    r"MEMORY_CORE_|XDG_|HF_|LITELLM_|OLLAMA_|(OPENAI|GEMINI|GOOGLE|VOYAGE|MISTRAL|OPENROUTER|ANTHROPIC|AZURE|COHERE|JINA)_"
    r"|.*_API_(KEY|TOKEN|BASE)$|(HTTPS?|ALL|NO)_PROXY$",
    re.IGNORECASE,
)
_CLOSED_PORT = "http://127.0.0.1:9"
_OFFLINE = {
    "ALL_PROXY": _CLOSED_PORT,
    "HTTP_PROXY": _CLOSED_PORT,
    "HTTPS_PROXY": _CLOSED_PORT,
    "NO_PROXY": "localhost,127.0.0.1,::1",
    "HF_HUB_OFFLINE": "1",
    "PYTHONPATH": os.pathsep.join([str(REPOSITORY), str(Path(sitecustomize.__file__).parent)]),
}

# A shell that starts the tests in the background lets them ignore Ctrl-C, and with them all commands that they interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)

# How long an example takes says more about what else the machine does than about the code. A run that must pass takes the
# same few examples each time; MEMORY_CORE_TEST_EXAMPLES=random, as at night, looks for more and new ones.
_MANY = os.environ.get("MEMORY_CORE_TEST_EXAMPLES") == "random"
hypothesis.settings.register_profile(
    "shared machine",
    deadline=None,
    derandomize=not _MANY,
    max_examples=100 if _MANY else 40,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.load_profile("shared machine")


UNIX_ONLY = frozenset({"fcntl", "pty", "resource", "termios"})  # modules of Python that Windows lacks


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Skip tests that import what only Unix has; as errors they would keep all others from running on Windows."""
    report = yield
    call: pytest.CallInfo[object] | None = getattr(report, "call", None)
    cause = call.excinfo.value.__cause__ if call is not None and call.excinfo is not None else None
    follows = os.name == "nt" and str(getattr(cause, "name", "")).startswith("tests.")  # it imports one of those
    if isinstance(cause, ImportError) and (cause.name in UNIX_ONLY or follows):
        report.outcome = "skipped"
        report.longrepr = (report.nodeid, 0, f"Skipped: needs {cause.name}, which only Unix has")
    return report


@pytest.fixture(autouse=True, scope="session")
def _offline_environment(tmp_path_factory: pytest.TempPathFactory) -> None:
    """For fixtures that live longer than a test; never taken back, so that nothing at the session's end escapes it."""
    for name in [name for name in os.environ if _FOREIGN.match(name)]:
        del os.environ[name]
    os.environ.update(_OFFLINE, HOME=str(tmp_path_factory.mktemp("session-home")))


@pytest.fixture(autouse=True)
def home(_offline_environment: None, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The test's own, empty home folder."""
    folder = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("HOME", str(folder))
    return folder


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A copy of the sample workspace, free to be changed."""
    return Path(shutil.copytree(SAMPLE, tmp_path / "workspace"))


@pytest.fixture
def command(workspace: Path, tmp_path: Path) -> Command:
    """The command line on that workspace, with a state folder of its own."""
    return Command(workspace, tmp_path / "state")


@pytest.fixture
def quick_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a provider that fails be asked again after a moment."""
    retries = partial(Retries, first_seconds=0.01, jitter_seconds=0.0)
    monkeypatch.setattr("memory_core.embeddings.remote.provider.Retries", retries)


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let capture read turns one by one."""
    monkeypatch.setattr("memory_core.plugin.capture.READ_AFTER_SECONDS", 0.0)
