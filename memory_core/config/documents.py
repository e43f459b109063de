"""Read a configuration file: JSON5, or TOML by its suffix, with errors that name line and column."""

from __future__ import annotations

import errno
import os
import re
import select
import stat
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from memory_core.atomic import BINARY, CLOEXEC, NONBLOCK
from memory_core.errors import ConfigError, ConfigProblem

MAX_BYTES = 4 * 1024 * 1024  # a configuration of a hundred agents is 100 KB
PIPE_SECONDS = 5.0


def read_file(path: Path) -> Mapping[str, Any]:
    """Return the document in a file.

    Raises:
        ConfigError: The file cannot be read, is not UTF-8, has a syntax error, or does not hold an object.
    """
    problem, action = "", "Check the path given for the configuration."
    try:
        text = _read_bytes(path).decode("utf-8-sig")
    except ConfigError:
        raise
    except FileNotFoundError:
        problem = "the file does not exist"
    except UnicodeDecodeError as error:
        problem, action = f"is not UTF-8 text (byte {error.start})", "Save the file as UTF-8."
    except OSError as error:
        problem = f"cannot be read: {error.strerror or type(error).__name__}"
    if problem:
        raise ConfigError([ConfigProblem("", problem)], origin=str(path), action=action)
    document, problem = parse_toml(text) if is_toml(path) else _parse_document(text)
    if problem and not text.strip():
        problem = "is empty; {} is a configuration without settings"
    elif problem and path.suffix.lower() in (".yaml", ".yml"):
        problem = "is YAML; write it as JSON5, or as TOML in a file that ends with .toml"
    if not problem and not isinstance(document, Mapping):
        problem = "expected an object at the top"
    if problem:
        # Raised here, outside any handler: the parser's own errors carry the values read so far, keys included.
        raise ConfigError([ConfigProblem("", problem)], origin=str(path), action="Correct the file's syntax.")
    return document  # type: ignore[no-any-return]  # narrowed above


def _read_bytes(path: Path) -> bytes:
    """Read a regular file, or a pipe that a shell made for this process, such as `<(command)`.

    A named pipe or a device is refused before it is opened: it may never end, or never begin.

    Raises:
        ConfigError: It is neither, or too long, or the pipe does not end in time.
        OSError: It cannot be read.
    """
    kind = path.stat().st_mode
    pipe = stat.S_ISFIFO(kind) and _is_own(path)
    if stat.S_ISDIR(kind):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(kind) and not pipe:
        raise _refuse(path, "is no regular file", "Give a file, or a command as <(command).")
    descriptor = os.open(path, os.O_RDONLY | NONBLOCK | CLOEXEC | BINARY)
    try:
        return _read_to_end(descriptor, path)
    finally:
        os.close(descriptor)


def _is_own(path: Path) -> bool:
    """Return True for the name of a descriptor of this process."""
    return str(path) == "/dev/stdin" or str(path.parent) in ("/dev/fd", "/proc/self/fd")


def _read_to_end(descriptor: int, path: Path) -> bytes:
    until = time.monotonic() + PIPE_SECONDS
    data = bytearray()
    while True:
        try:
            part = os.read(descriptor, MAX_BYTES)
        except BlockingIOError:
            left = until - time.monotonic()
            if left <= 0:
                told = f"did not end within {PIPE_SECONDS:g} s"
                raise _refuse(path, told, "Write the configuration to a file first.") from None
            select.select([descriptor], [], [], left)
            continue
        data += part
        if not part:
            return bytes(data)
        if len(data) > MAX_BYTES:
            raise _refuse(path, f"is larger than {MAX_BYTES:,} bytes", "Check the path given for the configuration.")


def _refuse(path: Path, problem: str, action: str) -> ConfigError:
    return ConfigError([ConfigProblem("", problem)], origin=str(path), action=action)


def is_toml(path: Path) -> bool:
    """Return True if a file is read as TOML; all others are read as JSON5, which includes JSON."""
    return path.suffix.lower() == ".toml"


def parse_toml(text: str) -> tuple[Any, str]:
    """Return what TOML says, and "", or None and what is wrong where, which quotes no values."""
    import tomllib

    try:
        return tomllib.loads(text), ""
    except tomllib.TOMLDecodeError as error:
        message = str(error)
    except RecursionError:
        message = "nested too deeply"
    found = re.search(r" \((?:at )?(?:line (\d+), column (\d+)|end of document)\)$", message)
    if found is None:
        return None, f"is not TOML: {message}"
    line, column = (found[1], found[2]) if found[1] else locate(text, len(text))
    return None, f"line {line}, column {column}: {message[: found.start()]}"


# A document that begins with a key: somebody pasted what stands between the outer braces.
_MEMBER = re.compile(r"""\A(?:\s++|//[^\n]*+\n|/\*.*?\*/)*+(?:[\w$]++|"[^"\n]*+"|'[^'\n]*+')\s*+:""", re.DOTALL)


def _parse_document(text: str) -> tuple[Any, str]:
    """Parse a document, which may lack its outer braces."""
    bare = bool(_MEMBER.match(text))
    return _parse_members(text) if bare else parse_json5(text)


def _parse_members(text: str) -> tuple[Any, str]:
    document, problem = parse_json5(text, before="{", behind="\n}")
    return document, f"{problem} (read as if {{ }} stood around it)" if problem else ""


def parse_json5(text: str, *, before: str = "", behind: str = "") -> tuple[Any, str]:
    """Return what JSON5 says, and "", or None and what is wrong where, which quotes no values."""
    import pyjson5

    try:
        return pyjson5.decode(before + text + behind), ""
    except pyjson5.Json5DecoderException as error:
        message, found = str(error.args[0]), error.args[-1]
    offset = _find_offset(before + text + behind, message, found) - len(before)
    line, column = locate(text, min(max(offset, 0), len(text)))
    return None, f"line {line}, column {column}: {_clean_message(message)}"


def _find_offset(text: str, message: str, found: str | None) -> int:
    """Return the offset of a JSON5 error: pyjson5 tells where the value around it began, give or take one, and what it met."""
    near = re.search(r" near (\d+)", message)
    start = int(near[1]) if near else 0
    met = text.find(found, max(0, start - 2)) if found else -1
    return met if met >= 0 else min(max(0, start - 1), len(text))


def locate(text: str, offset: int) -> tuple[int, int]:
    """Return line and column of an offset, both counted from 1."""
    before = text[:offset]
    return before.count("\n") + 1, offset - (before.rfind("\n") + 1) + 1


def _clean_message(message: str) -> str:
    message = re.sub(r" (?:starting )?near \d+", "", message)
    message = re.sub(r"b'(\w+)'", r"\1", message).replace("JSON5Value", "a value")
    message = re.sub(r"U\+([0-9a-f]+)", lambda code: f'"{chr(int(code[1], 16))}"', message)
    return message[:1].lower() + message[1:]
