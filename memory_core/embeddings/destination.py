"""Where notes go to be embedded, said once in the log before the first of them leave this machine."""

from __future__ import annotations

import logging
from pathlib import Path

from memory_core.records import Space

log = logging.getLogger(__name__)


def find_destination(space: Space) -> str | None:
    """Return the place to which texts for a space are sent, for people; None if they stay on this machine."""
    from memory_core.embeddings.credentials import find_origin, is_on_this_machine
    from memory_core.embeddings.models import PROVIDERS

    row = PROVIDERS.get(space.provider)
    if row is None or row.route == "local":
        return None
    if not space.endpoint:
        return f"{space.provider} ({space.model})"
    return None if is_on_this_machine(space.endpoint) else f"{space.provider} at {find_origin(space.endpoint)}"


def announce(destination: str, workspace: Path) -> None:
    """Say where the notes of a workspace go from now on, and how they stay here."""
    log.warning(
        'the notes in %s are sent to %s to be embedded; to keep them on this machine, set memorySearch.provider to "static"'
        " (in the environment: MEMORY_CORE_PROVIDER=static)",
        workspace,
        destination,
    )
