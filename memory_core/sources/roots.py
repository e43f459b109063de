"""The files and folders whose Markdown is an agent's memory, in order of precedence, and what is left out of them."""

from __future__ import annotations

import os
import posixpath
import re
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import accumulate
from pathlib import Path
from unicodedata import normalize

from memory_core.config.agent import LOCAL, PERSON, AgentConfig, NamedFolder
from memory_core.config.environment import expand_home, quote_words
from memory_core.config.settings import Exclude, ExtraPath
from memory_core.records import FileStamp, Finding, MemoryFile
from memory_core.sources.refusals import EXCLUDED, FOLDER, HIDDEN, NOT_MARKDOWN, OUTSIDE, SYMLINK, UNFIT_NAME, is_unfit
from memory_core.sources.vaults import Vault, find_vaults
from memory_core.text.markdown import is_markdown

_PARTS = {"**/": "(?:[^/]+/)*", "**": ".*", "*": "[^/]*", "?": "[^/]", "{": "(?:", "}": ")"}


@lru_cache(maxsize=64)
def compile_glob(pattern: str) -> re.Pattern[str] | None:
    """Compile a glob: `**/` matches any folders or none, `*` and `?` stay in one name, and `{a,b}` matches either.

    Returns:
        A pattern for a relative path, to be used with `match`; None for the default, which all Markdown matches.

    Raises:
        re.error: The pattern is no glob.
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
            out += _PARTS.get(part, re.escape(part))
    return re.compile(out + r"\Z")


_LEAST, _MOST = -(2**63), 2**63 - 1  # integers of SQLite; in nanoseconds the years 1677 and 2262


def read_stamp(info: os.stat_result) -> FileStamp:
    """Return the stamp of a file; what does not fit into 64 bits becomes the nearest number that does."""
    changed, moved = min(max(info.st_mtime_ns, _LEAST), _MOST), min(max(info.st_ctime_ns, _LEAST), _MOST)
    return FileStamp(info.st_size, changed, moved, min(info.st_ino, _MOST))


def advise_workspace(workspace: Path) -> str:
    """Return what to do about the problem that `find_workspace_problem` finds."""
    path = quote_words(str(workspace))
    first = f"see to it that you may read {path}" if is_there(workspace) else f"make it: memory-core init {path}"
    return f"{first}; or name another, with --workspace, MEMORY_CORE_WORKSPACE, or workspace= in Python"


def find_workspace_problem(workspace: Path) -> str | None:
    """Return the reason why there is no workspace, in a sentence without a full stop; None if there is one."""
    is_folder = os.path.isdir(workspace)  # noqa: PTH112
    if is_folder and os.access(workspace, os.R_OK | os.X_OK):
        return None
    if is_folder or may_not_enter(workspace):
        return f"the workspace {workspace} may not be read"
    problem = "is no folder" if os.path.lexists(workspace) else "does not exist"
    return f"the workspace {workspace} {problem}"


def is_there(workspace: Path) -> bool:
    """Return True for a folder, and where nobody knows, since a folder above it may not be entered."""
    return os.path.isdir(workspace) or may_not_enter(workspace)  # noqa: PTH112  # Path.is_dir would raise


def may_not_enter(path: Path) -> bool:
    """Return True if nobody knows what is at a path, since a folder above it may not be entered."""
    try:
        os.lstat(path)
    except PermissionError:
        return True
    except (OSError, ValueError):
        return False
    return False


def explain_no_workspace(config: AgentConfig) -> str | None:
    """Return that reason; None also for a project without notes, whose private folder is made for the first one."""
    workspace = config.workspace
    if config.project is not None and not (os.path.lexists(workspace) or may_not_enter(workspace)):
        return None
    return find_workspace_problem(workspace)


def explain_no_layers(config: AgentConfig) -> list[str]:
    """Return which layers are not searched, since there is no folder; those of memory-core itself begin with their first note."""
    lost = [each for each in config.layers if not is_there(each.workspace)]
    return [
        f"{str(find_workspace_problem(each.workspace)).removeprefix('the workspace ')}, so the layer {each.layer} is not searched"
        for each in lost
        if each.layer not in (PERSON, LOCAL) or os.path.lexists(each.workspace)
    ]


def diagnose_layers(config: AgentConfig) -> list[Finding]:
    """Return a finding for each of those."""
    return [Finding("layers", "warn", each, CORRECT_LAYERS) for each in explain_no_layers(config)]


def warn_of_workspace(config: AgentConfig, warnings: Sequence[str] = ()) -> tuple[str, ...]:
    """Return warnings, and before them that there is no workspace and what to do, if there is none; so of layers."""
    problem, warnings = explain_no_workspace(config), (*explain_no_layers(config), *warnings)
    if problem is None:
        return warnings
    return (f"{problem}; {advise_workspace(config.workspace)}", *(each for each in warnings if each != problem))


CORRECT_LAYERS = "make the folder, or correct memory.layers"
SUFFIX = ".md"
WHOLE = "."  # the workspace itself, as failures name it
USER_NAME = "USER.md"  # what the agent knows of its user; OpenClaw searches it beside the notes
LONGTERM_NAMES = ("MEMORY.md", "memory.md", "MEMORY.MD")  # the first wins where the file system takes both for one file
NOTES_FOLDER = "memory"
# Installed packages bring Markdown of their own, which nobody wrote down to remember.
PACKAGE_TREES = frozenset(
    {"node_modules", "bower_components", "jspm_packages", "site-packages", "__pycache__", "venv", "virtualenv"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Root:
    """A file or folder that is served. Paths below it are relative to it, POSIX; "" is the root itself.

    Attributes:
        source: "memory" or "workspace"; a `NamedFolder` may say "sessions".
        configured: The absolute path as configured, normalised; for a `NamedFolder`, the path under which it is shown.
        real: The real path.
        shown: The prefix of the paths that the agent sees.
        is_file: The root is a file, or would be if it existed.
        required: It is a failure if the root does not exist.
        problem: The reason why nothing of it is served; None if it is served.
        skipped: Names of folders that are not entered.
        reserved: Names at its top that belong to other roots.
        excluded: Names or relative paths of files that are left out.
        pattern: A pattern that relative paths must match; None for no condition.
        left_out: Patterns of relative paths that are left out; that of a folder ends with a slash.
        own: The real path of the agent's own memory in which it lies, or of itself; "" for what lies elsewhere. It was chosen,
            so that vaults around it cannot leave it out as a whole.
        vaults: The vaults that hold a real folder, of those that were looked at; what these leave out is not served.
    """

    source: str
    configured: str
    real: str
    shown: str
    is_file: bool = False
    required: bool = False
    problem: str | None = None
    skipped: frozenset[str] = frozenset()
    reserved: frozenset[str] = frozenset()
    excluded: frozenset[str] = frozenset()
    pattern: re.Pattern[str] | None = None
    left_out: tuple[re.Pattern[str], ...] = ()
    own: str = ""
    vaults: dict[str, tuple[Vault, ...]] = field(default_factory=dict, compare=False, repr=False)

    def locate(self, path: str) -> str | None:
        """Return the relative path of a normalised absolute path; None if it leads elsewhere."""
        for root in (self.configured, self.real):
            if path == root:
                return ""
            if not self.is_file and path.startswith(slash(root)):
                return path[len(slash(root)) :]
        return None

    def join(self, relative: str) -> str:
        """Return the real path of a relative one, provided that no symbolic link is on the way."""
        return slash(self.real) + relative if relative else self.real

    def show(self, relative: str) -> str:
        """Return the path that the agent sees."""
        return self.shown + relative if relative else self.shown.rstrip("/") or WHOLE

    def refuse(self, relative: str) -> str | None:
        """Return the reason why a path is not served, judged by its name alone; None if it would be, should it exist."""
        if self.problem or self.is_file:
            return self.problem
        if not relative:
            return FOLDER
        *folders, name = relative.split("/")
        reasons = map(self.refuse_folder, accumulate(folders, posixpath.join), folders)
        return next(filter(None, reasons), None) or self.refuse_file(relative, name)

    def refuse_folder(self, relative: str, name: str) -> str | None:
        """Return the reason why a folder below is not entered, judged by its name alone; None if it is."""
        if name.startswith("."):
            return "is in a hidden folder"
        if name in self.skipped:
            return f"is in a folder of installed packages, {name}"
        if relative in self.reserved:
            return OUTSIDE
        if reason := self._exclude(relative) or self._exclude(f"{relative}/"):
            return reason
        return UNFIT_NAME if is_unfit(name) else None

    def refuse_file(self, relative: str, name: str) -> str | None:
        """Return the reason why a file in a folder that is entered is not served, judged by its name alone; None if it is."""
        if not is_markdown(name):
            return NOT_MARKDOWN
        if name.startswith("."):
            return "is hidden"
        is_excluded = name in self.excluded or relative in self.excluded
        if reason := EXCLUDED if is_excluded else self._exclude(relative):
            return reason
        if relative in self.reserved:
            return OUTSIDE
        if self.pattern and not self.pattern.match(normalize("NFC", relative)):
            return "does not match the pattern of its extra path"
        return UNFIT_NAME if is_unfit(name) else None

    def find_vaults(self, relative: str = "") -> tuple[Vault, ...]:
        """Return the vaults that hold a folder of this root, or the root itself: those around it, and those in it."""
        return find_vaults(self.join(relative), self.vaults)

    def lies_in_vault(self, relative: str) -> bool:
        """Return True for a file in a vault; the agent's own MEMORY.md and USER.md are in none."""
        return not self.is_file and bool(self.find_vaults(posixpath.dirname(relative)))

    def heed_vaults(self) -> Root:
        """Return this root; with a problem if a vault leaves all of it out, or has settings that cannot be used."""
        if self.problem or (self.is_file and self.own):
            return self
        return replace(
            self, problem=self._leave_out(self.real if self.is_file else slash(self.real), self.find_vaults())
        )

    def _leave_out(self, real: str, vaults: Sequence[Vault]) -> str | None:
        """Return the reason why one of the vaults leaves out a real path; that of a folder ends with a slash."""
        for vault in vaults:
            if vault.problem:
                return vault.problem
            if set(vault.list_hiding(real)).difference(vault.list_hiding(self.own)):
                return HIDDEN
        return None

    def _exclude(self, relative: str) -> str | None:
        """Return the reason why a vault or the configuration leaves out a file, or a folder with a slash at its end."""
        above = self.find_vaults(posixpath.dirname(relative.rstrip("/")))
        if reason := self._leave_out(self.join(relative), above):
            return reason
        if not self.left_out:
            return None
        path = normalize("NFC", relative)
        return EXCLUDED if any(each.match(path) for each in self.left_out) else None

    def to_file(self, relative: str, real: Path, stamp: FileStamp) -> MemoryFile:
        """Make the record of a file that is served."""
        return MemoryFile(
            source=self.source,
            path=self.shown + relative,
            real_path=real,
            stamp=stamp,
            in_vault=self.lies_in_vault(relative),
        )


def find_roots(config: AgentConfig) -> list[Root]:
    """Return the roots of an agent's memory; a file that lies in several belongs to the first one that serves it."""
    workspace = posixpath.realpath(config.workspace)
    sources = config.search.sources
    roots: list[Root] = []
    if "memory" in sources:
        roots += _longterm_roots(workspace)
        folder = posixpath.join(workspace, NOTES_FOLDER)
        roots.append(_own_root(folder, folder, f"{NOTES_FOLDER}/", is_file=False))
    if "workspace" in sources:
        roots.append(make_workspace_root(workspace, config.search.exclude))
    roots += [_extra_root(workspace, extra) for extra in config.search.extra_paths]
    roots += [_folder_root(workspace, folder) for folder in config.folders]
    vaults: dict[str, tuple[Vault, ...]] = {}
    return [replace(root, vaults=vaults).heed_vaults() for root in roots]


def _longterm_roots(workspace: str) -> Iterator[Root]:
    met: list[tuple[os.stat_result, str, str]] = []
    for name in LONGTERM_NAMES:
        configured = real = posixpath.join(workspace, name)
        info = _stat(real)
        if info:
            same = next((each for each in met if posixpath.samestat(info, each[0])), None)
            _, real, name = same or (info, real, name)  # noqa: PLW2901 -- one file under two names has the first
            met.append((info, real, name))
        yield _own_root(configured, real, name)
    user = posixpath.join(workspace, USER_NAME)
    yield _own_root(user, user, USER_NAME)


def _own_root(configured: str, real: str, shown: str, *, is_file: bool = True) -> Root:
    return Root(
        source="memory", configured=configured, real=real, shown=shown, is_file=is_file,
        problem=_refuse_link(_stat(real)), own=real if is_file else slash(real),
    )  # fmt: skip


def make_workspace_root(workspace: str, exclude: Exclude) -> Root:
    """Make the root of all Markdown in a workspace, by its real path, but MEMORY.md and memory/."""
    return Root(
        source="workspace",
        configured=workspace,
        real=workspace,
        shown="",
        skipped=PACKAGE_TREES,
        reserved=frozenset({*LONGTERM_NAMES, USER_NAME, NOTES_FOLDER}),
        excluded=frozenset(exclude.files),
        own=slash(workspace),
    )


def _extra_root(workspace: str, extra: ExtraPath) -> Root:
    path = posixpath.normpath(posixpath.join(workspace, expand_home(extra.path)))
    info = _stat(path)
    is_file = is_markdown(path) if info is None else not stat.S_ISDIR(info.st_mode)
    root = _outer_root(workspace, path, extra.path if is_file else slash(extra.path), extra.pattern, is_file=is_file)
    left_out = [_compile(each) for each in extra.exclude]
    return replace(
        root,
        required=True,
        problem=root.problem or next((each for _, each in left_out if each), None),
        left_out=tuple(each or re.compile(".*") for each, _ in left_out),
    )


def _folder_root(workspace: str, folder: NamedFolder) -> Root:
    root = _outer_root(workspace, posixpath.normpath(folder.path), folder.shown, folder.pattern, is_file=False)
    configured = posixpath.normpath(posixpath.join(workspace, folder.shown))
    return replace(root, source=folder.source, configured=configured)


def _outer_root(workspace: str, path: str, shown: str, pattern: str, *, is_file: bool) -> Root:
    """Make the root of a file or folder that may lie anywhere."""
    real = posixpath.realpath(path)
    compiled, problem = _compile(pattern)
    return Root(
        source="memory", configured=path, real=real, shown=shown, is_file=is_file, skipped=PACKAGE_TREES, pattern=compiled,
        problem=problem or _refuse_extra(workspace, path, real, _stat(path), is_file=is_file),
        own=slash(workspace) if real.startswith(slash(workspace)) else "",
    )  # fmt: skip


def _compile(pattern: str) -> tuple[re.Pattern[str] | None, str | None]:
    """Compile a glob for composed paths; returns the pattern and the problem with it."""
    try:
        return compile_glob(normalize("NFC", pattern)), None
    except re.error:
        return None, f"has a pattern that is no glob: {pattern}"


def _refuse_extra(
    workspace: str, configured: str, real: str, info: os.stat_result | None, *, is_file: bool
) -> str | None:
    inside = configured.startswith(slash(workspace))  # the agent can write there, and lead the path anywhere
    if _refuse_link(info) or (inside and configured != real):
        return SYMLINK
    return NOT_MARKDOWN if is_file and not is_markdown(configured) else None


def _refuse_link(info: os.stat_result | None) -> str | None:
    return SYMLINK if info and stat.S_ISLNK(info.st_mode) else None


def _stat(path: str) -> os.stat_result | None:
    try:
        return os.lstat(path)
    except OSError:
        return None


def slash(path: str) -> str:
    """Return the path of a folder with a slash at its end."""
    return path if path.endswith("/") else path + "/"
