"""Digests of the answers to 124 questions: python -m tests.benchmarks.fingerprints WORKSPACE STATE [--save FILE] [--compare FILE]

Run it before and after a change that should change no answer, with the same index: `--save` keeps the answers, and `--compare`
says which of them differ from those that were kept. An index that is missing in STATE is made first.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from datetime import date
from pathlib import Path
from typing import Any

from memory_core.backends.builtin import BuiltinBackend
from memory_core.config.agent import AgentConfig
from memory_core.config.settings import ProviderId, SearchSettings, SyncSettings
from memory_core.hookspecs import BackendContext
from memory_core.records import Query
from tests.benchmarks.daily_notes import questions

COUNT = 124
SETTINGS: dict[str, tuple[ProviderId, dict[str, Any]]] = {
    "vectors and keywords": ("static", {}),
    "all scores": ("static", {"min_score": 0.0, "max_results": 20}),
    "keywords": ("none", {"min_score": 0.0}),
    "one year": ("static", {"after": date(1972, 1, 1), "before": date(1972, 12, 31)}),
}


def answer(workspace: Path, state: Path) -> dict[str, list[Any]]:
    """Return the hits of each question, by setting."""
    found: dict[str, list[Any]] = {}
    for name, (provider, options) in SETTINGS.items():
        store = BuiltinBackend(
            BackendContext(
                config=AgentConfig(
                    agent="main",
                    workspace=workspace,
                    state_dir=state,
                    store_path=state / f"{provider}.sqlite",
                    search=SearchSettings(provider=provider, sync=SyncSettings(on_search=False)),
                )
            )
        )
        if not (state / f"{provider}.sqlite").exists():
            store.memory_sync(force=False, progress=None)
        found[name] = [
            [
                [hit.path, hit.start_line, hit.end_line, round(hit.score, 5), hit.snippet]
                for hit in store.memory_search(Query(text=text, **options)).hits
            ]
            for text in questions(COUNT)
        ]
        store.memory_close()
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("workspace", type=Path)
    parser.add_argument("state", type=Path)
    parser.add_argument("--save", type=Path)
    parser.add_argument("--compare", type=Path)
    options = parser.parse_args()
    found = answer(options.workspace, options.state)
    for name, hits in found.items():
        print(hashlib.blake2b(json.dumps(hits).encode(), digest_size=8).hexdigest(), name)
    if options.save:
        options.save.write_text(json.dumps(found))
    if not options.compare:
        return 0
    kept = json.loads(options.compare.read_text())
    different = 0
    for name, hits in found.items():
        numbers = [n for n, (new, old) in enumerate(zip(hits, kept[name], strict=True)) if new != old]
        different += len(numbers)
        print(f"{name}: {len(numbers)} of {COUNT} answers differ", numbers)
    return int(bool(different))


if __name__ == "__main__":
    sys.exit(main())
