"""The worth of cosines in a vector space, estimated from the windows that an index holds of it. Pure.

Every model puts unrelated texts elsewhere: all-MiniLM-L6-v2 at cosines around .1, some remote models around .7 (a cone, see
Ethayarajh, https://arxiv.org/abs/1909.00512). Two windows of the same notes are often about one thing, so their mean says
little; the least similar pairs show where the space begins. Above that point all models are taken to be alike: the rest of
the way to 1 is divided as it is in all-MiniLM-L6-v2, measured on the judged conversations and the nonsense of
tests/benchmarks.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from memory_core.records import Calibration

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SAMPLE = 512  # windows whose pairs are compared
UNRELATED = 2.0  # percentile of the cosines of pairs that counts as unrelated
USUAL = 0.08  # that percentile in a model without a cone: .05 to .14 on five conversations, .05 on all of them
# A few windows of one note are all alike: with 7 to 23 the percentile was up to .42 above the usual. So an excess below DOUBT
# divided by the root of the number of windows is no sign of a cone; one of 1.5 times as much is taken for a cone as a whole.
DOUBT = 1.3
FLOOR, FLOOR_GROWTH = 0.02, 0.058  # in a model without a cone; see `estimate`
SPAN = 0.45
CHANGE = 0.1  # of the number of windows, after which the estimate is repeated


def estimate(rows: NDArray[np.float32], windows: int) -> Calibration:
    """Estimate the calibration of a space.

    The best of n unrelated cosines grows with sqrt(2 ln n), as the largest of n normal values does, and so does the floor.

    Args:
        rows: Embeddings of some windows, of unit length or zero, shape (n, dimensions).
        windows: The number of windows in the index.
    """
    return calibrate(_cone(rows), windows)


def calibrate(cone: float, windows: int) -> Calibration:
    """Return the calibration of a space whose unrelated texts lie `cone` above those of a model without a cone, 0..1."""
    floor = FLOOR + FLOOR_GROWTH * math.sqrt(2 * math.log(max(windows, 2)))
    return Calibration(floor=cone + (1 - cone) * floor, span=(1 - cone) * SPAN)


def is_outdated(judged: int, windows: int) -> bool:
    """Return True if the index has grown or shrunk so much that the estimate must be repeated.

    Args:
        judged: The number of windows when the estimate was made.
        windows: Their number now.
    """
    return abs(windows - judged) > CHANGE * judged


def _cone(rows: NDArray[np.float32]) -> float:
    """The distance of unrelated texts from their place in a model without a cone, 0..1; 0 where that is in doubt."""
    import numpy as np

    rows = rows[rows.any(axis=1)]
    if len(rows) < 2:
        return 0.0
    pairs = (rows @ rows.T)[np.triu_indices(len(rows), 1)]
    above = min((float(np.percentile(pairs, UNRELATED)) - USUAL) / (1 - USUAL), 0.99)
    certain = 3 * (above - DOUBT / math.sqrt(len(rows)))
    return max(min(certain, above), 0.0)


DEFAULT = Calibration(floor=0.2, span=SPAN)  # serves until there is an estimate
