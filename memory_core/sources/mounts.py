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


def find_file_system(path: str, mounts: Path = MOUNTS) -> str | None:
    """Return the type of the file system on which a real path lies, such as "ext4"; None if the system does not say.

    Args:
        path: Absolute, without symbolic links; it need not exist.
        mounts: In the form of https://man7.org/linux/man-pages/man5/proc_pid_mountinfo.5.html.
    """
    try:
        lines = mounts.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return None
    longest, found = -1, None
    for line in lines:
        mount, _, kind = line.partition(" - ")
        point = _ESCAPE.sub(lambda match: chr(int(match[1], 8)), mount.split(" ")[4])
        holds = path == point or path.startswith(point.rstrip("/") + "/")
        if holds and len(point) >= longest:  # the last one of several at one place lies on top
            longest, found = len(point), kind.split(" ")[0]
    return found


def is_local(path: str, mounts: Path = MOUNTS) -> bool:
    """Return True if a real path lies on a file system that this system alone changes."""
    return find_file_system(path, mounts) in LOCAL
