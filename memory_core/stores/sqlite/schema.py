"""Numbered migrations, append only; a file's `user_version` is the number of those it has had."""

from __future__ import annotations

from pathlib import Path

from memory_core.stores import sqlite
from memory_core.stores.sqlite import TOKENIZER, Connection

_FIRST = f"""
CREATE TABLE meta (                     -- identity, serving space, generation, last sync, ...
  key   TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE files (
  id       INTEGER PRIMARY KEY,
  source   TEXT    NOT NULL,            -- 'memory' | 'workspace' | 'sessions'
  path     TEXT    NOT NULL,            -- as shown to the agent, POSIX
  hash     BLOB    NOT NULL,            -- blake2b-16 of the bytes; empty before the first success
  mtime_ns INTEGER NOT NULL,
  size     INTEGER NOT NULL,
  date     TEXT,                        -- ISO; file name, first dated heading, or none
  error    TEXT,                        -- why the last sync could not read it; NULL = it could
  UNIQUE (source, path)
) STRICT;

CREATE TABLE chunks (
  id            INTEGER PRIMARY KEY,    -- = chunks_fts.rowid
  file_id       INTEGER NOT NULL REFERENCES files(id) ON DELETE CASCADE,
  start_line    INTEGER NOT NULL,       -- from 1, included
  end_line      INTEGER NOT NULL,
  hash          BLOB    NOT NULL,       -- blake2b-16 of context, overlap and text: what FTS holds
  context       TEXT    NOT NULL,       -- date and heading trail, keyword side only
  text          TEXT    NOT NULL,       -- the quoted lines
  units         BLOB    NOT NULL,       -- start, end, first line, last line of each; see encoding.py
  tokens        BLOB                    -- uint16 token ids of the units, 0xFFFF behind each, perhaps packed; NULL = not computed
) STRICT;
CREATE INDEX chunks_file ON chunks (file_id, start_line);

CREATE TABLE spaces (                   -- one vector space: vectors of two spaces are never compared
  id           INTEGER PRIMARY KEY,
  provider     TEXT    NOT NULL,
  model        TEXT    NOT NULL,
  endpoint     TEXT    NOT NULL,        -- fingerprint, no secrets
  input_type   TEXT    NOT NULL,
  dimensions   INTEGER NOT NULL,
  UNIQUE (provider, model, endpoint, input_type, dimensions)
) STRICT;

CREATE TABLE embedding_cache (          -- the embeddings: content-keyed, immutable, dropped by no rebuild
  id         INTEGER PRIMARY KEY AUTOINCREMENT,  -- never used twice
  space_id   INTEGER NOT NULL REFERENCES spaces(id),
  hash       BLOB    NOT NULL,          -- blake2b-16 of the embedded text
  embedding  BLOB    NOT NULL,          -- little-endian; all zero = has no direction
  updated_at INTEGER NOT NULL,          -- unix seconds in rows of older versions, else 0
  UNIQUE (space_id, hash)
) STRICT;

CREATE TABLE windows (                  -- what is embedded; pending = no row in embedding_cache
  chunk_id   INTEGER NOT NULL REFERENCES chunks(id) ON DELETE CASCADE,
  first      INTEGER NOT NULL,          -- units of the chunk, included
  last       INTEGER NOT NULL,
  hash       BLOB    NOT NULL,          -- blake2b-16 of the window's text: moving text keeps it
  PRIMARY KEY (chunk_id, first)
) STRICT, WITHOUT ROWID;
CREATE INDEX windows_hash ON windows (hash);

-- Contentless: CJK runs are cut into pairs before indexing, so the indexed text is not chunks.text, and an external-content
-- table would delete the wrong postings.
CREATE VIRTUAL TABLE chunks_fts USING fts5 (context, text, content='', contentless_delete=1,
  tokenize="porter {" ".join(TOKENIZER)}");
CREATE VIRTUAL TABLE chunks_terms USING fts5vocab ('chunks_fts', 'row');
"""

# Where the lines of a session's text stand in its log.
_SECOND = """
ALTER TABLE files ADD COLUMN lines BLOB;  -- uint32 for every line of the indexed text: its line in the file; NULL = the same
"""

# What cosines of a space are worth. Without `level`, the next sync estimates it for an index that is there already.
_THIRD = """
ALTER TABLE spaces ADD COLUMN floor REAL;      -- cosines of unrelated text lie below; NULL = not estimated
ALTER TABLE spaces ADD COLUMN span REAL;       -- from the floor to a clear paraphrase
ALTER TABLE spaces ADD COLUMN judged INTEGER;  -- windows that the index held when these were estimated
DELETE FROM meta WHERE key = 'level';
"""

# What late interaction compares. Without `level`, the next sync computes it for an index that is there already.
_FOURTH = """
CREATE TABLE token_bits (
  embedding_id INTEGER PRIMARY KEY REFERENCES embedding_cache(id) ON DELETE CASCADE,
  bits         BLOB NOT NULL            -- see token_bits.py; empty = the model has no vectors of tokens
) STRICT;
DELETE FROM meta WHERE key = 'level';
"""

# More by which a changed file is known. With the defaults, the next sync reads and hashes every file once.
_FIFTH = """
ALTER TABLE files ADD COLUMN ctime_ns INTEGER NOT NULL DEFAULT 0;
ALTER TABLE files ADD COLUMN inode INTEGER NOT NULL DEFAULT 0;
"""

# Filled where the text is cut anew, which the identity of older indexes asks for.
_SIXTH = """
CREATE TABLE word_forms (
  language TEXT NOT NULL,               -- see text/languages.py
  stem     TEXT NOT NULL,
  word     TEXT NOT NULL,               -- of some chunk in that language, lower case
  PRIMARY KEY (language, stem, word)
) STRICT, WITHOUT ROWID;
"""

# From here on embeddings are float16, which older versions would take for damage. The next sync converts those that are float32:
# behind the id in `float32_after`, until the key is gone.
_SEVENTH = """
INSERT INTO meta SELECT 'float32_after', '0' WHERE EXISTS (SELECT 1 FROM embedding_cache);
DELETE FROM meta WHERE key = 'tidied';
"""

# From here on embeddings of the static model are int8, which older versions would take for damage. The next sync converts what an
# older version stored: behind the id in `unpacked_after`, until the key is gone.
_EIGHTH = """
DELETE FROM meta WHERE key = 'float32_after';
INSERT INTO meta SELECT 'unpacked_after', '0' WHERE EXISTS (SELECT 1 FROM embedding_cache);
DELETE FROM meta WHERE key = 'tidied';
"""

# From here on chunks were packed once there were enough of them to choose the codebooks from.
_NINTH = """
CREATE TABLE codebooks (
  kind    TEXT PRIMARY KEY,             -- 'words' | 'tokens'
  entries BLOB NOT NULL                 -- frequent words, or the uint16 ids of frequent tokens
) STRICT, WITHOUT ROWID;
ALTER TABLE chunks ADD COLUMN links INTEGER NOT NULL DEFAULT 1;  -- 0 = the text holds no link and no tag
ALTER TABLE chunks ADD COLUMN packed BLOB;      -- the text, packed, where `text` is empty; NULL = it is in `text`
DELETE FROM meta WHERE key = 'tidied';
"""

# From here on texts stand as they are, a search computes the token ids that it needs, and vectors have the encodings that
# sqlite-vec reads; upgrade.py has converted both before. Without `level`, the next sync writes the signs of large spaces.
_TENTH = """
DROP TABLE codebooks;
ALTER TABLE chunks DROP COLUMN packed;
ALTER TABLE chunks DROP COLUMN tokens;
ALTER TABLE spaces ADD COLUMN encoding TEXT NOT NULL DEFAULT 'float32';  -- 'float32' | 'int8'; see distances.py
ALTER TABLE spaces ADD COLUMN mean BLOB;        -- float32, from which signs are taken; NULL = there are none yet
UPDATE spaces SET encoding = 'int8' WHERE provider = 'static';
CREATE TABLE signs (                    -- of the embeddings of large spaces, for a first choice; see vectors.py
  space_id INTEGER NOT NULL REFERENCES spaces(id),
  first    INTEGER NOT NULL,            -- the first of the ids
  ids      BLOB    NOT NULL,            -- int64, ascending: of embedding_cache
  bits     BLOB    NOT NULL,            -- uint64 words: the first of every embedding, then the second of every one, ...
  PRIMARY KEY (space_id, first)
) STRICT;
DELETE FROM meta WHERE key IN ('plain_after', 'tidied', 'level', 'unpacked_after', 'bits_space', 'bits_last');
"""

MIGRATIONS: tuple[str, ...] = (_FIRST, _SECOND, _THIRD, _FOURTH, _FIFTH, _SIXTH, _SEVENTH, _EIGHTH, _NINTH, _TENTH)
VERSION = len(MIGRATIONS)


def check(connection: Connection, path: Path) -> int:
    """Return the schema version of a file: 0 for an empty one.

    Raises:
        StoreCorrupt: The file belongs to another program, or is damaged.
        StoreTooNew: A newer memory-core wrote it.
    """
    return sqlite.check_version(connection, path, VERSION)


def find_wrong_table(connection: Connection, version: int) -> str | None:
    """Return how the tables of a file differ from those of its schema version; see `sqlite.find_wrong_table`."""
    return sqlite.find_wrong_table(connection, MIGRATIONS[:version])
