"""Daily notes as people keep them: one file a day, words spread by Zipf's law; and questions in their words.

python -m tests.benchmarks.daily_notes FOLDER COUNT writes them. Some phrases stand in one note only, as names and numbers do, so
that questions by words and by meaning differ in what they find.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path

_FUNCTION_WORDS = "the of and to a in is it that for on with as was at by we this not from".split()  # noqa: SIM905
_FIRST_DAY = date(1971, 1, 1)
NOTE_CHARS = 5000


class Vocabulary:
    """Words as they are spread in real notes: half function words, half by Zipf's law over 20,000 made-up ones."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        syllables = [a + b for a in "bcdfghjklmnprstvz" for b in "aeiou"]
        self._words = ["".join(self._random.choices(syllables, k=self._random.randint(2, 4))) for _ in range(20_000)]
        total = 0.0
        self._cumulative = [total := total + 1 / rank for rank in range(1, len(self._words) + 1)]

    def text(self, count: int) -> str:
        """So many words, half of them function words."""
        content = self._random.choices(self._words, cum_weights=self._cumulative, k=count)
        return " ".join(self._random.choice((word, self._random.choice(_FUNCTION_WORDS))) for word in content)


def compose(count: int, *, seed: int = 1, chars: int = NOTE_CHARS) -> Iterator[tuple[str, str]]:
    """Yield (name, text) of each note; those of a smaller count are the first of a larger one."""
    words, rng = Vocabulary(seed), random.Random(seed)
    for number in range(count):
        day = (_FIRST_DAY + timedelta(days=number)).isoformat()
        lines, size = [f"# {day}"], 0
        while size < chars:
            lines += ["", f"## {words.text(3)}", ""] if rng.random() < 0.08 else []
            lines.append(f"- {words.text(rng.randint(8, 30))}")
            size += len(lines[-1])
        yield f"{day}.md", "\n".join(lines) + "\n"


def write_daily_notes(workspace: Path, count: int, *, seed: int = 1, chars: int = NOTE_CHARS) -> None:
    """Write notes under workspace/memory."""
    folder = workspace / "memory"
    folder.mkdir(parents=True)
    for name, text in compose(count, seed=seed, chars=chars):
        (folder / name).write_text(text, encoding="utf-8")


def questions(count: int) -> list[str]:
    """Return questions in the words of the notes, none of which the notes were made for."""
    words, rng = Vocabulary(1), random.Random(99)
    return [f"{words.text(rng.randint(5, 12))}?" for _ in range(count)]


if __name__ == "__main__":
    write_daily_notes(Path(sys.argv[1]), int(sys.argv[2]))
