"""The keyword side: its counts, the chunks that it looks at, and the pieces of its index."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import apsw
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memory_core.config.settings import Hybrid, SearchSettings
from memory_core.records import Hit, Query
from memory_core.search import question as questions
from memory_core.search.candidates import _BREAK as BREAK
from memory_core.search.candidates import TermCounts, find_candidates
from memory_core.search.pipeline import search
from memory_core.search.question import analyse
from memory_core.search.scores import Weights
from memory_core.stores.sqlite import reader, upkeep
from tests.index import Index
from tests.integration.test_sync import prose

TODAY = date(2026, 5, 2)


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    made = Index(tmp_path / "notes", tmp_path / "state")
    yield made
    made.close()


def found(
    index: Index, text: str, *, after: date | None = None, max_snippet_chars: int = 700, count: int = 6
) -> list[Hit]:
    """The hits by keyword alone, whatever their score."""
    query = Query(text=text, min_score=0.0, after=after, max_snippet_chars=max_snippet_chars, max_results=count)
    with index.store.read() as reader:
        return [*search(reader, replace(query, today=TODAY), Hybrid(), vectors=None).hits]


def passing(index: Index, text: str) -> list[Hit]:
    """The hits by keyword alone that the default minScore lets pass."""
    with index.store.read() as reader:
        return [*search(reader, Query(text=text, today=TODAY), Hybrid(), vectors=None).hits]


# What is counted.

_WORDS = st.sampled_from(["kettle", "kettles", "violin", "Harbour", "猫が好き", "東京", "café", "E11000", BREAK, "the"])
_LINES = st.lists(_WORDS, min_size=1, max_size=6).map(" ".join)
_NOTES = st.lists(st.tuples(st.sampled_from(["- ", "", "## "]), _LINES).map("".join), min_size=1, max_size=40)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(_NOTES, min_size=1, max_size=3))
def test_counts_are_those_of_the_keyword_index(
    tmp_path_factory: pytest.TempPathFactory, notes: list[list[str]]
) -> None:
    root = tmp_path_factory.mktemp("counts")
    with closing(Index(root / "notes", root / "state")) as index:
        for number, lines in enumerate(notes):
            index.note(f"memory/{number}.md", "\n".join(lines))
        index.sync()
        with index.store.read() as reader:
            question = analyse(reader, "kettle violin harbour 東京 café E11000", TODAY)
            query = Query(text="", max_results=100)
            offered, _, _ = find_candidates(
                reader, question, query, Weights(0.0, 1.0), multiplier=4, find_near=lambda _: {}
            )
            matches = TermCounts(question, offered, reader.stem)
        with closing(apsw.Connection(str(index.config.store_path))) as db:
            db.execute("CREATE VIRTUAL TABLE temp.postings USING fts5vocab (main, chunks_fts, instance)")
            held: dict[int, Counter[str]] = {candidate.chunk.id: Counter() for candidate in offered}
            for chunk_id, stem in db.execute("SELECT doc, term FROM postings"):
                if chunk_id in held:
                    held[chunk_id][stem] += 1
    for candidate, counts, length in zip(offered, matches.chunk_counts, matches.chunk_lengths, strict=True):
        stems = held[candidate.chunk.id]
        assert counts == {n: stems[term.stems[0]] for n, term in enumerate(question.terms) if stems[term.stems[0]]}
        assert length == stems.total()
    for (number, _), counts in zip(matches.units, matches.counts, strict=True):
        assert all(count <= matches.chunk_counts[number][term] for term, count in counts.items())


def test_one_cjk_character_is_looked_for_as_the_beginning_of_pairs(index: Index) -> None:
    index.note("memory/a.md", "- 昨日は雨だった\n- 姉の猫が庭で寝ている\n- 電車が遅れた\n")
    index.note("memory/b.md", "- 会議は三時から\n- 報告書を出した\n")
    index.sync()
    first, *others = found(index, "猫", max_snippet_chars=12)
    assert (first.path, first.start_line, first.end_line, first.score) == ("memory/a.md", 2, 2, 1.0)
    assert all("猫" not in hit.snippet for hit in others)


def test_a_cjk_statement_calls_to_mind_what_shares_single_characters_with_it(index: Index) -> None:
    index.note("memory/a.md", "- 小时候最怕打雷的夜晚\n")
    index.note("memory/b.md", "- 周末去超市买了牛奶\n")
    index.note("memory/c.md", "- 新的键盘很安静\n")
    index.sync()
    assert [hit.path for hit in passing(index, "他真的怕黑。")] == ["memory/a.md"]
    assert passing(index, "他真的怕黑吗") == []  # a question is meant literally
    with index.store.read() as reader:
        assert [term.text for term in analyse(reader, "他真的怕黑，也怕雷。", TODAY).characters] == ["怕", "雷"]
        assert analyse(reader, "Thunder scares him, as 怕 says it.", TODAY).characters == ()


def test_single_characters_are_not_asked_for_among_many_chunks(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    index.note("memory/a.md", "- 小时候最怕打雷的夜晚\n")
    index.note("memory/b.md", "- 周末去超市买了牛奶\n")
    index.sync()
    monkeypatch.setattr(questions, "CHARACTERS_AMONG", 1)
    assert passing(index, "他真的怕黑。") == []


def test_a_heading_amid_a_chunk_is_found_and_stands_above_its_text(index: Index) -> None:
    index.note(
        "memory/2026-05-04.md",
        "# Monday\n\n## Greenhouse\n\n- Watering at six\n\n## Billing\n\n- The deadline is Friday\n",
    )
    index.sync()
    hit, *_ = found(index, "billing", max_snippet_chars=40)
    assert (hit.snippet, hit.start_line, hit.evidence) == ("## Billing\n\n- The deadline is Friday", 7, 1.0)


def test_the_rest_of_a_chunk_is_no_hit_of_its_own(tmp_path: Path) -> None:
    with closing(Index(tmp_path / "notes", tmp_path / "state", SearchSettings())) as index:
        others = [f"- Note {n} about the garden, the fence and the shed behind the house" for n in range(60)]
        index.note("memory/2026-05-04.md", "\n".join([*others, "- The lantern is in the attic", "## Kitchen", *others]))
        index.note("MEMORY.md", "A kettle for the attic.\n")
        index.sync()
        (lantern,) = found(index, "lantern")
        assert "- The lantern is in the attic" in lantern.snippet
        assert {hit.path for hit in found(index, "attic kettle", count=2)} == {"MEMORY.md", "memory/2026-05-04.md"}


# Which chunks are looked at.


@pytest.fixture
def many(index: Index) -> Index:
    """One chunk a note: all 150 speak of the harbour, every third of the violin, every tenth of the lantern."""
    for number in range(150):
        words = ["harbour", *["violin"] * (number % 3 == 0), *["lantern"] * (number % 10 == 0)]
        filler = " ".join(f"word{number}x{n}" for n in range(number % 7))
        index.note(f"memory/2026-{1 + number // 28:02d}-{1 + number % 28:02d}.md", f"{' '.join(words)} {filler}\n")
    index.sync()
    return index


@pytest.mark.parametrize("text", ["harbour", "violin harbour", "lantern violin harbour", "lantern harbour unheard"])
def test_common_words_that_are_not_looked_for_alone_change_nothing(
    text: str, many: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memory_core.stores.values.MAX_HITS", 10**6)
    all_looked_at = found(many, text)
    monkeypatch.setattr("memory_core.stores.values.MAX_HITS", 20)
    few_looked_at = found(many, text)
    assert [(hit.path, hit.score) for hit in few_looked_at] == [(hit.path, hit.score) for hit in all_looked_at]
    assert len(few_looked_at) == 6


@pytest.mark.parametrize("text", ["violin harbour", "violin lantern harbour", "lantern harbour", "harbour"])
def test_words_that_half_of_the_chunks_hold_change_nothing_where_others_find_enough(
    text: str, many: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert [hit.path for hit in found(many, text)]
    matched: list[str] = []
    match_rarest = reader._match_rarest

    def match(*given: Any) -> str:
        matched.append(match_rarest(*given))
        return matched[-1]

    monkeypatch.setattr(reader, "_match_rarest", match)
    without = [(hit.path, hit.score) for hit in found(many, text)]
    assert ("harbour" in matched[0]) == ("violin" not in text)  # 50 of the 150 chunks, more than are looked at
    monkeypatch.setattr(reader, "_leave_out_weightless", lambda terms, *_: terms)
    assert [(hit.path, hit.score) for hit in found(many, text)] == without
    assert "harbour" in matched[1]


def test_a_common_word_finds_the_notes_of_a_period_where_no_rare_one_stands(
    many: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memory_core.stores.values.MAX_HITS", 20)
    index = many
    index.note("memory/2026-07-01.md", "harbour\n")
    index.sync()
    (hit,) = found(index, "violin harbour", after=date(2026, 7, 1))
    assert hit.path == "memory/2026-07-01.md"


# How the index of words lies on disk.


def pieces(index: Index) -> int:
    with closing(apsw.Connection(str(index.config.store_path))) as db:
        return int(db.execute("SELECT count(DISTINCT segid) FROM chunks_fts_idx").get)


def test_a_large_sync_leaves_the_keyword_index_in_one_piece_and_small_ones_in_few(index: Index) -> None:
    for number in range(40):
        index.note(f"memory/{number}.md", prose(3, start=number * 3))
    index.sync()
    assert pieces(index) == 1
    most = 0
    for number in range(30):  # by itself, FTS5 would let sixteen pieces wait
        index.note("memory/1.md", prose(3, start=500 + number))
        index.sync()
        most = max(most, pieces(index))
    assert most <= 8
    index.sync(force=True)
    assert pieces(index) == 1


def test_a_small_sync_does_not_wait_until_all_of_a_large_keyword_index_is_merged(index: Index) -> None:
    for number in range(40):
        words = [f"{number}w{word}" for word in range(2500)]
        index.note(f"memory/{number}.md", "\n".join(" ".join(words[at : at + 10]) for at in range(0, 2500, 10)))
    index.sync()
    assert pieces(index) == 1
    with closing(apsw.Connection(str(index.config.store_path))) as db:
        assert int(db.execute("SELECT count(*) FROM chunks_fts_data").get) > 2 * upkeep.SMALL_MERGE_PAGES
    index.note("memory/1.md", prose(3, start=500))
    index.sync()
    assert pieces(index) == 2


def test_front_matter_dates_and_names_a_note_and_leaves_others_alone(tmp_path: Path) -> None:
    index = Index(tmp_path / "workspace", tmp_path / "state")
    filler = "\n\n".join(f"Paragraph {number} of the plan for the pond and its fish." for number in range(60))
    index.note(
        "memory/pond.md",
        f"---\ncreated: 2025-07-14\naliases: [Koi project]\ntags: [waterworks]\n---\n\n# Pond\n\n{filler}\n",
    )
    index.note("memory/other.md", "# Other\n\nThe shed has a new roof.\n")
    index.sync()
    with index.store.database.read() as connection:
        rows = connection.execute(
            "SELECT f.path, f.date, c.context FROM chunks c JOIN files f ON f.id = c.file_id ORDER BY c.start_line"
        ).fetchall()
    pond = [(day, context) for path, day, context in rows if path == "memory/pond.md"]
    assert len(pond) > 2
    assert all(day == "2025-07-14" and "Koi project, waterworks" in str(context) for day, context in pond)
    assert [row[1:] for row in rows if row[0] == "memory/other.md"] == [(None, "Other")]
    with index.store.read() as reader:
        for text, after, before, paths in (
            ("fish pond plan", None, date(2025, 7, 14), {"memory/pond.md"}),
            ("fish pond plan", date(2025, 7, 15), None, set()),
            ("koi waterworks", None, None, {"memory/pond.md"}),
        ):
            query = Query(text=text, after=after, before=before, min_score=0)
            hits = search(reader, query, index.search.query.hybrid, vectors=None).hits
            assert {hit.path for hit in hits} == paths


def test_any_form_of_an_irregular_verb_finds_any_other(index: Index) -> None:
    index.note("memory/en.md", "We bought the barge in spring.\n")
    index.note("memory/both.md", "She buys what he bought of the harbour.\n")
    index.note("memory/de.md", "Wir sind mit der Fähre nach Föhr gefahren, und es war nicht kalt.\n")
    index.note("memory/fr.md", "Nous avons vu le renard dans la cour.\n")
    index.note("memory/other.md", "".join(f"- Lantern {number}\n" for number in range(400)))
    index.sync()
    assert found(index, "When did we buy the barge?")[0].path == "memory/en.md"
    assert "memory/de.md" in {hit.path for hit in found(index, "Wann fuhr er mit der Fähre?")}
    assert "memory/fr.md" in {hit.path for hit in found(index, "Qui est-ce que nous allons voir dans la cour ?")}
    assert "memory/en.md" in {hit.path for hit in found(index, "barge buying")}
    with index.store.read() as reader:
        (word,) = [term for term in analyse(reader, "What did she buy?", TODAY).words if term.text == "buy"]
    assert {form.word for form in word.forms} == {"bought"}  # the keyword index knows that "buys" is "buy"


def test_other_forms_of_a_common_english_verb_are_not_looked_for(index: Index) -> None:
    for number in range(80):
        index.note(f"memory/{number}.md", f"We {'eat' if number < 3 else 'made'} soup number {number}.\n")
    index.note("memory/eaten.md", "All of the soup was eaten.\n")
    index.sync()
    with index.store.read() as reader:
        common, rare = (analyse(reader, text, TODAY).words[0] for text in ("What did we eat?", "What was eaten?"))
    assert common.text == "eat"
    assert common.forms == ()
    assert rare.forms[0].word == "eat"
