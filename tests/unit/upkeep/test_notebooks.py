"""Tidy finds the outdated lines of three notebooks in which facts change, in English, German and Spanish."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.benchmarks.tidy import DATA, load_marked, measure


@pytest.mark.parametrize("name", ["potter_en", "doktorand_de", "cocinera_es"])
def test_four_in_ten_outdated_lines_are_found_and_hardly_any_proposal_is_wrong(name: str, tmp_path: Path) -> None:
    score, verdicts = measure(load_marked(DATA / f"notebooks/{name}.txt"), tmp_path)
    assert score.right >= 0.85 * score.proposals, [(each.text, each.evidence) for good, each in verdicts if not good]
    assert score.found >= 0.4 * score.outdated
