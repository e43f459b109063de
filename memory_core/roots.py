"""The files and folders whose Markdown is an agent's memory, in order of precedence, and what is left out of them."""

from __future__ import annotations

import errno
import os
import posixpath
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from memory_core.records import FileFailure, MemoryFile
from memory_core.settings import AgentConfig, ExtraPath, NamedFolder

SUFFIX = ".md"
LONGTERM_NAMES = ("MEMORY.md", "memory.md")  # the first wins where the file system takes both for one file
NOTES_FOLDER = "memory"
# Installed packages bring Markdown of their own, which nobody wrote down to remember.
PACKAGE_TREES = frozenset(
    {"node_modules", "bower_components", "jspm_packages", "site-packages", "__pycache__", "venv", "virtualenv"}
)
SYMLINK = "is a symbolic link, which memory ignores"
FOLDER = "is a folder"
OUTSIDE = "is not in this agent's memory: MEMORY.md, memory/ and the configured extra paths are"
UNFIT_NAME = "has a name with control characters, a backslash or bytes that are no UTF-8"
_UNFIT = re.compile(r"[\x00-\x1f\x7f\\\ud800-\udfff]|^~$")  # breaks citations, JSON or SQLite, or means something else


@dataclass(frozen=True, slots=True, kw_only=True)
class Root:
    """A file or folder that is served. What lies below is told by `rest`: relative, POSIX; "" for the root itself.

    Attributes:
        source: "memory" or "workspace"; a `NamedFolder` may say "sessions".
        named: Its absolute path as it was configured, normalised; of a `NamedFolder`, where it seems to be.
        real: Its real path.
        shown: What `rest` is put behind to show a path to the agent.
        is_file: Whether it is a file, or would be if it existed.
        required: Whether it is a failure when it does not exist.
        problem: Why nothing of it is served; None when it is.
        skipped: Names of folders that are not entered.
        left: Names at its top that are none of its own.
        excluded: Names of files, or their `rest`, that are left out.
        pattern: What `rest` must match besides; None for anything.
    """

    source: str
    named: str
    real: str
    shown: str
    is_file: bool = False
    required: bool = False
    problem: str | None = None
    skipped: frozenset[str] = frozenset()
    left: frozenset[str] = frozenset()
    excluded: frozenset[str] = frozenset()
    pattern: re.Pattern[str] | None = None

    def rest(self, path: str) -> str | None:
        """What of a normalised absolute path lies below this root; None when it leads elsewhere."""
        for root in (self.named, self.real):
            if path == root:
                return ""
            if not self.is_file and path.startswith(_slashed(root)):
                return path[len(_slashed(root)) :]
        return None

    def path(self, rest: str) -> str:
        """The real path of what lies below, if no symbolic link is in between."""
        return _slashed(self.real) + rest if rest else self.real

    def show(self, rest: str) -> str:
        """The path as the agent sees it."""
        return self.shown + rest if rest else self.shown.rstrip("/") or "."

    def refusal(self, rest: str) -> str | None:
        """Why a path is not served, by its name alone; None when it is, should it exist."""
        if self.problem or self.is_file:
            return self.problem
        if not rest:
            return FOLDER
        *folders, name = rest.split("/")
        at = ""
        for folder in folders:
            at += folder
            if reason := self._folder_refusal(at, folder):
                return reason
            at += "/"
        return self._file_refusal(rest, name)

    def _folder_refusal(self, rest: str, name: str) -> str | None:
        if name.startswith("."):
            return "is in a hidden folder"
        if name in self.skipped:
            return f"is in a folder of installed packages, {name}"
        if rest in self.left:
            return OUTSIDE
        return UNFIT_NAME if _UNFIT.search(name) else None

    def _file_refusal(self, rest: str, name: str) -> str | None:
        if not name.endswith(SUFFIX):
            return f"is not Markdown ({SUFFIX})"
        if name.startswith("."):
            return "is hidden"
        if name in self.excluded or rest in self.excluded:
            return "is excluded by the configuration"
        if rest in self.left:
            return OUTSIDE
        if self.pattern and not self.pattern.match(rest):
            return "does not match the pattern of its extra path"
        return UNFIT_NAME if _UNFIT.search(name) else None

    def file(self, rest: str, real: Path, info: os.stat_result) -> MemoryFile:
        """The record of a file that was looked at."""
        return MemoryFile(
            source=self.source,
            path=self.shown + rest,
            real_path=real,
            size_bytes=info.st_size,
            mtime_ns=info.st_mtime_ns,
        )

    def sweep(self, found: dict[str, MemoryFile], failures: list[FileFailure]) -> None:
        """Add to `found`, by real path, all files that are served, exist and are not in it, and what went wrong."""
        try:
            info = os.lstat(self.real)
        except OSError as error:
            if self.required or not isinstance(error, FileNotFoundError):
                failures.append(_failure(self.show(""), error))
            return
        if problem := self.problem or (self.is_file and not_regular(info)):
            failures.append(FileFailure(path=self.show(""), reason=problem))
        elif self.is_file:
            found.setdefault(self.real, self.file("", Path(self.real), info))
        else:
            folders = [""]
            while folders:
                self._sweep_folder(folders.pop(), folders, found, failures)

    def _sweep_folder(
        self, rest: str, folders: list[str], found: dict[str, MemoryFile], failures: list[FileFailure]
    ) -> None:
        """Look at one folder; the folders in it are appended to `folders`."""
        below = f"{rest}/" if rest else ""
        folder = Path(self.path(rest))
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        reason = self._folder_refusal(below + entry.name, entry.name)
                        if reason is None:
                            folders.append(below + entry.name)
                    else:
                        reason = self._sweep_file(entry, folder, below + entry.name, found, failures)
                    if reason is UNFIT_NAME:
                        failures.append(FileFailure(path=_printable(self.show(below + entry.name)), reason=reason))
        except OSError as error:
            if not isinstance(error, FileNotFoundError):  # it went since the folder above was read
                failures.append(_failure(self.show(rest), error))

    def _sweep_file(
        self,
        entry: os.DirEntry[str],
        folder: Path,
        rest: str,
        found: dict[str, MemoryFile],
        failures: list[FileFailure],
    ) -> str | None:
        reason = self._file_refusal(rest, entry.name)
        if reason is None and entry.path not in found and entry.is_file(follow_symlinks=False):
            try:
                found[entry.path] = self.file(rest, folder / entry.name, entry.stat(follow_symlinks=False))
            except FileNotFoundError:
                pass  # it went since the folder was read
            except OSError as error:
                failures.append(_failure(self.show(rest), error))
        return reason


def find_roots(config: AgentConfig) -> list[Root]:
    """The roots of an agent's memory; a file that lies in several belongs to the first one that serves it."""
    workspace = posixpath.realpath(config.workspace)
    sources = config.search.sources
    roots: list[Root] = []
    if "memory" in sources:
        roots += _longterm_roots(workspace)
        roots.append(_notes_root(posixpath.join(workspace, NOTES_FOLDER)))
    if "workspace" in sources:
        roots.append(_workspace_root(workspace, frozenset(config.search.exclude.files)))
    roots += [_extra_root(workspace, extra) for extra in config.search.extra_paths]
    return roots + [_folder_root(workspace, folder) for folder in config.folders]


def _longterm_roots(workspace: str) -> Iterator[Root]:
    first, second = (posixpath.join(workspace, name) for name in LONGTERM_NAMES)
    found, other = _look(first), _look(second)
    same = found is not None and other is not None and posixpath.samestat(found, other)
    yield Root(source="memory", named=first, real=first, shown=LONGTERM_NAMES[0], is_file=True, problem=_linked(found))
    real, shown = (first, LONGTERM_NAMES[0]) if same else (second, LONGTERM_NAMES[1])
    yield Root(source="memory", named=second, real=real, shown=shown, is_file=True, problem=_linked(other))


def _notes_root(folder: str) -> Root:
    return Root(source="memory", named=folder, real=folder, shown=f"{NOTES_FOLDER}/", problem=_linked(_look(folder)))


def _workspace_root(workspace: str, excluded: frozenset[str]) -> Root:
    return Root(
        source="workspace",
        named=workspace,
        real=workspace,
        shown="",
        skipped=PACKAGE_TREES,
        left=frozenset({*LONGTERM_NAMES, NOTES_FOLDER}),
        excluded=excluded,
    )


def _linked(info: os.stat_result | None) -> str | None:
    return SYMLINK if info and stat.S_ISLNK(info.st_mode) else None


def _extra_root(workspace: str, extra: ExtraPath) -> Root:
    named = posixpath.normpath(posixpath.join(workspace, expand_home(extra.path)))
    real = posixpath.realpath(named)
    info = _look(named)
    is_file = named.endswith(SUFFIX) if info is None else not stat.S_ISDIR(info.st_mode)
    pattern, problem = _compiled(extra.pattern)
    return Root(
        source="memory",
        named=named,
        real=real,
        shown=extra.path if is_file else _slashed(extra.path),
        is_file=is_file,
        required=True,
        problem=problem or _extra_problem(workspace, named, real, info, is_file=is_file),
        skipped=PACKAGE_TREES,
        pattern=pattern,
    )


def _folder_root(workspace: str, folder: NamedFolder) -> Root:
    path = posixpath.normpath(folder.path)
    real = posixpath.realpath(path)
    pattern, problem = _compiled(folder.pattern)
    return Root(
        source=folder.source,
        named=posixpath.normpath(posixpath.join(workspace, folder.shown)),
        real=real,
        shown=folder.shown,
        problem=problem or _extra_problem(workspace, path, real, _look(path), is_file=False),
        skipped=PACKAGE_TREES,
        pattern=pattern,
    )


def _compiled(pattern: str) -> tuple[re.Pattern[str] | None, str | None]:
    """A glob, and what is wrong with it."""
    try:
        return _glob(pattern), None
    except re.error:
        return None, f"has a pattern that is no glob: {pattern}"


def _extra_problem(workspace: str, named: str, real: str, info: os.stat_result | None, *, is_file: bool) -> str | None:
    inside = named.startswith(_slashed(workspace))  # the agent can write there, and lead the path anywhere
    if _linked(info) or (inside and named != real):
        return SYMLINK
    return f"is not Markdown ({SUFFIX})" if is_file and not named.endswith(SUFFIX) else None


def expand_home(path: str) -> str:
    """The path with a leading `~/` replaced by the home directory; `~name` is taken for a file's name."""
    return posixpath.expanduser(path) if path == "~" or path.startswith("~/") else path


def not_regular(info: os.stat_result) -> str | None:
    """What a file is when it is no regular one; None when it is."""
    if stat.S_ISREG(info.st_mode):
        return None
    if stat.S_ISLNK(info.st_mode):
        return SYMLINK
    return FOLDER if stat.S_ISDIR(info.st_mode) else "is no regular file"


def _look(path: str) -> os.stat_result | None:
    try:
        return os.lstat(path)
    except OSError:
        return None


def _slashed(path: str) -> str:
    return path if path.endswith("/") else path + "/"


def _printable(path: str) -> str:
    return _UNFIT.sub("\N{REPLACEMENT CHARACTER}", path)


def _failure(path: str, error: OSError) -> FileFailure:
    return FileFailure(path=_printable(path), reason=os_reason(error))


def os_reason(error: OSError) -> str:
    """An operating system error in words, without the path."""
    return SYMLINK if error.errno == errno.ELOOP else (error.strerror or str(error)).lower()


@lru_cache(maxsize=64)
def _glob(pattern: str) -> re.Pattern[str] | None:
    """A glob in which `**/` stands for any folders or none, `*` and `?` stay in one name, and `{a,b}` is either.

    None for the default, which all Markdown matches. Raises `re.error`.
    """
    if pattern == "**/*.md":
        return None
    out = ""
    braces = 0
    for part in re.findall(r"\*\*/|\*\*|\[!?[^]]+\]|.", pattern.removeprefix("./"), re.DOTALL):
        braces += (part == "{") - (part == "}" and braces > 0)
        if part == "," and braces:
            out += "|"
        elif part.startswith("[") and len(part) > 1:
            out += "[^/" + part[2:] if part.startswith("[!") else part
        else:
            out += _GLOB_PARTS.get(part, re.escape(part))
    return re.compile(out + r"\Z")


_GLOB_PARTS = {"**/": "(?:[^/]+/)*", "**": ".*", "*": "[^/]*", "?": "[^/]", "{": "(?:", "}": ")"}


def watched_paths(config: AgentConfig) -> list[Path]:
    """The files and folders whose changes may concern a note, by real path; they need not exist."""
    return [Path(root.real) for root in find_roots(config) if root.problem is None]
