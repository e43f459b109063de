"""Workflows are pinned and may do little, and the files for people agree with the package."""

from __future__ import annotations

import ast
import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

import memory_core
from tests.command import REPOSITORY, run

WORKFLOWS = sorted((REPOSITORY / ".github" / "workflows").glob("*.yml"))


def load(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_is_pinned_and_may_do_little(path: Path) -> None:
    used = re.findall(r"uses: (\S+)(?: # (\S+))?", path.read_text(encoding="utf-8"))
    assert used
    assert all(re.search(r"@[0-9a-f]{40}\Z", action) and version.startswith("v") for action, version in used)
    workflow = load(path)
    assert workflow["permissions"] == {}
    for job in workflow["jobs"].values():
        assert job["timeout-minutes"] <= 90
        for step in job["steps"]:
            if step.get("uses", "").startswith("actions/checkout@"):
                assert step["with"]["persist-credentials"] is False


def test_tests_run_on_three_systems_by_four_pythons() -> None:
    matrix = load(REPOSITORY / ".github/workflows/test.yml")["jobs"]["test"]["strategy"]["matrix"]
    assert {system.partition("-")[0] for system in matrix["os"]} == {"ubuntu", "macos", "windows"}
    pyproject = (REPOSITORY / "pyproject.toml").read_text(encoding="utf-8")
    assert matrix["python"] == re.findall(r"Python :: (3\.\d+)", pyproject)


def test_every_target_of_a_workflow_is_in_the_makefile() -> None:
    makefile = (REPOSITORY / "Makefile").read_text(encoding="utf-8")
    text = "\n".join(path.read_text(encoding="utf-8") for path in WORKFLOWS)
    nightly = load(REPOSITORY / ".github/workflows/nightly.yml")["jobs"]["real-parts"]["strategy"]["matrix"]["target"]
    for target in [*re.findall(r"run: make ([a-z-]+)", text), *nightly]:
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


def test_the_citation_names_the_version() -> None:
    assert load(REPOSITORY / "CITATION.cff")["version"] == memory_core.__version__


def test_tests_that_import_what_only_unix_has_are_skipped_elsewhere() -> None:
    """An error while tests are collected would end the run on Windows before any of them."""
    words = ["--collect-only", "-q", "-rs", "-p", "no:cacheprovider", "tests/unit/text/test_front_matter.py"]
    code = f"import sys; sys.modules['resource'] = None; import pytest; sys.exit(pytest.main({words}))"
    done = run([sys.executable, "-c", code], dict(os.environ))
    assert "needs resource, which only Unix has" in done.out, done.err
    assert done.code == pytest.ExitCode.NO_TESTS_COLLECTED


def test_texts_are_read_and_written_in_an_encoding_that_is_named() -> None:
    """Windows would take its own."""
    sources = [path for package in ("memory_core", "memory_qmd") for path in (REPOSITORY / package).rglob("*.py")]
    unnamed = [
        f"{path.relative_to(REPOSITORY)}:{call.lineno}"
        for path in sources
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and lacks_encoding(call.func, call)
    ]
    assert unnamed == []


def lacks_encoding(method: ast.Attribute, call: ast.Call) -> bool:
    """Tell whether a method of a path leaves the encoding to the system; a module `chat` has a function of that name."""
    most = {"read_text": 0, "write_text": 1}.get(method.attr)
    named = any(keyword.arg == "encoding" for keyword in call.keywords)
    return most is not None and len(call.args) <= most and not named and ast.unparse(method.value) != "chat"


def test_every_page_is_in_the_site() -> None:
    listed = re.findall(r": ([\w/-]+\.md)$", (REPOSITORY / "mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE)
    docs = REPOSITORY / "docs"
    assert sorted(listed) == sorted(str(path.relative_to(docs)) for path in docs.rglob("*.md"))


def test_no_page_written_by_hand_is_longer_than_300_lines() -> None:
    made = re.compile(r"\]\]\] -->\n.*?<!-- \[\[\[end\]\]\]", re.DOTALL)
    lengths = {
        page.name: len(made.sub("", page.read_text(encoding="utf-8")).splitlines())
        for page in (REPOSITORY / "docs").rglob("*.md")
    }
    assert {name: length for name, length in lengths.items() if length > 300} == {}


def test_the_container_has_little_and_only_this_machine_reaches_it() -> None:
    image = (REPOSITORY / "Dockerfile").read_text(encoding="utf-8")
    assert re.search(r"^USER [1-9]\d*:[1-9]\d*$", image, re.MULTILINE)
    compose = load(REPOSITORY / "compose.yml")
    for name in ("memory", "setup"):
        service = compose["services"][name]
        assert (service["read_only"], service["cap_drop"], service["build"]) == (True, ["ALL"], ".")
    assert all(port.startswith("127.0.0.1:") for each in compose["services"].values() for port in each.get("ports", ()))
    assert "MEMORY_CORE_MCP_TOKEN" in compose["services"]["memory"]["environment"]
