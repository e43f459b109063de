"""Other agents on the same workspace, and what the files of each still hold of a text that is purged here."""

from __future__ import annotations

import glob
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from typing import Any, Literal

from memory_core.activity import names_text
from memory_core.config.agent import AgentConfig, make_workspace_key
from memory_core.errors import StoreError
from memory_core.history.store.deletions import Deletions
from memory_core.history.store.others import find_in_rows
from memory_core.history.store.store import HistoryStore
from memory_core.lazy_dataclasses import dataclass
from memory_core.text.wording import Wording

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
    wording = Wording(text)
    looks: dict[str, Callable[[], bool]] = {
        "history": lambda: _find_in_history(config, text),
        "index": lambda: find_in_rows(config.store_path, wording.stands_in),
        "items": lambda: find_in_rows(config.items_path, wording.stands_in),
        "log of activity": lambda: names_text(config.activity_path, wording.stands_in),
    }
    held = []
    for noun, look in looks.items():
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


def _tell(config: AgentConfig, problem: str, **others: Any) -> Remainder:
    return Remainder(agent=config.agent, problem=f"the agent {config.agent!r} {problem}", **others)


def _find_in_history(config: AgentConfig, text: str) -> bool:
    with closing(HistoryStore(config.history_path, writable=False)) as store:
        return bool(Deletions(store).find_text(text))


def _is_unfinished(config: AgentConfig) -> bool:
    with suppress(StoreError), closing(HistoryStore(config.history_path, writable=False)) as store:
        return Deletions(store).load_mark() is not None
    return False
