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

from memory_core.atomic import locked, move_into_place
from memory_core.embeddings.credentials import find_credentials
from memory_core.embeddings.error_mapping import scrub
from memory_core.embeddings.protocols import make_unusable
from memory_core.embeddings.remote.http import keep_out_of_logs
from memory_core.errors import ProviderUnavailable

if TYPE_CHECKING:
    from huggingface_hub import HfFileMetadata

_URI = re.compile(r"hf:(?P<repo>[\w.-]+/[\w.-]+)/(?P<file>[\w.-]+(?:/[\w.-]+)*\.gguf)")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_ATTEMPTS = 5  # in a row without a new byte
_TIMEOUT_SECONDS = 30.0  # for each read, not for the whole
LOCK_SECONDS = 3600.0  # that a download waits for that of another process
_MAX_BYTES = 32_000_000_000  # where the hub announces no size; embedding models take at most half of that

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
            ProviderUnavailable: The text is no such URI.
        """
        match = _URI.fullmatch(uri)
        if match is None or ".." in match["file"].split("/"):
            message = f"memorySearch.local.modelPath is no hf:owner/repo/file.gguf: {uri}"
            raise make_unusable("local", message, action="Name a file as hf:owner/repo/file.gguf.")
        return cls(match["repo"], match["file"])

    def within(self, folder: Path) -> Path:
        """Return the path of the downloaded file below a folder."""
        return folder.joinpath(*self.repo.split("/"), *self.path.split("/"))


def fetch(file: HubFile, folder: Path, *, endpoint: str | None = None, stop: threading.Event | None = None) -> Path:
    """Return the file below a folder, after downloading it if need be; a download that broke off goes on where it ended.

    Two processes that want the same file download it once.

    Args:
        file: The file on the hub.
        folder: The folder of all downloaded models.
        endpoint: The hub's URL; None is huggingface.co, or HF_ENDPOINT.
        stop: Ends the download when set; its bytes are kept.

    Raises:
        ProviderUnavailable: It cannot be downloaded, or its content is not what the hub announced.
    """
    target = file.within(folder)
    if target.is_file():
        return target
    try:
        with locked(target.with_name(f"{target.name}.lock"), timeout_seconds=LOCK_SECONDS):
            if not target.is_file():
                _download(file, target, endpoint, stop or threading.Event())
    except TimeoutError as error:
        raise ProviderUnavailable("local", str(error), action="Wait for its download, or end it.") from error
    return target


def _download(file: HubFile, target: Path, endpoint: str | None, stop: threading.Event) -> None:
    import httpx

    url, found = _look_up(file, endpoint)
    # The name of the content, so that a partial download of one version is never completed with another.
    version = hashlib.blake2s(f"{found.etag}{found.size}".encode(), digest_size=6).hexdigest()
    part = target.with_name(f"{target.name}.{version}.part")
    log.info("downloading %s", url)
    try:
        with _show_progress(file.path, found.size) as advance:
            _fill(url, part, found, stop, advance)
        _check(part, found)
    except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
        shown = scrub(str(error), find_credentials(url.partition(file.repo)[0]))
        message = f"{file.repo}/{file.path} could not be downloaded: {shown}"
        raise ProviderUnavailable("local", message, action="Try again: the download goes on where it ended.") from error
    move_into_place(part, target)


def _look_up(file: HubFile, endpoint: str | None) -> tuple[str, HfFileMetadata]:
    import huggingface_hub

    url = huggingface_hub.hf_hub_url(file.repo, file.path, endpoint=endpoint)
    try:
        with keep_out_of_logs():
            return url, huggingface_hub.get_hf_file_metadata(url, endpoint=endpoint)
    except Exception as error:
        # The hub's errors derive from those of whichever HTTP library its version is built on.
        shown = scrub(str(error).partition("\n")[0], find_credentials(url.partition(file.repo)[0]))
        message = f"{file.repo}/{file.path} cannot be found on the hub: {type(error).__name__}: {shown}"
        action = "Check memorySearch.local.modelPath and the connection, or download the file and give its path."
        raise ProviderUnavailable("local", message, action=action) from error


def _fill(url: str, part: Path, found: HfFileMetadata, stop: threading.Event, advance: Callable[[int], None]) -> None:
    """Download `part` to its full size, beginning anew after a break as long as bytes keep coming."""
    import httpx

    fruitless = 0
    while found.size is None or _size(part) < found.size:
        before = _size(part)
        try:
            _append(url, part, found.size or _MAX_BYTES, stop, advance)
        except httpx.TransportError:
            fruitless = 0 if _size(part) > before else fruitless + 1
            if fruitless == _ATTEMPTS:
                raise
            continue
        if found.size is None or _size(part) == before:
            return


def _append(url: str, part: Path, most_bytes: int, stop: threading.Event, advance: Callable[[int], None]) -> None:
    import httpx
    import huggingface_hub

    have = _size(part)
    headers = {"Range": f"bytes={have}-", "Accept-Encoding": "identity"}
    if token := huggingface_hub.get_token():
        headers["Authorization"] = f"Bearer {token}"
    # httpx drops the authorization header when a redirect leads to another host, which is how the hub hands on to its store.
    # Addresses in that store are signed: they are credentials, which httpx would log.
    with (
        keep_out_of_logs(),
        httpx.stream("GET", url, headers=headers, follow_redirects=True, timeout=_TIMEOUT_SECONDS) as answer,
    ):
        answer.raise_for_status()
        resumed = answer.status_code == httpx.codes.PARTIAL_CONTENT
        advance(have if resumed else 0)
        with part.open("ab" if resumed else "wb") as out:
            for piece in answer.iter_raw():  # not in larger pieces, which a break would take along
                if stop.is_set():
                    raise ProviderUnavailable("local", "the download was stopped; it goes on where it ended")
                if out.tell() + len(piece) > most_bytes:
                    out.truncate(0)
                    message = f"the hub sent more than the {most_bytes / 1e9:.1f} GB that it may; all was thrown away"
                    raise make_unusable("local", message)
                out.write(piece)
                out.flush()
                advance(out.tell())


def _check(part: Path, found: HfFileMetadata) -> None:
    """Compare the SHA-256, by which the hub names large files."""
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
def _show_progress(name: str, size: int | None) -> Iterator[Callable[[int], None]]:
    """Show a progress bar on a terminal's standard error, nothing elsewhere. Yields a function that takes the bytes so far."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    columns: list[Any] = [TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn()]
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(name.rpartition("/")[2], total=size)
        yield lambda done: bar.update(task, completed=done)
