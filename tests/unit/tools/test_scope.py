"""Who may search in which chat, and where sources are cited."""

from __future__ import annotations

from typing import Any

import pytest

from memory_core.config.settings import Scope, ScopeMatch, ScopeRule
from memory_core.records import CallContext
from memory_core.tools.scope import allows, cites, is_direct, is_main

GROUP = CallContext(session_key="agent:main:telegram:group:42", chat_type="group", channel="telegram")
DIRECT = CallContext(session_key="agent:main:telegram:dm:7", chat_type="direct", channel="telegram")
LOCAL = CallContext()
QMD_DEFAULT = Scope(default="deny", rules=(ScopeRule(action="allow", match=ScopeMatch(chat_type="direct")),))


def rules(*pairs: tuple[str, dict[str, str]], default: str = "allow") -> Scope:
    made: list[Any] = [ScopeRule(action=action, match=ScopeMatch(**match)) for action, match in pairs]  # type: ignore[arg-type]
    return Scope(default=default, rules=tuple(made))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("scope", "context", "allowed"),
    [
        (Scope(), GROUP, True),
        (Scope(default="deny"), GROUP, False),
        (Scope(default="deny"), LOCAL, True),
        (Scope(default="deny"), CallContext(chat_type="direct"), True),
        (Scope(default="deny"), CallContext(chat_type="group"), False),
        (Scope(default="deny"), CallContext(channel="slack"), False),
        (Scope(default="deny"), CallContext.local("mine"), False),
        (QMD_DEFAULT, CallContext.local("mine"), True),
        (QMD_DEFAULT, CallContext(chat_type="group"), False),
        (QMD_DEFAULT, DIRECT, True),
        (QMD_DEFAULT, GROUP, False),
        (QMD_DEFAULT, LOCAL, True),
        (QMD_DEFAULT, CallContext(session_key="main"), False),
        (rules(("deny", {"channel": "telegram"})), GROUP, False),
        (rules(("deny", {"channel": "Telegram"})), GROUP, False),
        (rules(("deny", {"channel": "slack"})), GROUP, True),
        (rules(("deny", {"channel": "telegram", "chat_type": "direct"})), GROUP, True),
        (rules(("deny", {"key_prefix": "agent:main:telegram:group:"})), GROUP, False),
        (rules(("deny", {"key_prefix": "AGENT:main:"})), GROUP, False),
        (rules(("deny", {"key_prefix": "telegram"})), GROUP, True),
        (rules(("allow", {"chat_type": "group"}), ("deny", {"channel": "telegram"})), GROUP, True),
        (rules(("deny", {"channel": "telegram"}), ("allow", {"chat_type": "group"})), GROUP, False),
        (rules(("deny", {}), ("allow", {"chat_type": "group"})), GROUP, False),
        (rules(("deny", {"channel": "telegram"})), CallContext(session_key="x"), True),
    ],
)
def test_the_first_rule_that_matches_decides(scope: Scope, context: CallContext, allowed: bool) -> None:
    assert allows(scope, context) is allowed


@pytest.mark.parametrize(
    ("context", "main"),
    [
        (LOCAL, True),
        (CallContext(session_key="main"), True),
        (CallContext(session_key="agent:main:main"), True),
        (CallContext(session_key="agent:MAIN:Main", chat_type="Direct"), True),
        (CallContext(session_key="main", chat_type="direct"), True),
        (CallContext(agent="main"), True),
        (CallContext(chat_type="direct"), True),
        (CallContext.local("window-7"), True),
        (CallContext.local("agent:bob:main"), True),
        (CallContext(chat_type="group"), False),
        (CallContext(chat_type="channel"), False),
        (CallContext(channel="telegram"), False),
        (CallContext(session_key="agent:bob:main"), False),
        (CallContext(session_key="agent:bob:main", chat_type="direct"), False),
        (CallContext(agent="bob", session_key="main"), False),
        (CallContext(session_key="slack:channel:main"), False),
        (CallContext(session_key="slack:channel:main", chat_type="direct"), False),
        (CallContext(session_key="telegram:group:main"), False),
        (CallContext(session_key="cron:x:main"), False),
        (CallContext(session_key="subagent:7:main", chat_type="direct"), False),
        (CallContext(session_key="agent:main:main:main"), False),
        (CallContext(session_key="agent::main"), False),
        (CallContext(session_key="main "), False),
        (CallContext(session_key=""), False),
        (CallContext(session_key="main", chat_type="dm?"), False),
        (CallContext(session_key="agent:main:main", chat_type="group"), False),
        (GROUP, False),
        (DIRECT, False),
        (CallContext(session_key="agent:main:telegram:dm:main"), False),
        (CallContext(session_key="agent:main:telegram:group:42", main=True), True),
        (CallContext(session_key="main", main=False), False),
    ],
)
def test_the_main_private_session(context: CallContext, main: bool) -> None:
    assert is_main(context, "main") is main


def test_each_agent_has_a_main_session_of_its_own() -> None:
    assert is_main(CallContext(session_key="agent:alice:main"), "alice")
    assert is_main(CallContext(agent="Alice", session_key="agent:ALICE:main"), "alice")
    assert not is_main(CallContext(session_key="agent:bob:main"), "alice")
    assert not is_main(CallContext(agent="alice", session_key="agent:bob:main", chat_type="direct"), "alice")
    assert not is_main(CallContext(session_key="agent:main:main"), "alice")


@pytest.mark.parametrize(
    ("context", "direct"),
    [
        (LOCAL, True),
        (DIRECT, True),
        (GROUP, False),
        (CallContext(session_key="x"), False),
        (CallContext(chat_type="group"), False),
        (CallContext.local("x"), True),
    ],
)
def test_auto_cites_in_direct_chats(context: CallContext, direct: bool) -> None:
    assert is_direct(context) is direct
    assert cites("auto", context) is direct
    assert cites("on", context)
    assert not cites("off", context)
