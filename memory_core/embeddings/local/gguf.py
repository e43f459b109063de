"""A GGUF embedding model in this process, through llama.cpp's C interface: tokens in, vectors out.

Where the model pools by the mean, llama.cpp is told not to pool: it then gives the vectors of all tokens, and the mean is taken
here. Both come from one pass, which takes as long as the other.

llama.cpp aborts the whole process when a text exceeds the context the model was trained with, or a batch its physical batch
size. So context, batch and physical batch are one number, at most the trained context, and no batch is ever longer.

llama-cpp-python's class `Llama` is not used: while it loads, it redirects the process's standard output, which is where an MCP
server speaks.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memory_core.__about__ import explain_install
from memory_core.embeddings.local.model import (
    CONTEXT_TOKENS,
    Computed,
    Model,
    count_threads,
    find_framing,
    refuse_model,
)
from memory_core.embeddings.protocols import make_unusable
from memory_core.errors import ProviderUnavailable

if TYPE_CHECKING:
    from memory_core.embeddings.vectors import Rows


_MAGIC = b"GGUF"


class GgufModel(Model):
    """One model with one context, for one thread at a time."""

    def __init__(self, path: Path, *, context_tokens: int | None = None) -> None:
        """Load a model; takes seconds.

        Raises:
            ProviderUnavailable: llama-cpp-python is missing, or the file is no embedding model that it can load.
        """
        check_gguf(path)
        self._api = api = import_llama_cpp()
        self._context: Any = None
        self._model: Any = api.llama_model_load_from_file(str(path).encode(), api.llama_model_default_params())
        if not self._model:
            raise refuse_model(path.name, "llama.cpp cannot load it")
        self.max_tokens = min(context_tokens or CONTEXT_TOKENS, int(api.llama_model_n_ctx_train(self._model)))
        self.dimensions = int(api.llama_model_n_embd(self._model))
        self._vocabulary = api.llama_model_get_vocab(self._model)
        self.most_sequences = min(self.max_tokens, api.llama_max_parallel_sequences())
        self._open_context(path)
        self.framing = find_framing(self.tokenize("a"), self.tokenize("a", framed=True))

    def tokenize(self, text: str, *, framed: bool = False) -> list[int]:
        """Return the text's tokens; if `framed`, with those that mark its beginning and end."""
        from ctypes import POINTER, cast  # reason: llama-cpp-python's functions take and return its arrays

        content = text.encode()
        size = len(content) + 8  # no tokenizer makes more tokens than bytes, but for a few that mark the ends
        buffer = (self._api.llama_token * size)()
        count = self._api.llama_tokenize(self._vocabulary, content, len(content), buffer, size, framed, False)
        if count < 0:
            size = -count
            buffer = (self._api.llama_token * size)()
            count = self._api.llama_tokenize(self._vocabulary, content, len(content), buffer, size, framed, False)
        return list(cast(buffer, POINTER(self._api.llama_token))[:count])

    def embed(self, sequences: Sequence[Sequence[int]]) -> list[Computed]:
        """Compute the vectors of sequences that `split_batches` put into one batch.

        Raises:
            ProviderUnavailable: llama.cpp could not compute them.
        """
        api = self._api
        first, last = self.framing
        batch = api.llama_batch_init(self.max_tokens, 0, 1)
        try:
            for number, sequence in enumerate(sequences):
                _append(batch, [*first, *sequence, *last], number)
            if memory := api.llama_get_memory(self._context):
                api.llama_memory_clear(memory, True)
            if status := api.llama_decode(self._context, batch):
                raise ProviderUnavailable("local", f"llama.cpp could not embed: llama_decode returned {status}")
            return self._read_tokens(sequences) if self._has_tokens else self._read_pooled(len(sequences))
        finally:
            api.llama_batch_free(batch)

    def _read_tokens(self, sequences: Sequence[Sequence[int]]) -> list[Computed]:
        first, last = map(len, self.framing)
        lengths = [first + len(sequence) + last for sequence in sequences]
        rows = self._copy(self._api.llama_get_embeddings(self._context), sum(lengths), self.dimensions)
        ends = accumulate(lengths)
        return [
            Computed(rows[end - length : end].mean(axis=0), rows[end - length + first : end - last])
            for length, end in zip(lengths, ends, strict=True)
        ]

    def _read_pooled(self, count: int) -> list[Computed]:
        pointers = (self._api.llama_get_embeddings_seq(self._context, number) for number in range(count))
        return [Computed(self._copy(pointer, self.dimensions), None) for pointer in pointers]

    @staticmethod
    def _copy(pointer: Any, *shape: int) -> Rows:
        """Copy vectors out of llama.cpp's memory, which the next batch overwrites."""
        import numpy as np

        return np.ctypeslib.as_array(pointer, shape).astype(np.float32)  # reason: the pointer is one of ctypes

    def close(self) -> None:
        """Free context and model; may be called twice."""
        context, self._context = self._context, None
        model, self._model = self._model, None
        if context:
            self._api.llama_free(context)
        if model:
            self._api.llama_model_free(model)

    def _open_context(self, path: Path) -> None:
        api = self._api
        self._context = self._new_context(api.LLAMA_POOLING_TYPE_UNSPECIFIED)
        if self._context and api.llama_pooling_type(self._context) == api.LLAMA_POOLING_TYPE_MEAN:
            api.llama_free(self._context)
            self._context = self._new_context(api.LLAMA_POOLING_TYPE_NONE)
        reason = "llama.cpp cannot make a context for it" if not self._context else ""
        if not reason and api.llama_pooling_type(self._context) == api.LLAMA_POOLING_TYPE_RANK:
            reason = "it ranks pairs of texts and makes no embeddings"
        if reason:
            self.close()
            raise refuse_model(path.name, reason)
        # A file that does not say how to pool is not pooled either: the mean is the usual way.
        self._has_tokens = api.llama_pooling_type(self._context) == api.LLAMA_POOLING_TYPE_NONE

    def _new_context(self, pooling: int) -> Any:
        settings = self._api.llama_context_default_params()
        settings.n_ctx = settings.n_batch = settings.n_ubatch = self.max_tokens
        settings.n_seq_max = self.most_sequences
        settings.kv_unified = True
        settings.embeddings = True
        settings.pooling_type = pooling
        settings.n_threads = settings.n_threads_batch = count_threads()
        settings.flash_attn_type = self._api.LLAMA_FLASH_ATTN_TYPE_ENABLED  # 26 chunks a second instead of 13
        return self._api.llama_init_from_model(self._model, settings)


def check_gguf(path: Path) -> None:
    """Check a file's first bytes before llama.cpp reads it.

    Raises:
        ProviderUnavailable: It cannot be read, or is no GGUF file.
    """
    try:
        with path.open("rb") as file:
            magic = file.read(len(_MAGIC))
    except OSError as error:
        raise refuse_model(path.name, f"it cannot be read: {error.strerror}") from error
    if magic != _MAGIC:
        raise refuse_model(path.name, "it is no GGUF file")


def _append(batch: Any, tokens: Sequence[int], sequence: int) -> None:
    """Add one sequence to a `llama_batch`. Every token is marked as an output, as pooling needs it."""
    for position, token in enumerate(tokens):
        slot = batch.n_tokens
        batch.token[slot] = token
        batch.pos[slot] = position
        batch.n_seq_id[slot] = 1
        batch.seq_id[slot][0] = sequence
        batch.logits[slot] = 1
        batch.n_tokens = slot + 1


def import_llama_cpp() -> Any:
    """Return the module llama_cpp, made ready.

    Raises:
        ProviderUnavailable: llama-cpp-python is missing, or does not load.
    """
    try:
        import llama_cpp
    except (ImportError, OSError, RuntimeError) as error:  # the last two: its shared library does not load
        raise make_unusable(
            "local",
            f"llama-cpp-python is not installed, or does not load: {error}",
            action=f"{explain_install('local')} It compiles for some minutes.",
        ) from error
    log = logging.getLogger("llama-cpp-python")  # prints all that llama.cpp says, until a level is set
    if log.level == logging.NOTSET:
        log.setLevel(logging.CRITICAL)
    llama_cpp.llama_backend_init()
    return llama_cpp
