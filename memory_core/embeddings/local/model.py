"""A model on this machine, as the provider `local` uses it: tokens in, vectors out. And what such models share."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from memory_core.embeddings.error_mapping import mark_permanent
from memory_core.errors import ProviderUnavailable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from memory_core.embeddings.vectors import Row

    Rows = NDArray[np.float32]

CONTEXT_TOKENS = 512  # longer contexts and larger batches were only slower (all-MiniLM-L6-v2, 2 threads)


@dataclass(frozen=True, slots=True)
class Computed:
    """The vectors of one sequence.

    Attributes:
        pooled: The vector of the whole, not normalised.
        tokens: The vectors of its tokens, without those that mark its beginning and end; None when the model does not pool
            by the mean.
    """

    pooled: Row
    tokens: Rows | None


class Model(Protocol):
    """One open model, for one thread at a time."""

    @property
    def room(self) -> int:
        """The most tokens of text in one sequence."""
        ...

    def tokenize(self, text: str) -> list[int]:
        """Return the text's tokens, without those that mark its beginning and end."""
        ...

    def split_batches(self, sequences: Sequence[Sequence[int]]) -> Iterator[range]:
        """Yield ranges of sequences that are computed together, in order; each sequence is at most `room` tokens long."""
        ...

    def embed(self, sequences: Sequence[Sequence[int]]) -> list[Computed]:
        """Compute the vectors of sequences that `split_batches` put into one batch.

        Raises:
            ProviderUnavailable: They could not be computed.
        """
        ...

    def close(self) -> None:
        """Free the model; may be called twice."""
        ...


def pack(lengths: Sequence[int], *, tokens: int, sequences: int) -> Iterator[range]:
    """Yield ranges of sequences, in order, that have at most so many tokens together; a longer sequence comes alone.

    Args:
        lengths: The tokens of each sequence, with those that mark its beginning and end.
        tokens: The most tokens of one range.
        sequences: The most sequences of one range.
    """
    start = load = 0
    for number, size in enumerate(lengths):
        if number > start and (load + size > tokens or number - start == sequences):
            yield range(start, number)
            start, load = number, 0
        load += size
    if start < len(lengths):
        yield range(start, len(lengths))


def find_framing(bare: Sequence[int], framed: Sequence[int]) -> tuple[list[int], list[int]]:
    """Return the tokens that a model puts before and after a text, [CLS] and [SEP] for a BERT.

    Args:
        bare: The tokens of some text.
        framed: Those of the same text with what is put around it.
    """
    before = next((n for n in range(len(framed)) if [*framed[n : n + len(bare)]] == [*bare]), 0)
    return [*framed[:before]], [*framed[before + len(bare) :]]


def count_threads() -> int:
    """Return the number of threads for a model: half the cores that this process may use, at least 1.

    Threads of llama.cpp and OpenBLAS wait for each other by spinning: with one a core, a busy machine takes 4 to 8 times as long.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, cores // 2)


def refuse_model(name: str, reason: str) -> ProviderUnavailable:
    """Return the error for a model that cannot be used, which no later attempt mends."""
    return mark_permanent(
        ProviderUnavailable("local", f"{name}: {reason}", action="Name another model: memorySearch.local.modelPath.")
    )
