"""Documents: a configuration file is read as JSON5, or as TOML by its suffix, with errors that name line and column.

`{$include: "./agents.json5"}` in JSON5 stands for what that file holds, as in OpenClaw: https://docs.openclaw.ai/gateway/configuration.

Their values become nodes, which remember where they were written. Documents of every dialect, the environment and flags are read
into one normal form, a layer, with these parts where anything is given:

    slot                    `plugins.slots.memory`
    memory                  `memory` without `search` and the sections of backends
    backends.<name>         `memory.<backend name>`
    providers.<name>        `models.providers.<name>`, our keys only
    agents.<id>             of the id "" for every agent, each with `workspace`, `search` and `compaction`
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from typing import Any, Literal

from memory_core.errors import ConfigError, ConfigProblem

MAX_BYTES = 4 * 1024 * 1024  # a configuration of a hundred agents is 100 KB
PIPE_SECONDS = 5.0


INCLUDE = "$include"
MAX_INCLUDED = 100  # files that one document includes


def read_file(path: Path, included: list[Path] | None = None) -> Mapping[str, Any]:
    """Return the document in a file, with what it includes.

    Args:
        path: The file.
        included: Takes the files that are included.

    Raises:
        ConfigError: A file cannot be read, is not UTF-8, has a syntax error, or does not hold an object; or it includes itself,
            or a file outside its folder.
    """
    document = _read_one(path)
    if is_toml(path):
        return document
    whole = _include(document, path, (path,), [] if included is None else included)
    if not isinstance(whole, Mapping):
        raise _refuse(path, f"{INCLUDE}: expected an object at the top", "Correct the included file.")
    return whole


def _include(value: Any, file: Path, chain: tuple[Path, ...], included: list[Path]) -> Any:
    """Return a value with all inclusions replaced. Values beside one go before what it holds; lists add up, as in OpenClaw.

    Args:
        value: From a document.
        file: The file in which the value stands.
        chain: The files that include each other, from the document's own to this one.
        included: Takes the files.
    """
    if isinstance(value, list):
        return [_include(each, file, chain, included) for each in value]
    if not isinstance(value, Mapping):
        return value
    own: Any = {name: _include(each, file, chain, included) for name, each in value.items() if name != INCLUDE}
    if INCLUDE not in value:
        return own
    names = value[INCLUDE] if isinstance(value[INCLUDE], list) else [value[INCLUDE]]
    whole: Any = {}
    for name in names:
        if not isinstance(name, str) or "\0" in name:
            raise _refuse(file, f"{INCLUDE}: expected a path, or a list of paths", "Name a file beside this one.")
        path, folder = Path(os.path.abspath(file.parent / name)), os.path.realpath(chain[0].parent)  # noqa: PTH100
        if Path(folder) not in Path(os.path.realpath(path)).parents:
            raise _refuse(file, f"{INCLUDE}: {name} is outside {chain[0].parent}", "Move it into that folder.")
        if path in chain or len(included) >= MAX_INCLUDED:
            problem = "includes itself" if path in chain else f"more than {MAX_INCLUDED} files are included"
            raise _refuse(file, f"{INCLUDE}: {name}: {problem}", f"Take out an {INCLUDE}.")
        included.append(path)
        part = _include(_read_one(path), path, (*chain, path), included)
        whole = _merge_plain(whole, part)
    return _merge_plain(whole, own) if own else whole


def _merge_plain(base: Any, over: Any) -> Any:
    if isinstance(base, Mapping) and isinstance(over, Mapping):
        both = {name: _merge_plain(base[name], value) if name in base else value for name, value in over.items()}
        return {**base, **both}
    return [*base, *over] if isinstance(base, list) and isinstance(over, list) else over


def _read_one(path: Path) -> Mapping[str, Any]:
    problem, action = "", "Check the path given for the configuration."
    try:
        text = _read_bytes(path).decode("utf-8-sig")
    except FileNotFoundError:
        problem = "the file does not exist"
    except UnicodeDecodeError as error:
        problem, action = f"is not UTF-8 text (byte {error.start})", "Save the file as UTF-8."
    except OSError as error:
        problem = f"cannot be read: {error.strerror or type(error).__name__}"
    if problem:
        raise _refuse(path, problem, action)
    document, problem = parse_toml(text) if is_toml(path) else _parse_document(text)
    if problem and not text.strip():
        problem = "is empty; {} is a configuration without settings"
    elif problem and path.suffix.lower() in (".yaml", ".yml"):
        problem = "is YAML; write it as JSON5, or as TOML in a file that ends with .toml"
    if not problem and not isinstance(document, Mapping):
        problem = "expected an object at the top"
    if problem:
        # Raised here, outside any handler: the parser's own errors carry the values read so far, keys included.
        raise _refuse(path, problem, "Correct the file's syntax.")
    return document  # type: ignore[no-any-return]  # narrowed above


def _read_bytes(path: Path) -> bytes:
    """Read a regular file, or a pipe that a shell made for this process, such as `<(command)`.

    A named pipe or a device is refused before it is opened: it may never end, or never begin.

    Raises:
        ConfigError: It is neither, or too long, or the pipe does not end in time.
        OSError: It cannot be read.
    """

    def read() -> bytes:
        with path.open("rb") as file:
            return file.read(MAX_BYTES + 1)

    kind = path.stat().st_mode
    is_own = str(path) == "/dev/stdin" or str(path.parent) in ("/dev/fd", "/proc/self/fd")  # of this process
    if stat.S_ISDIR(kind):
        raise _refuse(path, "is a folder", "Name a file; a folder of notes is named as the workspace.")
    if stat.S_ISREG(kind):
        data = read()
    elif stat.S_ISFIFO(kind) and is_own:
        from memory_core.threads import NoAnswer, start_call, wait_for

        try:
            data = wait_for(start_call(read, name="memory-core-config"), PIPE_SECONDS)
        except NoAnswer:
            told = f"did not end within {PIPE_SECONDS:g} s"
            raise _refuse(path, told, "Write the configuration to a file first.") from None
    else:
        raise _refuse(path, "is no regular file", "Give a file, or a command as <(command).")
    if len(data) > MAX_BYTES:
        raise _refuse(path, f"is larger than {MAX_BYTES:,} bytes", "Check the path given for the configuration.")
    return data


def _refuse(path: Path, problem: str, action: str) -> ConfigError:
    return ConfigError(problem, origin=str(path), action=action)


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
    if not _MEMBER.match(text):
        return parse_json5(text)
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


def _find_offset(text: str, message: str, found: str | bytes | None) -> int:
    """Return the offset of a JSON5 error.

    pyjson5 tells where the value around it began, give or take one, and what it met, of a stray comma or slash its name as bytes.
    """
    near = re.search(r" near (\d+)", message)
    start = int(near[1]) if near else 0
    met = text.find(found, max(0, start - 2)) if isinstance(found, str) else -1
    return met if met >= 0 else min(max(0, start - 1), len(text))


def locate(text: str, offset: int) -> tuple[int, int]:
    """Return line and column of an offset, both counted from 1."""
    before = text[:offset]
    return before.count("\n") + 1, offset - (before.rfind("\n") + 1) + 1


def _clean_message(message: str) -> str:
    message = re.sub(r" (?:starting )?near \d+", "", message)
    message = re.sub(r"b'(\w+)'", r"\1", message).replace("JSON5Value", "a value")
    message = re.sub(r"U\+([0-9A-Fa-f]+)", lambda code: f'"{chr(int(code[1], 16))}"', message)
    return message[:1].lower() + message[1:]


Origin = Literal["default", "dialect", "file", "environment", "flag"]  # "dialect": a default that the dialect changes
KeyPath = tuple[str | int, ...]

ADD_UP = "extraPaths"  # a later layer extends this list, and replaces all others

_WORDS: dict[Any, str] = {
    type(None): "null",
    bool: "a boolean",
    (int, float): "a number",
    str: "a string",
    Mapping: "an object",
    (list, tuple): "a list",
}


@dataclass(frozen=True, slots=True)
class Node:
    """One value of a document, of the environment or of a flag.

    Attributes:
        content: Nodes by key, a list of nodes, or a string, number, boolean or None.
        key: Where it was written: the dotted key as the document spells it, or the name of an environment variable.
        origin: What kind of place that is.
    """

    content: dict[str, Node] | list[Node] | str | float | None
    key: str
    origin: Origin


def join_key(key: str, part: str | int) -> str:
    """Join a dotted key and its next part: `agents.list` and 1 make `agents.list[1]`."""
    if isinstance(part, int):
        return f"{key}[{part}]"
    return f"{key}.{part}" if key else part


def annotate(raw: object, key: str, origin: Origin, problems: list[ConfigProblem]) -> Node:
    """Turn plain values into nodes; a value that JSON cannot hold becomes None and a problem.

    A number without a fraction becomes an int, as in JSON Schema: a host that went through JavaScript writes 6.0 for 6.
    """
    if isinstance(raw, Mapping):
        return Node({str(k): annotate(v, join_key(key, str(k)), origin, problems) for k, v in raw.items()}, key, origin)
    if isinstance(raw, Sequence) and not isinstance(raw, str | bytes | bytearray):
        return Node([annotate(v, join_key(key, i), origin, problems) for i, v in enumerate(raw)], key, origin)
    return Node(_to_scalar(raw, key, problems), key, origin)


def _to_scalar(raw: object, key: str, problems: list[ConfigProblem]) -> str | float | None:
    if isinstance(raw, PurePath):
        return str(raw)
    if isinstance(raw, str):
        if raw.isascii() or raw.encode("utf-8", "replace").decode("utf-8") == raw:
            return raw
        problems.append(ConfigProblem(key, "holds characters that are not Unicode text"))
        return None
    if isinstance(raw, float) and raw.is_integer():
        return int(raw)
    if raw is None or isinstance(raw, int | float):
        return raw
    problems.append(ConfigProblem(key, f"expected a value that JSON can hold, not {name_type(raw)}"))
    return None


def get_mapping(raw: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Return the object under a key; {} where there is none."""
    value = raw.get(name)
    return value if isinstance(value, Mapping) else {}


def get_rows(raw: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    """Return the objects in the list under a key; none where there is no list."""
    value = raw.get(name)
    return [each for each in value if isinstance(each, Mapping)] if isinstance(value, list) else []


def name_type(value: object) -> str:
    """Return a value's type in the words of a document; never its content, which may be a key."""
    if value == "":
        return "an empty string"
    return next((words for kind, words in _WORDS.items() if isinstance(value, kind)), f"a {type(value).__name__}")


def to_plain(node: Node) -> Any:
    """Return the values alone, as `json` makes them."""
    if isinstance(node.content, dict):
        return {name: to_plain(child) for name, child in node.content.items()}
    if isinstance(node.content, list):
        return [to_plain(child) for child in node.content]
    return node.content


def merge(base: Node, over: Node, name: str = "") -> Node:
    """Lay one node over another: objects merge, everything else replaces, except that `extraPaths` add up."""
    if isinstance(base.content, dict) and isinstance(over.content, dict):
        if not over.content:
            return base
        both = {
            key: merge(base.content[key], child, key) if key in base.content else child
            for key, child in over.content.items()
        }
        return replace(over, content={**base.content, **both})
    if name == ADD_UP and isinstance(base.content, list) and isinstance(over.content, list):
        return replace(over, content=[*base.content, *over.content])
    return over


def find_clashes(one: Node, other: Node) -> Iterator[tuple[Node, Node]]:
    """Yield pairs of values that both nodes give for the same key."""
    if isinstance(one.content, dict) and isinstance(other.content, dict):
        for key in one.content.keys() & other.content.keys():
            yield from find_clashes(one.content[key], other.content[key])
    else:
        yield one, other


def find(node: Node, path: KeyPath) -> tuple[Node, KeyPath]:
    """Follow a path as far as it goes; return the last node on it, and the parts that lead nowhere."""
    for step, part in enumerate(path):
        inner = node.content
        if isinstance(inner, dict) and str(part) in inner:
            node = inner[str(part)]
        elif isinstance(inner, list) and isinstance(part, int) and part < len(inner):
            node = inner[part]
        else:
            return node, path[step:]
    return node, ()


def change(node: Node, path: KeyPath, make: Callable[[Node], Node]) -> Node:
    """Return a tree with `make` applied to the node at a path; unchanged when there is no such node."""
    if not path:
        return make(node)
    head, rest = path[0], path[1:]
    if isinstance(node.content, dict) and isinstance(head, str) and head in node.content:
        return replace(node, content={**node.content, head: change(node.content[head], rest, make)})
    return node


def wrap_at(path: Sequence[str], node: Node) -> Node:
    """Wrap a node in objects, so that it lies at a path; they get the outer parts of its key as keys."""
    key = node.key
    for name in reversed(path):
        key = key.rpartition(".")[0] or key
        node = Node({name: node}, key, node.origin)
    return node


def remove(node: Node, path: KeyPath) -> Node:
    """Return a tree without the value at a path of keys; unchanged when there is no such value."""

    def drop(parent: Node) -> Node:
        inner = parent.content if isinstance(parent.content, dict) else {}
        kept = {name: child for name, child in inner.items() if name != path[-1]}
        return replace(parent, content=kept) if len(kept) < len(inner) else parent

    return change(node, path[:-1], drop)


def make_object(**parts: Node | None) -> Node:
    """Make an object of those parts that are given."""
    return Node({name: part for name, part in parts.items() if part}, "", "default")


def get_part(node: Node, *path: str) -> Node:
    """Return the node at a path; an empty object where there is none."""
    found, rest = find(node, path)
    return make_object() if rest else found
