"""Items: written, found again, reinforced, ranked, forgotten; with the static model unless a test says otherwise."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from memory_core.config.agent import AgentConfig
from memory_core.config.fields import Secret
from memory_core.config.settings import ItemSettings, ProviderId, RecallSettings, Remote, SearchSettings
from memory_core.errors import InvalidArgument, MemoryClosed, StoreReadOnly
from memory_core.items.items import Items
from memory_core.items.records import Draft
from memory_core.items.store.matching import measure_salience
from memory_core.records import Origin, Progress
from memory_core.stores.sqlite.connections import open_reader
from tests.waiting import eventually

DAY = 86_400.0


class Clock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = 1_770_000_000.0

    def __call__(self) -> float:
        return self.now


def configure(folder: Path, provider: ProviderId = "static", **items: object) -> AgentConfig:
    settings = replace(ItemSettings(), **items)  # type: ignore[arg-type]
    search = SearchSettings(provider=provider, items=settings)
    return AgentConfig(
        agent="main", workspace=folder, state_dir=folder, store_path=folder / "main.sqlite", search=search
    )


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def items(tmp_path: Path, clock: Clock) -> Iterator[Items]:
    opened = Items(configure(tmp_path), clock=clock)
    yield opened
    opened.close()


def said(session: str) -> Origin:
    return Origin(by="user", session=session)


def test_vowel_signs_belong_to_their_words(items: Items) -> None:
    for fact in ("গ্যারেজের চাবি প্রতিবেশীর কাছে আছে।", "নেটওয়ার্কের পাসওয়ার্ড ড্রয়ারে আছে।", "मेरी बहन को मूंगफली से एलर्जी है।"):
        items.write(fact, origin=said("s1"))
    assert items.query("গ্যারেজের চাবি কোথায়?").hits[0].item.content.startswith("গ্যারেজের")
    for unrelated in ("মঙ্গোলিয়ার রাজধানী কী?", "হকি বিশ্বকাপ কে জিতেছে?"):
        assert not items.query(unrelated).hits


def test_a_fact_is_written_read_listed_and_deleted(items: Items, clock: Clock) -> None:
    written = items.write("  The dentist is\nDr. Okafor. ", tags=["health"], origin=said("s1"))
    assert (written.outcome, written.embedded, written.warning) == ("added", True, None)
    item = items.get(written.item.id)
    assert item == written.item
    assert item is not None
    assert (item.content, item.tags, item.scope) == ("The dentist is Dr. Okafor.", ("health",), "default")
    assert (item.origin.session, item.origin.by, item.agent, item.created, item.said) == (
        "s1",
        "user",
        "main",
        clock.now,
        clock.now,
    )
    assert items.get_many(["no", item.id, item.id]) == [item]
    assert list(items.list(tags=["health"])) == [item]
    assert not items.list(tags=["work"])
    assert items.delete(item.id)
    assert not items.delete(item.id)
    assert items.get(item.id) is None
    assert not items.list()


def test_a_fact_with_two_numbers_swapped_is_another_one_until_it_is_said_to_correct(items: Items) -> None:
    first = items.write("Port 80 forwards to port 8080.")
    second = items.write("Port 8080 forwards to port 80.")
    assert (first.outcome, second.outcome) == ("added", "added")
    items.delete(second.item.id)
    third = items.write("Port 8080 forwards to port 80.", corrects=True)
    assert third.superseded == (first.item.id,)


def test_a_question_in_the_words_of_a_corrected_fact_finds_the_one_that_holds_now(items: Items) -> None:
    items.write("I live in Basel.")
    moved = items.write("I moved to Bern last week.", corrects=True)
    items.write("The oven burns the bread.")
    assert [hit.item.id for hit in items.query("Where do I live?").hits][:1] == [moved.item.id]
    again = items.write("I moved to Husum in May.", corrects=True)
    assert again.superseded == (moved.item.id,)
    assert [hit.item.id for hit in items.query("Where do I live?").hits][:1] == [again.item.id]
    assert items.query("Where do I live?", tags=["home"]).hits == ()


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda items: items.write(None), "content: expected a text, not NoneType"),
        (lambda items: items.write("fine", tags="travel"), "tags: expected a list of texts, not str"),
        (lambda items: items.write("fine", tags=[1]), "tags: expected a list of texts, not one with int"),
        (
            lambda items: items.write("fine", kind="wish"),
            "kind: expected one of fact, preference, decision, correction",
        ),
        (lambda items: items.write("fine", scope=1), "scope: expected a text, not int"),
        (lambda items: items.write_many(["fine"]), "drafts: expected a list of Draft, not one with str"),
        (lambda items: items.query(1), "text: expected a text, not int"),
        (lambda items: items.query("fine", tags="travel"), "tags: expected a list of texts, not str"),
        (lambda items: items.query("fine", scope=1), "scope: expected a text, not int"),
        (lambda items: items.query("fine", limit="6"), "limit: expected 1 to 1000, not '6'"),
        (lambda items: items.list(tags="travel"), "tags: expected a list of texts, not str"),
        (lambda items: items.list(agent=1), "agent: expected a text, not int"),
        (lambda items: items.get_many("abc"), "ids: expected a list of texts, not str"),
        (lambda items: items.forget(ids="abc"), "ids: expected a list of texts, not str"),
        (lambda items: items.forget(query=1), "query: expected a text, not int"),
        (lambda items: items.forget(after="2026"), "after: expected Unix seconds, not str"),
        (lambda items: items.promote("abc"), "ids: expected a list of texts, not str"),
        (lambda items: items.memorize([], 5), "complete: expected a function or None, not int"),
    ],
)
def test_a_wrong_argument_is_named(items: Items, call: Callable[[Any], object], told: str) -> None:
    with pytest.raises(InvalidArgument) as raised:
        call(items)
    assert str(raised.value) == told
    assert items.count() == 0


def test_nothing_is_found_and_no_file_made_before_the_first_write(items: Items) -> None:
    assert items.query("anything").hits == ()
    assert items.get("x") is None
    assert items.count() == 0
    assert not items.forget(ids=["x"]).items
    assert not items.path.exists()


def test_questions_are_answered_in_order_of_similarity(items: Items) -> None:
    for content in (
        "The cat Miso is diabetic.",
        "The launch of the new app is on 14 April.",
        "I prefer the aisle seat on flights.",
    ):
        items.write(content)
    answer = items.query("where do I like to sit on a plane?")
    assert answer.strategy == "embedding"
    assert answer.hits[0].item.content == "I prefer the aisle seat on flights."
    scores = [hit.score for hit in answer.hits]
    assert scores == sorted(scores, reverse=True)


@pytest.mark.parametrize(
    ("facts", "asked", "unrelated"),
    [
        (
            ["Το ποδήλατο είναι στην αυλή.", "Ο φούρνος καίει το ψωμί.", "Η θεία μένει στην Πάτρα."],
            "Πού είναι το ποδήλατο;",
            ["Πόσο ψηλός είναι ο Όλυμπος;", "Πότε κλείνει η τράπεζα;"],
        ),
        (
            ["จักรยานอยู่ในสวน", "เตาอบทำขนมปังไหม้", "ป้าอยู่เชียงราย"],
            "จักรยานอยู่ที่ไหน",
            ["ดวงจันทร์ไกลแค่ไหน", "ใครเขียนนวนิยายเรื่องนี้"],
        ),
        (
            ["Велосипед стоїть у дворі.", "Духовка палить хліб.", "Тітка мешкає в Полтаві."],
            "Де стоїть велосипед?",
            ["Яка відстань до Місяця?", "Хто написав цей роман?"],
        ),
    ],
)
def test_words_decide_where_the_model_spells_letters(
    facts: list[str], asked: str, unrelated: list[str], items: Items
) -> None:
    for fact in facts:
        items.write(fact)
    assert items.query(asked).hits[0].item.content == facts[0]
    assert [hit.item.content for each in unrelated for hit in items.query(each).hits if hit.score > 0.3] == []


def test_scopes_never_meet(items: Items) -> None:
    for scope in ("work", "home"):
        assert items.write("The key is under the mat.", scope=scope).outcome == "added"
    assert [hit.item.scope for hit in items.query("key mat", scope="home").hits] == ["home"]
    assert items.query("key mat").hits == ()
    assert items.count(scope="work") == 1


def test_the_same_fact_is_reinforced_once_for_each_session(items: Items, clock: Clock) -> None:
    first = items.write("Anna leads the design team.", origin=said("s1"))
    clock.now += DAY
    again = items.write("anna leads  the design team", tags=["people"], origin=said("s2"))
    assert (again.outcome, again.item.id, again.item.reinforced, again.item.tags) == (
        "reinforced", first.item.id, 1, ("people",),
    )  # fmt: skip
    assert again.item.said == clock.now
    assert items.write("Anna leads the design team.", origin=said("s2")).item.reinforced == 1
    assert items.write("Anna leads the design team.").item.reinforced == 2
    assert items.count() == 1


@pytest.mark.parametrize(
    "other", ["The cafe\u0301 opens at 8.", "The caf\u00e9 op\u00adens at 8.", "The caf\u00e9 opens at \uff18."]
)
def test_a_fact_that_looks_the_same_is_the_same(other: str, items: Items) -> None:
    first = items.write("The caf\u00e9 opens at 8.", origin=said("s1"))
    assert items.write(other, origin=said("s2")).item.id == first.item.id
    assert [item.id for item in items.forget(query=other).items] == [first.item.id]


def test_another_wording_reinforces_and_another_value_does_not(items: Items) -> None:
    first = items.write("The launch is on 14 April.", origin=said("s1"))
    assert items.write("We launch on April 14.", origin=said("s2")).item.id == first.item.id
    assert items.write("The launch is on 21 April.", origin=said("s3")).outcome == "added"
    assert items.count() == 2


def test_a_correction_supersedes_what_it_corrects(items: Items) -> None:
    old = items.write("My bike is red.").item
    new = items.write("My bike is blue, not red.", corrects=True)
    assert (new.outcome, new.superseded) == ("superseded", (old.id,))
    assert [hit.item.id for hit in items.query("which colour is my bike?").hits] == [new.item.id]
    kept = items.get(old.id)
    assert kept is not None
    assert kept.superseded_by == new.item.id
    back = items.write("My bike is red.", corrects=True)  # said again: it holds again
    assert back.item.superseded_by is None
    assert [hit.item.id for hit in items.query("which colour is my bike?").hits] == [old.id]


def test_forgetting_a_fact_forgets_what_it_has_replaced(items: Items) -> None:
    first = items.write("The gate code word is tulip.").item
    second = items.write("The gate code word is now poppy.", corrects=True)
    third = items.write("The gate code word is now aster.", corrects=True)
    assert (second.superseded, third.superseded) == ((first.id,), (second.item.id,))
    other = items.write("The shed has a window.").item
    planned = items.forget(ids=[third.item.id], dry_run=True)
    gone = items.forget(ids=[third.item.id])
    assert {item.id for item in planned.items} == {item.id for item in gone.items}
    assert {item.id for item in gone.items} == {first.id, second.item.id, third.item.id}
    assert [item.id for item in items.list()] == [other.id]
    folder = items.path.parent
    assert not any(b"tulip" in path.read_bytes() for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize("way", ["promoted", "said again"])
def test_the_first_of_a_chain_takes_the_place_of_the_last(items: Items, clock: Clock, way: str) -> None:
    written = [items.write("The cat is called Miso.").item]
    for text in ("The cat is called Nori.", "The cat is called Udon."):
        clock.now += 1
        written += [each.item for each in items.write_many([Draft(content=text, supersedes=(written[-1].id,))])]
    first, second, third = written
    clock.now += 1
    if way == "promoted":
        assert items.promote([first.id]) == 1
    else:
        assert items.write(first.content).outcome == "reinforced"
    found = {item.id: item.superseded_by for item in items.list()}
    assert found == {first.id: None, second.id: third.id, third.id: first.id}
    assert [hit.item.id for hit in items.query("What is the cat called?").hits] == [first.id]


def test_an_item_that_was_both_a_guess_and_superseded_is_promoted_once(items: Items) -> None:
    guess = items.write("The cat is called Miso.", pending=True).item
    other = items.write_many([Draft(content="The cat is called Nori.", supersedes=(guess.id,))])[0].item
    assert items.promote([guess.id]) == 1
    found = {item.id: (item.pending, item.superseded_by) for item in items.list()}
    assert found == {guess.id: (False, None), other.id: (False, guess.id)}


def test_forgetting_a_session_tells_what_stays_of_another_one(items: Items) -> None:
    old = items.write("The standup is at 9:30.", origin=said("s1")).item
    new = items.write("The standup is now at 10:15.", corrects=True, origin=said("s2"))
    assert new.superseded == (old.id,)
    for dry_run in (True, False):
        done = items.forget(session="s2", dry_run=dry_run)
        assert [item.id for item in done.items] == [new.item.id]
        assert f"the item {old.id}, which one of them replaced, stays: other sessions said it" in done.remains
    assert [item.id for item in items.list()] == [old.id]


def test_a_correction_keeps_the_tags_of_what_it_corrects(items: Items) -> None:
    items.write("My bike is red.", tags=["bike", "things"])
    new = items.write("My bike is blue, not red.", tags=["colour", "bike"], corrects=True).item
    assert new.tags == ("colour", "bike", "things")
    assert [hit.item.id for hit in items.query("bike", tags=["things"]).hits] == [new.id]
    replaced = items.write_many([Draft(content="My bike has been sold.", supersedes=(new.id,))])[0].item
    assert replaced.tags == ("colour", "bike", "things")


def test_recency_and_repetition_decide_among_equals(items: Items, clock: Clock) -> None:
    old = items.write("Tea is at four in the garden room.").item
    clock.now += 300 * DAY
    new = items.write("Tea is at five in the garden room.").item
    assert [hit.item.id for hit in items.query("when is tea?").hits] == [new.id, old.id]
    clock.now -= 300 * DAY
    for number in range(8):
        items.write("Tea is at four in the garden room.", origin=said(f"s{number}"))
    assert [hit.item.id for hit in items.query("when is tea?").hits] == [old.id, new.id]


def test_a_guess_is_listed_and_not_found_until_it_is_promoted_or_said_again(items: Items) -> None:
    guess = items.write("Piotr plays chess on Mondays.", pending=True, origin=said("s1")).item
    assert items.query("chess").hits == ()
    items.write("Piotr plays chess on Mondays.", pending=True, origin=said("s1"))
    assert items.query("chess").hits == ()
    assert not items.write("Piotr plays chess on Mondays.", pending=True, origin=said("s2")).item.pending
    assert [hit.item.id for hit in items.query("chess").hits] == [guess.id]
    other = items.write("Lin has a red kayak.", pending=True).item
    assert items.promote([other.id]) == 1
    assert [hit.item.id for hit in items.query("kayak").hits] == [other.id]


def test_without_a_provider_keywords_answer_as_substrings_would(tmp_path: Path) -> None:
    items = Items(configure(tmp_path, provider="none"))
    items.write("I am allergic to peanuts.")
    items.write("会議は水曜日です。")
    items.write("The Wi-Fi box is in the hall.")
    for question, expected in (
        ("nut", "peanuts"),
        ("peanut", "peanuts"),
        ("水曜", "水曜日"),
        ("曜", "水曜日"),
        ("wi-fi", "Wi-Fi"),
    ):
        answer = items.query(question)
        assert answer.strategy == "keyword"
        assert answer.warning is None
        assert expected in answer.hits[0].item.content, question
    assert items.query("submarine").hits == ()
    items.close()


def test_a_word_is_found_in_every_item_that_holds_it_also_within_words(tmp_path: Path) -> None:
    items = Items(configure(tmp_path, provider="none"))
    texts = [f"Gardener {number} waters the roses." for number in range(6)] + ["The Garden gate is green.", "It rains."]
    for text in texts:
        items.write(text)
    for question in ("garden", "ARDEN", "ardener"):
        found = {hit.item.content for hit in items.query(question, limit=20).hits}
        assert found == set(texts[:6] if question == "ardener" else texts[:7])
    items.close()


def test_an_exact_identifier_is_found_though_it_means_nothing(items: Items) -> None:
    for number in range(30):
        items.write(f"Ticket number {number} is about the garden fence and its paint.")
    wanted = items.write("EMB-2107 waits for the vendor.").item
    assert items.query("EMB-2107").hits[0].item.id == wanted.id


def test_embeddings_may_be_given(items: Items, tmp_path: Path) -> None:
    vector = np.eye(256, dtype=np.float32)[3]
    given = items.write("A fact with a vector of its own.", embedding=(5 * vector).tolist()).item
    items.write("Something else entirely, far away.")
    assert items.query(embedding=vector).hits[0].item.id == given.id
    with pytest.raises(InvalidArgument, match="embedding: has 3 dimensions, and those of static"):
        items.query(embedding=[1, 2, 3])
    with pytest.raises(InvalidArgument, match="finite"):
        items.write("Infinite.", embedding=[float("nan")] * 256)
    plain = Items(configure(tmp_path / "none", provider="none"))
    plain.write("One.", embedding=[1, 0])
    assert plain.query(embedding=[1, 0]).strategy == "embedding"
    with pytest.raises(InvalidArgument, match="dimensions"):
        plain.query(embedding=[1, 0, 0])
    plain.close()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (" \n", "is empty"),
        (" \u200b\u00ad ", "is empty"),
        ("x" * 2001, "2,001 characters"),
        ("my key is sk-abcdefghijklmnop1234567890abcd", "secret"),
    ],
)
def test_what_is_no_fact_is_refused(items: Items, content: str, message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        items.write(content)
    with pytest.raises(InvalidArgument, match=message):
        items.write_many([Draft(content="A fact."), Draft(content=content)])
    assert items.count() == 0


def test_a_session_that_may_only_read_does_not_write(items: Items, tmp_path: Path, clock: Clock) -> None:
    item = items.write("The gate opens at six.").item
    reader = Items(configure(tmp_path), access="ro", clock=clock)
    assert [hit.item.id for hit in reader.query("when does the gate open?").hits] == [item.id]
    with pytest.raises(StoreReadOnly):
        reader.write("No.")
    with pytest.raises(StoreReadOnly):
        reader.forget(ids=[item.id])
    assert reader.forget(ids=[item.id], dry_run=True).items == (item,)
    reader.close()


def test_the_backfill_embeds_what_a_model_change_left_without(tmp_path: Path) -> None:
    before = Items(configure(tmp_path, provider="none"))
    contents = [f"Room {number} has {number} windows and a view of street {number}." for number in range(120)]
    before.write_many([Draft(content=content) for content in contents])
    assert before.count() == 120
    before.close()
    after = Items(configure(tmp_path))
    seen: list[int] = []
    assert after.backfill(lambda progress: seen.append(progress.done)) == 0
    assert seen == [50, 100, 120]
    assert after.backfill(lambda progress: seen.append(progress.done)) == 0  # twice is harmless
    assert seen == [50, 100, 120]
    assert after.query("what does room 77 look out on?").strategy == "embedding"
    after.close()


def is_embedded(folder: Path) -> bool:
    with contextlib.closing(open_reader(configure(folder).items_path)) as connection:
        return bool(connection.execute("SELECT count(*) FROM embeddings").get)


def test_the_backfill_goes_on_after_a_release(tmp_path: Path) -> None:
    plain = Items(configure(tmp_path, "none"))
    plain.write("The dentist is Dr. Okafor.")
    plain.close()
    opened = Items(configure(tmp_path))
    assert opened.release()
    opened.start()
    seen: list[Progress] = []
    assert eventually(lambda: is_embedded(tmp_path))
    opened.backfill(seen.append)
    assert not seen  # nothing was left to it
    opened.close()
    opened.start()
    assert "memory-core-items-backfill" not in [thread.name for thread in threading.enumerate()]


def test_an_outage_is_remembered_also_after_a_release(tmp_path: Path) -> None:
    plain = Items(configure(tmp_path, "none"))
    plain.write("The dentist is Dr. Okafor.")
    plain.close()
    remote = Remote(base_url="http://127.0.0.1:9/v1", api_key=Secret("sk-loopback"))
    search = SearchSettings(provider="openai-compatible", model="any", remote=remote)
    opened = Items(replace(configure(tmp_path), search=search))
    opened.release()
    opened.query("the dentist")
    assert "it is tried again in" in str(opened.query("the dentist").warning)
    opened.close()


@pytest.mark.skipif(sys.platform != "linux", reason="counts in /proc")
def test_a_released_file_is_closed_and_then_kept_open_again(tmp_path: Path) -> None:
    def count_open() -> int:
        found = 0
        for fd in Path("/proc/self/fd").iterdir():
            with contextlib.suppress(FileNotFoundError):  # the one that lists them
                found += fd.readlink() == opened.path
        return found

    plain = Items(configure(tmp_path, "none"))
    plain.write("The dentist is Dr. Okafor.")
    plain.close()
    opened = Items(configure(tmp_path, "none"))
    for _ in range(2):
        assert opened.count() == 1
        assert count_open() > 0
        opened.release()
        assert count_open() == 0
    opened.close()


def test_items_leave_and_return_as_they_were(items: Items, tmp_path: Path, clock: Clock) -> None:
    items.write("Old fact.", tags=["a"], origin=said("s1"))
    items.write("Old fact.", origin=said("s2"))
    items.write("A guess about Rome in May.", pending=True)
    exported = list(items.export())
    other = Items(configure(tmp_path / "other"), clock=clock)
    assert other.restore(exported) == 2
    assert other.restore(exported) == 0
    assert list(other.export()) == exported
    other.close()


def test_salience_rises_with_repetition_and_falls_with_age_within_bounds() -> None:
    assert measure_salience(0, 0) == 1
    assert measure_salience(3, 0) == pytest.approx(1.2)
    assert measure_salience(1000, 0) == pytest.approx(1.3)
    assert measure_salience(0, 90) == pytest.approx(0.9)
    assert measure_salience(0, 100_000) == pytest.approx(0.8)


def test_the_scope_that_is_configured_is_the_default_one(tmp_path: Path) -> None:
    items = Items(configure(tmp_path, scope="work"))
    assert items.write("The tent is in the attic.").item.scope == "work"
    assert [hit.item.scope for hit in items.query("Where is the tent?").hits] == ["work"]
    assert items.query("Where is the tent?", scope="default").hits == ()
    items.close()


def test_the_formula_of_similarity_is_configurable(tmp_path: Path) -> None:
    items = Items(configure(tmp_path, similarity="inverseDistance"))
    items.write("The tent is in the attic.")
    assert items.query("The tent is in the attic.").hits[0].similarity == pytest.approx(1, abs=0.01)
    items.close()


def test_a_closed_store_of_items_refuses_every_call(items: Items) -> None:
    kept = items.write("The dentist is Dr. Okafor.").item
    items.close()
    for call in (
        lambda: items.write("It opens nothing."), lambda: items.query("dentist"), lambda: items.get(kept.id),
        items.list, items.count, lambda: items.promote([kept.id]), lambda: items.forget(ids=[kept.id]),
        lambda: items.memorize([{"role": "user", "content": "Remember that the gate opens at 7."}]), lambda: list(items.export()),
    ):  # fmt: skip
        with pytest.raises(MemoryClosed, match="was closed"):
            call()
    assert items.close()


def test_a_question_embeds_nothing_in_the_background_where_items_are_off(tmp_path: Path) -> None:
    opened = Items(configure(tmp_path, "none"))
    opened.write("The dentist is Dr. Okafor.")
    opened.close()
    later = Items(configure(tmp_path))
    assert later.query("dentist").hits
    later.close()  # waits for what runs
    seen: list[int] = []
    reader = Items(configure(tmp_path))
    assert reader.backfill(lambda progress: seen.append(progress.done)) == 0
    assert seen == [1]
    reader.close()


def test_meaning_finds_the_same_with_sqlite_vec_and_without(tmp_path: Path, clock: Clock) -> None:
    config, found = configure(tmp_path), []
    for enabled in (True, False):
        vector = replace(config.search.store.vector, enabled=enabled)
        search = replace(config.search, store=replace(config.search.store, vector=vector))
        opened = Items(replace(config, search=search), clock=clock)
        for fact in ("The red canoe is mine.", "Our rowing boat leaks.", "The dentist is in Harbour Street."):
            opened.write(fact)
        hits = opened.query("Is there water in the rowboat?").hits
        assert hits[0].item.content == "Our rowing boat leaks."
        found.append([(hit.item.id, round(hit.similarity, 3)) for hit in hits])
        opened.close()
    assert found[0] == found[1]


def test_without_a_key_facts_are_kept_and_keywords_answer_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    opened = Items(configure(tmp_path, "openai"))
    kept = opened.write("The dentist is Dr. Okafor.")
    assert (kept.outcome, kept.embedded) == ("added", False)
    answer = opened.query("Who is the dentist?")
    assert (answer.strategy, [hit.item.id for hit in answer.hits]) == ("keyword", [kept.item.id])
    for warning in (kept.warning, answer.warning):
        assert warning is not None
        assert "key" in warning
    opened.close()
    later = Items(configure(tmp_path))
    assert later.backfill() == 0
    assert later.query("Who looks after my teeth?").strategy == "embedding"
    later.close()


def test_the_backfill_goes_on_where_it_was_stopped_in_batches_of_fifty(tmp_path: Path) -> None:
    plain = Items(configure(tmp_path, "none"))
    plain.write_many([Draft(content=f"Fact {number} is about cat {number}.") for number in range(120)])
    plain.close()
    seen: list[int] = []

    def stop_after_the_first(progress: Progress) -> None:
        seen.append(progress.done)
        if len(seen) == 1:
            raise KeyboardInterrupt

    stopped = Items(configure(tmp_path))
    with pytest.raises(KeyboardInterrupt):
        stopped.backfill(stop_after_the_first)
    stopped.close()
    again = Items(configure(tmp_path))
    assert again.backfill(stop_after_the_first) == 0
    assert seen == [50, 50, 70]
    again.close()


def test_items_are_listed_with_the_one_said_last_first(items: Items, clock: Clock) -> None:
    for day, text in enumerate(["Lin has a red kayak.", "Piotr plays chess.", "The gate opens at 7."]):
        clock.now += DAY * day
        items.write(text, origin=said("s1"))
    assert [item.content[:4] for item in items.list()] == ["The ", "Piot", "Lin "]
    clock.now += DAY
    items.write("Lin has a red kayak.", origin=said("s2"))
    assert [item.content[:4] for item in items.list(limit=2)] == ["Lin ", "The "]
    assert [item.content[:4] for item in items.list(limit=1, offset=2)] == ["Piot"]


def test_items_recall_and_capture_are_off_by_default_and_their_numbers_documented() -> None:
    items, recall = ItemSettings(), RecallSettings()
    assert (items.enabled, items.scope, items.similarity, items.capture.enabled) == (False, "default", "cosine", False)
    assert (recall.enabled, recall.timeout_ms) == (False, 300)
