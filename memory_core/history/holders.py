"""Where else a text stands that is purged from the past: notes of today, files of other agents, the rest of the state folder."""

from __future__ import annotations

import glob
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from memory_core.config.agent import AgentConfig, make_workspace_key
from memory_core.errors import FileUnreadable, StoreError
from memory_core.history.store.purging import find_in_rows
from memory_core.history.store.store import HistoryStore
from memory_core.sources import files, session_logs
from memory_core.sources.activity import names_text
from memory_core.sources.notes import read_bytes
from memory_core.text.wording import Wording


def find_holders(config: AgentConfig, text: str) -> Iterator[str]:
    """Yield a sentence for each note and indexed session log that holds a text, or that cannot be read; the journal aside."""
    wording = Wording(text)
    for note in files.list_files(config).files:
        if wording.stands_in(note.path):
            yield f"the path {note.path} holds the text"
        try:
            found = _find_line(wording, read_bytes(note)[0].decode(errors="surrogateescape"))
        except FileUnreadable as error:
            yield str(error)
        else:
            if found is not None:
                yield f"{note.path}#L{found} holds the text"
    for log in session_logs.list_sessions(config).files:
        if log.real_path.parent.name == config.journal_dir.name:
            continue
        try:
            held = wording.stands_in(session_logs.read_session(log).text)
        except FileUnreadable as error:
            yield str(error)
        else:
            if held:
                yield f"the session log {log.path} holds the text"


def _find_line(wording: Wording, text: str) -> int | None:
    at = wording.find(text)
    return None if at is None else text.count("\n", 0, at) + 1


_SQLITE = (".sqlite", ".sqlite-wal", ".sqlite-shm")
_BLOCK_BYTES = 1 << 20
_OVERLAP_BYTES = 4096  # of a block that are looked at again with the next one
_ENDINGS = (".history.sqlite", ".activity.jsonl", ".activity.old.jsonl", ".sqlite")


@dataclass(frozen=True, slots=True, kw_only=True)
class Remainder:
    """Something that another agent's files hold, or may hold.

    Attributes:
        agent: Its id.
        problem: One sentence.
        command: The command that deals with it, to be run as that agent.
        is_certain: False where there may be nothing to do, and nobody can tell.
    """

    agent: str
    problem: str
    command: Literal["purge", "index"] = "purge"
    is_certain: bool = True


def list_others(config: AgentConfig, named: Sequence[AgentConfig]) -> list[AgentConfig]:
    """Return the other agents that have files of this workspace, by their ids.

    Args:
        config: Of the agent that asks.
        named: All agents that the configuration names.
    """
    key = make_workspace_key(config.workspace)
    found = {each.agent: each for each in named if make_workspace_key(each.workspace) == key}
    folder = config.history_path.parent
    for ending in _ENDINGS:
        for file in folder.glob(f"*-{key}{glob.escape(ending)}*"):
            agent = file.name.partition(f"-{key}{ending}")[0]
            found.setdefault(agent, replace(config, agent=agent, store_path=folder / f"{agent}-{key}.sqlite"))
    found.pop(config.agent, None)
    return [found[agent] for agent in sorted(found)]


def look_through(config: AgentConfig, text: str) -> Iterator[Remainder]:
    """Yield what the files of an agent hold of a text; a file that cannot be read is told, too."""
    held = []
    for noun, look in _list_looks(config, text).items():
        try:
            if look():
                held.append(noun)
        except (StoreError, OSError) as error:
            yield Remainder(
                agent=config.agent, problem=f"the {noun} of the agent {config.agent!r}: {error}", command="index"
            )
    if held:
        yield _tell(config, f"holds the text, too: {', '.join(held)}")
    elif _is_unfinished(config):
        yield _tell(config, "has not overwritten yet what was deleted", command="index")
    elif config.store_path.exists() and not (config.search.history.enabled and config.history_path.exists()):
        yield _tell(config, "keeps no history, so that words of the text may be left in its index", is_certain=False)
    for file in sorted(config.history_path.parent.glob(f"{glob.escape(config.agent)}[.-]*.damaged*")):
        if not file.name.endswith(("-wal", "-shm")):
            yield _tell(config, f"has a damaged file, of which nobody can tell what it holds: {file}")


def find_held(config: AgentConfig, text: str) -> list[str]:
    """Return the names of an agent's files in which a text stands.

    Raises:
        StoreError: One cannot be read.
        OSError: The log of activity cannot be read.
    """
    return [noun for noun, look in _list_looks(config, text).items() if look()]


def find_files(state_dir: Path, looked_at: Sequence[AgentConfig], text: str, *, seconds: float) -> Iterator[Path]:
    """Yield the other files of a state folder that hold a text, such as those of other workspaces, or logs of the host.

    Args:
        state_dir: The folder.
        looked_at: The agents whose own files are left out.
        text: It.
        seconds: How long to look.

    Raises:
        TimeoutError: Not all was looked at in time.
    """
    until = time.monotonic() + seconds
    wording = Wording(text)
    for file in sorted(state_dir.rglob("*")):
        if time.monotonic() > until:
            raise TimeoutError
        with suppress(StoreError, OSError):  # of others, which may lock or remove them
            if file.is_file() and not any(_is_own(file, each) for each in looked_at) and _holds(file, text, wording):
                yield file


def _is_own(file: Path, config: AgentConfig) -> bool:
    if file.parent == config.journal_dir:
        return True
    own = (config.store_path, config.items_path, config.history_path, config.activity_path.with_suffix(""))
    return any(file.parent == each.parent and file.name.startswith(each.name) for each in own)


def _holds(file: Path, text: str, wording: Wording) -> bool:
    if file.name.endswith(".history.sqlite"):
        return _find_in_history(file, text)
    if file.name.endswith(_SQLITE):  # of ours, perhaps open in this process: to close it would drop the locks of SQLite
        return file.suffix == ".sqlite" and find_in_rows(file, wording.stands_in)
    with file.open("rb") as stream:
        before = b""
        while block := stream.read(_BLOCK_BYTES):
            block = before + block
            if b"\0" in block:
                if wording.folded.encode() in block.lower():
                    return True
            elif wording.stands_in(block.decode(errors="surrogateescape")):
                return True
            before = block[-_OVERLAP_BYTES:]
    return False


def _list_looks(config: AgentConfig, text: str) -> dict[str, Callable[[], bool]]:
    """Return for each kind of an agent's files the function that looks for a text in it."""
    wording = Wording(text)
    return {
        "history": lambda: _find_in_history(config.history_path, text),
        "index": lambda: find_in_rows(config.store_path, wording.stands_in),
        "items": lambda: find_in_rows(config.items_path, wording.stands_in),
        "log of activity": lambda: names_text(config.activity_path, wording.stands_in),
    }


def _tell(config: AgentConfig, problem: str, **others: Any) -> Remainder:
    return Remainder(agent=config.agent, problem=f"the agent {config.agent!r} {problem}", **others)


def _find_in_history(file: Path, text: str) -> bool:
    with closing(HistoryStore(file, writable=False)) as store:
        return bool(store.find_text(text))


def _is_unfinished(config: AgentConfig) -> bool:
    with suppress(StoreError), closing(HistoryStore(config.history_path, writable=False)) as store:
        return store.load_mark() is not None
    return False
