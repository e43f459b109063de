"""The programs of hosts that are asked, in a process of their own, for the facts of a session or for outdated lines.

A program gets the exchange on its standard input, in an empty folder, without tools, hooks and a session of its own; in its
environment `MEMORY_CORE_PAUSE` keeps our hooks in it from learning. It is never asked from within itself.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from tempfile import TemporaryDirectory, TemporaryFile
from typing import Any

from memory_core.completions import Complete, Message
from memory_core.sources.journal import PAUSE

MOST_BYTES = 1 << 20  # of what a program says
MARGIN_SECONDS = 2.0  # before nobody waits for it any more, it is stopped
_PROGRAMS: Mapping[str, list[str]] = {
    "claude-code": [
        *("claude", "-p", "--output-format", "json", "--max-turns", "1", "--no-session-persistence", "--tools", ""),
        *("--settings", '{"disableAllHooks": true}'),
    ],
    "codex": [
        *("codex", "exec", "-", "--json", "--ephemeral", "--skip-git-repo-check", "--disable", "hooks"),
        *("-c", 'sandbox_mode="read-only"', "-c", 'approval_policy="never"'),
    ],
}


def open_program(host: str) -> Complete | None:
    """Return the function that asks the program of a host; None if there is none, or this process runs within one.

    Its exceptions: OSError, if it cannot be run; TimeoutError; ValueError, if it failed or said no JSON.
    """
    words = _PROGRAMS.get(host)
    program = shutil.which(words[0]) if words else None
    if words is None or program is None or os.environ.get(PAUSE, "") not in ("", "0"):
        return None

    def ask(
        messages: list[Message], tools: list[dict[str, Any]], *, max_tokens: int, timeout_seconds: float
    ) -> Mapping[str, Any]:
        wanted = tools[0]["function"]
        schema = json.dumps(wanted["parameters"])
        told = (
            f"There are no tools. Answer, in at most {max_tokens} tokens, with the arguments of {wanted['name']} alone, as JSON"
            f" that fits this schema:\n{schema}"
        )
        prompt = "\n\n".join([*(message["content"] for message in messages), told])
        return _read_answer(_run([program, *words[1:]], prompt, timeout_seconds - MARGIN_SECONDS))

    return ask


def _run(words: list[str], prompt: str, seconds: float) -> str:
    with TemporaryDirectory(prefix="memory-core-ask-") as folder, TemporaryFile() as said:
        try:
            done = subprocess.run(  # noqa: S603 -- the host's own program, without a shell
                words,
                input=prompt.encode(),
                stdout=said,
                stderr=subprocess.DEVNULL,
                cwd=folder,
                env={**os.environ, PAUSE: "1"},
                timeout=max(seconds, 1.0),
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise TimeoutError(f"{words[0]} gave no answer within {seconds:.0f} s") from error
        if done.returncode:
            raise ValueError(f"{words[0]} ended with status {done.returncode}")
        said.seek(0)
        return said.read(MOST_BYTES).decode("utf-8", "replace")


def _read_answer(said: str) -> Mapping[str, Any]:
    """Return what a program said as a completion: the result of Claude Code, the last message of Codex, or the text itself."""
    text, usage = said, {}
    for line in said.splitlines():
        try:
            event = json.loads(line)
        except ValueError:
            continue
        if not isinstance(event, dict):
            continue
        item = event.get("item")
        if isinstance(event.get("result"), str):
            text = event["result"]
        elif isinstance(item, dict) and item.get("type") == "agent_message":
            text = str(item.get("text", ""))
        if isinstance(event.get("usage"), dict):
            usage = event["usage"]
    read = sum(each for name, each in usage.items() if name.endswith("input_tokens") and isinstance(each, int))
    written = usage.get("output_tokens", 0)
    return {"content": text, "usage": {"prompt_tokens": read, "completion_tokens": written}}
