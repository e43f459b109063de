"""BERT models for tests and benchmarks: written as GGUF or as sentence-transformers does, and computed to compare with.

The layout is the one that llama.cpp's converter writes (github.com/ggml-org/llama.cpp, convert_hf_to_gguf.py, BertModel); the
formulas are those of BERT (https://arxiv.org/abs/1810.04805) with mean pooling.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float32]

# Names of tensors: in sentence-transformers' files, and llama.cpp's.
TABLES = {
    "embeddings.word_embeddings": "token_embd",
    "embeddings.token_type_embeddings": "token_types",
    "embeddings.position_embeddings": "position_embd",
    "embeddings.LayerNorm": "token_embd_norm",
}
IN_LAYER = {
    "attention.self.query": "attn_q",
    "attention.self.key": "attn_k",
    "attention.self.value": "attn_v",
    "attention.output.dense": "attn_output",
    "attention.output.LayerNorm": "attn_output_norm",
    "intermediate.dense": "ffn_up",
    "output.dense": "ffn_down",
    "output.LayerNorm": "layer_output_norm",
}
SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
EPSILON = 1e-12


@dataclass(frozen=True, slots=True, kw_only=True)
class Bert:
    """A BERT: its vocabulary by id ("##" before continuations) and its tensors by llama.cpp's names."""

    vocabulary: Sequence[str]
    tensors: Mapping[str, Array]
    heads: int
    layers: int

    @property
    def dimensions(self) -> int:
        """Of its vectors."""
        return int(self.tensors["token_embd.weight"].shape[1])

    @property
    def context(self) -> int:
        """Tokens it was trained with."""
        return int(self.tensors["position_embd.weight"].shape[0])

    def embedded(self, tokens: Sequence[int]) -> Array:
        """The vector of a row of tokens, of unit length."""
        pooled = self.states(tokens).mean(axis=0)
        return cast("Array", pooled / np.linalg.norm(pooled))

    def states(self, tokens: Sequence[int]) -> Array:
        """The vector of every token in its context."""
        weight = self.tensors
        state = weight["token_embd.weight"][list(tokens)] + weight["token_types.weight"][0]
        state = self._normed(state + weight["position_embd.weight"][: len(tokens)], "token_embd_norm")
        for layer in range(self.layers):
            state = self._layer(state, f"blk.{layer}.")
        return state

    def _layer(self, state: Array, name: str) -> Array:
        length, size = state.shape[0], self.dimensions // self.heads
        query, key, value = (
            self._linear(state, f"{name}attn_{part}").reshape(length, self.heads, size).transpose(1, 0, 2)
            for part in "qkv"
        )
        scores = query @ key.transpose(0, 2, 1) / np.sqrt(size)
        shares = np.exp(scores - scores.max(axis=-1, keepdims=True))
        mixed = (shares / shares.sum(axis=-1, keepdims=True)) @ value
        attended = self._linear(mixed.transpose(1, 0, 2).reshape(length, -1), f"{name}attn_output")
        state = self._normed(state + attended, f"{name}attn_output_norm")
        inner = _gelu(self._linear(state, f"{name}ffn_up"))
        return self._normed(state + self._linear(inner, f"{name}ffn_down"), f"{name}layer_output_norm")

    def _linear(self, state: Array, name: str) -> Array:
        return cast("Array", state @ self.tensors[f"{name}.weight"].T + self.tensors[f"{name}.bias"])

    def _normed(self, state: Array, name: str) -> Array:
        centred = state - state.mean(axis=-1, keepdims=True)
        scaled = centred / np.sqrt(centred.var(axis=-1, keepdims=True) + EPSILON)
        return cast("Array", scaled * self.tensors[f"{name}.weight"] + self.tensors[f"{name}.bias"])


def tiny_bert(
    words: Sequence[str], *, context: int = 64, dimensions: int = 32, heads: int = 4, layers: int = 2
) -> Bert:
    """A BERT with random weights, the same at every call, that knows these words."""
    source = np.random.default_rng(20)

    def random(*shape: int) -> Array:
        return source.normal(0, 0.2, shape).astype(np.float32)

    inner = dimensions * 2
    tensors = {
        "token_embd.weight": random(len(SPECIAL) + len(words), dimensions),
        "token_types.weight": random(2, dimensions),
        "position_embd.weight": random(context, dimensions),
    } | _norm("token_embd_norm", dimensions)
    for layer in range(layers):
        name = f"blk.{layer}."
        for part in ("attn_q", "attn_k", "attn_v", "attn_output"):
            tensors |= {
                f"{name}{part}.weight": random(dimensions, dimensions),
                f"{name}{part}.bias": random(dimensions),
            }
        tensors |= {f"{name}ffn_up.weight": random(inner, dimensions), f"{name}ffn_up.bias": random(inner)}
        tensors |= {f"{name}ffn_down.weight": random(dimensions, inner), f"{name}ffn_down.bias": random(dimensions)}
        tensors |= _norm(f"{name}attn_output_norm", dimensions) | _norm(f"{name}layer_output_norm", dimensions)
    return Bert(vocabulary=(*SPECIAL, *words), tensors=tensors, heads=heads, layers=layers)


def write_gguf(bert: Bert, path: Path, *, pooling: str | None = "MEAN", half: bool = False) -> Path:
    """Write the model as a GGUF file; `pooling` None does not say how to pool, `half` is in float16."""
    import gguf

    writer = gguf.GGUFWriter(str(path), "bert")
    writer.add_context_length(bert.context)
    writer.add_embedding_length(bert.dimensions)
    writer.add_block_count(bert.layers)
    writer.add_feed_forward_length(int(bert.tensors["blk.0.ffn_up.weight"].shape[0]))
    writer.add_head_count(bert.heads)
    writer.add_layer_norm_eps(EPSILON)
    writer.add_causal_attention(False)
    if pooling:
        writer.add_pooling_type(gguf.PoolingType[pooling])
    _write_vocabulary(writer, bert.vocabulary)
    for name, tensor in bert.tensors.items():
        # As llama.cpp's converter does: only matrices are stored in half precision, and no position table.
        shrink = half and tensor.ndim == 2 and not name.startswith(("position", "token_types"))
        writer.add_tensor(name, tensor.astype(np.float16 if shrink else np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def write_folder(bert: Bert, folder: Path, *, pooling: str | None = "mean_tokens", half: bool = False) -> Path:
    """Write the model as sentence-transformers does; `pooling` None does not say how to pool, `half` is in float16."""
    folder.mkdir(parents=True, exist_ok=True)
    config = {
        "model_type": "bert",
        "hidden_act": "gelu",
        "hidden_size": bert.dimensions,
        "num_attention_heads": bert.heads,
        "num_hidden_layers": bert.layers,
        "layer_norm_eps": EPSILON,
    }
    (folder / "config.json").write_text(json.dumps(config))
    if pooling:
        (folder / "1_Pooling").mkdir(exist_ok=True)
        (folder / "1_Pooling" / "config.json").write_text(json.dumps({f"pooling_mode_{pooling}": True}))
    kind = np.float16 if half else np.float32
    tensors = {_hub_name(name): tensor.astype(kind) for name, tensor in bert.tensors.items()}
    _write_safetensors(tensors, folder / "model.safetensors")
    _write_tokenizer(bert.vocabulary, folder / "tokenizer.json")
    return folder


def _hub_name(name: str) -> str:
    stem, _, kind = name.rpartition(".")
    if stem.startswith("blk."):
        _, layer, part = stem.split(".", 2)
        return f"encoder.layer.{layer}.{ {ours: hub for hub, ours in IN_LAYER.items()}[part] }.{kind}"
    return f"{ {ours: hub for hub, ours in TABLES.items()}[stem] }.{kind}"


def _write_safetensors(tensors: Mapping[str, NDArray[np.generic]], path: Path) -> None:
    header: dict[str, object] = {"__metadata__": {"format": "pt"}}
    end = 0
    for name, tensor in tensors.items():
        kind = {"float16": "F16", "float32": "F32", "int64": "I64"}[tensor.dtype.name]
        header[name] = {"dtype": kind, "shape": tensor.shape, "data_offsets": [end, end + tensor.nbytes]}
        end += tensor.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    body = b"".join(tensor.tobytes() for tensor in tensors.values())
    path.write_bytes(len(text).to_bytes(8, "little") + text + body)


def _write_tokenizer(vocabulary: Sequence[str], path: Path) -> None:
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    ids = {token: number for number, token in enumerate(vocabulary)}
    tokenizer = Tokenizer(models.WordPiece(ids, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", ids["[SEP]"]), ("[CLS]", ids["[CLS]"]))
    tokenizer.enable_truncation(8)  # as published files do: the model's own limit counts
    tokenizer.save(str(path))


def _write_vocabulary(writer: object, vocabulary: Sequence[str]) -> None:
    import gguf

    assert isinstance(writer, gguf.GGUFWriter)
    ids = {token: number for number, token in enumerate(vocabulary)}
    writer.add_token_type_count(2)
    writer.add_tokenizer_model("bert")
    writer.add_tokenizer_pre("default")
    writer.add_token_list([_llama_token(token) for token in vocabulary])
    writer.add_token_types(
        [gguf.TokenType.CONTROL if token in SPECIAL else gguf.TokenType.NORMAL for token in vocabulary]
    )
    writer.add_bos_token_id(ids["[CLS]"])
    writer.add_eos_token_id(ids["[SEP]"])
    writer.add_sep_token_id(ids["[SEP]"])
    writer.add_pad_token_id(ids["[PAD]"])
    writer.add_unk_token_id(ids["[UNK]"])
    writer.add_mask_token_id(ids["[MASK]"])


def _llama_token(token: str) -> str:
    """Beginnings of words carry a mark in GGUF, continuations none: the other way round than in vocab.txt."""
    if token in SPECIAL:
        return token
    return token[2:] if token.startswith("##") else "\u2581" + token


def _norm(name: str, dimensions: int) -> dict[str, Array]:
    return {f"{name}.weight": np.ones(dimensions, np.float32), f"{name}.bias": np.zeros(dimensions, np.float32)}


def _gelu(value: Array) -> Array:
    return cast("Array", 0.5 * value * (1 + np.tanh(np.sqrt(2 / np.pi) * (value + 0.044715 * value**3))))


WORDS = [f"word{number}" for number in range(120)]


def words(*numbers: int) -> str:
    return " ".join(WORDS[number % len(WORDS)] for number in numbers)


def ids(bert: Bert, text: str) -> list[int]:
    numbers = {token: number for number, token in enumerate(bert.vocabulary)}
    return [numbers["[CLS]"], *(numbers[word] for word in text.split()), numbers["[SEP]"]]


def expected(bert: Bert, text: str) -> NDArray[np.float32]:
    return bert.embedded(ids(bert, text))
