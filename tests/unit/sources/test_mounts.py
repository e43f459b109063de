"""Which file systems are changed by this system alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from memory_core.sources.mounts import find_file_system, is_local

TABLE = r"""22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
30 22 0:26 / /home/ann/share rw - nfs4 server:/export rw
31 22 0:27 / /mnt/with\040space rw - fuse.sshfs ann@host:/ rw
32 22 0:28 / /mnt/over rw - 9p host rw
33 22 0:29 / /mnt/over rw - tmpfs tmpfs rw
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/home/ann/notes", "ext4"),
        ("/home/ann/share", "nfs4"),
        ("/home/ann/share/memory/a.md", "nfs4"),
        ("/home/ann/shared", "ext4"),
        ("/mnt/with space/notes", "fuse.sshfs"),
        ("/mnt/over/notes", "tmpfs"),
    ],
)
def test_the_innermost_mount_counts(path: str, kind: str, tmp_path: Path) -> None:
    table = tmp_path / "mountinfo"
    table.write_text(TABLE)
    assert find_file_system(path, table) == kind
    assert is_local(path, table) == (kind in {"ext4", "tmpfs"})


def test_a_system_that_does_not_say_is_not_trusted(tmp_path: Path) -> None:
    assert find_file_system("/", tmp_path / "none") is None
    assert not is_local("/", tmp_path / "none")
