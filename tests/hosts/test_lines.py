"""The table of hosts in docs/frameworks.md: each needs as many lines as its example has, and never above 15."""

from __future__ import annotations

import re

import pytest

from tests.command import REPOSITORY

PAGE = (REPOSITORY / "docs" / "frameworks.md").read_text(encoding="utf-8")
MOST = 15


def read_rows() -> dict[str, tuple[str, str]]:
    """The module and the lines of each host in the table."""
    table = PAGE[PAGE.index("| framework | module | lines to write |") :].split("\n\n", maxsplit=1)[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]]
    return {row[0]: (row[1], row[2]) for row in rows}


ROWS = read_rows()


@pytest.mark.parametrize("host", ROWS)
def test_a_host_needs_as_many_lines_as_the_table_says(host: str) -> None:
    _, lines = ROWS[host]
    if lines.startswith("0: "):
        assert re.fullmatch(r"0: `memory-core install [\w-]+`", lines)
        return
    title = re.sub(r" \d+$", "", host)
    example = re.search(rf"^{re.escape(title)}\. .*?^```py\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    assert example, host
    assert int(lines) == sum(bool(line.strip()) for line in example[1].splitlines()) <= MOST


def test_every_host_module_is_in_the_table() -> None:
    linked = {re.sub(r"\]\(.*\)", "", module).strip("[`") for module, _ in ROWS.values()}
    for name in ("langchain", "openai_agents", "pydantic_ai", "hermes"):
        assert f"memory_core.hosts.{name}" in linked
