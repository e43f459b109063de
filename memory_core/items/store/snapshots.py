"""The items among which a question is answered, in memory: read once, and again after a write has changed the file."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memory_core.items.store import rows
from memory_core.stores.sqlite import Connection

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from memory_core.items.store.vectors import ItemCosines

    Keys = NDArray[np.int64]

KEPT = 4  # filters whose items are kept: 150 bytes for each item, and its text
UNKNOWN = -2.0  # the cosine of an item without an embedding in the space that is asked
_APART = "\0"  # stands between two texts; no text holds it


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The items that meet a condition, in the order of their keys.

    Attributes:
        generation: See `rows.load_generation`.
        keys: Their numbers in the file, ascending.
        reinforced, said: See `Item`.
        texts: What is looked for in their text, case folded, one behind the other.
        starts: The place in `texts` at which that of each item begins.
    """

    generation: str
    keys: Keys
    reinforced: NDArray[np.int64]
    said: NDArray[np.float64]
    texts: str
    starts: NDArray[np.int64]

    def locate(self, keys: Keys) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
        """Return which of some keys are among the items, and the places of those."""
        import numpy as np

        if not len(self.keys):
            return np.zeros(len(keys), dtype=np.bool_), np.zeros(0, dtype=np.int64)
        places = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        held = self.keys[places] == keys
        return held, places[held]

    def align(self, cosines: ItemCosines) -> NDArray[np.float32]:
        """Return a cosine for every item, `UNKNOWN` where there is none."""
        import numpy as np

        aligned = np.full(len(self.keys), UNKNOWN, dtype=np.float32)
        held, places = self.locate(cosines.keys)
        aligned[places] = cosines.values[held]
        return aligned

    def find_text(self, folded: str) -> NDArray[np.int64]:
        """Return the places of the items that hold a case-folded text anywhere, also within words."""
        import numpy as np

        found, at, ends = [], self.texts.find(folded), np.append(self.starts[1:], len(self.texts) + 1)
        while at >= 0:
            place = int(np.searchsorted(self.starts, at, side="right")) - 1
            found.append(place)
            at = self.texts.find(folded, int(ends[place]))
        return np.array(found, dtype=np.int64)


class Snapshots:
    """Keeps the snapshots of the conditions used last. May be used from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._held: OrderedDict[tuple[str, tuple[object, ...]], Snapshot] = OrderedDict()

    def load(self, connection: Connection, where: str, values: Sequence[object]) -> Snapshot:
        """Return the items that meet a condition of `rows.make_condition`, as they are now."""
        generation = rows.load_generation(connection)
        asked = (where, tuple(values))
        with self._lock:
            held = self._held.get(asked)
            if held is not None and held.generation == generation:
                self._held.move_to_end(asked)
                return held
        snapshot = _read(connection, generation, where, values)
        with self._lock:
            self._held[asked] = snapshot
            self._held.move_to_end(asked)
            while len(self._held) > KEPT:
                self._held.popitem(last=False)
        return snapshot


def _read(connection: Connection, generation: str, where: str, values: Sequence[object]) -> Snapshot:
    import numpy as np

    found = rows.list_standings(connection, where, values)
    sizes = [len(each.folded) + 1 for each in found]
    return Snapshot(
        generation,
        np.array([each.key for each in found], dtype=np.int64),
        np.array([each.reinforced for each in found], dtype=np.int64),
        np.array([each.said for each in found], dtype=np.float64),
        _APART.join(each.folded for each in found),
        np.cumsum([0, *sizes[:-1]], dtype=np.int64) if found else np.zeros(0, dtype=np.int64),
    )
