"""The error tree. Every error says what is wrong, with what, and what to do.

MemoryCoreError
├── ConfigError                 a configuration cannot be used; carries its problems
├── InvalidArgument             a caller's argument is wrong; names it
├── PathRefused                 a path is outside what this agent's memory serves
├── FileUnreadable              a note cannot be read or is no text; it is skipped and reported
├── NoteNotWritten              a note cannot be appended to
├── SessionsUnusable            the host's sessions.json cannot be read or written; it is left as it is
├── NotIndexed                  there is no index and none may be written
├── StoreError                  the index file cannot be used
│   ├── StoreCorrupt            it is not a database of ours, or damaged
│   ├── StoreTooNew             a newer version of memory-core wrote it
│   ├── StoreReadOnly           it cannot be written
│   └── StoreFull               no space is left for it
├── SyncBusy                    another process syncs this index
├── SyncStopped                 the memory was closed while it was being brought level
├── ProviderError               embeddings cannot be had; carries the provider
│   ├── ProviderUnavailable     not installed, no key, no model file, out of order
│   │   └── ProviderUnreachable no connection could be made
│   ├── AuthenticationFailed    the key was refused; not retried
│   ├── QuotaExhausted          no credit left; not retried
│   ├── RateLimited             asked to slow down; carries the pause
│   ├── InputTooLarge           the request or a text exceeds the model's limit
│   ├── RequestTimeout          no answer in time
│   └── InvalidEmbedding        wrong count, dimensions or values came back
└── BackendError                a backend cannot be loaded, or broke its contract
    └── BackendUnavailable      it cannot answer now; another one should
        └── BackendIndexEmpty   it works, but has indexed nothing yet; no failure of its
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


class MemoryCoreError(Exception):
    """Root of all errors that memory-core raises on purpose.

    Attributes:
        action: What the user can do about it, one sentence; empty when nothing helps.
    """

    def __init__(self, message: str, *, action: str = "") -> None:
        super().__init__(message)
        self.action = action


@dataclass(frozen=True, slots=True)
class ConfigProblem:
    """One thing wrong with a configuration.

    Attributes:
        key: Dotted path as the document spells it, such as `memory.qmd.limits`; empty for the whole document.
        message: What was found and what was expected.
    """

    key: str
    message: str

    def __str__(self) -> str:
        return f"{self.key}: {self.message}" if self.key else self.message


class ConfigError(MemoryCoreError):
    """A configuration cannot be used.

    Attributes:
        origin: The file, or what else the values came from ("environment", "mapping").
        problems: Every problem found, in document order, at least one.
    """

    def __init__(self, problems: Sequence[ConfigProblem], *, origin: str, action: str = "") -> None:
        super().__init__("; ".join(f"{origin}: {problem}" for problem in problems), action=action)
        self.problems = tuple(problems)
        self.origin = origin


class InvalidArgument(MemoryCoreError):
    """A caller's argument is wrong.

    Attributes:
        argument: The argument's name as the caller spells it.
    """

    def __init__(self, argument: str, message: str, *, action: str = "") -> None:
        super().__init__(f"{argument}: {message}", action=action)
        self.argument = argument


class PathRefused(MemoryCoreError):
    """A path is outside what this agent's memory serves; says why.

    Attributes:
        path: The path as the caller spelt it.
    """

    def __init__(self, path: str, reason: str, *, action: str = "") -> None:
        super().__init__(f"{path}: {reason}", action=action)
        self.path = path


class FileUnreadable(MemoryCoreError):
    """A note cannot be read, or is no text; it is skipped and reported, and the rest goes on.

    Attributes:
        path: The note as it is shown to the agent.
        reason: Why, without the path.
    """

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path = path
        self.reason = reason


class NoteNotWritten(MemoryCoreError):
    """A note cannot be appended to; says why. What was begun is finished by the next append.

    Attributes:
        path: The note as it is shown to the agent.
    """

    def __init__(self, path: str, reason: str, *, action: str = "") -> None:
        super().__init__(f"{path}: {reason}", action=action)
        self.path = path


class SessionsUnusable(MemoryCoreError):
    """The host's `sessions.json` cannot be read or written; it is left as it is.

    Attributes:
        path: The file.
    """

    def __init__(self, path: Path, reason: str, *, action: str = "") -> None:
        super().__init__(f"{path}: {reason}", action=action)
        self.path = path


class NotIndexed(MemoryCoreError):
    """There is no index, and this session may not write one."""


class StoreError(MemoryCoreError):
    """The index file cannot be used.

    Attributes:
        path: The index file.
    """

    def __init__(self, path: Path, message: str, *, action: str = "") -> None:
        super().__init__(f"{path}: {message}", action=action)
        self.path = path


class StoreCorrupt(StoreError):
    """The file is not a database of ours, or it is damaged."""


class StoreTooNew(StoreError):
    """A newer version of memory-core wrote the file."""


class StoreReadOnly(StoreError):
    """The file, its folder or its file system cannot be written."""


class StoreFull(StoreError):
    """No space is left for the index."""


class SyncBusy(MemoryCoreError):
    """Another process syncs this index; what is there can be searched meanwhile."""


class SyncStopped(MemoryCoreError):
    """The memory was closed while it was being brought level; what was committed stays good."""


class ProviderError(MemoryCoreError):
    """Embeddings cannot be had.

    Attributes:
        provider: The provider's id, such as `openai`.
        told: The message without that id before it.
        retryable: Whether the same request may succeed later without a change by the user.
    """

    retryable = False

    def __init__(self, provider: str, message: str, *, action: str = "") -> None:
        super().__init__(f"{provider}: {message}", action=action)
        self.provider = provider
        self.told = message


class ProviderUnavailable(ProviderError):
    """The provider cannot be opened, or is out of order: not installed, no key, no model file, a server error."""

    retryable = True


class ProviderUnreachable(ProviderUnavailable):
    """No connection could be made: no network, no such host, nobody listens."""


class AuthenticationFailed(ProviderError):
    """The key was refused."""


class QuotaExhausted(ProviderError):
    """The account has no credit left."""


class RateLimited(ProviderError):
    """The provider asked to slow down.

    Attributes:
        retry_after_seconds: The pause it asked for; None when it named none.
    """

    retryable = True

    def __init__(
        self, provider: str, message: str, *, retry_after_seconds: float | None = None, action: str = ""
    ) -> None:
        super().__init__(provider, message, action=action)
        self.retry_after_seconds = retry_after_seconds


class InputTooLarge(ProviderError):
    """The request, or one text in it, exceeds a limit of the model."""


class RequestTimeout(ProviderError):
    """No answer came in time."""

    retryable = True


class InvalidEmbedding(ProviderError):
    """The provider's answer has the wrong count, dimensions or values."""

    retryable = True


class BackendError(MemoryCoreError):
    """A backend cannot be loaded, or broke the contract of the hookspec.

    Attributes:
        backend: The name under which it was asked for.
        reason: The message, where it is plain which backend is meant.
    """

    def __init__(self, backend: str, message: str, *, action: str = "") -> None:
        super().__init__(f"backend {backend!r}: {message}", action=action)
        self.backend = backend
        self.reason = message


class BackendUnavailable(BackendError):
    """The backend cannot answer now; the selector lets builtin answer instead.

    Attributes:
        counts_as_failure: Whether the selector's circuit breaker counts it.
    """

    counts_as_failure = True


class BackendIndexEmpty(BackendUnavailable):
    """The backend works, but its index is empty while there are files; builtin answers and the breaker stays."""

    counts_as_failure = False
