"""Read the notes of a git repository's past by running git, which runs nothing else, asks nobody and uses no network."""

from __future__ import annotations

import contextlib
import os
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Literal, NamedTuple

from memory_core.errors import HistoryUnavailable
from memory_core.text.markdown import is_markdown

MOST_COMMITS = 50_000  # that are read, the last ones
LATEST_MS = 7_258_118_400_000  # the year 2200: git takes any number for a time
_KINDS: dict[bytes, Literal["link", "submodule"]] = {b"120000": "link", b"160000": "submodule"}
_REGULAR = (b"100644", b"100755")
_READ_BYTES = 1 << 16
# The repository's own configuration may name programs and other repositories. Those of the user and the machine are not read.
_SAFE = (
    "--no-pager", "--no-optional-locks", "--no-replace-objects", "--literal-pathspecs",
    "-c", "safe.directory=*", "-c", f"core.hooksPath={os.devnull}", "-c", "core.fsmonitor=false", "-c", "protocol.allow=never",
    "-c", "log.follow=false", "-c", "log.showRoot=true", "-c", f"diff.orderFile={os.devnull}",
)  # fmt: skip
_LOG = (
    "log", "--first-parent", "-m", "--reverse", "--raw", "-z", "--no-renames", "--no-abbrev", "--no-relative", "--no-ext-diff",
    "--no-textconv", "--no-show-signature", "--no-color", "--no-notes", "--no-mailmap", "--ignore-submodules=dirty",
    "--format=%x01%H %ct",
)  # fmt: skip
_OF_HEAD = (f"--max-count={MOST_COMMITS}", "HEAD", "--", ".")
MOST_UNREADABLE = 20  # commits that are passed over, each by another run of git


class CommittedFile(NamedTuple):
    """A file that a commit has changed.

    Attributes:
        path: Below the workspace, POSIX; bytes that are no UTF-8 are surrogates.
        blob: The name of its content; None if it was deleted, or is no regular file any more.
        kind: "link" and "submodule" have no content.
    """

    path: str
    blob: str | None
    kind: Literal["file", "link", "submodule"] = "file"


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit that changed something below the workspace.

    Attributes:
        hash: Its name.
        at_ms: Unix milliseconds by the clock of its committer.
        changes: Against its first parent.
    """

    hash: str
    at_ms: int
    changes: tuple[CommittedFile, ...]


def load_commits(workspace: Path) -> tuple[list[Commit], list[str]]:
    """Return the commits of HEAD's first parents that changed something below the workspace, the earliest first.

    Where there are more than `MOST_COMMITS`, the first one that is left has all files of its tree as changes.

    Returns:
        The commits, and the names of those that git cannot read.

    Raises:
        HistoryUnavailable: It is not under git, git is not installed, or it fails.
    """
    if not is_under_git(workspace):
        raise HistoryUnavailable(
            f"{workspace} lies in no git repository", action="import the workspace of an agent that is kept under git"
        )
    prefix = _run(workspace, "rev-parse", "--show-prefix").removesuffix(b"\n")
    if _run(workspace, "rev-list", "--all", "--max-count=1") == b"":
        return [], []
    output, problem = _try_run(workspace, *_LOG, *_OF_HEAD)
    if problem is not None:
        return _load_readable(workspace, prefix)
    commits = [*_parse_log(output.split(b"\0"), prefix)]
    if len(commits) == MOST_COMMITS:
        tree = _run(workspace, "ls-tree", "-r", "-z", "--full-name", commits[0].hash, "--", ".").split(b"\0")
        commits[0] = Commit(commits[0].hash, commits[0].at_ms, tuple(_parse_tree(tree, prefix)))
    return commits, []


def _load_readable(workspace: Path, prefix: bytes) -> tuple[list[Commit], list[str]]:
    """Return the commits as `load_commits` does, without those at which git gives up; at a damaged tree it does twice."""
    listed, problem = _try_run(workspace, "rev-list", "--first-parent", f"--max-count={MOST_COMMITS}", "HEAD")
    waiting = listed.decode().split()[::-1]
    commits: list[Commit] = []
    unreadable = [] if problem is None else [f"those before {waiting[0]}" if waiting else "HEAD"]
    while waiting:
        given = "".join(f"{name}\n" for name in waiting).encode()
        named = ("--no-walk=unsorted", "--stdin", "--", ".")
        output, problem = _try_run(workspace, *(each for each in _LOG if each != "--reverse"), *named, given=given)
        fields = output.split(b"\0")
        commits += _parse_log(fields, prefix)
        if problem is None:
            break
        if len(unreadable) == MOST_UNREADABLE:
            raise problem
        begun = [field.lstrip(b"\n")[1:].split()[0].decode() for field in fields if field.lstrip(b"\n")[:1] == b"\x01"]
        culprit, *waiting = waiting[waiting.index(begun[-1]) + 1 if begun else 0 :]  # git prints what it has compared
        unreadable.append(culprit)
    return commits, unreadable


def is_under_git(workspace: Path) -> bool:
    """Return True if a workspace or a folder above it has a repository, whatever its state."""
    real = workspace.resolve()
    return any((folder / ".git").exists() for folder in (real, *real.parents))


def list_ignored(folder: Path) -> list[str]:
    """Return the files and folders in a folder that its repository ignores, folders with a slash; none without git."""
    if not is_under_git(folder):
        return []
    try:
        listed = _run(folder, "ls-files", "--others", "--ignored", "--exclude-standard", "--directory", "-z")
    except HistoryUnavailable:
        return []
    names = listed.decode(errors="surrogateescape").split("\0")
    return [name for name in names if name != "./" and (name.endswith("/") or is_markdown(name))]


def is_pushed(workspace: Path, path: str) -> bool:
    """Return True if the repository of a workspace has a remote, and does not ignore a note; also if git cannot tell."""
    if not is_under_git(workspace):
        return False
    try:
        if not _run(workspace, "remote").strip():
            return False
        return not _try_run(workspace, "--no-literal-pathspecs", "check-ignore", "--", path)[0]
    except HistoryUnavailable:
        return True


def is_shallow(workspace: Path) -> bool:
    """Return True if the repository lacks its first commits.

    Raises:
        HistoryUnavailable: Git fails.
    """
    return _run(workspace, "rev-parse", "--is-shallow-repository").strip() == b"true"


class Blobs:
    """Reads contents by name, of one process of git."""

    def __init__(self, output: IO[bytes], questions: IO[bytes]) -> None:
        self._output = output
        self._questions = questions

    def load(self, blob: str, *, max_bytes: int) -> bytes | Literal["large", "missing"]:
        """Return a content; "large" if it is larger, "missing" if the repository does not have it."""
        self._questions.write(f"{blob}\n".encode())
        self._questions.flush()
        head = self._output.readline().split()
        if len(head) != 3:  # "<name> missing", or nothing if git has ended
            return "missing"
        size = int(head[2])
        if head[1] != b"blob" or size > max_bytes:
            left = size + 1
            while left:
                left -= len(self._output.read(min(left, _READ_BYTES))) or left
            return "large"
        data = self._output.read(size)
        self._output.read(1)
        return data if len(data) == size else "missing"


@contextmanager
def open_blobs(workspace: Path) -> Iterator[Blobs]:
    """Run git to read contents of the repository.

    Raises:
        HistoryUnavailable: Git cannot be run.
    """
    arguments = _command(workspace, "cat-file", "--batch")
    try:
        process = subprocess.Popen(  # noqa: S603 -- git, without a shell
            arguments, env=_environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
    except OSError as error:
        raise _cannot_run(error) from error
    with process:
        assert process.stdout is not None
        assert process.stdin is not None
        try:
            yield Blobs(process.stdout, process.stdin)
        finally:
            with contextlib.suppress(OSError):
                process.stdin.close()
            process.kill()


def find_content(workspace: Path, holds: Callable[[str], bool], *, max_bytes: int, seconds: float) -> str | None:
    """Return the path of a content below the workspace, of any commit that git still knows, which meets a condition, or whose
    path does; None if there is none.

    Args:
        workspace: Under git.
        holds: The condition.
        max_bytes: Larger contents are not looked at.
        seconds: How long to look.

    Raises:
        HistoryUnavailable: Git fails.
        TimeoutError: Not all was looked at in time.
    """
    until = time.monotonic() + seconds
    listed = _run(
        workspace, "rev-list", "--all", "--reflog", "--indexed-objects", "--objects", "--", ".", seconds=seconds
    )
    with open_blobs(workspace) as blobs:
        for line in listed.splitlines():
            if time.monotonic() > until:
                raise TimeoutError
            name, _, path = line.decode(errors="surrogateescape").partition(" ")
            if path:
                data = blobs.load(name, max_bytes=max_bytes)
                if holds(path) or (isinstance(data, bytes) and holds(data.decode(errors="surrogateescape"))):
                    return path
    return None


def _run(workspace: Path, *arguments: str, seconds: float | None = None) -> bytes:
    output, problem = _try_run(workspace, *arguments, seconds=seconds)
    if problem is not None:
        raise problem
    return output


def _try_run(
    workspace: Path, *arguments: str, seconds: float | None = None, given: bytes = b""
) -> tuple[bytes, HistoryUnavailable | None]:
    """Run git; return its output, and why it failed if it did."""
    try:
        done = subprocess.run(  # noqa: S603 -- git, without a shell
            _command(workspace, *arguments),
            env=_environment(),
            input=given,
            capture_output=True,
            check=False,
            timeout=seconds,
        )
    except subprocess.TimeoutExpired as error:
        raise TimeoutError from error
    except OSError as error:
        raise _cannot_run(error) from error
    if not done.returncode:
        return done.stdout, None
    reason = done.stderr.decode(errors="replace").strip().splitlines()
    said = reason[0] if reason else f"git has ended with {done.returncode}"
    return done.stdout, HistoryUnavailable(
        f"git cannot read the repository of {workspace}: {said}", action="see what is wrong with it: git fsck"
    )


def _command(workspace: Path, *arguments: str) -> Sequence[str]:
    return ("git", "-C", str(workspace), *_SAFE, *arguments)


def _environment() -> dict[str, str]:
    """Return this process's environment without what git would take from it."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return kept | {
        "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull, "GIT_TERMINAL_PROMPT": "0",
        "GIT_NO_LAZY_FETCH": "1", "LC_ALL": "C",
    }  # fmt: skip


def _cannot_run(error: OSError) -> HistoryUnavailable:
    return HistoryUnavailable(f"git cannot be run: {error.strerror}", action="install git, and have it on the PATH")


def _parse_log(fields: Sequence[bytes], prefix: bytes) -> Iterator[Commit]:
    """Yield commits from the fields of a raw log: a commit's name and time, then for each change its modes and its path."""
    name, at_ms, changes = "", 0, list[CommittedFile]()
    waiting = iter(fields)
    for each in waiting:
        field = each.lstrip(b"\n")
        if field.startswith(b"\x01"):
            if changes:
                yield Commit(name, at_ms, tuple(changes))
            told, _, at = field[1:].partition(b" ")  # one without a time has that of the commit before
            given_ms = min(int(at) * 1000, LATEST_MS) if at.isdigit() else 0
            name, at_ms, changes = told.decode(), given_ms or at_ms, []
        elif field.startswith(b":"):
            _, mode, _, blob, _ = field.split()
            changes += _to_change(next(waiting), mode, blob, prefix)
    if changes:
        yield Commit(name, at_ms, tuple(changes))


def _parse_tree(fields: Sequence[bytes], prefix: bytes) -> Iterator[CommittedFile]:
    for field in fields:
        head, _, path = field.partition(b"\t")
        if path:
            mode, _, blob = head.split()
            yield from _to_change(path, mode, blob, prefix)


def _to_change(path: bytes, mode: bytes, blob: bytes, prefix: bytes) -> Iterator[CommittedFile]:
    """Yield a change below the workspace."""
    if path.startswith(prefix):
        name = path[len(prefix) :].decode(errors="surrogateescape")
        yield CommittedFile(name, blob.decode() if mode in _REGULAR else None, _KINDS.get(mode, "file"))
