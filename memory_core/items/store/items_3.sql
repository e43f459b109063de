-- Where a fact was said first; its session and its speaker stand in its row.
CREATE TABLE origins (
  item INTEGER PRIMARY KEY REFERENCES items(key) ON DELETE CASCADE,
  host TEXT    NOT NULL,                -- '' if nobody knows, as below
  path TEXT    NOT NULL,                -- of the note or session log, as search shows it
  line INTEGER NOT NULL,                -- from 1; 0 if nobody knows
  at   TEXT    NOT NULL                 -- ISO 8601
) STRICT;
