"""A model on this machine, as the provider `local` uses it: where its files are; tokens in, vectors out; its tensors."""

from __future__ import annotations

import json
import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memory_core.__about__ import DISTRIBUTION
from memory_core.config.agent import AgentConfig
from memory_core.config.environment import expand_home
from memory_core.embeddings.protocols import Limits, make_unusable, pack
from memory_core.errors import ProviderUnavailable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from memory_core.embeddings.vectors import Row, Rows


PACKAGE = "package:"  # before the name of an installed package, and a folder in it, that holds a model
WEIGHTS = "model.safetensors"  # the file by which a folder is known as a model's
_MOST_HEADER_BYTES = 100_000_000  # of a safetensors file; the format's own limit
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


class Model(ABC):
    """One open model, for one thread at a time.

    Attributes:
        dimensions: The dimensions of its vectors.
        max_tokens: The most tokens of one sequence, and of all sequences that are computed together.
        most_sequences: The most sequences that are computed together.
        framing: The tokens that the model puts before and after a text, [CLS] and [SEP] for a BERT.
    """

    dimensions: int
    max_tokens: int
    most_sequences: int
    framing: tuple[list[int], list[int]]

    @property
    def room(self) -> int:
        """The most tokens of text in one sequence."""
        return self.max_tokens - sum(map(len, self.framing))

    def split_batches(self, sequences: Sequence[Sequence[int]]) -> Iterator[list[Sequence[int]]]:
        """Yield sequences that fit into one batch, in order; each sequence is at most `room` tokens long."""
        around = self.max_tokens - self.room
        return pack(sequences, Limits(self.most_sequences, self.max_tokens), lambda sequence: len(sequence) + around)

    @abstractmethod
    def tokenize(self, text: str) -> list[int]:
        """Return the text's tokens, without those that mark its beginning and end."""

    @abstractmethod
    def embed(self, sequences: Sequence[Sequence[int]]) -> list[Computed]:
        """Compute the vectors of sequences that `split_batches` put into one batch.

        Raises:
            ProviderUnavailable: They could not be computed.
        """

    @abstractmethod
    def close(self) -> None:
        """Free the model; may be called twice."""


def find_model_file(config: AgentConfig) -> Path | None:
    """Return the file or folder of the model that `local.modelPath` names; None for an hf: URI and when not set.

    Raises:
        ProviderUnavailable: It is no file, no folder of a model, no such folder of an installed package, and no hf: URI.
    """
    configured = config.search.local.model_path or ""
    path = resolve_model_path(config)
    if path is not None and find_weights(path).is_file():
        return path
    setting = "memorySearch.local.modelPath"
    message = f"{setting} holds no model: {configured}"
    action = "Name a GGUF file, the folder of a model, or hf:owner/repo/file.gguf."
    if is_package(configured):
        package, _ = _split_package(configured)
        if not package.isidentifier():
            message = f"{setting} names no package: {configured}"
            action = "Name one, and a folder in it: package:name/folder."
        elif path is None:
            message = f"the package {package} is not installed"
            wanted = f"install --no-deps {package.replace('_', '-')}"
            action = f"Run: pip {wanted} (with pipx: pipx runpip {DISTRIBUTION} {wanted})"
    elif path is None:
        return None
    elif path.is_dir():
        action = f"Name the folder with config.json, tokenizer.json and {WEIGHTS}."
    else:
        message = f"{setting} is no file: {configured}"
    raise make_unusable("local", message, action=action)


def resolve_model_path(config: AgentConfig) -> Path | None:
    """Return `local.modelPath` as an absolute path, relative ones to the workspace.

    None for an hf: URI, when not set, and for a package that is not installed. The package is not imported.
    """
    configured = config.search.local.model_path
    if not configured or configured.startswith("hf:"):
        return None
    if not is_package(configured):
        return config.workspace / expand_home(configured)
    package, inside = _split_package(configured)
    try:
        spec = find_spec(package) if package.isidentifier() else None
    except (ImportError, ValueError):  # a module without a spec, such as __main__
        spec = None
    places = spec.submodule_search_locations if spec else None
    return Path(next(iter(places)), inside) if places else None


def find_weights(path: Path) -> Path:
    """Return the file of a model that holds its weights: the path itself, or one in it if it is a folder."""
    return path / WEIGHTS if path.is_dir() else path


def is_package(model_path: str) -> bool:
    """Return True if `local.modelPath` names an installed package."""
    return model_path.startswith(PACKAGE)


def _split_package(model_path: str) -> tuple[str, str]:
    """Return the name of the package, and the folder in it; "" for the package's own."""
    package, _, inside = model_path.removeprefix(PACKAGE).partition("/")
    return package, inside


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
    return make_unusable("local", f"{name}: {reason}", action="Name another model: memorySearch.local.modelPath.")


def read_tensors(path: Path) -> dict[str, NDArray[np.generic]]:
    """Map the tensors of a safetensors file into memory, by name: those of float16 and float32; others are left out.

    The format is three lines long (https://github.com/huggingface/safetensors#format), so the package is not needed.

    Raises:
        OSError: The file cannot be read.
        ValueError: It is no safetensors file, or it is cut off.
    """
    import numpy as np

    kinds: dict[str, np.dtype[Any]] = {"F16": np.dtype("<f2"), "F32": np.dtype("<f4")}
    with path.open("rb") as file:
        size = int.from_bytes(file.read(8), "little")
        if not 0 < size <= _MOST_HEADER_BYTES:
            raise ValueError("it is no safetensors file")
        header: dict[str, Any] = json.loads(file.read(size))
    content = np.asarray(np.memmap(path, dtype=np.uint8, mode="r"))[8 + size :]
    try:
        return {
            name: content[slice(*tensor["data_offsets"])].view(kinds[tensor["dtype"]]).reshape(tensor["shape"])
            for name, tensor in header.items()
            if name != "__metadata__" and tensor["dtype"] in kinds
        }
    except (AttributeError, KeyError, TypeError) as error:
        raise ValueError("its header is damaged") from error
