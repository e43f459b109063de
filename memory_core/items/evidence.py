"""The evidence that a text is worth putting in front of a message that nobody asked memory about. Pure, over the word model.

A search may show its best hits, good or bad; recall has to be silent at small talk. So the worth of a text is the sum of what
speaks for it: the rare words of the message that it holds, its nearness in meaning, and how the message asks. Rarity is that of
words in text at large, so that it means the same in every index.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from memory_core.items.messages import Asked
from memory_core.items.words import Words, stem

MOST_BITS = 14.0  # that words bring, however many they are
_WORD = re.compile(r"[^\W_]+")  # as words of questions are cut: ERR_QUOTA is two


@dataclass(frozen=True)  # without slots, so that what every text is compared with is computed once
class Evidence:
    """Measures texts against one message."""

    asked: Asked
    words: Words

    @cached_property
    def _bits(self) -> dict[str, float]:
        return {word: self.words.bits(word) for word in self.asked.words}

    def cover(self, text: str) -> float:
        """Return the share of the message's words that a text holds, weighted by rarity, 0..1."""
        return self._weigh(self._find_held(text.lower()))

    def measure(self, text: str, *, score: float, near: float) -> float:
        """Return the evidence for a text.

        Args:
            text: Of a note or an item.
            score: The absolute score that a search gave it, 0..1.
            near: Its calibrated nearness in meaning, 0..1.
        """
        asked, low = self.asked, text.lower()
        held = self._find_held(low)
        several = len(asked.words) > 1
        covered = self._weigh(held)
        personal, question = float(asked.is_personal), float(asked.is_question)
        return (
            0.5 * min(sum(self._bits[word] for word in held), MOST_BITS) * score
            + 2 * near
            + covered * (several + question + 1.5 * personal + 1.5 * personal * question)
            + 3 * any(exact in low for exact in asked.exact)
            + 0.5 * min(len(held), 3) * several
            + personal * near
            - asked.is_about_agent
        )

    def _find_held(self, low: str) -> list[str]:
        stems = {stem(word) for word in _WORD.findall(low)}
        return [word for word in self.asked.words if stem(word) in stems or (not word.isascii() and word in low)]

    def _weigh(self, held: list[str]) -> float:
        return sum(1 + self._bits[word] for word in held) / sum(1 + bits for bits in self._bits.values())
