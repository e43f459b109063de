"""The tools by which an agent sees, settles and makes proposals for notes, offered as `memorySearch.tidy.agentMayApply` says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memory_core.text.messages import quote_safely
from memory_core.tools.arguments import TOOLS

if TYPE_CHECKING:
    from memory_core.upkeep.proposals import Proposal

REVIEW, RESOLVE, PROPOSE = TOOLS["memory_review"], TOOLS["memory_resolve"], TOOLS["memory_propose"]
LIMIT = 10
NOT_OFFERED = "proposals are not for agents here"
SWITCH_ON = "set memorySearch.tidy.agentMayApply to true to let agents settle proposals, to false to let them make some"
NOT_HERE = "proposals may be used in the main private session only"


def shape(proposal: Proposal) -> dict[str, Any]:
    """Return a proposal as a model sees it: nothing in it can pass for anything but text."""
    places = [{"path": each.path, "line": each.line, "text": quote_safely(each.text)} for each in proposal.evidence]
    return {
        "id": proposal.id, "kind": proposal.kind, "path": proposal.path, "line": proposal.line,
        "text": quote_safely(proposal.text), "new": None if proposal.new is None else quote_safely(proposal.new),
        "why": proposal.why, "evidence": places,
    }  # fmt: skip
