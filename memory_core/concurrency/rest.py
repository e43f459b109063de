"""The owners of what can be read again, such as models and vectors: a process that rests lets them release it."""

from __future__ import annotations

import logging
import weakref
from collections.abc import Callable
from typing import Any, TypeVar

log = logging.getLogger(__name__)

T = TypeVar("T")

_owners: weakref.WeakKeyDictionary[object, Callable[[Any], bool]] = weakref.WeakKeyDictionary()


def release_at_rest(owner: T, release: Callable[[T], bool]) -> None:
    """Call `release(owner)` whenever the process rests while the owner lives.

    Args:
        owner: Whoever keeps what can be read again.
        release: Lets go of what nobody uses just now, at once, from any thread; returns False if there was nothing. A method of
            its class, since a bound one would keep it alive.
    """
    _owners[owner] = release


def rest() -> bool:
    """Let all owners release what they keep; return False if there was nothing."""
    alive = [owner for reference in _owners.keyrefs() if (owner := reference()) is not None]
    return any([_release(owner) for owner in alive])  # noqa: C419 -- all of them


def _release(owner: object) -> bool:
    try:
        return _owners[owner](owner)
    except Exception:  # one owner must not keep the others from it
        log.exception("%s cannot release what it keeps", type(owner).__name__)
        return False
