"""The envelope that a host such as OpenClaw puts around a message, as of its version 2026.9, and messages of its own. Pure."""

from __future__ import annotations

import re

from memory_core.text.tables import join_lines

_MARKER = r"<<<(?:END_)?[A-Z_]*UNTRUSTED_[A-Z_]+[^\n>]*>>>"  # before and behind what comes from elsewhere
# Labels of blocks that a host puts before a message, or behind it: "Sender (untrusted metadata):", "Context: ⟦openclaw:ctx⟧".
_BEHIND = r"Untrusted context \([^)\n]{1,80}\):"  # of all that OpenClaw's appendUntrustedContext adds
_BLOCK = re.compile(
    rf"^(?:[^\n]{{1,80}}?[ ](?:\(untrusted[^)\n]{{0,40}}\):|⟦openclaw:ctx⟧)|{_BEHIND})[ \t]*\n"
    rf"(?:(?:\n?{_MARKER}\n.*?(?:^<<<END_[^\n]*$|\Z)\n?)+|"
    r"```\w*\n.*?(?:^```[ \t]*$|\Z)|\{\n.*?(?:^\}[ \t]*$|\Z)|(?:[^\n]*\S[^\n]*(?:\n|\Z))*)\n*",
    re.DOTALL | re.MULTILINE,
)
_DATED = r"\[[^\]\n]{0,120}?\d{4}-\d\d-\d\d[T ]\d\d:\d\d[^\]\n]{0,40}\]"
_CHANNELS = (
    "WebChat|WhatsApp|Telegram|Signal|Slack|Discord|Google Chat|iMessage|Teams|Matrix|Zalo|BlueBubbles|Feishu|LINE"
)
_HEAD = re.compile(
    rf"\A(?:(?:{_DATED}|\[(?:{_CHANNELS}) [^\]\n]{{1,160}}\]|\[cron:[^\]\n]{{1,160}}\])[ \t]*)?"
    r"(?:<media:\w{1,20}>\s*(?:Transcript:\s*)?)?"
)
# Of queued messages.
_LATER_HEAD = re.compile(rf"^\[(?:{_CHANNELS}) (?=[^\]\n]*\d\d:\d\d)[^\]\n]{{1,160}}\](?!\()[ \t]*", re.MULTILINE)
_HOST_LINE = re.compile(
    r"\[(?:\w+ )?message[_ ]id: *[^\]\n]+\][ \t]*$\n?|^\[Replying to [^\]\n]*\]\n(?s:.{0,4000}?)^\[/Replying\][ \t]*(?:\n|\Z)"
    r"|^[ \t]*(?:\[(?:from:|media attached|Queued messages|Chat messages since your last reply|Current message -)[^\]\n]*\]"
    r"|(?:---\s+)?Queued #\d+"
    rf"|To send an image back, [^\n]*|MEDIA:[^\n]+|System(?: \(untrusted\))?: {_DATED}[^\n]*|{_MARKER})[ \t]*(?:\n|\Z)",
    re.MULTILINE,
)
# Orders to the host that delivers a reply; they look like links.
DIRECTIVE = re.compile(
    r"\[\[ *(?:reply_to_current|audio_as_voice|reply_to *:[^\]\n]{1,80}|/?tts(?::[^\]\n]{1,200})?) *\]\][ \t]*",
    re.IGNORECASE,
)
HOST_MARKER = re.compile(_MARKER)
# What a host has recalled for a message, and the marks around the part of a reply that it shows.
_RECALLED = re.compile(
    rf"(?:{_BEHIND}\s*)?<(?P<tag>[a-z]+[-_]memor(?:y|ies)(?:_plugin)?)\b[^<>]*>.*?</(?P=tag)>\s*|</?final>", re.DOTALL
)
_HEARTBEAT_OK = "HEARTBEAT_OK"
_SILENT_CHARS = 300  # beside HEARTBEAT_OK, up to which the host shows nobody a reply
_WAKING = re.compile(join_lines("waking"), re.IGNORECASE)


def strip_envelope(text: str) -> str:
    """Return the words of a message: without recalled memories, blocks of metadata, the head with channel and time, markers."""
    text = _RECALLED.sub("", text).lstrip() if "</" in text else text
    if "[" in text or "ntrusted" in text or "UNTRUSTED" in text or "openclaw" in text or "<media:" in text:
        text = _HOST_LINE.sub("", _BLOCK.sub("", text)).lstrip()
        text = DIRECTIVE.sub("", _LATER_HEAD.sub("", _HEAD.sub("", text)))
    return text.strip()


def is_by_host(role: str, text: str) -> bool:
    """Return True for a message that nobody said: the host wakes the agent, or the agent answers that nothing is to be done."""
    if role == "user":
        return _WAKING.search(text) is not None or ("HEARTBEAT.md" in text and _HEARTBEAT_OK in text)
    rest = text.strip(" \n*`_~.!\"'")
    at_edge = rest.startswith(_HEARTBEAT_OK) or rest.endswith(_HEARTBEAT_OK)
    return at_edge and len(rest) - len(_HEARTBEAT_OK) <= _SILENT_CHARS
