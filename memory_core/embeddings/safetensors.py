"""Tensors from a safetensors file, mapped into memory: what is never read of a file takes no memory.

The format is three lines long (https://github.com/huggingface/safetensors#format), so the package is not needed.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_MOST_HEADER_BYTES = 100_000_000  # the format's own limit


def read_tensors(path: Path) -> dict[str, NDArray[np.generic]]:
    """Return the tensors of a file by name, read-only: those of float16 and float32; others are left out.

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
