"""Refusals of vendors, mapped to our errors. The messages are those that their servers send, or their documentation quotes."""

from __future__ import annotations

import email.utils
import time

import pytest

from memory_core.embeddings.error_mapping import from_status, parse_retry_after
from memory_core.errors import (
    AuthenticationFailed,
    InputTooLarge,
    ProviderError,
    ProviderUnavailable,
    QuotaExhausted,
    RateLimited,
    RequestTimeout,
)

GEMINI_MINUTE = (
    '{"error": {"code": 429, "message": "You exceeded your current quota, please check your plan and billing details. '
    'Please retry in 26.6s.", "status": "RESOURCE_EXHAUSTED", "details": [{"retryDelay": "26s"}]}}'
)
GEMINI_DAY = GEMINI_MINUTE.replace('"details": [', '"details": [{"quotaId": "EmbedContentRequestsPerDayPerUser"}, ')


@pytest.mark.parametrize(
    ("status", "body", "kind", "retryable"),
    [
        (401, "Incorrect API key provided", AuthenticationFailed, False),
        (429, "Rate limit reached for text-embedding-3-small", RateLimited, True),
        (429, '{"code": "insufficient_quota"}', QuotaExhausted, False),
        (402, "Insufficient credits", QuotaExhausted, False),
        (429, GEMINI_MINUTE, RateLimited, True),
        (429, GEMINI_DAY, QuotaExhausted, False),
        (413, "", InputTooLarge, False),
        (400, "This model's maximum context length is 8192 tokens", InputTooLarge, False),
        (400, "Requested 410000 tokens, max 300000 tokens per request (max_tokens_per_request)", InputTooLarge, False),
        (400, "* BatchEmbedContentsRequest.requests: at most 100 requests can be in one batch", InputTooLarge, False),
        (400, "Too many inputs in request, split into more batches.", InputTooLarge, False),
        (422, "batch size 64 > maximum allowed batch size 32", InputTooLarge, False),
        (500, "input is too large to process. increase the physical batch size", InputTooLarge, False),
        (400, "'input' is a required property", ProviderUnavailable, False),
        (404, "The model does not exist", ProviderUnavailable, False),
        (408, "", RequestTimeout, True),
        (504, "", RequestTimeout, True),
        (500, "", ProviderUnavailable, True),
        (529, "Overloaded", ProviderUnavailable, True),
        (301, "", ProviderUnavailable, False),
    ],
)
def test_a_refusal_is_understood(status: int, body: str, kind: type[ProviderError], retryable: bool) -> None:
    error = from_status("p", status, body, {}, shown="shown")

    assert type(error) is kind
    assert error.retryable is retryable
    assert str(error) == f"p: HTTP {status}: shown"


@pytest.mark.parametrize(
    ("headers", "body", "expected"),
    [
        ({}, "", None),
        ({"retry-after": "7"}, "", 7),
        ({"retry-after": "7", "retry-after-ms": "250"}, "", 0.25),
        ({"retry-after": "soon"}, "", None),
        ({}, GEMINI_MINUTE, 26.6),
        ({"retry-after": email.utils.formatdate(time.time() - 60, usegmt=True)}, "", 0),
    ],
)
def test_the_pause_that_is_asked_for(headers: dict[str, str], body: str, expected: float | None) -> None:
    assert parse_retry_after(headers, body) == expected


def test_a_date_is_a_pause_too() -> None:
    pause = parse_retry_after({"retry-after": email.utils.formatdate(time.time() + 60, usegmt=True)})

    assert pause is not None
    assert 50 < pause <= 60
