"""Marks of other programs are left out of a text, and no line moves."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_core.text.markdown import (
    join_html_rows,
    leave_out_comments,
    leave_out_html_comments,
    leave_out_separators,
)


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("before %%hidden%% after", "before  after"),
        ("a\n%%\nhidden\n\nmore\n%%\nb\n", "a\n\n\n\n\n\nb\n"),
        ("100%% sure", "100%% sure"),
        ("one %%a%% two %%b", "one  two %%b"),
        ("`%%code%%` and %%hidden%%", "`%%code%%` and "),
        ("```\n%%time\n```\n%%hidden%%\n%%\n", "```\n%%time\n```\n\n%%\n"),
        ("%%a%%%%b%%c", "c"),
        ("a\n\n    %%cell\n\n    x %%y\n%%hidden%%", "a\n\n    %%cell\n\n    x %%y\n"),
        ("- a\n\n    %%hidden%% more", "- a\n\n     more"),
        ("> ```sh\n> date +%%\n> ```\nshown %%hidden%%", "> ```sh\n> date +%%\n> ```\nshown "),
        ("> [!tip]\n>\n>     date +%%\n\nshown %%hidden%%", "> [!tip]\n>\n>     date +%%\n\nshown "),
        ("$$\na \\%% b\n$$\nshown %%hidden%%", "$$\na \\%% b\n$$\nshown "),
        ("$$ is a pid %%hidden%%\n\n$$ too", "$$ is a pid \n\n$$ too"),
        ("%%hidden $$%% shown $$ %%hidden%%", " shown $$ "),
    ],
)
def test_comments_of_obsidian_are_left_out(text: str, left: str) -> None:
    assert leave_out_comments(text) == left


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("a\n<!-- hidden\n\n- more -->\nb\n", "a\n\n\n\nb\n"),
        ("  <!-- one --> <!-- two --> shown", " shown"),
        ("- a fact <!--m:0123-->", "- a fact <!--m:0123-->"),
        ("```\n<!-- code -->\n```", "```\n<!-- code -->\n```"),
        ("<!-- never\nends", "<!-- never\nends"),
    ],
)
def test_html_comments_that_begin_a_line_are_left_out(text: str, left: str) -> None:
    assert leave_out_html_comments(text) == left


@pytest.mark.parametrize(
    ("text", "joined"),
    [
        ("  <tr>\n    <td>a</td>\n\n    <td>b</td>\n  </tr>\nc\n", "<tr> <td>a</td> <td>b</td> </tr>\n\n\n\n\nc\n"),
        ("<TR><TD>a\n<TD>b\n<TR><TD>c\n</TABLE>", "<TR><TD>a <TD>b\n\n<TR><TD>c\n</TABLE>"),
        ("<tr><td>a</td></tr>\n<tr><td>b</td></tr>", "<tr><td>a</td></tr>\n<tr><td>b</td></tr>"),
        ("```\n<tr>\n<td>\n</tr>\n```", "```\n<tr>\n<td>\n</tr>\n```"),
        ("<tr> never\nends", "<tr> never\nends"),
    ],
)
def test_a_row_of_a_table_in_html_is_one_line(text: str, joined: str) -> None:
    assert join_html_rows(text) == joined


@given(st.text(alphabet="a %`\n#-<!>", max_size=60))
def test_no_line_moves(text: str) -> None:
    assert leave_out_html_comments(text).count("\n") == text.count("\n")
    table = text.replace("%", "<tr>").replace("-", "</tr>")
    assert join_html_rows(table).count("\n") == table.count("\n")
    assert leave_out_comments(text).count("\n") == text.count("\n")
    assert leave_out_separators(text).count("\n") == text.count("\n")


def test_separators_of_hermes_are_empty_lines() -> None:
    assert leave_out_separators("one\n§\ntwo § three\n§ \nfour\n") == "one\n\ntwo § three\n\nfour\n"
