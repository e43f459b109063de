"""Outcomes of embedding: for each text its row, or the error because of which it has none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memory_core.embeddings import packing
from memory_core.embeddings.error_mapping import is_outage
from memory_core.errors import ProviderError

if TYPE_CHECKING:
    from memory_core.embeddings.vectors import Row

    Outcome = Row | ProviderError


@dataclass(frozen=True, slots=True)
class RequestOutcomes:
    """The outcomes of one request.

    Attributes:
        indices: The numbers of its texts.
        outcomes: For each of them a row of unit length, or an error.
    """

    indices: list[int]
    outcomes: Sequence[Outcome]

    @property
    def embedded(self) -> list[int]:
        """The numbers of the texts that got a row."""
        paired = zip(self.indices, self.outcomes, strict=True)
        return [index for index, outcome in paired if not isinstance(outcome, ProviderError)]

    @property
    def failures(self) -> list[ProviderError]:
        """The errors, one for every text that got no row."""
        return [outcome for outcome in self.outcomes if isinstance(outcome, ProviderError)]

    def stack_rows(self) -> Iterator[tuple[int, Row]]:
        """Yield the rows of consecutive texts together, as (first number, rows)."""
        import numpy as np

        embedded = self.embedded
        rows = [outcome for outcome in self.outcomes if not isinstance(outcome, ProviderError)]
        for start, end in packing.find_runs(embedded):
            yield embedded[start], np.stack(rows[start:end])


def summarise(failures: Sequence[ProviderError], texts: int) -> ProviderError:
    """Return the error to raise for many: an outage before the error of a single text, with a note that counts them."""
    error = next(filter(is_outage, failures), failures[0])
    error.add_note(f"At least {len(failures)} of {texts} texts got no embedding.")
    return error
