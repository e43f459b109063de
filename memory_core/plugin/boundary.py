"""The boundary to a host: values that a host passes are checked, and no exception gets out to it."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar, cast, get_args

from memory_core.config.names import DEFAULT_AGENT
from memory_core.config.normal_form import normalize_agent_id
from memory_core.errors import InvalidArgument, MemoryCoreError
from memory_core.records import Access, CallContext
from memory_core.tools.results import explain_defect

log = logging.getLogger(__name__)

P = ParamSpec("P")
Answer = TypeVar("Answer")

_TEXTS = ("agent", "session_key", "chat_type", "channel")


def never_raises(answer: Callable[[MemoryCoreError], Any]) -> Callable[[Callable[P, Answer]], Callable[P, Answer]]:
    """Decorate a method that a host calls: whatever it raises is logged, and the host gets an answer all the same.

    Args:
        answer: Makes that answer of the error; one that is not ours comes as a `MemoryCoreError` that tells of a defect.
    """

    def decorate(method: Callable[P, Answer]) -> Callable[P, Answer]:
        @functools.wraps(method)
        def call(*args: P.args, **kwargs: P.kwargs) -> Answer:
            try:
                return method(*args, **kwargs)
            except MemoryCoreError as error:
                log.warning("%s: %s", method.__name__, error)
                found = error
            except Exception as error:  # noqa: BLE001 -- nothing may get out to the host
                found = explain_defect(error, method.__name__)
            return cast("Answer", answer(found))

        return call

    return decorate


def check_context(context: CallContext | None) -> CallContext:
    """Return the context of a call; None is the one of this machine's own user.

    Raises:
        InvalidArgument: It is no `CallContext`, or an attribute of it is of a wrong type.
    """
    if context is None:
        return CallContext()
    if not isinstance(context, CallContext):
        raise InvalidArgument("context", f"expected a CallContext or None, not {type(context).__name__}")
    for name in _TEXTS:
        value = getattr(context, name)
        if value is not None and not isinstance(value, str):
            raise InvalidArgument(name, f"expected a string or None, not {type(value).__name__}")
    check_choice("access", context.access, get_args(Access))
    if context.main is not None and not isinstance(context.main, bool):
        raise InvalidArgument("main", f"expected True, False or None, not {type(context.main).__name__}")
    return context


def read_agent(context: CallContext) -> str:
    """Return the id of the agent whose session calls.

    Raises:
        InvalidArgument: It cannot be an agent's id.
    """
    return normalize_agent_id(context.agent or DEFAULT_AGENT)


def check_kind(name: str, value: object, kind: type) -> None:
    """Raise unless an argument is of a type.

    Raises:
        InvalidArgument: It is not; names the argument.
    """
    if not isinstance(value, kind):
        raise InvalidArgument(name, f"expected {kind.__name__}, not {type(value).__name__}")


def check_choice(name: str, value: object, choices: tuple[str, ...]) -> None:
    """Raise unless an argument is one of some words.

    Raises:
        InvalidArgument: It is not; names the argument and the words.
    """
    if not isinstance(value, str) or value not in choices:
        raise InvalidArgument(name, f"expected one of {', '.join(choices)}")
