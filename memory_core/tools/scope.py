"""Rules about chats: those that may search memory, and those in which passages are cited. Pure."""

from __future__ import annotations

from dataclasses import replace

from memory_core.config.agent import PERSON, AgentConfig
from memory_core.config.settings import Scope, ScopeMatch
from memory_core.records import CallContext


def allows(scope: Scope, context: CallContext) -> bool:
    """Return True if a call may search: the first rule that matches decides, else the default.

    This machine's own user (the command line) is always allowed.
    """
    if is_local(context):
        return True
    for rule in scope.rules:
        if _matches(rule.match, context):
            return rule.action == "allow"
    return scope.default == "allow"


def advise(scope: Scope, setting: str | None, context: CallContext) -> str:
    """Say what lets a chat use memory that may not.

    Args:
        scope: Of the backend.
        setting: The setting that holds it; None if the backend's own cannot be read.
        context: The chat.
    """
    if setting is None:
        return "run: memory-core doctor"  # which says why
    change = f"change {setting}"
    direct = replace(context, chat_type="direct", session_key=context.session_key or "?")
    return f"ask in a direct chat, or {change}" if allows(scope, direct) else change


def _matches(match: ScopeMatch, context: CallContext) -> bool:
    """Return True if every condition of a rule holds, case aside; a fact that the host did not tell meets no condition."""
    conditions = (
        (match.channel, context.channel, str.__eq__),
        (match.chat_type, context.chat_type, str.__eq__),
        (match.key_prefix, context.session_key, str.startswith),
    )
    return all(
        wanted is None or (given is not None and holds(given.casefold(), wanted.casefold()))
        for wanted, given, holds in conditions
    )


def is_local(context: CallContext) -> bool:
    """Return True for this machine's own user, as at the command line: no session key, and no word of a chat elsewhere."""
    return context.session_key is None and not context.channel and _may_be_direct(context)


def is_direct(context: CallContext) -> bool:
    """Return True in a chat with one person, and for a trusted local caller."""
    return is_local(context) or (context.chat_type or "").casefold() == "direct"


def is_main(context: CallContext, agent: str) -> bool:
    """Return True in the agent's main private session, the only one in which curated memory is shown unasked.

    The host's word counts. Without it, this is a trusted local caller, or a direct chat whose whole key is `main` or
    `agent:<id>:main` with the agent's own id. Any other key may be that of a room, and is not private.

    Args:
        context: The chat.
        agent: The id of the agent whose memory it is.
    """
    if context.main is not None:
        return context.main
    if (context.agent or agent).casefold() != agent or not _may_be_direct(context):
        return False
    if context.session_key is None:
        return is_local(context)
    return context.session_key.casefold() in ("main", f"agent:{agent}:main")


def leave_out_layers(config: AgentConfig, context: CallContext) -> AgentConfig:
    """Return a configuration without the person's layer, unless this is a main private session that may write."""
    if config.find_named(PERSON) is None or (context.access == "rw" and is_main(context, config.agent)):
        return config
    return replace(config, layers=tuple(each for each in config.layers if each.layer != PERSON))


def _may_be_direct(context: CallContext) -> bool:
    return (context.chat_type or "direct").casefold() == "direct"


def cites(citations: str, context: CallContext) -> bool:
    """Return True if snippets carry their source: "on" always, "off" never, "auto" in direct chats."""
    return citations == "on" or (citations == "auto" and is_direct(context))
