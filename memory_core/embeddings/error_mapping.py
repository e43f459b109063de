"""Refusals of providers: HTTP status and words become errors of our tree, and secrets are struck out of messages.

A server may give a secret back in any spelling: plain, encoded or cut.
"""

from __future__ import annotations

import base64
import json
import logging
import re
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any, TypeVar

from memory_core.embeddings.protocols import make_unusable
from memory_core.errors import (
    AuthenticationFailed,
    InputTooLarge,
    InvalidEmbedding,
    ProviderError,
    ProviderUnavailable,
    QuotaExhausted,
    RateLimited,
    RequestTimeout,
)

T = TypeVar("T")

log = logging.getLogger(__name__)

# Words of OpenAI, Gemini, Voyage, Mistral, Cohere, vLLM, llama.cpp, text-embeddings-inference and Ollama.
_TOO_LARGE = re.compile(
    r"too (?:large|long|many (?:tokens|inputs|texts|items))|maximum context|context length|context size"
    r"|max(?:imum)?[_ ]tokens|max_tokens_per_request|token limit|maximum (?:allowed )?(?:batch|number|input)|batch size"
    r"|at most \d+ (?:requests|texts|inputs)"
    r"|payload size|exceeds? the|array (?:is )?too long|string too long|physical batch",
    re.IGNORECASE,
)
_QUOTA = re.compile(
    r"insufficient_quota|billing|credit balance|out of credits|insufficient (?:credits|funds|balance)|PerDay",
    re.IGNORECASE,
)
# What an endpoint, or a firewall before it, never says of one text alone. Ollama says 500 to a text whose vector is not finite;
# a gateway says 502 to 504 where a text ends the server behind it, or takes that too long.
_OF_NO_TEXT = frozenset({401, 402, 404, 405, 408, 409, 425, 429, 501})
_BAD_KEY = re.compile(r"API key not valid|API_KEY_INVALID")  # Gemini's, with status 400
# Gemini says "exceeded your current quota ... billing" for its limits a minute too, and then names a delay.
_DELAY = re.compile(r'retry(?:Delay"?: ?"| in )([0-9]{1,9}(?:\.[0-9]{1,9})?) ?s', re.IGNORECASE)
_NUMBER = re.compile(r"[0-9]{1,15}(?:\.[0-9]{1,15})?")  # seconds or milliseconds; a longer one is nonsense

_ACCOUNT = frozenset({401, 402, 403, 429})
_KEY_ACTION = "Check the API key: memorySearch.remote.apiKey, models.providers or the environment."
_MODEL_ACTION = "Check memorySearch.model and memorySearch.remote.baseUrl."


def from_status(provider: str, status: int, body: str, headers: Mapping[str, str], *, shown: str) -> ProviderError:
    """Return the error that an HTTP answer of 300 and above stands for.

    Args:
        provider: The provider's id.
        status: The HTTP status.
        body: The answer's text, only searched for known words.
        headers: The answer's, names in lower case.
        shown: The answer's message, without secrets.
    """
    message = f"HTTP {status}: {shown}" if shown else f"HTTP {status}"
    if status == 413 or (status in {400, 422, 500} and _TOO_LARGE.search(body)):
        return InputTooLarge(provider, message)
    error: ProviderError
    if status in _ACCOUNT or (status == 400 and _BAD_KEY.search(body)):
        error = _account_error(provider, status, body, headers, message)
    elif status in {408, 504}:
        error = RequestTimeout(provider, message)
    elif status in {409, 425} or status >= 500:
        error = ProviderUnavailable(provider, message)
    else:
        error = make_unusable(provider, message, action=_MODEL_ACTION)
    error.about_text = status not in _OF_NO_TEXT
    return error


def _account_error(provider: str, status: int, body: str, headers: Mapping[str, str], message: str) -> ProviderError:
    if status in {400, 401, 403}:
        return AuthenticationFailed(provider, message, action=_KEY_ACTION)
    if status == 402 or (_QUOTA.search(body) and ("PerDay" in body or not _DELAY.search(body))):
        return QuotaExhausted(provider, message, action="Add credit to the account, or choose another provider.")
    return RateLimited(provider, message, retry_after_seconds=parse_retry_after(headers, body))


def extract_message(body: str) -> str:
    """Return the message in an error's JSON, in the shapes that vendors use; the text itself when it holds no JSON.

    What stands before the JSON (litellm puts its own words there) is dropped, and so is a traceback behind it.
    """
    text = body.partition("Traceback (most recent call last)")[0]
    found = _find_json(text)
    for key in ("error", "message", "detail"):
        if isinstance(found, dict) and found.get(key):
            found = found[key]
    if found is None:
        return text
    try:
        return found if isinstance(found, str) else json.dumps(found, ensure_ascii=False)
    except RecursionError:
        return text


def _find_json(text: str) -> Any:
    start = text.find("{")
    try:
        return json.JSONDecoder().raw_decode(text, start)[0] if start >= 0 else None
    except (ValueError, RecursionError):
        return None


def parse_retry_after(headers: Mapping[str, str], body: str = "") -> float | None:
    """Return the pause in seconds that an answer asks for; None when it names none.

    RFC 9110 10.2.3 (seconds or a date), OpenAI's `retry-after-ms`, Gemini's `retryDelay` in the body.
    """
    milliseconds = headers.get("retry-after-ms", "")
    if _NUMBER.fullmatch(milliseconds):
        return float(milliseconds) / 1000
    value = headers.get("retry-after", "").strip()
    if _NUMBER.fullmatch(value):
        return float(value)
    if value:
        return _seconds_until(value)
    named = _DELAY.search(body)
    return float(named[1]) if named else None


def _seconds_until(date: str) -> float | None:
    import email.utils

    try:
        return max(0.0, email.utils.parsedate_to_datetime(date).timestamp() - time.time())
    except (TypeError, ValueError, OverflowError, IndexError):  # neither number nor date: as if the header were missing
        return None


async def translate_errors(provider: str, call: Callable[[], Awaitable[T]]) -> T:
    """Await a call to a vendor's code, and raise whatever that raises besides `ProviderError` as one.

    Vendors' modules map the errors that they expect; this is for those that nobody did, in an answer of any shape.

    Raises:
        ProviderError: Raised by the call, or in place of what it raised.
    """
    try:
        return await call()
    except ProviderError:
        raise
    except Exception as error:  # noqa: BLE001 - that it is of no expected kind is the point
        kind = type(error).__name__
    log.debug("a provider's answer led to %s", kind)
    raise InvalidEmbedding(provider, f"its answer cannot be used ({kind})")


class ForeignError(Exception):
    """Replaces another library's error in the chain of causes, because its text or its own causes may hold a key."""

    @classmethod
    def of(cls, error: BaseException, shown: str) -> ForeignError:
        """Name it like the original; `shown` is the message, without secrets."""
        return cls(f"{type(error).__module__}.{type(error).__name__}: {shown}")


_KEY_SHAPES = re.compile(
    r"\b(?:sk|pk|pa|rk)-[\w-]{12,}|\bAIza[\w-]{20,}|(?i:bearer)\s{1,9}[\w.~+/=-]{8,}|(?i:[?&](?:api_)?key=)[^&\s'\"]+"
)
# A piece of this many characters of a key gives it away; vendors themselves show up to seven.
PIECE = 8
_READ_CHARS = 8192  # of a message, of which a line is shown
MASK = "***"

# One character, or what URLs, HTML, JSON and Python write for one, also twice over.
_CHARACTER = re.compile(
    r"%(?:25)*(?P<url>[0-9a-fA-F]{2})"
    r"|&(?:amp;)*#(?:[xX](?P<html>[0-9a-fA-F]{1,6})|(?P<decimal>[0-9]{1,7}));"
    r"|&(?:amp;)*(?P<named>amp|lt|gt|quot|apos);"
    r"|\\+(?:u(?P<json>[0-9a-fA-F]{4})|x(?P<python>[0-9a-fA-F]{2})|(?P<quoted>[\"'/\\]))"
    r"|(?s:.)"
)
_NAMED = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}
_UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def scrub(text: str, secrets: Sequence[str] = (), *, limit: int = 300) -> str:
    """Strike known secrets and texts that look like a key out of a foreign message, and put it on one line.

    Args:
        text: Of the message.
        secrets: What may not be shown, nor any piece of `PIECE` characters of it, however it is encoded.
        limit: The most characters to return.
    """
    text = _strike(text[:_READ_CHARS], secrets)
    line = " ".join(_UNPRINTABLE.sub(" ", _KEY_SHAPES.sub(MASK, text)).split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def _strike(text: str, secrets: Sequence[str]) -> str:
    """Replace every piece of a secret, plain or encoded, by `MASK`."""
    characters, ends = _read(text)
    struck = bytearray(len(text))
    for secret in secrets:
        for form, piece in _forms(secret):
            # Hexadecimal digits come in both cases, and so may whatever a server has folded.
            folded = "".join(map(_fold, form))
            pieces = {folded[at : at + piece] for at in range(max(1, len(folded) - piece + 1))}
            for at in range(len(characters) - piece + 1):
                if characters[at : at + piece] in pieces:
                    first = ends[at - 1] if at else 0
                    struck[first : ends[at + piece - 1]] = b"\1" * (ends[at + piece - 1] - first)
    runs = groupby(zip(text, struck, strict=True), itemgetter(1))
    return "".join(MASK if is_struck else "".join(shown for shown, _ in run) for is_struck, run in runs)


def _read(text: str) -> tuple[str, list[int]]:
    """Return the text without escapes, in lower case, and for each of its characters where that ends in the text."""
    found = [*_CHARACTER.finditer(text)]
    characters = (_unescape(each) if each.lastgroup else each[0] for each in found)
    return "".join(map(_fold, characters)), [each.end() for each in found]


def _fold(character: str) -> str:
    """Return a character in lower case, as one character."""
    lower = character.lower()
    return lower if len(lower) == 1 else character


def _unescape(found: re.Match[str]) -> str:
    kind = str(found.lastgroup)
    value = found[kind]
    if kind == "quoted":
        return value
    if kind == "named":
        return _NAMED[value]
    number = int(value, 10 if kind == "decimal" else 16)
    return chr(number) if number < 0x110000 else "?"


def _forms(secret: str) -> Iterator[tuple[str, int]]:
    """Yield the spellings of a secret, each with the length of the pieces that give it away."""
    whole = len(secret) < PIECE
    raw = secret.encode("utf-8", "replace")
    yield secret, len(secret) if whole else PIECE
    yield raw.hex(), len(raw) * 2 if whole else 2 * PIECE
    for shift in range(3):
        # What stands before the secret moves its six-bit groups; the first and the last of them hold foreign bits.
        inner = base64.b64encode(b"\0" * shift + raw).decode()[4 if shift else 0 : -4 if len(raw) > 3 else None]
        piece = len(inner) if whole else min(len(inner), 4 * PIECE // 3)
        if piece >= 4:
            yield inner, piece
            yield inner.translate(str.maketrans("+/", "-_")), piece
