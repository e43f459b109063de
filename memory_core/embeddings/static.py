"""The static model that ships in the wordllama wheel: a table of token vectors, averaged. Never touches the network.

The table is memory-mapped straight from the wheel's safetensors file, and its tokenizer is read with `tokenizers`. That takes
200 ms and 35 MB, 600 ms and 121 MB through the package, whose import also reconfigures the host's root logger.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, cast

from memory_core.embeddings.local.model import read_tensors
from memory_core.embeddings.vectors import round_to_int8
from memory_core.errors import ProviderUnavailable
from memory_core.records import Calibration, Space
from memory_core.threads import make_fork_lock

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from tokenizers import Tokenizer

MODEL = "l2_supercat_256"
DIMENSIONS = 256
VOCABULARY = 32_000
BATCH = 512  # texts a step: keeps progress visible and the token arrays small
CALIBRATION = Calibration(floor=0.18, span=0.45)  # on the judged conversations and the nonsense of tests/benchmarks
MOST_WORDS = 20_000  # kept, 5 MB
LONGEST_WORD = 40  # characters; longer ones hardly come twice

_TABLE = "embedding.weight"
_SPACE = "\u2581"  # as the tokenizer writes it
_REINSTALL = "reinstall memory-core, or choose another provider: memorySearch.provider"


class _WordIds(dict[str, tuple[int, ...]]):
    """Ids of words by word, filled as they are met. Used from several threads.

    A search cuts the units of sixteen chunks; the tokenizer takes three times as long for them. No token of this vocabulary
    goes on behind the end of a word, so the ids are those of the whole text.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        super().__init__()
        self._tokenizer = tokenizer
        self._tokenize = tokenizer.model.tokenize
        special = [token.content for token in tokenizer.get_added_tokens_decoder().values()]
        self._odd = ["  ", _SPACE, *special]  # texts that hold these are left to the tokenizer

    def cut(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the ids of every text's tokens."""
        spaced = [f" {text}".replace("\n", " \n") for text in texts]  # a line end begins a word
        held = "\0".join(spaced)
        odd = [each for each in self._odd if each in held]
        return [
            self._tokenizer.encode(text, add_special_tokens=False).ids
            if odd and any(map(words.__contains__, odd))
            else [*chain.from_iterable(map(self.__getitem__, words.split(" ")[1:]))]
            if text
            else []
            for text, words in zip(texts, spaced, strict=True)
        ]

    def __missing__(self, word: str) -> tuple[int, ...]:
        parts = ("\n", word[1:]) if word.startswith("\n") else (f"{_SPACE}{word}",)
        ids = tuple(token.id for part in parts for token in self._tokenize(part))
        if len(word) <= LONGEST_WORD:
            if len(self) >= MOST_WORDS:
                self.clear()
            self[word] = ids
        return ids


@dataclass(frozen=True, slots=True, weakref_slot=True)
class _StaticModel:
    """The loaded model.

    Attributes:
        table: The vectors of tokens, shape (tokens, dimensions), float16 or float32.
        tokenizer: Cuts texts into tokens.
        words: Cuts them faster than the tokenizer does.
        spelling: For every id True if it is a byte, as part of a character that the vocabulary lacks, or a space alone.
    """

    table: NDArray[np.generic]
    tokenizer: Tokenizer
    words: _WordIds
    spelling: NDArray[np.bool_]

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the mean of the vectors of each text's tokens, of unit length."""
        import numpy as np

        sums = np.zeros((len(texts), DIMENSIONS), dtype=np.float32)
        for row, ids in zip(sums, self.words.cut(texts), strict=True):  # a tenth of the time of all texts together
            np.add.reduce(self.take(ids), axis=0, out=row)
        lengths = np.linalg.norm(sums, axis=1, keepdims=True)
        return cast("NDArray[np.float32]", np.divide(sums, lengths, out=sums, where=lengths > 0))

    def take(self, ids: Sequence[int] | NDArray[np.uint16]) -> NDArray[np.float32]:
        """Return the rows of some tokens as float32; of a token that the table has not, the last one."""
        import numpy as np

        rows = self.table.take(np.asarray(ids, np.intp), axis=0, mode="clip")
        return rows.astype(np.float32, copy=False)


# The providers of a process share one model as long as one of them is open.
_shared: weakref.WeakValueDictionary[str, _StaticModel] = weakref.WeakValueDictionary()
_loading = make_fork_lock()


class StaticProvider:
    """Embeds by averaging token vectors; offers the token vectors themselves for late interaction."""

    def __init__(self) -> None:
        self._model: _StaticModel | None = None

    @property
    def space(self) -> Space:
        """The space of this model."""
        return Space(provider="static", model=MODEL, dimensions=DIMENSIONS)

    @property
    def calibration(self) -> Calibration:
        """See `Calibrated`."""
        return CALIBRATION

    def embed_documents(self, texts: Sequence[str]) -> Iterator[tuple[int, NDArray[np.float32]]]:
        """See `EmbeddingProvider`; raises only when the model cannot be loaded.

        The rows are rounded to what fits into int8 (and a factor), so that every store, whatever it packs them into, ranks alike.
        """
        model = self._load()
        for first in range(0, len(texts), BATCH):
            yield first, round_to_int8(model.embed(texts[first : first + BATCH]))

    def embed_query(self, text: str, *, timeout_seconds: float | None = None) -> NDArray[np.float32]:  # noqa: ARG002 -- local, returns at once
        """See `EmbeddingProvider`; rounded as documents are."""
        return cast("NDArray[np.float32]", round_to_int8(self._load().embed([text]))[0])

    def token_ids(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the ids of every text's tokens, each below 32,000."""
        return self._load().words.cut(texts)

    def token_vectors(self, ids: NDArray[np.uint16]) -> NDArray[np.float32]:
        """Return rows of the table as float32, shape (len(ids), 256), not normalised; zeros for tokens that spell characters."""
        model = self._load()
        rows = model.take(ids)
        rows[model.spelling[ids]] = 0
        return rows

    def close(self) -> None:
        """Release the table and the tokenizer until they are needed again."""
        with _loading:
            self._model = None

    def _load(self) -> _StaticModel:
        """Return the model, which another provider of this process may have loaded."""
        with _loading:
            model = self._model or _shared.get(MODEL)
            if model is None:
                model = _shared[MODEL] = _read_wheel()
            self._model = model
            return model


def _find_spelling(tokenizer: Tokenizer) -> NDArray[np.bool_]:
    """Return for every id True if it is a byte, as part of a character that the vocabulary lacks, or a space alone."""
    import numpy as np

    found = np.zeros(np.iinfo(np.uint16).max + 1, dtype=np.bool_)
    for name in (_SPACE, *(f"<0x{byte:02X}>" for byte in range(256))):
        if (token := tokenizer.token_to_id(name)) is not None:
            found[token] = True
    return found


def _find_package() -> Path:
    spec = find_spec("wordllama")
    if spec is None or not spec.submodule_search_locations:
        raise ProviderUnavailable(
            "static", "the package wordllama, which carries the model, is not installed", action=_REINSTALL
        )
    return Path(next(iter(spec.submodule_search_locations)))


def _read_wheel() -> _StaticModel:
    """Return the model with its table mapped into memory."""
    folder = _find_package()
    try:
        table = read_tensors(folder / "weights" / f"{MODEL}.safetensors")[_TABLE]
        content = (folder / "tokenizers" / "l2_supercat_tokenizer_config.json").read_bytes()
    except (OSError, ValueError, KeyError) as error:
        raise ProviderUnavailable("static", f"wordllama's model cannot be read: {error}", action=_REINSTALL) from error
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_buffer(content)
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return _StaticModel(table, tokenizer, _WordIds(tokenizer), _find_spelling(tokenizer))
