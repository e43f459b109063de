"""Facts in the user's own words, found without a model. Pure.

In doubt nothing is found: a missed fact can be said again, a wrong one is recalled for months.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from memory_core.items.capture.exchange import Turn
from memory_core.items.capture.found import FoundFact

_EXPLICIT = re.compile(
    r"^(?:please\s+)?(?:remember|keep in mind|don't forget|make a note|note)(?:\s+that\b|\s*:)\s*(?P<fact>.+)$",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"(?<=[.!?。！？])\s+|\n+")


def find_facts(turns: Sequence[Turn]) -> Iterator[FoundFact]:
    """Yield the facts in the new turns of the user, in the order in which they were said."""
    for turn in turns:
        if turn.speaker != "user" or not turn.new:
            continue
        for sentence in _SENTENCE.split(turn.text):
            found = _EXPLICIT.match(sentence.strip())
            if found:
                yield FoundFact(content=found["fact"][0].upper() + found["fact"][1:], said_at=turn.said_at)
