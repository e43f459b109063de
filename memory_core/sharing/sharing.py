"""The sync of one workspace with its remote: set up, run (read, fetch, merge, write, push), looked at, switched off, purged.

A sync may be killed at any point. Before it changes a note, one ref records what is to be written: the record's tree holds
the notes as they were and, in a folder, as they are to be, its message their paths, and its parent is the commit they belong to.
A file lists what is written. The next sync writes the rest first: it merges the notes as they were, as they are to be and as they
are now, and makes a record of that.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

from memory_core.atomic import replace_file
from memory_core.config.agent import AgentConfig
from memory_core.config.environment import quote_words
from memory_core.config.problems import get_adapter
from memory_core.errors import InvalidArgument, RemoteUnreachable, SharingFailed
from memory_core.sharing import STATE, bundles
from memory_core.sharing.losses import Losses, settle_losses
from memory_core.sharing.merge import Conflict, Tree, find_renamed, list_long, list_own, merge_folders
from memory_core.sharing.repository import (
    ABSENT,
    FETCHED,
    MADE,
    OWN,
    SENT,
    WRITING,
    NewCommit,
    Repository,
    end_running,
    hold,
    name_blob,
)
from memory_core.sharing.workspace import SAME_NAME, Workspace, decode, encode, fold, is_candidate, is_note, refuse
from memory_core.sources.redaction import redact
from memory_core.sources.refusals import refuse_encoding
from memory_core.sources.writer import FIRST_NOTE

TRIES = 10  # while other machines are faster
PAUSE_SECONDS = 0.05  # before the second try, on average half of it; doubled for each further one
LONGEST_PAUSE = 6  # doublings
MESSAGE = "memory-core: sync"
MEANT = "Deleted: as the person said"  # in the message of a commit of `sync --delete` or `sync purge`
FIRST = name_blob(FIRST_NOTE.encode())
NEXT = "next/"  # in the record's tree: the notes as they are to be
LEFT = "has lost lines to {}, which is not sent"
WRITTEN = "memory-core-written"  # in the repository: the record's hash, and the paths that are written, a line each


@dataclass(frozen=True, slots=True)
class SharedText:
    """A text that is synced beside the notes and kept elsewhere, such as the items.

    Attributes:
        path: In the repository.
        read: Returns the text; "" if there is none. It takes the last one that was synced, of which what has not changed since
            then stays as it was written.
        merge: Merges the base and two versions.
        write: Takes over a change: the text as it was read, and as it is to be. What was written since then stays.
        refuse: Returns the numbers of the lines of a text that cannot be used, from 1, and why.
        list_ids: Returns the ids of what a text holds and this version reads; what is lost of them is treated as lost notes are.
        list_forgotten: Returns those of them that were forgotten here on purpose, and so are not lost.
    """

    path: str
    read: Callable[[str], str]
    merge: Callable[[str, str, str], str]
    write: Callable[[str, str], None]
    refuse: Callable[[str], Mapping[int, str]]
    list_ids: Callable[[str], Collection[str]]
    list_forgotten: Callable[[str], Collection[str]]


SharedRemote = Repository | bundles.EncryptedRemote
# By path, a text as it is and as it is to be; None if there is none.
_Texts = Mapping[str, tuple[str | None, str | None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared:
    """The outcome of a sync.

    Attributes:
        sent: The notes that were sent, by path.
        taken: The notes that were changed here, by path.
        conflicts: The parts that both sides had changed, with the path of their note.
        withheld: The places of secrets, as `path:line` or by the redacted name, whose notes were not sent.
        left_out: The files that are not synced, and why, by path.
    """

    sent: tuple[str, ...] = ()
    taken: tuple[str, ...] = ()
    conflicts: tuple[tuple[str, Conflict], ...] = ()
    withheld: tuple[str, ...] = ()
    left_out: Mapping[str, str] = field(default_factory=dict)


class Sync:
    """The notes of one workspace and the repository in which they are synced, under the lock of both.

    Args:
        config: The agent's.
        repository: Its repository.
        remote: Where other machines find them.
        others: What is synced besides.
        losses: What happens to notes that one side has lost.
    """

    def __init__(
        self,
        config: AgentConfig,
        repository: Repository,
        remote: SharedRemote,
        others: Sequence[SharedText] = (),
        losses: Losses = "refuse",
    ) -> None:
        self._config = config
        self._git = repository
        self._remote = remote
        self._others = {each.path: each for each in others}
        self._losses = losses
        self._settle_losses = partial(
            settle_losses,
            losses=losses,
            workspace=config.workspace,
            others={each.path: each.list_ids for each in others},
            forgotten={each.path: each.list_forgotten for each in others},
        )
        self._written = repository.folder / WRITTEN
        self._refs: dict[str, str] = {}
        self._is_purged = False  # the remote has replaced its past

    def run(self) -> Shared:
        """Sync; once it returns, the remote and this workspace hold the same, but for what is withheld.

        Raises:
            RemoteUnreachable: There is no answer; what was written here is sent by the next sync.
            SharingFailed: The notes or the repository cannot be used.
        """
        if self._losses in ("restore", "join"):
            self._config.workspace.mkdir(parents=True, exist_ok=True)
        self._git.prepare()
        self._finish()
        done = Shared()
        for attempt in range(TRIES):
            sent, done = self._try(done)
            if sent:
                if done.sent or done.taken or self._is_purged:
                    self._git.clean(purge=self._is_purged or bool(done.withheld))
                return done
            time.sleep(random.uniform(0, PAUSE_SECONDS * 2 ** min(attempt, LONGEST_PAUSE)))  # noqa: S311
        raise self._git.give_up()

    def purge(self) -> Shared:
        """Sync, and put one commit without a past in the place of all that the remote has.

        Raises:
            SharingFailed: See `run`.
        """
        for _ in range(TRIES):
            done = self.run()
            last = self._git.list_refs().get(OWN)
            if last is None:
                return done
            new = self._git.replace(last, self._git.find_line(last), *([MEANT] if self._is_meant(last) else []))
            if self._remote.push(new, replaces=last):
                self._git.set_refs({OWN: new, SENT: new, FETCHED: new})
                self._git.clean(purge=True)
                return done
        raise self._git.give_up()

    def _try(self, before: Shared) -> tuple[bool, Shared]:
        """Sync once; return False if another machine was faster, and the outcome with that of earlier tries."""
        self._refs = self._git.list_refs()
        remote = self._remote.fetch()
        common = self._find_base(remote)
        base, _ = self._list(common)
        absent = self._list_absent()  # not here, and so not deleted here
        base = {path: blob for path, blob in base.items() if path not in absent}
        theirs, left_out = self._list(remote, base)
        space, mine, read = self._read(base, theirs, left_out)
        if mine == theirs:
            if remote and (self._refs.get(OWN) != remote or space.displaced != absent):
                self._settle(remote, remote, space.displaced)
            return True, _add(before, left_out=left_out)
        is_meant = self._settle_losses(base, mine, theirs, read, find_meant=lambda: self._list_meant(common, remote))
        if self._losses == "join":  # the note that `memory-core init` makes gives way to any other
            both = (mine.keys() & theirs.keys()) - base.keys()
            base |= {path: FIRST for path in both if FIRST in (mine[path], theirs[path])}
        if not space.displaced <= absent:  # before the record, as a killed sync is finished without looking for them
            self._git.set_refs({ABSENT: self._keep_names(absent | space.displaced)})
        changes, conflicts = self._merge(base, theirs, mine, read)
        up, down = (
            {path: text for path, text in changes.items() if _hash(text) != side.get(path)} for side in (theirs, mine)
        )
        withheld = {path: found for path in up if path not in self._others and
                    (found := _find_secrets(path, up[path], read(theirs[path]) if path in theirs else None))}  # fmt: skip
        sources = _find_sources(up, {path: read(theirs[path]) for path in up if path in theirs}, withheld)
        left_out |= {path: LEFT.format(redact(target)) for path, target in sources.items()}
        up = {path: text for path, text in up.items() if path not in withheld and path not in sources}
        down = {path: text for path, text in down.items() if path not in space.displaced}
        texts = {path: (read(mine[path]) if path in mine else None, text) for path, text in down.items()}
        commit = self._record(remote, up, texts, is_meant=is_meant)
        self._write(space, texts)
        self._settle(commit, remote, space.displaced)
        done = _add(
            before, sent=(*up,), taken=(*down,), conflicts=(*conflicts,), left_out=left_out,
            withheld=tuple(place for places in withheld.values() for place in places),
        )  # fmt: skip
        if not up or commit is None:
            return True, done
        if not self._remote.push(commit):
            return False, done
        self._git.set_refs({SENT: commit})
        return True, done

    def _find_base(self, remote: str | None) -> str | None:
        """Return the last state that this machine and the remote have in common; None if there is none.

        Where the past of the remote was purged, that is the last one that was certainly sent.
        """
        own, sent = self._refs.get(OWN), self._refs.get(SENT)
        if remote is None or own is None:
            return None
        found = self._git.find_base(remote, own)
        if found is None and sent is not None and self._git.find_line(remote) == self._git.find_line(sent):
            self._is_purged = True
            return sent
        return found

    def _list(self, commit: str | None, known: Collection[str] = ()) -> tuple[dict[str, str], dict[str, str]]:
        """Return the hashes of what is synced in a commit, and why some notes are not; files of others are ignored.

        Args:
            commit: None for nothing.
            known: Of paths that are one for some file systems, those that count.
        """
        found: dict[str, str] = {}
        left_out: dict[str, str] = {}
        names: dict[str, str] = {}
        files = self._git.list_files(commit) if commit else ()
        for path, blob, size in sorted(files, key=lambda each: each[0] not in known):
            if bundles.is_bundle(path):
                raise SharingFailed("the remote is encrypted by now", action=f"{INIT} --key FILE")
            if path not in self._others and not is_candidate(path):
                continue
            first = names.setdefault(fold(path), path)
            problem = SAME_NAME.format(first) if first != path else None if path in self._others else refuse(path, size)
            if problem:
                left_out[path] = problem
            else:
                found[path] = blob
        return found, left_out

    def _read(
        self, base: dict[str, str], theirs: dict[str, str], left_out: dict[str, str]
    ) -> tuple[Workspace, dict[str, str], Callable[[str], str]]:
        """Read what is synced; return the notes, the hashes of all, and a function that returns the text of a hash.

        What is no text is taken from the trees and left out; in the place of a note it changes nothing. Nor does a folder here:
        the note counts as the one that the remote has.
        """
        space = Workspace(self._config.workspace, self._config.state_dir, {**base, **theirs})
        paths = {path for path in {*base, *theirs} if not base.get(path) == theirs.get(path) == space.hashes.get(path)}
        data = self._git.load(tree[path] for tree in (base, theirs) for path in paths & tree.keys())
        texts = {blob: decode(each) or "" for blob, each in data.items()}
        others = {path: other.read(texts.get(base.get(path, ""), "")) for path, other in self._others.items()}
        mine = space.hashes | {path: _hash(text) or "" for path, text in others.items() if text}
        left_out |= {
            path: problem for path in paths & theirs.keys() if (problem := refuse_encoding(data[theirs[path]]))
        }
        for tree in (base, theirs):
            for path in [path for path in paths & tree.keys() if refuse_encoding(data[tree[path]])]:
                del tree[path]
        theirs |= {path: base[path] for path in left_out.keys() & base.keys()}
        left_out |= {
            f"{path}:{line}": problem
            for path in self._others.keys() & theirs.keys()
            for line, problem in self._others[path].refuse(texts[theirs[path]]).items()
        }
        mine |= {path: theirs[path] for path in space.displaced & theirs.keys()}
        places = {blob: path for path, blob in mine.items()}

        def read(blob: str) -> str:
            if blob not in texts:
                place = places.get(blob)
                found = others.get(place) or space.read(place) if place else decode(self._git.load([blob])[blob])
                texts[blob] = found or ""
            return texts[blob]

        for path, problem in space.left_out.items():
            if path not in space.displaced and (path in base or path in theirs):
                raise SharingFailed(f"{path} cannot be synced: it {problem}", action="Put the note back in its place.")
        left_out |= space.left_out
        return space, mine, read

    def _merge(
        self, base: Mapping[str, str], theirs: Mapping[str, str], mine: Mapping[str, str], read: Callable[[str], str]
    ) -> tuple[dict[str, str | None], list[tuple[str, Conflict]]]:
        def take_notes(tree: Mapping[str, str]) -> dict[str, str]:
            return {path: blob for path, blob in tree.items() if path not in self._others}

        changes, conflicts = merge_folders(take_notes(base), take_notes(theirs), take_notes(mine), read)
        for path, other in self._others.items():
            if theirs.get(path) != mine.get(path):
                texts = (read(tree[path]) if path in tree else "" for tree in (base, theirs, mine))
                changes[path] = other.merge(*texts) or None
        return changes, conflicts

    def _record(
        self, remote: str | None, up: Mapping[str, str | None], texts: _Texts, *, is_meant: bool = False
    ) -> str | None:
        """Make the commit to be sent, and the record of what is about to be written; return the commit."""
        commits = []
        if up:
            told = f"{MESSAGE}\n\n{MEANT}" if is_meant or self._losses == "delete" else MESSAGE
            commits.append(NewCommit(MADE, told, {path: encode(text) for path, text in up.items()}, remote))
        if texts:
            held = {path: encode(was) for path, (was, _) in texts.items() if was is not None}
            held |= {f"{NEXT}{path}": encode(new) for path, (_, new) in texts.items() if new is not None}
            message = json.dumps(sorted(texts))
            commits.append(NewCommit(WRITING, message, held, MADE if up else remote, alone=True))
        made = self._git.commit(commits) if commits else None
        return made if up else remote

    def _write(self, space: Workspace, texts: _Texts) -> None:
        """Write notes and other texts, and list each one that is written."""
        if not texts:
            return
        with self._written.open("w", encoding="utf-8") as written:

            def tell(line: str) -> None:
                print(line, file=written, flush=True)

            tell(self._git.list_refs()[WRITING])
            for path, other in self._others.items():
                if path in texts:
                    was, new = texts[path]
                    other.write(was or "", new or "")
                    tell(path)
            if notes := {path: each for path, each in sorted(texts.items()) if path not in self._others}:
                space.write(notes, tell)

    def _list_meant(self, base: str | None, remote: str | None) -> Tree | None:
        """Return the last state since the base to whose losses a person has agreed; None if there is none."""
        meant = base and remote and self._git.find_message(MEANT, remote, base)
        return self._list(meant)[0] if meant else None

    def _is_meant(self, commit: str) -> bool:
        """Return True if a person has agreed to losses before a commit, and not much was lost since."""
        meant = self._git.find_message(MEANT, commit)
        if meant is None:
            return False
        base, last = self._list(meant)[0], self._list(commit)[0]
        texts = self._git.load({*base.values(), *last.values()})
        try:
            self._settle_losses(dict(base), base, last, lambda blob: decode(texts[blob]) or "", find_meant=lambda: None)
        except SharingFailed:
            return False
        return True

    def _list_absent(self) -> set[str]:
        """Return the notes of the last state for which there was no place here."""
        blob = self._refs.get(ABSENT)
        return {*self._git.load([blob])[blob].decode().split("\n")} if blob else set()

    def _keep_names(self, paths: Collection[str]) -> str | None:
        """Keep paths, to which `ABSENT` may lead; return their hash, None for none."""
        given = "\n".join(sorted(paths)).encode()
        return self._git.run("hash-object", "-w", "--stdin", given=given).decode().strip() if paths else None

    def _settle(self, commit: str | None, remote: str | None, absent: Collection[str]) -> None:
        """Record that what a commit holds stands here, but for some notes, and that the remote has all before it."""
        names = self._keep_names(absent)
        self._git.set_refs({OWN: commit, SENT: remote, ABSENT: names, WRITING: None, MADE: None})
        self._written.unlink(missing_ok=True)

    def _finish(self) -> None:
        """Write the rest of what a killed sync was writing."""
        self._refs = refs = self._git.list_refs()
        if WRITING not in refs:
            return
        told = self._git.run("log", "-1", "--format=%P%n%B", refs[WRITING]).decode()
        commit, _, message = told.partition("\n")
        if refs.get(OWN) != commit:
            lines = self._written.read_text(encoding="utf-8").split("\n")[:-1] if self._written.exists() else []
            recorded, absent = set(json.loads(message)), self._list_absent()
            paths = recorded.difference(lines if lines[:1] == [refs[WRITING]] else ())
            held = {path: blob for path, blob, _ in self._git.list_files(refs[WRITING])}
            after = {path: blob for path, blob in self._list(commit)[0].items() if path not in recorded}
            after |= {path: held[f"{NEXT}{path}"] for path in recorded if f"{NEXT}{path}" in held}
            old = {path: blob for path, blob in after.items() if path not in recorded}
            old |= {path: held[path] for path in recorded if path in held}
            space, mine, read = self._read(old, after, {})
            # A new name is not written as long as the old one stands: what was added to that belongs there.
            paths |= {name for path, name in find_renamed(old, after, read).items() if path in paths}
            before = {path: blob for path, blob in after.items() if path not in paths | absent}
            before |= {path: held[path] for path in paths - absent if path in held}
            # What was to be deleted here was judged before.
            self._settle_losses(before, mine, after, read, find_meant=lambda: after)
            changes, _ = self._merge(before, after, mine, read)
            paths -= space.displaced
            changes = {path: text for path, text in changes.items() if path not in space.displaced}
            stood = {path: read(mine[path]) if path in mine else None for path in (*paths, *changes)}
            texts = {path: (text, changes.get(path, text)) for path, text in stood.items()}
            self._record(commit, {}, texts)
            self._write(space, texts)
        self._settle(commit, refs.get(FETCHED), self._list_absent())


def _hash(text: str | None) -> str | None:
    data = encode(text)
    return None if data is None else name_blob(data)


def _find_secrets(path: str, text: str | None, known: str | None) -> list[str]:
    """Return the places of a note, as `Shared.withheld` names them, that are new and hold a secret.

    Args:
        path: Of the note.
        text: Its text; None if it is deleted.
        known: The text that the remote has; None if it has none.
    """
    if text is not None and known is None and redact(path) != path:
        return [f"the name of {redact(path)}"]
    old = set((known or "").split("\n"))
    new = [(number, line) for number, line in enumerate((text or "").split("\n"), 1) if line not in old]
    joined = "\n".join(line for _, line in new)
    if redact(joined) == joined:
        return []
    return [f"{path}:{number}" for number, line in new if redact(line) != line] or [f"{path}:{new[0][0]}"]


def _find_sources(up: Mapping[str, str | None], held: Mapping[str, str], withheld: Collection[str]) -> dict[str, str]:
    """Find the notes that lines have left for one that is not sent: sent alone, they would take the lines from other machines.

    Args:
        up: The texts to be sent, by path; None for a note that is gone, or has another name.
        held: The texts that the remote has.
        withheld: The notes that are not sent.

    Returns:
        For each such note the one that has its lines.
    """
    lines = {
        path: tuple({line.strip() for line in (text or "").split("\n")} for text in (held.get(path), up[path]))
        for path in up
    }
    telling = {path: list_long(text.split("\n")) | list_own(text) for path, text in held.items()}
    found: dict[str, str] = {}
    targets = [*withheld]
    for target in targets:  # which grows: lines may have left a third note for one of those
        came = lines[target][1] - lines[target][0]
        more = {path: target for path, told in telling.items() if path not in targets and came & told - lines[path][1]}
        found |= more
        targets += more
    return found


def _add(done: Shared, **more: Any) -> Shared:
    """Return an outcome with that of a further try."""
    earlier = {name: getattr(done, name) for name in ("sent", "taken", "conflicts")}
    added: dict[str, Any] = {
        name: tuple(dict.fromkeys((*value, *more.pop(name, ())))) for name, value in earlier.items()
    }
    return Shared(**added, **more)


# ---- As commands and hosts use it.


ITEMS_FOLDER = "items/"  # of the repository
ItemsOf = Literal["person", "project", "nobody", ""]  # whose items travel with the notes
README = "README.md"  # which hosts of repositories put into a new one
NOT_SYNCED = "these notes are not synced"
INIT = "run: memory-core sync init URL"


@dataclass(frozen=True, slots=True, kw_only=True)
class SharingState:
    """The state of the sync of a workspace, as it is kept.

    Attributes:
        url: The remote; with a password if the user has put one in.
        workspace: The folder of the notes.
        encrypted: The remote cannot read what it keeps.
        items: Whose items travel with the notes; "" if that was not decided.
        on: It is synced.
        tried, synced: Unix seconds of the last try, and of the last one that worked; 0 for never.
        problem, action: Why the last try did not work, and what to do; "" if it did.
        waits: The remote did not answer, and is tried again.
        withheld, left_out: See `Shared`.
    """

    url: str
    workspace: str = ""
    encrypted: bool = False
    items: ItemsOf = ""
    on: bool = True
    tried: float = 0.0
    synced: float = 0.0
    problem: str = ""
    action: str = ""
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
        items: Whose items are among them, as `init` keeps it.
    """

    def __init__(self, config: AgentConfig, others: Sequence[SharedText] = (), items: ItemsOf = "") -> None:
        self._config = config
        self._others = others
        self.items = items
        self._folder = config.sharing_dir
        self.key = self._folder / "key.txt"

    def load(self) -> SharingState | None:
        """Return what is kept; None if it was never set up.

        Raises:
            SharingFailed: It cannot be read.
        """
        return _load_state(self._folder)

    def init(self, url: str, *, encrypt: bool = False, key: Path | None = None, public: bool = False) -> Shared:
        """Set up the sync with a remote, and sync.

        Args:
            url: As `git clone` takes it.
            encrypt: Encrypt what is sent to a new key.
            key: The key file of the machine that did so.
            public: The remote may be one that anybody can read.

        Raises:
            InvalidArgument: Anybody can read the remote, it holds other files, or the key is none or not the one here.
            SharingFailed: The remote is encrypted to another key, or the notes cannot be synced.
            RemoteUnreachable: There is no answer, or the credentials are refused.
        """
        local = Path(url).expanduser()
        state = SharingState(
            url=str(local.resolve()) if url.strip() and local.exists() else url,
            workspace=str(self._config.workspace),
            encrypted=encrypt or key is not None,
            items=self.items,
        )
        with hold(self._folder / "lock") as inherited:
            git = self._open(state, inherited)
            chosen = self._choose_key(key) if state.encrypted else None
            git.prepare()
            if not (public or state.encrypted) and git.is_public():
                raise InvalidArgument(
                    "URL",
                    "anybody can read that repository",
                    action="Name a private one, or add --encrypt or --public.",
                )
            remote = None if chosen is None else bundles.EncryptedRemote(git, chosen)
            tip = (remote or git).fetch()
            if remote:
                remote.check()
            for path, _, _ in git.list_files(tip) if tip else ():
                if bundles.is_bundle(path):
                    action = f"Add: --key {self.key if self.key.exists() else 'FILE'}"
                    raise InvalidArgument("URL", "that repository is encrypted", action=action)
                if not is_note(path) and not path.startswith(ITEMS_FOLDER) and path != README:
                    raise InvalidArgument("URL", f"that repository holds {path}", action="Name an empty repository.")
            if chosen and not self.key.exists():
                replace_file(self.key, chosen.text.encode())
            self._save(state)
        return self.sync("join")

    def _choose_key(self, given: Path | None) -> bundles.Key:
        """Return the key of a file, or that which is kept here, or a new one."""
        kept = self._load_key() if self.key.exists() else None
        if given is None:
            return kept or bundles.make_key()
        key = bundles.read_key(given)
        if kept and str(kept.identity.to_public()) != str(key.identity.to_public()):
            action = f"Move {self.key} to where you keep keys, if it is no longer needed here."
            raise InvalidArgument("--key", f"{given} is another key than {self.key}", action=action)
        return key

    def _load_key(self) -> bundles.Key:
        try:
            return bundles.read_key(self.key)
        except InvalidArgument as error:
            action = "Put your copy of the key in its place."
            raise SharingFailed(f"the key file {self.key} is lost or damaged", action=action) from error

    def sync(self, losses: Losses = "refuse") -> Shared:
        """Sync once; see `Sync.run`. What came of it is kept.

        Args:
            losses: What happens to notes that one side has lost.

        Raises:
            SharingFailed: It was not set up, or does not work; `RemoteUnreachable` if it is tried again.
        """
        return self._run(Sync.run, losses)

    def purge(self) -> Shared:
        """Sync, and put one commit without a past in the place of all that the remote has; other machines follow.

        Raises:
            SharingFailed: See `sync`.
        """
        return self._run(Sync.purge)

    def stop(self) -> None:
        """End what a sync in another thread runs: the sync fails, and the next one finishes it."""
        end_running(self._folder / "notes.git")

    def switch_off(self) -> None:
        """Sync no more; what is kept stays, so that `init` goes on from there.

        Raises:
            SharingFailed: It was not set up.
        """
        with self._hold() as (state, _):
            self._save(replace(state, on=False))

    def _load_set_up(self) -> SharingState:
        state = self.load()
        if state is None:
            raise SharingFailed(NOT_SYNCED, action=INIT)
        return state

    @contextmanager
    def _hold(self) -> Iterator[tuple[SharingState, tuple[int, ...]]]:
        """Hold the lock; yields the state as it is then, and descriptors for git to inherit."""
        self._load_set_up()  # else the lock would make a folder
        with hold(self._folder / "lock") as inherited:
            yield self._load_set_up(), inherited

    def _open(self, state: SharingState, inherited: tuple[int, ...]) -> Repository:
        return Repository(self._folder / "notes.git", state.url, inherited)

    def _save(self, state: SharingState) -> None:
        replace_file(self._folder / STATE, json.dumps(asdict(state)).encode())

    def _run(self, work: Callable[[Sync], Shared], losses: Losses = "refuse") -> Shared:
        """Work on the repository under its lock, and keep what came of it; it may be switched off until the lock is free."""
        now = time.time()
        with self._hold() as (state, inherited):
            if not state.on:
                raise SharingFailed(NOT_SYNCED, action=INIT.replace("URL", state.shown_url))
            git = self._open(state, inherited)
            try:
                remote = bundles.EncryptedRemote(git, self._load_key()) if state.encrypted else git
                done = work(Sync(self._config, git, remote, self._others, losses))
            except Exception as error:
                problem, action = str(error) or type(error).__name__, getattr(error, "action", "")
                waits = isinstance(error, RemoteUnreachable)
                self._save(replace(state, tried=now, problem=problem, action=action, waits=waits))
                raise
            self._save(replace(
                state, tried=now, synced=now, problem="", action="", waits=False, withheld=done.withheld, left_out=done.left_out,
            ))  # fmt: skip
        return done


def _load_state(folder: Path) -> SharingState | None:
    path = folder / STATE
    try:
        state: SharingState = get_adapter(SharingState).validate_json(path.read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        problem = f"{path}, which names the remote, cannot be read: {type(error).__name__}"
        raise SharingFailed(problem, action="Name it again: memory-core sync init URL") from error
    return state


def list_remains(config: AgentConfig, items: Collection[object] | None = None, *, of_person: bool = False) -> list[str]:
    """Say where text that is deleted here remains; nothing where nothing was deleted or synced.

    Args:
        config: Of the workspace.
        items: Those that were deleted; None if it is text of notes.
        of_person: Some of them are the person's, and may have travelled with other folders, too.
    """
    if items is not None and not items:
        return []
    own = config.sharing_dir
    others = own.parent.glob(f"{config.agent}-????????{own.suffix}") if of_person else ()
    found = []
    for folder in dict.fromkeys((own, *sorted(others))):
        try:
            state = _load_state(folder)
        except SharingFailed as error:
            which = "these" if folder == own else "other"
            found.append(f"it may remain where {which} notes were synced: {error}")
            continue
        if state is not None and state.synced and (folder == own or state.items == "person"):
            place = "" if folder == own else f"--workspace {quote_words(state.workspace or 'FOLDER')} "
            found.append(
                f"the past of {state.shown_url}, and of its copy in the state folder, holds what was synced:"
                f" memory-core {place}sync purge"
            )
    return found
