"""Proposals as they travel: a line of a note, the line that is to stand there, and what speaks for it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class CitedLine:
    """A line that speaks for a proposal.

    Attributes:
        path, line, text: Where it stands, from 1, and its text.
        date: Of its note, YYYY-MM-DD; None for one without.
    """

    path: str
    line: int
    text: str
    date: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A change of a note that `tidy` proposes; nothing changes before somebody accepts it.

    Attributes:
        id: The same for the same lines, wherever they stand.
        kind: The rule that found it.
        path: The note.
        line: The line, from 1.
        text: The line as it stands; or several, all of which `new` replaces.
        new: The line as it is to be; "" takes it away, and None leaves the change to the reader.
        why: A sentence.
        evidence: The lines that speak for it.
        score: Higher is surer; of outdated lines, those from `memory_core.upkeep.outdated.STRONG` are marked by search.
        note_hash: Of the bytes of the note, in hex.
    """

    id: str
    kind: Literal[
        "outdated",
        "repeated",
        "relative date",
        "broken link",
        "spelling",
        "missing",
        "long",
        "pending",
        "proposed",
        "personal",
    ]
    path: str
    line: int
    text: str
    new: str | None
    why: str
    evidence: tuple[CitedLine, ...] = ()
    score: float = 0.0
    note_hash: str = ""


def sign(proposal: Proposal, key: bytes, note_hash: str) -> Proposal:
    """Return a proposal with the id by which it is known, wherever its lines stand."""
    evidence = sorted(each.text for each in proposal.evidence)
    said = repr((proposal.kind, proposal.path, proposal.text, evidence if proposal.kind != "long" else ()))
    return replace(proposal, id=blake2b(said.encode(), digest_size=5, key=key).hexdigest(), note_hash=note_hash)
