"""Dead links, slips in names, and relative dates."""

from __future__ import annotations

from datetime import date

import pytest

from memory_core.upkeep.findings import find_links_that_lead_nowhere, find_relative, find_spellings, read_marks


@pytest.mark.parametrize(
    ("line", "phrases"),
    [
        ("we meet next Friday at noon", ["next Friday"]),
        ("der Umzug war letzte Woche", ["letzte Woche"]),
        ("la boda fue ayer", ["ayer"]),
        ("choir on Fridays", []),
        ("the lease ends in March 2027", []),
        ("on 3 May 2026", []),
    ],
)
def test_a_relative_date_names_no_day_by_itself(line: str, phrases: list[str]) -> None:
    assert [each.text for each in find_relative(line, date(2026, 5, 6))] == phrases


def marks(**notes: str) -> dict[str, dict[str, object]]:
    return {f"{name}.md": read_marks(text, dated=False) for name, text in notes.items()}


@pytest.mark.parametrize(
    ("text", "new"),
    [
        ("see [[recipies]]", "recipes"),
        ("see [the list](recipies.md)", "recipes.md"),
        ("see [[recipes]] and [it](recipes.md)", None),
        ("see [[Something that is still to be written]]", None),  # a link may come before its note
        ("see `[[recipies]]`", None),
        ("see https://example.org/recipies.md", None),
    ],
)
def test_a_link_leads_nowhere_only_where_a_note_is_called_nearly_so(text: str, new: str | None) -> None:
    found = [each.new for each in find_links_that_lead_nowhere(marks(index=text, recipes="# Recipes"))]
    assert found == ([] if new is None else [new])


@pytest.mark.parametrize("name", ["recipes.md", "recipes.markdown", "recipes.mdx", "Recipes.MD"])
def test_a_note_is_called_by_its_name_without_any_suffix_of_markdown(name: str) -> None:
    notes = {"index.md": read_marks("see [[recipes]]", dated=False), name: read_marks("# Soup", dated=False)}
    assert list(find_links_that_lead_nowhere(notes)) == []


@pytest.mark.parametrize(
    ("slip", "right"),
    [("Kowalzyk", "Kowalczyk"), ("Gruenwalder", "Grünwalder"), ("Marguerita", "Margherita")],
)
def test_a_name_that_stands_once_a_letter_apart_is_a_slip(slip: str, right: str) -> None:
    notes = marks(a=f"{right} called. {right} came.", b=f"{right}, {right} and {right}", c=f"then {slip} wrote")
    found = [(each.old, each.new) for each in find_spellings(notes)]
    assert found == ([(slip, right)] if slip != "Marguerita" else [])  # two letters apart: perhaps another name


@pytest.mark.parametrize("other", ["Kowalczyks", "Kowalczyka", "Nowalczyk", "KOWALCZYK"])
def test_inflected_forms_and_other_first_letters_are_no_slips(other: str) -> None:
    notes = marks(a="Kowalczyk called. Kowalczyk came. Kowalczyk, Kowalczyk and Kowalczyk", c=f"then {other} wrote")
    assert list(find_spellings(notes)) == []
