"""The sync of one workspace as commands and hosts use it: set up, run, looked at, switched off, purged."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from memory_core.atomic import replace_file
from memory_core.config.agent import AgentConfig
from memory_core.errors import InvalidArgument, MemoryCoreError, RemoteUnreachable, SharingFailed
from memory_core.sharing import STATE, bundles
from memory_core.sharing.repository import FETCHED, OWN, SENT, Repository, hold
from memory_core.sharing.syncing import TRIES, Shared, SharedRemote, SharedText, Sync
from memory_core.sharing.workspace import is_note
from memory_core.sources.redaction import redact

ITEMS_FOLDER = "items/"  # of the repository
README = "README.md"  # which hosts of repositories put into a new one
INIT = "run: memory-core sync init URL"


@dataclass(frozen=True, slots=True, kw_only=True)
class SharingState:
    """The state of the sync of a workspace, as it is kept.

    Attributes:
        url: The remote; with a password if the user has put one in.
        encrypted: The remote cannot read what it keeps.
        on: It is synced.
        tried, synced: Unix seconds of the last try, and of the last one that worked; 0 for never.
        problem: Why the last try did not work; "" if it did.
        waits: The remote did not answer, and is tried again.
        withheld, left_out: See `Shared`.
    """

    url: str
    encrypted: bool = False
    on: bool = True
    tried: float = 0.0
    synced: float = 0.0
    problem: str = ""
    waits: bool = False
    withheld: tuple[str, ...] = ()
    left_out: Mapping[str, str] = field(default_factory=dict)

    @property
    def shown_url(self) -> str:
        """The remote without a password."""
        return redact(self.url)


class Sharing:
    """The sync of one workspace. The constructor does nothing.

    Args:
        config: The agent's.
        others: What is synced besides the notes.
    """

    def __init__(self, config: AgentConfig, others: Sequence[SharedText] = ()) -> None:
        self._config = config
        self._others = others
        self._folder = config.sharing_dir
        self.key = self._folder / "key.txt"

    def load(self) -> SharingState | None:
        """Return what is kept; None if it was never set up."""
        try:
            values = json.loads((self._folder / STATE).read_bytes())
        except FileNotFoundError:
            return None
        return SharingState(**{**values, "withheld": tuple(values["withheld"])})

    def init(self, url: str, *, encrypt: bool = False, key: Path | None = None, public: bool = False) -> Shared:
        """Set up the sync with a remote, and sync.

        Args:
            url: As `git clone` takes it.
            encrypt: Encrypt what is sent to a new key.
            key: The key file of the machine that did so.
            public: The remote may be one that anybody can read.

        Raises:
            InvalidArgument: Anybody can read the remote, it holds other files, or the key is none.
            RemoteUnreachable: There is no answer, or the credentials are refused.
        """
        local = Path(url).expanduser()
        state = SharingState(
            url=str(local.resolve()) if url.strip() and local.exists() else url, encrypted=encrypt or key is not None
        )
        with self._open(state) as git:
            if key is not None:
                bundles.take_key(key, self.key)
            elif encrypt:
                bundles.make_key(self.key)
            git.prepare()
            if not (public or state.encrypted) and git.is_public():
                raise InvalidArgument(
                    "URL",
                    "anybody can read that repository",
                    action="Name a private one, or add --encrypt or --public.",
                )
            tip = self._open_remote(git, state).fetch()
            held = [path for path, _, _ in git.list_files(tip)] if tip else []
            for path in held:
                if path.endswith(bundles.SUFFIX):
                    raise InvalidArgument("URL", "that repository is encrypted", action="Add: --key FILE")
                if not is_note(path) and not path.startswith(ITEMS_FOLDER) and path != README:
                    raise InvalidArgument("URL", f"that repository holds {path}", action="Name an empty repository.")
            self._save(state)
        return self.sync()

    def sync(self) -> Shared:
        """Sync once; see `Sync.run`. What came of it is kept.

        Raises:
            SharingFailed: It was not set up, or does not work; `RemoteUnreachable` if it is tried again.
        """
        return self._run(lambda git, remote: Sync(self._config, git, remote, self._others).run())

    def purge(self) -> Shared:
        """Sync, and put one commit without a past in the place of all that the remote has; other machines follow.

        Raises:
            SharingFailed: See `sync`.
        """
        return self._run(self._purge)

    def _purge(self, git: Repository, remote: SharedRemote) -> Shared:
        sync = Sync(self._config, git, remote, self._others)
        for _ in range(TRIES):
            done = sync.run()
            last = git.list_refs().get(OWN)
            if last is None:
                return done
            new = git.replace(last, git.find_line(last))
            if remote.push(new, replaces=last):
                git.set_refs({OWN: new, SENT: new, FETCHED: new})
                git.clean(purge=True)
                return done
        raise RemoteUnreachable("other machines were always faster", action="Try again.")

    def switch_off(self) -> None:
        """Sync no more; what is kept stays, so that `init` goes on from there.

        Raises:
            SharingFailed: It was not set up.
        """
        state = self._load_on()
        with hold(self._folder / "lock"):
            self._save(replace(state, on=False))

    def _load_on(self) -> SharingState:
        state = self.load()
        if state is None or not state.on:
            raise SharingFailed("these notes are not synced", action=INIT)
        return state

    @contextmanager
    def _open(self, state: SharingState) -> Iterator[Repository]:
        with hold(self._folder / "lock") as inherited:
            yield Repository(self._folder / "notes.git", state.url, inherited)

    def _open_remote(self, git: Repository, state: SharingState) -> SharedRemote:
        return bundles.EncryptedRemote(git, self.key) if state.encrypted else git

    def _save(self, state: SharingState) -> None:
        replace_file(self._folder / STATE, json.dumps(asdict(state), ensure_ascii=False).encode())

    def _run(self, work: Callable[[Repository, SharedRemote], Shared]) -> Shared:
        """Work on the repository under its lock, and keep what came of it."""
        state = self._load_on()
        now = time.time()
        with self._open(state) as git:
            try:
                done = work(git, self._open_remote(git, state))
            except MemoryCoreError as error:
                self._save(replace(state, tried=now, problem=str(error), waits=isinstance(error, RemoteUnreachable)))
                raise
            self._save(replace(
                state, tried=now, synced=now, problem="", waits=False, withheld=done.withheld, left_out=done.left_out,
            ))  # fmt: skip
        return done


def list_remains(config: AgentConfig, deleted: Sequence[object] = (True,)) -> list[str]:
    """Say where text that is deleted here remains; nothing where nothing was deleted or synced."""
    state = Sharing(config).load() if deleted else None
    if state is None or not state.synced:
        return []
    return [f"the past of {state.shown_url} holds what was synced: memory-core sync purge"]
