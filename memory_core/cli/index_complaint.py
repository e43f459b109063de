"""The complaint of the last `memory-core index`, kept for `doctor`: at the end of a session, nobody reads what it prints."""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from memory_core.atomic import locked, replace_file
from memory_core.cli.output import describe_failure
from memory_core.errors import MemoryOff
from memory_core.records import Finding, ProgressCallback, SyncReport

if TYPE_CHECKING:
    from memory_core.config.agent import AgentConfig
    from memory_core.plugin.memory import Memory

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
