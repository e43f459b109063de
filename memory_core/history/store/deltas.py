"""Bytes of a version as they are stored: compressed, by what distinguishes them from an earlier version. Pure.

A body is the length of the beginning and of the end that it shares with its base, as two variable-length numbers, then what
stands between them as a raw deflate stream (RFC 1951) whose dictionary is the base around that place. A whole body shares
nothing, and has no dictionary.
"""

from __future__ import annotations

import zlib

WINDOW = 16_384  # bytes of the base on each side of a change; deflate looks back over 32 kB


class DamagedBody(Exception):
    """A stored version that cannot be unpacked."""


def pack(data: bytes, base: bytes = b"") -> bytes:
    """Pack bytes; `unpack` with the same base gives them back."""
    first = _count_shared(data, base)
    last = _count_shared(data[first:][::-1], base[first:][::-1])
    deflate = zlib.compressobj(6, zlib.DEFLATED, -zlib.MAX_WBITS, 9, zdict=_cut_window(base, first))
    between = deflate.compress(data[first : len(data) - last]) + deflate.flush()
    return _pack_number(first) + _pack_number(last) + between


def unpack(body: bytes, base: bytes = b"") -> bytes:
    """Return the bytes that were packed.

    Raises:
        DamagedBody: It is damaged, or belongs to another base.
    """
    first, at = _unpack_number(body, 0)
    last, at = _unpack_number(body, at)
    if first + last > len(base):
        raise DamagedBody("a version does not fit the one that it builds upon")
    try:
        inflate = zlib.decompressobj(-zlib.MAX_WBITS, zdict=_cut_window(base, first))
        between = inflate.decompress(body[at:]) + inflate.flush()
    except zlib.error as error:
        raise DamagedBody(f"a version cannot be unpacked: {error}") from error
    if not inflate.eof:
        raise DamagedBody("a version is cut short")
    return base[:first] + between + base[len(base) - last :]


def _cut_window(base: bytes, at: int) -> bytes:
    return base[max(at - WINDOW, 0) : at + WINDOW]


def _count_shared(one: bytes, other: bytes) -> int:
    """Return the number of bytes that two begin with alike."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _pack_number(number: int) -> bytes:
    """Seven bits a byte, the lowest first; the eighth bit says that more follow."""
    packed = bytearray()
    while number > 0x7F:
        packed.append(number & 0x7F | 0x80)
        number >>= 7
    packed.append(number)
    return bytes(packed)


def _unpack_number(body: bytes, at: int) -> tuple[int, int]:
    number = shift = 0
    while at < len(body):
        byte = body[at]
        at += 1
        number |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return number, at
    raise DamagedBody("a version is cut short")
