"""The protocol of vendors' batch APIs, and reading the JSON that they send."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol

from memory_core.errors import InvalidEmbedding

if TYPE_CHECKING:
    from memory_core.embeddings.vectors import Row


@dataclass(frozen=True, slots=True)
class JobState:
    """The state of a job.

    Attributes:
        phase: "running"; "done", with results that may be partial; or "failed".
        results: What the API needs to fetch the results; "" when there are none. A failed job may have some, too.
        reason: Why it failed.
    """

    phase: Literal["running", "done", "failed"]
    results: str = ""
    reason: str = ""


class BatchApi(Protocol):
    """A vendor's batch protocol. Called in one event loop only; every method raises ProviderError."""

    max_texts: int
    max_bytes: int

    async def submit(self, texts: Mapping[str, str]) -> str:
        """Submit texts by key and return the job's name."""
        ...

    async def fetch_state(self, job: str) -> JobState:
        """Return the state of a job."""
        ...

    async def fetch_results(self, state: JobState, texts: int) -> Mapping[str, Row]:
        """Return raw vectors by key; texts that failed are left out. Refuses more than so many texts can have."""
        ...

    async def cancel(self, job: str) -> None:
        """Stop a job, so that no more of it is paid."""
        ...

    async def close(self) -> None:
        """Close connections."""
        ...


def parse_object(body: bytes, provider: str) -> dict[str, Any]:
    """Read a JSON object.

    Raises:
        InvalidEmbedding: The body is no JSON object.
    """
    try:
        found = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise InvalidEmbedding(provider, "its batch API sent no JSON") from error
    if not isinstance(found, dict):
        raise InvalidEmbedding(provider, "its batch API sent no JSON object")
    return found


def parse_lines(body: bytes) -> Iterator[dict[str, Any]]:
    """Yield the JSON objects of a results file; a line that is none counts as a text that failed."""
    for line in body.splitlines():
        try:
            found = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(found, dict):
            yield found
