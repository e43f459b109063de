"""The settings of the activity log: what sessions have done with the memory."""

from __future__ import annotations

from dataclasses import dataclass, field

from memory_core.config.fields import Section, about


@dataclass(frozen=True, slots=True, kw_only=True)
class ActivitySettings(Section):
    """The log of uses of the memory."""

    enabled: bool = field(
        default=True,
        metadata=about(
            "Log what sessions store, recall, flush and forget: places and counts, no text; 512 KiB at most."
        ),
    )
