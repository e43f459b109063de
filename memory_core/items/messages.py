"""A message as recall understands it: the part of it that may ask for something, and the signs of how it asks. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

from memory_core.text.terms import extract_identifiers, extract_phrases, extract_words

MOST_CHARS = 1000  # of the part that asks
READ_CHARS = 20_000  # of a message; what follows is a paste

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
