"""Keys, headers and endpoints of remote providers, and what `auto` picks.

A key is looked for in this order: memorySearch.remote, models.providers, the host's `resolve_api_key`, the environment.
Keys and header values stay inside `Secret` until the request that needs them.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit

from memory_core.embeddings.models import PROVIDERS, ProviderRow
from memory_core.errors import ProviderUnavailable
from memory_core.settings import AgentConfig, ProviderAccount, Secret

ResolveApiKey = Callable[[str], str | None]

# Order of `auto`, after a local model file.
AUTOMATIC = ("openai", "gemini", "voyage", "mistral")

_KEY_SHAPES = re.compile(
    r"\b(?:sk|pk|pa|rk)-[\w-]{12,}|\bAIza[\w-]{20,}|(?i:bearer)\s+[\w.~+/=-]{8,}|(?i:[?&](?:api_)?key=)[^&\s'\"]+"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundKey:
    """A key and where it was found, such as "models.providers.openai" or "OPENAI_API_KEY"."""

    key: Secret
    origin: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """Where a provider's requests go.

    Attributes:
        provider: The provider's id.
        base_url: Without a slash at its end; None when litellm knows it.
        api_key: None when there is none and none is needed.
        headers: Sent besides, by name as it was configured.
        timeout_seconds: Of one request.
    """

    provider: str
    base_url: str | None
    api_key: Secret | None
    headers: Mapping[str, Secret]
    timeout_seconds: float

    @property
    def fingerprint(self) -> str:
        """Names the endpoint without its secrets: the host stands plainly, the path (it may hold a token) as a hash."""
        if self.base_url is None:
            return ""
        path = urlsplit(self.base_url).path.rstrip("/")
        digest = hashlib.blake2s(path.encode(), digest_size=6).hexdigest()
        return f"{origin(self.base_url)}/{digest}" if path else origin(self.base_url)

    @property
    def secrets(self) -> tuple[str, ...]:
        """What no message may contain."""
        key = (self.api_key.reveal(),) if self.api_key else ()
        url = urlsplit(self.base_url or "")
        held = (*key, *(value.reveal() for value in self.headers.values()), url.password or "", url.query)
        return tuple(secret for secret in held if len(secret) >= 4)


def origin(url: str) -> str:
    """Scheme, host and port of a URL, without user, path and query: fit for messages."""
    parts = urlsplit(url)
    host = f"[{parts.hostname}]" if parts.hostname and ":" in parts.hostname else parts.hostname or ""
    return f"{parts.scheme}://{host}:{parts.port}" if parts.port else f"{parts.scheme}://{host}"


def scrubbed(text: str, secrets: tuple[str, ...] = (), *, limit: int = 300) -> str:
    """A foreign message fit to be shown, on one line: known secrets and what looks like a key are struck out."""
    for secret in sorted(secrets, key=len, reverse=True):
        text = text.replace(secret, "***")
    line = " ".join(_KEY_SHAPES.sub("***", text).split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def resolve_endpoint(
    config: AgentConfig,
    provider: str,
    *,
    environ: Mapping[str, str],
    resolve_api_key: ResolveApiKey | None,
    vendor: str = "",
) -> Endpoint:
    """The endpoint of a provider, from `memorySearch.remote`, `models.providers` and the environment.

    Args:
        vendor: Whose account and key serve besides, when the provider is a mere way to others ("cohere").

    Raises:
        ProviderUnavailable: There is no key, no URL, or one that no request can carry.
    """
    row = PROVIDERS[provider]
    if vendor:
        row = replace(row, accounts=(*row.accounts, vendor))
    places = _key_places(config, row, vendor or provider, environ, resolve_api_key)
    found = _first_key(places)
    if found is None and row.needs_key:
        raise _no_key(provider, row)
    endpoint = Endpoint(
        provider=provider,
        base_url=_base_url(config, provider, row),
        api_key=found.key if found else None,
        headers=merged_headers(config, row),
        timeout_seconds=config.search.remote.timeout_seconds,
    )
    _check_carriable(endpoint)
    return endpoint


def find_key(
    config: AgentConfig, provider: str, *, environ: Mapping[str, str], resolve_api_key: ResolveApiKey | None
) -> FoundKey | None:
    """The first key that is set for a provider, without white space around it, and where; None when there is none."""
    return _first_key(_key_places(config, PROVIDERS[provider], provider, environ, resolve_api_key))


def choose_provider(
    config: AgentConfig, *, environ: Mapping[str, str], resolve_api_key: ResolveApiKey | None = None
) -> tuple[str, str]:
    """Which provider serves, and why, one clause: the configured one, or for "auto" the first that can work.

    Opens nothing: a model file is looked for, keys are looked up.
    """
    if config.search.provider != "auto":
        return config.search.provider, "memorySearch.provider names it"
    if (path := local_file(config)) and path.is_file():
        return "local", "memorySearch.local.modelPath is a file"
    for provider in AUTOMATIC:
        found = find_key(config, provider, environ=environ, resolve_api_key=resolve_api_key)
        if found:
            return provider, f"a key was found in {found.origin}"
    return "static", "no key and no local model file were found"


def local_file(config: AgentConfig) -> Path | None:
    """`local.modelPath` as an absolute path, relative ones to the workspace; None for an hf: URI and when not set."""
    configured = config.search.local.model_path
    if not configured or configured.startswith("hf:"):
        return None
    return config.workspace / Path(configured).expanduser()


def merged_headers(config: AgentConfig, row: ProviderRow) -> dict[str, Secret]:
    """Headers of `models.providers` and of `memorySearch.remote`; the latter win, whatever the case of the name."""
    merged: dict[str, tuple[str, Secret]] = {}
    for _, account in reversed(list(_accounts(config, row))):
        merged |= {name.lower(): (name, value) for name, value in account.headers.items()}
    merged |= {name.lower(): (name, value) for name, value in config.search.remote.headers.items()}
    return dict(merged.values())


def _first_key(places: Iterable[tuple[str | None, str]]) -> FoundKey | None:
    kept = ((value.strip(), where) for value, where in places if value and value.strip())
    return next((FoundKey(key=Secret(value), origin=where) for value, where in kept), None)


def _key_places(
    config: AgentConfig,
    row: ProviderRow,
    provider: str,
    environ: Mapping[str, str],
    resolve_api_key: ResolveApiKey | None,
) -> Iterator[tuple[str | None, str]]:
    remote = config.search.remote.api_key
    yield (remote.reveal() if remote else None), "memorySearch.remote.apiKey"
    for name, account in _accounts(config, row):
        yield (account.api_key.reveal() if account.api_key else None), f"models.providers.{name}"
    if resolve_api_key is not None:
        yield resolve_api_key(provider), "the host"
    for variable in row.environment:
        yield environ.get(variable), variable


def _accounts(config: AgentConfig, row: ProviderRow) -> Iterator[tuple[str, ProviderAccount]]:
    for name in row.accounts:
        if name in config.providers:
            yield name, config.providers[name]


def _base_url(config: AgentConfig, provider: str, row: ProviderRow) -> str | None:
    configured = [account.base_url for _, account in _accounts(config, row)]
    url = next((url for url in (config.search.remote.base_url, *configured, row.base_url) if url), None)
    if url is None and provider == "openai-compatible":
        raise _unusable(
            provider, "no URL is configured", "Set memorySearch.remote.baseUrl, such as http://127.0.0.1:8000/v1."
        )
    return url.strip().rstrip("/") if url else None


def _check_carriable(endpoint: Endpoint) -> None:
    """Refuse what an HTTP library would refuse with a message that quotes it."""
    values = [*endpoint.headers.values(), *([endpoint.api_key] if endpoint.api_key else [])]
    if not all(re.fullmatch(r"[\x20-\x7e]*", value.reveal()) for value in values):
        raise _unusable(
            endpoint.provider, "its key or a header has characters that no header can carry", "Check the key."
        )
    if not all(re.fullmatch(r"[!#$%&'*+.^_`|~\w-]+", name, re.ASCII) for name in endpoint.headers):
        raise _unusable(endpoint.provider, "a header's name is no header name", "Check memorySearch.remote.headers.")
    if endpoint.base_url is not None and not _is_http_url(endpoint.base_url):
        raise _unusable(endpoint.provider, "its URL is no http or https URL", "Check memorySearch.remote.baseUrl.")


def _is_http_url(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:  # the port is no number, or the host no address
        return False


def _no_key(provider: str, row: ProviderRow) -> ProviderUnavailable:
    variables = " or ".join(row.environment)
    return _unusable(provider, "there is no API key", f"Set {variables}, or memorySearch.remote.apiKey.")


def _unusable(provider: str, message: str, action: str) -> ProviderUnavailable:
    error = ProviderUnavailable(provider, message, action=action)
    error.retryable = False
    return error
