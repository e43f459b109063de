"""The documentation holds: its code runs, its links and names lead somewhere, and it leaves nothing out that a user meets."""

from __future__ import annotations

import dataclasses
import importlib.util
import re
from collections.abc import Iterable
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, get_args
from xml.etree import ElementTree as ET

import pytest
from sybil import Sybil
from sybil.parsers.markdown import PythonCodeBlockParser

import memory_core
from memory_core import errors
from memory_core.backends.loader import register_backend
from memory_core.cli import app
from memory_core.config.environment import ENVIRONMENT
from memory_core.config.load import load_config
from memory_core.config.settings import FallbackId, ProviderId
from memory_core.hookspecs import (
    BackendContext,
    BackendPlugin,
    HostHooks,
    MemoryBackend,
    MemorySaver,
    RelationTeller,
    SearchExplainer,
    SessionFollower,
)
from memory_core.hosts.install import programs
from memory_core.plugin import MemorySlot
from memory_core.plugin.flush.runner import FlushOutcome
from memory_core.records import Query
from memory_core.search import scores
from memory_core.tools.arguments import TOOLS
from tests import chart, generated
from tests.benchmarks.postgres import tables
from tests.command import REPOSITORY, SAMPLE

README = REPOSITORY / "README.md"
PAGES = {
    str(path.relative_to(REPOSITORY)): path
    for path in (README, REPOSITORY / "CONTRIBUTING.md", *sorted((REPOSITORY / "docs").rglob("*.md")))
}


ROOMS = [
    path.parent.name for path in (REPOSITORY / "memory_core").glob("*/__init__.py") if path.parent.name != "concurrency"
]


@pytest.fixture(autouse=True)
def _in_the_repository(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(REPOSITORY)


def read(page: str) -> str:
    return PAGES[page].read_text(encoding="utf-8")


def run(page: str) -> dict[str, Any]:
    """Run the Python of a page and return the names that it defines."""
    with memory_core.open_memory(workspace=SAMPLE) as memory:
        memory.sync()  # on a busy machine the first search of an example would not wait for it
    document = Sybil(parsers=[PythonCodeBlockParser()]).parse(PAGES[page])
    for example in document.examples():
        example.evaluate()
    return dict(document.namespace)


@pytest.mark.parametrize("page", [page for page in PAGES if "```python" in read(page) and page != "README.md"])
def test_the_code_of_a_page_runs(page: str) -> None:
    assert run(page)


def test_the_code_of_the_readme_runs_in_any_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert run("README.md")
    assert len(list((tmp_path / "notes" / "memory").iterdir())) == 1


def test_pages_with_code_are_found() -> None:
    assert sum(read(page).count("```python") for page in PAGES) >= 6


def test_readme_begins_with_a_complete_example() -> None:
    beginning = "\n".join(read("README.md").splitlines()[:30])
    shown = re.search(r"```console\n\$ memory-core search .*\n(memory/\S+):L\d+-L\d+  0\.\d\d\n    \S", beginning)
    assert shown is not None, "run: make docs"
    assert shown[1] == "memory/2026-03-07.md"
    assert "make demo" in beginning
    assert "make test" in beginning


def test_readme_leads_to_every_page() -> None:
    """Itself, by the site's first page, or by the list of decisions."""
    linked = set(re.findall(r"\]\(([\w./-]+)\)", read("README.md")))
    for folder in ("docs", "docs/decisions"):
        linked |= {f"{folder}/{target}" for target in re.findall(r"\]\(([\w./-]+)\)", read(f"{folder}/index.md"))}
    assert {page for page in PAGES if page != "README.md"} <= linked


@pytest.mark.parametrize("page", PAGES)
def test_no_page_is_long(page: str) -> None:
    """Lines that a program writes are not counted."""
    written = re.sub(r"(<!-- \[\[\[cog.*?\]\]\] -->\n).*?(?=<!-- \[\[\[end)", r"\1", read(page), flags=re.DOTALL)
    assert len(written.splitlines()) <= (60 if page.startswith("docs/hosts/") else 300)


def examples(language: str) -> Iterable[str]:
    """Yield the blocks of a language on all pages."""
    for page in PAGES:
        yield from re.findall(rf"```{language}\n(.*?)```", read(page), re.DOTALL)


CONFIGURATIONS = [
    *(("example.json5", block) for block in examples("json5")),
    *(("example.toml", block) for block in examples("toml") if "[project" not in block),
]


@pytest.mark.parametrize(("name", "text"), CONFIGURATIONS)
def test_every_example_of_a_configuration_passes_the_check(
    name: str, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    Path("~/handbook").expanduser().mkdir(exist_ok=True)  # a layer of an example
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    assert app.run(["config", "check", str(path), "--workspace", str(SAMPLE)]) == 0
    shown = capsys.readouterr()
    assert shown.err == ""
    assert "not read" not in shown.out
    assert (load_config(path).agent("main").search.query.max_results == 8) == ("maxResults: 8" in text)


def test_examples_of_configurations_are_found() -> None:
    assert len(CONFIGURATIONS) >= 2


def test_the_backend_of_the_documentation_works(tmp_path: Path) -> None:
    plugin: BackendPlugin = run("docs/backends.md")["PLUGIN"]
    config = load_config({}, workspace=SAMPLE, state_dir=tmp_path).agent("main")
    backend = register_backend("grep", plugin, BackendContext(config=config))
    hits = backend.memory_search(Query(text="retired teacher")).hits
    assert hits[0].path == "memory/2026-01-10.md"
    assert "retired teacher" in backend.memory_get(hits[0].path, hits[0].start_line, 1).text
    assert backend.memory_sync(False, None).files == len(list(SAMPLE.rglob("*.md")))
    assert backend.memory_status().indexed
    assert [backend.memory_sync_soon(), backend.memory_start(), backend.memory_close()] == [True] * 3
    assert backend.memory_probe().ok


def test_the_host_of_the_documentation_flushes_once_a_cycle(tmp_path: Path) -> None:
    page = run("docs/hosts.md")
    session = memory_core.CallContext.local("thread-8")
    outcomes: list[FlushOutcome | None] = []

    class Slot(MemorySlot):
        def compact(self, *asked: Any, **facts: Any) -> FlushOutcome | None:
            outcomes.append(super().compact(*asked, **facts))
            return outcomes[-1]

    (tmp_path / "ws").mkdir()
    with Slot({}, workspace=tmp_path / "ws", state_dir=tmp_path / "state") as slot:
        for cycle in range(3):
            for tokens in (20_000, 110_000, 125_000):
                page["end_turn"](slot, session, [{"role": "user", "content": f"Fact {cycle}."}], tokens)
    assert [outcome and outcome.status for outcome in outcomes] == ["stored"] * 3


def hooks(*specifications: type) -> list[str]:
    return [name for each in specifications for name in vars(each) if not name.startswith("_")]


HOST_PAGES = [f"(hosts/{name}.md)" for name in programs.PROGRAMS]  # if there is none, the link leads nowhere

DOCUMENTED: dict[str, Iterable[str]] = {
    "docs/command-line.md": [
        *(name for name, _ in generated.list_commands()),
        *(
            (each.metavar or each.opts[0]).strip("[].") if isinstance(each, app.Argument) else each.opts[0]
            for _, command in generated.list_commands()
            for each in command.params
        ),
    ],
    "docs/errors.md": [
        *(name for name, value in vars(errors).items() if isinstance(value, type) and issubclass(value, Exception)),
        *("invalid_argument", "invalid_agent", "disabled", "denied", "unavailable", "stale", "warning"),
    ],
    "docs/backends.md": [
        *hooks(MemoryBackend, MemorySaver, SearchExplainer, SessionFollower, RelationTeller),
        *(field.name for kind in (BackendPlugin, BackendContext) for field in dataclasses.fields(kind)),
        *("memory_core.hookspecs.hookimpl", "memory_core.backends", "memory_core/hookspecs.py", "builtin", "qmd"),
    ],
    "docs/hosts.md": [
        *hooks(HostHooks),
        *(schema["name"] for schema in TOOLS.values()),
        *(field.name for field in dataclasses.fields(memory_core.CallContext)),
        *(
            "acall_tool",
            "prompt_section",
            "session_context",
            "run_flush",
            "record_flush",
            "flush_handlers",
            "compacted",
            "memory_core.slots",
            "plugin.json",
        ),
    ],
    "docs/mcp.md": ["mcp.json", "memory-core mcp --http", "MEMORY_CORE_MCP_TOKEN", *HOST_PAGES],
    "docs/index.md": HOST_PAGES,
    "docs/settings.md": [
        *(name for name, _, _ in ENVIRONMENT),
        *re.findall(r"^\| `(\S+)` \|", generated.settings(), re.MULTILINE),
        *("MEMORY_CORE_CONFIG", "plugins.slots.memory", "memorySearch.query.minScore"),
    ],
    "docs/embeddings.md": [*get_args(ProviderId), "memory_core.EmbeddingProvider"],
    "docs/search.md": ["minScore", str(scores.VECTOR_WEIGHT), str(scores.TEXT_WEIGHT), "hybrid", "vector", "keyword"],
    "docs/architecture.md": ROOMS,
    "README.md": ["memory_search", "memory_get", "memory_append", "MemorySlot", "memory-core mcp"],
}


@pytest.mark.parametrize(
    ("page", "word"), [(page, word) for page, words in DOCUMENTED.items() for word in dict.fromkeys(words)]
)
def test_a_page_names_what_a_user_meets(page: str, word: str) -> None:
    text = read(page)
    assert word in text or word.upper() in text, "run: make docs"


def test_the_picture_of_speed_shows_every_size_that_was_measured() -> None:
    drawn = {
        text.text for text in ET.parse(REPOSITORY / "docs" / "latency.svg").iter("{http://www.w3.org/2000/svg}text")
    }
    sizes = [f"{notes:,}" for notes, _ in chart.read_points("search", "ours_ms")]
    assert len(sizes) >= 2
    assert {*sizes, *(label for _, _, label in chart.LINES)} <= drawn, "run: make docs"
    assert all(f"| {size} |" in read("docs/search.md") for size in sizes), "run: make docs"


def test_the_picture_of_many_agents_shows_what_is_arithmetic() -> None:
    drawn = {
        text.text or ""
        for text in ET.parse(REPOSITORY / "docs" / "postgres.svg").iter("{http://www.w3.org/2000/svg}text")
    }
    assert {"p50", "p95", "measured", f"{tables.AGENTS:,}"} <= drawn, "run: make docs"
    assert any(text.startswith("arithmetic: ") for text in drawn), "run: make docs"


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page: str) -> None:
    for target, anchor in re.findall(r"\]\((?!https?:)([^)#]*)#?([^)]*)\)", read(page)):
        path = (PAGES[page].parent / target).resolve() if target else PAGES[page]
        assert path.exists(), target
        if anchor:
            headings = re.findall(r"^#+ (.*)$", path.read_text(encoding="utf-8"), re.MULTILINE)
            assert anchor in {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES)
def test_names_of_files_modules_and_targets_exist(page: str) -> None:
    text = read(page)
    for path in re.findall(r"`((?:memory_core|memory_qmd|tests|docs|\.ci)/[\w./-]*)`", text):
        assert (REPOSITORY / path).exists(), path
    for name in re.findall(r"`(memory_core(?:\.\w+)+)`", text):
        if name not in ENTRY_POINT_GROUPS:
            assert is_there(name), name
    makefile = (REPOSITORY / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"`(?:\w+=\S+ )?make ([\w-]+)", text):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


def is_there(name: str) -> bool:
    """Tell whether a module or something in one has this name; a module may need a framework that is not installed."""
    try:
        return resolve_name(name) is not None
    except (AttributeError, ImportError):
        return importlib.util.find_spec(name) is not None


ENTRY_POINT_GROUPS = ("memory_core.backends", "memory_core.slots")


def test_the_steps_of_contributing_name_what_is_there() -> None:
    """Each name in code that stands before "in `file`" is found in that file."""
    steps = re.findall(r"`([A-Za-z_]\w*)`(?: and `(\w+)`)? in\s+`([\w/]+\.py)`", read("CONTRIBUTING.md"))
    assert len(steps) >= 7
    for first, second, path in steps:
        code = (REPOSITORY / path).read_text(encoding="utf-8")
        assert all(
            re.search(rf"^( {{4}})?(def |class )?{name}\b", code, re.MULTILINE) for name in (first, second) if name
        )


def test_every_provider_can_be_a_fallback() -> None:
    assert set(get_args(FallbackId)) == set(get_args(ProviderId)) - {"auto"}


def test_every_tool_has_a_handler(tmp_path: Path) -> None:
    with memory_core.open_memory(workspace=tmp_path, state_dir=tmp_path) as memory:
        for schema in TOOLS.values():
            assert "there is no tool" not in memory.call_tool(schema["name"], {}).get("error", "")


def test_the_error_tree_is_drawn_as_it_is() -> None:
    """Every error stands in the module's drawing, below its base."""
    drawn: list[tuple[int, str]] = [
        (line.index(found[0]), found[0])
        for line in (errors.__doc__ or "").splitlines()
        if (found := re.search(r"(?<=── )\w+|^MemoryCoreError$", line))
    ]
    bases = {
        name: next((above for column, above in reversed(drawn[:index]) if column < own), "Exception")
        for index, (own, name) in enumerate(drawn)
    }
    real = {
        name: value.__base__.__name__
        for name, value in vars(errors).items()
        if isinstance(value, type) and issubclass(value, errors.MemoryCoreError) and value.__base__ is not None
    }
    assert bases == real


def test_the_changelog_names_the_version() -> None:
    assert memory_core.__version__ in (REPOSITORY / "CHANGELOG.md").read_text(encoding="utf-8")
