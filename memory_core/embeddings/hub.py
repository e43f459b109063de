"""Download one model file from a Hugging Face hub, resumed after any interruption, a killed process included.

huggingface_hub finds the file and the user's token. Since its version 2.4 it throws a partial download away when its process
ends, so the bytes are fetched here.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import re
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memory_core.embeddings.failures import lasting
from memory_core.errors import ProviderUnavailable

if TYPE_CHECKING:
    from huggingface_hub import HfFileMetadata

_URI = re.compile(r"hf:(?P<repo>[\w.-]+/[\w.-]+)/(?P<file>[\w.-]+(?:/[\w.-]+)*\.gguf)")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_ATTEMPTS = 5  # in a row without a new byte
_TIMEOUT_SECONDS = 30.0  # for each read, not for the whole

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class HubFile:
    """A file on a hub: `repo` is "owner/name", `path` is inside it."""

    repo: str
    path: str

    @classmethod
    def parse(cls, uri: str) -> HubFile:
        """Read `hf:owner/repo/file.gguf`.

        Raises:
            ProviderUnavailable: It is written otherwise.
        """
        match = _URI.fullmatch(uri)
        if match is None or ".." in match["file"].split("/"):
            message = f"memorySearch.local.modelPath is no hf:owner/repo/file.gguf: {uri}"
            raise lasting(ProviderUnavailable("local", message))
        return cls(match["repo"], match["file"])

    def within(self, folder: Path) -> Path:
        """Where it lies once it is downloaded."""
        return folder.joinpath(*self.repo.split("/"), *self.path.split("/"))


def fetched(file: HubFile, folder: Path, *, endpoint: str | None = None, stop: threading.Event | None = None) -> Path:
    """The file below a folder, downloaded first when it is not there; a download that broke off goes on where it ended.

    Two processes that want the same file download it once.

    Args:
        endpoint: The hub's URL; None is huggingface.co, or what HF_ENDPOINT says.
        stop: Ends the download when set; what came is kept.

    Raises:
        ProviderUnavailable: It cannot be had, or what came is not what the hub announced.
    """
    from filelock import FileLock

    target = file.within(folder)
    if target.is_file():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{target}.lock"):
        if not target.is_file():
            _download(file, target, endpoint, stop or threading.Event())
    return target


def _download(file: HubFile, target: Path, endpoint: str | None, stop: threading.Event) -> None:
    import httpx

    url, found = _found(file, endpoint)
    part = target.with_name(f"{target.name}.{_version(found)}.part")
    log.info("downloading %s", url)
    try:
        with _bar(file.path, found.size) as advance:
            _fill(url, part, found, stop, advance)
        _check(part, found)
    except (httpx.HTTPError, OSError) as error:
        message = f"{file.repo}/{file.path} could not be downloaded: {error}"
        raise ProviderUnavailable("local", message, action="Try again: the download goes on where it ended.") from error
    part.replace(target)


def _found(file: HubFile, endpoint: str | None) -> tuple[str, HfFileMetadata]:
    import huggingface_hub

    url = huggingface_hub.hf_hub_url(file.repo, file.path, endpoint=endpoint)
    try:
        return url, huggingface_hub.get_hf_file_metadata(url, endpoint=endpoint)
    except Exception as error:
        # The hub's errors derive from those of whichever HTTP library its version is built on.
        message = f"{file.repo}/{file.path} cannot be found on the hub: {type(error).__name__}: {error}".splitlines()[0]
        action = "Check memorySearch.local.modelPath and the connection, or download the file and give its path."
        raise ProviderUnavailable("local", message, action=action) from error


def _version(found: HfFileMetadata) -> str:
    """Names the content, so that a partial download of one version is never completed with another."""
    return hashlib.blake2s(f"{found.etag}{found.size}".encode(), digest_size=6).hexdigest()


def _fill(url: str, part: Path, found: HfFileMetadata, stop: threading.Event, advance: Callable[[int], None]) -> None:
    """Bring `part` to its full size, beginning anew after a break as long as bytes keep coming."""
    import httpx

    fruitless = 0
    while found.size is None or _size(part) < found.size:
        before = _size(part)
        try:
            _append(url, part, stop, advance)
        except httpx.TransportError:
            fruitless = 0 if _size(part) > before else fruitless + 1
            if fruitless == _ATTEMPTS:
                raise
            continue
        if found.size is None or _size(part) == before:
            return


def _append(url: str, part: Path, stop: threading.Event, advance: Callable[[int], None]) -> None:
    import httpx
    import huggingface_hub

    have = _size(part)
    headers = {"Range": f"bytes={have}-", "Accept-Encoding": "identity"}
    if token := huggingface_hub.get_token():
        headers["Authorization"] = f"Bearer {token}"
    # httpx drops the authorization header when a redirect leads to another host, which is how the hub hands on to its store.
    with httpx.stream("GET", url, headers=headers, follow_redirects=True, timeout=_TIMEOUT_SECONDS) as answer:
        answer.raise_for_status()
        resumed = answer.status_code == httpx.codes.PARTIAL_CONTENT
        advance(have if resumed else 0)
        with part.open("ab" if resumed else "wb") as out:
            for piece in answer.iter_raw():  # not in larger pieces, which a break would take along
                if stop.is_set():
                    raise ProviderUnavailable("local", "the download was stopped; it goes on where it ended")
                out.write(piece)
                out.flush()
                advance(out.tell())


def _check(part: Path, found: HfFileMetadata) -> None:
    """Large files are named by their SHA-256 on the hub: what came must have it."""
    if found.etag is None or not _SHA256.fullmatch(found.etag):
        return
    with part.open("rb") as content:
        digest = hashlib.file_digest(content, "sha256").hexdigest()
    if digest != found.etag:
        part.unlink()
        raise ProviderUnavailable("local", f"{part.name} is not what the hub announced; it was thrown away")


def _size(path: Path) -> int:
    return path.stat().st_size if path.is_file() else 0


@contextlib.contextmanager
def _bar(name: str, size: int | None) -> Iterator[Callable[[int], None]]:
    """A progress bar on a terminal's standard error, nothing elsewhere; takes the bytes that are there."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    columns: list[Any] = [TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn()]
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(name.rpartition("/")[2], total=size)
        yield lambda done: bar.update(task, completed=done)
