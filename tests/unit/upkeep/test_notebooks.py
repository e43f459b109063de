"""Tidy finds the outdated lines of notebooks in which facts change, and takes no other person, project or matter for them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.benchmarks.tidy import DATA, load_marked, measure


@pytest.mark.parametrize("name", ["potter_en", "doktorand_de", "cocinera_es"])
def test_four_in_ten_outdated_lines_are_found_and_hardly_any_proposal_is_wrong(name: str, tmp_path: Path) -> None:
    score, verdicts = measure(load_marked(DATA / f"notebooks/{name}.txt"), tmp_path)
    assert score.right >= 0.85 * score.proposals, [(each.text, each.evidence) for good, each in verdicts if not good]
    assert score.found >= 0.4 * score.outdated


def test_people_projects_and_matters_of_small_workspaces_are_told_apart(tmp_path: Path) -> None:
    scores, wrong = [], []
    for file in sorted((DATA / "workspaces").iterdir()):
        score, verdicts = measure(load_marked(file), tmp_path / file.stem)
        scores.append(score)
        wrong += [(file.stem, each.text, each.evidence[0].text) for good, each in verdicts if not good]
    assert len(scores) > 30
    assert len(wrong) <= 0.05 * sum(each.proposals for each in scores), wrong
    assert sum(each.found for each in scores) >= 0.7 * sum(each.outdated for each in scores)
