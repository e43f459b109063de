CREATE TABLE meta (                     -- what was recorded, and when old versions were last looked for
  key   TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE moments (                  -- a sync that changed something, or a commit that was imported
  id     INTEGER PRIMARY KEY,           -- in the order of time, whatever the clock said; below 1 for imported ones
  at_ms  INTEGER NOT NULL,              -- unix milliseconds by the clock of that time
  origin TEXT    NOT NULL               -- 'sync' | 'git'
) STRICT;

CREATE TABLE versions (                 -- the bytes of one note from one moment up to another
  id       INTEGER PRIMARY KEY,
  source   TEXT    NOT NULL,            -- 'memory' | 'workspace'
  path     TEXT    NOT NULL,            -- as shown to the agent, POSIX
  hash     BLOB    NOT NULL,            -- blake2b-16 of the bytes
  mtime_ns INTEGER NOT NULL,
  in_vault INTEGER NOT NULL,            -- 1: it lay in an Obsidian vault
  since    INTEGER NOT NULL,            -- moments.id from which it stood
  until    INTEGER,                     -- moments.id from which it stood no more; NULL = it stands
  base     INTEGER REFERENCES versions(id),  -- the version that body builds upon; NULL = body is whole
  depth    INTEGER NOT NULL,            -- versions to unpack before this one
  body     BLOB    NOT NULL             -- see rows.py
) STRICT;
CREATE INDEX versions_path ON versions (source, path, since);
CREATE INDEX versions_hash ON versions (hash);
CREATE INDEX versions_base ON versions (base) WHERE base IS NOT NULL;
CREATE UNIQUE INDEX versions_standing ON versions (source, path) WHERE until IS NULL;
