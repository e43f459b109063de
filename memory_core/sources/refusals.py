"""Why a file or a folder is not served, in words that follow its name. Pure."""

from __future__ import annotations

import errno
import os
import re
import stat
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memory_core.records import FileFailure

SYMLINK = "is a symbolic link, which memory ignores"
INSTEAD_OF_LINKS = "put the note itself there, or name the folder that it lies in: memorySearch.extraPaths"
FOLDER = "is a folder"
NO_FILE = "is no regular file"
OUTSIDE = "is not in this agent's memory: MEMORY.md, memory/ and the configured extra paths are"
UTF16 = "is UTF-16: save it as UTF-8"
BINARY = "is binary, or UTF-16: it holds NUL bytes"
NOT_HERE = "is in iCloud alone: open or download it"
TOO_LARGE = "is too large"
NOT_MARKDOWN = "is not Markdown (.md)"
EXCLUDED = "is excluded by the configuration"
HIDDEN = "is left out by Obsidian: it is among its excluded files, or in a folder of templates"
WITH_CONTROLS = "holds control characters"
TOO_LONG = "is too long for a path"
UNFIT_NAME = "has a name with control characters, a backslash or bytes that are no UTF-8"
# So begin the reasons for which something is left out until its owner changes it.
LASTING = (SYMLINK, HIDDEN, TOO_LARGE, NOT_HERE)
_UNFIT = re.compile(
    r"[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\\\ud800-\udfff]|^~$"
)  # breaks citations, JSON or SQLite, or means something else


def is_unfit(name: str) -> bool:
    """Return True if a file or folder cannot be served because of the characters in its name."""
    return _UNFIT.search(name) is not None


def make_printable(path: str) -> str:
    """Replace what a report cannot hold by replacement characters."""
    return _UNFIT.sub("\N{REPLACEMENT CHARACTER}", path)


def quote_name(path: str) -> str:
    """Return a path as a message names it: as it is, or in quotes and escaped if it would break a line or steer a terminal."""
    return ascii(path) if is_unfit(path.replace("\\", "/")) else path


def refuse_type(info: os.stat_result) -> str | None:
    """Return the reason why something is no regular file; None if it is one."""
    if stat.S_ISREG(info.st_mode):
        return None
    if stat.S_ISLNK(info.st_mode):
        return SYMLINK
    return FOLDER if stat.S_ISDIR(info.st_mode) else NO_FILE


def refuse_encoding(data: bytes) -> str | None:
    """Return the reason why bytes are no text in UTF-8; None if they may be read as such."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return UTF16
    return BINARY if b"\0" in data else None


def describe_failure(failure: FileFailure) -> str:
    """Return a sentence on a file that is not indexed: "x.md is left out: it is binary"."""
    speaks_of_it = failure.reason.split(" ", 1)[0] in ("is", "has", "holds")
    return f"{failure.path} is left out: {'it ' if speaks_of_it else ''}{failure.reason}"


def describe_os_error(error: OSError) -> str:
    """Describe an error of the operating system, without the path."""
    return SYMLINK if error.errno == errno.ELOOP else (error.strerror or str(error)).lower()
