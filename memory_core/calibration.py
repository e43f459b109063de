"""What cosines of a vector space are worth, estimated from the windows that an index holds of it. Pure.

Every model puts unrelated texts elsewhere: all-MiniLM-L6-v2 at cosines around .1, some remote models around .7 (a cone, see
Ethayarajh, https://arxiv.org/abs/1909.00512). Two windows of the same notes are often about one thing, so their mean says
little; the pairs that are least alike show where the space begins. From there on all models are taken to be alike: the rest
of the way to 1 is divided as it is in all-MiniLM-L6-v2, measured on the judged conversations and the nonsense of
tests/benchmarks.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from memory_core.hookspecs import Calibration

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SAMPLE = 512  # windows whose pairs are looked at
UNALIKE = 2.0  # percentile of the cosines of pairs that counts as unrelated
USUAL = 0.08  # that percentile in a model without a cone: .05 to .14 on five conversations, .05 on all of them
# Few windows of one note are all alike: of 7 to 23, it was up to .42 above the usual, so what lies within this much, divided
# by the root of the number of windows, is no sign of a cone; what lies 1.5 times as far above is taken for one as a whole.
DOUBT = 1.3
FLOOR, FLOOR_GROWTH = 0.02, 0.058  # in a model without a cone; see `estimated`
SPAN = 0.45
CHANGE = 0.1  # of the number of windows, after which an estimate is made again


def estimated(rows: NDArray[np.float32], windows: int) -> Calibration:
    """The calibration of a space.

    The best of n unrelated cosines grows with sqrt(2 ln n), as the largest of n normal values does, and so does the floor.

    Args:
        rows: Embeddings of some windows, of unit length or zero, shape (n, dimensions).
        windows: How many the index holds.
    """
    cone = _cone(rows)
    floor = FLOOR + FLOOR_GROWTH * math.sqrt(2 * math.log(max(windows, 2)))
    return Calibration(floor=cone + (1 - cone) * floor, span=(1 - cone) * SPAN)


def is_outdated(judged: int, windows: int) -> bool:
    """Whether an estimate made of an index with so many windows has to be made again."""
    return abs(windows - judged) > CHANGE * judged


def _cone(rows: NDArray[np.float32]) -> float:
    """How far unrelated texts lie from where they do in a model without a cone, 0..1; 0 where that is in doubt."""
    import numpy as np

    rows = rows[rows.any(axis=1)]
    if len(rows) < 2:
        return 0.0
    pairs = (rows @ rows.T)[np.triu_indices(len(rows), 1)]
    above = min((float(np.percentile(pairs, UNALIKE)) - USUAL) / (1 - USUAL), 0.99)
    certain = 3 * (above - DOUBT / math.sqrt(len(rows)))
    return max(min(certain, above), 0.0)


DEFAULT = Calibration(floor=0.2, span=SPAN)  # until there is an estimate
