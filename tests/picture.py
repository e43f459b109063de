"""docs/architecture.svg: the rooms as boxes on their floors, with arrows for imports.

The floors are given, so what is left of the method of Sugiyama, Tagawa and Toda (1981) is the order of each floor and the places.
Arrows that follow from others are left out. The colours are readable on a light and on a dark page.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from html import escape

from tests import rooms

# In pixels: from floor to floor, a box, between boxes, around the picture; a letter, around a name, a point of an arrow.
ROW, HEIGHT, GAP, MARGIN = 58, 30, 26, 12
CHARACTER, PADDING, POINT = 7.4, 24, 8
STRAIGHTNESS = 8  # weight of a neighbour on the same long arrow; of others 1


@dataclass(eq=False, slots=True)
class _Node:
    """A box, or the point at which a long arrow passes a floor.

    Attributes:
        label: The room's name; "" for a point.
        floor: Counted from the top.
        above, below: The nodes that arrows lead to on the floors above and below.
        x: The middle, in pixels.
    """

    label: str
    floor: int
    above: list[_Node] = field(default_factory=list)
    below: list[_Node] = field(default_factory=list)
    x: float = 0.0

    @property
    def width(self) -> float:
        return len(self.label) * CHARACTER + PADDING if self.label else POINT

    @property
    def y(self) -> float:
        return MARGIN + self.floor * ROW


def svg() -> str:
    """Return the picture."""
    grid = _grid()
    _place(grid)
    left = min(node.x - node.width / 2 for row in grid for node in row) - MARGIN
    for row in grid:
        for node in row:
            node.x -= left
    width = max(node.x + node.width / 2 for row in grid for node in row) + MARGIN
    height = grid[-1][0].y + HEIGHT + MARGIN
    nodes = [node for row in grid for node in row]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}"'
            f' height="{height:.0f}" role="img" aria-label="Rooms of memory-core and their imports">',
            '<g fill="none" stroke="#8a929c" stroke-width="1.3">',
            *(_arrow(node, target) for node in nodes for target in node.below),
            "</g>",
            '<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, monospace" font-size="13" text-anchor="middle">',
            *(_box(node) for node in nodes if node.label),
            "</g>",
            "</svg>\n",
        ]
    )


def _grid() -> list[list[_Node]]:
    """Return the nodes of each floor, with a point on every floor that an arrow passes."""
    names = {room.name for room in rooms.shown()}
    kept = [floor for floor in rooms.floors() if names & set(floor)]
    grid = [[_Node(name, index) for name in floor if name in names] for index, floor in enumerate(kept)]
    boxes = {node.label: node for row in grid for node in row}
    points: dict[tuple[str, int], _Node] = {(name, node.floor): node for name, node in boxes.items()}
    for name, target in _arrows(boxes):
        upper = boxes[name]
        for floor in range(upper.floor + 1, boxes[target].floor + 1):
            if (target, floor) not in points:  # arrows to one room share their points
                points[target, floor] = _Node("", floor)
                grid[floor].append(points[target, floor])
            lower = points[target, floor]
            if lower not in upper.below:
                upper.below.append(lower)
                lower.above.append(upper)
            upper = lower
    return grid


def _arrows(boxes: Mapping[str, _Node]) -> list[tuple[str, str]]:
    """Return the imports that lead downwards and do not follow from others."""
    lower = {
        name: {each for each in rooms.rooms()[name].imports if each in boxes and boxes[each].floor > node.floor}
        for name, node in boxes.items()
    }

    @cache
    def reachable(name: str) -> frozenset[str]:
        return frozenset(lower[name]).union(*(reachable(each) for each in lower[name]))

    return [
        (name, target)
        for name in boxes
        for target in boxes
        if target in lower[name] and not any(target in reachable(other) for other in lower[name] - {target})
    ]


def _place(grid: list[list[_Node]]) -> None:
    """Order each floor so that few arrows cross, then move every node as near to its neighbours as its floor allows."""
    for row in grid:
        _settle(row, [0.0] * len(row))
    for sweep in range(24):
        down = sweep % 2 == 0
        for row in grid if down else reversed(grid):
            row.sort(key=lambda node: _middle(node, node.above if down else node.below))
            _settle(row, [_middle(node, [*node.above, *node.below]) for node in row])


def _middle(node: _Node, neighbours: Sequence[_Node]) -> float:
    """Return the mean place of a node's neighbours; the points of one long arrow weigh most, so that it runs straight."""
    weights = [1 if node.label or other.label else STRAIGHTNESS for other in neighbours]
    total = sum(weight * other.x for weight, other in zip(weights, neighbours, strict=True))
    return total / sum(weights) if weights else node.x


def _settle(row: Sequence[_Node], wanted: Sequence[float]) -> None:
    """Give the nodes of a floor, in their order, the places nearest to the wanted ones that keep them apart."""
    packed = list(_packed(row, wanted))
    mirrored = [-x for x in _packed(row[::-1], [-x for x in wanted[::-1]])][::-1]
    for node, left, right in zip(row, packed, mirrored, strict=True):
        node.x = (left + right) / 2


def _packed(row: Sequence[_Node], wanted: Sequence[float]) -> Iterator[float]:
    edge = float("-inf")
    for node, x in zip(row, wanted, strict=True):
        place = max(x, edge + node.width / 2)
        yield place
        edge = place + node.width / 2 + GAP


def _arrow(node: _Node, target: _Node) -> str:
    top, bottom = node.y + HEIGHT, target.y
    middle = (top + bottom) / 2
    end = " m -4 -6 l 4 6 l 4 -6" if target.label else f" V {bottom + HEIGHT:.0f}"
    curve = f"C {node.x:.0f} {middle:.0f} {target.x:.0f} {middle:.0f} {target.x:.0f} {bottom:.0f}"
    return f'<path d="M {node.x:.0f} {top:.0f} {curve}{end}"/>'


def _box(node: _Node) -> str:
    fill = "#8a5a2b" if node.label == rooms.QMD else "#2f6690"
    left, baseline = node.x - node.width / 2, node.y + HEIGHT / 2 + 4.5
    return (
        f'<rect x="{left:.0f}" y="{node.y:.0f}" width="{node.width:.0f}" height="{HEIGHT}" rx="6" fill="{fill}"/>'
        f'<text x="{node.x:.0f}" y="{baseline:.1f}" fill="#ffffff">{escape(node.label)}</text>'
    )
