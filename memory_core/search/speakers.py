"""Lines of a conversation of two that begin with a name: which of them the other one says than the question names."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence

from memory_core.search.candidates import Candidate
from memory_core.search.question import Question

MAX_LABEL = 48  # characters of a line within which its label ends
_LABEL = re.compile(r"[\s>*+_-]{0,8}([^\W\d_][\w.' -]{0,40})\*{0,2}:")
_WORD = re.compile(r"[^\W_]+")


def find_other_speakers(
    question: Question, candidates: Sequence[Candidate], units: Sequence[tuple[int, int]]
) -> list[bool]:
    """Return True for every unit that the other one of two speakers says than the question names.

    What a question asks of one of two, that one tells. In a meeting of more, others tell it as well: those are left alone. So are
    labels that stand once in a file, such as "Phone:", and questions that name both.

    Args:
        question: Names are found in it with their capitals, unless it has none.
        candidates: The chunks.
        units: (number of the candidate, number of the unit in it) of every unit.

    Returns:
        One value for each unit.
    """
    text = question.text if question.text != question.text.lower() else question.text.title()
    asked = _WORD.findall(text)
    if not any(word[0].isupper() for word in asked):
        return [False] * len(units)
    labels: list[tuple[str, str, str] | None] = [None] * len(units)
    counts: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    labelled = [":" in candidate.chunk.text for candidate in candidates]
    for place, (number, index) in enumerate(units):
        if not labelled[number]:
            continue
        chunk = candidates[number].chunk
        start = chunk.units[index].start
        end = chunk.text.find(":", start, start + MAX_LABEL) + 1
        if end and (found := _LABEL.match(chunk.text, start, end)) is not None:
            name = found[1].strip("_ ")
            labels[place] = chunk.source, chunk.path, name
            counts[chunk.source, chunk.path][name] += 1
    others = set()
    for file, names in counts.items():
        speakers = [name for name, count in names.items() if count > 1]
        silent = [name for name in speakers if not _holds(asked, _WORD.findall(name))]
        if len(speakers) == 2 and len(silent) == 1:
            others.add((*file, silent[0]))
    return [label in others for label in labels]


def _holds(words: list[str], name: list[str]) -> bool:
    """Return True if the words of a name stand among others, side by side."""
    return any(words[at : at + len(name)] == name for at in range(len(words) - len(name) + 1))
