"""Commands that a person uses beside a search: write a note, open one in an editor, keep the index up to date."""

from __future__ import annotations

import json
import logging
import sys
import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from memory_core.atomic import locked, replace_file
from memory_core.cli import opening, output
from memory_core.cli.output import describe_failure
from memory_core.cli.parser import Options, build_parser
from memory_core.errors import InvalidArgument, MemoryOff
from memory_core.records import Finding, ProgressCallback, SyncReport

if TYPE_CHECKING:
    from memory_core.config.agent import AgentConfig
    from memory_core.plugin.memory import Memory

WATCH_SECONDS = 1.0  # between two looks at what the background has done


def run_add(options: Options) -> int:
    """Append a text, or what standard input holds, to the note of the day or to MEMORY.md."""
    text = _read_input() if options.text == ["-"] else " ".join(options.text)
    with opening.open_notes(options) as memory:
        target = "longterm" if options.longterm else "daily"
        result = memory.call_tool("memory_append", {"text": text, "target": target})
    if options.json:
        output.print_json(result)
    if "error" in result:
        output.complain(result["error"], result.get("action"))
    elif not options.json:
        print(f"{'Added to' if result['appended'] else 'Already in'} {result['path']}")
    return output.find_code(result)


def _read_input() -> str:
    """Return the text on standard input."""
    try:
        return sys.stdin.buffer.read().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidArgument("TEXT", "standard input is not UTF-8 text") from error


def run_open(options: Options) -> int:
    """Print the file and line of a place as editors take them."""
    from memory_core.sources import pages

    with opening.open_notes(options) as memory:
        result = memory.call_tool("memory_get", {"path": options.place, "lines": 1})
        config = memory.config()
    if code := output.find_code(result):
        if options.json:
            output.print_json(result)
        output.complain(result.get("error") or f"{options.place}: there is no such note", result.get("action"))
        return code
    file = pages.resolve(config, result["path"])
    path = str(file.real_path) if file else result["path"]
    if options.json:
        output.print_json({"path": path, "line": result["from"]})
    else:
        print(f"{path}:{result['from']}")
    return 0


def run_watch(options: Options) -> int:
    """Index what changes in the notes, until somebody interrupts."""
    with opening.open_notes(options) as memory, output.SyncProgress() as progress:
        output.print_report(memory.sync(progress=progress))
        sys.stdout.flush()  # a pipe would keep it back
        memory.start()
        seen = memory.status()
        output.print_aside(f"Watching {seen.workspace}. Press Ctrl-C to end.")
        pause = threading.Event()
        try:
            while not pause.wait(WATCH_SECONDS):
                status = memory.status()
                if status.last_sync != seen.last_sync and (status.files, status.chunks) != (seen.files, seen.chunks):
                    print(
                        f"Indexed {output.count(status.files, 'note')} in {output.count(status.chunks, 'chunk')}.",
                        flush=True,
                    )
                seen = status
        except KeyboardInterrupt:
            output.print_aside("")
    return 0


def run_completion(options: Options) -> int:
    """Print a script that completes commands and options in a shell."""
    import shtab

    from memory_core.cli.commands import COMMANDS

    print(shtab.complete(build_parser(COMMANDS), shell=options.shell))
    return 0


AGAIN = "run `memory-core index`"
LOCK_SECONDS = 5.0
MESSAGE_CHARS = 500

log = logging.getLogger(__name__)


def sync_notes(memory: Memory, *, force: bool, progress: ProgressCallback | None) -> SyncReport:
    """Index what has changed, and keep what is to be complained of; a run without a complaint forgets the one before.

    Raises:
        MemoryCoreError: It cannot be done.
    """
    config = memory.config()
    try:
        report = memory.sync(force=force, progress=progress)
    except MemoryOff:
        raise
    except Exception as error:
        _keep(config, f"{error}" or type(error).__name__)
        raise
    complaints = [*map(describe_failure, report.failures), *report.warnings]
    _keep(config, "; ".join(complaints))
    return report


def diagnose_index(config: AgentConfig) -> list[Finding]:
    """Return a finding about what the last run for an agent complained of; no finding if it did not."""
    path = _find_file(config)
    try:
        kept = json.loads(path.read_bytes())
        message = f"the last `memory-core index` complained at {kept['at']}: {kept['message']}"
    except FileNotFoundError:
        return []
    except (OSError, ValueError, LookupError, TypeError) as error:
        message = f"{path}, which tells of the last `memory-core index`, cannot be read: {error}"
    return [Finding(subject="last index", level="warn", message=message, action=AGAIN)]


def _find_file(config: AgentConfig) -> Path:
    return config.state_dir / "memory-core" / f"{config.agent}.index-complaint.json"


def _keep(config: AgentConfig, message: str) -> None:
    """Keep a complaint with the time, or forget the one that is kept if there is none."""
    path = _find_file(config)
    try:
        if not message:
            path.unlink(missing_ok=True)
            return
        kept = {"at": datetime.now(UTC).isoformat(timespec="seconds"), "message": message[:MESSAGE_CHARS]}
        with locked(path.with_name(f".{path.name}.lock"), timeout_seconds=LOCK_SECONDS):
            replace_file(path, json.dumps(kept).encode("ascii"))
    except (OSError, TimeoutError) as error:
        log.info(
            "doctor cannot tell how this index went: %s", error
        )  # its own checks tell what is wrong with the folder
