"""Declaration of settings: a one-line meaning with bounds, secret values, sizes in bytes.

Bounds are dataclass metadata under the names of `pydantic.Field` ("ge", "min_length", ...), where pydantic finds them by
itself; unlike annotations they cost no import.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, TypeVar, cast

from memory_core.as_json import to_camel

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler
    from pydantic_core import CoreSchema

Value = TypeVar("Value")

_UNITS = {"": 1, "b": 1, "kb": 1 << 10, "mb": 1 << 20, "gb": 1 << 30}
_SIZE = re.compile(r"\A\s*+(\d++(?:\.\d++)?)\s*+([a-z]*+)\s*+", re.IGNORECASE | re.ASCII)


# Headers that say how a message travels on one connection (RFC 9110 7.6.1, 8.6 and 10.1.1, RFC 9112 6 and 7): with a value
# of somebody else's, no server can read the request.
_FRAMING_HEADERS = frozenset({
    "connection", "content-encoding", "content-length", "expect", "keep-alive", "proxy-connection", "te", "trailer",
    "transfer-encoding", "upgrade",
})  # fmt: skip


def is_framing_header(name: str) -> bool:
    """Return True if a header belongs to the connection, so that a configuration may not set it."""
    return name.strip().lower() in _FRAMING_HEADERS


# Configures pydantic for these classes: camelCase keys, unknown keys refused, no coercion ("5" is not a number).
STRICT: Mapping[str, Any] = {"alias_generator": to_camel, "extra": "forbid", "strict": True, "allow_inf_nan": False}


FORMER = "no longer a setting: the former default always holds; remove it"


class InvalidField(ValueError):
    """A setting contradicts another one, or its text cannot be read.

    Attributes:
        name: The attribute's name.
        beside: The name of the other attribute; "" if the text alone is wrong.
    """

    def __init__(self, name: str, message: str, *, beside: str = "") -> None:
        super().__init__(message)
        self.name = name
        self.beside = beside


class Section:
    """Base of all sections: tells pydantic how to read them, and which keys are left out.

    `__ignored_keys__` mean nothing here; each is left out with a warning, which ends with its hint. With `FORMER` for a hint
    it was a setting once; one warning names all that are left out.
    """

    __slots__ = ()
    __pydantic_config__: ClassVar[Mapping[str, Any]] = STRICT
    __ignored_keys__: ClassVar[Mapping[str, str]] = {}


WITHOUT_NUL = r"^[^\x00]*$"  # no file system takes that character in a path
A_PATH: Mapping[str, Any] = {"min_length": 1, "pattern": WITHOUT_NUL}  # the bounds of one


def about(meaning: str, **bounds: float | str) -> dict[str, Any]:
    """Return the metadata of one setting.

    Args:
        meaning: One sentence for the table of settings and the JSON Schema, with the unit and the meaning of 0.
        bounds: ge, gt, le, lt, min_length, max_length or pattern, as `pydantic.Field` names them.
    """
    return {"description": meaning, **bounds}


def setting(default: Value, meaning: str, *, repr: bool = True, **bounds: float | str) -> Value:  # noqa: A002  # as in dataclasses
    """Return the field of a setting with a default; see `about`, and `dataclasses.field` for `repr`."""
    made: Any = field(default=default, repr=repr, metadata=about(meaning, **bounds))
    return cast("Value", made)


def parse_size_bytes(size: int | str) -> int:
    """Return a number of bytes, given as a number or as "500kb", "2mb" or "1.5 GB" (1 kb is 1024 bytes).

    Raises:
        ValueError: It is not a size, or negative.
    """
    found = _SIZE.fullmatch(str(size))
    factor = _UNITS.get(found[2].lower()) if found else None
    if found is None or factor is None:
        raise ValueError('expected a number of bytes, or a size such as "500kb" or "2mb"')
    return int(float(found[1]) * factor)


def check_size(section: object, name: str) -> None:
    """Check a setting of a section that is a size, for its `__post_init__`.

    Raises:
        InvalidField: It is none.
    """
    try:
        parse_size_bytes(getattr(section, name))
    except ValueError as error:
        raise InvalidField(name, str(error)) from error


class Secret:
    """A key or header value that never shows in a repr, a log or an error; `reveal()` gives it."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        """Return the value itself, for the request that needs it."""
        return self._value

    def __repr__(self) -> str:
        return "Secret(***)"

    __str__ = __repr__

    def __bool__(self) -> bool:
        return bool(self._value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._value == self._value

    def __hash__(self) -> int:
        return hash(self._value)

    def __reduce__(self) -> NoReturn:
        raise TypeError("a Secret is not pickled")

    @classmethod
    def __get_pydantic_core_schema__(cls, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        from pydantic_core import core_schema

        return core_schema.no_info_after_validator_function(
            cls, core_schema.str_schema(), serialization=core_schema.plain_serializer_function_ser_schema(repr)
        )
