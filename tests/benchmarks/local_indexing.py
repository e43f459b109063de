"""The cost of vectors of tokens: python -m tests.benchmarks.local_indexing MODEL.gguf FOLDER

The notes of a folder are indexed with the provider local, in turn with vectors of tokens and without; printed is the CPU time
of the best of three, and what the index file takes.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from memory_core.config.settings import Local, SearchSettings
from memory_core.embeddings.local import provider as local
from memory_core.embeddings.protocols import EmbeddingProvider
from memory_core.records import Space
from tests.index import Index

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

RUNS = 3


@dataclass
class WithoutTokens:
    """A local provider that keeps its tokens to itself."""

    whole: EmbeddingProvider

    @property
    def space(self) -> Space:
        """See `EmbeddingProvider`."""
        return self.whole.space

    def embed_documents(self, texts: Sequence[str]) -> Iterator[tuple[int, NDArray[np.float32]]]:
        """See `EmbeddingProvider`."""
        return self.whole.embed_documents(texts)

    def embed_query(self, text: str, *, timeout_seconds: float | None = None) -> NDArray[np.float32]:
        """See `EmbeddingProvider`."""
        return self.whole.embed_query(text, timeout_seconds=timeout_seconds)

    def close(self) -> None:
        """See `EmbeddingProvider`."""
        self.whole.close()


def indexed(notes: Path, provider: EmbeddingProvider, search: SearchSettings) -> tuple[float, int, int]:
    """CPU seconds, windows and bytes of one new index."""
    with tempfile.TemporaryDirectory(prefix="memory-core-bench-") as scratch:
        index = Index(notes, Path(scratch), search)
        started = time.process_time()
        report = index.sync(provider)
        seconds = time.process_time() - started
        index.close()
        return seconds, report.embedded, index.config.store_path.stat().st_size


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("folder", type=Path)
    options = parser.parse_args()
    search = SearchSettings(provider="local", local=Local(model_path=str(options.model.absolute())))
    provider = local.open_provider(Index(options.folder, options.folder, search).config, environ={})
    try:
        provider.embed_query("opens the model")
        kinds: dict[str, EmbeddingProvider] = {"with tokens": provider, "without": WithoutTokens(provider)}
        runs = {name: [indexed(options.folder, kinds[name], search) for _ in range(RUNS)] for name in kinds}
        for name, found in runs.items():
            seconds, windows, size = min(found)
            print(f"{name:12s} {windows / seconds:7.1f} windows a CPU second  {size / 1e6:6.2f} MB")
    finally:
        provider.close()


if __name__ == "__main__":
    main()
