"""Validation of sections with pydantic; it reports problems in the words and keys of the document."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import MISSING, fields, is_dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING, Any, TypeVar, get_args, get_type_hints

from memory_core.as_json import to_camel
from memory_core.config.documents import KeyPath, Node, annotate, find, join_key, name_type, remove, to_plain
from memory_core.config.fields import FORMER, WITHOUT_NUL, InvalidField
from memory_core.config.settings import ExtraPath
from memory_core.errors import ConfigError, ConfigProblem

if TYPE_CHECKING:
    from pydantic import TypeAdapter
    from pydantic_core import ErrorDetails

_EXPECTED = {
    "bool_type": "true or false",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "finite_number": "a finite number",
    "string_type": "a string",
    "string_too_short": "a string that is not empty",
    "tuple_type": "a list",
    "list_type": "a list",
    "dataclass_type": "an object",
    "model_type": "an object",
    "model_attributes_type": "an object",
    "dict_type": "an object",
    "mapping_type": "an object",
}
_BOUNDS = {
    "greater_than": ("gt", "more than"),
    "greater_than_equal": ("ge", "at least"),
    "less_than": ("lt", "less than"),
    "less_than_equal": ("le", "at most"),
}
# Providers of embeddings in OpenClaw that have no name of their own here, and what serves in their place.
PROVIDERS: Mapping[str, str] = {
    "bedrock": 'it is "litellm" here, with the model "bedrock/<model>"',
    "deepinfra": 'it is "openai-compatible" here, with remote.baseUrl "https://api.deepinfra.com/v1/openai"',
    "github-copilot": "nothing here speaks to it",
    "google": 'it is "gemini" here',
    "lmstudio": 'it is "openai-compatible" here, with remote.baseUrl "http://127.0.0.1:1234/v1"',
}
OWN_PROVIDER = 'a provider of models.providers is "openai-compatible" or "ollama" here, with its URL in remote.baseUrl'
DEEPEST = 6  # levels below a section in which a misplaced key is looked for
HOLDS_NUL = "holds a NUL character"
_UNKNOWN = {"unexpected_keyword_argument", "extra_forbidden"}
_LISTED = "[]"  # in the path of a key

Model = TypeVar("Model")

_ADAPTERS: dict[type[Any], TypeAdapter[Any]] = {}


def get_adapter(model: type[Any]) -> TypeAdapter[Any]:
    """Return the validator of a model, built once; imports pydantic."""
    if model not in _ADAPTERS:
        from pydantic import TypeAdapter

        _ADAPTERS[model] = TypeAdapter(model)
    return _ADAPTERS[model]


def validate(
    model: type[Model], node: Node, problems: list[ConfigProblem], warnings: list[str] | None = None
) -> Model | None:
    """Make an instance of a model from an annotated object; None after adding its errors to `problems`.

    Keys that the model ignores are left out, with a warning. pydantic is imported only if more is given than `_take_plain` takes.
    A section checks its values against each other after it has read all of them, so it is read again without those that are
    wrong. A contradiction is no problem if one side of it was wrong itself.
    """
    ignored, former = list[str](), list[str]()
    node = leave_out_ignored(model, node, ignored, former)
    if former:
        ignored.append(f"{', '.join(former)}: {FORMER}")
    if warnings is not None:
        warnings += ignored
    if (chosen := _take_plain(model, node)) is not None:
        return chosen
    from pydantic import ValidationError

    wrong: set[KeyPath] = set()
    while True:
        try:
            section: Model = get_adapter(model).validate_json(json.dumps(to_plain(reduce(remove, wrong, node))))
        except ValidationError as error:
            errors = error.errors(include_url=False)
        else:
            return None if wrong else section
        fresh = [error for error in errors if _find_member(node, error) not in wrong and not _contradicts(error, wrong)]
        problems.extend(_explain(model, node, fresh))
        found = {_find_member(node, error) for error in fresh}
        if not found or () in found:
            return None
        wrong |= found


def _take_plain(model: type[Model], node: Node) -> Model | None:
    """Make an instance of which nothing is given but switches, words of a choice, and sections of these; else None.

    A command that reads no file, or what `install --capture` writes, need not import pydantic then, which takes a third of a
    hook's time.
    """
    if not is_dataclass(model) or not isinstance(node.content, dict):
        return None
    if any(item.default is MISSING and item.default_factory is MISSING for item in fields(model)):
        return None
    hints = get_type_hints(model, include_extras=True) if node.content else {}
    kinds = {to_camel(name): (name, kind) for name, kind in hints.items()}
    given: dict[str, Any] = {}
    for key, child in node.content.items():
        name, kind = kinds.get(key, ("", None))
        is_choice = isinstance(child.content, str) and child.content in get_args(kind)
        is_switch = kind is bool and isinstance(child.content, bool)
        given[name] = child.content if is_choice or is_switch else _take_plain(kind or object, child)
        if given[name] is None:
            return None
    try:
        return model(**given)
    except ValueError:  # they contradict each other, which pydantic tells
        return None


def leave_out_ignored(model: type[Any], node: Node, ignored: list[str], former: list[str]) -> Node:
    """Return a section without what its class ignores.

    Args:
        model: The class.
        node: The section.
        ignored: Takes a warning for each key of OpenClaw's that is left out.
        former: Takes the keys that once were settings of ours.
    """
    if not isinstance(node.content, dict) or not is_dataclass(model):
        return node
    hints: Mapping[str, str] = getattr(model, "__ignored_keys__", {})
    sections, content = dict(list_sections(model)), dict[str, Node]()
    for name, child in node.content.items():
        if hints.get(name) == FORMER:
            former.append(child.key)
        elif name in hints:
            ignored.append(f"{child.key}: a setting of OpenClaw that means nothing here; it is left out{hints[name]}")
        else:
            content[name] = leave_out_ignored(sections[name], child, ignored, former) if name in sections else child
    return replace(node, content=content)


def list_sections(model: type[Any]) -> Iterator[tuple[str, type[Any]]]:
    """Yield the sections within a section: the key of each, and its class."""
    for item in fields(model):
        made_by: object = item.default_factory
        if isinstance(made_by, type) and is_dataclass(made_by):
            yield to_camel(item.name), made_by


def _find_place(error: ErrorDetails) -> KeyPath:
    """Return the path to which an error belongs; a part that leads nowhere is a missing key, or one arm of a union."""
    cause = error.get("ctx", {}).get("error")
    return (*error["loc"], to_camel(cause.name)) if isinstance(cause, InvalidField) else error["loc"]


def _find_member(node: Node, error: ErrorDetails) -> KeyPath:
    """Return the path of the key that is wrong, up to the first list; () if the section itself is."""
    path: KeyPath = ()
    for part in _find_place(error):
        if not isinstance(part, str) or find(node, (*path, part))[1]:
            break
        path = (*path, part)
    return path


def _contradicts(error: ErrorDetails, wrong: Collection[KeyPath]) -> bool:
    """Return True if a value merely contradicts another one that is wrong itself."""
    cause = error.get("ctx", {}).get("error")
    beside = cause.beside if isinstance(cause, InvalidField) else ""
    return bool(beside) and (*error["loc"], to_camel(beside)) in wrong


def validate_section(
    name: str,
    raw: Mapping[str, Any],
    model: type[Model],
    *,
    origin: str = "configuration",
    warnings: list[str] | None = None,
) -> Model:
    """Validate `memory.<name>` with the model that the backend's plugin supplies.

    Args:
        name: The backend's name.
        raw: The section as `AgentConfig.backend_sections` has it; {} gives the model's defaults.
        model: A dataclass (give it `settings.STRICT` as `__pydantic_config__`) or a pydantic model.
        origin: The place that the error names: a file, usually `Config.origin`.
        warnings: Gets a sentence about each key that the model's `__ignored_keys__` names.

    Raises:
        ConfigError: Carries all problems, each under its full dotted key.
    """
    problems: list[ConfigProblem] = []
    section = validate(model, annotate(raw, f"memory.{name}", "file", problems), problems, warnings)
    if problems or section is None:
        raise ConfigError(problems, origin=origin, action=f"Correct the section memory.{name}.")
    return section


def _explain(model: type[Any], node: Node, errors: list[ErrorDetails]) -> Iterator[ConfigProblem]:
    """Yield one problem for each wrong key, in the order in which pydantic met them. No string value is quoted."""
    by_key: dict[str, list[ErrorDetails]] = {}
    for error in errors:
        place, rest = find(node, _find_place(error))
        key = join_key(place.key, rest[0]) if rest and error["type"] == "missing" else place.key
        by_key.setdefault(key, []).append(error)
    for key, found in by_key.items():
        yield ConfigProblem(key, _explain_errors(model, found))


def _explain_errors(model: type[Any], errors: list[ErrorDetails]) -> str:
    error = errors[0]
    kind, given, facts = error["type"], error["input"], error.get("ctx", {})
    if all(each["type"] in _EXPECTED for each in errors):
        return f"expected {' or '.join(_name_expected(each) for each in errors)}, not {name_type(given)}"
    if kind in _BOUNDS:
        bound, words = _BOUNDS[kind]
        return f"expected {words} {facts[bound]:.15g}, not {given:.15g}"
    if kind in _UNKNOWN:
        return _explain_unknown(model, error["loc"])
    if kind == "literal_error":
        return _explain_choice(facts["expected"], given)
    if facts.get("pattern") == WITHOUT_NUL:
        return HOLDS_NUL
    return {"missing": "is required", "value_error": str(facts.get("error"))}.get(kind, error["msg"])


def _name_expected(error: ErrorDetails) -> str:
    # The one object that may also be written as a string, which is made an object before it comes here.
    either = error.get("ctx", {}).get("class_name") == ExtraPath.__name__
    return f"a string or {_EXPECTED[error['type']]}" if either else _EXPECTED[error["type"]]


def _explain_choice(expected: str, given: object) -> str:
    choices = re.findall(r"'([^']*)'", expected)
    text = f"expected one of {_quote(choices)}"
    if not isinstance(given, str):
        return f"{text}, not {name_type(given)}"
    meant = _suggest(given, choices, likeness=0.75)  # of a few values a far one is a guess
    if "openai-compatible" in choices:
        foreign = PROVIDERS.get(given.strip().lower(), "" if meant else OWN_PROVIDER)
        meant = f"; {foreign}" if foreign else meant
    return text + meant


def _explain_unknown(model: type[Any], path: KeyPath) -> str:
    *above, name = (_LISTED if isinstance(part, int) else part for part in path)
    schema = get_adapter(model).json_schema()
    ways = [*_walk_keys(schema, schema)]
    known = [way[-1] for way in ways if [*way[:-1]] == above]
    alike = (way for way in ways if _LISTED not in way and _normalize(way[-1]) == _normalize(name))
    return explain_unknown_key(name, known, [".".join(way) for way in alike])


def explain_unknown_key(name: str, known: Collection[str], elsewhere: Collection[str] = ()) -> str:
    """Return the message for an unknown key: the known one that it resembles, or its right place, or all known ones."""
    meant = _suggest(name, known)
    if not meant and elsewhere:
        meant = f"; did you mean {_quote(elsewhere)}?"
    return f"unknown key{meant or f'; expected one of {_quote(known)}'}"


def _suggest(name: str, known: Collection[str], *, likeness: float = 0.6) -> str:
    meant = find_similar(name, known, likeness=likeness)
    return f'; did you mean "{meant}"?' if meant else ""


def find_similar(name: str, known: Collection[str], *, likeness: float) -> str:
    """Return the known key that a name resembles most, whatever its case and hyphens; "" if none is as like as asked."""
    from difflib import get_close_matches

    spelled = {_normalize(key): key for key in known}
    close = get_close_matches(_normalize(name), list(spelled), 1, likeness)
    return spelled[close[0]] if close else ""


def _normalize(name: str) -> str:
    return name.lower().replace("_", "").replace("-", "")


def _quote(names: Collection[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)


def _walk_keys(
    schema: Mapping[str, Any], here: Mapping[str, Any], way: tuple[str, ...] = ()
) -> Iterator[tuple[str, ...]]:
    """Yield the path of every key that a JSON Schema knows; `_LISTED` stands in it for the items of a list."""
    for choice in here.get("anyOf", ()):
        here = choice if "$ref" in choice else here
    here = schema["$defs"][here["$ref"].rpartition("/")[2]] if "$ref" in here else here
    for name, child in here.get("properties", {}).items():
        yield (*way, name)
        if len(way) < DEEPEST:  # a plugin's model may refer to itself
            yield from _walk_keys(schema, child, (*way, name))
    if "items" in here and len(way) < DEEPEST:
        yield from _walk_keys(schema, here["items"], (*way, _LISTED))
