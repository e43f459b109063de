"""Orders to remember that point at what stands beside them: "never push to main. keep that in mind". Pure.

An order means the sentences before it in its paragraph, or else in the paragraph above, back to a question. Where nothing stands
before it, or a colon ends it, it means those behind it. What follows it in its own sentence is why, "keep that in mind, everyone
gets it wrong", or is what it means: "remember that, I eat no nuts".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from memory_core.items.grammar import compile_pattern, read_words

MEANT_CHARS = 400  # of the sentences that an order points back at

_REASON = re.compile(r".*?(?:(?<![.!?…])[.!?…]++(?=\s|$)|$)")  # "keep that in mind, everyone gets it wrong"
_STOPS = (".", "!", "…", ":", ",", ";", "。")
_DIGIT = re.compile(r"\d")
_WORD = re.compile(r"\w+")
_GOES_ON = (",", ";", "–", "—", "-")  # behind an order: what it means, or why
_LOOSE = " \t,;–—-"


@dataclass(frozen=True, slots=True)
class Utterance:
    """One sentence of a message, or several that an order points at.

    Attributes:
        text: As it was written.
        paragraph: The number of its paragraph.
        ordered: The user has ordered that it be remembered.
        dictated: It stands behind the request for a letter, of which it may be a part.
    """

    text: str
    paragraph: int
    ordered: bool = False
    dictated: bool = False


def resolve_orders(sentences: Iterable[Utterance]) -> list[Utterance]:
    """Return sentences without orders, and with what the orders point at marked. What one of them points back at is one text."""
    told, ahead, is_below = list[Utterance](), -1, False
    for part in (part for sentence in sentences for part in _cut(sentence)):
        if isinstance(part, _Order):
            stated = _read_stated(part.reason)
            first = len(told) if part.leads else _find_meant(told)
            if stated and not _names_value(told[first:]):
                first = len(told)
            is_first = not told or told[-1].paragraph != part.paragraph or is_courtesy(told[-1].text)
            ahead, is_below = (
                (part.paragraph, part.leads) if part.leads or (is_first and first == len(told)) else (-1, False)
            )
            if first < len(told):
                told[first:] = [Utterance(_join(told[first:]), told[first].paragraph, ordered=True)]
            elif ahead >= 0 and not stated and _says(reason := part.reason.strip(_LOOSE)):
                told.append(Utterance(reason, part.paragraph, ordered=True))
            if stated:
                told.append(Utterance(stated, part.paragraph, ordered=True))
                ahead = -1
        elif ahead >= 0 and (is_below or part.paragraph == ahead) and _says(part.text):
            told.append(Utterance(part.text, part.paragraph, ordered=True))
            ahead, is_below = part.paragraph, False
        else:
            told.append(part)
            ahead = -1
    return told


@dataclass(frozen=True, slots=True)
class _Order:
    """An order that holds nothing to remember.

    Attributes:
        reason: What its sentence says behind it.
        paragraph: The number of its paragraph.
        leads: A colon ends it.
    """

    reason: str
    paragraph: int
    leads: bool = False


def _cut(sentence: Utterance) -> Iterator[Utterance | _Order]:
    """Yield a sentence in parts: its orders, and what stands before, between and behind them."""
    text, begin = sentence.text, 0
    for found in compile_pattern("orders", "pointing").finditer(text):
        if found.start() < begin:
            continue
        if before := text[begin : found.start()].strip(_LOOSE):
            yield replace(sentence, text=before)
        reason = _REASON.match(text, found.end())
        yield _Order(reason[0] if reason else "", sentence.paragraph)
        begin = reason.end() if reason else found.end()
    rest = text[begin:].strip()
    leading = compile_pattern("orders", "leading").search(rest)
    if leading is None:
        yield from [replace(sentence, text=rest)] if rest else []
        return
    if before := rest[: leading.start()].strip(_LOOSE):
        yield replace(sentence, text=before)
    yield _Order("", sentence.paragraph, leads=True)


def _find_meant(told: Sequence[Utterance]) -> int:
    """Return the index of the first sentence that an order behind them points back at; their number if it points at none."""
    first, chars = len(told), 0
    while first and told[first - 1].paragraph == told[-1].paragraph and not told[first - 1].ordered:
        text = _state(told[first - 1].text)
        chars += len(text)
        if chars > MEANT_CHARS or not _says(text):
            break
        first -= 1
    return first


def _read_stated(reason: str) -> str:
    """Return what an order goes on with, if that is what it means; "" if it only says why."""
    found = (
        compile_pattern("orders", "stating").match(reason.strip(_LOOSE)) if reason.lstrip()[:1] in _GOES_ON else None
    )
    return found["fact"] if found and _says(found["fact"]) else ""


def _names_value(sentences: Sequence[Utterance]) -> bool:
    """Return True if sentences name a number, and none of them is of the day on which it is said."""
    text = " ".join(each.text for each in sentences)
    return _DIGIT.search(text) is not None and not compile_pattern("orders", "momentary").search(text)


def _state(text: str) -> str:
    """Return a sentence without the question whether it was heard."""
    return compile_pattern("orders", "agreed").sub(".", text)


def _says(text: str) -> bool:
    """Return True if a text is neither a question nor a courtesy."""
    return "?" not in text and not is_courtesy(text)


def is_courtesy(text: str) -> bool:
    """Return True if a text has no other words than those of courtesy."""
    return set(_WORD.findall(text.lower())) <= read_words("recall", "phatic").keys()


def _join(sentences: Sequence[Utterance]) -> str:
    """Return the text of sentences and of the items of a list."""
    texts = (_state(each.text) for each in sentences)
    joined = " ".join(text if text.endswith(_STOPS) else f"{text};" for text in texts)
    return f"{joined[:-1]}." if joined.endswith(";") else joined
