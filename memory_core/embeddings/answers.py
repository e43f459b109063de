"""What the texts of a request got, and how long its caller waits: values that `requests` works with."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memory_core.embeddings import packing
from memory_core.embeddings.failures import is_outage
from memory_core.errors import ProviderError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Row = NDArray[np.float32]
    Outcome = Row | ProviderError


@dataclass(slots=True)
class Patience:
    """How long one caller waits.

    Attributes:
        ends_at: Monotonic seconds; None is for ever.
        last: The last error met on the way.
    """

    ends_at: float | None = None
    last: ProviderError | None = None

    @classmethod
    def until(cls, timeout_seconds: float | None) -> Patience:
        """From now on; None is for ever."""
        return cls(None if timeout_seconds is None else time.monotonic() + timeout_seconds)

    def left(self) -> float:
        """Seconds; infinite when it has no end."""
        return float("inf") if self.ends_at is None else self.ends_at - time.monotonic()

    def seconds(self) -> float | None:
        """What waiting functions take: not negative, None for ever."""
        return None if self.ends_at is None else max(0.0, self.left())


@dataclass(frozen=True, slots=True)
class Answer:
    """What the texts of one request got: for each number in `indices` its row of unit length, or why it has none."""

    indices: list[int]
    outcomes: Sequence[Outcome]

    def embedded(self) -> list[int]:
        """The numbers of the texts that got a row."""
        paired = zip(self.indices, self.outcomes, strict=True)
        return [index for index, outcome in paired if not isinstance(outcome, ProviderError)]

    def failures(self) -> list[ProviderError]:
        """One error for every text that got none."""
        return [outcome for outcome in self.outcomes if isinstance(outcome, ProviderError)]

    def pieces(self) -> Iterator[tuple[int, Row]]:
        """Stretches of consecutive texts that got a row, as (first number, rows)."""
        import numpy as np

        good = self.embedded()
        rows = [outcome for outcome in self.outcomes if not isinstance(outcome, ProviderError)]
        for start, end in packing.runs(good):
            yield good[start], np.stack(rows[start:end])


def summed_up(failures: Sequence[ProviderError], texts: int) -> ProviderError:
    """The error that stands for all: an outage before the trouble of a single text; a note says what it cost."""
    error = next(filter(is_outage, failures), failures[0])
    error.add_note(f"At least {len(failures)} of {texts} texts got no embedding.")
    return error
