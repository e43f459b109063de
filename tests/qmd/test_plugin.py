"""The section `memory.qmd` and the plugin that offers the backend."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from pydantic import TypeAdapter, ValidationError

from memory_qmd import PLUGIN
from memory_qmd.config import DIRECT_CHATS_ONLY, QmdConfig, parse_duration


@pytest.mark.parametrize(
    ("text", "value"), [("5m", 300), ("90s", 90), ("1.5h", 5400), ("500ms", 0.5), ("2d", 172800), ("0", 0)]
)
def test_durations(text: str, value: float) -> None:
    assert parse_duration(text) == value


@pytest.mark.parametrize(
    "section",
    [
        '{"update": {"interval": "soon"}}',
        '{"searchmode": "search"}',
        '{"limits": {"maxResults": 0}}',
        '{"searchMode": "best"}',
    ],
)
def test_the_section_is_strict(section: str) -> None:
    with pytest.raises(ValidationError):
        TypeAdapter(QmdConfig).validate_json(section)


def test_the_section_in_full() -> None:
    section = {
        "command": "~/bin/qmd",
        "searchMode": "vsearch",
        "includeDefaultMemory": False,
        "paths": [{"path": "~/notes", "name": "notes", "pattern": "**/*.md"}],
        "sessions": {"enabled": True, "retentionDays": 30, "exportDir": "out"},
        "update": {
            "interval": "1m",
            "debounceMs": 1,
            "onBoot": False,
            "embedInterval": "0",
            "commandTimeoutMs": 1,
            "updateTimeoutMs": 1,
            "embedTimeoutMs": 1,
        },
        "limits": {"maxResults": 3, "maxSnippetChars": 100, "maxInjectedChars": 200, "timeoutMs": 50},
        "scope": {"default": "allow"},
        "daemon": {"enabled": True},
    }
    found = TypeAdapter(QmdConfig).validate_json(json.dumps(section))
    assert (found.search_mode, found.sessions.retention_days, found.limits.timeout_ms) == ("vsearch", 30, 50)
    assert QmdConfig().scope is DIRECT_CHATS_ONLY


def test_the_plugin_names_its_section() -> None:
    assert PLUGIN.settings is not None
    assert PLUGIN.settings() is QmdConfig
    assert PLUGIN.scope is not None
    assert PLUGIN.scope(QmdConfig()) is DIRECT_CHATS_ONLY


def test_importing_the_plugin_loads_nothing_heavy() -> None:
    code = "import sys, memory_qmd; print([m for m in ('pydantic', 'numpy', 'apsw', 'http') if m in sys.modules])"
    root = Path(__file__).parents[2]
    printed = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True).stdout
    assert printed.strip() == "[]"
