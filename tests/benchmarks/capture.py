"""Capture by rules on judged exchanges: which facts are kept, how many of those kept are wrong, and that nothing else is.

python -m tests.benchmarks.capture [EXCHANGES...] [--show]      files of judged exchanges; by default tests/data/exchanges

Each file holds sections; those without facts (small talk, secrets, injected text) must leave nothing behind. Of each language,
the file "open" may be read while the rules are worked on; "held" is for measuring only: do not look at what it misses.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from memory_core.config.agent import AgentConfig
from memory_core.config.settings import SearchSettings
from memory_core.items.items import Items
from memory_core.items.records import Item

EXCHANGES = Path(__file__).parents[1] / "data" / "exchanges"

Exchange = Mapping[str, Any]


@dataclass
class Tier:
    """Counts of one tier: facts to be kept, those kept, items, and those of them that are a fact."""

    facts: int = 0
    kept: int = 0
    items: int = 0
    right: int = 0

    def add(self, exchange: Exchange, stored: Sequence[str]) -> None:
        """Count what one exchange left behind."""
        wanted = [fact["must"] for fact in exchange["facts"]]
        self.facts += len(wanted)
        self.kept += sum(any(_holds(text, must) for text in stored) for must in wanted)
        self.items += len(stored)
        self.right += sum(any(_holds(text, must) for must in wanted) for text in stored)

    def __str__(self) -> str:
        recall = self.kept / self.facts if self.facts else 0.0
        precision = self.right / self.items if self.items else 1.0
        return f"recall {recall:.2f} ({self.kept} of {self.facts}), precision {precision:.2f} ({self.right} of {self.items})"


@dataclass
class Counts:
    """The counts of one file."""

    sure: Tier = field(default_factory=Tier)
    both: Tier = field(default_factory=Tier)


def measure(path: Path, *, show: bool = False) -> Counts:
    """Print and return the counts of one file; with `show`, also every miss and every item that is no fact."""
    sections: Mapping[str, Sequence[Exchange]] = json.loads(path.read_text(encoding="utf-8"))
    counts = Counts()
    print(path.name)
    for name, exchanges in sections.items():
        stray = 0
        for exchange in exchanges:
            items = capture(exchange)
            counts.sure.add(exchange, [item.content for item in items if not item.pending])
            counts.both.add(exchange, [item.content for item in items])
            stray += bool(items) and not exchange["facts"]
            if show:
                _show(name, exchange, items)
        if not any(exchange["facts"] for exchange in exchanges):
            print(f"  {name}: {stray} of {len(exchanges)} exchanges left something behind")
    print(f"  sure tier:  {counts.sure}")
    print(f"  both tiers: {counts.both}", flush=True)
    return counts


def capture(exchange: Exchange) -> list[Item]:
    """Return the items that one exchange leaves in an empty file."""
    said = datetime.fromisoformat(f"{exchange['date']}T12:00:00").astimezone().timestamp()
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        config = AgentConfig(
            agent="main", workspace=home, state_dir=home, store_path=home / "main.sqlite",
            search=SearchSettings(provider="none"),
        )  # fmt: skip
        items = Items(config)
        try:
            messages = [{**message, "time": said} for message in exchange["messages"]]
            return list(items.memorize(messages, session="bench").stored)
        finally:
            items.close()


def _holds(text: str, must: Sequence[str]) -> bool:
    return all(each.lower() in text.lower() for each in must)


def _show(section: str, exchange: Exchange, items: Sequence[Item]) -> None:
    texts = [item.content for item in items]
    missed = [fact["must"] for fact in exchange["facts"] if not any(_holds(text, fact["must"]) for text in texts)]
    wrong = [item for item in items if not any(_holds(item.content, fact["must"]) for fact in exchange["facts"])]
    said = [message["content"] for message in exchange["messages"] if message["role"] == "user"]
    for must in missed:
        print(f"    {section} {exchange['id']} missed {must}: {said}")
    for item in wrong:
        print(f"    {section} {exchange['id']} {'pending' if item.pending else 'SURE'} {item.content!r}: {said}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("exchanges", nargs="*", type=Path, help="files of judged exchanges")
    parser.add_argument("--show", action="store_true", help="show misses and items that are no fact")
    options = parser.parse_args()
    for file in options.exchanges or sorted(EXCHANGES.glob("*.json")):
        measure(file, show=options.show)
