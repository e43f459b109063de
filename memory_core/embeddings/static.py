"""The static model that ships in the wordllama wheel: a table of token vectors, averaged. Never touches the network.

The table is memory-mapped straight from the wheel's safetensors file while many texts are embedded, and the rows that questions
need are kept. Its tokenizer is read with `tokenizers`. That takes 200 ms and 35 MB, 600 ms and 121 MB through the package, whose
import also reconfigures the host's root logger. The package is the fallback for a wheel that is laid out differently.
"""

from __future__ import annotations

import logging
import threading
import weakref
from array import array
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, cast

from memory_core.embeddings.local.model import read_tensors
from memory_core.embeddings.token_rows import TokenRows, to_float32
from memory_core.embeddings.vectors import round_to_int8, widen
from memory_core.embeddings.word_tokens import MARK, WordTokens, cuts_at_words
from memory_core.errors import ProviderUnavailable
from memory_core.records import Calibration, Space

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from tokenizers import Tokenizer

    _Take = Callable[[NDArray[np.uint16]], NDArray[np.float32]]  # rows of the table as float32, for the ids of tokens

MODEL = "l2_supercat_256"
DIMENSIONS = 256
VOCABULARY = 32_000
BATCH = 512  # texts a step: keeps progress visible and the token arrays small
CALIBRATION = Calibration(floor=0.18, span=0.45)  # on the judged conversations and the nonsense of tests/benchmarks
WIDENS_FROM = 4000  # texts: below, a float32 table costs more to make (20 ms, 32 MB) than its reads save
WORDS_KEPT = 4_000  # of a question's process, 1 MB
FEW = 16  # texts: fewer are cut one by one, as a batch wakes threads

_TABLE = "embedding.weight"
_REINSTALL = "reinstall memory-core, or choose another provider: memorySearch.provider"


class StaticProvider:
    """Embeds by averaging token vectors; offers the token vectors themselves for late interaction."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loaded: _Loaded | None = None
        self._wide: NDArray[np.generic] | None = None  # the table as float32, between many texts and few, or a question
        self._words: WordTokens | None = None  # None until it is needed, and for a tokenizer that it does not suit
        self._spelling: NDArray[np.bool_] | None = None  # None until it is needed

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
        take = self._choose_rows(len(texts))
        for first in range(0, len(texts), BATCH):
            yield first, round_to_int8(self._embed(texts[first : first + BATCH], take))

    def embed_query(self, text: str, *, timeout_seconds: float | None = None) -> NDArray[np.float32]:  # noqa: ARG002 -- local, returns at once
        """See `EmbeddingProvider`."""
        return cast("NDArray[np.float32]", self._embed([text], self._choose_rows(1))[0])

    def token_ids(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the ids of every text's tokens, each below 32,000."""
        tokenizer = self._load().tokenizer
        if len(texts) < FEW:
            return [tokenizer.encode(text, add_special_tokens=False).ids for text in texts]
        if (words := self._load_words()) is not None:
            return words.find_ids(texts)
        return [encoding.ids for encoding in tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)]

    def embed_units(self, texts: Sequence[Sequence[str]]) -> tuple[list[list[int]], NDArray[np.float32]]:
        """See `UnitEmbedder`."""
        units = [unit for text in texts for unit in text]
        words = self._load_words() if len(units) >= FEW else None
        if words is None:
            own, joined = self.token_ids(units), self.token_ids(["\n".join(text) for text in texts])
        else:
            own, joined = words.find_joined_ids(texts)
        return own, round_to_int8(self._add_up(joined, self._choose_rows(len(texts))))

    def token_vectors(self, ids: NDArray[np.uint16]) -> NDArray[np.float32]:
        """Return rows of the table as float32, shape (len(ids), 256), not normalised; zeros for tokens that spell characters."""
        loaded = self._load()
        rows = loaded.rows.take(ids)
        spelling = self._spelling
        if spelling is None:
            spelling = self._spelling = _find_spelling(loaded.tokenizer)
        rows[spelling[ids]] = 0
        return rows

    def close(self) -> None:
        """Release the table and the tokenizer until they are needed again."""
        with self._lock:
            self._loaded = self._words = self._spelling = self._wide = None

    def _choose_rows(self, count: int) -> _Take:
        """Return what takes rows of the table as it costs least for so many texts."""
        import numpy as np

        loaded = self._load()
        if count < WIDENS_FROM:
            self._wide = None
        if count < FEW:
            if self._words is not None and len(self._words) > WORDS_KEPT:  # for many texts, and none follow just now
                self._words.clear()
            return loaded.rows.take
        wide = self._wide
        if wide is None:
            table = loaded.load_table()
            if count < WIDENS_FROM or table.dtype != np.float16:
                return partial(_take_rows, table)
            wide = self._wide = widen(table.view(np.float16))
        return partial(_take_rows, wide)

    def _embed(self, texts: Sequence[str], take: _Take) -> NDArray[np.float32]:
        return self._add_up(self.token_ids(texts), take)

    def _add_up(self, texts: Sequence[Sequence[int]], take: _Take) -> NDArray[np.float32]:
        """Return the mean of the vectors of each text's tokens, of unit length."""
        import numpy as np

        sums = np.zeros((len(texts), DIMENSIONS), dtype=np.float32)
        for row, ids in zip(sums, texts, strict=True):  # a tenth of the time of all texts together
            np.add.reduce(take(np.frombuffer(array("H", ids), np.uint16)), axis=0, out=row)
        lengths = np.linalg.norm(sums, axis=1, keepdims=True)
        return cast("NDArray[np.float32]", np.divide(sums, lengths, out=sums, where=lengths > 0))

    def _load_words(self) -> WordTokens | None:
        """Return what cuts many texts by their words; None for a tokenizer that it does not suit."""
        tokenizer = self._load().tokenizer
        with self._lock:
            if self._words is None and cuts_at_words(tokenizer):
                self._words = WordTokens(tokenizer)
            return self._words

    def _load(self) -> _Loaded:
        with self._lock:
            if self._loaded is None:
                self._loaded = _Loaded.share()
            return self._loaded


class _Loaded:
    """The table and the tokenizer, which all providers of a process share as long as one of them is open.

    Attributes:
        load_table: Returns the table, which is mapped into memory as long as somebody holds it.
        rows: The rows of the table that questions need.
        tokenizer: Cuts texts into tokens.
    """

    _shared: ClassVar[Callable[[], _Loaded | None]] = staticmethod(lambda: None)

    def __init__(self, load_table: Callable[[], NDArray[np.generic]], tokenizer: Tokenizer) -> None:
        self.load_table = load_table
        self.rows = TokenRows(load_table)
        self.tokenizer = tokenizer

    @classmethod
    def share(cls) -> _Loaded:
        """Return the model that is loaded, else load it; two threads that come at once may both load it, and keep their own."""
        loaded = cls._shared()
        if loaded is None:
            loaded = cls(*(_read_wheel() or _load_package()))
            cls._shared = weakref.ref(loaded)
        return loaded


def _find_spelling(tokenizer: Tokenizer) -> NDArray[np.bool_]:
    """Return for every id True if it is a byte, as part of a character that the vocabulary lacks, or a space alone."""
    import numpy as np

    found = np.zeros(np.iinfo(np.uint16).max + 1, dtype=np.bool_)
    for name in (MARK, *(f"<0x{byte:02X}>" for byte in range(256))):
        if (token := tokenizer.token_to_id(name)) is not None:
            found[token] = True
    return found


def _take_rows(table: NDArray[np.generic], ids: NDArray[np.uint16]) -> NDArray[np.float32]:
    """Return rows of a table of token vectors as float32."""
    return to_float32(table.take(ids, axis=0, mode="clip"))  # a damaged index may hold ids that the table has not


def _find_package() -> Path:
    spec = find_spec("wordllama")
    if spec is None or not spec.submodule_search_locations:
        raise ProviderUnavailable(
            "static", "the package wordllama, which carries the model, is not installed", action=_REINSTALL
        )
    return Path(next(iter(spec.submodule_search_locations)))


def _read_wheel() -> tuple[Callable[[], NDArray[np.generic]], Tokenizer] | None:
    """Return what maps the table, and the tokenizer; None when the wheel is not laid out like that of wordllama 0.4."""
    from tokenizers import Tokenizer

    folder = _find_package()
    weights = folder / "weights" / f"{MODEL}.safetensors"
    vocabulary = folder / "tokenizers" / "l2_supercat_tokenizer_config.json"
    if not (weights.is_file() and vocabulary.is_file()):
        return None
    try:
        table = read_tensors(weights).get(_TABLE)
    except ValueError:
        return None
    if table is None or table.shape != (VOCABULARY, DIMENSIONS):
        return None
    tokenizer = Tokenizer.from_file(str(vocabulary))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return lambda: read_tensors(weights)[_TABLE], tokenizer


def _load_package() -> tuple[Callable[[], NDArray[np.generic]], Tokenizer]:
    """Load table and tokenizer through wordllama; its own folder as cache keeps it from looking on the network."""
    root = logging.getLogger()
    level, handlers = root.level, list(root.handlers)
    try:
        from wordllama import WordLlama

        model = WordLlama.load(cache_dir=_find_package(), disable_download=True)
    except (ImportError, OSError, ValueError) as error:
        raise ProviderUnavailable(
            "static", f"wordllama's model cannot be loaded: {error}", action=_REINSTALL
        ) from error
    finally:  # importing wordllama runs logging.basicConfig on the host's root logger
        root.setLevel(level)
        root.handlers[:] = handlers
    model.tokenizer.no_padding()
    return lambda: model.embedding, model.tokenizer
