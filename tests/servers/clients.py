"""Helpers of provider tests on the client's side."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from memory_core.config.agent import AgentConfig
from memory_core.config.settings import ProviderId, SearchSettings
from memory_core.embeddings.remote.loop import Retries
from tests.servers.loopback import vector_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from memory_core.embeddings.protocols import EmbeddingProvider
    from tests.servers.gemini import GeminiServer

KEY = "sk-planted-7f3a9c1e5b"
QUICK = Retries(first_seconds=0.01, longest_seconds=0.02, jitter_seconds=0.01, patience_seconds=2)


def agent_config(folder: Path, provider: str, **search: Any) -> AgentConfig:
    """The configuration of an agent whose workspace and state are in a folder."""
    return AgentConfig(
        agent="main",
        workspace=folder,
        state_dir=folder,
        store_path=folder / "main.sqlite",
        search=SearchSettings(provider=cast("ProviderId", provider), **search),
    )


def texts_of(count: int) -> list[str]:
    """So many different texts."""
    return [f"note {number}" for number in range(count)]


def collected(
    provider: EmbeddingProvider, texts: Sequence[str], into: dict[int, NDArray[np.float32]] | None = None
) -> dict[int, NDArray[np.float32]]:
    """Every text's row, by its number; `into` keeps what came before an error."""
    rows = {} if into is None else into
    for first, piece in provider.embed_documents(texts):
        rows.update({first + offset: row for offset, row in enumerate(piece)})
    return rows


def unit(text: str, dimensions: int = 8) -> NDArray[np.float32]:
    """The row of unit length that a server's vector of a text becomes."""
    vector = np.array(vector_of(text, dimensions), dtype=np.float64)
    return cast("NDArray[np.float32]", (vector / np.linalg.norm(vector)).astype(np.float32))


def assert_right(rows: dict[int, NDArray[np.float32]], texts: Sequence[str], dimensions: int = 8) -> None:
    """Every text has its own row."""
    assert sorted(rows) == list(range(len(texts)))
    for number, text in enumerate(texts):
        np.testing.assert_allclose(rows[number], unit(text, dimensions), atol=1e-5)


def wait_until(condition: Callable[[], bool], seconds: float = 30) -> None:
    """Poll until the condition holds."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "the condition did not come true in time"
        time.sleep(0.005)


def check_gemini_task(server: GeminiServer, provider: EmbeddingProvider) -> None:
    """Embed a note and a question in 64 dimensions, and check that Gemini is told the task, the dimensions and the key."""
    collected(provider, ["a note"])
    provider.embed_query("a question")

    document, query = server.requests
    assert document.path == "/v1beta/models/gemini-embedding-001:batchEmbedContents"
    assert document.headers["x-goog-api-key"] == KEY
    assert document.headers["x-team"] == "notes"
    assert document.query == {}
    assert document.json()["requests"][0]["taskType"] == "RETRIEVAL_DOCUMENT"
    assert query.json()["requests"][0]["taskType"] == "RETRIEVAL_QUERY"
    assert query.json()["requests"][0]["outputDimensionality"] == 64
    assert provider.space.input_type == "RETRIEVAL_DOCUMENT"
