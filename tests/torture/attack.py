"""The base of all attacks, the findings of a case, and dice that repeat every case exactly."""

from __future__ import annotations

import json
import random
from collections import Counter
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

Kind = Literal["lost", "leaked", "down"]
KINDS: tuple[Kind, ...] = ("lost", "leaked", "down")


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that must not happen.

    Attributes:
        kind: "lost" (a note, or a file that is not ours), "leaked" (a secret, or a note shown where it must not be), or
            "down" (raised, hung, answered wrong or not at all, used more time or memory than it may).
        what: The class of fault in one line, the same for all its cases.
        detail: What was seen in this case.
    """

    kind: Kind
    what: str
    detail: str = ""


@dataclass(slots=True)
class Outcome:
    """The result of one case; `figures` are counted up over all cases and printed."""

    findings: list[Finding] = field(default_factory=list)
    figures: Counter[str] = field(default_factory=Counter)

    def add(self, kind: Kind, what: str, detail: object = "") -> None:
        """Note a finding; long details are cut."""
        text = str(detail)
        self.findings.append(Finding(kind, what, text if len(text) <= 1500 else f"{text[:1000]} ... {text[-480:]}"))

    def count(self, name: str) -> None:
        """Count one of what is no fault."""
        self.figures[name] += 1

    def dumped(self) -> str:
        """One line for another process."""
        return json.dumps({"findings": [asdict(one) for one in self.findings], "figures": self.figures})

    @classmethod
    def loaded(cls, line: str | bytes) -> Self:
        """The reverse of `dumped`."""
        held: dict[str, Any] = json.loads(line)
        return cls([Finding(**one) for one in held["findings"]], Counter(held["figures"]))


class Attack:
    """Runs cases in a worker process.

    Attributes:
        full: Cases of a whole run.
        group: So many cases in a row share one world and are run by one worker; a single one is repeated from its beginning.
        jobs: Worker processes.
        share: Part of a run's time.
        limit_seconds: A case that takes longer hangs.
    """

    name: ClassVar[str]
    full: ClassVar[int]
    group: ClassVar[int] = 1
    jobs: ClassVar[int] = 2
    share: ClassVar[float] = 0.25
    limit_seconds: ClassVar[float] = 60.0

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder = folder
        self.seed = seed

    def run(self, number: int) -> Outcome:
        """Run one case."""
        raise NotImplementedError

    def close(self) -> None:
        """End what the attack started."""

    def dice(self, number: int, purpose: str = "") -> random.Random:
        """Return dice that fall alike for the same seed, attack, number and purpose, in every process."""
        return random.Random(f"{self.seed} {self.name} {number} {purpose}")
