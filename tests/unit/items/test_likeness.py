"""Facts compared: other words for one fact, other facts in like words, and corrections. The examples are our own."""

from __future__ import annotations

import pytest

from memory_core.embeddings.static import StaticProvider
from memory_core.items.likeness import Fact, Words, corrects, is_same


@pytest.fixture(scope="module")
def words() -> Words:
    return Words(StaticProvider())


def cosine(words: Words, one: str, other: str) -> float:
    return float(words.embed(one) @ words.embed(other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Our dentist is Dr. Okafor.", "Dr. Okafor is our dentist."),
        ("The workshop takes place on 3 June.", "The workshop is on June 3."),
        ("I never eat mushrooms.", "I don't eat mushrooms, ever."),
    ],
)
def test_other_words_for_one_fact(words: Words, one: str, other: str) -> None:
    assert is_same(Fact(one), Fact(other), words, cosine(words, one, other))
    assert is_same(Fact(other), Fact(one), words, cosine(words, one, other))
    assert not corrects(Fact(other), Fact(one), words, cosine(words, one, other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The workshop is on 3 June.", "The workshop is on 4 June."),
        ("Our dentist is Dr. Okafor.", "Our vet is Dr. Okafor."),
        ("I eat mushrooms.", "I don't eat mushrooms."),
        ("My sister lives in Porto.", "My brother lives in Porto."),
        ("I drink tea rather than coffee.", "I drink coffee rather than tea."),
        ("I live in Porto.", "I live in Lisbon."),
        ("The shop opens at nine.", "The shop closes at nine."),
        ("Rack a0 is full.", "Rack b0 is full."),
        ("I am in team A.", "I am in team B."),
    ],
)
def test_other_facts_in_like_words(words: Words, one: str, other: str) -> None:
    assert not is_same(Fact(one), Fact(other), words, cosine(words, one, other))
    assert not is_same(Fact(other), Fact(one), words, cosine(words, one, other))


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("My bike is red.", "My bike is blue, not red."),
        ("I work at the bakery.", "I no longer work at the bakery."),
        ("The standup is at 9:30.", "The standup is at 10:15."),
        ("My mail address is kim@example.org.", "My mail address is kim@example.com."),
    ],
)
def test_corrections(words: Words, older: str, newer: str) -> None:
    assert corrects(Fact(newer), Fact(older), words, cosine(words, older, newer))


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("My sister lives in Porto.", "My brother lives in Porto now."),
        ("The standup is at 9:30.", "The retro is on Friday at 15:00."),
        ("I play the cello.", "We use Terraform now."),
    ],
)
def test_no_corrections(words: Words, older: str, newer: str) -> None:
    assert not corrects(Fact(newer), Fact(older), words, cosine(words, older, newer))
