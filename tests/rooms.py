"""The rooms of the code and their imports, as docs/architecture.md and CONTRIBUTING.md list them.

A room is a package or a module directly below `memory_core`, or the package `memory_qmd`. The floors are those of the
import-linter contract in pyproject.toml, and the imports are those that grimp finds (imports for types alone are left out, as in
the contract).
"""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import grimp

from tests.command import REPOSITORY

CORE, QMD = "memory_core", "memory_qmd"
ROW, HEIGHT, GAP, MARGIN = 58, 30, 26, 12  # pixels: between floors, of a box, between boxes, around the picture
CHARACTER, PADDING, DOT = (
    7.4,
    24,
    8,
)  # pixels: of a letter at 13 px, in a box, of the place where an arrow passes a floor


@dataclass(frozen=True, slots=True)
class Room:
    """One room.

    Attributes:
        name: Without `memory_core.`.
        modules: Dotted names of the modules in it, sorted; the room itself when it is one module.
        imports: Names of the rooms that it imports.
    """

    name: str
    modules: tuple[str, ...]
    imports: frozenset[str]

    @property
    def path(self) -> str:
        """The file or folder, relative to the repository."""
        dotted = self.name if self.name == QMD else f"{CORE}.{self.name}"
        return file_of(dotted).removesuffix("__init__.py")


@cache
def rooms() -> Mapping[str, Room]:
    """Return all rooms by name, from the top floor to the bottom."""
    graph = grimp.build_graph(CORE, QMD, cache_dir=None, exclude_type_checking_imports=True)
    modules: dict[str, list[str]] = {name: [] for floor in floors() for name in floor}
    imports: dict[str, set[str]] = {name: set() for name in modules}
    for module in sorted(graph.modules - {CORE}):
        name = _room_of(module)
        modules[name].append(module)
        imports[name] |= {_room_of(each) for each in graph.find_modules_directly_imported_by(module) if each != CORE}
    return {name: Room(name, tuple(modules[name]), frozenset(imports[name] - {name})) for name in modules}


def _room_of(module: str) -> str:
    first, *rest = module.split(".")
    return rest[0] if first == CORE else first


@cache
def floors() -> Sequence[Sequence[str]]:
    """Return the names of the rooms on each floor, from the top; `memory_qmd` stands beside the other backend."""
    contracts = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"][
        "contracts"
    ]
    layers = next(each["layers"] for each in contracts if each["type"] == "layers" and each["containers"] == [CORE])
    named = [[name.strip(" ()") for name in re.split(r"[|:]", layer)] for layer in layers]
    return [[*floor, QMD] if "builtin" in floor else floor for floor in named]


def table() -> str:
    """Return a table of the rooms: path, purpose, the rooms that it imports."""
    rows = [
        (
            f"`{room.path}`",
            summary(room.modules[0]),
            ", ".join(other.name for other in shown() if other.name in room.imports),
        )
        for room in shown()
    ]
    return _table(("room", "purpose", "imports"), rows)


def places() -> str:
    """Return a table of the rooms: path and purpose."""
    return _table(("room", "purpose"), [(f"`{room.path}`", summary(room.modules[0])) for room in shown()])


def modules() -> str:
    """Return a list of all modules with the first sentence of their docstrings, room by room."""
    parts = []
    for room in shown():
        inside = [module for module in room.modules if not file_of(module).endswith("__init__.py")]
        if len(room.modules) > 1:
            parts += [f"### {room.name}\n", *(f"- `{file_of(module)}`: {summary(module)}" for module in inside), ""]
    return "\n".join(parts)


def summary(module: str) -> str:
    """Return the first paragraph of a module's docstring, on one line."""
    text = ast.get_docstring(ast.parse((REPOSITORY / file_of(module)).read_text(encoding="utf-8"))) or ""
    return " ".join(text.split("\n\n")[0].split())


def file_of(module: str) -> str:
    """Return the file of a module, relative to the repository."""
    path = module.replace(".", "/")
    return f"{path}/__init__.py" if (REPOSITORY / path).is_dir() else f"{path}.py"


def shown() -> Iterator[Room]:
    """Yield the rooms worth showing: all but `__main__` and `__about__`."""
    return (room for room in rooms().values() if not room.name.startswith("__"))


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return "".join(f"| {' | '.join(line)} |\n" for line in (head, ["---"] * len(head), *rows))
