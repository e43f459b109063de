"""docs/postgres.svg: times of searches and cores of the server against the number of agents, as `make bench-postgres` kept them.

Points and whole lines are measured; the broken line is arithmetic, on to 10,000 agents.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tests.benchmarks.postgres import tables
from tests.chart import Axis

# In pixels: the picture, one of its two fields, and around it.
WIDTH, HEIGHT, FIELD, LEFT, TOP, BOTTOM = 790, 300, 280, 72, 34, 44
GREY = "#8a929c"
P50, P95, CORES = "#2f6690", "#8a5a2b", "#3a8a6a"  # readable on a light and on a dark page

Point = tuple[float, float]


@dataclass(frozen=True)
class _Field:
    """One of the two fields.

    Attributes:
        left: Its first pixel.
        title: What it shows.
        values: Of the axis upwards, which is logarithmic as the other one is.
        unit: Behind these.
    """

    left: int
    title: str
    values: Sequence[float]
    unit: str

    @property
    def agents(self) -> Axis:
        """The axis to the right."""
        return Axis(100, tables.AGENTS, self.left, self.left + FIELD)

    @property
    def up(self) -> Axis:
        """The axis upwards."""
        return Axis(self.values[0], self.values[-1], HEIGHT - BOTTOM, TOP)

    def place(self, points: Sequence[Point]) -> list[Point]:
        """Return the pixels of (agents, value)."""
        return [(self.agents.place(agents), self.up.place(value)) for agents, value in points]

    def draw(self) -> Iterator[str]:
        """Yield the title and the axes."""
        yield f'<text x="{self.left}" y="16" font-weight="600">{self.title}</text>'
        for value in self.values:
            y = self.up.place(value)
            yield f'<path d="M {self.left} {y:.0f} h {FIELD}" stroke="{GREY}" stroke-opacity="0.35"/>'
            yield f'<text x="{self.left - 6}" y="{y + 4:.0f}" text-anchor="end">{value:,g}{self.unit}</text>'
        for count in (100, 1000, tables.AGENTS):
            x = self.agents.place(count)
            yield f'<text x="{x:.0f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{count:,}</text>'
        yield f'<text x="{self.left + FIELD / 2:.0f}" y="{HEIGHT - 8}" text-anchor="middle">agents</text>'


def draw() -> str:
    """Return the picture."""
    rows = tables.load_figures()["simulation"]
    times = _Field(LEFT, "Time of a search (measured)", (10, 100, 1000, 10_000), " ms")
    cores = _Field(LEFT * 2 + FIELD + 20, "Cores of the server", (0.01, 0.1, 1, 10), "")
    p50, p95, used = (
        [(row["agents"], max(row[key], least)) for row in rows]
        for key, least in (("p50_ms", 10), ("p95_ms", 10), ("server_cores", 0.01))
    )
    further = [(agents, tables.count_cores(rows, agents)) for agents in (rows[0]["agents"], tables.AGENTS)]
    end_x, end_y = cores.place(further)[-1]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}"'
            ' role="img" aria-label="Searches of many agents at work: their times, and the cores of the server">',
            f'<g font-family="system-ui, sans-serif" font-size="12" fill="{GREY}" stroke-linejoin="round">',
            *times.draw(),
            *cores.draw(),
            *_draw_line(times.place(p50), P50, "p50"),
            *_draw_line(times.place(p95), P95, "p95"),
            _draw_path(cores.place(further), CORES, dashed=True),
            *_draw_line(cores.place(used), CORES, "measured"),
            f'<text x="{end_x:.0f}" y="{end_y - 8:.0f}" text-anchor="end" fill="{CORES}">'
            f"arithmetic: {further[-1][1]:.1f} cores</text>",
            "</g>",
            "</svg>\n",
        ]
    )


def _draw_line(points: Sequence[Point], colour: str, label: str) -> Iterator[str]:
    """Yield a line with its points, and its label behind its end."""
    yield _draw_path(points, colour)
    yield from (f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in points)
    x, y = points[-1]
    yield f'<text x="{x + 8:.0f}" y="{y + 14:.0f}" fill="{colour}">{label}</text>'


def _draw_path(points: Sequence[Point], colour: str, *, dashed: bool = False) -> str:
    path = " L ".join(f"{x:.1f} {y:.1f}" for x, y in points)
    dashes = ' stroke-dasharray="5 4"' if dashed else ""
    return f'<path d="M {path}" fill="none" stroke="{colour}" stroke-width="2"{dashes}/>'
