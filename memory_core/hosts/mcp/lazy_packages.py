"""Packages whose `__init__` runs when somebody asks for a name that only it defines.

The `__init__` of the package mcp imports a client, a second kind of server and cryptography: 16 MB, in each of the processes that
clients keep for days, for a server that uses none of it. With this, `import mcp.server.lowlevel` runs that module and what it
imports; `from mcp import ClientSession` still finds what it found before.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec, module_from_spec
from types import ModuleType
from typing import Any

_running = threading.RLock()  # held while an `__init__` runs: other threads wait for its names
_MARK = "_is_running"


class _LazyPackage(ModuleType):
    """A package that is in `sys.modules`, with the path of its modules, before its `__init__` has run."""

    def __getattr__(self, name: str) -> Any:
        """Run `__init__` on the way to the first name that is missing; while it runs, its own thread finds what is there."""
        with _running:
            package: Any = self
            if package.__dict__.get(_MARK):
                raise AttributeError(f"partially initialized module {self.__name__!r} has no attribute {name!r}")
            if type(self) is _LazyPackage:
                package.__dict__[_MARK] = True
                try:
                    package.__spec__.loader.exec_module(self)
                    package.__class__ = ModuleType
                finally:
                    del package.__dict__[_MARK]
        return getattr(self, name)


@contextmanager
def leave_out(name: str) -> Iterator[None]:
    """Let a module that is not imported yet be missing inside of the block, for packages that do without it."""
    if name in sys.modules:
        yield
        return
    missing: dict[str, Any] = {name: None}  # see https://docs.python.org/3/reference/import.html#the-module-cache
    sys.modules.update(missing)
    try:
        yield
    finally:
        del sys.modules[name]


def make_lazy(*names: str) -> None:
    """Let packages that are not imported yet run their `__init__` when it is needed first.

    Args:
        names: Of the packages, those that hold others first.

    Raises:
        ModuleNotFoundError: One of them is not installed.
    """
    for name in names:
        if name in sys.modules:
            continue
        spec = find_spec(name)
        if spec is None:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        package = module_from_spec(spec)
        package.__class__ = _LazyPackage
        sys.modules[name] = package
        parent, _, own = name.rpartition(".")
        if parent:
            setattr(sys.modules[parent], own, package)
