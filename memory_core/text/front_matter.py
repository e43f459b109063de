"""Front matter: the YAML between two lines of dashes at the beginning of a note; pure.

It is only composed into nodes: no value is constructed, no tag run, no merge expanded, and an alias costs nothing. So neither
its size nor its nesting can do harm, and what is no YAML, or not meant as front matter, counts as text.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import yaml

logger = logging.getLogger(__name__)

MAX_CHARS = 16_384  # of the block; a longer one is text
MAX_NAMES = 64  # aliases and tags together
MAX_NAME_CHARS = 100
MAX_DEPTH = 50  # of lists and mappings, far more than anybody writes

_BLOCK = re.compile(r"\A---[ \t]*\n(.*?)^(?:---|\.\.\.)[ \t]*$", re.DOTALL | re.MULTILINE)
_DATE = re.compile(r"(?<!\d)(\d{4})-(\d\d?)-(\d\d?)(?!\d)", re.ASCII)
_NOTHING = frozenset({"", "~", "null"})


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """The parts of a note's front matter that count.

    Attributes:
        date: `date`, or else `created`, as YYYY-MM-DD; None if neither holds a date.
        aliases: `aliases`, each once.
        tags: `tags` without `#`; each once.
        title: `title`; "" if there is none.
    """

    date: str | None = None
    aliases: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    title: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """Aliases, then tags; each once, at most `MAX_NAMES`."""
        return tuple(dict.fromkeys((*self.aliases, *self.tags)))[:MAX_NAMES]


_NONE = FrontMatter()


def read_front_matter(text: str) -> FrontMatter:
    """Read the front matter of a note; an empty one if it has none."""
    found = _BLOCK.match(text[: MAX_CHARS + 8]) if text.startswith("---") else None
    return _NONE if found is None else _read(found[1])


@lru_cache(maxsize=4)  # a sync asks for the date and the names of one note in turn
def _read(block: str) -> FrontMatter:
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        root = yaml.compose(block, Loader=loader) if _is_shallow(yaml.parse(block, Loader=loader)) else None
    except (yaml.YAMLError, ValueError, OverflowError, RecursionError) as error:
        logger.debug("front matter is no YAML: %s", error)
        return _NONE
    if not isinstance(root, yaml.MappingNode):
        return _NONE
    values = {key.value.lower(): value for key, value in root.value if isinstance(key, yaml.ScalarNode)}
    aliases = _keep(_strings(values, "aliases", ","))
    tags = _keep(tag.lstrip("#") for tag in _strings(values, "tags", r"[,\s]"))
    return FrontMatter(_find_date(values), aliases, tags, next(iter(_keep(_strings(values, "title", None))), ""))


def _keep(names: Iterable[str]) -> tuple[str, ...]:
    """Return names once each, cut to their longest."""
    return tuple(islice((name[:MAX_NAME_CHARS] for name in dict.fromkeys(names) if name), MAX_NAMES))


def _is_shallow(events: Iterable[yaml.Event]) -> bool:
    """Return False if collections are nested deeper than `MAX_DEPTH`: composing them would use up a thread's stack."""
    import yaml

    depth = 0
    for event in events:
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > MAX_DEPTH:
            return False
    return True


def _find_date(values: Mapping[str, yaml.Node]) -> str | None:
    for key in ("date", "created"):
        for value in _strings(values, key, None):
            for year, month, day in _DATE.findall(value):
                try:
                    return date(int(year), int(month), int(day)).isoformat()
                except ValueError:
                    continue  # 2026-02-30 is no date
    return None


def _strings(values: Mapping[str, yaml.Node], key: str, separator: str | None) -> Iterator[str]:
    """Yield the strings under a key, on one line each: of a list, or of one scalar cut at separators."""
    import yaml

    node = values.get(key)
    if isinstance(node, yaml.ScalarNode):
        parts = [node.value] if separator is None else re.split(separator, node.value)
    elif isinstance(node, yaml.SequenceNode):
        parts = [item.value for item in islice(node.value, MAX_NAMES) if isinstance(item, yaml.ScalarNode)]
    else:
        parts = []
    for part in parts:
        line = " ".join(part.split())
        if line.lower() not in _NOTHING:
            yield line
