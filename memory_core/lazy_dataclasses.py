"""Dataclasses that cost little to declare: nothing of them is compiled but `__init__`, when the first value is made.

`dataclasses` writes and compiles up to six methods of every class while its module is imported, in about a millisecond. A
command imports a hundred classes and makes values of a quarter of them. Here all classes share their methods, and each compiles
an `__init__` of its own when it is first called, so that making values is as fast as ever.

Type checkers see `dataclasses.dataclass`. `fields`, `replace`, `asdict`, `copy`, `pickle` and pydantic work as with that.
"""

from __future__ import annotations

from dataclasses import MISSING, FrozenInstanceError, fields
from dataclasses import dataclass as _standard
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from dataclasses import dataclass
else:

    def dataclass(*, slots, frozen=False, kw_only=False):
        """Return a decorator that makes a class a dataclass with slots.

        Raises:
            TypeError: Slots are not wanted; `dataclasses.dataclass` makes such classes.
        """
        if not slots:
            raise TypeError("only classes with slots are declared lazily: use dataclasses.dataclass")
        return lambda cls: _declare(cls, frozen=frozen, kw_only=kw_only)


__all__ = ["dataclass"]

_set = object.__setattr__  # a frozen class refuses its own
_FRESH: Any = object()  # stands for an argument that is not given, of a field with a default factory


def _declare(cls: type, *, frozen: bool, kw_only: bool) -> type:
    """Return the class with slots and the shared methods, except those that it has itself."""
    own = {name for name, value in vars(cls).items() if value is not None}
    cls.__doc__ = cls.__doc__ or cls.__qualname__  # else `dataclasses` writes a signature, which takes it a millisecond
    made: Any = _standard(init=False, repr=False, eq=False, kw_only=kw_only, slots=True)(cls)
    compared = [field.name for field in fields(made) if field.compare]
    made.__compared__ = attrgetter(*compared) if compared else lambda *_: ()
    for name, method in {**_METHODS, **(_FROZEN_METHODS if frozen else {})}.items():
        if name not in own:
            setattr(made, name, method)

    def initialize_first(self: Any, *args: Any, **kwargs: Any) -> None:
        made.__init__ = _compile_init(made, frozen=frozen)
        made.__init__(self, *args, **kwargs)

    made.__init__ = initialize_first
    return made  # type: ignore[no-any-return]


def _compile_init(cls: Any, *, frozen: bool) -> Any:
    names: dict[str, Any] = {"_set": _set, "_FRESH": _FRESH}
    positional, by_name, body = ["self"], ["*"], []
    for field in fields(cls):
        name = parameter = value = field.name
        if field.default is not MISSING:
            names[f"_default_{name}"] = field.default
            parameter += f"=_default_{name}"
        elif field.default_factory is not MISSING:
            names[f"_make_{name}"] = field.default_factory
            parameter += "=_FRESH"
            value = f"_make_{name}() if {name} is _FRESH else {name}"
        if field.init:
            (by_name if field.kw_only else positional).append(parameter)
            body.append(f"_set(self, {name!r}, {value})" if frozen else f"self.{name} = {value}")
    if hasattr(cls, "__post_init__"):
        body.append("self.__post_init__()")
    parameters = positional + by_name * (len(by_name) > 1)
    exec(f"def __init__({', '.join(parameters)}):\n " + "\n ".join(body or ["pass"]), names)  # noqa: S102  # as dataclasses does
    init = names["__init__"]
    init.__qualname__, init.__module__ = f"{cls.__qualname__}.__init__", cls.__module__
    return init


def _describe(self: Any) -> str:
    shown = ", ".join(f"{field.name}={getattr(self, field.name)!r}" for field in fields(self) if field.repr)
    return f"{type(self).__qualname__}({shown})"


def _equal(self: Any, other: Any) -> Any:
    if type(other) is not type(self):
        return NotImplemented
    compared = self.__compared__
    return compared(self) == compared(other)


def _hash(self: Any) -> int:
    return hash(self.__compared__(self))


def _refuse_to_set(_: object, name: str, __: object) -> NoReturn:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_to_delete(_: object, name: str) -> NoReturn:
    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _get_state(self: Any) -> list[object]:
    return [getattr(self, field.name) for field in fields(self)]


def _set_state(self: Any, state: list[object]) -> None:
    for field, value in zip(fields(self), state, strict=True):
        _set(self, field.name, value)


_METHODS: dict[str, Any] = {"__repr__": _describe, "__eq__": _equal, "__hash__": None}
_FROZEN_METHODS: dict[str, Any] = {
    "__hash__": _hash,
    "__setattr__": _refuse_to_set,
    "__delattr__": _refuse_to_delete,
    "__getstate__": _get_state,
    "__setstate__": _set_state,
}
