"""Stand-ins that are real code: deterministic, without a network, and they count what they are asked."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import chain
from typing import TYPE_CHECKING

from memory_core.embeddings.protocols import TokenEmbedding
from memory_core.errors import InputTooLarge, ProviderError, RequestTimeout
from memory_core.records import Space

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass
class CountingProvider:
    """An `EmbeddingProvider` whose vectors are sums of word vectors, so that shared words are nearness.

    Attributes:
        model: Another model is another space.
        dimensions: Of its vectors.
        batch: Texts a request.
        out: When true every request fails, as in an outage.
        requests_left: After so many more requests the outage begins; None is never.
        refused: Texts that never get an embedding, whatever else does.
        requests: The texts of every request so far that was answered.
        queries: The questions so far.
    """

    model: str = "fake-1"
    dimensions: int = 32
    batch: int = 16
    out: bool = False
    requests_left: int | None = None
    refused: Collection[str] = ()
    requests: list[Sequence[str]] = field(default_factory=list)
    queries: list[str] = field(default_factory=list)

    @property
    def space(self) -> Space:
        """The one space of its model."""
        return Space(provider="fake", model=self.model, dimensions=self.dimensions)

    @property
    def sent(self) -> list[str]:
        """All texts that were embedded so far, in order."""
        return list(chain.from_iterable(self.requests))

    def embed_documents(self, texts: Sequence[str]) -> Iterator[tuple[int, NDArray[np.float32]]]:
        """See `EmbeddingProvider.embed_documents`."""
        refused = False
        for first in range(0, len(texts), self.batch):
            self._begin_request()
            step = texts[first : first + self.batch]
            answered = [text for text in step if text not in self.refused]
            refused |= len(answered) < len(step)
            self.requests.append(answered)
            if len(answered) == len(step):
                yield first, self._rows(step)
                continue
            for offset, text in enumerate(step, first):
                if text not in self.refused:
                    yield offset, self._rows([text])
        if refused:
            raise InputTooLarge("fake", "a text was refused")

    def embed_query(self, text: str, *, timeout_seconds: float | None = None) -> NDArray[np.float32]:
        """See `EmbeddingProvider.embed_query`."""
        if self.out:
            raise RequestTimeout("fake", f"no answer within {timeout_seconds} s")
        self.queries.append(text)
        row: NDArray[np.float32] = self._rows([text])[0]
        return row

    def close(self) -> None:
        """Nothing to let go of."""

    def _begin_request(self) -> None:
        if self.requests_left is not None:
            self.out |= self.requests_left == 0
            self.requests_left -= 1
        if self.out:
            raise self.outage()

    @staticmethod
    def outage() -> ProviderError:
        """Return the error that every request meets while it is out."""
        return RequestTimeout("fake", "no answer")

    def _rows(self, texts: Sequence[str]) -> NDArray[np.float32]:
        import numpy as np

        sums = np.stack([sum((self._word(word) for word in _words(text)), np.zeros(self.dimensions)) for text in texts])
        lengths = np.linalg.norm(sums, axis=1, keepdims=True)
        rows: NDArray[np.float32] = np.divide(sums, lengths, out=sums, where=lengths > 0).astype(np.float32)
        return rows

    def _word(self, word: str) -> NDArray[np.float64]:
        import numpy as np

        seed = int.from_bytes(blake2b(f"{self.model} {word}".encode(), digest_size=8).digest(), "big")
        return np.random.default_rng(seed).standard_normal(self.dimensions)


@dataclass
class TokenProvider(CountingProvider):
    """A `TokenEmbedder` whose tokens are words, each a little like the text it stands in.

    Attributes:
        pools_by_mean: Otherwise it has no vectors of tokens.
    """

    model: str = "fake-tokens"
    dimensions: int = 36  # no whole number of bytes
    pools_by_mean: bool = True

    def embed_document_tokens(self, texts: Sequence[Sequence[str]]) -> Iterator[tuple[int, list[TokenEmbedding]]]:
        """See `TokenEmbedder.embed_document_tokens`."""
        for first, rows in self.embed_documents(["".join(parts) for parts in texts]):
            yield first, [self._by_token(parts, row) for parts, row in zip(texts[first:], rows, strict=False)]

    def embed_query_tokens(self, parts: Sequence[str], *, timeout_seconds: float | None = None) -> TokenEmbedding:
        """See `TokenEmbedder.embed_query_tokens`."""
        return self._by_token(parts, self.embed_query("".join(parts), timeout_seconds=timeout_seconds))

    def _by_token(self, parts: Sequence[str], row: NDArray[np.float32]) -> TokenEmbedding:
        import numpy as np

        words = [_words(part) for part in parts]
        tokens = [self._word(word) + row for word in chain.from_iterable(words)]
        table = np.array(tokens, dtype=np.float32).reshape(-1, self.dimensions)
        return TokenEmbedding(row, table if self.pools_by_mean else None, [*map(len, words)])


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())
