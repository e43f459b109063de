"""SQLite: connections, pools and lock files, and SQLite's errors as ours. The only importer of the driver."""

from memory_core.stores.sqlite.driver import Connection
from memory_core.stores.sqlite.errors import is_refused_statement, translate_errors
from memory_core.stores.sqlite.extensions import TOKENIZER, load_tokenizer, load_vec0, open_tokenizer
from memory_core.stores.sqlite.files import (
    delete_files,
    exists,
    find_foreign_size,
    identify,
    is_ours,
    needs_check,
    read_header,
)
from memory_core.stores.sqlite.kinds import INDEX, REBUILD, FileKind
from memory_core.stores.sqlite.locks import hold_lock, remove_obstacle
from memory_core.stores.sqlite.opening import PAGE_SIZE, cut_log, drop_pages, open_reader, open_writer
from memory_core.stores.sqlite.pool import ConnectionPool
from memory_core.stores.sqlite.private import PrivatePool
from memory_core.stores.sqlite.rescue import ASIDE, find_damage, set_aside
from memory_core.stores.sqlite.schema import check_version, find_wrong_table, run_migrations, transaction

__all__ = [
    "ASIDE",
    "INDEX",
    "PAGE_SIZE",
    "REBUILD",
    "TOKENIZER",
    "Connection",
    "ConnectionPool",
    "FileKind",
    "PrivatePool",
    "check_version",
    "cut_log",
    "delete_files",
    "drop_pages",
    "exists",
    "find_damage",
    "find_foreign_size",
    "find_wrong_table",
    "hold_lock",
    "identify",
    "is_ours",
    "is_refused_statement",
    "load_tokenizer",
    "load_vec0",
    "needs_check",
    "open_reader",
    "open_tokenizer",
    "open_writer",
    "read_header",
    "remove_obstacle",
    "run_migrations",
    "set_aside",
    "transaction",
    "translate_errors",
]
