"""The settings of history: old versions of notes, kept so that questions about the past have an answer."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache

from memory_core.config.fields import InvalidField, Section, about, parse_size_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class HistorySettings(Section):
    """Old versions of notes."""

    enabled: bool = field(default=True, metadata=about("Keep what a sync finds changed, for `asOf`."))
    retention_days: float | None = field(
        default=None,
        metadata=about("Days after which versions that no longer stand are dropped; unset keeps them.", gt=0),
    )
    max_bytes: int | str = field(
        default="200mb", metadata=about("Size of the file from which the oldest versions are dropped; 0 means never.")
    )

    def __post_init__(self) -> None:
        try:
            parse_size_bytes(self.max_bytes)
        except ValueError as error:
            raise InvalidField("max_bytes", str(error)) from error

    @property
    def limit_bytes(self) -> int:
        """`max_bytes` as a number; 0 is no limit."""
        return _parse(self.max_bytes)


_parse = cache(parse_size_bytes)  # every sync asks
