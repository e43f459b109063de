"""Read a configuration file: JSON5, or TOML by its suffix, with errors that name line and column."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from memory_core.errors import ConfigError, ConfigProblem


def read_file(path: Path) -> Mapping[str, Any]:
    """The document in a file.

    Raises:
        ConfigError: It cannot be read, is no UTF-8, has a syntax error, or holds no object.
    """
    problem, action = "", "Check the path given for the configuration."
    try:
        text = path.read_text("utf-8-sig")
    except FileNotFoundError:
        problem = "the file does not exist"
    except UnicodeDecodeError as error:
        problem, action = f"is no UTF-8 text (byte {error.start})", "Save the file as UTF-8."
    except OSError as error:
        problem = f"cannot be read: {error.strerror or type(error).__name__}"
    if problem:
        raise ConfigError([ConfigProblem("", problem)], origin=str(path), action=action)
    document, problem = _parse_toml(text) if is_toml(path) else _parse_json5(text)
    if not problem and not isinstance(document, Mapping):
        problem = "expected an object at the top"
    if problem:
        # Raised here, outside any handler: the parser's own errors carry the values read so far, keys included.
        raise ConfigError([ConfigProblem("", problem)], origin=str(path), action="Correct the file's syntax.")
    return document  # type: ignore[no-any-return]  # narrowed above


def is_toml(path: Path) -> bool:
    """Whether a file is read as TOML; everything else is JSON5, of which JSON is a part."""
    return path.suffix.lower() == ".toml"


def _parse_toml(text: str) -> tuple[Any, str]:
    import tomllib

    try:
        return tomllib.loads(text), ""
    except tomllib.TOMLDecodeError as error:
        message = str(error)
    except RecursionError:
        message = "nested too deeply"
    found = re.search(r" \((?:at )?(?:line (\d+), column (\d+)|end of document)\)$", message)
    if found is None:
        return None, f"is no TOML: {message}"
    line, column = (found[1], found[2]) if found[1] else position(text, len(text))
    return None, f"line {line}, column {column}: {message[: found.start()]}"


def _parse_json5(text: str) -> tuple[Any, str]:
    import pyjson5

    try:
        return pyjson5.decode(text), ""
    except pyjson5.Json5DecoderException as error:
        message, found = str(error.args[0]), error.args[-1]
    line, column = position(text, _offset(text, message, found))
    return None, f"line {line}, column {column}: {_readable(message)}"


def _offset(text: str, message: str, found: str | None) -> int:
    """Where a JSON5 error is: pyjson5 names where the value around it began, give or take one, and what it met."""
    near = re.search(r" near (\d+)", message)
    start = int(near[1]) if near else 0
    met = text.find(found, max(0, start - 2)) if found else -1
    return met if met >= 0 else min(max(0, start - 1), len(text))


def position(text: str, offset: int) -> tuple[int, int]:
    """Line and column of an offset, both from 1."""
    before = text[:offset]
    return before.count("\n") + 1, offset - (before.rfind("\n") + 1) + 1


def _readable(message: str) -> str:
    message = re.sub(r" (?:starting )?near \d+", "", message)
    message = re.sub(r"b'(\w+)'", r"\1", message)
    message = re.sub(r"U\+([0-9a-f]+)", lambda code: f'"{chr(int(code[1], 16))}"', message)
    return message[:1].lower() + message[1:]
