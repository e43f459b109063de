"""Read the plain cases of a section without pydantic, whose import and models cost a command 250 ms.

A value is read here only if pydantic would certainly accept it, with the same outcome. Odd values, mistakes, and models that
are not declared like ours are left to pydantic.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from memory_core.config.fields import STRICT, InvalidField, Secret, Section, to_camel
from memory_core.config.located import Node, to_plain

Model = TypeVar("Model")
Bounds = Mapping[str, Any]

_EXACT = 2**53  # beyond this a float is no longer the number that was written
_HOLDS: Mapping[str, Callable[[Any, Any], bool]] = {
    "ge": lambda value, bound: value >= bound,
    "gt": lambda value, bound: value > bound,
    "le": lambda value, bound: value <= bound,
    "lt": lambda value, bound: value < bound,
    "min_length": lambda value, bound: len(value) >= bound,
    "max_length": lambda value, bound: len(value) <= bound,
    "pattern": lambda value, bound: re.search(bound, value) is not None,
}


class _Unsure(Exception):
    """Raised where pydantic must decide."""


def construct(model: type[Model], node: Node) -> Model | None:
    """Make an instance of a model from an annotated object; None where pydantic must decide."""
    if not issubclass(model, Section):
        return None
    try:
        section: Model = _construct_section(model, to_plain(node))
    except (_Unsure, InvalidField):
        return None
    return section


def _construct_section(model: type[Any], content: object) -> Any:
    if not isinstance(content, dict) or not is_dataclass(model):
        raise _Unsure
    known = _list_settings(model)
    if not content.keys() <= known.keys():
        raise _Unsure
    values = {}
    for key, given in content.items():
        name, hint, bounds = known[key]
        values[name] = _take_value(hint, bounds, given)
    try:
        return model(**values)
    except TypeError as error:  # a setting without a default is missing
        raise _Unsure from error


@cache
def _list_settings(model: type[Any]) -> dict[str, tuple[str, Any, Bounds]]:
    """Return by the document's key: the attribute's name, its type, and its bounds."""
    if model.__pydantic_config__ is not STRICT:
        raise _Unsure
    hints = get_type_hints(model, include_extras=True)
    return {to_camel(each.name): (each.name, hints[each.name], each.metadata) for each in fields(model)}


def _take_value(hint: Any, bounds: Bounds, given: Any) -> Any:
    origin, arms = get_origin(hint), get_args(hint)
    if origin is Literal and isinstance(given, str) and given in arms:
        return given
    if origin in (Union, UnionType):
        return _take_one_of(arms, bounds, given)
    if origin is tuple and isinstance(given, list) and arms[1:] == (Ellipsis,):
        return tuple(_take_value(arms[0], {}, each) for each in _check_bounds(bounds, given))
    if origin is Mapping and isinstance(given, dict) and arms[0] is str:
        return {key: _take_value(arms[1], {}, each) for key, each in _check_bounds(bounds, given).items()}
    if isinstance(hint, type) and issubclass(hint, Section):
        return _construct_section(hint, given)
    return _take_scalar(hint, bounds, given)


def _take_one_of(arms: tuple[Any, ...], bounds: Bounds, given: Any) -> Any:
    """Read a value of `X | None`, or of a union of plain types if it has exactly one of them."""
    if given is None and NoneType in arms:
        return None
    rest = [arm for arm in arms if arm is not NoneType]
    if len(rest) == 1:
        return _take_value(rest[0], bounds, given)
    if type(given) in rest:
        return _take_scalar(type(given), bounds, given)
    raise _Unsure


def _take_scalar(hint: Any, bounds: Bounds, given: Any) -> Any:
    if hint is Secret and type(given) is str:
        return Secret(given)
    if hint is float and type(given) in (int, float) and abs(given) < _EXACT and math.isfinite(given):
        return _check_bounds(bounds, float(given))
    if hint in (bool, int, str) and type(given) is hint:
        return _check_bounds(bounds, given)
    raise _Unsure


def _check_bounds(bounds: Bounds, value: Any) -> Any:
    if all(_HOLDS[name](value, bound) for name, bound in bounds.items() if name != "description"):
        return value
    raise _Unsure
