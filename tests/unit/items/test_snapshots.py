"""Snapshots of items in memory find what the rows hold."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from memory_core.items.store.snapshots import UNKNOWN, Snapshot
from memory_core.items.store.vectors import ItemCosines

TEXTS = st.lists(st.text("abß ", max_size=6), max_size=6)


def make_snapshot(texts: list[str], first_key: int = 10) -> Snapshot:
    sizes = [len(text) + 1 for text in texts]
    return Snapshot(
        generation="1",
        keys=np.arange(first_key, first_key + 2 * len(texts), 2),
        reinforced=np.zeros(len(texts), dtype=np.int64),
        said=np.zeros(len(texts)),
        texts="\0".join(texts),
        starts=np.cumsum([0, *sizes[:-1]])[: len(texts)],
    )


@given(TEXTS, st.text("abß ", min_size=1, max_size=3))
def test_a_text_is_found_where_it_stands(texts: list[str], wanted: str) -> None:
    found = make_snapshot(texts).find_text(wanted).tolist()
    assert found == [place for place, text in enumerate(texts) if wanted in text]


@given(TEXTS, st.lists(st.integers(0, 30), unique=True))
def test_keys_are_located_and_cosines_put_beside_their_items(texts: list[str], keys: list[int]) -> None:
    snapshot, asked = make_snapshot(texts), np.array(sorted(keys), dtype=np.int64)
    held, places = snapshot.locate(asked)
    assert snapshot.keys[places].tolist() == asked[held].tolist() == sorted(set(keys) & set(snapshot.keys.tolist()))
    aligned = snapshot.align(ItemCosines(asked, np.ones(len(asked), dtype=np.float32)))
    assert aligned.tolist() == [1.0 if key in keys else UNKNOWN for key in snapshot.keys.tolist()]
