"""Which file systems are changed by this system alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from memory_core.sync.watcher import LOCAL, find_file_system, has_mount, read_mounts

TABLE = r"""22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
30 22 0:26 / /home/ann/share rw - nfs4 server:/export rw
31 22 0:27 / /mnt/with\040space rw - fuse.sshfs ann@host:/ rw
32 22 0:28 / /mnt/over rw - 9p host rw
33 22 0:29 / /mnt/over rw - tmpfs tmpfs rw
"""


@pytest.fixture
def mounts(tmp_path: Path) -> list[tuple[str, str]]:
    (tmp_path / "mountinfo").write_text(TABLE)
    return read_mounts(tmp_path / "mountinfo")


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
def test_the_innermost_mount_counts(path: str, kind: str, mounts: list[tuple[str, str]]) -> None:
    found = find_file_system(path, mounts)
    assert found == kind
    assert (found in LOCAL) == (kind in {"ext4", "tmpfs"})


def test_a_system_that_does_not_say_is_not_trusted(tmp_path: Path) -> None:
    found = find_file_system("/", read_mounts(tmp_path / "none"))
    assert found is None
    assert found not in LOCAL


@pytest.mark.parametrize("end", ["\x0b", "\x1c", "\x85", "\u2028", "\r", "\udc80"])
def test_a_mount_may_have_line_ends_in_its_name(end: str, tmp_path: Path) -> None:
    table = tmp_path / "mountinfo"
    line = f"34 22 0:30 / /mnt/a{end}b rw - nfs4 server:/x rw\n"
    table.write_bytes((TABLE + line + "broken\n").encode("utf-8", "surrogateescape"))
    assert find_file_system(f"/mnt/a{end}b/c.md", read_mounts(table)) == "nfs4"
    assert find_file_system("/mnt/over/notes", read_mounts(table)) == "tmpfs"


def test_a_mount_is_found_at_a_file_and_below_a_folder(mounts: list[tuple[str, str]]) -> None:
    assert has_mount("/home/ann", mounts, is_file=False)
    assert not has_mount("/home/ann/share", mounts, is_file=False)
    assert not has_mount("/home/an", mounts, is_file=False)
    assert has_mount("/", mounts, is_file=False)
    assert has_mount("/mnt/with space", mounts, is_file=True)
    assert not has_mount("/mnt/with", mounts, is_file=True)
