"""A workspace with a few notes, and what tidy proposes for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path

import pytest

from memory_core.config.load import load_config
from memory_core.upkeep.proposals import Proposal
from memory_core.upkeep.tidy import Tidy

NOTES = {
    "MEMORY.md": "# Memory\n\n- Rent: £410 a month\n- Evening class on Mondays at 18:30\n- Accountant: Prakash Nair\n",
    "memory/2026-05-11.md": "The rent goes up to £445 a month from June.\n",
    "memory/2026-06-08.md": "The evening class meets on Wednesdays from now on.\n",
}


class House:
    """One workspace with its notes, and its tidy."""

    def __init__(self, base: Path) -> None:
        self.workspace, self.state = base / "ws", base / "state"
        self.write(NOTES)
        self.config = load_config({}, workspace=self.workspace, state_dir=self.state).agent("main")
        self.tidy = Tidy(self.config)

    def write(self, notes: Mapping[str, str | bytes]) -> None:
        """Write notes, byte for byte."""
        for path, text in notes.items():
            place = self.workspace / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(text if isinstance(text, bytes) else text.encode())

    def read(self, path: str) -> bytes:
        return (self.workspace / path).read_bytes()

    def find(self, kind: str = "", *, shown_chars: int = 10_000) -> list[Proposal]:
        """Run tidy, and return what is proposed by one rule, or by all."""
        return [each for each in self.tidy.run(shown_chars=shown_chars) if kind in ("", each.kind)]


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    held = House(tmp_path)
    with closing(held.tidy):
        yield held
