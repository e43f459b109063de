CREATE TABLE meta (                     -- digest_key, wipe, outage
  key   TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE items (
  key           INTEGER PRIMARY KEY AUTOINCREMENT,  -- = items_fts.rowid; never used twice
  id            TEXT    NOT NULL UNIQUE,
  content       TEXT    NOT NULL,
  terms         TEXT    NOT NULL,       -- content and tags, CJK runs cut into pairs: what items_fts holds
  folded        TEXT    NOT NULL,       -- content and tags, case folded: what substrings are looked for in
  hash          BLOB    NOT NULL,       -- of the words: equal facts have equal ones
  text_hash     BLOB    NOT NULL,       -- of the content: the key of its embeddings
  scope         TEXT    NOT NULL,
  tags          TEXT    NOT NULL,       -- JSON array
  agent         TEXT    NOT NULL,
  kind          TEXT    NOT NULL,
  pending       INTEGER NOT NULL,       -- 1: a guess
  created       REAL    NOT NULL,       -- unix seconds, as all times here
  updated       REAL    NOT NULL,
  said          REAL    NOT NULL,
  recalled      REAL,
  reinforced    INTEGER NOT NULL,
  session       TEXT,
  speaker       TEXT    NOT NULL,
  superseded_by TEXT
) STRICT;
CREATE UNIQUE INDEX items_hash ON items (scope, hash);
CREATE INDEX items_text ON items (text_hash);
CREATE INDEX items_superseded ON items (superseded_by) WHERE superseded_by IS NOT NULL;

CREATE TABLE sayings (                  -- the sessions that said a fact
  item    INTEGER NOT NULL REFERENCES items(key) ON DELETE CASCADE,
  session TEXT    NOT NULL,
  said    REAL    NOT NULL,
  PRIMARY KEY (item, session)
) STRICT, WITHOUT ROWID;
CREATE INDEX sayings_session ON sayings (session);

CREATE TABLE spaces (                   -- one vector space: vectors of two spaces are never compared
  id           INTEGER PRIMARY KEY,
  provider     TEXT    NOT NULL,
  model        TEXT    NOT NULL,
  endpoint     TEXT    NOT NULL,        -- fingerprint, no secrets
  input_type   TEXT    NOT NULL,
  dimensions   INTEGER NOT NULL,
  UNIQUE (provider, model, endpoint, input_type, dimensions)
) STRICT;

CREATE TABLE embeddings (               -- content-keyed, so that text which comes back costs nothing
  space_id  INTEGER NOT NULL REFERENCES spaces(id),
  hash      BLOB    NOT NULL,           -- items.text_hash
  embedding BLOB    NOT NULL,           -- float32 little-endian, unit length; all zero = has no direction
  PRIMARY KEY (space_id, hash)
) STRICT;

-- External content, because secure-delete does nothing on a contentless table.
CREATE VIRTUAL TABLE items_fts USING fts5 (terms, content='items', content_rowid='key',
  tokenize="porter unicode61 remove_diacritics 2");
INSERT INTO items_fts (items_fts, rank) VALUES ('secure-delete', 1);
CREATE TRIGGER items_inserted AFTER INSERT ON items BEGIN
  INSERT INTO items_fts (rowid, terms) VALUES (new.key, new.terms);
END;
CREATE TRIGGER items_deleted AFTER DELETE ON items BEGIN
  INSERT INTO items_fts (items_fts, rowid, terms) VALUES ('delete', old.key, old.terms);
END;
CREATE TRIGGER items_changed AFTER UPDATE OF terms ON items BEGIN
  INSERT INTO items_fts (items_fts, rowid, terms) VALUES ('delete', old.key, old.terms);
  INSERT INTO items_fts (rowid, terms) VALUES (new.key, new.terms);
END;
