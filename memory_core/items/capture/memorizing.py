"""From a finished exchange to items: facts found by the model or the rules, refused or written."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from memory_core.errors import InvalidArgument
from memory_core.items.capture.exchange import Exchange, read_exchange
from memory_core.items.capture.extraction import ask_model
from memory_core.items.capture.found import FoundFact, complete
from memory_core.items.capture.rules import find_facts
from memory_core.items.likeness import list_words, stem
from memory_core.items.records import Draft, Memorized, Provenance, Reason, RefusedFact, check_draft
from memory_core.sources.redaction import redact
from memory_core.text.paragraphs import fingerprint_recalled, is_recalled

if TYPE_CHECKING:
    from memory_core.completions import AsyncComplete, Complete
    from memory_core.items.items import Items

log = logging.getLogger(__name__)

CORRECTED_TURNS = 3  # before a short correction, among which the value that it corrects was said
LOOKED_AT = 5  # items that a short correction may be about
QUESTION_CHARS = 600
REFUSED_CHARS = 200  # of a message with a secret, in the result
REPEATED_SHARE = 0.8  # of a fact's words that stand in what nobody said, from which the fact is taken from there
OWN_SHARE = 0.5  # of them that stand in the user's words, from which it is the user's all the same
_RECALLED_MARK = re.compile(r"\A\s*+(?:>\s*+)?(?:[\w-]{1,16}:|\d++[.)]|[-*+])?\s*+")


def memorize(
    items: Items,
    messages: Sequence[Mapping[str, Any]],
    complete: Complete | AsyncComplete | None,
    *,
    scope: str,
    session: str | None,
    recalled: frozenset[str],
    first: int,
    now: float,
    max_tokens: int,
    max_seconds: float,
) -> Memorized:
    """Find the facts of an exchange and write them; see `Items.memorize`."""
    exchange = read_exchange(messages, first=first, max_tokens=max_tokens)
    findings, warning = None, None
    if complete is not None and any(turn.new and turn.speaker == "user" for turn in exchange.turns):
        try:
            findings = ask_model(exchange.turns, complete, now=now, max_seconds=max_seconds)
        except Exception as error:  # noqa: BLE001 -- the host's model may raise anything; the rules answer then
            warning = f"the model gave no facts, the rules did: {redact(str(error)) or type(error).__name__}"
            log.warning("capture: %s", warning)
    by_model = findings is not None
    found = _find_by_rules(items, exchange, scope=scope, now=now) if findings is None else findings
    drafts = []
    refused = [
        RefusedFact(text=turn.text[:REFUSED_CHARS], reason="secret")
        for turn in exchange.turns
        if turn.new and turn.has_secret
    ]
    for finding in found:
        draft, reason = _judge(finding, exchange, recalled, scope=scope, session=session)
        if reason is None and items.was_forgotten(draft):
            reason = "forgotten"
        if reason is None:
            drafts.append(draft)
        else:
            refused.append(RefusedFact(text=redact(finding.content), reason=reason))
    written = items.write_many(drafts, corrects=True) if drafts else []
    log.info(
        "capture: %d facts kept, %d refused, by %s", len(written), len(refused), "the model" if by_model else "rules"
    )
    return Memorized(
        written=tuple(written), refused=tuple(refused), by="model" if by_model else "rules", warning=warning
    )


def _find_by_rules(items: Items, exchange: Exchange, *, scope: str, now: float) -> list[FoundFact]:
    """Return the facts that the rules find; a correction that names only what changes is completed."""
    found: list[FoundFact] = []
    for fact in find_facts(exchange.turns, now=now):
        if fact.short is None:
            found.append(fact)
            continue
        heard = [turn.text for turn in exchange.turns[max(fact.turn - CORRECTED_TURNS, 0) : fact.turn]]
        known: list[tuple[str, str | None]] = [(each.content, None) for each in reversed(found)]
        if heard:
            hits = items.query(" ".join(heard)[-QUESTION_CHARS:], scope=scope, limit=LOOKED_AT).hits
            known += [(hit.item.content, hit.item.id) for hit in hits]
        for content, item_id in known:
            completed = complete(fact.short, content, [*heard, *(each.content for each in found)])
            if completed is not None:
                found = [each for each in found if each.content != content]
                found.append(replace(fact, content=completed, short=None, supersedes=(item_id,) if item_id else ()))
                break
    return found


def _judge(
    finding: FoundFact, exchange: Exchange, recalled: frozenset[str], *, scope: str, session: str | None
) -> tuple[Draft, Reason | None]:
    """Return a fact to write, or the reason why it must not be written."""
    origin = Provenance(session=session, said_at=finding.said_at, speaker=finding.speaker)
    draft = Draft(
        content=finding.content, scope=scope, kind=finding.kind, pending=finding.tier == "pending", provenance=origin,
        supersedes=finding.supersedes,
    )  # fmt: skip
    if redact(finding.content) != finding.content:
        return draft, "secret"
    if is_recalled(finding.content, recalled | _fingerprint(exchange.recalled_texts)):
        return draft, "recalled"
    own = " ".join(turn.text for turn in exchange.turns if turn.speaker == "user")
    if _share(finding.content, own) < OWN_SHARE:
        if _share(finding.content, " ".join(exchange.recalled_texts)) >= REPEATED_SHARE:
            return draft, "recalled"
        if _share(finding.content, " ".join(exchange.tool_texts)) >= REPEATED_SHARE:
            return draft, "tool output"
    try:
        return check_draft(draft), None
    except InvalidArgument as error:
        log.info("capture: a fact is left out: %s", error)
        return draft, "unusable"


def _fingerprint(texts: Iterable[str]) -> frozenset[str]:
    return fingerprint_recalled(
        _RECALLED_MARK.sub("", line) for text in texts for line in text.split("\n") if line.strip()
    )


def _share(fact: str, text: str) -> float:
    """Return the share of a fact's words that stand in a text, 0..1."""
    words = {stem(word) for word in list_words(fact)}
    return len(words & {stem(word) for word in list_words(text)}) / len(words) if words else 0.0
