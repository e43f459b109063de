"""A remote that cannot read what it keeps: the commits of each sync are one bundle of git, encrypted with age.

The remote's branch holds the bundles as numbered files. A machine unbundles those it has not seen into its own repository, where
the commits are merged as with any remote. Where there are many bundles, one with all commits takes their place.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, NamedTuple

from memory_core.__about__ import explain_install
from memory_core.errors import InvalidArgument, SharingFailed
from memory_core.sharing.repository import FETCHED, MADE, NewCommit, Repository

OUTER = "refs/memory-core/outer"  # the remote's branch, as it was fetched last
READ = "refs/memory-core/read"  # the commit of that branch whose bundles are all in the repository
SUFFIX = ".age"
MOST_BUNDLES = 100  # after which one takes their place
LEAST_BYTES = 4096  # the size of a small bundle; others are a multiple of an eighth or less of their own
_MARK = "AGE-SECRET-KEY-"


class Key(NamedTuple):
    """A key of age, and the text of its file."""

    identity: Any
    text: str


def make_key() -> Key:
    """Return a new key."""
    identity = _import_age().x25519.Identity.generate()
    return Key(identity, f"# public key: {identity.to_public()}\n{identity}\n")


def read_key(path: Path) -> Key:
    """Return the key of a file.

    Raises:
        InvalidArgument: The file holds none.
    """
    age = _import_age()
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        action = "Name the key file of the other machine."
        raise InvalidArgument("--key", f"{path} cannot be read", action=action) from error
    line = next((line.strip() for line in text.splitlines() if line.strip().startswith(_MARK)), "")
    try:
        return Key(age.x25519.Identity.from_str(line), text)
    except age.IdentityError as error:
        raise InvalidArgument("--key", f"{path} holds no key of age", action=f"Its line begins with {_MARK}") from error


def is_bundle(path: str) -> bool:
    """Return True if a file of a commit is a bundle, so that its remote is encrypted."""
    return re.fullmatch(r"\d+\.age", path) is not None


def _import_age() -> Any:
    try:
        import pyrage
    except ImportError as error:
        problem = "encryption needs the package pyrage, which is not installed"
        raise SharingFailed(problem, action=explain_install("encrypt")) from error
    return pyrage


class EncryptedRemote:
    """The remote of a repository, encrypted to the key of one person.

    Args:
        repository: Holds the commits, readable.
        key: The person's.
    """

    def __init__(self, repository: Repository, key: Key) -> None:
        self._git = repository
        self._key = key.identity

    def fetch(self) -> str | None:
        """Fetch, and take the commits out of new bundles; return the last commit, None while there is none.

        Raises:
            SharingFailed: The remote is not encrypted, or to another key.
        """
        outer = self._git.fetch(OUTER)
        refs = self._git.list_refs()
        if outer is None:
            return None
        is_whole = READ not in refs or refs.get(FETCHED) == outer  # which was fetched without a key
        if not is_whole and refs[READ] == outer:
            return refs.get(FETCHED)
        seen = {} if is_whole else self._list(refs[READ])
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

    def check(self) -> None:
        """Open the last bundle that was fetched: the other machines could not read what is sent to another key.

        Raises:
            SharingFailed: It is encrypted to another key.
        """
        outer = self._git.list_refs().get(OUTER)
        if outer and (names := self._list(outer)):
            self._decrypt(*self._git.load([names[max(names)]]).values())

    def push(self, commit: str, replaces: str | None = None) -> bool:
        """Send the commits that the remote lacks as one bundle; return False if another machine was faster."""
        refs = self._git.list_refs()
        outer = refs.get(OUTER)
        names = self._list(outer) if outer else {}
        self.check()
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
        return {name: blob for name, blob, _ in self._git.list_files(outer) if is_bundle(name)}

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
