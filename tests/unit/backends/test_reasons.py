"""Reasons taken from errors: the message where that is written for people, and otherwise its type too."""

from __future__ import annotations

import logging

import pytest

from memory_core.backends.breaker import Refused, explain_error, log_error
from memory_core.errors import BackendError, BackendUnavailable


class OutOfPaper(RuntimeError):
    """A plugin's own error."""


REASONS = [
    (KeyError("scope"), "KeyError: 'scope'"),
    (IndexError("list index out of range"), "IndexError: list index out of range"),
    (OutOfPaper("tray 2"), "OutOfPaper: tray 2"),
    (OutOfPaper(), "OutOfPaper"),
    (OSError("the disk is full"), "the disk is full"),
    (TimeoutError("no answer within 4 s"), "no answer within 4 s"),
    (TimeoutError(), "TimeoutError"),
    (Refused("an earlier call has not returned"), "an earlier call has not returned"),
    (BackendError("mine", "it is away"), "it is away"),
    (BackendUnavailable("mine", "it is away", action="call it back"), "it is away; call it back"),
]


@pytest.mark.parametrize(("error", "reason"), REASONS, ids=[reason for _, reason in REASONS])
def test_the_reason(error: Exception, reason: str) -> None:
    assert explain_error(error) == reason


@pytest.mark.parametrize("error", [error for error, _ in REASONS], ids=[reason for _, reason in REASONS])
def test_the_log_always_has_the_type(error: Exception, caplog: pytest.LogCaptureFixture) -> None:
    log_error(logging.getLogger("memory_core.test"), "mine", "failed", error)
    assert caplog.text.count(type(error).__name__) == 1
    assert explain_error(error) in caplog.text
    assert "backend 'mine' failed: " in caplog.text
    assert "Traceback" not in caplog.text


def test_the_log_names_the_type_of_what_the_loader_wrapped(caplog: pytest.LogCaptureFixture) -> None:
    error = BackendError("mine", "it cannot be opened: the disk is full")
    error.__cause__ = OSError("the disk is full")
    log_error(logging.getLogger("memory_core.test"), "mine", "is left out", error)
    assert "backend 'mine' is left out: it cannot be opened: the disk is full (OSError)" in caplog.text


def test_at_level_debug_the_log_has_the_traceback_and_its_causes(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        try:
            try:
                raise OutOfPaper("tray 2")
            except OutOfPaper as error:
                raise BackendError("mine", "it cannot be opened") from error
        except BackendError as error:
            log_error(logging.getLogger("memory_core.test"), "mine", "failed", error)
    assert "OutOfPaper: tray 2" in caplog.text
    assert "Traceback" in caplog.text
