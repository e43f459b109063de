"""Reasons why a backend failed, from whatever its code raised: for users, and for the log."""

from __future__ import annotations

import logging

from memory_core.backends.breaker import Refused
from memory_core.errors import BackendError, MemoryCoreError

# Their messages are written for people. Of all others ("'scope'", "list index out of range") the type says more.
_TELLING = (MemoryCoreError, OSError, Refused)


def explain_error(error: BaseException) -> str:
    """Return what went wrong and what to do about it, for a place that names the backend already."""
    if isinstance(error, BackendError):
        return f"{error.reason}; {error.action}" if error.action else error.reason
    name, message = type(error).__name__, str(error)
    if not message:
        return name
    return message if isinstance(error, _TELLING) else f"{name}: {message}"


def log_error(log: logging.Logger, backend: str, what: str, error: BaseException) -> None:
    """Log a warning with the error's type; at level DEBUG with its traceback, so that a plugin's author finds the line."""
    reason = explain_error(error)
    name = type(error.__cause__ or error).__name__  # the loader wraps what a plugin raised
    log.warning(
        "backend %r %s: %s",
        backend,
        what,
        reason if name in reason else f"{reason} ({name})",
        exc_info=error if log.isEnabledFor(logging.DEBUG) else None,
    )
