"""Forks of this process: a fork waits for what cannot be half done, and its child makes anew what it cannot use.

A child of `os.fork` has copies of all objects, but only the thread that forked. A lock that another thread held is never released
there, and native code that another thread was setting up stays half set up. Open SQLite connections must not even be closed in
a child (https://www.sqlite.org/howtocorrupt.html, 2.6): the child leaks them on purpose, see `abandon`.
"""

from __future__ import annotations

import contextlib
import importlib.machinery
import importlib.util
import itertools
import logging
import os
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any, TypeVar

log = logging.getLogger(__name__)

WAIT_SECONDS = 5.0  # for imports and models of other threads: most take less than one
_POLL_SECONDS = 0.002
_PACKAGES = ("memory_core", "memory_qmd")


T = TypeVar("T")

_owners: weakref.WeakKeyDictionary[object, Callable[[Any], None]] = weakref.WeakKeyDictionary()
_unfinished: dict[
    int, int
] = {}  # the threads that are inside `finish_before_fork`, by a number of its own for each block
_numbers = itertools.count()
_abandoned: list[object] = []
_SPOILT = "this process was forked while its parent was loading a model or a package"
_spoilt = threading.Event()  # set in a child that must not load what its parent was loading


def renew_in_children(owner: T, renew: Callable[[T], None]) -> None:
    """Call `renew(owner)` in every child that is forked while the owner lives, before anything else runs there.

    Args:
        owner: Whoever holds locks, threads or connections.
        renew: Makes its locks anew and lets go of the rest; a method of its class, since a bound one would keep it alive.
    """
    _owners[owner] = renew


@contextlib.contextmanager
def finish_before_fork() -> Iterator[None]:
    """Make a fork by another thread wait, for `WAIT_SECONDS` at most, until the block has ended.

    For native code that is set up once in a process, and that a child would wait for.
    """
    number = next(_numbers)
    _unfinished[number] = threading.get_ident()
    try:
        yield
    finally:
        _unfinished.pop(number, None)


def abandon(value: object) -> None:
    """Keep a value for as long as the process lives, also while the interpreter ends, so that nothing in it is finalized."""
    import ctypes

    _abandoned.append(value)
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(value))


def explain_spoilt() -> str:
    """Return why this process cannot use what its parent was loading when it forked; "" if it can."""
    return _SPOILT if _spoilt.is_set() else ""


def load_anew(module: ModuleType) -> ModuleType:
    """Load a second copy of an extension module, whose native code shares no state with the first.

    Raises:
        ImportError: It cannot be loaded twice here.
    """
    assert module.__file__ is not None
    problems: list[str] = []
    for copied in (_copy_to_memory, _copy_to_disk):
        try:
            with copied(Path(module.__file__)) as path:
                return _load(module.__name__, path)
        except (OSError, ImportError) as error:
            problems.append(str(error))
    raise ImportError(f"{module.__name__} cannot be loaded a second time: {'; '.join(problems)}")


@contextlib.contextmanager
def _copy_to_memory(file: Path) -> Iterator[str]:
    if not hasattr(os, "memfd_create"):
        raise ImportError("this system has no files in memory")
    descriptor = os.memfd_create(file.name)
    import shutil

    try:
        with file.open("rb") as source, os.fdopen(os.dup(descriptor), "wb") as target:
            shutil.copyfileobj(source, target)
        yield f"/proc/{os.getpid()}/fd/{descriptor}"  # another name in every process: Python knows extensions by names
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _copy_to_disk(file: Path) -> Iterator[str]:
    import shutil
    import tempfile

    with tempfile.TemporaryDirectory(prefix="memory-core-") as folder:
        yield str(shutil.copy(file, folder))


def _load(name: str, path: str) -> ModuleType:
    first = sys.modules[name]
    loader = importlib.machinery.ExtensionFileLoader(name, path)
    spec = importlib.util.spec_from_file_location(name, path, loader=loader)
    assert spec is not None
    try:
        second = importlib.util.module_from_spec(spec)
        loader.exec_module(second)
    finally:
        sys.modules[name] = first  # loading has put the second there
    return second


def _before() -> None:
    """Wait for what other threads load; runs in the thread that forks."""
    until = time.monotonic() + WAIT_SECONDS
    while _owners and _is_loading():
        if time.monotonic() >= until:
            _spoilt.set()
            return
        time.sleep(_POLL_SECONDS)


def _is_loading() -> bool:
    this = threading.get_ident()
    return any(thread != this for thread in tuple(_unfinished.values())) or any(
        thread != this and _imports_for_us(frame) for thread, frame in sys._current_frames().items()
    )


def _imports_for_us(frame: FrameType | None) -> bool:
    """Return True if a thread is inside an import that code of ours has begun, such as the first one of numpy."""
    importing = False
    while frame is not None:
        module = frame.f_globals.get("__name__")
        if importing and isinstance(module, str) and module.partition(".")[0] in _PACKAGES:
            return True
        importing = importing or module == "importlib._bootstrap"
        frame = frame.f_back
    return False


def _in_parent() -> None:
    _spoilt.clear()


def _in_child() -> None:
    _unfinished.clear()
    for owner, renew in tuple(_owners.items()):
        try:
            renew(owner)
        except Exception:  # one owner must not keep the others from it
            log.exception("%s cannot be used in this forked process", type(owner).__name__)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_in_parent, after_in_child=_in_child)
