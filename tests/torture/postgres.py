"""kill -9 of writers and of a PostgreSQL server, and leases that end while holders sleep; see `tests.postgres.crew`."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from tests.postgres.crew import Crew
from tests.servers.postgres import RealServer, make_database
from tests.torture.attack import Attack, Outcome

ROUNDS = 6  # twice each thing that is done to them


class PostgresAttack(Attack):
    """See the module. A case is eight writers with a tenant of their own."""

    name: ClassVar[str] = "postgres"
    full: ClassVar[int] = 8
    jobs: ClassVar[int] = 1
    share: ClassVar[float] = 0.12
    limit_seconds: ClassVar[float] = 900.0

    def __init__(self, folder: Path, seed: int) -> None:
        super().__init__(folder, seed)
        self._server: RealServer | None = None

    def run(self, number: int) -> Outcome:
        self._server = self._server or RealServer()
        folder = self.folder / f"case-{number}"
        folder.mkdir(parents=True)
        crew = Crew(folder, self._server, make_database(self._server), seed=self.dice(number).randrange(10**6))
        crew.run(rounds=ROUNDS, pause_seconds=1.0)
        outcome = Outcome()
        for finding in crew.findings:
            what, _, detail = finding.partition(": ")
            outcome.add("lost" if what == "lost" else "down", what, detail)
        outcome.figures.update(crew.done)
        return outcome

    def close(self) -> None:
        if self._server is not None:
            self._server.stop()
            self._server = None
