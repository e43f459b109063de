"""Front matter: dates and names as people write them, and blocks that are meant to do harm."""

from __future__ import annotations

import resource
from itertools import pairwise

import pytest

from memory_core.sources.notes import find_note_date
from memory_core.text.markdown import MAX_CHARS, MAX_NAMES, FrontMatter, read_front_matter
from tests.growth import MOST_GROWTH, measure_growth

NONE = FrontMatter()


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        ("date: 2026-01-05", FrontMatter("2026-01-05")),
        ("date: 2026-1-5", FrontMatter("2026-01-05")),
        ('Date: "2026-01-05 10:30"', FrontMatter("2026-01-05")),
        ("created: 2026-01-05T10:30:00Z", FrontMatter("2026-01-05")),
        ("created: 2026-01-05\ndate: 2026-01-06", FrontMatter("2026-01-06")),
        ("date: soon\ncreated: 2026-01-05", FrontMatter("2026-01-05")),
        ("date: 2026-02-30", NONE),
        ("createdAt: 2026-01-05T08:00:00.000Z", FrontMatter("2026-01-05")),
        ("Creation_Date: 5 January 2026", FrontMatter("2026-01-05")),
        ("published: 2026-01-05\ntimestamp: 2026-01-06", FrontMatter("2026-01-05")),
        ("created: 1767571200\nupdated: 1767657600", FrontMatter("2026-01-05")),
        ("created: 1767571200123", FrontMatter("2026-01-05")),
        ("updated: 2026-01-05\ndue: 2026-01-06", NONE),
        ("aliases: [Bob the Builder, Bobby]", FrontMatter(None, ("Bob the Builder", "Bobby"))),
        (
            "aliases:\n  - Bob\n  - '東京'\ntags:\n  - '#home/garden'\n  - 12",
            FrontMatter(None, ("Bob", "東京", "home/garden", "12")),
        ),
        ("tags: home, garden  pond", FrontMatter(None, ("home", "garden", "pond"))),
        ("aliases: Bob, the builder", FrontMatter(None, ("Bob", "the builder"))),
        (
            "alias: Bob\ntag: home\ncategories: [Old pond]\nkeywords: a b, c",
            FrontMatter(None, ("Bob", "home", "a b", "c", "Old pond")),
        ),
        ("tags:\naliases: ~", NONE),
        ("tags: {a: b}\naliases: [[a], {b: c}, d]", FrontMatter(None, ("d",))),
        ("title: x", NONE),
        ("- a\n- b", NONE),
        ("just text", NONE),
        ("tags: [a", NONE),
        ("a: 'b", NONE),
        ("? [x]\n: y\ntags: a", FrontMatter(None, ("a",))),
        ("tags: !!python/object/apply:os.system ['false']", FrontMatter(None, ("false",))),
        ("date: !!int 2026-01-05", FrontMatter("2026-01-05")),
    ],
)
def test_what_counts(block: str, expected: FrontMatter) -> None:
    read = [read_front_matter(f"---\n{block}\n---\n\ntext\n"), read_front_matter(f"--- \n{block}\n...\n")]
    assert {(found.date, found.names) for found in read} == {(expected.date, expected.names)}


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        ('title = "Loom"\ntags = ["yarn", "#wool"]', FrontMatter(None, (), ("yarn", "wool"), "Loom")),
        ('date = 2026-01-05T23:30:00+02:00\naliases = "Bob, Bobby"', FrontMatter("2026-01-05", ("Bob", "Bobby"))),
        ('title = "x"\n[taxonomies]\ntags = ["home"]\n[extra]\ntags = ["y"]', FrontMatter(None, (), ("home",), "x")),
        ("tags = [", NONE),
        ("a = " + "[" * 5000, NONE),
    ],
)  # fmt: skip
def test_what_counts_in_toml(block: str, expected: FrontMatter) -> None:
    assert read_front_matter(f"+++\n{block}\n+++\n\ntext\n") == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("tags:: yarn, [[dry wool]]\n\n# Loom\n", FrontMatter(None, (), ("yarn", "dry wool"))),
        ("title:: Loom\nTags:: #yarn #wool", FrontMatter(None, (), ("yarn", "wool"), "Loom")),
        ("alias:: the loom, frame\n", FrontMatter(None, ("the loom", "frame"))),
        ("- tags:: yarn\n- text\n", FrontMatter(None, (), ("yarn",))),
        ("# Loom\ntags:: yarn\n", NONE),
        ("std::tags is a name\n", NONE),
        ("tags::\n", NONE),
    ],
)  # fmt: skip
def test_what_counts_of_properties_at_the_top(text: str, expected: FrontMatter) -> None:
    assert read_front_matter(text) == expected


@pytest.mark.parametrize(
    "text", ["", "---", "---\n", "text\n---\ntags: a\n---\n", "---\ntags: a\n", "----\ntags: a\n---\n", "--- x\n---\n"]
)
def test_what_is_none(text: str) -> None:
    assert read_front_matter(text) == NONE


LEVELS = "abcdefghi"
BOMB = "a: &a [x, x]\n" + "".join(
    f"{after}: &{after} [{', '.join([f'*{before}'] * 9)}]\n" for before, after in pairwise(LEVELS)
)
MERGES = "a: &a {x: y}\n" + "".join(
    f"{after}: &{after}\n  <<: [{', '.join([f'*{before}'] * 9)}]\n" for before, after in pairwise(LEVELS)
)
HOSTILE = {
    "aliases of aliases": f"{BOMB}tags: *i",
    "merges of merges": f"{MERGES}<<: *i",
    "deep brackets": f"tags: {'[' * 8000}",
    "deep brackets, one a line": "tags:\n" + " [\n" * 5000,
    "deep braces": f"tags: {'{a: ' * 3000}",
    "deep dashes": f"tags:\n  {'- ' * 7000}x",
    "deep questions": f"{'? ' * 7000}x",
    "a loop": "tags: &a [*a, b]\naliases: *a",
    "a long integer": f"date: {'9' * 16000}",
    "a code point that is none": 'tags: "\\UFFFFFFFF"',
    "controls": "tags: a\x00\x07b",
    "a surrogate": "tags: \ud800",
    "tabs": "\t" * 16000,
    "many anchors": " ".join(f"&a{n} x," for n in range(2000)),
    "many keys": "\n".join(f"k{n}: v" for n in range(1800)),
    "many names": f"tags: [{', '.join(f't{n}' for n in range(3000))}]",
    "long names": f"aliases: [{'x' * 8000}, {'y' * 8000}]",
    "colons": ": " * 8000,
    "quotes": "'" * 16000,
    "too long": "tags: [a]\n" * (MAX_CHARS // 5),
}


@pytest.mark.parametrize("block", HOSTILE.values(), ids=HOSTILE)
def test_hostile_yaml_is_harmless(block: str) -> None:
    held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    found = read_front_matter(f"---\n{block}\n---\n")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - held < 100_000  # kB
    assert len(found.names) <= MAX_NAMES
    growth = measure_growth(lambda length: read_front_matter(f"---\n{block[:length]}\n---\n"), len(block))
    assert growth < MOST_GROWTH
    assert sum(map(len, found.names)) <= 100 * MAX_NAMES


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        ("memory/2026-03-01.md", "---\ndate: 2026-01-05\n---\n", "2026-03-01"),
        ("memory/garden.md", "---\ncreated: 2026-01-05\n---\n# 2026-02-02\n", "2026-01-05"),
        ("memory/garden.md", "---\ntags: a\n---\n# 2026-02-02\n", "2026-02-02"),
    ],
)
def test_the_file_name_comes_before_the_front_matter_and_that_before_headings(
    path: str, text: str, expected: str
) -> None:
    assert find_note_date(path, text) == expected


@pytest.mark.parametrize(
    ("block", "day"),
    [
        ('title = "x"\nCreated_At = 2026-01-05T10:00:00+02:00', "2026-01-05"),
        ("publishDate = '5 Jan 2026'\ndate = 2026-01-06", "2026-01-06"),
        ("[extra]\ndate = 2026-01-05", None),
    ],
)
def test_toml_names_a_date_by_the_same_keys(block: str, day: str | None) -> None:
    assert read_front_matter(f"+++\n{block}\n+++\n\ntext\n").date == day


def test_aliases_and_tags_are_told_apart() -> None:
    found = read_front_matter("---\ntitle: A  title\naliases: [b, c]\ntags: [c, '#d']\n---\n")
    assert (found.title, found.aliases, found.tags) == ("A title", ("b", "c"), ("c", "d"))
    assert found.names == ("b", "c", "d")
