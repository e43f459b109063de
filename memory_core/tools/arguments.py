"""Arguments that a model gives to a tool: their schemas from tools.toml, checks that say what is wrong, and citations as places.

Below them are the checks of what a host gives to a call.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple, get_args
from urllib.parse import unquote

from memory_core.config.agent import AgentConfig, normalize_agent_id
from memory_core.errors import InvalidArgument, PathRefused, expect
from memory_core.records import Access, CallContext
from memory_core.sources import pages
from memory_core.text.markdown import SUFFIXES, is_markdown

Schema = Mapping[str, Any]

SHOWN_CHARS = 40  # of a wrong value
# No count is as large. Python prints no integer of more than 4,300 digits, so that one could not be told in an answer.
FAR = 10**15


_DOCUMENT: dict[str, Any] = tomllib.loads(Path(__file__).with_name("tools.toml").read_text("utf-8"))
_SHARED: Schema = _DOCUMENT.pop("shared")


def resolve(part: Any) -> Any:
    """Return a part of tools.toml in which the shared parts stand in the place of their names."""
    if isinstance(part, Mapping):
        named = resolve(_SHARED[part["$ref"]]) if "$ref" in part else {}
        return named | {key: resolve(each) for key, each in part.items() if key != "$ref"}
    return [*map(resolve, part)] if isinstance(part, list) else part


def _read_tool(name: str) -> Schema:
    """Return a tool in the bare function form."""
    told = DESCRIBED[name]
    required = told.get("required", [])
    properties = {}
    for argument, schema in told["arguments"].items():
        properties[argument] = schema if argument in required else _make_optional(**schema)
    parameters = {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
    return {"name": name, "description": told["description"], "parameters": parameters}


def _make_optional(*, description: str, **schema: Any) -> Schema:
    return {"anyOf": [schema, {"type": "null"}], "description": description}


DESCRIBED: Mapping[str, Schema] = resolve(_DOCUMENT)
EVERY_RESULT: Schema = _SHARED["result"]
TOOLS: Mapping[str, Schema] = {name: _read_tool(name) for name in DESCRIBED}


def check_arguments(schema: Schema, arguments: object, *, name: str = "") -> Mapping[str, Any]:
    """Return the arguments if the schema allows them, without those that are null.

    Args:
        schema: A tool in the bare function form.
        arguments: As the model gave them.
        name: The tool's name as it was called; "" for the schema's own.

    Raises:
        InvalidArgument: Names the first wrong argument, and says of every wrong one what was expected.
    """
    if not isinstance(arguments, Mapping):
        raise InvalidArgument("arguments", f"expected an object, not {_describe_value(arguments)}")
    parameters = schema["parameters"]
    known, required = parameters["properties"], parameters["required"]
    given = {key: value for key, value in arguments.items() if value is not None or key in required or key not in known}
    tool = name or schema["name"]
    faults: dict[str, str] = {}
    for key in (key for key in required if given.get(key) is None):
        faults[key] = "is required" if key not in given else "is required; null is no value for it"
    for key in (key for key in given if key not in known):
        faults[f"{key!s:.80}"] = f"is not an argument of {tool}; known are {', '.join(known)}"
    for key in (key for key in given if key in known and key not in faults):
        plain = get_plain(known[key])
        if _is_far(given[key]) or not _fits(plain, given[key]):
            faults[key] = f"expected {_describe_schema(plain)}, not {_describe_fault(plain, given[key])}"
    if faults:
        (first, fault), *others = faults.items()
        raise InvalidArgument(first, "; ".join([fault, *(f"{key}: {told}" for key, told in others)]))
    return given


def get_plain(schema: Schema) -> Schema:
    """Return the schema of an argument that is given: an optional one without null."""
    return next((each for each in schema.get("anyOf", ()) if each.get("type") != "null"), schema)


def _fits(schema: Schema, value: object) -> bool:
    """Return True if a schema allows a value.

    Where it asks for a text and no more, jsonschema is not imported, which takes a tenth of a command's time.
    """
    if isinstance(value, str) and schema.keys() <= {"type", "minLength", "description"} and schema["type"] == "string":
        return len(value) >= int(schema.get("minLength", 0))
    from jsonschema import Draft202012Validator

    return bool(Draft202012Validator(schema).is_valid(value))


def _is_far(value: object) -> bool:
    return isinstance(value, int) and abs(value) > FAR


_TYPES = {"integer": "a whole number", "number": "a number", "string": "a string"}


def _describe_schema(schema: Schema) -> str:
    if "enum" in schema:
        return " or ".join(f'"{choice}"' for choice in schema["enum"])
    if schema["type"] == "array":
        size = f"{schema.get('minItems', 0)} to {schema['maxItems']} strings" if "maxItems" in schema else "strings"
        return f"a list of {size}, each {_describe_schema(schema['items'])}"
    words, low, high = _TYPES[schema["type"]], schema.get("minimum"), schema.get("maximum")
    if schema.get("minLength"):
        words += " that is not empty"
    if "maxLength" in schema:
        words += f", of at most {schema['maxLength']} characters"
    if low is None:
        return words
    return f"{words}, at least {low}" if high is None else f"{words} from {low} to {high}"


def _describe_fault(schema: Schema, value: object) -> str:
    """Describe a wrong value; of a list the first wrong item, or its length if that is wrong."""
    if schema["type"] != "array" or not isinstance(value, list | tuple):
        return _describe_value(value)
    told = (
        f"one whose item {n} is {_describe_value(item)}"
        for n, item in enumerate(value, 1)
        if not _fits(schema["items"], item)
    )
    return next(told, "") or f"a list of {len(value)}"


def _describe_value(value: object) -> str:
    """Describe a wrong value as JSON writes it; a long one is cut, and of a list or an object only the kind is told."""
    if isinstance(value, str):
        cut = value if len(value) <= SHOWN_CHARS else f"{value[:SHOWN_CHARS]}…"
        return f"the string {json.dumps(cut, ensure_ascii=False)}".encode("utf-8", "replace").decode()
    if isinstance(value, bool) or value is None:
        return json.dumps(value)
    if isinstance(value, int | float):
        return "a number far out of range" if _is_far(value) else repr(value)
    if isinstance(value, list | tuple):
        return "a list"
    return "an object" if isinstance(value, Mapping) else f"a {type(value).__name__}"


class Citation(NamedTuple):
    """A path as a tool was given it, with the lines that it cites.

    Attributes:
        path: Without its lines.
        first: The first line, from 1; None if the path cites none.
        lines: The number of lines; None likewise.
        as_of: The moment at which the note stood so; None for a citation of the present.
    """

    path: str
    first: int | None = None
    lines: int | None = None
    as_of: str | None = None


_SUFFIX = f"(?:{'|'.join(f'(?<={re.escape(suffix)})' for suffix in SUFFIXES)})"
# `path#L3-L9` and `path#L3` as citations have them, `path:L3-L9` as the command line prints them; behind a path to Markdown also
# `:3:1`, `, L3-L4` and ` (lines 3-4)`, as editors and models write: it ends with its suffix, so that no note is called so.
_CITED = re.compile(
    rf"""\A(?P<path>[^\n]+)(?:[:#]L|{_SUFFIX}[\s,;:?#(\[]{{1,4}}(?:lines?|L)?[\s=:]{{0,3}})(?P<first>[1-9]\d{{0,8}})(?:[:C]\d{{1,9}})?
    (?:\ ?[-\u2010-\u2015\u2212]\ ?L?(?P<last>\d{{1,9}})(?:[:C]\d{{1,9}})?)?[)\]:]?(?:\ \(as\ of\ (?P<at>[^)\n]+)\)?)?""",
    re.VERBOSE | re.IGNORECASE,
)
_NO_LINE = re.compile(rf"{_SUFFIX}[:#][^\s:#]+\Z", re.IGNORECASE)
# What people, models and programs put around a path: a link, quotes, brackets, a full stop, the sign of a mention, a scheme.
_WRAPPED = re.compile(
    r"""\A(?:\[[^\]\n]*\]\((?P<link>[^\n]+)\)|\[\[(?P<name>[^]|\#\n]+(?:\#L\d[\dL-]{0,20})?)(?:\#[^]|\n]*)?(?:\|[^]\n]*)?\]\]
    |["'`*“”„‘’«(\[<](?P<within>[^\n]+)["'`*“”‘’»)\]>]|(?P<sentence>[^\n]+[\w)\]>"'`])[.,;]
    |(?:Source:|@)\s{0,4}(?P<named>[^\n]+)|(?:file://(?=/)|memory:///)(?P<uri>[^\n]+))\Z""",
    re.VERBOSE,
)
_MOST_WRAPS = 8  # around one path
_HEADING = re.compile(rf"{_SUFFIX}#(?!L\d).*\Z", re.IGNORECASE | re.DOTALL)


def find_cited(config: AgentConfig, path: str) -> Citation:
    """Read what a caller gives as a path, as `read_citation`; a note that is called exactly so comes first.

    Raises:
        InvalidArgument: It cites no line that there can be.
    """
    with suppress(PathRefused):
        if pages.resolve(config, path) is not None:
            return Citation(path)
    return read_citation(path)


def read_citation(path: str) -> Citation:
    """Read a path, or a citation as memory_search gave it: `MEMORY.md#L3-L9` or `MEMORY.md#L3`; also as others write it.

    Raises:
        InvalidArgument: It cites no line that there can be.
    """
    path = path.strip()
    for _ in range(_MOST_WRAPS):
        if (wrapped := _WRAPPED.match(path)) is None:
            break
        path = unquote(wrapped["uri"]) if wrapped["uri"] else wrapped[str(wrapped.lastgroup)].strip()
    path = _HEADING.sub("", path)
    if is_markdown(path):
        return Citation(path)
    if (found := _CITED.fullmatch(path)) is None:
        if _NO_LINE.search(path):
            raise InvalidArgument("path", "lines count from 1", action="Name a line of the note: MEMORY.md#L3.")
        return Citation(path)
    first, last = int(found["first"]), int(found["last"] or found["first"])
    return Citation(found["path"], first, max(last - first + 1, 1), found["at"])


_OPTIONAL: Mapping[str, tuple[type, str]] = {
    **dict.fromkeys(("agent", "session_key", "chat_type", "channel"), (str, "a string")),
    "main": (bool, "True, False"),
    "now": (datetime, "a datetime"),
}


def check_context(context: CallContext | None, *, agent: str | None = None) -> CallContext:
    """Return the context of a call; None is the one of this machine's own user.

    Args:
        context: The context.
        agent: The id of the agent whose memory is called; None for a host that has not looked for it.

    Raises:
        InvalidArgument: It is no `CallContext`, an attribute of it is of a wrong type, or it names another agent.
    """
    if context is None:
        return CallContext()
    expect(isinstance(context, CallContext), "context", "a CallContext or None", context)
    for name, (kind, words) in _OPTIONAL.items():
        value = getattr(context, name)
        expect(value is None or isinstance(value, kind), name, f"{words} or None", value)
    check_choice("access", context.access, get_args(Access))
    check_choice("by", context.by, ("agent", "user"))
    if agent is not None and context.agent and normalize_agent_id(context.agent) != agent:
        raise InvalidArgument(
            "agent", f"this is the memory of {agent!r}, not of {context.agent!r}; a MemorySlot serves all agents"
        )
    return context


def check_turn(messages: object, complete: object) -> None:
    """Raise unless the arguments are the messages of a turn and a host's model.

    Raises:
        InvalidArgument: They are not; names the argument.
    """
    from memory_core.completions import check_complete

    is_list = isinstance(messages, Sequence) and not isinstance(messages, str | bytes)
    expect(is_list, "messages", "a list of messages", messages)
    check_complete(complete)


def check_messages(messages: Sequence[object]) -> None:
    """Raise unless all messages of a turn are objects.

    Raises:
        InvalidArgument: One is not; names it.
    """
    for number, message in enumerate(messages):
        if not isinstance(message, Mapping):
            raise InvalidArgument(f"messages[{number}]", "expected a message: {'role': 'user', 'content': ...}")


def check_choice(name: str, value: object, choices: tuple[str, ...]) -> None:
    """Raise unless an argument is one of some words.

    Raises:
        InvalidArgument: It is not; names the argument and the words.
    """
    if not isinstance(value, str) or value not in choices:
        raise InvalidArgument(name, f"expected one of {', '.join(choices)}")


def check_kind(name: str, value: object, kind: type) -> None:
    """Raise unless an argument is of a type.

    Raises:
        InvalidArgument: It is not; names the argument.
    """
    expect(isinstance(value, kind), name, kind.__name__, value)
