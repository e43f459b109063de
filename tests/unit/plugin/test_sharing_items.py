"""Items of two machines are merged by id and time; what one of them deleted stays deleted."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from memory_core.config.load import load_config
from memory_core.items.items import Items
from memory_core.items.records import Item
from memory_core.plugin.sharing import Taken, hold, merge_items, read_shared, refuse_lines, take_change, write_shared
from memory_core.records import Origin

ITEM = Item(
    id="aa", content="I take the train.", scope="default", tags=("travel",), agent="main", kind="fact", pending=False,
    created=10.0, updated=10.0, said=10.0, recalled=12.0, reinforced=0, superseded_by=None,
    origin=Origin(by="user", session="s1", at="2026-03-02T08:00:00+00:00"),
)  # fmt: skip


def show(items: Iterable[Item], base: str = "") -> str:
    return write_shared(hold(items, read_shared(base)))


def merge(base: list[Item], first: list[Item], second: list[Item]) -> dict[str, Item]:
    merged = [merge_items(*map(show, sides)) for sides in ((base, first, second), (base, second, first))]
    assert merged[0] == merged[1]
    return {name: each.item for name, each in read_shared(merged[0]).items() if each.item is not None}


def test_a_change_of_one_side_counts_whatever_the_clocks_say() -> None:
    changed = replace(ITEM, pending=True, updated=-86_400.0)
    assert merge([ITEM], [changed], [ITEM])["aa"].pending


def test_of_two_changes_the_later_one_counts() -> None:
    early, late = (
        replace(ITEM, content=f"I take the {what}.", updated=at) for what, at in (("bus", 20.0), ("ferry", 30.0))
    )
    assert merge([ITEM], [early], [late])["aa"].content == "I take the ferry."


def test_what_one_side_deleted_is_gone_and_what_is_new_stays() -> None:
    new, other = replace(ITEM, id="bb", content="I like tea."), replace(ITEM, id="cc", content="I like salt.")
    assert set(merge([ITEM], [new], [replace(ITEM, pending=True), other])) == {"bb", "cc"}


def test_a_fact_that_both_have_learned_is_one_item() -> None:
    twin = replace(ITEM, id="bb", content="i take the train", created=11.0, tags=("rail",), said=15.0)
    newer = replace(ITEM, id="cc", content="I take the ferry.")
    old = replace(ITEM, id="dd", content="I walk.", superseded_by="bb")
    merged = merge([], [ITEM, newer], [twin, old])
    assert set(merged) == {"aa", "cc", "dd"}
    assert (merged["aa"].tags, merged["aa"].said, merged["aa"].reinforced) == (("travel", "rail"), 15.0, 1)
    assert merged["dd"].superseded_by == "aa"


def test_items_that_are_taken_over_are_written_as_they_were(tmp_path: Path) -> None:
    items, others = (
        Items(load_config({}, workspace=tmp_path, state_dir=tmp_path / name).agent("main")) for name in ("one", "two")
    )
    kept = items.write("I like tea.", tags=["drinks"]).item
    gone = items.write("I like salt.").item
    others.write("I live in Bern.")
    first = show(items.export())
    others.take_over(take_change(show(others.export()), first))
    assert show(others.export()) == first
    others.mark_recalled([kept.id])
    items.forget(ids=[gone.id])
    items.promote([kept.id])
    items.write("I like tea, green.", corrects=True)
    second = show(items.export())
    others.take_over(take_change(first, second))
    assert show(others.export()) == second
    assert "I like tea, green." in [hit.item.content for hit in others.query("tea").hits]
    assert others.query("salt").hits == ()
    for each in (items, others):
        each.close()


NEWER = show([ITEM]).replace('"id"', '"mood": {"of": "user"}, "id"').replace('"by"', '"device": "phone", "by"')
STRANGE = [show([replace(ITEM, id="bb")]).replace('"user"', '"robot"'), '{"id": "cc", "content": 3}\n', "[]\n"]


def test_what_a_newer_version_has_written_stays_in_what_this_one_sends() -> None:
    assert show([ITEM], NEWER) == NEWER == merge_items(NEWER, NEWER, show([ITEM], NEWER))
    changed = show([replace(ITEM, pending=True)], NEWER)
    assert changed == NEWER.replace('"pending": false', '"pending": true')
    assert merge_items(NEWER, NEWER.replace("phone", "watch"), NEWER) == NEWER.replace("phone", "watch")
    twin = replace(ITEM, id="bb", created=11.0)
    assert '"device": "phone"' in merge_items("", NEWER, show([twin]))


def test_what_is_not_wholly_read_is_remembered_until_it_is(tmp_path: Path) -> None:
    taken = Taken(tmp_path / "unread.txt")
    other = show([replace(ITEM, id="dd")])
    taken.remember(other)
    assert not taken.path.exists()
    text = "".join([other, NEWER, *STRANGE])
    taken.remember(text)
    assert taken.pick(text) == write_shared(read_shared(text))
    plain = show([ITEM, *(replace(ITEM, id=name) for name in ("bb", "cc", "dd"))])
    assert taken.pick(plain) == other
    assert merge_items(taken.pick(show([ITEM])), show([replace(ITEM, kind="other")]), show([ITEM])).count("other") == 1
    taken.remember(plain)
    assert taken.pick(plain) == plain


def test_lines_that_cannot_be_read_are_named_and_stay(tmp_path: Path) -> None:
    text = "".join([NEWER, *STRANGE])
    assert set(refuse_lines(text)) == {2, 3, 4}
    held = show([ITEM], text)
    assert sorted(held.splitlines()) == sorted(text.splitlines())
    assert merge_items(text, held, "".join([NEWER, *STRANGE[1:]])) == write_shared(
        read_shared("".join([NEWER, *STRANGE[1:]]))
    )
    items = Items(load_config({}, workspace=tmp_path, state_dir=tmp_path).agent("main"))
    items.take_over(take_change("", show([ITEM, replace(ITEM, id="bb", content="I like tea.")])))
    before = show(items.export())
    items.take_over(take_change(before, write_shared(read_shared(text))))
    assert show(items.export()) == before
    items.close()
