"""The promises of every backend, tried through pluggy on each one that is registered; see `memory_core.testing`.

A new backend joins with its entry point and its line in `BACKENDS`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from pkgutil import resolve_name
from typing import Any

import pytest

from memory_core.config.agent import AgentConfig
from memory_core.config.fields import Secret
from memory_core.hookspecs import BackendContext
from memory_core.testing import BackendContract, BackendUnderTest, Subject, find, list_paths
from memory_qmd.config import QmdConfig
from tests.command import REPOSITORY
from tests.qmd.conftest import PATIENT, REAL, FakeQmd, real_program

Make = Callable[[AgentConfig, pytest.FixtureRequest], BackendContext]


def on_qmd(config: AgentConfig, request: pytest.FixtureRequest) -> BackendContext:
    """On the real one in `make test-qmd`, else on the fake."""
    fake: FakeQmd = request.getfixturevalue("fake")
    program = fake.program if REAL is None else real_program("qmd")
    return BackendContext(config=config, settings=QmdConfig(command=str(program), limits=PATIENT))


def on_postgres(config: AgentConfig, request: pytest.FixtureRequest) -> BackendContext:
    """On a real server, in a database of its own."""
    from memory_core.stores.postgres import PostgresConfig
    from tests.servers.postgres import make_database

    made: dict[str, PostgresConfig] = request.node.stash.setdefault(MADE, {})
    if "postgres" not in made:
        database = make_database()
        dsn = Secret(database.add_role("host", writes=("main",)))
        made["postgres"] = PostgresConfig(dsn=dsn, schema=database.schema, statement_timeout_ms=60_000)
    return BackendContext(config=config, settings=made["postgres"])


MADE = pytest.StashKey[dict[str, Any]]()  # of one test: contexts of one server are on one database
BACKENDS: Mapping[str, Make] = {
    "builtin": lambda config, _: BackendContext(config=config),
    "qmd": on_qmd,
    "postgres": on_postgres,
    "scan": lambda config, _: BackendContext(config=config, settings=resolve_name(f"{SCAN}:ScanSettings")()),
}

SCAN = "tests.hosts.third_party.memory_scan"  # a stranger's, which `tests/hosts/test_third_party.py` installs
REGISTERED: Mapping[str, str] = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]["entry-points"][
    "memory_core.backends"
] | {"scan": f"{SCAN}:PLUGIN"}


def test_every_registered_backend_is_under_contract() -> None:
    assert set(BACKENDS) == set(REGISTERED)


class TestRegisteredBackends(BackendContract):
    """Ours, and a stranger's."""

    @pytest.fixture(
        params=[pytest.param(name, marks=pytest.mark.real_qmd if name == "qmd" else ()) for name in BACKENDS]
    )
    def candidate(self, request: pytest.FixtureRequest) -> BackendUnderTest:
        plugin = resolve_name(REGISTERED[request.param])
        return BackendUnderTest(request.param, plugin, lambda config: BACKENDS[request.param](config, request))

    def test_a_passage_in_several_files_comes_once_and_names_them(self, subject: Subject) -> None:
        if subject.candidate.name == "scan":
            pytest.skip("nobody asks that of other people's backends")
        text = "The harpsichord was tuned by Larsen in the second week of the month.\n"
        for path in ("archive/tuning.md", "tuning (1).md", "tuning.md", "tuning.sync-conflict-20260305-101112-A.md"):
            subject.note(f"memory/{path}", text)
        (hit,) = find(subject.indexed(), "who tuned the harpsichord").hits
        others = (
            "memory/tuning (1).md",
            "memory/tuning.sync-conflict-20260305-101112-A.md",
            "memory/archive/tuning.md",
        )
        assert (hit.path, hit.also_in) == ("memory/tuning.md", others)

    def test_what_two_daily_notes_say_of_two_days_comes_twice(self, subject: Subject) -> None:
        for day in ("05", "06"):
            subject.note(f"memory/2026-03-{day}.md", "Went swimming in the harbour with Larsen before breakfast.\n")
        found = find(subject.indexed(), "swimming in the harbour with Larsen")
        assert {"memory/2026-03-05.md", "memory/2026-03-06.md"} <= set(list_paths(found))
