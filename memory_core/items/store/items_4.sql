-- The keyword index with the tokenizer of the index of notes: vowel signs, as of Bengali, belong to their words.
DROP TABLE items_fts;
CREATE VIRTUAL TABLE items_fts USING fts5 (terms, content='items', content_rowid='key',
  tokenize="porter unicode61 remove_diacritics 2 categories 'L* N* Co Mn Mc'");
INSERT INTO items_fts (items_fts, rank) VALUES ('secure-delete', 1);
INSERT INTO items_fts (items_fts) VALUES ('rebuild');
