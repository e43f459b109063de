"""Ten workspaces with nothing to tidy, 150 lines each: hardly anything is proposed for them."""

from __future__ import annotations

import random
import re
from datetime import date, timedelta
from pathlib import Path

from memory_core.config.load import load_config
from memory_core.upkeep.proposals import Proposal
from memory_core.upkeep.tidy import Tidy

LINES = Path(__file__).parents[2] / "data/tidy/near_misses.txt"
MOST_FALSE = 12  # in all ten
MIXED = ("en", "de", "en", "es", "en", "de", "en", "es", "en", "de")


def read_lines() -> dict[str, list[str]]:
    """Return the lines of the file by what stands in brackets above them."""
    parts = re.split(r"^\[(.*)\]\n", LINES.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    return {name: text.splitlines() for name, text in zip(parts[::2], parts[1::2], strict=True)}


def write_workspace(folder: Path, language: str, seed: int) -> None:
    """Write a workspace of 150 lines: some lasting ones, and dated ones in a random order, some of them twice."""
    dice, lines = random.Random(seed), read_lines()
    lasting, dated = lines[f"{language} lasting"], lines[f"{language} dated"]
    (folder / "memory").mkdir(parents=True)
    (folder / "MEMORY.md").write_text("# Memory\n\n" + "\n".join(lasting) + "\n", encoding="utf-8")
    rest = [dice.choice(dated) for _ in range(150 - len(lasting))]
    day = date(2026, 2, 1)
    while rest:
        day += timedelta(days=dice.randint(1, 9))
        several, rest = rest[:4], rest[4:]
        (folder / f"memory/{day}.md").write_text("".join(f"- {line}\n" for line in several), encoding="utf-8")


def test_ten_workspaces_with_nothing_to_tidy(tmp_path: Path) -> None:
    false: list[Proposal] = []
    for number, language in enumerate(MIXED):
        workspace = tmp_path / str(number)
        write_workspace(workspace, language, number)
        tidy = Tidy(load_config({}, workspace=workspace, state_dir=tmp_path / f"state{number}").agent("main"))
        false += [each for each in tidy.run(shown_chars=100_000) if each.kind != "missing"]
        tidy.close()
    shown = "\n".join(f"{each.kind} {each.text} | {each.new} | {each.evidence}" for each in false)
    assert len(false) <= MOST_FALSE, shown
