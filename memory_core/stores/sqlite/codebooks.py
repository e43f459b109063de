"""Codebooks: the words and the tokens that are frequent in the notes of an index, by which chunks are packed.

An index gets them once it has chunks enough, and keeps them: what was packed with one can only be read with it. Rows from before
are as they came, until `packing` has packed them; so is a small index, which is searched faster so.

Texts are deflated after the words. Token ids are replaced by their place in the order of frequency, and written as UTF-8: a
byte for the 128 most frequent, which are three of four in daily notes, and two for most others. Packed tokens are of odd length,
as plain ones never are.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate
from typing import TYPE_CHECKING, Literal, cast

from memory_core.stores.sqlite import Connection
from memory_core.stores.sqlite.damage import DamagedRow
from memory_core.text import packing

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

PACK_FROM = 16_384  # chunks: from here on, what packing costs a search, .2 ms, is less than a fiftieth of it
TOKENS_FROM = 64  # chunks whose tokens come together: enough to choose from
_SAMPLE = 500  # chunks that are chosen from

_IDS = 1 << 16
_FILLER = b"\xff"  # stands in no UTF-8

Kind = Literal["words", "tokens"]


class Codebooks:
    """The codebooks of an index, read when they are needed first.

    Args:
        connection: Inside a transaction; a writing one for what learns and replaces.
    """

    def __init__(self, connection: Connection) -> None:
        self._db = connection
        self._held: dict[Kind, bytes] | None = None

    def learn(self, prefix: str = "") -> bool:
        """Choose words and tokens if there are none yet, from chunks that are stored, if these are many; return True if it did.

        Args:
            prefix: Before the table's name.
        """
        if self.has_words or not self.are_many(prefix):
            return False
        rows = self._db.execute(
            f"SELECT text, tokens FROM {prefix}chunks WHERE id % ? = 0 LIMIT ?", (max(PACK_FROM // _SAMPLE, 1), _SAMPLE)
        ).fetchall()
        found = cast("list[tuple[str, bytes | None]]", rows)
        self._put("words", packing.choose_words([text for text, _ in found]))
        self.learn_tokens([tokens for _, tokens in found if tokens is not None])
        return True

    def are_many(self, prefix: str = "") -> bool:
        """Return True if there are as many chunks as `learn` wants."""
        query = f"SELECT count(*) FROM (SELECT 1 FROM {prefix}chunks LIMIT ?)"
        return bool(self._db.execute(query, (PACK_FROM,)).get == PACK_FROM)

    def learn_tokens(self, blobs: Sequence[bytes]) -> None:
        """Choose the order of tokens if there is none yet, from those of many chunks, as `token_blobs` packs them."""
        if self.has_words and self._find("tokens") is None and len(blobs) >= TOKENS_FROM:
            self._put("tokens", _choose_tokens(blobs))

    def replace_words(self, texts: Sequence[str]) -> Codebooks:
        """Choose the words anew; return the codebooks with which all that is packed has to be packed again."""
        other = Codebooks(self._db)
        other._put("words", packing.choose_words(texts))
        return other

    @property
    def has_words(self) -> bool:
        """True if texts are packed."""
        return self._find("words") is not None

    def pack_text(self, text: str) -> bytes | None:
        """Return a text as it is stored; None where texts are not packed."""
        words = self._find("words")
        return None if words is None else packing.pack(text, words)

    def unpack_text(self, packed: bytes) -> str:
        """Return the inverse of `pack_text`.

        Raises:
            DamagedRow: It was not packed with the words of this index.
        """
        words = self._find("words")
        if words is None:
            raise DamagedRow("the words by which texts are packed are lost")
        try:
            return packing.unpack(packed, words)
        except ValueError as error:
            raise DamagedRow("a text is not what was indexed") from error

    def pack_tokens(self, ids: bytes) -> bytes:
        """Return token ids, as `token_blobs` packs them, as they are stored."""
        import numpy as np

        chosen = self._find("tokens")
        if chosen is None:
            return ids
        ranks = _order(chosen)[1].take(np.frombuffer(ids, "<u2"))
        packed = ranks.tobytes().decode("utf-16-le", "surrogatepass").encode("utf-8", "surrogatepass")
        return packed if len(packed) % 2 else packed + _FILLER

    def unpack_tokens(self, packed: Sequence[bytes]) -> list[bytes]:
        """Return the inverse of `pack_tokens` for some chunks.

        Raises:
            DamagedRow: They were not packed with the tokens of this index.
        """
        import numpy as np

        if not any(len(each) % 2 for each in packed):
            return [*packed]
        chosen = self._find("tokens")
        if chosen is None:
            raise DamagedRow("the tokens by which texts are packed are lost")
        try:
            ranks = [_read_ranks(each) if len(each) % 2 else b"" for each in packed]
        except UnicodeError as error:
            raise DamagedRow("tokens are not those of their text") from error
        # At once: a call takes longer than a chunk.
        ids = _order(chosen)[0].take(np.frombuffer(b"".join(ranks), "<u2")).tobytes()
        ends = [*accumulate(map(len, ranks))]
        return [
            ids[end - len(own) : end] if len(each) % 2 else each
            for own, end, each in zip(ranks, ends, packed, strict=True)
        ]

    def _find(self, kind: Kind) -> bytes | None:
        if self._held is None:
            rows = self._db.execute("SELECT kind, entries FROM codebooks").fetchall()
            self._held = dict(cast("list[tuple[Kind, bytes]]", rows))
        return self._held.get(kind)

    def _put(self, kind: Kind, entries: bytes) -> None:
        self._db.execute("INSERT OR REPLACE INTO codebooks VALUES (?, ?)", (kind, entries))
        self._held = None


def _read_ranks(packed: bytes) -> bytes:
    if packed.endswith(_FILLER):
        packed = packed[:-1]
    return packed.decode("utf-8", "surrogatepass").encode("utf-16-le", "surrogatepass")


def _choose_tokens(blobs: Sequence[bytes]) -> bytes:
    import numpy as np

    counts = np.bincount(np.frombuffer(b"".join(blobs), "<u2"), minlength=_IDS)
    return np.argsort(-counts, kind="stable")[: np.count_nonzero(counts)].astype("<u2").tobytes()


@lru_cache(maxsize=4)
def _order(chosen: bytes) -> tuple[NDArray[np.uint16], NDArray[np.uint16]]:
    """Return the token ids in their order, the chosen ones first; and the place of every id in it."""
    import numpy as np

    first = np.frombuffer(chosen[: len(chosen) // 2 * 2], "<u2")
    others = np.ones(_IDS, np.bool_)
    others[first] = False
    order = np.concatenate([first, np.flatnonzero(others)]).astype("<u2")
    if len(order) != _IDS or len(chosen) % 2:
        raise DamagedRow("the tokens by which texts are packed are damaged")
    places = np.empty(_IDS, "<u2")
    places[order] = np.arange(_IDS)
    return order, places
