"""QMD's own configuration, `index.yml`, which this backend writes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from memory_core.atomic import replace_file
from memory_qmd.collections import Collection
from memory_qmd.home import QmdHome


def write_config(home: QmdHome, present: Sequence[Collection], models: Mapping[str, str]) -> bool:
    """Write `index.yml` as JSON, which is YAML.

    Args:
        home: The home whose configuration it is.
        present: The collections.
        models: "embed", "generate" and "rerank"; with one missing, QMD 2.5 and newer rewrite the file.

    Returns:
        True if the file was missing, outdated or edited, and was therefore written.
    """
    if is_config_current(home, present, models):
        return False
    replace_file(home.config_file, _render(present, models))
    return True


def is_config_current(home: QmdHome, present: Sequence[Collection], models: Mapping[str, str]) -> bool:
    """Return True if `index.yml` is what `write_config` would write."""
    try:
        return home.config_file.read_bytes() == _render(present, models)
    except FileNotFoundError:
        return False


def _render(present: Sequence[Collection], models: Mapping[str, str]) -> bytes:
    document = {
        "collections": {item.name: {"path": str(item.root), "pattern": item.pattern} for item in present},
        "models": dict(models),
    }
    return json.dumps(document, ensure_ascii=False, indent=1).encode()
