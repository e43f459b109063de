"""Thin hosts, one a module: each connects the slot to other programs and uses only its public methods."""

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def needing(module: str, packages: str) -> Iterator[None]:
    """Say what a module in here needs, where importing that fails.

    Args:
        module: The name of the module.
        packages: The framework, and how to install it.
    """
    try:
        yield
    except ImportError as error:
        raise ImportError(f"memory_core.hosts.{module} needs {packages} ({error})") from error


def check_parts(slot: object, context: object) -> None:
    """Raise unless a framework's module is given a slot, and a function that describes sessions.

    Raises:
        InvalidArgument: It is not; says what to pass.
    """
    from memory_core.errors import expect
    from memory_core.plugin import MemorySlot
    from memory_core.tools.arguments import check_kind

    check_kind("slot", slot, MemorySlot)
    expect(callable(context), "context", "a function that returns a CallContext", context)
