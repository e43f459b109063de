"""Bodies of answers are unpacked within their bounds, whatever an endpoint sends."""

from __future__ import annotations

import gzip
import zlib

import pytest

from memory_core.embeddings.remote.http import MAX_REFUSAL_BYTES, BadBody, Body


@pytest.mark.parametrize(("packed", "pack"), [("gzip", gzip.compress), ("deflate", zlib.compress), ("", bytes)])
def test_a_body_is_unpacked_piece_by_piece(packed: str, pack: type[bytes]) -> None:
    body, sent = Body(200, {"content-encoding": packed}, 1000), pack(b"[1, 2]" * 9)
    assert all(body.add(sent[at : at + 7]) for at in range(0, len(sent), 7))
    assert bytes(body.content) == b"[1, 2]" * 9


def test_a_piece_that_unpacks_to_more_than_is_wanted_is_unpacked_no_further() -> None:
    bomb = gzip.compress(bytes(50 << 20))
    body = Body(200, {"content-encoding": "gzip"}, 1000)
    with pytest.raises(BadBody, match="larger than"):
        body.add(bomb)
    assert len(body.content) == 1001
    refusal = Body(500, {"content-encoding": "gzip"}, 1000)
    assert not refusal.add(bomb)
    assert len(refusal.content) == MAX_REFUSAL_BYTES


@pytest.mark.parametrize("packed", ["br", "gzip, gzip", "nonsense"])
def test_what_was_not_asked_for_is_refused(packed: str) -> None:
    with pytest.raises(BadBody, match="not asked for"):
        Body(200, {"content-encoding": packed}, 1000)


def test_what_is_damaged_is_named() -> None:
    with pytest.raises(BadBody, match="cannot be decompressed"):
        Body(200, {"content-encoding": "gzip"}, 1000).add(b"not gzip at all")
