"""The protocols of embedding providers, the values that go in and out, and what local and remote ones share."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Literal, Protocol, TypeGuard, TypeVar, runtime_checkable

from memory_core.errors import InputTooLarge, InvalidEmbedding, ProviderError, ProviderUnavailable, TextRefused
from memory_core.records import Calibration, Space

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

T = TypeVar("T")

TextKind = Literal["document", "query"]


@runtime_checkable
class EmbeddingProvider(Protocol):
    """Makes embeddings. One object belongs to one backend; calls may come from several threads."""

    @property
    def space(self) -> Space:
        """The space of its vectors; opens nothing."""

    def embed_documents(self, texts: Sequence[str]) -> Iterator[tuple[int, NDArray[np.float32]]]:
        """Embed texts in as few requests as possible, and yield the rows of each as it returns.

        Args:
            texts: None of them empty.

        Yields:
            The index of a first text, and float32 rows of unit length for it and those that follow, shape
            (n, dimensions), in any order of first texts. A row of zeros says that its text has no direction and is not to
            be tried again.

        Raises:
            ProviderError: Some texts got no embedding; raised after all other rows were yielded, unless the whole provider
                is out of order.
        """

    def embed_query(self, text: str, *, timeout_seconds: float | None = None) -> NDArray[np.float32]:
        """Return a float32 row of unit length, shape (dimensions,); zeros when the text has no direction.

        Raises:
            ProviderError: There is no embedding; raised within the timeout, retries included.
        """

    def close(self) -> None:
        """Cancel what runs, free the model and close connections; may be called twice."""


@runtime_checkable
class Calibrated(Protocol):
    """An optional part of a provider that knows its model: for others the index estimates the calibration from the notes."""

    @property
    def calibration(self) -> Calibration:
        """The calibration of its space."""


def is_calibrated(provider: object) -> TypeGuard[Calibrated]:
    """Return True if a provider knows its calibration, so that no index has to estimate it.

    That of a table of tokens is always estimated: to a table of English, notes in another language are all alike.
    """
    return isinstance(provider, Calibrated) and not isinstance(provider, TokenModel)


@runtime_checkable
class Remarking(Protocol):
    """An optional part of a provider that serves, but not as it should."""

    @property
    def remark(self) -> str | None:
        """One sentence on what it does badly, for the warning of a search; None as long as nothing is known."""


@dataclass(frozen=True, slots=True)
class TokenEmbedding:
    """One text's embedding with those of its tokens.

    Attributes:
        row: The text's row of unit length, as from `EmbeddingProvider`, shape (dimensions,).
        tokens: float32 vectors of the text's tokens in their context, in order, of any length, shape (n, dimensions);
            None when the model has none whose mean is the text's.
        counts: The number of tokens of each part of the text, in order.
    """

    row: NDArray[np.float32]
    tokens: NDArray[np.float32] | None
    counts: Sequence[int]


@runtime_checkable
class TokenEmbedder(Protocol):
    """An optional part of a provider: embeddings of tokens in their context, for late interaction.

    Texts come in parts, which make up the text when they are joined: units of a note, words of a question.
    """

    def embed_document_tokens(self, texts: Sequence[Sequence[str]]) -> Iterator[tuple[int, Sequence[TokenEmbedding]]]:
        """Embed texts like `EmbeddingProvider.embed_documents`, with the tokens."""

    def embed_query_tokens(self, parts: Sequence[str], *, timeout_seconds: float | None = None) -> TokenEmbedding:
        """Embed a question like `EmbeddingProvider.embed_query`, with the tokens."""


@runtime_checkable
class TokenModel(Protocol):
    """An optional part of a provider: vectors of tokens from a table, equal in every context, for late interaction."""

    def token_ids(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the token ids of every text, each 0..65534."""

    def token_vectors(self, ids: NDArray[np.uint16]) -> NDArray[np.float32]:
        """Return rows of the token table, not normalised, shape (len(ids), dimensions); zeros for tokens that mean nothing."""


@dataclass(slots=True)
class Deadline:
    """The deadline of one call, with the last error that was met before it.

    Attributes:
        ends_at: Monotonic seconds; None waits for ever.
        last: The error of the last attempt.
        patient: What fails is tried again.
    """

    ends_at: float | None = None
    last: ProviderError | None = None
    patient: bool = True

    @classmethod
    def until(cls, timeout_seconds: float | None) -> Deadline:
        """Begin now and end after a timeout; None waits for ever."""
        return cls(None if timeout_seconds is None else time.monotonic() + timeout_seconds)

    @property
    def left_seconds(self) -> float | None:
        """Seconds until the deadline, 0 behind it; None without one."""
        return None if self.ends_at is None else max(0.0, self.ends_at - time.monotonic())


@dataclass(slots=True)
class Limits:
    """The limits of what is sent or computed together.

    Attributes:
        items: Their number, at least 1; may be lowered while `pack` packs.
        size: The sum of their sizes, such as tokens.
    """

    items: int
    size: float = math.inf


def pack(items: Iterable[T], limits: Limits, measure: Callable[[T], int]) -> Iterator[list[T]]:
    """Yield runs of items, in order, each as long as the limits allow and never empty.

    Lazy, and `limits` is read anew for every run, so that a limit learnt meanwhile holds for those that follow.

    Args:
        items: What is packed.
        limits: Of one run; an item that exceeds the size alone gets a run of its own.
        measure: Returns the size of an item.
    """
    run: list[T] = []
    load = 0
    for item in items:
        size = measure(item)
        if run and (len(run) >= limits.items or load + size > limits.size):
            yield run
            run, load = [], 0
        run.append(item)
        load += size
    if run:
        yield run


def find_runs(outcomes: Mapping[int, T | ProviderError]) -> Iterator[tuple[int, list[T]]]:
    """Yield the results of consecutive numbers together, as (first number, results); errors are left out."""
    found = {number: each for number, each in outcomes.items() if not isinstance(each, ProviderError)}
    # Of consecutive numbers, the distance to their places is the same.
    for _, run in groupby(enumerate(sorted(found)), key=lambda each: each[1] - each[0]):
        numbers = [number for _, number in run]
        yield numbers[0], [found[number] for number in numbers]


def make_unusable(provider: str, message: str, *, action: str = "") -> ProviderUnavailable:
    """Return the error of a provider that no later attempt mends."""
    error = ProviderUnavailable(provider, message, action=action)
    error.retryable = False
    return error


def is_outage(error: ProviderError) -> bool:
    """Return True if the provider as a whole is out of order, so that sending it more is pointless."""
    return not isinstance(error, InputTooLarge | InvalidEmbedding)


def list_failures(outcomes: Mapping[int, object]) -> list[ProviderError]:
    """Return the errors among outcomes."""
    return [outcome for outcome in outcomes.values() if isinstance(outcome, ProviderError)]


def blame_texts(outcomes: Sequence[T | ProviderError]) -> list[T | ProviderError]:
    """Return the outcomes of one request; where some texts got an embedding, what is unusable is a `TextRefused`."""
    works = not all(isinstance(outcome, ProviderError) for outcome in outcomes)
    return [
        TextRefused(outcome.provider, outcome.reason) if works and isinstance(outcome, InvalidEmbedding) else outcome
        for outcome in outcomes
    ]


def summarise(failures: Sequence[ProviderError], texts: int) -> ProviderError:
    """Return the error to raise for many, with a note that counts them: an outage first, a `TextRefused` last."""
    error = min(failures, key=lambda each: (not is_outage(each), isinstance(each, TextRefused)))
    error.add_note(f"At least {len(failures)} of {texts} texts got no embedding.")
    return error
