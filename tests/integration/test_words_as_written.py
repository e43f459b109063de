"""Words as people write them: in any form of Unicode, in any script, as signs, and within what nobody reads."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from contextlib import closing
from datetime import date
from pathlib import Path

import pytest

from memory_core.plugin.memory import open_memory
from memory_core.sources import pages
from tests.index import Index, make_filled

TODAY = date(2026, 3, 20)


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    with closing(make_filled(tmp_path)) as made:
        yield made


def paths(index: Index, text: str) -> list[str]:
    """The notes that a search by keyword alone shows, best first."""
    return [hit.path.removeprefix("memory/") for hit in index.find(text, TODAY)]


@pytest.mark.parametrize(
    ("written", "asked"),
    [
        (unicodedata.normalize("NFD", "도서관 카드는 서랍에 있다."), "도서관 카드"),
        ("도서관 카드는 서랍에 있다.", unicodedata.normalize("NFD", "도서관 카드")),
        ("ﾌﾟｰﾙの鍵は青い。", "プールの鍵"),
        ("Ｒｏｕｔｅｒ １７ is upstairs.", "router 17"),
        ("The ﬁreplace ﬂue is blocked.", "fireplace flue"),
        ("The light\u00adhouse lamp flickers.", "lighthouse"),
        ("Ask Kr&uuml;ger &amp; Sons.", "Krüger"),
        ("Ask Krüger.", "Kr&#252;ger"),
        ("المَدْرَسَة مغلقة يوم الأحد", "المدرسة"),
        ("कुंजी मेज़ की दराज में है।", "दराज"),
        ("กระเป๋าเดินทางอยู่ใต้เตียง", "กระเป๋า"),
        ("သော့က စားပွဲပေါ်မှာ ရှိတယ်", "စားပွဲ"),
        ("សៀវភៅនៅលើតុ", "សៀវភៅ"),
        ("我们的狗喜欢跑步。", "狗在哪里？"),
        ("彼の傘は黒い。", "傘はどこですか"),
        ("- 🪴 water it on Sundays", "🪴"),
        ("- Van: reg KD19 XLE, blue", "KD19XLE"),
        ("- Van: reg KD19XLE, blue", "KD19 XLE"),
        ("הכלב ישן במטבח.", "מטבח"),
        ("מחסן ישן ליד הבית.", "המחסן"),
        ("شربنا القهوة في الحديقة.", "حديقة"),
        ("الصبر مفتاح الفرج", "بالصبر"),
        ("وجدت الكتاب بِالمَكتبة.", "مكتبة"),
        ("הַמִּטְרִיָּה בַּפִּנָּה", "מטריה"),
        ("The roof cost 8,450 crowns.", "8450"),
        ("The roof cost 8\u202f450 crowns.", "8450"),
        ("Ring 0151 / 22 33 44 for coal.", "0151223344"),
        ("The roof cost 8450 crowns.", "8,450"),
        ("Chosen in RFD-0034.", "RFD 34"),
        ("Chosen in RFD-0034.", "rfd34"),
        ("Chosen in RFD 34.", "RFD-0034"),
        ("Locker Q07 is ours.", "locker Q7"),
        ("Receipt 000562 is paid.", "receipt 562"),
        ("Bell +45 (0)33 12 08 77 for peat.", "+4533120877"),
        ("Bell +45 33 12 08 77 for peat.", "33120877"),
        ("Bell 020 7123 4567 for peat.", "+442071234567"),
        ("The press needs 32 GB.", "32GB"),
        ("The press needs 32GB.", "32 GB"),
        ("The N.G.O. paid for peat.", "NGO"),
        ("Svampen ligger i korgen.", "korg"),
        ("Hunden sover under bordet.", "hund"),  # a common word of German
        ("Blomsterne står i vinduet.", "blomst"),
        ("Sykkelen er i kjelleren.", "kjeller"),
        ("Lumilapion paikka on ulkona.", "lumilapio"),
        ("Das Dach kostete 1.250 Euro.", "1250"),
        ("See [plan](M%C3%BCllkalender%202026.pdf).", "Müllkalender"),
        ("https://de.wikipedia.org/wiki/K%C3%B6nigsberg", "Königsberg"),
        ("https://ja.wikipedia.org/wiki/%E5%AF%8C%E5%A3%AB%E5%B1%B1", "富士山"),
        ("Reverted 7ab3f09 on the release branch.", "what was 7ab3f09 about"),
    ],
)
def test_a_word_is_found_however_it_is_written(index: Index, written: str, asked: str) -> None:
    index.note("memory/wanted.md", f"# Note\n\n{written}\n")
    assert paths(index, asked)[:1] == ["wanted.md"]


def test_a_telephone_number_with_another_code_is_another_one(index: Index) -> None:
    index.note("memory/wanted.md", "# Note\n\nBell 030 71234567 for peat.\n")
    assert paths(index, "04071234567") == []


def test_a_word_of_arabic_stands_before_what_only_looks_like_its_core(index: Index) -> None:
    index.note("memory/repented.md", "# Note\n\nتاب الرجل\n")
    index.note("memory/book.md", "# Note\n\nالكتاب الرجل\n")
    assert paths(index, "كتاب")[:1] == ["book.md"]


@pytest.mark.parametrize(
    ("name", "asked"),
    [
        ("orchard%2Fpruning.md", "orchard pruning"),
        ("Caf%C3%A9%20list.md", "café list"),
        ("Recipes%3A Pizza.md", "recipes pizza"),
        ("100%25 rye.md", "100% rye"),
    ],
)
def test_the_name_of_a_file_is_read_without_its_escapes(index: Index, name: str, asked: str) -> None:
    index.note(f"memory/{name}", "It opens at nine.\n")
    assert paths(index, asked)[:1] == [name]


def test_several_parts_of_a_name_ask_for_it(tmp_path: Path) -> None:
    for number in range(20):
        text = f"Went to the market with Lou {number}, bought plums. The boiler was loud.\n"
        (tmp_path / "memory").mkdir(exist_ok=True)
        (tmp_path / f"memory/{number}.md").write_text(text, encoding="utf-8")
    line = "The tank holds 90 litres. The pumpControlTimeout is 30 s. The plan hangs on the fridge, the store is called north."
    (tmp_path / "memory/wanted.md").write_text(line, encoding="utf-8")
    with open_memory(
        {"memorySearch": {"provider": "static"}}, workspace=tmp_path, state_dir=tmp_path / "state"
    ) as memory:
        answer = memory.call_tool("memory_search", {"query": "pump control timeout"})
    assert [hit["path"] for hit in answer["results"]][:1] == ["memory/wanted.md"]


def test_a_hit_shows_what_the_file_says(index: Index) -> None:
    text = unicodedata.normalize("NFD", "Die Fähre für Familie Köhler fährt um ﬁve &amp; later.")
    index.note("memory/wanted.md", text)
    (hit,) = index.find("Fähre Köhler five", TODAY)
    assert hit.snippet == text


@pytest.mark.parametrize("name", ["Fußgängerbrücke.md", "ガレージ.md", "été/déjà vu.MD", "wi\u00adki.markdown"])
def test_a_note_is_read_under_a_name_that_looks_the_same(index: Index, name: str) -> None:
    index.note(f"memory/{unicodedata.normalize('NFD', name)}", "The lamp is upstairs.\n")
    for asked in {unicodedata.normalize("NFC", name), name.replace("\u00ad", "")}:
        page = pages.get_document(index.config, f"memory/{asked}", from_line=1, lines=9)
        assert page.text == "The lamp is upstairs."
        assert page.path == f"memory/{unicodedata.normalize('NFD', name)}"


def test_of_two_names_that_look_the_same_each_has_its_own(index: Index) -> None:
    names = [unicodedata.normalize("NFC", "Café"), unicodedata.normalize("NFD", "Café")]
    for name in names:
        index.note(f"memory/{name}.md", f"{len(name)}\n")
    for name in names:
        page = pages.get_document(index.config, f"memory/{name}.md", from_line=1, lines=9)
        assert page.text == str(len(name))
    missing = pages.get_document(index.config, "memory/Ｃａｆé.md", from_line=1, lines=9)
    assert missing.status == "not_found"


@pytest.mark.parametrize("name", ["A.MD", "b.markdown", "c.mdx", "d.Md"])
def test_all_markdown_is_indexed(index: Index, name: str) -> None:
    index.note(f"memory/{name}", "The zither is tuned.\n")
    assert paths(index, "zither") == [name]


def test_lone_carriage_returns_end_lines(index: Index) -> None:
    file = index.note("memory/old.md", "")
    file.write_bytes(b"# Attic\r\rThe theorbo hangs there.\r\n\r## Cellar\rThe sackbut lies below.\r")
    (hit,) = index.find("sackbut", TODAY)
    assert (hit.start_line, hit.end_line) == (1, 6)
    assert hit.snippet.split("\n")[-2:] == ["## Cellar", "The sackbut lies below."]
    assert pages.get_document(index.config, "memory/old.md", from_line=6, lines=1).text == "The sackbut lies below."


def test_a_picture_in_the_text_is_left_out(index: Index) -> None:
    picture = "Qk1GAAAAAAAAADYAAAAoAAAAAgAAAAIAAAABABgAAAAAABAAAAA7" * 300
    index.note("memory/board.md", f"# Board\n\n![x](data:image/bmp;base64,{picture})\n\nThe vote was unanimous.\n")
    (hit,) = index.find("unanimous vote", TODAY)
    with index.store.read() as reader:
        assert reader.count_chunks() == 13
    assert hit.snippet == "# Board\n\n![x](data:…)\n\nThe vote was unanimous."
    assert hit.end_line == 5


@pytest.mark.parametrize("asked", ["0151223345", "GB29NWBK60161331926820", "ab12cd34ef56ab12cd34"])
def test_another_number_is_not_near_one(index: Index, asked: str) -> None:
    index.note(
        "memory/a.md",
        "# N\n\nRing 0151 22 33 44; rent goes to GB29 NWBK 6016 1331 9268 19, done in ab12cd34ef56ab12cd35.\n",
    )
    assert paths(index, asked) == []
