-- Of a schema of an older version, tenants, members, spaces and embeddings stay; the rest is made of the notes again. Vectors of the
-- built-in model, which lay in q, are made again, too.
DROP TABLE windows, chunks, notes, word_forms;
DO $$ DECLARE each record; BEGIN
  FOR each IN SELECT oid::regprocedure AS held FROM pg_proc
    WHERE pronamespace = '{schema}'::regnamespace AND proowner = current_user::regrole
  LOOP EXECUTE format('DROP FUNCTION %s CASCADE', each.held); END LOOP;  -- with the policies that call them
END $$;
UPDATE tenants SET generation = generation + 1, chunks = 0, words = 0, meta = '{}';
ALTER TABLE spaces ADD COLUMN center vector;
ALTER TABLE embeddings ADD COLUMN IF NOT EXISTS signs varbit, ADD COLUMN IF NOT EXISTS q bytea;
DELETE FROM embeddings WHERE q IS NOT NULL;
ALTER TABLE embeddings DROP COLUMN q, DROP CONSTRAINT IF EXISTS embeddings_check;
ALTER TABLE embeddings ADD CONSTRAINT embeddings_check CHECK (num_nonnulls(v, h) = 1);
REVOKE ALL ON ALL TABLES IN SCHEMA {schema} FROM {agent};
