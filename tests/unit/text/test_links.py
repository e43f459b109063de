"""Links and tags: what counts, and what stands in code or comments and does not."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from memory_core.text.links import find_blocks, find_links, read_lines


def targets(text: str) -> list[str]:
    return [f"{link.kind} {link.target}" for link in find_links(read_lines(text.split("\n")).prose)]


def test_links_of_every_kind_are_read() -> None:
    assert targets("[[Ada]] and [[Ada Lovelace#Life|her]], ![[Plan^block]]; | [[a\\|b]] |") == [
        "wikilink Ada", "wikilink Ada Lovelace", "wikilink Plan", "wikilink a",
    ]  # fmt: skip
    assert targets("[x](../a%20note.md#h) [y](<my note.md> 'title') [z]( b.MD)") == [
        "link ../a note.md", "link my note.md", "link b.MD",
    ]  # fmt: skip
    assert targets("#idea, (#garden/roses) #旅行 #x-1") == ["tag idea", "tag garden/roses", "tag 旅行", "tag x-1"]


def test_links_by_reference_are_read() -> None:
    text = "[her][Ada  L], [plan][] and [Plan], ![x][plan]; [no][other] [web] [^1]\n\n[ada l]: <my note.md#h> 'title'\n"
    text += "[plan]: ../plan%20b.md\n[Plan]: later.md\n   [web]: https://example.org/x.md\n[^1]: a footnote\n    [other]: x.md"
    assert targets(text) == ["link my note.md", *["link ../plan b.md"] * 3]
    assert not targets("[plan](x.png) [[plan]](x) `[plan]`\n```\n[plan]\n```\n\n[plan]: plan.md\n")[1:]
    assert not targets("[plan] without a definition\n```\n[plan]: plan.md\n```")


def test_what_is_no_link_to_a_note_is_none() -> None:
    assert not targets("[a](https://example.org/x.md) ![p](photo.png) [[photo.png]] [mail](mailto:a@b.md) [[ ]] [[]]")
    assert not targets("[[{{title}}]] ![[Daily/{{date:YYYY}}]] [[_TOC_]] [[/tts:text]] [[<% tp.date.now() %>|day]]")
    assert targets("[[{a} and <b>]]") == ["wikilink {a} and <b>"]
    assert not targets("# Heading\n## Two\nC# and a#b, #12, #1a1a1a #595959, https://example.org/#part &#x20;")


def test_code_holds_no_links() -> None:
    assert not targets("```\n[[a]] #b\n```")
    assert not targets("~~~sh\nif [[ -f x ]]; then\n#c\n~~~")
    assert targets("`[[a]]` [[b]] ``[[c ` ]]`` [[d]] ` [[e]]") == ["wikilink b", "wikilink d", "wikilink e"]
    assert not targets("```\n[[never closed]]")
    assert targets("<!-- ` [[a]] --> ` [[b]] `` [[c]] ` [[d]] ``` [[e]] ``") == ["wikilink d", "wikilink e"]


def test_comments_hold_nothing() -> None:
    text = "a <!-- [[b]] --> [[c]]\n<!-- more\n[[d]]\n```\n--> [[e]] <!-- open [[f]]"
    assert "wikilink b" not in targets(text)
    assert targets("a <!-- [[b]] --> [[c]]\n<!-- more\n[[d]]\n--> [[e]] <!-- never closed [[f]]") == [
        "wikilink c", "wikilink e", "wikilink f",
    ]  # fmt: skip
    assert targets("`<!--` [[a]] `-->`") == ["wikilink a"]
    assert targets("<!-- [[a]] <!--> [[b]] `-->` [[c]]") == ["wikilink b", "wikilink c"]
    assert read_lines(["x <!-- y", "z --> w"]).lines == ["x ", " w"]


def test_front_matter_is_no_text_but_for_its_links() -> None:
    assert targets("---\naliases: ['[[a]]']\n---\n[[b]]") == ["wikilink b"]
    assert targets('---\nup: "[[a]]"\ntags: [x]\n---\n[[b]]') == ["wikilink a", "wikilink b"]
    assert targets("---\n- ask [[a]]\nFrom: c: [[b]]\n---\ntext") == ["wikilink a", "wikilink b"]
    assert targets("---\n[[a]] is below a rule that is never closed") == ["wikilink a"]


def test_blocks_are_paragraphs_items_and_rows() -> None:
    lines = ["# H", "one", "two", "", "- a", "  b", "- c", "| x |", "| - |", "```", "code", "```"]
    assert [*find_blocks(lines)] == [(0, 0), (1, 2), (4, 5), (6, 6), (7, 7), (8, 8), (10, 10)]


@given(st.text(alphabet="[]()`<!->#|a \n~", max_size=80))
def test_lines_stay_where_they_are(text: str) -> None:
    lines = text.split("\n")
    read = read_lines(lines)
    assert len(read.lines) == len(read.prose) == len(lines)
    assert all(0 <= link.line < len(lines) for link in find_links(read.prose))
