"""Tiny GGUF models for the real QMD: an embedder that knows a few words, a generator and a reranker, which QMD requires.

The embedder is a BERT whose layers do nothing, so that a text's vector is the mean of its words'; words of one group share
a vector, so that "dog sitter" is near "walks the puppy". The generator is a llama whose expansions say
nothing; the reranker is the embedder with a rank head.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from memory_qmd.config import QmdModels
from tests.local.bert import SPECIAL, Bert, tiny_bert, write_gguf

GROUPS = (("dog", "puppy"), ("sitter", "walks"), ("fence", "hedge"), ("shed",), ("green",), ("quantum",))
DIMENSIONS = 64
RANK = 4  # gguf.PoolingType.RANK
END, NEWLINE = 2, 3 + ord("\n")  # tokens of the generator


def build_embedder(groups: Sequence[Sequence[str]] = GROUPS) -> Bert:
    """Build the embedder; unknown words, special tokens and positions are zero, which the layer norms leave zero."""
    words = [word for group in groups for word in group]
    bert = tiny_bert(words, context=512, dimensions=DIMENSIONS, layers=1)
    tensors = {name: _silence(name, tensor) for name, tensor in bert.tensors.items()}
    vectors = np.random.default_rng(3).normal(0, 1, (len(groups), DIMENSIONS)).astype(np.float32)
    table = np.zeros((len(SPECIAL) + len(words), DIMENSIONS), np.float32)
    row = len(SPECIAL)
    for group, vector in zip(groups, vectors, strict=True):
        table[row : row + len(group)] = vector
        row += len(group)
    return replace(bert, tensors={**tensors, "token_embd.weight": table})


def _silence(
    name: str, tensor: np.ndarray[tuple[int, ...], np.dtype[np.float32]]
) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    return tensor if name.endswith("norm.weight") else np.zeros_like(tensor)


def write_models(folder: Path) -> QmdModels:
    """Write all three models into a folder."""
    embed = write_gguf(build_embedder(), folder / "embed.gguf")
    return QmdModels(
        embed=str(embed),
        generate=str(write_generator(folder / "generate.gguf")),
        rerank=str(write_reranker(folder / "rerank.gguf")),
    )


def write_generator(path: Path) -> Path:
    """Write a llama of one layer that does nothing, with a vocabulary of bytes."""
    import gguf

    size, inner = 32, 32
    tokens = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256))]
    kinds = [gguf.TokenType.UNKNOWN, gguf.TokenType.CONTROL, gguf.TokenType.CONTROL, *[gguf.TokenType.BYTE] * 256]
    writer = gguf.GGUFWriter(str(path), "llama")
    writer.add_context_length(4096)
    writer.add_embedding_length(size)
    writer.add_block_count(1)
    writer.add_feed_forward_length(inner)
    writer.add_head_count(2)
    writer.add_head_count_kv(2)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(size // 2)
    writer.add_vocab_size(len(tokens))
    writer.add_tokenizer_model("llama")
    writer.add_token_list(tokens)
    writer.add_token_scores([0.0] * len(tokens))
    writer.add_token_types(kinds)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    shapes = {
        "token_embd.weight": (len(tokens), size),
        "output_norm.weight": (size,),
        "output.weight": (len(tokens), size),
        "blk.0.attn_norm.weight": (size,),
        "blk.0.ffn_norm.weight": (size,),
        "blk.0.ffn_gate.weight": (inner, size),
        "blk.0.ffn_up.weight": (inner, size),
        "blk.0.ffn_down.weight": (size, inner),
        **{f"blk.0.attn_{part}.weight": (size, size) for part in ("q", "k", "v", "output")},
    }
    tensors = {name: np.zeros(shape, np.float32) for name, shape in shapes.items()}
    # Every position has the same state, from which the end and the end of a line are likeliest: it soon stops.
    tensors["token_embd.weight"][:] = tensors["output_norm.weight"][:] = 1
    tensors["output.weight"][END], tensors["output.weight"][NEWLINE] = 2, 1
    for name, tensor in tensors.items():
        writer.add_tensor(name, tensor)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def write_reranker(path: Path) -> Path:
    """Write the embedder with a rank head that gives every text the same score."""
    bert = build_embedder()
    head = {
        "cls.weight": np.zeros((DIMENSIONS, DIMENSIONS), np.float32),
        "cls.bias": np.zeros(DIMENSIONS, np.float32),
        "cls.output.weight": np.zeros((1, DIMENSIONS), np.float32),
        "cls.output.bias": np.zeros(1, np.float32),
    }
    write_gguf(replace(bert, tensors={**bert.tensors, **head}), path)
    data = bytearray(path.read_bytes())
    key = b"bert.pooling_type"
    at = data.index(key) + len(key) + 4  # behind the key stands the type of the value
    data[at : at + 4] = RANK.to_bytes(4, "little")
    path.write_bytes(data)
    return path
