"""Keys, headers and endpoints of remote providers.

A key is looked for in this order: memorySearch.remote, models.providers, the host's `resolve_api_key`, the environment.
Keys and header values stay inside `Secret` until the request that needs them. Where notes go to be embedded is said once in the
log before the first of them leave this machine.
"""

from __future__ import annotations

import hashlib
import logging
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple
from urllib.parse import parse_qsl, unquote, urlsplit, urlunsplit

from memory_core.config.agent import AgentConfig
from memory_core.config.fields import Secret
from memory_core.config.settings import ProviderAccount
from memory_core.embeddings.models import PROVIDERS, ProviderRow
from memory_core.embeddings.protocols import make_unusable
from memory_core.records import ResolveApiKey, Space

log = logging.getLogger(__name__)

LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
# Headers whose values are no credentials, and may be as common as "application/json".
_PLAIN_HEADERS = re.compile(
    r"\A(?:accept|user-agent|referer|http-referer|x-title|origin|host|.*version)", re.IGNORECASE
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """The address of a provider's requests, with key and headers.

    Attributes:
        provider: The provider's id.
        base_url: Without a slash at its end; None when litellm knows it.
        api_key: None when there is none and none is needed.
        headers: Sent with every request, by name as it was configured.
        timeout_seconds: Of one request.
    """

    provider: str
    base_url: str | None
    api_key: Secret | None
    headers: Mapping[str, Secret]
    timeout_seconds: float

    @property
    def fingerprint(self) -> str:
        """A name of the endpoint without its secrets: the host as it is, the path (it may hold a token) as a hash."""
        if self.base_url is None:
            return ""
        path = urlsplit(self.base_url).path.rstrip("/")
        digest = hashlib.blake2s(path.encode(), digest_size=6).hexdigest()
        return f"{find_origin(self.base_url)}/{digest}" if path else find_origin(self.base_url)

    @property
    def secrets(self) -> tuple[str, ...]:
        """Texts that no message may contain, whole or in part."""
        headers = [value.reveal() for name, value in self.headers.items() if not _PLAIN_HEADERS.fullmatch(name)]
        held = [word for value in headers for word in value.split()]
        held += [self.api_key.reveal()] if self.api_key else []
        return tuple(secret for secret in (*held, *find_credentials(self.base_url or "")) if len(secret) >= 4)


class KeyPlaces(NamedTuple):
    """The places in which a key is looked for besides the configuration.

    Attributes:
        environ: Environment variables.
        resolve: The host's source of keys, which comes first.
    """

    environ: Mapping[str, str]
    resolve: ResolveApiKey | None = None


def find_credentials(url: str) -> list[str]:
    """Return what may be a credential in a URL: user, password, values of the query, and long words of the path."""
    parts = urlsplit(url)
    found = [parts.username or "", parts.password or ""]
    found += [value for _, value in parse_qsl(parts.query)]
    found += [word for word in parts.path.split("/") if len(word) >= 20]
    return [each for word in found for each in {word, unquote(word)} if len(each) >= 4]


def is_on_this_machine(url: str) -> bool:
    """Return True if the host of a URL is this machine."""
    return urlsplit(url).hostname in LOOPBACK


def find_origin(url: str) -> str:
    """Return scheme, host and port of a URL, without user, path and query: fit for messages. "" for what is no URL."""
    if not _is_http_url(url):
        return ""
    parts = urlsplit(url)
    host = f"[{parts.hostname}]" if parts.hostname and ":" in parts.hostname else parts.hostname or ""
    return f"{parts.scheme}://{host}:{parts.port}" if parts.port else f"{parts.scheme}://{host}"


def resolve_endpoint(config: AgentConfig, provider: str, places: KeyPlaces, *, vendor: str = "") -> Endpoint:
    """Resolve the endpoint of a provider from `memorySearch.remote`, `models.providers` and the environment.

    Args:
        config: Of the agent.
        provider: The provider's id.
        places: Where a key may be, and in its environment a URL.
        vendor: The vendor whose account and key serve too, when the provider passes requests on ("cohere").

    Raises:
        ProviderUnavailable: There is no key, no URL, or one that no request can carry.
    """
    row = PROVIDERS[provider]
    if vendor:
        row = replace(row, accounts=(*row.accounts, vendor))
    found = _find_first(_list_keys(config, row, vendor or provider, places))
    if found is None and row.needs_key:
        action = f"Set {' or '.join(row.environment)}, or memorySearch.remote.apiKey."
        raise make_unusable(provider, "there is no API key", action=action)
    endpoint = Endpoint(
        provider=provider,
        base_url=_find_url(config, provider, row, places.environ),
        api_key=found[0] if found else None,
        headers=merge_headers(config, row),
        timeout_seconds=config.search.remote.timeout_seconds,
    )
    _check_values(endpoint)
    return endpoint


def find_key(config: AgentConfig, provider: str, places: KeyPlaces) -> tuple[Secret, str] | None:
    """Return the first key that is set for a provider, and where, such as "OPENAI_API_KEY"; None when there is none."""
    return _find_first(_list_keys(config, PROVIDERS[provider], provider, places))


def merge_headers(config: AgentConfig, row: ProviderRow) -> dict[str, Secret]:
    """Merge the headers of `models.providers` and of `memorySearch.remote`; the latter win, whatever the case of the name."""
    merged: dict[str, tuple[str, Secret]] = {}
    for _, account in reversed(list(_list_accounts(config, row))):
        merged |= {name.lower(): (name, value) for name, value in account.headers.items()}
    merged |= {name.lower(): (name, value) for name, value in config.search.remote.headers.items()}
    return dict(merged.values())


def _find_first(places: Iterable[tuple[str | None, str]]) -> tuple[Secret, str] | None:
    kept = ((Secret(value.strip()), where) for value, where in places if value and value.strip())
    return next(kept, None)


def _list_keys(
    config: AgentConfig, row: ProviderRow, provider: str, places: KeyPlaces
) -> Iterator[tuple[str | None, str]]:
    remote = config.search.remote.api_key
    yield (remote.reveal() if remote else None), "memorySearch.remote.apiKey"
    for name, account in _list_accounts(config, row):
        yield (account.api_key.reveal() if account.api_key else None), f"models.providers.{name}"
    if places.resolve is not None:
        yield places.resolve(provider), "the host"
    for variable in row.environment:
        yield places.environ.get(variable), variable


def _list_accounts(config: AgentConfig, row: ProviderRow) -> Iterator[tuple[str, ProviderAccount]]:
    for name in row.accounts:
        if name in config.providers:
            yield name, config.providers[name]


def _find_url(config: AgentConfig, provider: str, row: ProviderRow, environ: Mapping[str, str]) -> str | None:
    places = [config.search.remote.base_url, *(account.base_url for _, account in _list_accounts(config, row))]
    places += [_complete_url(environ.get(name, ""), row) for name in row.url_environment]
    url = next((url for url in (*places, row.base_url) if url), None)
    if url is None and provider == "openai-compatible":
        action = "Set memorySearch.remote.baseUrl, such as http://127.0.0.1:8000/v1."
        raise make_unusable(provider, "no URL is configured", action=action)
    return url.strip().rstrip("/") if url else None


def _complete_url(value: str, row: ProviderRow) -> str:
    """Return the base URL that a vendor's variable means: `OLLAMA_HOST` may be "0.0.0.0", without scheme, port and path."""
    value = value.strip().rstrip("/")
    if not value:
        return ""
    url = value if "://" in value else f"http://{value}"
    if not _is_http_url(url):
        return url  # refused later, by the name of the provider
    parts, usual = urlsplit(url), urlsplit(row.base_url or "")
    netloc = parts.netloc
    if parts.port is None and usual.port is not None and parts.scheme == "http":
        netloc = f"{netloc.rstrip(':')}:{usual.port}"
    if parts.hostname == "0.0.0.0":  # noqa: S104 - where a server listens; a client cannot send there
        netloc = netloc.replace("0.0.0.0", "127.0.0.1")  # noqa: S104
    return urlunsplit(parts._replace(netloc=netloc, path=parts.path or row.url_path))


def _check_values(endpoint: Endpoint) -> None:
    """Refuse a key, a header or a URL that an HTTP library would refuse with a message that quotes it.

    Raises:
        ProviderUnavailable: One of them cannot be sent.
    """
    provider = endpoint.provider
    values = [*endpoint.headers.values(), *([endpoint.api_key] if endpoint.api_key else [])]
    if not all(re.fullmatch(r"[\x20-\x7e]*", value.reveal()) for value in values):
        problem = "its key or a header has characters that no header can carry"
        raise make_unusable(provider, problem, action="Check the key.")
    if not all(re.fullmatch(r"[!#$%&'*+.^_`|~\w-]+", name, re.ASCII) for name in endpoint.headers):
        action = "Check memorySearch.remote.headers."
        raise make_unusable(provider, "a header's name is no header name", action=action)
    if endpoint.base_url is not None and not _is_http_url(endpoint.base_url):
        action = "Check memorySearch.remote.baseUrl."
        raise make_unusable(provider, "its URL is no http or https URL", action=action)


def _is_http_url(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return (
            parts.scheme in {"http", "https"}
            and bool(parts.hostname)
            and parts.port != 0
            and not re.search(r"[\x00-\x20\x7f\ud800-\udfff]", url)
        )
    except ValueError:  # the port is no number, or the host no address
        return False


def find_destination(space: Space) -> str | None:
    """Return the place to which texts for a space are sent, for people; None if they stay on this machine."""
    row = PROVIDERS.get(space.provider)
    if row is None or row.route == "local":
        return None
    if not space.endpoint:
        return f"{space.provider} ({space.model})"
    return None if is_on_this_machine(space.endpoint) else f"{space.provider} at {find_origin(space.endpoint)}"


def announce(destination: str, folders: Iterable[Path | str]) -> None:
    """Say where the notes of some folders go from now on, and how they stay here."""
    log.warning(
        'the notes in %s are sent to %s to be embedded; to keep them on this machine, set memorySearch.provider to "static"'
        " (in the environment: MEMORY_CORE_PROVIDER=static)",
        ", ".join(map(str, folders)),
        destination,
    )
