-- The tables of an index file. {tokenizer} stands for the stemmer of the keyword index and its settings.

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
  ctime_ns INTEGER NOT NULL DEFAULT 0,
  inode    INTEGER NOT NULL DEFAULT 0,
  date     TEXT,                        -- ISO; file name, first dated heading, or none
  lines    TEXT,                        -- JSON: for every line of the indexed text its line in the file; NULL = the same
  error    TEXT,                        -- why the last sync could not read it; NULL = it could
  UNIQUE (source, path)
) STRICT;

CREATE TABLE chunks (
  id            INTEGER PRIMARY KEY,    -- = chunks_fts.rowid
  file_id       INTEGER NOT NULL REFERENCES files(id) ON DELETE CASCADE,
  start_line    INTEGER NOT NULL,       -- from 1, included
  end_line      INTEGER NOT NULL,
  hash          BLOB    NOT NULL,       -- blake2b-16 of context, overlap and text: what FTS holds
  day           TEXT,                   -- ISO day of its section; NULL = no heading gives one
  context       TEXT    NOT NULL,       -- date and heading trail, keyword side only
  text          TEXT    NOT NULL,       -- the quoted lines
  units         TEXT    NOT NULL,       -- JSON: start, end, first line, last line of each
  links         INTEGER NOT NULL        -- 0 = the text holds no link and no tag
) STRICT;
CREATE INDEX chunks_file ON chunks (file_id, start_line);
CREATE INDEX chunks_day ON chunks (day) WHERE day IS NOT NULL;

CREATE TABLE spaces (                   -- one vector space: vectors of two spaces are never compared
  id           INTEGER PRIMARY KEY,
  provider     TEXT    NOT NULL,
  model        TEXT    NOT NULL,
  endpoint     TEXT    NOT NULL,        -- fingerprint, no secrets
  input_type   TEXT    NOT NULL,
  dimensions   INTEGER NOT NULL,
  encoding     TEXT    NOT NULL,        -- 'float32' | 'int8'; see encoding.py
  mean         BLOB,                    -- float32, from which signs are taken; NULL = there are none yet
  floor        REAL,                    -- cosines of unrelated text lie below; NULL = not estimated
  span         REAL,                    -- from the floor to a clear paraphrase
  judged       INTEGER,                 -- windows that the index held when these were estimated
  UNIQUE (provider, model, endpoint, input_type, dimensions)
) STRICT;

CREATE TABLE embedding_cache (          -- the embeddings: content-keyed, immutable, dropped by no rebuild
  id         INTEGER PRIMARY KEY AUTOINCREMENT,  -- never used twice
  space_id   INTEGER NOT NULL REFERENCES spaces(id),
  hash       BLOB    NOT NULL,          -- blake2b-16 of the embedded text
  embedding  BLOB    NOT NULL,          -- little-endian; all zero = has no direction
  UNIQUE (space_id, hash)
) STRICT;

CREATE TABLE token_bits (
  embedding_id INTEGER PRIMARY KEY REFERENCES embedding_cache(id) ON DELETE CASCADE,
  bits         BLOB NOT NULL            -- see embeddings/vectors.py; empty = the model has no vectors of tokens
) STRICT;

CREATE TABLE signs (                    -- of the embeddings of large spaces, for a first choice; see vectors.py
  space_id INTEGER NOT NULL REFERENCES spaces(id),
  first    INTEGER NOT NULL,            -- the first of the ids
  ids      BLOB    NOT NULL,            -- int64, ascending: of embedding_cache
  bits     BLOB    NOT NULL,            -- uint64 words: the first of every embedding, then the second of every one, ...
  PRIMARY KEY (space_id, first)
) STRICT;

CREATE TABLE windows (                  -- what is embedded; pending = no row in embedding_cache
  chunk_id   INTEGER NOT NULL REFERENCES chunks(id) ON DELETE CASCADE,
  first      INTEGER NOT NULL,          -- units of the chunk, included
  last       INTEGER NOT NULL,
  hash       BLOB    NOT NULL,          -- blake2b-16 of the window's text: moving text keeps it
  PRIMARY KEY (chunk_id, first)
) STRICT, WITHOUT ROWID;
CREATE INDEX windows_hash ON windows (hash);

CREATE TABLE word_forms (
  language TEXT NOT NULL,               -- or another relation; see text/languages.py
  stem     TEXT NOT NULL,
  word     TEXT NOT NULL,               -- of some chunk in that language, lower case
  PRIMARY KEY (language, stem, word)
) STRICT, WITHOUT ROWID;

-- Contentless: CJK runs are cut into pairs before indexing, so the indexed text is not chunks.text, and an external-content
-- table would delete the wrong postings.
CREATE VIRTUAL TABLE chunks_fts USING fts5 (context, text, content='', contentless_delete=1,
  tokenize="{tokenizer}");
CREATE VIRTUAL TABLE chunks_terms USING fts5vocab ('chunks_fts', 'row');
