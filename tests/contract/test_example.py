"""The example backend of docs/example-backend.md, as it stands there, keeps the promises of every backend."""

from __future__ import annotations

import re
import sys
from types import ModuleType

import pytest

from memory_core.testing import BackendContract, BackendUnderTest
from tests.command import REPOSITORY

pytest.importorskip("duckdb", reason="make test-example installs it")
PAGE = REPOSITORY / "docs" / "example-backend.md"


class TestExample(BackendContract):
    """Its code, run as a module of a stranger's."""

    @pytest.fixture
    def candidate(self, monkeypatch: pytest.MonkeyPatch) -> BackendUnderTest:
        code = re.findall(r"^```py\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)[0]
        assert len(code.splitlines()) <= 150
        module = ModuleType("memory_duck")
        monkeypatch.setitem(sys.modules, module.__name__, module)
        exec(compile(code, str(PAGE), "exec"), module.__dict__)
        return BackendUnderTest("duck", module.__dict__["PLUGIN"])
