"""Short texts in few bytes: deflated, each on its own, after words that many of them share."""

from __future__ import annotations

import re
import zlib
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from itertools import chain

MOST_BYTES = 7_900  # of shared words: what deflate looks back at, in a window of 8 KiB
RECURS = 3  # times that a word stands in the texts from which words are chosen
LONGEST_WORD = 40  # characters
# Level 6 saves 1 % and takes twice the time. A negative window is one without header and checksum.
_LEVEL, _WINDOW, _MEMORY = 3, -13, 7
_WORD = re.compile(r"\S+\s*")


def choose_words(texts: Iterable[str]) -> bytes:
    """Choose the words that some texts share, with the white space behind them.

    The most frequent stand last, where deflate names them in the fewest bits.
    """
    counts = Counter(chain.from_iterable(map(_WORD.findall, texts)))
    chosen: list[bytes] = []
    left = MOST_BYTES
    for word, count in counts.most_common():
        octets = word.encode(errors="replace")
        if count < RECURS or len(octets) > left:
            break
        if 1 < len(word) <= LONGEST_WORD:
            chosen.append(octets)
            left -= len(octets)
    return b"".join(reversed(chosen))


def pack(text: str, words: bytes) -> bytes:
    """Return a text, which holds no lone surrogate, in fewer bytes.

    Args:
        text: It.
        words: See `choose_words`; the same are needed to unpack it.
    """
    stream = _begin(words).copy()
    return stream.compress(text.encode()) + stream.flush()


def unpack(packed: bytes, words: bytes, *, most_bytes: int = 0) -> str:
    """Return the inverse of `pack`.

    Args:
        packed: What `pack` returned.
        words: Those that it was given.
        most_bytes: A text of more is refused; 0 for no limit.

    Raises:
        ValueError: These are no packed text, it was packed with other words, or it is too long.
    """
    stream = zlib.decompressobj(_WINDOW, words)
    try:
        octets = stream.decompress(packed, most_bytes)
    except zlib.error as error:
        raise ValueError(str(error)) from error
    if not stream.eof or stream.unused_data:
        raise ValueError("a packed text is cut off")
    return octets.decode()


@lru_cache(maxsize=8)
def _begin(words: bytes) -> zlib._Compress:
    """Return a stream that has seen the words; a copy costs a tenth of making one."""
    return zlib.compressobj(_LEVEL, zlib.DEFLATED, _WINDOW, _MEMORY, zlib.Z_DEFAULT_STRATEGY, words)
