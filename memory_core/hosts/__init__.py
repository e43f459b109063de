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
