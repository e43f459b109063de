"""Recall: the few passages of notes and the items that are worth putting in front of a message, or nothing.

A search may show its best hits, good or bad; recall has to be silent at small talk. So the worth of a text is the sum of what
speaks for it: the rare words of the message that it holds, its nearness in meaning, and how the message asks. Rarity is that of
words in text at large, so that it means the same in every index.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache, cached_property

from memory_core.embeddings.vectors import DEFAULT_CALIBRATION
from memory_core.errors import StoreError
from memory_core.items.grammar import FENCED, PASTED_LINE, PAYLOAD, compile_pattern, read_words
from memory_core.items.items import Items
from memory_core.items.likeness import Words, list_told_as, stem
from memory_core.items.mirror import leave_out_mirrored
from memory_core.items.records import ItemHit, Strategy
from memory_core.records import Author, Calibration, Hit, Query, SearchResult
from memory_core.search.copies import tells
from memory_core.search.scores import vector_score
from memory_core.sources.session_logs import SOURCE
from memory_core.text.dates import WEEKDAYS
from memory_core.text.markdown import find_front_matter
from memory_core.text.messages import quote_safely
from memory_core.text.spelling import list_spellings
from memory_core.text.terms import extract_identifiers, extract_phrases, extract_words

# A note or an item is shown for a message only if the best of its kind has this much evidence, and then all with a half of it
# (items: six tenths). With 4.2 a gold line stands in front of .78 of 180 judged questions, and .99 of small talk stays silent.
NOTES_FROM, ITEMS_FROM = 4.2, 2.0
NOTES_SHARE, ITEMS_SHARE = 0.5, 0.6
LOOKED_AT = 16  # hits whose evidence decides if anything is shown
HITS = 24
PIECE_CHARS = 500  # of a passage: at 300 every ninth gold line is cut
UNIT_CHARS = 700  # of a unit, whose headings are left out then
MOST_CHARS = 1000  # of the part that asks
READ_CHARS = 20_000  # of a message; what follows is a paste
MOST_WORD_BITS = 14.0  # of evidence that words bring, however many they are

log = logging.getLogger(__name__)

_SPLIT = re.compile(
    r"(?<=[.!?…])[\"')\]]* |(?<=[。！？])| [-–—]+ |,? ?\b(?:by the way|btw|anyway|also),? ", re.IGNORECASE
)
_WORD = re.compile(r"[^\W_]+")  # as words of questions are cut: ERR_QUOTA is two

Search = Callable[[Query], SearchResult]
IsShown = Callable[[str], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """One thing that was recalled.

    Attributes:
        source: "item", or the source of the note.
        place: The path of the note, or the id of the item.
        text: The text, without headings, safe to show; to be quoted.
        evidence: The worth of it for the message; comparable within one source.
        start_line, end_line: Lines of the note; 0 for an item.
        by: Who said it.
        said_in: Of what was said in a session, the project and the day, such as "shop, 2026-11-30"; "" for all else.
    """

    source: str
    place: str
    text: str
    evidence: float
    start_line: int = 0
    end_line: int = 0
    by: Author = "user"
    said_in: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recall:
    """The answer to one message.

    Attributes:
        pieces: Items first, then passages of notes, both the best first; empty for most messages.
        text: The pieces as a host puts them into the prompt: framed as quoted data; "" without pieces.
        strategy: "embedding", or "keyword" where no embedding of the message could be had.
        late: The deadline passed, so that nothing was recalled.
        seconds: The duration.
        warning: Why the answer is worse than usual, one sentence; None if it is not.
    """

    pieces: tuple[Piece, ...] = ()
    text: str = ""
    strategy: Strategy = "keyword"
    late: bool = False
    seconds: float = 0.0
    warning: str | None = None


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
    if not words or all(word in _list_phatic() for word in _WORD.findall(text.lower())):
        return Asked("")
    return Asked(
        text=text,
        words=words,
        exact=tuple(each.lower() for each in dict.fromkeys([*extract_identifiers(text), *extract_phrases(text)])),
        is_question=_asks(text),
        is_personal=compile_pattern("recall", "personal").search(text) is not None,
        is_about_agent=compile_pattern("recall", "about_agent").search(text) is not None,
    )


@cache
def _list_phatic() -> frozenset[str]:
    return frozenset((*read_words("recall", "phatic"), *WEEKDAYS, *(f"{day}s" for day in WEEKDAYS)))


def _find_asking_part(message: str) -> str:
    payload = PAYLOAD.match(message)
    if payload:
        return message[: payload.end()].strip(' :"“\n')
    lines = [line for line in FENCED.sub("\n", message).split("\n") if not PASTED_LINE.search(line)]
    parts = [part.strip() for line in lines for part in _SPLIT.split(" ".join(line.split())) if part and part.strip()]
    parts = [part for part in parts if extract_words(part)]
    return " ".join([part for part in parts if _asks(part)] or parts)[:MOST_CHARS]


def _asks(text: str) -> bool:
    return text.rstrip(" \"')").endswith(("?", "？")) or compile_pattern("recall", "opens").match(text) is not None


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
        stems = {stem(word) for text in list_spellings(low) for word in _WORD.findall(text)}
        return [
            word
            for word in self.asked.words
            if any(stem(each) in stems for form in list_told_as(word, self.asked.text) for each in list_spellings(form))
            or (not word.isascii() and word in low)
        ]

    def _weigh(self, held: list[str]) -> float:
        return sum(1 + self._bits[word] for word in held) / sum(1 + bits for bits in self._bits.values())


def recall(
    items: Items,
    search: Search,
    message: str,
    *,
    recalls_items: bool,
    limit: int,
    deadline: float,
    is_shown: IsShown,
) -> Recall:
    """Recall what fits a message from the notes and the items of one agent; nothing for small talk.

    Args:
        items: The items; their model of words measures the evidence of notes, too.
        search: Searches the notes.
        message: As the user wrote it.
        recalls_items: False recalls notes alone.
        limit: The most items.
        deadline: The `time.monotonic()` until which the host waits.
        is_shown: True for a text that the session has been shown, which is left out.

    Raises:
        MemoryCoreError: Neither notes nor items can be read.
    """
    begun = time.monotonic()
    asked, words = read_message(message), items.words
    if not asked.words or words is None:
        return Recall(seconds=time.monotonic() - begun)
    evidence = Evidence(asked, words)
    result = search(
        Query(
            text=asked.text, max_results=HITS, min_score=0.0, max_snippet_chars=UNIT_CHARS, deadline=deadline, joined=False
        )
    )  # fmt: skip
    # Where items are recalled, the lines of notes that mirror them would say everything twice.
    notes = _choose(_judge_notes(result, evidence, mirrored=not recalls_items), NOTES_FROM, NOTES_SHARE)
    found, by_meaning = list[Piece](), result.mode != "keyword"
    if recalls_items:
        try:
            answer = items.query(asked.text, limit=HITS, seconds=max(deadline - time.monotonic(), 0.05))
        except StoreError as error:  # a damaged file never stops notes
            log.warning("no items are recalled: %s", error)
        else:
            calibration = items.find_calibration(asked.text) or DEFAULT_CALIBRATION
            found = _choose(_judge_items(answer.hits, evidence, calibration), ITEMS_FROM, ITEMS_SHARE)[:limit]
            by_meaning = by_meaning or answer.strategy == "embedding"
    return Recall(
        pieces=tuple(piece for piece in (*found, *notes) if not is_shown(piece.text)),
        strategy="embedding" if by_meaning else "keyword", seconds=time.monotonic() - begun,
        warning="; ".join(filter(None, (None if by_meaning else result.warning, items.warning))) or None,
    )  # fmt: skip


def _judge_items(hits: Iterable[ItemHit], evidence: Evidence, calibration: Calibration) -> Iterator[Piece]:
    for hit in hits:
        item = hit.item
        near = vector_score(hit.similarity, calibration)
        score = 1 - (1 - near) * (1 - evidence.cover(item.content))
        text = quote_safely(item.content)
        yield Piece(
            source="item", place=item.id, text=text, by=item.origin.by,
            evidence=evidence.measure(item.content, score=score, near=near),
        )  # fmt: skip


def _judge_notes(result: SearchResult, evidence: Evidence, *, mirrored: bool) -> Iterator[Piece]:
    for hit in result.hits:
        if hit.source == SOURCE and not tells(hit.snippet):
            continue
        snippet = hit.snippet if mirrored else leave_out_mirrored(hit.snippet)
        first, text = _strip_frame(replace(hit, snippet=snippet))
        if text:
            worth = evidence.measure(snippet, score=hit.compared, near=hit.vector_score or 0.0)
            yield Piece(
                source=hit.source, place=hit.path, text=quote_safely(text[:PIECE_CHARS]), evidence=worth, start_line=first,
                end_line=hit.end_line, by=hit.origin.by if hit.origin else "user", said_in=_name_session(hit),
            )  # fmt: skip


def _name_session(hit: Hit) -> str:
    if hit.source != SOURCE or hit.origin is None:
        return ""
    project, at = hit.origin.project or "", hit.origin.at or ""
    return ", ".join(filter(None, (quote_safely(re.split(r"[/\\]", project)[-1]), at[:10])))


def _choose(judged: Iterable[Piece], least: float, share: float) -> list[Piece]:
    """Return the pieces that are worth showing, in the order of their rank; none if the best has too little evidence."""
    pieces = list(judged)
    if max((piece.evidence for piece in pieces[:LOOKED_AT]), default=0.0) < least:
        return []
    return [piece for piece in pieces if piece.evidence >= share * least]


def _strip_frame(hit: Hit) -> tuple[int, str]:
    """Return a passage without front matter, headings and blank lines, whose place says the same; and its first line."""
    lines = hit.snippet.split("\n")
    # A heading may be joined to lines further below, and then the last line of the snippet is that of the hit.
    begin = hit.start_line if len(lines) == 1 else max(hit.end_line - len(lines) + 1, hit.start_line)
    numbered = [*enumerate(lines, begin)][find_front_matter(lines) if hit.start_line == 1 else 0 :]
    kept = [(number, line) for number, line in numbered if line.strip() and not line.startswith("#")]
    return (kept[0][0] if kept else begin), "\n".join(line for _, line in kept)
