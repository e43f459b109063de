"""The stemmer of the keyword index, and sqlite-vec."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import TypeAlias, cast

from memory_core.stores.sqlite import driver
from memory_core.stores.sqlite.driver import Connection

Tokenize: TypeAlias = Callable[[bytes], list[str]]

TOKENIZER = ("unicode61", "remove_diacritics", "2")


def load_tokenizer(connection: Connection) -> Tokenize:
    """Return the keyword index's own stemmer: from UTF-8 text to its stems, in order."""
    porter = connection.fts5_tokenizer("porter", list(TOKENIZER))

    def tokenize(text: bytes) -> list[str]:
        stems = porter(text, driver.apsw.FTS5_TOKENIZE_DOCUMENT, None, include_offsets=False, include_colocated=False)
        return cast("list[str]", stems)

    return tokenize


def open_tokenizer() -> Tokenize:
    """Return the same stemmer without an index file, for a store that is not SQLite; one for each thread."""
    driver.refuse_inherited(Path(":memory:"))
    return load_tokenizer(driver.apsw.Connection(":memory:"))


def load_vec0(connection: Connection, extension_path: str | None) -> str | None:
    """Load sqlite-vec; return None when it is loaded, else the reason why not, with what to do."""
    library = Path(extension_path).expanduser() if extension_path else _shipped_vec0()
    if library is None:
        return "sqlite-vec is not installed: pip install sqlite-vec"
    if not library.exists():
        return f"{library} does not exist: correct memorySearch.store.vector.extensionPath, or leave it out"
    try:
        connection.enable_load_extension(True)
        connection.load_extension(str(library))
    except driver.apsw.Error as error:
        return f"{library.name} cannot be loaded ({error}): use the sqlite-vec build for this machine"
    finally:
        connection.enable_load_extension(False)
    return None


def _shipped_vec0() -> Path | None:
    """Return the library inside the sqlite_vec package, found without importing it (the import pulls numpy, 120 ms)."""
    spec = find_spec("sqlite_vec")
    if spec is None or spec.origin is None:
        return None
    found = sorted(path for path in Path(spec.origin).parent.glob("vec0.*") if path.suffix in {".so", ".dylib", ".dll"})
    return found[0] if found else None
