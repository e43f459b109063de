"""A BERT in this process, computed by numpy: a folder as sentence-transformers writes it, without torch and a compiler.

It holds `config.json`, `model.safetensors`, `tokenizer.json`, and, where the model pools otherwise than by the mean,
`1_Pooling/config.json`. all-MiniLM-L6-v2, bge-small-en-v1.5 and multilingual-e5-small are of that kind. The formulas are BERT's
(https://arxiv.org/abs/1810.04805). One core computes some 25 windows of 130 tokens of all-MiniLM-L6-v2 a second, about as many as
with llama.cpp.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np

from memory_core.embeddings.local.model import (
    CONTEXT_TOKENS,
    WEIGHTS,
    Computed,
    Model,
    count_threads,
    find_framing,
    read_tensors,
    refuse_model,
)
from memory_core.errors import ProviderUnavailable

if TYPE_CHECKING:
    from memory_core.embeddings.vectors import Rows

_PARTS = {"Transformer", "Pooling", "Normalize"}  # of a model of sentence-transformers; more than these computes more
Pooling = Literal["mean", "cls"]


class BertModel(Model):
    """One model, for one thread at a time."""

    def __init__(self, folder: Path, *, context_tokens: int | None = None) -> None:
        """Read a model; takes a tenth of a second.

        Raises:
            ProviderUnavailable: The folder holds no BERT that this can compute.
        """
        try:
            self._read(folder, context_tokens)
            self.embed([self.tokenize("a")[: self.room]])  # tensors of other shapes than the configuration's fail here
        except ProviderUnavailable:
            raise
        except OSError as error:
            raise refuse_model(folder.name, f"{error.filename or folder} cannot be read: {error.strerror}") from error
        except KeyError as error:
            raise refuse_model(folder.name, f"it lacks {error.args[0]}") from error
        except (ValueError, TypeError, AttributeError, ArithmeticError) as error:
            raise refuse_model(folder.name, f"it cannot be read: {error}") from error

    def tokenize(self, text: str) -> list[int]:
        """Return the text's tokens."""
        return list(self._tokenizer.encode(text, add_special_tokens=False).ids)

    def embed(self, sequences: Sequence[Sequence[int]]) -> list[Computed]:
        """Compute the vectors of sequences that `split_batches` put into one batch."""
        with self._blas.limit(limits=count_threads(), user_api="blas"):
            return self._compute(sequences)

    def _compute(self, sequences: Sequence[Sequence[int]]) -> list[Computed]:
        first, last = self.framing
        framed = [[*first, *sequence, *last] for sequence in sequences]
        ends = list(accumulate(map(len, framed)))
        spans = [slice(end - len(ids), end) for end, ids in zip(ends, framed, strict=True)]
        tokens = np.array([token for ids in framed for token in ids])
        positions = np.array([position for ids in framed for position in range(len(ids))])
        states = self._words[tokens].astype(np.float32) + self._positions[positions]
        states = self._normalise("embeddings.LayerNorm", states)
        for number in range(self._layers):
            states = self._run(f"encoder.layer.{number}.", states, spans)
        return [self._pool(states[span]) for span in spans]

    def close(self) -> None:
        """Release nothing: the memory goes with the object."""

    def _run(self, layer: str, states: Rows, spans: Sequence[slice]) -> Rows:
        attended = self._project(f"{layer}attention.output.dense", self._attend(layer, states, spans))
        states = self._normalise(f"{layer}attention.output.LayerNorm", states + attended)
        inner = _apply_gelu(self._project(f"{layer}intermediate.dense", states))
        return self._normalise(f"{layer}output.LayerNorm", states + self._project(f"{layer}output.dense", inner))

    def _attend(self, layer: str, states: Rows, spans: Sequence[slice]) -> Rows:
        """Mix the values of each sequence by how well its keys fit its queries."""
        projected = [self._project(f"{layer}attention.self.{part}", states) for part in ("query", "key", "value")]
        mixed = np.empty((len(states), self.dimensions), np.float32)
        size = self.dimensions // self._heads
        for span in spans:
            queries, keys, values = (part[span].reshape(-1, self._heads, size).swapaxes(0, 1) for part in projected)
            scores = queries @ keys.swapaxes(1, 2) / math.sqrt(size)
            scores -= scores.max(axis=-1, keepdims=True)
            shares = np.exp(scores)
            shares /= shares.sum(axis=-1, keepdims=True)
            mixed[span] = (shares @ values).swapaxes(0, 1).reshape(-1, self.dimensions)
        return mixed

    def _project(self, name: str, states: Rows) -> Rows:
        projected: Rows = states @ self._tensors[f"{name}.weight"].T
        projected += self._tensors[f"{name}.bias"]
        return projected

    def _normalise(self, name: str, states: Rows) -> Rows:
        """Apply a layer normalisation."""
        states = states - states.mean(axis=1, keepdims=True)
        states /= np.sqrt(np.square(states).mean(axis=1, keepdims=True) + self._epsilon)
        states *= self._tensors[f"{name}.weight"]
        states += self._tensors[f"{name}.bias"]
        return states

    def _pool(self, states: Rows) -> Computed:
        if self._pooling == "cls":
            return Computed(states[0], None)
        first, last = map(len, self.framing)
        return Computed(states.mean(axis=0), states[first : len(states) - last])

    def _read(self, folder: Path, context_tokens: int | None) -> None:
        from threadpoolctl import ThreadpoolController
        from tokenizers import Tokenizer

        config = _read_json(folder / "config.json")
        _check_architecture(folder, config)
        self._heads = int(config["num_attention_heads"])
        self.dimensions = int(config["hidden_size"])
        self._layers = int(config["num_hidden_layers"])
        self._epsilon = float(config["layer_norm_eps"])
        self._pooling = _read_pooling(folder)
        tensors = read_tensors(folder / WEIGHTS)
        self._blas = ThreadpoolController()  # knows the libraries that are loaded by now, numpy's among them
        self._words = tensors.pop("embeddings.word_embeddings.weight")  # stays in the file: most words never come
        parts = ("embeddings.", "encoder.")  # a head for another task is never asked
        self._tensors = {name: np.asarray(each, np.float32) for name, each in tensors.items() if name.startswith(parts)}
        types = self._tensors["embeddings.token_type_embeddings.weight"]
        self._positions = self._tensors["embeddings.position_embeddings.weight"] + types[0]
        self.max_tokens = min(context_tokens or CONTEXT_TOKENS, len(self._positions))
        path = folder / "tokenizer.json"
        try:
            self._tokenizer = Tokenizer.from_str(path.read_text(encoding="utf-8"))
        except OSError:
            raise
        except Exception as error:  # the library raises bare exceptions
            raise ValueError(f"{path.name}: {error}") from error
        if self._tokenizer.get_vocab_size() > len(self._words):
            raise refuse_model(folder.name, "its tokenizer knows more tokens than the model")
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        self.framing = find_framing(self.tokenize("a"), self._tokenizer.encode("a").ids)
        self.most_sequences = self.max_tokens
        if self.room < 1:
            raise refuse_model(folder.name, f"it takes {self.max_tokens} tokens, which leaves no room for a text")


def _apply_gelu(states: Rows) -> Rows:
    """Apply the usual approximation of GELU, as llama.cpp does: numpy has no error function."""
    inner = states * (0.044715 * states * states + 1)
    inner = np.tanh(math.sqrt(2 / math.pi) * inner)
    inner += 1
    inner *= states
    inner *= 0.5
    return cast("Rows", inner)


def _check_architecture(folder: Path, config: Mapping[str, Any]) -> None:
    kind, activation = config.get("model_type"), config.get("hidden_act", "gelu")
    if kind != "bert":
        raise refuse_model(folder.name, f"it is no BERT: model_type in its config.json is {kind}")
    if activation not in {"gelu", "gelu_new", "gelu_pytorch_tanh"}:
        raise refuse_model(folder.name, f"hidden_act in its config.json is {activation}, not gelu")
    modules = folder / "modules.json"
    parts = [part["type"].rpartition(".")[2] for part in _read_json(modules)] if modules.is_file() else []
    if others := sorted({*parts} - _PARTS):
        raise refuse_model(folder.name, f"it has parts that are not computed here: {', '.join(others)}")


def _read_pooling(folder: Path) -> Pooling:
    path = folder / "1_Pooling" / "config.json"
    if not path.is_file():
        return "mean"
    modes = [name for name, is_set in _read_json(path).items() if name.startswith("pooling_mode") and is_set is True]
    found: dict[str, Pooling] = {"pooling_mode_mean_tokens": "mean", "pooling_mode_cls_token": "cls"}
    if len(modes) != 1 or modes[0] not in found:
        raise refuse_model(
            folder.name, f"it pools by {', '.join(modes) or 'nothing'}, not by the mean or the first token"
        )
    return found[modes[0]]


def _read_json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))
