"""docs/latency.svg and the table beside it: the time of a search against the number of notes, as `make bench` kept it last."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from typing import cast

from tests.command import REPOSITORY

KEPT = REPOSITORY / "tests" / "benchmarks" / "daily.json"
LINES = (("search", "ours_ms", "memory-core"), ("search after an edit", "ours_ms", "memory-core, a note was edited"),
         ("search", "naive_ms", "naive"))  # fmt: skip
COLOURS = ("#2f6690", "#3a8a6a", "#8a5a2b")  # readable on a light and on a dark page
# In pixels: the picture, and around the field in which the lines are.
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 640, 320, 56, 210, 16, 44
LABEL = 15  # pixels from one label down to the next

Point = tuple[int, float]


def read_points(task: str, figure: str) -> list[Point]:
    """Return (notes, milliseconds of processor time) of one task, by size; `figure` is "ours_ms" or "naive_ms"."""
    kept = cast("dict[str, dict[str, float]]", json.loads(KEPT.read_text(encoding="utf-8")))
    found = []
    for key, row in kept.items():
        name, size = key.rsplit(", ", 1)
        if name == task:
            found.append((int(size.split()[0]), row[figure]))
    return sorted(found)


def draw() -> str:
    """Return the picture; both axes are logarithmic, so that a line with the slope of one grows with the number of notes."""
    lines = [read_points(task, figure) for task, figure, _ in LINES]
    sizes = [notes for notes, _ in lines[0]]
    times = [value for line in lines for _, value in line]
    steps = [10**power for power in range(-3, 7) if 10 ** (power + 1) > min(times) and 10 ** (power - 1) < max(times)]
    x_axis, y_axis = Axis(sizes[0], sizes[-1], LEFT, WIDTH - RIGHT), Axis(steps[0], steps[-1], HEIGHT - BOTTOM, TOP)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}"'
            ' role="img" aria-label="Time of a search against the number of notes">',
            '<g font-family="system-ui, sans-serif" font-size="12" fill="#8a929c" stroke-linejoin="round">',
            *_draw_axes(x_axis, y_axis, sizes, steps),
            *_draw_lines([[(x_axis.place(notes), y_axis.place(value)) for notes, value in line] for line in lines]),
            "</g>",
            "</svg>\n",
        ]
    )


def make_table() -> str:
    """Return a Markdown table of the same figures, and of syncs."""
    columns = (*LINES, ("sync of nothing", "ours_ms", ""), ("first sync", "ours_ms", ""))
    points = [dict(read_points(task, figure)) for task, figure, _ in columns]
    rows = [
        "| notes | search, ms | after an edit, ms | naive search, ms | sync of nothing, ms | first sync, s |",
        "| ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for notes in sorted(points[0]):
        *times, first = (each[notes] for each in points)
        rows.append(f"| {notes:,} | {' | '.join(f'{value:.1f}' for value in times)} | {first / 1000:.1f} |")
    return "\n".join(rows) + "\n"


class Axis:
    """A logarithmic axis from the pixel `start`, at the value `least`, to the pixel `end`, at `most`."""

    def __init__(self, least: float, most: float, start: float, end: float) -> None:
        self._least, self._span = math.log(least), math.log(most / least)
        self.start, self.end = start, end

    def place(self, value: float) -> float:
        """Return the pixel of a value."""
        return self.start + (math.log(value) - self._least) / self._span * (self.end - self.start)


def _draw_axes(x_axis: Axis, y_axis: Axis, sizes: Sequence[int], steps: Sequence[float]) -> Iterator[str]:
    for step in steps:
        y = y_axis.place(step)
        yield f'<path d="M {x_axis.start:.0f} {y:.0f} H {x_axis.end:.0f}" stroke="#8a929c" stroke-opacity="0.35"/>'
        yield f'<text x="{x_axis.start - 6:.0f}" y="{y + 4:.0f}" text-anchor="end">{step:g} ms</text>'
    for notes in sizes:
        yield f'<text x="{x_axis.place(notes):.0f}" y="{y_axis.start + 18:.0f}" text-anchor="middle">{notes:,}</text>'
    middle = (x_axis.start + x_axis.end) / 2
    yield f'<text x="{middle:.0f}" y="{y_axis.start + 36:.0f}" text-anchor="middle">daily notes</text>'


def _draw_lines(lines: Sequence[Sequence[tuple[float, float]]]) -> Iterator[str]:
    """Draw each line with its label behind its end; a label moves down where one above would touch it."""
    labels = [label for _, _, label in LINES]
    lowest = 0.0
    for points, colour, label in sorted(zip(lines, COLOURS, labels, strict=True), key=lambda line: line[0][-1][1]):
        path = " L ".join(f"{x:.1f} {y:.1f}" for x, y in points)
        yield f'<path d="M {path}" fill="none" stroke="{colour}" stroke-width="2"/>'
        yield from (f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in points)
        lowest = max(points[-1][1] + 4, lowest + LABEL)
        yield f'<text x="{points[-1][0] + 8:.0f}" y="{lowest:.0f}" fill="{colour}">{label}</text>'
