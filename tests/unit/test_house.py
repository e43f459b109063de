"""The rules of the house that import-linter cannot state: where SQL stands, how names and docstrings read."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("memory_core", "memory_qmd")

# A statement as SQLite reads one; prose does not begin with a keyword in capitals.
SQL = re.compile(
    r"\s*(SELECT|INSERT|UPDATE|DELETE|CREATE|DROP|ALTER|PRAGMA|BEGIN|COMMIT|ROLLBACK|VACUUM|WITH)\b(?! [a-z])"
)
# The stores: rooms named so, the one importer of the driver, and the reader of QMD's own database.
STORES = re.compile(r"memory_core/\w+/store/|memory_core/upkeep/store\.py|memory_core/stores/|memory_qmd/database\.py")
RIDDLES = re.compile(r"(What|Whether|How|The same)\b")
LONGEST_MODULE = 720  # lines, docstrings included
USUAL_MODULE, USUAL_SHARE = 450, 0.9


@cache
def modules() -> tuple[tuple[str, ast.Module], ...]:
    """Every module of the product: its path below the root, and its syntax tree."""
    found = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
    return tuple((path.relative_to(ROOT).as_posix(), ast.parse(path.read_text(encoding="utf-8"))) for path in found)


def statements(tree: ast.Module) -> Iterator[int]:
    """Yield the line of every string that is an SQL statement, and of every call of `execute` or `executemany`."""
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            if SQL.match(node.value):
                yield node.lineno
        elif isinstance(node, ast.Attribute) and node.attr in {"execute", "executemany", "executescript", "pragma"}:
            yield node.lineno


def docstrings(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Yield the name of every documented module, class and function, and its docstring."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            text = ast.get_docstring(node)
            if text:
                yield getattr(node, "name", "module"), text


def test_sql_stands_in_stores_only() -> None:
    astray = [f"{path}:{line}" for path, tree in modules() if not STORES.match(path) for line in statements(tree)]
    assert astray == []


def test_the_search_for_sql_finds_it() -> None:
    assert [path for path, tree in modules() if STORES.match(path) and any(statements(tree))]
    source = [
        "def ask(cursor, table):",
        "    'SELECT is explained here.'",
        "    first = 'SELECT 1'",
        "    second = f'DELETE FROM {table}'",
        "    prose = 'Select a note'",
        "    return cursor.execute(first + second + prose)",
    ]
    assert sorted(statements(ast.parse("\n".join(source)))) == [3, 4, 6]


def test_a_class_name_has_one_meaning() -> None:
    places = defaultdict(list)
    for path, tree in modules():
        for node in tree.body:
            if isinstance(node, ast.ClassDef):
                places[node.name.lstrip("_")].append(path)
    assert {name: found for name, found in places.items() if len(found) > 1} == {}


def test_docstrings_say_who_does_what() -> None:
    every = [(path, name, text) for path, tree in modules() for name, text in docstrings(tree)]
    assert len(every) > 1000
    assert [f"{path} {name}: {text.splitlines()[0]}" for path, name, text in every if RIDDLES.match(text)] == []


def test_a_module_holds_one_idea() -> None:
    lengths = {path: len((ROOT / path).read_text(encoding="utf-8").splitlines()) for path, _ in modules()}
    assert {path: length for path, length in lengths.items() if length > LONGEST_MODULE} == {}
    assert sum(length <= USUAL_MODULE for length in lengths.values()) >= USUAL_SHARE * len(lengths)


@pytest.mark.parametrize("package", PACKAGES)
def test_every_room_says_what_it_is_for(package: str) -> None:
    trees = {path: tree for path, tree in modules() if path.startswith(package)}
    rooms = {f"{Path(path).parent.as_posix()}/__init__.py" for path in trees}
    assert sorted(rooms - set(trees)) == []
    assert [path for path in sorted(rooms) if not ast.get_docstring(trees[path])] == []
