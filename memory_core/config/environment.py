"""The environment: the table of variables, `${NAME}` and secret references in keys, endpoints and headers, and `~`.

What a secret reference of OpenClaw means, `{source, provider, id}`: https://docs.openclaw.ai/gateway/secrets/secretref-contract
"""

from __future__ import annotations

import json
import os
import re
import shlex
import stat
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

from memory_core.config.documents import Node, get_mapping, make_object, to_plain
from memory_core.errors import ConfigError, ConfigProblem

# As in OpenClaw: `${NAME}`, `${NAME:-default}`, and `$${NAME}` for the text `${NAME}`; `$NAME` if nothing else is written.
_PLACEHOLDER = re.compile(r"(\$?)\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^${}]*))?\}")
_SHORT = re.compile(r"\A\$([A-Z][A-Z0-9_]*)\Z")
_ASSIGNMENT = re.compile(  # a line of `.env`
    r"""^[ \t]*(?:export[ \t]+)?(?P<name>[A-Za-z_]\w*)[ \t]*=[ \t]*(?:(['"])(?P<quoted>.*?)\2|(?P<plain>[^#\n]*))""",
    re.MULTILINE,
)
VARIABLES_FILE = ".env"  # beside the document
REF_SOURCES = ("env", "file", "exec", "store")  # of OpenClaw's secret references

Raw = Mapping[str, Any]


CONFIG = "MEMORY_CORE_CONFIG"
STATE_DIR = "MEMORY_CORE_STATE_DIR"
BACKEND = "MEMORY_CORE_BACKEND"
WORKSPACE = "MEMORY_CORE_WORKSPACE"

# All that load_config reads from the environment besides ${NAME}; an empty value counts as unset. Each has its name, the key that
# it stands for ("" for none), and its meaning.
ENVIRONMENT = (
    (CONFIG, "", "The configuration file, unless one is named."),
    (STATE_DIR, "", "The state directory, unless the host names one; default `~/.clawdbot`."),
    (WORKSPACE, "agents.defaults.workspace", "The workspace of every agent."),
    ("MEMORY_CORE_PROVIDER", "memorySearch.provider", "Who makes embeddings."),
    ("MEMORY_CORE_MODEL", "memorySearch.model", "The embedding model."),
    (BACKEND, "memory.backend", "The backend."),
)


def read_environment(environ: Mapping[str, str]) -> Node:
    """Return the layer of the environment's values."""
    given = {key: Node(environ[name], name, "environment") for name, key, _ in ENVIRONMENT if environ.get(name)}
    search = make_object(provider=given.get("memorySearch.provider"), model=given.get("memorySearch.model"))
    shared = make_object(workspace=given.get("agents.defaults.workspace"), search=search)
    return make_object(memory=make_object(backend=given.get("memory.backend")), agents=make_object(**{"": shared}))


def expand(node: Node, environ: Mapping[str, str], secrets: Raw, unread: Callable[[Node, str], None] | None) -> Node:
    """Replace `${NAME}` in every string of a tree, and every secret reference.

    Args:
        node: The tree.
        environ: The environment, with the variables that the document sets.
        secrets: The document's section `secrets`.
        unread: Called with the node and a reason when a variable is unset or empty, or a reference leads nowhere; the value
            becomes None. Without it, such a value stays as it is, and so does every reference.
    """
    content = node.content
    if isinstance(content, list):
        return replace(node, content=[expand(child, environ, secrets, unread) for child in content])
    if isinstance(content, dict) and not find_ref_source(node):
        inner = {name: expand(child, environ, secrets, unread) for name, child in content.items()}
        return replace(node, content=inner)
    problems: list[str] = []
    if isinstance(content, dict) and unread is not None:
        try:
            content = read_ref(to_plain(node), secrets, environ)
        except UnreadSecret as error:
            problems = [str(error)]
    elif isinstance(content, str):
        content, missing = fill(content, environ)
        problems = [f"the environment variable {name} is not set" for name in missing]
    if unread is None:
        return node if problems else replace(node, content=content)
    for problem in problems:
        unread(node, problem)
    return replace(node, content=None if problems else content)


def fill(text: str, environ: Mapping[str, str]) -> tuple[str, list[str]]:
    """Replace `${NAME}` in a text; returns it, and the names that are not set."""
    missing: list[str] = []

    def read(found: re.Match[str]) -> str:
        escaped, name, default = found.groups()
        if escaped:
            return found[0][1:]
        value = environ.get(name) or default
        if value is None:
            missing.append(name)
        return value or ""

    return _PLACEHOLDER.sub(read, _SHORT.sub(r"${\1}", text)), missing


def read_variables(document: Raw, folder: Path | None) -> dict[str, str]:
    """Return the variables that a host sets, for `${NAME}` in its document: texts in `env`, `env.vars`, and the file `.env`.

    As in OpenClaw, a later one of these wins, and the process's own environment over all. Nothing else reads them, so that a
    key among them alone chooses no provider.

    Args:
        document: Of the host.
        folder: Of the document, in which `.env` may lie; None if it is no file.
    """
    env = get_mapping(document, "env")
    named = {**env, **get_mapping(env, "vars")}
    with suppress(OSError):
        if folder is not None and (file := folder / VARIABLES_FILE).is_file():
            for found in _ASSIGNMENT.finditer(file.read_text(encoding="utf-8", errors="replace")):
                named[found["name"]] = found["quoted"] or (found["plain"] or "").strip()
    return {name: value for name, value in named.items() if name != "HOME" and isinstance(value, str) and value.strip()}


def find_ref_source(node: Node) -> str:
    """Return the source of a secret reference, "env", "file", "exec" or "store"; "" if a node is none."""
    if not isinstance(node.content, dict) or not {"source", "id"} <= node.content.keys():
        return ""
    source = node.content["source"].content
    return source if isinstance(source, str) and source in REF_SOURCES else ""


def expand_home(path: str | Path, environ: Mapping[str, str] | None = None) -> str:
    r"""Replace a leading `~` or `~/`, on Windows also `~\`, by the home folder; `~name` is taken for a file's name.

    Raises:
        ConfigError: The path needs a home folder, and there is none.
    """
    text = os.fspath(path)
    return find_home(environ) + text[1:] if text == "~" or text.startswith(("~/", f"~{os.sep}")) else text


def shorten_home(path: Path) -> str:
    """Return a path with `~` for the home folder, as people write it."""
    try:
        return f"~/{path.relative_to(Path.home()).as_posix()}".removesuffix("/.")
    except (ValueError, RuntimeError):  # elsewhere, or this user has no home folder
        return str(path)


def quote_words(*words: str) -> str:
    """Return words as a command for a shell of this system: POSIX, or cmd.exe and PowerShell, which both take double quotes."""
    if sys.platform == "win32":
        from subprocess import list2cmdline

        return list2cmdline(words)
    return shlex.join(words)


def split_words(text: str) -> list[str]:
    r"""Return the words of a command as a shell of this system reads them; on Windows `\` is a part of paths, and no escape."""
    if sys.platform == "win32":
        import shutil

        return [text] if shutil.which(text) else [word.strip('"') for word in re.findall(r'"[^"]*"|\S+', text)]
    return shlex.split(text)


def find_home(environ: Mapping[str, str] | None = None) -> str:
    """Return the home folder: the variable HOME, or if it is not set what the system knows of this user.

    Raises:
        ConfigError: HOME is empty, or is not set and the system knows of no home.
    """
    home = (os.environ if environ is None else environ).get("HOME")
    if home == "":
        _refuse("is empty")
    try:
        return home or str(Path.home())
    except RuntimeError:
        _refuse("is not set, and this user has no home folder")


def _refuse(problem: str) -> NoReturn:
    told = f"{problem}; set HOME, or name the folders with --workspace and --state-dir"
    raise ConfigError([ConfigProblem("HOME", told)], origin="environment")


MAX_BYTES = 1024 * 1024
TIMEOUT_MS = 5000
MOST = 10**9  # bytes or milliseconds
MAX_AGE_SECONDS = 300.0  # of an answer: a key that was changed is read from then on
_ENV_ID = re.compile(r"[A-Z][A-Z0-9_]{0,127}")
_EXEC_ID = re.compile(r"\A(?!(?:.*/)?\.\.?(?:/|$))[A-Za-z0-9][A-Za-z0-9._:/#-]{0,255}")
_answers: dict[str, tuple[float, object]] = {}  # what programs answered, and when, by their request


class UnreadSecret(Exception):
    """A reference that leads to no key; says why, and quotes nothing of the document but keys and names of variables."""


def read_ref(ref: Raw, secrets: Raw, environ: Mapping[str, str]) -> str:
    """Return the key to which a reference leads.

    Args:
        ref: `{source, provider, id}`.
        secrets: The section `secrets` of the document: `providers` and `defaults`.
        environ: The environment, with the variables of the document.

    Raises:
        UnreadSecret: It leads to none.
    """
    source, key = str(ref["source"]), ref["id"]
    if not isinstance(key, str) or not key.strip():
        raise UnreadSecret("the id of a secret reference is a string that is not empty")
    if source == "store":
        raise UnreadSecret('OpenClaw\'s own store of secrets cannot be read here; use source "env", "file" or "exec"')
    name = ref.get("provider") or _find_default(source, secrets)
    provider = _find_provider(source, str(name), secrets)
    if source == "env":
        value: object = _read_variable(key, provider, environ)
    elif source == "file":
        value = _read_from_file(key, str(name), provider, environ)
    else:
        value = _ask_program(key, str(name), provider, environ)
    if not isinstance(value, str) or not value.strip():
        raise UnreadSecret("the secret is empty, or no string")
    return value


def _find_default(source: str, secrets: Raw) -> str:
    return str(get_mapping(secrets, "defaults").get(source) or "default")


def _find_provider(source: str, name: str, secrets: Raw) -> Raw:
    found = get_mapping(secrets, "providers").get(name)
    if isinstance(found, Mapping) and found.get("source") == source:
        return found
    if source == "env" and name == _find_default("env", secrets):
        return {}
    if isinstance(found, Mapping):
        raise UnreadSecret(f'secrets.providers.{name} has another source than "{source}"')
    raise UnreadSecret("the provider that the reference names is not in secrets.providers")


def _read_variable(name: str, provider: Raw, environ: Mapping[str, str]) -> str:
    if not _ENV_ID.fullmatch(name):
        raise UnreadSecret("the id is no name of a variable; these have capital letters, digits and _ only")
    if provider.get("allowlist") is not None and name not in _read_list(provider, "allowlist"):
        raise UnreadSecret(f"the environment variable {name} is not in the provider's allowlist")
    if not environ.get(name):
        raise UnreadSecret(f"the environment variable {name} is not set")
    return environ[name]


def _read_from_file(pointer: str, name: str, provider: Raw, environ: Mapping[str, str]) -> object:
    label = f"secrets.providers.{name}.path"
    path = _check_path(label, provider.get("path"), provider, environ, private=True)
    try:
        with path.open("rb") as file:
            data = file.read(_limit(provider, "maxBytes", MAX_BYTES) + 1)
        text = data.decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UnreadSecret(f"{label}: the file cannot be read ({type(error).__name__})") from None
    if len(data) > _limit(provider, "maxBytes", MAX_BYTES):
        raise UnreadSecret(f"{label}: the file is too large")
    if provider.get("mode") == "singleValue":
        if pointer != "value":
            raise UnreadSecret(f'secrets.providers.{name} holds a single value, whose id is "value"')
        return text.removesuffix("\n").removesuffix("\r")
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):  # whose text would quote the file
        raise UnreadSecret(f"{label}: the file is no JSON") from None
    return _follow(pointer, found, label)


def _follow(pointer: str, value: object, label: str) -> object:
    """Follow a JSON pointer (RFC 6901)."""
    if not pointer.startswith("/"):
        raise UnreadSecret("the id is no JSON pointer, which begins with /")
    for part in pointer[1:].split("/"):
        step = part.replace("~1", "/").replace("~0", "~")
        if isinstance(value, dict) and step in value:
            value = value[step]
        elif isinstance(value, list) and step.isdecimal() and int(step) < len(value):
            value = value[int(step)]
        else:
            raise UnreadSecret(f"{label}: nothing stands in the file where the id points")
    return value


def _ask_program(key: str, name: str, provider: Raw, environ: Mapping[str, str]) -> object:
    """Ask a program for a secret, as JSON on its standard input, unless it has answered that lately."""
    if not _EXEC_ID.fullmatch(key):
        raise UnreadSecret("the id of the reference is none that a program may be asked for")
    if "pluginIntegration" in provider:
        raise UnreadSecret(f"secrets.providers.{name} belongs to a plugin of OpenClaw, which does not run here")
    label = f"secrets.providers.{name}.command"
    command = _check_path(label, provider.get("command"), provider, environ, private=False)
    arguments = _read_list(provider, "args")
    variables = {each: environ[each] for each in _read_list(provider, "passEnv") if each in environ}
    given = provider.get("env") or {}
    if not isinstance(given, Mapping) or not all(isinstance(value, str) for value in given.values()):
        raise UnreadSecret("the provider's env must be a mapping of names to strings")
    variables |= given
    request = json.dumps({"protocolVersion": 1, "provider": name, "ids": [key]})
    json_only = provider.get("jsonOnly") is not False
    asked = repr((str(command), arguments, sorted(variables.items()), request, json_only))
    when, answer = _answers.get(asked, (0.0, None))
    if answer is None or time.monotonic() - when > MAX_AGE_SECONDS:
        printed = _run([str(command), *arguments], request, variables, provider, label)
        answer = _read_answer(printed, key, label, json_only=json_only)
        if isinstance(answer, str) and answer.strip():
            _answers[asked] = (time.monotonic(), answer)
    return answer


def _run(command: list[str], request: str, variables: dict[str, str], provider: Raw, label: str) -> str:
    import subprocess

    seconds = _limit(provider, "timeoutMs", TIMEOUT_MS) / 1000
    try:
        done = subprocess.run(  # noqa: S603 -- the user's own file names the program, which was checked
            command,
            input=request.encode(),
            capture_output=True,
            timeout=seconds,
            env=variables,
            cwd=Path(command[0]).parent,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise UnreadSecret(f"{label}: the program did not answer within {seconds:g} seconds") from None
    except OSError as error:
        raise UnreadSecret(f"{label}: the program cannot be run ({error.strerror})") from None
    except ValueError:
        raise UnreadSecret(f"{label}: an argument or a variable has a character that programs cannot take") from None
    if done.returncode:
        raise UnreadSecret(f"{label}: the program ended with {done.returncode}")
    if len(done.stdout) > _limit(provider, "maxOutputBytes", MAX_BYTES):
        raise UnreadSecret(f"{label}: the program printed too much")
    return done.stdout.decode("utf-8", "replace").strip()


def _read_answer(printed: str, key: str, label: str, *, json_only: bool) -> object:
    try:
        answer = json.loads(printed)
    except (ValueError, RecursionError):
        if printed and not json_only:
            return printed
        raise UnreadSecret(f"{label}: the program printed no JSON") from None
    if isinstance(answer, str) and not json_only:
        return answer
    values = answer.get("values") if isinstance(answer, dict) and answer.get("protocolVersion") == 1 else None
    if not isinstance(values, dict):
        raise UnreadSecret(f"{label}: the program printed no values of protocol version 1")
    if key not in values:
        raise UnreadSecret(f"{label}: the program has no secret of this id")
    return values[key]


def _check_path(label: str, given: object, provider: Raw, environ: Mapping[str, str], *, private: bool) -> Path:
    """Return the path of a secrets file or a program, which nobody else may change, nor read if it is private.

    Windows has other permissions than the bits that are looked at here, so there only the kind of file is checked.
    """
    path = Path(expand_home(str(given), environ)) if isinstance(given, str) else None
    if path is None or not path.is_absolute():
        raise UnreadSecret(f"{label} must be an absolute path")
    try:
        if provider.get("allowSymlinkCommand") and not private:
            path = path.resolve(strict=True)
        found = path.lstat()
    except OSError as error:
        raise UnreadSecret(f"{label}: cannot be read ({error.strerror})") from None
    except ValueError:
        raise UnreadSecret(f"{label}: has a character that no path has") from None
    if not stat.S_ISREG(found.st_mode):
        raise UnreadSecret(f"{label}: must be a file, no link and no folder")
    trusted = [Path(expand_home(each, environ)) for each in _read_list(provider, "trustedDirs")]
    if trusted and not any(each.is_absolute() and _lies_below(path, each) for each in trusted):
        raise UnreadSecret(f"{label}: lies outside the provider's trustedDirs")
    if os.name == "nt" or provider.get("allowInsecurePath"):
        return path
    if found.st_uid != os.getuid():
        raise UnreadSecret(f"{label}: must belong to this user")
    if found.st_mode & (0o066 if private else 0o022):
        asked = "chmod 600" if private else "chmod go-w"
        raise UnreadSecret(f"{label}: others may {'read' if private else 'change'} it; change that: {asked}")
    if private and found.st_nlink > 1:
        raise UnreadSecret(f"{label}: has a second name (a hard link); copy it to a file of its own")
    return path


def _lies_below(path: Path, folder: Path) -> bool:
    """Return True if a file lies in a folder or below it, wherever links and ".." lead."""
    try:
        return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder))
    except ValueError:  # a character that no path has
        return False


def _read_list(provider: Raw, field: str) -> list[str]:
    """Return a list of strings of a provider, [] if it has none."""
    value = provider.get(field)
    if value is None:
        return []
    if not isinstance(value, list | tuple) or not all(isinstance(each, str) for each in value):
        raise UnreadSecret(f"the provider's {field} must be a list of strings")
    return list(value)


def _limit(provider: Raw, name: str, default: int) -> int:
    value = provider.get(name)
    if not isinstance(value, int | float) or isinstance(value, bool) or not value >= 1:
        return default
    return int(min(value, MOST))
