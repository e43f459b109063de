"""Who may search in which chat, and where sources are cited."""

from __future__ import annotations

from typing import Any

import pytest

from memory_core.records import CallContext
from memory_core.scope import allows, cites, is_direct, is_main
from memory_core.settings import Scope, ScopeMatch, ScopeRule

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
        (CallContext(session_key="agent:helper:MAIN", chat_type="Direct"), True),
        (CallContext(session_key="agent:main:main", chat_type="group"), False),
        (GROUP, False),
        (DIRECT, False),
        (CallContext(session_key="agent:main:telegram:dm:main"), False),
        (CallContext(session_key="agent:main:telegram:group:42", main=True), True),
        (CallContext(session_key="main", main=False), False),
    ],
)
def test_the_main_private_session(context: CallContext, main: bool) -> None:
    assert is_main(context) is main


@pytest.mark.parametrize(
    ("context", "direct"), [(LOCAL, True), (DIRECT, True), (GROUP, False), (CallContext(session_key="x"), False)]
)
def test_auto_cites_in_direct_chats(context: CallContext, direct: bool) -> None:
    assert is_direct(context) is direct
    assert cites("auto", context) is direct
    assert cites("on", context)
    assert not cites("off", context)
