"""The parts that the benchmark of retrieval takes out."""

from __future__ import annotations

import pytest

from tests.benchmarks.ablation import GATE, RANKING, Part


@pytest.mark.parametrize("part", [*RANKING, *GATE], ids=lambda part: part.name)
def test_what_is_taken_out_is_there_and_is_something_else(part: Part) -> None:
    assert part.patches or part.settings != Part("the product").settings
    for module, constant, value in part.patches:
        assert getattr(module, constant) != value
