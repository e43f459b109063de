"""The error tree. Every error names the thing, says what is wrong with it, and what to do.

MemoryCoreError
├── ConfigError                 a configuration cannot be used; carries its problems
├── InvalidArgument             a caller's argument is wrong; names it
├── PathRefused                 a path is outside what this agent's memory serves
├── FileUnreadable              a note cannot be read or is no text; it is skipped and reported
├── NoteNotWritten              a note cannot be appended to, or changed
│   └── NoteChanged             it was changed since the change was proposed; nothing was written
├── SessionsUnusable            the host's sessions.json cannot be read or written; it is left as it is
├── MemoryOff                   memory is switched off for this agent
├── MemoryClosed                the memory or the slot was closed; open a new one
├── NotIndexed                  there is no index, and the session may not write one
│   └── OtherWorkspace          the index holds the notes of another workspace
├── HistoryUnavailable          the history does not reach back to the time asked for, or none is kept
├── SharingFailed               notes cannot be synced with those of other machines
│   └── RemoteUnreachable       the remote does not answer, or refuses the credentials; it is tried again
├── TextInUse                   a text cannot be purged from the past while something that stands holds it
├── NotUndone                   the last decision about a proposal cannot be taken back, or there is none
├── StoreError                  the index file cannot be used
│   ├── StoreCorrupt            it is no database of memory-core, or damaged
│   ├── StoreTooNew             a newer version of memory-core wrote it
│   ├── StoreReadOnly           it cannot be written
│   └── StoreFull               no space is left for it
├── SyncBusy                    another process is syncing this index
├── SyncStopped                 the memory was closed during a sync
├── ProviderError               no embeddings can be had; carries the provider
│   ├── ProviderUnavailable     not installed, no key, no model file, server error
│   │   └── ProviderUnreachable no connection could be made
│   ├── AuthenticationFailed    the key was refused; not retried
│   ├── QuotaExhausted          no credit left; not retried
│   ├── RateLimited             the provider asked to slow down; carries the pause
│   ├── InputTooLarge           the request or a text exceeds the model's limit
│   ├── RequestTimeout          no answer in time
│   └── InvalidEmbedding        wrong count, dimensions or values came back
│       └── TextRefused         the provider embeds other texts, and this one not
└── BackendError                a backend cannot be loaded, or broke its contract
    └── BackendUnavailable      it cannot answer now; another one does
        ├── BackendIndexEmpty   it works, but has indexed nothing yet; not counted as a failure
        └── BackendRefused      it works, but takes no notes of this workspace; not counted as a failure
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from logging import Logger
from pathlib import Path


class MemoryCoreError(Exception):
    """The root of all errors that memory-core raises on purpose.

    Attributes:
        action: What the user can do about it, one sentence; "" if nothing helps.
    """

    def __init__(self, message: str, *, action: str = "") -> None:
        super().__init__(message)
        self.action = action


@dataclass(frozen=True, slots=True)
class ConfigProblem:
    """One thing wrong with a configuration.

    Attributes:
        key: The dotted path as the document spells it, such as `memory.qmd.limits`; "" for the whole document.
        message: What was found, and what was expected.
    """

    key: str
    message: str

    def __str__(self) -> str:
        return f"{self.key}: {self.message}" if self.key else self.message


class ConfigError(MemoryCoreError):
    """A configuration cannot be used.

    Attributes:
        origin: The file or other source of the values ("environment", "mapping").
        problems: Every problem found, in document order, at least one; a text alone is one of the whole document.
    """

    def __init__(self, problems: Sequence[ConfigProblem] | str, *, origin: str, action: str = "") -> None:
        self.problems = (ConfigProblem("", problems),) if isinstance(problems, str) else tuple(problems)
        super().__init__("; ".join(f"{origin}: {problem}" for problem in self.problems), action=action)
        self.origin = origin


class InvalidArgument(MemoryCoreError):
    """A caller's argument is wrong.

    Attributes:
        argument: The argument's name as the caller spells it.
    """

    def __init__(self, argument: str, message: str, *, action: str = "") -> None:
        super().__init__(f"{argument}: {message}", action=action)
        self.argument = argument


def expect(fits: object, argument: str, what: str, given: object) -> None:
    """Raise unless what a caller has given fits.

    Raises:
        InvalidArgument: It does not; names the argument, what was expected, and the type of what was given.
    """
    if not fits:
        raise InvalidArgument(argument, f"expected {what}, not {type(given).__name__}")


class PathRefused(MemoryCoreError):
    """A path is outside what this agent's memory serves; the message says why.

    Attributes:
        path: The path as the caller spelt it.
        reason: Why, without the path.
    """

    def __init__(self, path: str, reason: str, *, action: str = "") -> None:
        super().__init__(f"{path}: {reason}", action=action)
        self.path = path
        self.reason = reason


class FileUnreadable(MemoryCoreError):
    """A note cannot be read, or is no text; it is skipped and reported, and all others are read.

    Attributes:
        path: The path shown to the agent.
        reason: Why, without the path.
    """

    def __init__(self, path: str, reason: str, *, action: str = "") -> None:
        super().__init__(f"{path}: {reason}", action=action)
        self.path = path
        self.reason = reason


class NoteNotWritten(MemoryCoreError):
    """A note cannot be appended to or changed; the message says why. The next append finishes one that was interrupted.

    Attributes:
        path: The path shown to the agent.
    """

    def __init__(self, path: str, reason: str, *, action: str = "") -> None:
        super().__init__(f"{path}: {reason}", action=action)
        self.path = path


class NoteChanged(NoteNotWritten):
    """A note was changed since an edit of it was proposed; nothing was written, and it is looked at anew."""

    def __init__(self, path: str) -> None:
        super().__init__(path, "was changed meanwhile; nothing was written", action="run: memory-core review")


class SessionsUnusable(MemoryCoreError):
    """The host's `sessions.json` cannot be read or written; it is left as it is.

    Attributes:
        path: The file.
    """

    def __init__(self, path: Path, reason: str, *, action: str = "") -> None:
        super().__init__(f"{path}: {reason}", action=action)
        self.path = path


class MemoryOff(MemoryCoreError):
    """Memory is switched off for this agent, so that nothing is read, embedded or written.

    Attributes:
        reason: The setting that switches it off.
    """

    def __init__(self, reason: str, *, action: str = "") -> None:
        super().__init__(f"memory is off for this agent: {reason}", action=action)
        self.reason = reason


class MemoryClosed(MemoryCoreError):
    """The memory or the slot was closed; only a new one answers."""

    def __init__(self) -> None:
        super().__init__("this memory was closed", action="open a new one: open_memory() or MemorySlot()")


class NotIndexed(MemoryCoreError):
    """There is no index, and this session may not write one."""


class OtherWorkspace(NotIndexed):
    """The index holds the notes of another workspace, so that for this one nothing is indexed.

    Attributes:
        path: The index.
        held: The workspace whose notes it holds; None if it does not say.
    """

    def __init__(self, path: Path, held: str | None, wanted: str, *, action: str) -> None:
        whose = "does not say whose notes it holds" if held is None else f"holds the notes of {held}, not of {wanted}"
        super().__init__(f"not indexed: {path} {whose}", action=action)
        self.path = path
        self.held = held


def refuse_past(backend: str) -> InvalidArgument:
    """Return the error of a question about the past to a backend that keeps no history."""
    return InvalidArgument(
        "asOf", f"the backend {backend!r} keeps no history", action='leave it out, or set memory.backend to "builtin"'
    )


def refuse_relations(argument: str, backend: str) -> InvalidArgument:
    """Return the error of a question about a name to a backend that does not know what is related."""
    action = f'{"leave it out, or " if argument == "about" else ""}set memory.backend to "builtin"'
    return InvalidArgument(argument, f"the backend {backend!r} cannot tell what is related to a name", action=action)


class HistoryUnavailable(MemoryCoreError):
    """The history does not reach back to the time that was asked for, or none is kept."""


class SharingFailed(MemoryCoreError):
    """Notes cannot be synced with those of other machines; they stay as they are."""


class RemoteUnreachable(SharingFailed):
    """The remote does not answer, or refuses the credentials; the next sync tries it again."""


class TextInUse(MemoryCoreError):
    """A text cannot be purged from the past, because something holds it that stands today."""


class NotUndone(MemoryCoreError):
    """The last decision about a proposal cannot be taken back, or there is none."""


class StoreError(MemoryCoreError):
    """The index file cannot be used.

    Attributes:
        path: The index file.
        reason: The message without the path before it.
    """

    def __init__(self, path: Path, message: str, *, action: str = "") -> None:
        super().__init__(f"{path}: {message}", action=action)
        self.path = path
        self.reason = message


class StoreCorrupt(StoreError):
    """The file is no database of memory-core, or it is damaged."""


class StoreTooNew(StoreError):
    """A newer version of memory-core wrote the file."""


class StoreReadOnly(StoreError):
    """The file, its folder or its file system cannot be written."""


class StoreFull(StoreError):
    """No space is left for the index."""


class SyncBusy(MemoryCoreError):
    """Another process is syncing this index; it can be searched meanwhile."""


class SyncStopped(MemoryCoreError):
    """The memory was closed during a sync; all committed changes remain."""


class ProviderError(MemoryCoreError):
    """No embeddings can be had.

    Attributes:
        provider: The provider's id, such as `openai`.
        reason: The message without that id before it.
        retryable: The same request may succeed later without a change by the user.
        about_text: One text in the request may be the reason, while the provider embeds others.
    """

    retryable = False
    about_text = False

    def __init__(self, provider: str, message: str, *, action: str = "") -> None:
        super().__init__(f"{provider}: {message}", action=action)
        self.provider = provider
        self.reason = message


class ProviderUnavailable(ProviderError):
    """The provider cannot be opened, or fails: not installed, no key, no model file, a server error."""

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
        retry_after_seconds: The pause it asked for; None if it named none.
    """

    retryable = True

    def __init__(
        self, provider: str, message: str, *, retry_after_seconds: float | None = None, action: str = ""
    ) -> None:
        super().__init__(provider, message, action=action)
        self.retry_after_seconds = retry_after_seconds


class InputTooLarge(ProviderError):
    """The request, or one text in it, exceeds a limit of the model."""

    about_text = True


class RequestTimeout(ProviderError):
    """No answer came in time."""

    retryable = True


class InvalidEmbedding(ProviderError):
    """The provider's answer has the wrong count, dimensions or values."""

    retryable = True
    about_text = True


class TextRefused(InvalidEmbedding):
    """The provider gives no embedding of this one text, and embeds others."""

    retryable = False


class BackendError(MemoryCoreError):
    """A backend cannot be loaded, or broke the contract of the hookspec.

    Attributes:
        backend: The name under which it was asked for.
        reason: The message without that name before it.
    """

    def __init__(self, backend: str, message: str, *, action: str = "") -> None:
        super().__init__(f"backend {backend!r}: {message}", action=action)
        self.backend = backend
        self.reason = message


class BackendUnavailable(BackendError):
    """The backend cannot answer now; the selector lets builtin answer instead.

    Attributes:
        counts_as_failure: The selector's circuit breaker counts it.
    """

    counts_as_failure = True


class BackendIndexEmpty(BackendUnavailable):
    """The backend works, but its index is empty while there are files; builtin answers, and the breaker does not count it."""

    counts_as_failure = False


class BackendRefused(BackendUnavailable):
    """The backend works, but takes no notes of this workspace; builtin answers, and the breaker does not count it."""

    counts_as_failure = False


class LoggedProblems:
    """A context manager that logs a `MemoryCoreError` or an `OSError` of its block as a warning; what follows the block goes on.

    Args:
        log: The logger.
        what: What does not happen because of it, in a few words; a format of `logging`.
        values: Of the format.
    """

    def __init__(self, log: Logger, what: str, *values: object) -> None:
        self._log, self._format, self._values = log, f"{what}: %s", values

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        if not isinstance(error, (MemoryCoreError, OSError)):
            return False
        self._log.warning(self._format, *self._values, error)
        return True
