"""The items file under attack: many writers, kills, damage, and a search of its bytes for what was forgotten."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from memory_core.config.agent import AgentConfig
from memory_core.config.settings import QuerySettings, SearchSettings
from memory_core.errors import StoreCorrupt
from memory_core.items.items import Items
from memory_core.items.records import Draft
from memory_core.items.store.file import ITEMS, MIGRATIONS, ItemsFile
from memory_core.records import Origin
from memory_core.stores.sqlite.connections import PAGE_SIZE
from memory_core.stores.sqlite.database import Database
from tests.command import REPOSITORY
from tests.servers.openai import OpenAIServer

WRITER = """
import sys
from pathlib import Path
from tests.integration.test_items_file import open_items
items, who = open_items(Path(sys.argv[1])), sys.argv[2]
print("ready", flush=True)
for number in range(int(sys.argv[3])):
    items.write(f"Worker {who} painted door {number} of hall {who}{number}.")
    items.write(f"Everybody saw comet {number} over tower {number}.")
    mine = items.write(f"Forget lantern {who}{number} at once.")
    items.forget(ids=[mine.item.id])
    items.query("which door was painted?")
    print(number, flush=True)
items.close()
"""


def configure(folder: Path, provider: str = "none") -> AgentConfig:
    query = QuerySettings(embed_timeout_ms=60_000)  # what is waited for depends on the machine
    search = SearchSettings(provider=provider, query=query)  # type: ignore[arg-type]
    return AgentConfig(
        agent="main", workspace=folder, state_dir=folder, store_path=folder / "main.sqlite", search=search
    )


def open_items(folder: Path, provider: str = "none") -> Items:
    return Items(configure(folder, provider))


def start_writer(folder: Path, who: str, rounds: int) -> subprocess.Popen[str]:
    environ = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, str(folder), who, str(rounds)], stdout=subprocess.PIPE, text=True, env=environ
    )


def contents(items: Items) -> list[str]:
    return sorted(item.content for item in items.export())


def holds(folder: Path, words: list[str]) -> list[str]:
    """The words that some file of a folder holds; without their first letters, since FTS5 leaves out what words share."""
    data = b"".join(path.read_bytes().lower() for path in folder.rglob("*") if path.is_file())
    return [word for word in words if word[3:].lower().encode() in data]


def test_processes_lose_nothing_double_nothing_and_bring_nothing_back(tmp_path: Path) -> None:
    rounds, workers = 6, "abcd"
    running = [start_writer(tmp_path, who, rounds) for who in workers]
    for process in running:
        assert process.wait(timeout=200) == 0
        assert process.stdout is not None
        process.stdout.close()
    items = open_items(tmp_path)
    expected = [
        f"Worker {who} painted door {number} of hall {who}{number}." for who in workers for number in range(rounds)
    ]
    expected += [f"Everybody saw comet {number} over tower {number}." for number in range(rounds)]
    assert contents(items) == sorted(expected)
    comets = [item for item in items.export() if "comet" in item.content]
    assert [item.reinforced for item in comets] == [len(workers) - 1] * rounds
    items.close()


def test_a_killed_writer_loses_nothing_that_it_has_reported(tmp_path: Path) -> None:
    items = open_items(tmp_path)
    for round_ in range(3):
        process = start_writer(tmp_path, f"k{round_}", 1000)
        assert process.stdout is not None
        for _ in range(3):
            last = process.stdout.readline()
        process.send_signal(signal.SIGKILL)
        process.wait(timeout=60)
        process.stdout.close()
        done = int(last) + 1
        found = contents(items)
        mine = [text for text in found if text.startswith(f"Worker k{round_} ")]
        assert len(mine) >= done
        assert not [
            text
            for text in found
            if text.startswith("Forget") and int(text.split("lantern k")[1][1:].split()[0]) < done
        ]
    items.write("Afterwards all is well.")
    items.close()


def test_what_is_forgotten_stands_in_no_file_of_ours(tmp_path: Path) -> None:
    items = open_items(tmp_path, "static")
    words = ["xylographer", "quetzalcoatl", "bumblebeetle"]
    items.write_many(
        [Draft(content=f"Fact number {number} about the weather in month {number}.") for number in range(60)]
    )
    wanted = items.write(f"The {words[0]} met {words[1]} at the {words[2]}.", origin=Origin(by="import", session="s1"))
    items.write(
        f"The {words[0]} met {words[1]} at the {words[2]}.", origin=Origin(by="import", session="s2"), tags=[words[0]]
    )
    assert items.query(words[1]).hits
    assert holds(tmp_path, words) == words
    shown = items.forget(query=f"{words[0]} {words[2]}", dry_run=True)
    assert [item.id for item in shown.items] == [wanted.item.id]
    assert holds(tmp_path, words) == words
    forgotten = items.forget(ids=[wanted.item.id])
    assert forgotten.remains == (
        "the host's own log holds what was said, until you delete that, too: the one of session s1",
    )
    assert holds(tmp_path, words) == []
    assert items.count() == 60
    assert items.query("weather in month 7").hits
    items.close()


def test_rows_that_sqlite_has_moved_leave_no_copy_behind(tmp_path: Path) -> None:
    dice, letters = random.Random(3), "bcdfghjklmnprstvwxz"
    items, gone = open_items(tmp_path), list[str]()
    kept: dict[str, str] = {}
    for number in range(1200):  # among fewer, no page is filled and emptied often enough
        if not kept or dice.random() < 0.57:
            word = "".join(dice.choices(letters, k=12))
            draft = Draft(
                content=f"Locker {dice.randrange(10**9)} belongs to {word}.",
                origin=Origin(by="import", session=f"s{number % 8}"),
            )
            change = items._file.put(draft, agent="main", vector=None, words=None, corrects=False, cued=False)
            kept[word] = change.item.id
        else:
            word = dice.choice(list(kept))
            gone.append(word)
            items._file.delete([kept.pop(word)])
    word, last = kept.popitem()
    assert len(items.forget(ids=[last]).items) == 1
    assert holds(tmp_path, [word, *gone]) == []
    items.close()


def test_a_reader_delays_the_wipe_until_the_next_writer(tmp_path: Path) -> None:
    items, word = open_items(tmp_path), "xylographer"
    gone = items.write(f"The {word} is away.").item
    reader = open_items(tmp_path)
    with reader._file.read() as connection:  # another process in the midst of a long read
        assert connection.execute("SELECT count(*) FROM items").get == 1
        remains = items.forget(ids=[gone.id]).remains
        assert any("another program reads the items file" in sentence for sentence in remains)
        assert holds(tmp_path, [word]) == [word]
    reader.close()
    items.close()
    with open_items(tmp_path)._file.write():
        pass
    assert holds(tmp_path, [word]) == []


def test_one_session_is_forgotten_and_what_others_said_stays(tmp_path: Path) -> None:
    items = open_items(tmp_path)
    for session, text in (("s1", "Only one said it."), ("s1", "Both said it."), ("s2", "Both said it.")):
        items.write(text, origin=Origin(by="import", session=session))
    assert [item.content for item in items.forget(session="s1").items] == ["Only one said it."]
    both = next(iter(items.list()))
    assert (both.content, both.origin.session, both.reinforced) == ("Both said it.", None, 0)
    items.close()


@pytest.mark.parametrize("place", [0, 3, -1])
def test_a_damaged_file_is_set_aside_and_what_can_be_read_is_saved(tmp_path: Path, place: int) -> None:
    items = open_items(tmp_path)
    items.write_many([Draft(content=f"Fact {number}: " + f"word{number} " * 120) for number in range(200)])
    items.close()
    data = bytearray(items.path.read_bytes())
    pages = len(data) // 8192
    at = (place % pages) * 8192
    data[at : at + 8192] = os.urandom(8192)
    items.path.write_bytes(data)
    again = open_items(tmp_path)
    written = again.write("The first fact after the damage.")
    assert written.outcome == "added"
    assert again.warning is not None
    assert "was damaged" in again.warning
    (aside,) = [
        path for path in tmp_path.iterdir() if ".damaged-" in path.name and not path.name.endswith(("-wal", "-shm"))
    ]
    assert aside.name in again.warning
    saved = again.count() - 1
    assert saved >= 150
    assert again.query("Fact 177").hits
    again.close()


def fill_and_copy(folder: Path) -> tuple[Path, bytes, dict[str, int]]:
    """An items file of 120 facts, its bytes, and the numbers of its tables' root pages."""
    items = open_items(folder)
    for number in range(120):
        content = f"Depot {number}: " + f"w{number * 7919} " * (5 if number % 4 else 200)
        draft = Draft(content=content, tags=("depot",), origin=Origin(by="import", session=f"s{number % 8}"))
        items._file.put(draft, agent="main", vector=None, words=None, corrects=False, cued=False)
    items.close()
    with closing(sqlite3.connect(items.path)) as connection:
        roots = dict(connection.execute("SELECT name, rootpage FROM sqlite_schema WHERE rootpage"))
    return items.path, items.path.read_bytes(), roots


def count_saved(path: Path) -> int:
    """The items that the second command on a damaged file finds, which can also be written and asked."""
    for _ in range(2):
        items = open_items(path.parent)
        try:
            found = list(items.export())
        except StoreCorrupt:
            found = []
        items.close()
    items = open_items(path.parent)
    items.write("The first fact after the damage.")
    assert items.query("first fact damage").hits
    items.close()
    return len(found)


def test_one_bad_byte_costs_no_item(tmp_path: Path) -> None:
    path, good, roots = fill_and_copy(tmp_path)
    text = good.index(b"Depot 77: ")
    tags = good.index(b'["depot"]')
    root = (roots["sayings"] - 1) * PAGE_SIZE
    for places in ([text], [tags], [text, root]):
        data = bytearray(good)
        for at in places:
            data[at] = 0xFF if data[at] != ord("[") else ord("Z")
        path.write_bytes(data)
        assert ItemsFile(path, writable=False).list_problems()[-1].level == "fail"
        assert count_saved(path) == 120
        (*_, told) = ItemsFile(path, writable=False).list_problems()
        assert (told.level, ".damaged-" in told.message) == ("warn", True)


def test_overwritten_pages_cost_only_what_stood_on_them(tmp_path: Path) -> None:
    path, good, roots = fill_and_copy(tmp_path)
    dice, size = random.Random(7), PAGE_SIZE
    for table in ("items", "items_fts_data", "sayings", "meta"):  # the tree of items has its facts on other pages
        data = bytearray(good)
        data[(roots[table] - 1) * size : roots[table] * size] = dice.randbytes(size)
        path.write_bytes(data)
        assert count_saved(path) == 120
    lost = bytearray(good)
    for at in dice.sample(range(0, len(good), size), 6):  # a disk loses 4,096 bytes at once
        lost[at : at + 4096] = dice.randbytes(4096)
    path.write_bytes(lost)
    whole = sum(good.count(b"Depot %d: " % number) == lost.count(b"Depot %d: " % number) for number in range(120))
    assert count_saved(path) >= whole > 60


def test_a_record_whose_header_claims_to_be_endless_costs_no_other(tmp_path: Path) -> None:
    path, good, roots = fill_and_copy(tmp_path)
    page = bytearray(PAGE_SIZE)
    page[0], page[4], page[9] = 13, 1, 100  # a leaf of a table with one record
    page[100:112] = bytes([20, 1, *[255] * 9, 7])  # whose header ends at 2**64 - 1 and begins with a number
    data = bytearray(good)
    data[(roots["sayings"] - 1) * PAGE_SIZE : roots["sayings"] * PAGE_SIZE] = page
    path.write_bytes(data)
    assert count_saved(path) == 120


def test_a_rescue_that_fails_leaves_the_damaged_file_in_its_place(tmp_path: Path) -> None:
    path, good, _ = fill_and_copy(tmp_path)
    path.write_bytes(good[: len(good) // 2])

    def fail(_: Path) -> None:
        raise MemoryError

    with pytest.raises(MemoryError):
        ItemsFile(path).set_aside(fail)
    assert path.read_bytes() == good[: len(good) // 2]
    assert count_saved(path) > 10


@pytest.mark.parametrize("table", ["items_fts_data", "items_fts_idx", "items_fts_docsize", "items_fts_config"])
def test_a_lost_table_of_the_keyword_index_is_damage_that_is_mended(tmp_path: Path, table: str) -> None:
    items = open_items(tmp_path)
    items.write("The boat is called Heron.")
    items.close()
    with closing(sqlite3.connect(items.path)) as connection:
        connection.execute(f"DROP TABLE {table}")
        connection.commit()
    assert ItemsFile(items.path).find_damage() is not None
    again = open_items(tmp_path)
    assert again.write("The first fact after the damage.").outcome == "added"
    assert again.query("boat").hits[0].item.content == "The boat is called Heron."
    again.close()


def test_an_odd_value_of_one_item_moves_no_file_before_anything_fails(tmp_path: Path) -> None:
    path, _, _ = fill_and_copy(tmp_path)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE items SET speaker = 'nobody' WHERE key = 3")
    with closing(ItemsFile(path)) as items:
        items.check()
        assert not items.list_set_aside()
        assert items.find_damage() == "an item has a value that none can have"


def test_a_file_of_an_older_schema_is_looked_through_by_the_tables_that_it_has(tmp_path: Path) -> None:
    path = tmp_path / "main.items.sqlite"
    with closing(Database(path, ITEMS, MIGRATIONS[:2])) as older, older.write():
        pass
    assert ItemsFile(path, writable=False).list_problems() == []


def test_a_database_of_another_program_is_left_alone(tmp_path: Path) -> None:
    import apsw

    path = configure(tmp_path).items_path
    with apsw.Connection(str(path)) as connection:
        connection.execute("CREATE TABLE theirs (x); INSERT INTO theirs VALUES (1)")
    connection.close()
    before = path.read_bytes()
    items = open_items(tmp_path)
    with pytest.raises(StoreCorrupt, match="another program"):
        items.write("Hello.")
    items.close()
    assert path.read_bytes() == before


def test_a_provider_that_is_out_is_waited_for_once_and_its_items_are_embedded_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with OpenAIServer(dimensions=1536) as server:
        monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        items = open_items(tmp_path, "openai")
        assert items.write("The harbour is closed on Sundays.").embedded
        written = items.write("The harbour master is called Ines.")
        assert written.embedded
        answer = items.query("who is the harbour master?")
        assert answer.strategy == "embedding"
        items.close()
    closed = open_items(tmp_path, "openai")  # the server is gone
    written = closed.write("The lighthouse has 212 steps.")
    assert not written.embedded
    assert written.warning is not None
    answer = closed.query("how many steps does the lighthouse have?")
    assert (answer.strategy, answer.hits[0].item.content) == ("keyword", "The lighthouse has 212 steps.")
    assert answer.warning is not None
    closed.close()
    with OpenAIServer(dimensions=1536) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        back = open_items(tmp_path, "openai")
        assert back.backfill() == 0
        assert len(server.batches()[0]) == 3  # another endpoint may be another model
        back.close()
