"""A message as recall understands it, and the evidence that a text is worth putting in front of it. Pure, over the word model.

A search may show its best hits, good or bad; recall has to be silent at small talk. So the worth of a text is the sum of what
speaks for it: the rare words of the message that it holds, its nearness in meaning, and how the message asks. Rarity is that of
words in text at large, so that it means the same in every index.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from memory_core.items.likeness import Words, stem
from memory_core.text.terms import extract_identifiers, extract_phrases, extract_words

MOST_CHARS = 1000  # of the part that asks
READ_CHARS = 20_000  # of a message; what follows is a paste
MOST_WORD_BITS = 14.0  # of evidence that words bring, however many they are

FENCE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
PASTE = re.compile(
    r"^\s*(?:[$>#|{}<\[(/*-]|//|import |from \w+ import|def |class |return\b|print\(|for .+:$|while .+:$|if .+:$|else\b"
    r"|Traceback|File \"|\w+Error\b|npm ERR|at \w+\(|SELECT |const |let |var |\w+ = )|[{};]\s*$"
)
# A command about a text that follows: the text is no question.
PAYLOAD = re.compile(
    r"^\s*(?:(?:can|could|would) you |please |pls )*(?:translate|proofread|spell-?check|rephrase|reword|rewrite|summari[sz]e"
    r"|shorten|format|reformat|convert|capitali[sz]e|sort|alphabeti[sz]e|count|fix|correct|refactor|make (?:this|it)"
    r"|turn (?:this|that|it)|is this|übersetze|traduce|corrige)\b[^:\"\n]{0,60}(?:[:\"\n“])",
    re.IGNORECASE,
)
_SPLIT = re.compile(
    r"(?<=[.!?…])[\"')\]]* |(?<=[。！？])| [-–—]+ |,? ?\b(?:by the way|btw|anyway|also),? ", re.IGNORECASE
)
_OPENS = re.compile(
    r"^(?:(?:and|so|but|ok|okay|hey|hi|well|oh|also|then|please|hm+)\b[ ,]*)*(?:what|who|whom|whose|when|where|which|why|how|is"
    r"|are|was|were|do|does|did|has|have|had|can|could|would|should|will|remind|tell me|wer|was|wann|wo|wie|warum|welche\w*"
    r"|qué|quién|cuándo|dónde|cómo|cuál)\b",
    re.IGNORECASE,
)
_PERSONAL = re.compile(
    r"\b(?:my|mine|our|ours|we|us|did I|have I|do I|am I|should I|I(?:'m| am)? (?:need|have to|going)|remind|decided?|agreed)\b",
    re.IGNORECASE,
)
# A question about the assistant itself, which no memory answers.
_ABOUT_AGENT = re.compile(
    r"^(?:\W|so|and|ok|hey)*(?:(?:do|are|were|can|could|would|will) you\b"
    r"(?! (?:remember|recall|know (?:my|our|when|who|what|where)))|who are you|which model are you|what can you do)"
    r"|\bare you\b|\byour (?:favou?rite|name)\b",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W_]+")  # as words of questions are cut: ERR_QUOTA is two


@dataclass(frozen=True, slots=True)
class Asked:
    """The part of a message that may ask for something.

    Attributes:
        text: That part; "" if there is none.
        words: Its content words, as `terms.extract_words`.
        exact: Identifiers and phrases that count as they stand, lower case.
        is_question: It asks.
        is_personal: It speaks of the user's own affairs, or of what was agreed.
        is_about_agent: It asks the assistant about itself.
    """

    text: str
    words: tuple[str, ...] = ()
    exact: tuple[str, ...] = ()
    is_question: bool = False
    is_personal: bool = False
    is_about_agent: bool = False


def read_message(message: str) -> Asked:
    """Return the part of a message that may ask for something: its questions, else all it says, without pastes and payloads."""
    text = _find_asking_part(message[:READ_CHARS])
    words = tuple(extract_words(text))
    if not words:
        return Asked("")
    return Asked(
        text=text,
        words=words,
        exact=tuple(each.lower() for each in dict.fromkeys([*extract_identifiers(text), *extract_phrases(text)])),
        is_question=_asks(text),
        is_personal=_PERSONAL.search(text) is not None,
        is_about_agent=_ABOUT_AGENT.search(text) is not None,
    )


def _find_asking_part(message: str) -> str:
    payload = PAYLOAD.match(message)
    if payload:
        return message[: payload.end()].strip(' :"“\n')
    lines = [line for line in FENCE.sub("\n", message).split("\n") if not PASTE.search(line)]
    parts = [part.strip() for line in lines for part in _SPLIT.split(" ".join(line.split())) if part and part.strip()]
    parts = [part for part in parts if extract_words(part)]
    return " ".join([part for part in parts if _asks(part)] or parts)[:MOST_CHARS]


def _asks(text: str) -> bool:
    return text.rstrip(" \"')").endswith(("?", "？")) or _OPENS.match(text) is not None


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
            0.5 * min(sum(self._bits[word] for word in held), MOST_WORD_BITS) * score
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
