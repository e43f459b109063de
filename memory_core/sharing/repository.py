"""The bare repository of a workspace in the state folder, driven by git's plumbing: no index, no checkout, no prompt.

It uses the user's git with the user's credentials. What the user's configuration, the environment or a hostile remote could
make git do besides is switched off in each call.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from hashlib import sha1
from pathlib import Path

from memory_core.atomic import CLOEXEC, locked
from memory_core.errors import RemoteUnreachable, SharingFailed
from memory_core.sources.redaction import redact

BRANCH = "refs/heads/main"  # of the remote
FETCHED = "refs/memory-core/fetched"  # the remote's branch, as it was fetched last
OWN = "refs/memory-core/own"  # the last state that this machine has merged and written
SENT = "refs/memory-core/sent"  # the last commit below `OWN` of which it is certain that the remote has it
ABSENT = "refs/memory-core/absent"  # the paths of notes of `OWN`, a line each, for which there was no place here
MADE = "refs/memory-core/made"  # a commit that was made and may never be sent
WRITING = "refs/memory-core/writing"  # the record of notes that are being written: see `sharing`

SECONDS = 100.0  # that one call of git may take
PROBE_SECONDS = 20.0  # that the question may take whether anybody can read a remote; with one call of git, two minutes
ENDS = (signal.SIGTERM, 9)  # SIGKILL, which Windows does not have
END_SECONDS = 1.0  # after the first of them
SHOWN_CHARS = 300  # of what git says
LOCK_SECONDS = 20.0  # that a sync waits for another one
LOCK_POLL_SECONDS = 0.02
_FILES = (b"100644", b"100755")
_SETTINGS = (
    f"core.hooksPath={os.devnull}", "core.fsmonitor=false", "core.ignoreCase=false", "core.logAllRefUpdates=false",
    "core.commitGraph=false", "gc.auto=1000", "gc.autoDetach=false", "maintenance.auto=false", "protocol.ext.allow=never",
    "safe.bareRepository=all", "safe.directory=*", "fetch.fsckObjects=true", "fetch.recurseSubmodules=false", "fetch.prune=false",
    "fetch.pruneTags=false", "fetch.writeCommitGraph=false", "push.gpgSign=false", "push.followTags=false",
    "push.recurseSubmodules=no", "commit.gpgSign=false",
)  # fmt: skip
_OPTIONS = (
    "--no-pager",
    "--literal-pathspecs",
    "--no-replace-objects",
    *(word for each in _SETTINGS for word in ("-c", each)),
)
_KEPT = ("GIT_SSH", "GIT_SSH_COMMAND", "GIT_SSH_VARIANT", "GIT_PROXY_COMMAND", "GIT_SSL_CAINFO")
_NAME = "memory-core"
_EMAIL = "memory-core@localhost"
_CHECK = "Check its address, the network, and your rights there."
_TRUST = "It belongs to another user, whom git may let run programs as you: if you trust them, run what git names."
_ALWAYS_SAID = " fatal: Could not read from remote repository."  # after each reason, with advice
# What git says if another machine has pushed meanwhile.
_LATE = re.compile(
    r"\[rejected\]|fetch first|non-fast-forward|failed to lock|cannot lock ref|failed to update ref|incorrect old value"
    r"|reference already exists|stale info"
)
_LOCKED = re.compile(r"Unable to create '(.+?\.lock)': File exists")
_REFUSED = re.compile(r"\[remote rejected\] \((.+?)\)")
_TOLD = re.compile(r"remote: (.*?)(?= remote:| error: failed to push| To |$)")  # the server's lines

_running: dict[subprocess.Popen[bytes], Path] = {}  # of this process, with their repositories


@dataclass(frozen=True, slots=True)
class NewCommit:
    """A commit to be made.

    Attributes:
        ref: The ref that is set to it.
        message: Its message.
        texts: The text of each path; None takes the file away.
        parent: The commit that it changes; None has none, and `MADE` is the one made before it in the same call.
        alone: It holds no other files than these.
    """

    ref: str
    message: str
    texts: Mapping[str, bytes | None]
    parent: str | None
    alone: bool = False


class Repository:
    """A bare repository and its remote. The constructor runs nothing.

    Args:
        folder: The repository, made by `prepare`.
        url: The remote.
        inherited: A descriptor that git inherits, see `hold`.
    """

    def __init__(self, folder: Path, url: str, inherited: Sequence[int] = ()) -> None:
        if url.startswith("-") or re.match(r"\w+::", url) or not url.strip():
            raise SharingFailed(f"{url!r:.80} names no remote", action="Name a repository as git clone takes it.")
        self.folder, self.url = folder, url
        self._inherited = inherited
        self._late = ""  # what git said of the last push
        kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_") or name in _KEPT}
        self._environment = kept | {
            "GIT_DIR": str(folder), "GIT_TERMINAL_PROMPT": "0", "GIT_ASKPASS": "true", "SSH_ASKPASS_REQUIRE": "never",
            "GCM_INTERACTIVE": "never", "GIT_NO_LAZY_FETCH": "1", "LC_ALL": "C", "GIT_AUTHOR_NAME": _NAME,
            "GIT_AUTHOR_EMAIL": _EMAIL, "GIT_COMMITTER_NAME": _NAME, "GIT_COMMITTER_EMAIL": _EMAIL,
        }  # fmt: skip

    def prepare(self) -> None:
        """Make the repository if there is none, and remove the locks of a git that was killed; nobody else uses it."""
        if not (self.folder / "HEAD").exists():
            self.run("init", "--quiet", "--bare", "--template=", "--object-format=sha1", str(self.folder))
            self.run("symbolic-ref", "HEAD", BRANCH)
        for left in (*self.folder.glob("*.lock"), *(self.folder / "refs").rglob("*.lock")):
            left.unlink(missing_ok=True)

    def run(self, *arguments: str, given: bytes = b"") -> bytes:
        """Run git; return its output.

        Raises:
            SharingFailed: It cannot be run, or fails.
        """
        code, output, said = self._try(*arguments, given=given)
        if code:
            raise SharingFailed(
                f"git {arguments[0]} failed: {said[-SHOWN_CHARS:]}", action="Try again; see also: memory-core doctor"
            )
        return output

    def _try(
        self,
        *arguments: str,
        given: bytes = b"",
        environment: Mapping[str, str] | None = None,
        seconds: float = SECONDS,
    ) -> tuple[int, bytes, str]:
        """Run git; return its exit code, its output, and what it complains of, without secrets."""
        try:
            git = subprocess.Popen(  # noqa: S603  # git, without a shell; a session of its own has no terminal to ask on
                ["git", *_OPTIONS, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,  # noqa: S607
                env={**self._environment, **(environment or {})}, cwd=self.folder.parent, pass_fds=self._inherited,
                start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            action = "Install git." if isinstance(error, FileNotFoundError) else ""
            raise SharingFailed(f"git cannot be run: {error.strerror}", action=action) from error
        with git:
            _running[git] = self.folder
            try:
                output, told = git.communicate(given, timeout=seconds)
            except BaseException as error:
                _end(git)
                if isinstance(error, subprocess.TimeoutExpired):
                    return -1, b"", f"no answer within {seconds:g} s"
                raise
            finally:
                is_ended = _running.pop(git, None) is None
        if is_ended:
            raise RemoteUnreachable("the program ended before the sync did", action="It will be tried again.")
        said = " ".join((output if git.returncode else b"").decode(errors="replace").split())
        said = f"{' '.join(told.decode(errors='replace').split())} {said}".partition(_ALWAYS_SAID)[0].strip()
        return git.returncode, output, redact(said)

    def list_refs(self) -> dict[str, str]:
        """Return the commits of all refs."""
        lines = self.run("for-each-ref", "--format=%(refname) %(objectname)").decode().splitlines()
        return {name: commit for name, _, commit in (line.partition(" ") for line in lines)}

    def set_refs(self, refs: Mapping[str, str | None]) -> None:
        """Set refs, or delete those of None, all at once."""
        lines = [f"update {name} {commit}\n" if commit else f"delete {name}\n" for name, commit in refs.items()]
        self.run("update-ref", "--stdin", given="".join(lines).encode())

    def fetch(self, ref: str = FETCHED) -> str | None:
        """Fetch the remote's branch into a ref; return its commit, None while the remote is empty.

        Raises:
            RemoteUnreachable: There is no answer, or the credentials are refused.
        """
        code, _, said = self._try(
            "fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-gc", self.url, f"+{BRANCH}:{ref}"
        )
        if code and "couldn't find remote ref" not in said:
            raise _unreachable("read", said)
        if code:
            self.set_refs({ref: None})
        return self.list_refs().get(ref)

    def push(self, commit: str, replaces: str | None = None) -> bool:
        """Send a commit; return False if another machine was faster.

        Args:
            commit: It follows what was fetched.
            replaces: The commit that is taken from the remote with all before it, provided that it is still the last one.

        Raises:
            RemoteUnreachable: There is no answer, or the credentials are refused.
            SharingFailed: The server does not take it.
        """
        lease = [] if replaces is None else [f"--force-with-lease={BRANCH}:{replaces}"]
        code, _, said = self._try(
            "push", "--quiet", "--porcelain", "--no-verify", *lease, self.url, f"{commit}:{BRANCH}"
        )
        if code and not _LATE.search(said):
            if refusal := _REFUSED.search(said):
                told = " ".join(_TOLD.findall(said)) or refusal[1]
                problem = f"the remote does not take what is sent; it says: {told[:SHOWN_CHARS]}"
                action = "Change that at the remote, or name another one: memory-core sync init URL"
                raise SharingFailed(problem, action=action)
            raise _unreachable("written", said)
        self._late = said
        return not code

    def give_up(self) -> RemoteUnreachable:
        """Return the error for pushes that were too late again and again."""
        if lock := _LOCKED.search(self._late):
            problem = f"a git that was killed has left a lock in the remote, {lock[1]}"
            return RemoteUnreachable(problem, action="Remove that file if no git runs there")
        return RemoteUnreachable("other machines were always faster", action="It will be tried again.")

    def is_public(self) -> bool:
        """Return True if anybody can read the remote without a password."""
        known = re.match(r"(?:ssh://)?(?:[\w.-]+@)?([\w.-]+\.[a-z]+)(?::(?!\d)|/)(.+)", self.url)
        plain = re.sub(r"(?<=://)[^/@]*@", "", self.url)
        url = plain if re.match(r"https?://|git://", plain) else f"https://{known[1]}/{known[2]}" if known else ""
        if not url or Path(self.url).exists():
            return False
        nobody = {"HOME": str(self.folder.parent), "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull}
        return not self._try("ls-remote", "--quiet", url, environment=nobody, seconds=PROBE_SECONDS)[0]

    def find_base(self, first: str, second: str) -> str | None:
        """Return the last commit that two others have in common; None if there is none."""
        code, output, said = self._try("merge-base", first, second)
        if code > 1:
            raise SharingFailed(f"git merge-base failed: {said[-SHOWN_CHARS:]}", action="Try again.")
        return output.decode().strip() or None

    def find_message(self, line: str, commit: str, base: str | None = None) -> str | None:
        """Return the last commit up to another one, after a base if one is given, whose message holds a line; else None."""
        given = ("--format=%H", "-1", "--fixed-strings", f"--grep={line}", commit, *([f"^{base}"] if base else []))
        return self.run("log", *given).decode().strip() or None

    def find_line(self, commit: str) -> str:
        """Return the name of the line of commits to which one belongs; a commit that replaces a line keeps its name."""
        root = self.run("rev-list", "--max-parents=0", commit).decode().split()[-1]
        told = re.search(r"^Line: ([0-9a-f]{40})$", self.run("log", "-1", "--format=%B", root).decode(), re.MULTILINE)
        return told[1] if told else root

    def list_files(self, commit: str) -> Iterator[tuple[str, str, int]]:
        """Yield the path, the hash and the size of each file of a commit; a link or a submodule has the size -1."""
        for entry in self.run("ls-tree", "-r", "-z", "-l", "--full-tree", commit).split(b"\0")[:-1]:
            facts, _, path = entry.partition(b"\t")
            mode, _, blob, size = facts.split()
            yield path.decode(errors="replace"), blob.decode(), int(size) if mode in _FILES else -1

    def load(self, blobs: Iterable[str]) -> dict[str, bytes]:
        """Return the contents of hashes."""
        wanted = {*blobs}
        output = self.run("cat-file", "--batch", given="".join(f"{each}\n" for each in wanted).encode())
        found: dict[str, bytes] = {}
        at = 0
        while at < len(output):
            start = output.index(b"\n", at) + 1
            name, kind, size = output[at:start].decode().split()
            if kind != "blob":
                raise SharingFailed(f"the repository lacks {name}", action=f"Move {self.folder} away, and sync again.")
            found[name] = output[start : start + int(size)]
            at = start + int(size) + 1
        return found

    def commit(self, commits: Sequence[NewCommit]) -> str:
        """Make commits in one call; return the hash of the first."""
        now = int(time.time())
        parts: list[bytes] = []
        for number, each in enumerate(commits, 1):
            message = each.message.encode()
            head = f"commit {each.ref}\nmark :{number}\ncommitter {_NAME} <{_EMAIL}> {now} +0000\ndata {len(message)}\n"
            parts.append(head.encode() + message + b"\n")
            if each.parent:
                parts.append(f"from {':1' if each.parent == MADE else each.parent}\n".encode())
            if each.alone:
                parts.append(b"deleteall\n")
            for path, text in sorted(each.texts.items()):
                if text is None:
                    parts.append(f'D "{path}"\n'.encode())
                else:
                    parts.append(f'M 100644 inline "{path}"\ndata {len(text)}\n'.encode() + text + b"\n")
        parts.append(b"get-mark :1\n")
        made = self.run("fast-import", "--quiet", "--force", "--date-format=raw", given=b"".join(parts))
        return made.decode().split()[0]

    def replace(self, commit: str, line: str, *told: str) -> str:
        """Make a commit of the same files that has no past; return its hash.

        Args:
            commit: Has the files.
            line: The name of its line, see `find_line`.
            told: Further lines of the message.
        """
        message = "\n".join(["memory-core: the past was purged", "", *told, f"Line: {line}", ""])
        made = self.run("commit-tree", f"{commit}^{{tree}}", given=message.encode())
        return made.decode().strip()

    def clean(self, *, purge: bool = False) -> None:
        """Pack objects where there are many; with `purge`, drop now what no ref leads to."""
        self.run("gc", "--quiet", *(["--prune=now"] if purge else ["--auto"]))


def _unreachable(attempt: str, said: str) -> RemoteUnreachable:
    """Return the error for what git has said of a remote that cannot be read or written."""
    action = _TRUST if "dubious ownership" in said else _CHECK
    return RemoteUnreachable(f"the remote cannot be {attempt}: {said[-SHOWN_CHARS:]}", action=action)


def end_running(folder: Path) -> None:
    """End the runs of git on a repository that this process has begun; the sync fails, and the next one finishes it."""
    for git in [git for git, used in [*_running.items()] if used == folder]:
        if _running.pop(git, None) is not None:
            _end(git)


def _end(git: subprocess.Popen[bytes]) -> None:
    """End git, which takes its locks with it, and what it has started, such as ssh, which may outlive it."""
    for number in ENDS:
        with suppress(ProcessLookupError, subprocess.TimeoutExpired):
            if sys.platform == "win32":
                git.terminate()
            else:
                os.killpg(git.pid, number)
            git.wait(END_SECONDS)


def name_blob(data: bytes) -> str:
    """Return the hash by which git knows a content."""
    return sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


@contextmanager
def hold(path: Path) -> Iterator[tuple[int, ...]]:
    """Hold the lock of a repository; yields descriptors for git to inherit, which outlives a sync that is killed.

    Raises:
        SharingFailed: Another sync holds it too long.
    """
    busy = SharingFailed("another sync of these notes runs", action="Try again in a moment.")
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if sys.platform == "win32":  # where git inherits nothing
        try:
            with locked(path, timeout_seconds=LOCK_SECONDS):
                yield ()
        except TimeoutError as error:
            raise busy from error
        return
    import fcntl

    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | CLOEXEC, 0o600)
    try:
        until = time.monotonic() + LOCK_SECONDS
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > until:
                    raise busy from None
                time.sleep(LOCK_POLL_SECONDS)
        yield (descriptor,)
    finally:
        os.close(descriptor)
