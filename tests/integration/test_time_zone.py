"""One clock for all: days of undated notes, of copies and of items are those of `memorySearch.timeZone`."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memory_core.backends.builtin import BuiltinBackend
from memory_core.cli import app
from memory_core.config.agent import AgentConfig
from memory_core.config.settings import SearchSettings
from memory_core.hookspecs import BackendContext
from memory_core.records import Query
from memory_core.text.dates import get_today

ZONES = ["Pacific/Kiritimati", "Pacific/Niue"]  # no machine has the day of both


def write_config(folder: Path, zone: str) -> list[str]:
    """Write a workspace and a configuration; return the options that name them."""
    (folder / "notes/memory").mkdir(parents=True)
    document = {"memorySearch": {"provider": "none", "timeZone": zone}, "memory": {"layers": {}}}
    (folder / "config.json").write_text(json.dumps(document), encoding="utf-8")
    places = {"config": "config.json", "workspace": "notes", "state-dir": "state"}
    return [word for name, place in places.items() for word in (f"--{name}", str(folder / place))]


@pytest.mark.parametrize("zone", ZONES)
def test_a_copy_is_named_by_the_users_day(zone: str, tmp_path: Path) -> None:
    options, note = write_config(tmp_path, zone), tmp_path / "notes/memory/kiln.md"
    note.write_text("The kiln is at 900.\n", encoding="utf-8")
    assert app.run(["index", *options]) == 0
    now = datetime.now(UTC)
    assert app.run(["restore", "memory/kiln.md", "--as-of", now.isoformat(), *options]) == 0
    assert note.with_name(f"kiln.as-of-{get_today(zone, now)}.md").exists()


@pytest.mark.parametrize("zone", ZONES)
def test_items_are_forgotten_by_the_users_day(zone: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = write_config(tmp_path, zone)
    assert app.run(["items", "add", "The kiln is at 900", *options]) == 0
    before = get_today(zone, datetime.now(UTC)).isoformat()
    app.run(["items", "forget", "--before", before, "--dry-run", *options])
    app.run(["items", "forget", "--after", before, "--dry-run", *options])
    assert ["0 items" in line for line in capsys.readouterr().out.splitlines() if "would be" in line] == [True, False]


def test_today_is_the_users_where_a_caller_names_no_day(tmp_path: Path) -> None:
    for zone in ZONES:
        folder = tmp_path / zone
        (folder / "memory").mkdir(parents=True)
        note = folder / f"memory/{get_today(zone, datetime.now(UTC))}.md"
        note.write_text("- Sailed to the island.\n", encoding="utf-8")
        search = SearchSettings(provider="none", time_zone=zone)
        store = folder / "state/memory/main.sqlite"
        config = AgentConfig(
            agent="main", workspace=folder, state_dir=folder / "state", store_path=store, search=search
        )
        backend = BuiltinBackend(BackendContext(config=config, settings=None))
        try:
            assert backend.memory_search(Query(text="What did I do today?")).hits
        finally:
            backend.memory_close()


@pytest.mark.parametrize("zone", ["Europe/Atlantis", "..", "GMT+25:00"])
def test_a_zone_that_does_not_exist_is_named(zone: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = write_config(tmp_path, zone)
    assert app.run(["status", *options]) == 0
    assert f"There is no time zone '{zone}'; that of this machine is used." in capsys.readouterr().err
