"""Obsidian vaults: which ones hold a folder, and what the settings of each leave out."""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple
from unicodedata import normalize

VAULT = ".obsidian"  # the folder that makes a vault of the one in which it lies
# Files that say what a vault leaves out, and the key of each.
VAULT_SETTINGS = {
    f"{VAULT}/app.json": "userIgnoreFilters",
    f"{VAULT}/templates.json": "folder",
    f"{VAULT}/plugins/templater-obsidian/data.json": "templates_folder",
    f"{VAULT}/plugins/quickadd/data.json": "templateFolderPath",
    f"{VAULT}/daily-notes.json": "template",  # a note
    f"{VAULT}/plugins/periodic-notes/data.json": "template",  # one for each period
}


class Vault(NamedTuple):
    """An Obsidian vault, as its settings stand now.

    Attributes:
        folder: Its real path, with a slash at the end.
        hidden: What the settings leave out, by name, with patterns of relative paths: excluded files, by the beginnings of their
            paths or by regular expressions, the folders of templates, and the templates of daily and periodic notes.
        problem: The reason why nobody knows what is to be left out; None if it is known.
    """

    folder: str
    hidden: tuple[tuple[str, re.Pattern[str]], ...] = ()
    problem: str | None = None

    def list_hiding(self, path: str) -> list[str]:
        """Return the names of what hides a real path in this vault; that of a folder ends with a slash."""
        if not path.startswith(self.folder):
            return []
        below = normalize("NFC", path.removeprefix(self.folder))
        return [name for name, pattern in self.hidden if pattern.match(below)]


def find_vaults(folder: str, known: dict[str, tuple[Vault, ...]]) -> tuple[Vault, ...]:
    """Return the vaults that hold a folder, the outermost first; the folder itself may be one.

    Args:
        folder: A real path without a slash at the end.
        known: Those of folders that were looked at already, which is added to.
    """
    if folder not in known:
        above = posixpath.dirname(folder)
        around = () if above == folder else find_vaults(above, known)
        is_vault = posixpath.lexists(posixpath.join(folder, VAULT))
        known[folder] = (*around, _read_vault(folder)) if is_vault else around
    return known[folder]


def is_regex(name: str) -> bool:
    """Return True for an excluded file of a vault that is a regular expression, else the beginning of paths."""
    return len(name) > 2 and name.startswith("/") and name.endswith("/")


def _read_vault(folder: str) -> Vault:
    start = folder if folder.endswith("/") else f"{folder}/"
    places: list[str] = []
    for file, key in VAULT_SETTINGS.items():
        try:
            named = [*_find_values(_read_settings(start + file), key)]
        except (OSError, ValueError, RecursionError):  # Obsidian may be writing it
            reason = "is no JSON, or cannot be read, so what Obsidian excludes is not known"
            return Vault(start, problem=f"has settings that cannot be used: {start}{file} {reason}")
        for value in named:
            places += [each for each in value if isinstance(each, str) and each] if isinstance(value, list) else []
            if isinstance(value, str) and (place := value.strip("/")):
                places.append(f"{place.removesuffix('.md')}.md" if key == "template" else f"{place}/")
    hidden: dict[str, re.Pattern[str]] = {}
    for place in places:
        wanted = normalize("NFC", place)
        pattern = rf"(?=.*\.md\Z).*?(?:{wanted[1:-1]})" if is_regex(wanted) else re.escape(wanted)
        with suppress(re.error):  # it means something in JavaScript alone
            hidden[place] = re.compile(pattern)
    return Vault(start, tuple(hidden.items()))


def _read_settings(path: str) -> object:
    try:
        return json.loads(Path(path).read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        return None


def _find_values(document: object, key: str) -> Iterator[object]:
    """Yield the values under a key of settings, at any depth."""
    if isinstance(document, dict):
        yield from (document[key],) if key in document else ()
        for value in document.values():
            yield from _find_values(value, key)
