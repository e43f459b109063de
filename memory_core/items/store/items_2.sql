CREATE TABLE mirror (                   -- lines of notes as they last agreed with items
  item   TEXT    NOT NULL,              -- items.id
  note   TEXT    NOT NULL,              -- the path of the file
  digest BLOB    NOT NULL,              -- keyed hash of the line's text
  marked INTEGER NOT NULL,              -- 1: the line carries the id; 0: a person wrote it, and it is known by its text
  PRIMARY KEY (note, item)
) STRICT, WITHOUT ROWID;
CREATE TABLE forgotten (                -- keyed hashes of texts that must not come back from an old state of a note
  hash BLOB PRIMARY KEY,
  at   REAL NOT NULL                    -- unix seconds
) STRICT, WITHOUT ROWID;
INSERT INTO meta VALUES ('digest_key', hex(randomblob(16)));
