"""Files outside the index that survive a kill or a power cut: replaced whole, under a lock that dies with its owner."""

from __future__ import annotations

import errno
import functools
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

# Flags of os.open that not every system has; 0 asks for nothing.
NOFOLLOW: int = getattr(os, "O_NOFOLLOW", 0)
NONBLOCK: int = getattr(os, "O_NONBLOCK", 0)
CLOEXEC: int = getattr(os, "O_CLOEXEC", 0)
DIRECTORY: int = getattr(os, "O_DIRECTORY", 0)
BINARY: int = getattr(os, "O_BINARY", 0)
PATH_ONLY: int = getattr(os, "O_PATH", 0)  # opens a folder that this user may enter, and perhaps not list
OPENS_BELOW = bool(DIRECTORY) and os.open in os.supports_dir_fd  # files can be opened relative to an open folder
TEMPORARY = ".memory-core.tmp"  # the end of the name of a file that is being written
LOCK_POLL_SECONDS = 0.01  # an append takes a few milliseconds; eight writers then wait for each other, not for the poll


@contextmanager
def locked(path: Path, *, timeout_seconds: float | None) -> Iterator[None]:
    """Hold the operating system's lock on a lock file, which is created if missing and never removed.

    The lock ends with the process that holds it, however that process ends. Nobody else may open the file, and so lock it.

    Args:
        path: The lock file; its folder is created if missing, for its owner alone.
        timeout_seconds: How long to wait for another owner; None waits for ever.

    Raises:
        TimeoutError: Another owner held the lock all the time; names it where the system does.
        OSError: The lock file cannot be created, or something else stands there.
    """
    import filelock

    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with suppress(FileNotFoundError):
        found = path.lstat()
        if not stat.S_ISREG(found.st_mode) or found.st_nlink > 1:  # to take the lock would cut off another file
            raise OSError(errno.EEXIST, "a link or folder stands in the place of a lock", str(path))
        if hasattr(os, "geteuid") and found.st_uid == os.geteuid() and stat.S_IMODE(found.st_mode) & 0o077:
            path.chmod(0o600)
    lock = filelock.FileLock(path, mode=0o600, poll_interval=LOCK_POLL_SECONDS)
    try:
        lock.acquire(timeout=-1 if timeout_seconds is None else timeout_seconds)
    except filelock.Timeout as error:
        held = f"{path} was held by another process for {timeout_seconds:g} s"
        raise TimeoutError(f"{held}{find_holder(path)}") from error
    try:
        yield
    finally:
        lock.release()


def find_holder(path: Path) -> str:
    """Return ": process 7, memory-core index" for who holds the lock on a file; "" where the system does not say."""
    with suppress(OSError, ValueError, IndexError):
        listed = Path("/proc/locks").read_text(encoding="ascii")  # Windows has neither this nor `os.major`
        held = path.stat()
        place = f"{os.major(held.st_dev):02x}:{os.minor(held.st_dev):02x}:{held.st_ino}"
        for line in listed.splitlines():
            words = line.split()
            if place in words and "->" not in words and (number := words[words.index(place) - 1]) != "-1":
                told = Path(f"/proc/{number}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                return f": process {number}, {told.strip()[:200]}".removesuffix(", ")
    return ""


def write_all(descriptor: int, data: bytes) -> None:
    """Write all bytes, in one call if the system takes them in one, and wait until the disk has them."""
    left = memoryview(data)
    while left:
        left = left[os.write(descriptor, left) :]
    os.fsync(descriptor)


def append_bytes(path: Path, data: bytes) -> int:
    """Append bytes to a file of ours in one write, as several processes may at once; return the size of the file.

    Raises:
        OSError: It cannot be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | NOFOLLOW | BINARY | CLOEXEC, 0o600)
    try:
        os.write(descriptor, data)
        return os.fstat(descriptor).st_size
    finally:
        os.close(descriptor)


def replace_file(path: Path, data: bytes, *, mode: int | None = 0o600, root: Path | None = None) -> None:
    """Replace a file as a whole: readers see the old bytes or the new ones, also after kill -9 or a power cut.

    Call this under a lock: the temporary file has one fixed name, so that a killed writer leaves at most one file
    behind, which the next writer removes. Whatever else stands under that name is left alone. A link at the path is replaced,
    never followed.

    Args:
        path: The file.
        data: The new content.
        mode: Of the file; None keeps that of the file, and its owner, and is 600 where there is none.
        root: A folder below which no link is followed on the way to the file, and folders are made that are missing; None takes
            the path as it is.

    Raises:
        OSError: The file cannot be written, is a folder, or belongs to somebody else and would not any more.
    """
    staged = stage_file(path, data, mode=mode, root=root)
    place_file(staged, path, root=root)


def stage_file(path: Path, data: bytes, *, mode: int | None = 0o600, root: Path | None = None) -> Path:
    """Write the new bytes of a file to another one beside it, and wait until the disk has them; see `replace_file`.

    Returns:
        The file to hand to `place_file`, or to remove.
    """
    with open_folder(path.parent, root) as folder:
        at = _name_in(path.parent, folder)
        found: os.stat_result | None = None
        with suppress(FileNotFoundError):
            found = os.stat(at(path.name), dir_fd=folder, follow_symlinks=False)
        try:
            temporary, descriptor = _create_beside(path.name, folder, at)
        except OSError as error:
            raise OSError(error.errno, error.strerror, str(path)) from error  # not the name of a temporary file alone
        try:
            if mode is None and found is not None and stat.S_ISREG(found.st_mode):
                mode = stat.S_IMODE(found.st_mode)
                _keep_owner(descriptor, found)
            mode = 0o600 if mode is None else mode
            if hasattr(os, "fchmod"):
                os.fchmod(descriptor, mode)
            else:
                os.chmod(at(temporary), mode, dir_fd=folder)
            write_all(descriptor, data)
        except BaseException as error:
            with suppress(OSError):
                os.unlink(at(temporary), dir_fd=folder)
            if isinstance(error, OSError) and error.filename is None:
                error.filename = str(path)
            raise
        finally:
            os.close(descriptor)
        return path.parent / temporary


def place_file(staged: Path, path: Path, *, root: Path | None = None) -> None:
    """Rename a file from `stage_file` to the one that it replaces; remove it if that fails. See `replace_file`."""
    with open_folder(path.parent, root) as folder:
        at = _name_in(path.parent, folder)
        try:
            os.replace(at(staged.name), at(path.name), src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            with suppress(OSError):
                os.unlink(at(staged.name), dir_fd=folder)
            raise
        if folder is not None:
            os.fsync(folder)


def _name_in(parent: Path, folder: int | None) -> Callable[[str], str]:
    """Return a function that names a file of a folder: by its name if the folder is open, else by its path."""
    return functools.partial(os.path.join, parent) if folder is None else str


@contextmanager
def open_folder(folder: Path, root: Path | None, *, makes: bool = True) -> Iterator[int | None]:
    """Open a folder step by step, following no link that somebody has put in the way; yield None where the system cannot.

    Args:
        folder: The folder.
        root: A folder above it, below which no link is followed; None takes the path as it is.
        makes: Make the folders below the root that are missing.

    Raises:
        OSError: It cannot be opened or made, or a link is in the way.
    """
    below = () if root is None else folder.relative_to(root).parts
    if not OPENS_BELOW:
        for link in (folder, *folder.parents)[: len(below)]:
            if link.is_symlink():
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(link))
        if makes:
            folder.mkdir(parents=True, exist_ok=root is not None or folder.exists())
        yield None
        return
    top = (folder if root is None else root).resolve()
    # Without PATH_ONLY, folders on the way have to be readable, and those above the root need not be.
    start, names = (top.anchor, (*top.parts[1:], *below)) if PATH_ONLY else (top, below)
    opened = os.open(start, os.O_RDONLY | DIRECTORY | NOFOLLOW | CLOEXEC)
    try:
        for left, name in zip(range(len(names), 0, -1), names, strict=True):
            if makes and left <= len(below):
                with suppress(FileExistsError):
                    os.mkdir(name, dir_fd=opened)
                    _sync_folder(opened)
            way = PATH_ONLY if left > 1 else os.O_RDONLY  # the folder itself is handed to fsync
            outer, opened = opened, os.open(name, way | DIRECTORY | NOFOLLOW | CLOEXEC, dir_fd=opened)
            os.close(outer)
        yield opened
    finally:
        os.close(opened)


def _sync_folder(opened: int) -> None:
    """Have the disk know of what was made in a folder; one that may be entered, and not read, cannot be synced."""
    with suppress(PermissionError):
        readable = os.open(".", os.O_RDONLY | DIRECTORY | CLOEXEC, dir_fd=opened)
        try:
            os.fsync(readable)
        finally:
            os.close(readable)


def _create_beside(name: str, folder: int | None, at: Callable[[str], str]) -> tuple[str, int]:
    """Create a temporary file for one of a folder; return its name and an open descriptor."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | NOFOLLOW | BINARY
    for temporary in (f".{name}{TEMPORARY}", f".{name}.{os.urandom(6).hex()}{TEMPORARY}"):
        with suppress(FileNotFoundError):
            found = os.stat(at(temporary), dir_fd=folder, follow_symlinks=False)
            if stat.S_ISREG(found.st_mode) and found.st_nlink == 1:  # of a killed writer
                os.unlink(at(temporary), dir_fd=folder)
        with suppress(FileExistsError):
            return temporary, os.open(at(temporary), flags, 0o600, dir_fd=folder)
    raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), name)


def _keep_owner(descriptor: int, found: os.stat_result) -> None:
    """Give a new file the owner and group of the one that it replaces, but not a group of which this user is no member."""
    made = os.fstat(descriptor)
    if hasattr(os, "fchown") and (made.st_uid, made.st_gid) != (found.st_uid, found.st_gid):
        try:
            os.fchown(descriptor, found.st_uid, found.st_gid)
        except PermissionError:
            if made.st_uid != found.st_uid:
                raise


def move_into_place(written: Path, path: Path) -> None:
    """Rename a file that is complete to its final name in the same folder: first its bytes reach the disk, then its name."""
    descriptor = os.open(written, os.O_RDWR | BINARY)  # Windows syncs only what may be written
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    written.replace(path)
    with open_folder(path.parent, None) as folder:
        if folder is not None:  # Windows opens no folders
            os.fsync(folder)
