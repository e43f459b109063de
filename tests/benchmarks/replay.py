"""A remote provider on the loopback interface whose vectors are those of a GGUF model: the same space, without tokens."""

from __future__ import annotations

from pathlib import Path
from tempfile import gettempdir
from types import TracebackType

from memory_core.config.agent import AgentConfig
from memory_core.config.settings import Local, SearchSettings
from memory_core.embeddings.local import provider
from tests.servers.openai import OpenAIServer


class ReplayServer(OpenAIServer):
    """Answers with a model's vectors, each computed once.

    Attributes:
        model: The file.
    """

    def __init__(self, model: Path) -> None:
        super().__init__()
        self.model = model
        self._made: dict[str, list[float]] = {}
        folder = Path(gettempdir())
        search = SearchSettings(provider="local", local=Local(model_path=str(model)))
        config = AgentConfig(
            agent="main", workspace=folder, state_dir=folder, store_path=folder / "unused.sqlite", search=search
        )
        self._provider = provider.open_provider(config, environ={})

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        super().__exit__(kind, error, traceback)
        self._provider.close()

    def vector(self, text: str, dimensions: int) -> list[float]:
        """The model's vector of a text."""
        if text not in self._made:
            self._made[text] = self._provider.embed_query(text).tolist()
        return self._made[text]
