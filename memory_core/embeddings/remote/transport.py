"""Protocols between a remote provider and its vendors: one request, and a job of many texts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from memory_core.embeddings.protocols import TextKind
from memory_core.errors import ProviderError

if TYPE_CHECKING:
    from memory_core.embeddings.vectors import Row


class Transport(Protocol):
    """Sends one request. Called in the provider's event loop only."""

    async def send(self, texts: Sequence[str], kind: TextKind) -> Sequence[Row]:
        """Return the vectors as they came, one a text, in the texts' order.

        Raises:
            ProviderError: The request failed; its `retryable` says whether to try again.
        """
        ...

    async def load(self) -> None:
        """Load what the first request needs.

        Raises:
            ProviderError: It cannot be loaded.
        """
        ...

    async def close(self) -> None:
        """Close connections."""
        ...


class BulkEmbedder(Protocol):
    """Embeds many texts at once, cheaper and slower than requests."""

    def embed(self, texts: Sequence[str]) -> Iterator[Mapping[int, Row | ProviderError]]:
        """Yield vectors as they came, by the number of their text, or the error because of which there is none yet.

        Texts that are left out are sent by requests; those with an error are not.
        """
        ...

    def close(self) -> None:
        """Stop waiting for jobs that run."""
        ...
