"""A remote that cannot read what it keeps: the commits of each sync are one bundle of git, encrypted with age.

The remote's branch holds the bundles as numbered files. A machine unbundles those it has not seen into its own repository, where
the commits are merged as with any remote. Where there are many bundles, one with all commits takes their place.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from memory_core.__about__ import explain_install
from memory_core.atomic import replace_file
from memory_core.errors import InvalidArgument, SharingFailed
from memory_core.sharing.repository import FETCHED, MADE, NewCommit, Repository

OUTER = "refs/memory-core/outer"  # the remote's branch, as it was fetched last
READ = "refs/memory-core/read"  # the commit of that branch whose bundles are all in the repository
SUFFIX = ".age"
MOST_BUNDLES = 100  # after which one takes their place
LEAST_BYTES = 4096  # the size of a small bundle; others are a multiple of an eighth or less of their own
_MARK = "AGE-SECRET-KEY-"


def make_key(path: Path) -> None:
    """Write a new key, unless there is one."""
    age = _import_age()
    if not path.exists():
        identity = age.x25519.Identity.generate()
        replace_file(path, f"# public key: {identity.to_public()}\n{identity}\n".encode())


def take_key(given: Path, path: Path) -> None:
    """Copy the key of another machine.

    Raises:
        InvalidArgument: The file holds none.
    """
    _, text = _read_key(given)
    replace_file(path, text.encode())


def _import_age() -> Any:
    try:
        import pyrage
    except ImportError as error:
        problem = "encryption needs the package pyrage, which is not installed"
        raise SharingFailed(problem, action=explain_install("encrypt")) from error
    return pyrage


def _read_key(path: Path) -> tuple[Any, str]:
    """Return a key, and the text of its file."""
    age = _import_age()
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        action = "Name the key file of the other machine."
        raise InvalidArgument("--key", f"{path} cannot be read", action=action) from error
    line = next((line.strip() for line in text.splitlines() if line.strip().startswith(_MARK)), "")
    try:
        return age.x25519.Identity.from_str(line), text
    except age.IdentityError as error:
        raise InvalidArgument("--key", f"{path} holds no key of age", action=f"Its line begins with {_MARK}") from error


class EncryptedRemote:
    """The remote of a repository, encrypted to the key of one person.

    Args:
        repository: Holds the commits, readable.
        key: The key file.
    """

    def __init__(self, repository: Repository, key: Path) -> None:
        self._git = repository
        self._key, _ = _read_key(key)

    def fetch(self) -> str | None:
        """Fetch, and take the commits out of new bundles; return the last commit, None while there is none.

        Raises:
            SharingFailed: The remote is not encrypted, or to another key.
        """
        outer = self._git.fetch(OUTER)
        refs = self._git.list_refs()
        if outer is None or refs.get(READ) == outer:
            return None if outer is None else refs.get(FETCHED)
        seen = self._list(refs[READ]) if READ in refs else {}
        bundles = self._list(outer)
        if not bundles:
            raise SharingFailed("the remote is not encrypted", action="Name an empty repository.")
        tip = refs.get(FETCHED)
        new = [blob for name, blob in sorted(bundles.items()) if seen.get(name) != blob]
        sealed = self._git.load(new)
        for blob in new:
            tip = self._unbundle(sealed[blob])
        self._git.set_refs({FETCHED: tip, READ: outer})
        return tip

    def push(self, commit: str, replaces: str | None = None) -> bool:
        """Send the commits that the remote lacks as one bundle; return False if another machine was faster."""
        refs = self._git.list_refs()
        outer = refs.get(OUTER)
        names = self._list(outer) if outer else {}
        if names:  # the other machines could not read what is sent to another key
            self._decrypt(*self._git.load([names[max(names)]]).values())
        whole = outer is None or replaces is not None or len(names) >= MOST_BUNDLES
        self._git.set_refs({MADE: commit})
        bundle = self._git.run("bundle", "create", "-", MADE, *([] if whole else [f"^{refs[FETCHED]}"]))
        number = int(max(names, default="0").removesuffix(SUFFIX)) + 1
        texts = {f"{number:08}{SUFFIX}": self._encrypt(bundle)}
        made = self._git.commit([NewCommit(OUTER, "sync", texts, None if whole else outer, alone=whole)])
        if not self._git.push(made, outer if whole else None):
            return False
        self._git.set_refs({FETCHED: commit, READ: made, MADE: None})
        return True

    def _list(self, outer: str) -> dict[str, str]:
        return {name: blob for name, blob, _ in self._git.list_files(outer) if name.endswith(SUFFIX)}

    def _encrypt(self, bundle: bytes) -> bytes:
        step = max(LEAST_BYTES, 1 << max(0, len(bundle).bit_length() - 4))
        padded = len(bundle).to_bytes(8, "big") + bundle
        sealed: bytes = _import_age().encrypt(padded + bytes(-len(padded) % step), [self._key.to_public()])
        return sealed

    def _decrypt(self, sealed: bytes) -> bytes:
        age = _import_age()
        try:
            opened: bytes = age.decrypt(sealed, [self._key])
        except age.DecryptError as error:
            action = "Take the key file of the machine that set it up: memory-core sync init URL --key FILE"
            raise SharingFailed("the remote is encrypted to another key, or damaged", action=action) from error
        return opened

    def _unbundle(self, sealed: bytes) -> str:
        """Take the commits out of a bundle; return the last of them."""
        padded = self._decrypt(sealed)
        path = self._git.folder / "taken.bundle"
        path.write_bytes(padded[8 : 8 + int.from_bytes(padded[:8], "big")])
        try:
            return self._git.run("bundle", "unbundle", str(path)).decode().split()[0]
        finally:
            path.unlink()
