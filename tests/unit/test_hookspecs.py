"""`memory_core.hookspecs` is the one page that the author of a backend needs."""

from __future__ import annotations

import ast
import builtins
import inspect
import typing
from collections.abc import Iterator
from dataclasses import is_dataclass
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import memory_core
from memory_core import errors, hookspecs
from tests.command import REPOSITORY
from tests.unit.test_imports import loaded_by

PAGE = Path(inspect.getfile(hookspecs))
STRANGER = REPOSITORY / "tests" / "hosts" / "third_party" / "memory_scan" / "__init__.py"
# What every Python author has: the standard library's own names.
STANDARD = {*dir(builtins), *dir(typing), "Callable", "Sequence", "Mapping", "Iterator"}


def names_of(page: Path) -> Iterator[str]:
    """Yield the public names of a module: those that it defines, and those that it imports under their own names."""
    for node in ast.parse(page.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom):
            yield from (each.name for each in node.names if each.asname == each.name)
        elif isinstance(node, ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Assign):
            yield from (each.id for each in node.targets if isinstance(each, ast.Name))


PUBLIC = [*names_of(PAGE)]


def annotations_of(page: Path) -> Iterator[ast.expr]:
    """Yield the annotations of what authors of backends meet; the hooks of a host name types of the rooms above."""
    tree = ast.parse(page.read_text(encoding="utf-8"))
    tree.body = [node for node in tree.body if not (isinstance(node, ast.ClassDef) and node.name == "HostHooks")]
    for node in ast.walk(tree):
        if isinstance(node, ast.AnnAssign):
            yield node.annotation
        elif isinstance(node, ast.FunctionDef):
            yield from (each.annotation for each in node.args.args if each.annotation is not None)
            if node.returns is not None:
                yield node.returns


def test_every_name_in_an_annotation_is_exported() -> None:
    named = {node.id for each in annotations_of(PAGE) for node in ast.walk(each) if isinstance(node, ast.Name)}
    assert {"AgentConfig", "Query", "SearchResult", "ProgressCallback", "NamedFolder"} <= named
    assert named - STANDARD <= set(PUBLIC)


def test_every_exported_name_resolves_and_stands_once() -> None:
    assert len(set(PUBLIC)) == len(PUBLIC)
    for name in PUBLIC:
        assert getattr(hookspecs, name) is not None


def hints_of(value: Any) -> Iterator[object]:
    """The types that a record, a protocol or a function names, as they resolve."""
    names: dict[str, Any] = {"np": np, "NDArray": NDArray}  # which are imported for type checkers only
    if isinstance(value, FunctionType) or is_dataclass(value):
        yield from typing.get_type_hints(value, localns=names).values()
    elif getattr(value, "_is_protocol", False):
        for member in vars(value).values():
            function = member.fget if isinstance(member, property) else member
            if isinstance(function, FunctionType) and not function.__name__.startswith("_"):
                yield from hints_of(function)


def classes_in(hint: object) -> Iterator[type]:
    if isinstance(hint, type) and not typing.get_args(hint):
        yield hint
    for each in typing.get_args(hint):
        yield from classes_in(each)


# The sections of a configuration are reached through AgentConfig, and described in the documentation of settings.
OPEN_ENDED = {"AgentConfig", "HostHooks"}


@pytest.mark.parametrize("name", sorted({*PUBLIC} - OPEN_ENDED))
def test_what_an_exported_name_takes_and_returns_is_exported_too(name: str) -> None:
    for hint in hints_of(getattr(hookspecs, name)):
        for each in classes_in(hint):
            if each.__module__.startswith("memory_core"):
                assert getattr(hookspecs, each.__name__, None) is each, f"{name} names {each.__qualname__}"
                assert each.__name__ in PUBLIC


def test_the_errors_that_a_docstring_names_are_exported() -> None:
    known = {name for name, value in vars(errors).items() if isinstance(value, type) and issubclass(value, Exception)}
    named = {word for word in PAGE.read_text(encoding="utf-8").replace(":", " ").split() if word in known}
    assert {"BackendUnavailable", "MemoryCoreError", "PathRefused"} <= named <= {*PUBLIC}


def test_a_backend_of_somebody_else_imports_nothing_but_public_names() -> None:
    for node in ast.walk(ast.parse(STRANGER.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            assert not any(each.name.startswith("memory_") for each in node.names)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("memory_"):
            public = {"memory_core": memory_core.__all__, "memory_core.hookspecs": PUBLIC}
            assert {each.name for each in node.names} <= set(public[node.module or ""])


def test_the_hooks_of_a_host_are_offered_here() -> None:
    assert hookspecs.HostHooks is memory_core.HostHooks


def test_the_page_costs_no_heavy_import() -> None:
    assert not loaded_by("import memory_core.hookspecs") & {"numpy", "pydantic", "apsw", "httpx"}
