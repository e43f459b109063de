-- The schema on the server, made by `memory-core postgres init` as the owner's role, which no agent has. {schema} and {agent} stand
-- for their quoted names.
--
-- Who may see what is decided by the login role (session_user), which no client can change, never by a setting. Agents have rights
-- to the partitioned tables alone, not to their partitions, and rows of tenants that they are no members of do not exist for
-- them. Row-level security keeps the keyword index from being used, because @@ is not leakproof; so the functions that search by
-- keyword run as the owner, and look only at tenants of which the caller is a member.

CREATE TABLE IF NOT EXISTS tenants (
  id           int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name         text   NOT NULL UNIQUE,
  generation   bigint NOT NULL DEFAULT 0,      -- goes up with every change of content
  chunks       int    NOT NULL DEFAULT 0,      -- the number of chunks, and of words in them: what BM25 needs
  words        bigint NOT NULL DEFAULT 0,
  workspace    text,                           -- whose notes these are
  lease        bigint NOT NULL DEFAULT 0,      -- goes up with every sync: a push under an older one is refused
  lease_holder text,
  lease_until  timestamptz,
  meta         jsonb  NOT NULL DEFAULT '{}'    -- what a sync remembers for the next
);

CREATE TABLE IF NOT EXISTS members (
  role      oid  NOT NULL,                     -- a login role; a name may be given to another role later
  tenant_id int  NOT NULL REFERENCES tenants ON DELETE CASCADE,
  may_write bool NOT NULL DEFAULT false,
  PRIMARY KEY (role, tenant_id)
);

CREATE TABLE IF NOT EXISTS spaces (            -- one vector space: vectors of two spaces are never compared
  tenant_id  int    NOT NULL REFERENCES tenants ON DELETE CASCADE,
  id         bigint NOT NULL,                  -- digest of the rest, so that it is the same for all tenants
  provider   text   NOT NULL,
  model      text   NOT NULL,
  endpoint   text   NOT NULL,                  -- fingerprint, no secrets
  input_type text   NOT NULL,
  dimensions int    NOT NULL,
  floor      float8,                           -- see builtin's
  span       float8,
  judged     int,
  center     vector,                           -- of the vectors, from which their signs are counted; NULL = not all have signs
  made       timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (tenant_id, id)
);

CREATE TABLE IF NOT EXISTS notes (
  tenant_id int    NOT NULL,
  id        bigint GENERATED ALWAYS AS IDENTITY,
  source    text   NOT NULL,
  path      text   NOT NULL,                   -- as shown to the agent, POSIX
  hash      bytea  NOT NULL,                   -- of the bytes; empty before the first success
  size      bigint NOT NULL,
  mtime_ns  bigint NOT NULL,
  ctime_ns  bigint NOT NULL,
  inode     bigint NOT NULL,
  date      text,                              -- ISO; of the note, or none
  day       text   NOT NULL,                   -- the date, else that of the last change in the agent's time zone
  lines     int[],                             -- of a session's text, in its log; NULL = the same
  error     text,                              -- why the last sync could not read it; NULL = it could
  PRIMARY KEY (tenant_id, id),
  UNIQUE (tenant_id, source, path)
) PARTITION BY HASH (tenant_id);

CREATE TABLE IF NOT EXISTS chunks (
  tenant_id  int    NOT NULL,
  id         bigint GENERATED ALWAYS AS IDENTITY,
  note_id    bigint NOT NULL,
  start_line int    NOT NULL,                  -- from 1, included
  end_line   int    NOT NULL,
  hash       bytea  NOT NULL,                  -- of context, overlap and text
  words      int    NOT NULL,
  context    text   NOT NULL,
  text       text   NOT NULL,
  units      int[]  NOT NULL CHECK (cardinality(units) % 4 = 0 AND array_position(units, NULL) IS NULL),
                                               -- quadruples: start, end, first line, last line
  links      boolean NOT NULL,                 -- false = it holds neither links nor tags
  tsv        tsvector NOT NULL,                -- of our own stems
  day        text,                             -- ISO day of its section; NULL = no heading gives one
  PRIMARY KEY (tenant_id, id),
  FOREIGN KEY (tenant_id, note_id) REFERENCES notes ON DELETE CASCADE
) PARTITION BY HASH (tenant_id);

CREATE TABLE IF NOT EXISTS windows (
  tenant_id int      NOT NULL,
  chunk_id  bigint   NOT NULL,
  first     smallint NOT NULL,                 -- units of the chunk, included
  last      smallint NOT NULL,
  hash      bytea    NOT NULL,                 -- of the window's text
  PRIMARY KEY (tenant_id, chunk_id, first),
  CHECK (0 <= first AND first <= last),
  FOREIGN KEY (tenant_id, chunk_id) REFERENCES chunks ON DELETE CASCADE
) PARTITION BY HASH (tenant_id);

CREATE TABLE IF NOT EXISTS embeddings (        -- by tenant and content: a shared cache would tell who has which text
  tenant_id  int    NOT NULL,
  space_id   bigint NOT NULL,
  hash       bytea  NOT NULL,
  v          vector,                           -- unit length; one of the two
  h          halfvec,
  signs      varbit,                           -- of the vector's numbers; NULL unless the tenant is large
  bits       bytea,                            -- signs of the tokens; NULL = none were made
  made       timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (tenant_id, space_id, hash),
  CHECK (num_nonnulls(v, h) = 1)
) PARTITION BY HASH (tenant_id);

CREATE TABLE IF NOT EXISTS word_forms (
  tenant_id int  NOT NULL,
  language  text NOT NULL,
  stem      text NOT NULL,
  word      text NOT NULL,
  PRIMARY KEY (tenant_id, language, stem, word)
) PARTITION BY HASH (tenant_id);

DO $$ DECLARE held text; BEGIN
  FOREACH held IN ARRAY '{notes, chunks, windows, embeddings, word_forms}'::text[] LOOP
    FOR number IN 0 .. 15 LOOP
      EXECUTE format('CREATE TABLE IF NOT EXISTS %s_%s PARTITION OF %s FOR VALUES WITH (MODULUS 16, REMAINDER %s)',
        held, number, held, number);
      EXECUTE format('ALTER TABLE %s_%s ENABLE ROW LEVEL SECURITY', held, number);
    END LOOP;
  END LOOP;
END $$;

CREATE INDEX chunks_note ON chunks (tenant_id, note_id);
CREATE INDEX chunks_day ON chunks (tenant_id, day) WHERE day IS NOT NULL;
CREATE INDEX chunks_words ON chunks USING gin (tenant_id, tsv);
CREATE INDEX windows_hash ON windows (tenant_id, hash);
CREATE INDEX IF NOT EXISTS embeddings_signs ON embeddings (tenant_id, space_id) INCLUDE (hash, signs) WHERE signs IS NOT NULL;

CREATE FUNCTION readable() RETURNS int[] LANGUAGE sql STABLE SECURITY DEFINER SET search_path = {schema}, pg_temp AS
$$ SELECT coalesce(array_agg(tenant_id), '{}') FROM members
   WHERE role = (SELECT oid FROM pg_roles WHERE rolname = session_user) $$;
CREATE FUNCTION writable() RETURNS int[] LANGUAGE sql STABLE SECURITY DEFINER SET search_path = {schema}, pg_temp AS
$$ SELECT coalesce(array_agg(tenant_id), '{}') FROM members
   WHERE role = (SELECT oid FROM pg_roles WHERE rolname = session_user) AND may_write $$;

-- find_stems returns a tsvector of the asked lexemes alone: to unnest the whole one took most of a search.
CREATE FUNCTION find_stems(asked int[], query tsquery, stems text[], prefixes text[], first_day text, last_day text)
RETURNS TABLE (id bigint, words int, found text)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = {schema}, pg_temp SET plan_cache_mode = force_custom_plan AS $$
DECLARE mine int[] := ARRAY(SELECT unnest(asked) INTERSECT SELECT unnest(readable()));
BEGIN
  RETURN QUERY SELECT c.id, c.words, ts_delete(c.tsv, tsvector_to_array(ts_delete(c.tsv, CASE
      WHEN prefixes = '{}' THEN stems ELSE stems || ARRAY(SELECT each FROM unnest(tsvector_to_array(c.tsv)) each
        WHERE EXISTS (SELECT 1 FROM unnest(prefixes) p WHERE starts_with(each, p))) END)))::text
    FROM chunks c WHERE c.tenant_id = ANY (mine) AND c.tsv @@ query
    AND (first_day IS NULL AND last_day IS NULL OR EXISTS (SELECT 1 FROM notes n WHERE n.tenant_id = c.tenant_id
      AND n.id = c.note_id AND coalesce(c.day, n.day) >= coalesce(first_day, '')
      AND coalesce(c.day, n.day) <= coalesce(last_day, '9999-99-99')));
END $$;

CREATE FUNCTION count_matches(asked int[], queries text[]) RETURNS bigint[]
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = {schema}, pg_temp SET plan_cache_mode = force_custom_plan AS $$
DECLARE
  mine int[] := ARRAY(SELECT unnest(asked) INTERSECT SELECT unnest(readable()));
  counts bigint[] := '{}'; each tsquery; found bigint;
BEGIN
  FOREACH each IN ARRAY queries::tsquery[] LOOP
    SELECT count(*) INTO found FROM chunks c WHERE c.tenant_id = ANY (mine) AND c.tsv @@ each;
    counts := counts || found;
  END LOOP;
  RETURN counts;
END $$;

CREATE FUNCTION count_prefix(asked int[], prefix text, query tsquery) RETURNS bigint
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = {schema}, pg_temp SET plan_cache_mode = force_custom_plan AS $$
DECLARE mine int[] := ARRAY(SELECT unnest(asked) INTERSECT SELECT unnest(readable()));
BEGIN
  RETURN (SELECT coalesce(max(n), 0) FROM (SELECT count(*) AS n FROM chunks c, unnest(c.tsv) l
    WHERE c.tenant_id = ANY (mine) AND c.tsv @@ query AND starts_with(l.lexeme, prefix) GROUP BY l.lexeme) counted);
END $$;

-- Who may delete from a table, or update all of its columns, may lock it against everybody: agents delete by functions instead.
CREATE FUNCTION refuse_others(tenant int) RETURNS void
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = {schema}, pg_temp AS $$
BEGIN
  IF (tenant = ANY (writable())) IS NOT TRUE THEN
    RAISE insufficient_privilege USING MESSAGE = 'this role may not write the tenant';
  END IF;
END $$;

CREATE FUNCTION delete_chunks(tenant int, ids bigint[]) RETURNS TABLE (deleted bigint, words bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = {schema}, pg_temp SET plan_cache_mode = force_custom_plan AS $$
BEGIN
  PERFORM refuse_others(tenant);
  RETURN QUERY WITH gone AS (DELETE FROM chunks c WHERE c.tenant_id = tenant AND c.id = ANY (ids) RETURNING c.words)
    SELECT count(*), coalesce(sum(gone.words), 0)::bigint FROM gone;
END $$;

CREATE FUNCTION delete_notes(tenant int, ids bigint[]) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = {schema}, pg_temp SET plan_cache_mode = force_custom_plan AS $$
BEGIN
  PERFORM refuse_others(tenant);
  DELETE FROM notes n WHERE n.tenant_id = tenant AND n.id = ANY (ids);
END $$;

CREATE FUNCTION delete_word_forms(tenant int) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = {schema}, pg_temp SET plan_cache_mode = force_custom_plan AS $$
BEGIN
  PERFORM refuse_others(tenant);
  DELETE FROM word_forms f WHERE f.tenant_id = tenant;
END $$;

-- Embeddings of texts that no window has any more, but for the newest of them.
CREATE FUNCTION evict_embeddings(tenant int, keep bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = {schema}, pg_temp SET plan_cache_mode = force_custom_plan AS $$
BEGIN
  PERFORM refuse_others(tenant);
  DELETE FROM embeddings e USING (SELECT u.space_id, u.hash FROM embeddings u WHERE u.tenant_id = tenant
      AND NOT EXISTS (SELECT 1 FROM windows w WHERE w.tenant_id = u.tenant_id AND w.hash = u.hash)
      ORDER BY u.made DESC OFFSET keep) old
    WHERE e.tenant_id = tenant AND e.space_id = old.space_id AND e.hash = old.hash;
END $$;

GRANT USAGE ON SCHEMA {schema} TO {agent};
GRANT SELECT ON tenants, spaces, notes, chunks, windows, embeddings, word_forms, migrations TO {agent};
GRANT INSERT ON spaces, windows, embeddings, word_forms TO {agent};
-- By column: who chose the ids of notes and chunks could take those of another tenant, which a reader of both has found.
GRANT INSERT (tenant_id, source, path, hash, size, mtime_ns, ctime_ns, inode, date, day, lines, error) ON notes TO {agent};
GRANT INSERT (tenant_id, note_id, start_line, end_line, hash, words, context, text, units, links, tsv, day) ON chunks TO {agent};
GRANT UPDATE (hash, size, mtime_ns, ctime_ns, inode, date, day, lines, error) ON notes TO {agent};
GRANT UPDATE (start_line, end_line) ON chunks TO {agent};
GRANT UPDATE (signs, bits) ON embeddings TO {agent};
GRANT UPDATE (floor, span, judged, center) ON spaces TO {agent};
GRANT UPDATE (generation, chunks, words, workspace, lease, lease_holder, lease_until, meta) ON tenants TO {agent};
ALTER TABLE tenants ENABLE ROW LEVEL SECURITY;
CREATE POLICY reads ON tenants FOR SELECT TO {agent} USING (id = ANY ((SELECT readable())::int[]));
CREATE POLICY writes ON tenants FOR UPDATE TO {agent}
  USING (id = ANY ((SELECT writable())::int[])) WITH CHECK (id = ANY ((SELECT writable())::int[]));
REVOKE ALL ON FUNCTION refuse_others(int), readable(), writable(), count_matches(int[], text[]), count_prefix(int[], text, tsquery),
  find_stems(int[], tsquery, text[], text[], text, text), delete_chunks(int, bigint[]), delete_notes(int, bigint[]),
  delete_word_forms(int), evict_embeddings(int, bigint) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION readable(), writable(), count_matches(int[], text[]), count_prefix(int[], text, tsquery),
  find_stems(int[], tsquery, text[], text[], text, text), delete_chunks(int, bigint[]), delete_notes(int, bigint[]),
  delete_word_forms(int), evict_embeddings(int, bigint) TO {agent};

DO $$ DECLARE
  held text;
  mine text := 'tenant_id = ANY ((SELECT readable())::int[])';
  own text := 'tenant_id = ANY ((SELECT writable())::int[])';
BEGIN
  FOREACH held IN ARRAY '{spaces, notes, chunks, windows, embeddings, word_forms}'::text[] LOOP
    EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY', held);
    EXECUTE format('CREATE POLICY reads ON %s FOR SELECT TO {agent} USING (%s)', held, mine);
    EXECUTE format('CREATE POLICY inserts ON %s FOR INSERT TO {agent} WITH CHECK (%s)', held, own);
    EXECUTE format('CREATE POLICY updates ON %s FOR UPDATE TO {agent} USING (%s) WITH CHECK (%s)', held, own, own);
    EXECUTE format('CREATE POLICY deletes ON %s FOR DELETE TO {agent} USING (%s)', held, own);
  END LOOP;
END $$;

-- Row-level security hides statistics, but the planner's estimates, which EXPLAIN shows to all, would tell values.
DO $$ DECLARE each record; BEGIN
  FOR each IN SELECT c.oid::regclass AS held, a.attname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
    WHERE c.relnamespace = '{schema}'::regnamespace AND c.relkind IN ('r', 'p') AND a.attnum > 0 AND NOT a.attisdropped
    AND a.attname NOT IN ('id', 'tenant_id', 'note_id', 'chunk_id')
  LOOP EXECUTE format('ALTER TABLE %s ALTER COLUMN %I SET STATISTICS 0', each.held, each.attname); END LOOP;
END $$;
