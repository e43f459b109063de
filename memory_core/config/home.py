"""The home folder, which `~` stands for in paths."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import NoReturn

from memory_core.errors import ConfigError, ConfigProblem


def expand_home(path: str | Path, environ: Mapping[str, str] | None = None) -> str:
    """Replace a leading `~` or `~/` by the home folder; `~name` is taken for a file's name.

    Raises:
        ConfigError: The path needs a home folder, and there is none.
    """
    text = os.fspath(path)
    return find_home(environ) + text[1:] if text == "~" or text.startswith("~/") else text


def find_home(environ: Mapping[str, str] | None = None) -> str:
    """Return the home folder: the variable HOME, or if it is not set what the system knows of this user.

    Raises:
        ConfigError: HOME is empty, or is not set and the system knows of no home.
    """
    home = (os.environ if environ is None else environ).get("HOME")
    if home == "":
        _refuse("is empty")
    try:
        return home or str(Path.home())
    except RuntimeError:
        _refuse("is not set, and this user has no home folder")


def _refuse(problem: str) -> NoReturn:
    told = f"{problem}; set HOME, or name the folders with --workspace and --state-dir"
    raise ConfigError([ConfigProblem("HOME", told)], origin="environment")
