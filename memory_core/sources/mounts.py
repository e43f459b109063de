"""File systems whose changes this system alone makes, so that it can tell of each of them."""

from __future__ import annotations

import re
from pathlib import Path

MOUNTS = Path("/proc/self/mountinfo")
# Files on others, such as nfs, cifs, 9p, fuse and virtiofs, are also changed by other machines, of which nobody here hears.
LOCAL = frozenset(
    {"ext2", "ext3", "ext4", "xfs", "btrfs", "f2fs", "tmpfs", "ramfs", "zfs", "bcachefs", "overlay", "jfs", "reiserfs"}
)
_ESCAPE = re.compile(r"\\([0-7]{3})")


def read_mounts(mounts: Path = MOUNTS) -> str:
    """Return the system's table of mounts, empty if there is none.

    Args:
        mounts: In the form of https://man7.org/linux/man-pages/man5/proc_pid_mountinfo.5.html.
    """
    try:
        return mounts.read_bytes().decode("utf-8", "surrogateescape")  # names of mounts may hold any line end but "\n"
    except OSError:
        return ""


def list_mounts(table: str) -> list[tuple[str, str]]:
    """Return the path and the type of file system of each mount of a table, the later on top of the earlier."""
    found = []
    for line in table.split("\n"):
        mount, _, kind = line.partition(" - ")
        fields = mount.split(" ")
        if len(fields) > 4:
            found.append((_ESCAPE.sub(lambda match: chr(int(match[1], 8)), fields[4]), kind.split(" ")[0]))
    return found


def find_file_system(path: str, table: str) -> str | None:
    """Return the type of the file system on which a real path lies, such as "ext4"; None if the table does not say.

    Args:
        path: Absolute, without symbolic links; it need not exist.
        table: See `read_mounts`.
    """
    longest, found = -1, None
    for point, kind in list_mounts(table):
        if _holds(point, path) and len(point) >= longest:  # the last one of several at one place lies on top
            longest, found = len(point), kind
    return found


def is_local(path: str, table: str) -> bool:
    """Return True if a real path lies on a file system that this system alone changes."""
    return find_file_system(path, table) in LOCAL


def find_mount_below(folder: str, table: str) -> str | None:
    """Return the path of some mount below a real path, which the path itself is not; None if there is none."""
    return next((point for point, _ in list_mounts(table) if point != folder and _holds(folder, point)), None)


def is_mount(path: str, table: str) -> bool:
    """Return True if something is mounted at a real path itself."""
    return any(point == path for point, _ in list_mounts(table))


def _holds(folder: str, path: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")
