"""Sessions before compaction, described by the host's `sessions.json` and by what the host itself says of them."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from memory_core.config.agent import AgentConfig
from memory_core.config.names import DEFAULT_AGENT
from memory_core.errors import SessionsUnusable
from memory_core.plugin.flush.policy import Session
from memory_core.records import CallContext
from memory_core.sources import sessions_json

logger = logging.getLogger(__name__)


def describe(context: CallContext, config: AgentConfig | None, key: str | None = None, **facts: Any) -> Session:
    """Describe a session before compaction.

    Args:
        context: The session, as for a tool call.
        config: The agent's; None leaves the host's `sessions.json` out.
        key: The session key; None is that of the context, or else that of the agent's main session.
        facts: Attributes of `Session` that the host knows better.
    """
    key = read_key(context) if key is None else key
    known = {"access": context.access, "chat_type": context.chat_type or "", "channel": context.channel or ""}
    entry = {} if config is None else _read_entry(config, key)
    return Session.from_entry(context.agent or DEFAULT_AGENT, key, entry, **(known | facts))


def read_key(context: CallContext) -> str:
    """Return the key of a session; a caller without one is the user of this machine, in the main session."""
    return context.session_key or f"agent:{context.agent or DEFAULT_AGENT}:main"


def _read_entry(config: AgentConfig, key: str) -> Mapping[str, Any]:
    try:
        return sessions_json.read_entry(config.sessions_dir / sessions_json.FILE_NAME, key)
    except SessionsUnusable as error:
        logger.warning("%s", error)
        return {}
