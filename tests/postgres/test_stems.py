"""What PostgreSQL returns of a tsvector is read back."""

from __future__ import annotations

import psycopg
from hypothesis import given, settings
from hypothesis import strategies as st

from memory_core.stores.postgres.stems import quote, read_vector
from tests.servers.postgres import find_server

LEXEMES = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1, max_size=12)
PLACES = st.lists(st.integers(1, 16_000), unique=True, max_size=6).map(sorted)


@settings(max_examples=60, deadline=None)
@given(st.dictionaries(LEXEMES, PLACES, max_size=6))
def test_a_tsvector_that_the_server_writes_is_read_back(vector: dict[str, list[int]]) -> None:
    text = " ".join(quote(each) + (f":{','.join(map(str, at))}" if at else "") for each, at in vector.items())
    with psycopg.connect(find_server().dsn()) as connection:
        row = connection.execute("SELECT %s::tsvector::text", (text,)).fetchone()
    assert row is not None
    assert read_vector(row[0]) == vector


def test_weights_are_left_out() -> None:
    assert read_vector("'a':1A,3C 'b':2") == {"a": [1, 3], "b": [2]}
