"""In which chats memory may be searched, and where passages are cited. Pure."""

from __future__ import annotations

from memory_core.records import CallContext
from memory_core.settings import Scope, ScopeMatch


def allows(scope: Scope, context: CallContext) -> bool:
    """Whether a call may search: the first rule that matches decides, else the default.

    A call without a session key comes from this machine's own user (the command line) and is always allowed.
    """
    if context.session_key is None:
        return True
    for rule in scope.rules:
        if _matches(rule.match, context):
            return rule.action == "allow"
    return scope.default == "allow"


def _matches(match: ScopeMatch, context: CallContext) -> bool:
    """Every condition that is set must hold; a fact that the host did not tell holds for none. Case does not count."""
    conditions = (
        (match.channel, context.channel, str.__eq__),
        (match.chat_type, context.chat_type, str.__eq__),
        (match.key_prefix, context.session_key, str.startswith),
    )
    return all(
        wanted is None or (given is not None and holds(given.casefold(), wanted.casefold()))
        for wanted, given, holds in conditions
    )


def is_direct(context: CallContext) -> bool:
    """A chat with one person, or a trusted local caller."""
    return context.session_key is None or (context.chat_type or "").casefold() == "direct"


def is_main(context: CallContext) -> bool:
    """The agent's main private session, the only one in which curated memory is shown unasked.

    What the host says counts; else a direct chat whose key is `main` or `agent:<id>:main`, or a trusted local caller.
    """
    if context.main is not None:
        return context.main
    if context.session_key is None:
        return True
    parts = context.session_key.casefold().split(":")
    return parts[-1] == "main" and len(parts) in (1, 3) and (context.chat_type or "direct").casefold() == "direct"


def cites(citations: str, context: CallContext) -> bool:
    """Whether snippets carry their source: "on" always, "off" never, "auto" in direct chats."""
    return citations == "on" or (citations == "auto" and is_direct(context))
