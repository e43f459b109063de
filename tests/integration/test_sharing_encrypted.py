"""A remote that cannot read what it keeps: real encryption with age over a real bare repository."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from memory_core.errors import InvalidArgument, SharingFailed
from memory_core.sharing import bundles
from tests.integration.test_sharing import DAY, sync_all
from tests.machines import Machine, list_objects, make_machines, make_remote, run_git


@pytest.fixture
def machines(tmp_path: Path) -> tuple[Machine, Machine]:
    laptop, desktop = make_machines(tmp_path, ["laptop", "desktop"], encrypt=True)
    laptop.write("MEMORY.md", "# Memory\n\n- The cat is called Mia.\n")
    laptop.write(DAY, "# 2026-03-02\n\n- 08:10 Breakfast\n")
    sync_all(laptop, desktop)
    return laptop, desktop


def test_no_word_of_the_notes_is_in_the_remote(machines: tuple[Machine, Machine]) -> None:
    laptop, desktop = machines
    desktop.write("memory/people/ann.md", "# Ann\n\nShe lives in Bern.\n")
    sync_all(laptop, desktop)
    everything = b"\0".join(list_objects(laptop.remote)).lower().replace(b"memory-core", b"")
    words = {word.strip(".") for name in laptop.notes() for word in f"{laptop.read(name)} {name}".lower().split()}
    assert [word for word in words if len(word) > 4 and word.encode() in everything] == []
    tree = run_git(laptop.remote, "ls-tree", "-r", "--name-only", "main")
    assert ".md" not in tree  # among random bytes three letters may stand by chance, in the tree only as a name
    assert laptop.sync().sent == desktop.sync().sent == ()


def test_many_bundles_become_one(machines: tuple[Machine, Machine], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundles, "MOST_BUNDLES", 3)
    laptop, desktop = machines
    for number in range(5):
        laptop.append(DAY, f"- 1{number}:00 Line {number}\n")
        laptop.sync()
    assert len(run_git(laptop.remote, "ls-tree", "--name-only", "main").split()) < 4
    desktop.append(DAY, "- 19:00 Of the desktop\n")
    sync_all(desktop, laptop)
    assert set(laptop.count_lines().values()) == {1}
    third = Machine(desktop.folder.with_name("third"), desktop.remote)
    third.init(key=laptop.sharing.key)
    assert third.notes() == laptop.notes()


def test_the_key_is_needed_and_must_be_the_right_one(machines: tuple[Machine, Machine], tmp_path: Path) -> None:
    third = Machine(tmp_path / "third", machines[0].remote)
    with pytest.raises(InvalidArgument, match="is encrypted"):
        third.init()
    with pytest.raises(SharingFailed, match="to another key"):
        third.init(encrypt=True)
    (tmp_path / "no-key").write_text("nothing\n")
    with pytest.raises(InvalidArgument, match="holds no key of age"):
        third.init(key=tmp_path / "no-key")
    assert third.notes() == {}
    third.init(key=machines[0].sharing.key)
    assert third.notes() == machines[0].notes()
    right = third.sharing.key.read_text(encoding="utf-8")
    third.append(DAY, "- 09:00 Of the third\n")
    for wrong in (bundles.make_key().text, "nothing\n", None):
        third.sharing.key.unlink()
        if wrong:
            third.sharing.key.write_text(wrong, encoding="utf-8")
        with pytest.raises(SharingFailed, match=r"another key|lost or damaged"):
            third.sync()
    machines[0].sync()  # nothing was sent that only the other key opens
    third.sharing.key.write_text(right, encoding="utf-8")
    sync_all(third, *machines)
    assert machines[0].sharing.key.stat().st_mode & 0o777 == 0o600


def test_no_key_is_overwritten_and_one_is_kept_only_if_it_opens_the_remote(
    machines: tuple[Machine, Machine], tmp_path: Path
) -> None:
    laptop, _ = machines
    right = laptop.sharing.key.read_text(encoding="utf-8")
    other = tmp_path / "other.txt"
    other.write_text(bundles.make_key().text, encoding="utf-8")
    with pytest.raises(InvalidArgument, match=f"{other} is another key than {laptop.sharing.key}"):
        laptop.init(key=other)
    assert laptop.sharing.key.read_text(encoding="utf-8") == right
    laptop.sharing.key.unlink()
    for encrypt, key in ((True, None), (False, other)):
        with pytest.raises(SharingFailed, match="to another key"):
            laptop.init(encrypt=encrypt, key=key)
        assert not laptop.sharing.key.exists()
    other.write_text(right, encoding="utf-8")
    with pytest.raises(InvalidArgument, match="is encrypted"):
        laptop.init()
    laptop.init(key=other)  # which opens the remote also after a call without it
    assert laptop.sharing.key.read_text(encoding="utf-8") == right
    sync_all(*machines)


def test_nothing_readable_is_sent_to_a_remote_that_was_made_anew_and_encrypted(
    machines: tuple[Machine, Machine], tmp_path: Path
) -> None:
    remote = make_remote(tmp_path / "readable.git")
    first = Machine(tmp_path / "first", remote)
    first.write("MEMORY.md", "# Memory\n\n- The party is a surprise.\n")
    first.init()
    shutil.rmtree(remote)
    machines[0].remote.rename(remote)
    with pytest.raises(SharingFailed, match="the remote is encrypted"):
        first.sync()
    assert not any(b"surprise" in each for each in list_objects(remote))


def test_a_remote_that_is_readable_is_not_taken_for_an_encrypted_one(tmp_path: Path) -> None:
    remote = make_remote(tmp_path / "remote.git")
    first = Machine(tmp_path / "first", remote)
    first.write("MEMORY.md", "# Memory\n\n- One.\n")
    first.init()
    with pytest.raises(SharingFailed, match="is not encrypted"):
        Machine(tmp_path / "second", remote).init(encrypt=True)
    assert not Machine(tmp_path / "second", remote).sharing.key.exists()
