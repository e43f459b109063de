"""Texts that look alike are one: composed or not, wide or narrow, with ligatures, entities and what nobody sees."""

from __future__ import annotations

import unicodedata

import pytest

from memory_core.text.folding import clean, fold_words
from memory_core.text.markdown import find_front_matter, is_markdown, leave_out_blobs, strip_suffix
from memory_core.text.terms import cut_cjk, extract_identifiers, extract_words, find_lone_characters, find_words

BASE64 = "iVBORw0KGgoAAAANSUhEUgAAAB4AAAAeCAYAAAA7MK6iAAAAcklEQVR4Xu3S0Q2AIAxFUXZxHHdxHHdxGT9MTNpCH4hfvoT8lMNp"


@pytest.mark.parametrize(
    ("text", "read"),
    [
        (unicodedata.normalize("NFD", "Überfähre Đặng 강남"), "Überfähre Đặng 강남"),
        ("ｗｉｆｉ ﾊﾟｽﾜｰﾄﾞ", "wifi パスワード"),
        ("eﬃcient ﬂoor № 4", "efficient floor No 4"),
        ("wa\u00adter\u200bfall \ufeffmoon\u2060light ❤\ufe0f", "waterfall moonlight ❤"),
        ("Smith &amp; S&ouml;hne &#8364;5 &lt;b&gt;", "Smith & Söhne €5 <b>"),
        ("a?x=1&copy=2&y", "a?x=1&copy=2&y"),  # no entity ends without a semicolon
        ("为什么？今天…", "为什么？今天…"),
        (
            "wiki/K%C3%B6nigsberg, My%20Plan.md, /%E5%AF%8C%E5%A3%AB, q=solar+panel%20inverter",
            "wiki/Königsberg, My Plan.md, /富士, q=solar+panel inverter",
        ),
        ("50% of 20%, for %%f in (*), %20s, a%C3, x%ZZ, y%0Az", "50% of 20%, for %%f in (*), %20s, a%C3, x%ZZ, y%0Az"),
    ],
)
def test_a_text_is_read_as_it_looks(text: str, read: str) -> None:
    assert clean(text) == read


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("كِتَابٌ", "كتاب"),
        ("مـــدرسة", "مدرسة"),
        ("أحمد إلى آخر", "احمد الي اخر"),
        ("שָׁלוֹם", "שלום"),
        ("ёлка", "елка"),
        ("Αθήνα", "Αθηνα"),
        ("Łódź Þór", "lódź thór"),
        ("ǆ ＣＯ₂", "dž CO2"),
        ("सड़क पर ४२", "सडक पर 42"),
        ("ଡ଼ ৭", "ଡ 7"),
        ("۱۴۰۳", "١٤٠٣"),
    ],
)
def test_spellings_of_one_word_are_indexed_alike(one: str, other: str) -> None:
    assert fold_words(one).lower() == fold_words(other).lower()


def test_an_emoji_is_a_word() -> None:
    assert extract_words("🎂 party 🐢🐢") == ["🎂", "party", "🐢"]
    assert extract_words("Thanks 👍") == extract_words("How are you? 😊") == []
    assert extract_words("When is 🐢?") == extract_words("wann 🐢?") == ["🐢"]
    assert fold_words("cake🎂").split() == ["cake", "u127874"]


def test_words_of_scripts_without_spaces_are_pairs_of_letters_with_their_marks() -> None:
    assert cut_cjk("กุญแจ").split() == ["กุญ", "ญแ", "แจ", "จ"]
    assert extract_words("ລິ້ນຊັກ") == ["ລິ້ນ", "ນຊັ", "ຊັກ"]
    assert [word for _, _, word in find_words("သော့ x", 0, 6)] == ["သော့", "x"]
    text = "ផ្ទះសោ"
    assert all(text[start:end] == word for start, end, word in find_words(text, 0, len(text)))


def test_signs_of_vowels_stay_in_their_words() -> None:
    assert extract_words("किताब मेज़ पर") == ["किताब", "मेज़", "पर"]
    assert extract_words("வீட்டு சாவி") == ["வீட்டு", "சாவி"]
    assert extract_words("চাবি কোথায়") == ["চাবি", "কোথায়"]


def test_a_character_between_particles_is_a_word() -> None:
    assert find_lone_characters("猫在哪") == {"猫在": "猫"}
    assert find_lone_characters("傘はどこ") == {"傘は": "傘"}
    assert find_lone_characters("会議はどこ") == {}
    assert find_lone_characters("where") == {}


def test_short_hashes_of_commits_name_one_thing() -> None:
    asked = "Was 9fceb02 or 1234567f or e83c516, not deadbee, 10am or the 3rd?"
    assert extract_identifiers(asked) == ["9fceb02", "1234567f", "e83c516"]


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (f"![a](data:image/png;base64,{BASE64}) behind", "![a](data:…) behind"),
        (f'<img src="data:image/svg+xml;utf8,{BASE64}">', '<img src="data:…">'),
        ("url('data:image/svg+xml,%3Csvg width=\"9\"%3E" + "%3Cg id=\"a\" /%3E" * 9 + "') x", "url('data:…') x"),
        ("<img src=\"data:image/svg+xml;utf8,<svg id='a'>" + "<g id='b' />" * 9 + '</svg>">', '<img src="data:…">'),
        (f"key: {BASE64[:40]}.{BASE64[40:90].replace('/', '_')}-{BASE64[:30]}, x", "key: …, x"),
        ("2026-05-" + "Minutes-of-the-second-Day-" * 3 + "v2.md", "2026-05-" + "Minutes-of-the-second-Day-" * 3 + "v2.md"),
        (f"https://docs.example.org/d/{BASE64[:60]}/edit", f"https://docs.example.org/d/{BASE64[:60]}/edit"),
        (f"```compressed-json\n{BASE64}\n\n{BASE64}\n```", "```compressed-json\n\n\n\n```"),
        (f"-----BEGIN X-----\n{BASE64[:64]}\nabc=\n-----END X-----\nx", "-----BEGIN X-----\n\n\n-----END X-----\nx"),
        ("sum: " + "0badc0de" * 8, "sum: 0badc0de0bad…"),
        (f"<diagram>{BASE64}</diagram>", "<diagram>…</diagram>"),
        ("commit " + "0badc0de" * 5, "commit " + "0badc0de" * 5),
        ("word" * 30, "word" * 30),
        ("https://example.org/" + "a-long-path/" * 12, "https://example.org/" + "a-long-path/" * 12),
    ],
)  # fmt: skip
def test_what_nobody_reads_is_left_out(text: str, left: str) -> None:
    assert leave_out_blobs(text) == left
    assert leave_out_blobs(left) == left


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("---\ntitle: A\ntags:\n- b\n  c: d\n# note\n---\nx", 7),
        ("---\n---\nx", 2),
        ("---\n**VOSS & CO**\nsee [[Roof]]\n---\nx", 0),
        ("---\nDear all\n---\nx", 0),
        ("---\n2026-01-03, Vienna\n---", 0),
        ("---\ntitle: A\n", 0),
        ("x\n---\na: b\n---", 0),
    ],
)
def test_what_stands_between_two_rules_is_front_matter_if_it_looks_so(text: str, lines: int) -> None:
    assert find_front_matter(text.split("\n")) == lines


def test_markdown_is_told_by_its_suffix() -> None:
    assert [*map(strip_suffix, ("a/B.MD", "b.mkdn", "c.Mdx", "d.txt", "e", "f.Rmd"))] == [
        "a/B",
        "b",
        "c",
        "d.txt",
        "e",
        "f",
    ]
    assert is_markdown("x.Markdown")
    assert not is_markdown("x.md.bak")
