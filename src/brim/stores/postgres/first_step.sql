-- Keys are 64 bits of a digest where a wrong one only costs a look; names that others choose may be of any length, so
-- they are found by their SHA-256.
CREATE TABLE brim_sessions(
  no bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  key bytea NOT NULL UNIQUE,
  id text NOT NULL,
  meta text NOT NULL DEFAULT '{}',
  created float8 NOT NULL,
  touched float8 NOT NULL,
  records int NOT NULL DEFAULT 0,
  blobs int NOT NULL DEFAULT 0,
  size bigint NOT NULL DEFAULT 0,
  length int NOT NULL DEFAULT 0,
  owner text NOT NULL DEFAULT '',
  epoch bigint NOT NULL DEFAULT 0,
  until float8 NOT NULL DEFAULT 0,
  shown bytea[] NOT NULL DEFAULT '{}',
  state bytea
) WITH (fillfactor = 70);
CREATE INDEX brim_sessions_touched ON brim_sessions(touched);
CREATE TABLE brim_turns(
  session bigint NOT NULL,
  first int NOT NULL,
  count int NOT NULL,
  shared bytea[] NOT NULL DEFAULT '{}',
  data bytea NOT NULL,
  PRIMARY KEY(session, first)
);
ALTER TABLE brim_turns ALTER data SET STORAGE EXTERNAL;
CREATE TABLE brim_contents(
  digest bytea PRIMARY KEY,
  size int NOT NULL,
  loose float8,
  place text,
  data bytea
);
ALTER TABLE brim_contents ALTER data SET STORAGE EXTERNAL;
CREATE INDEX brim_contents_loose ON brim_contents(loose) WHERE loose IS NOT NULL;
-- Which session a content belongs to; `at` is the number of the blob, -1 for what only stands in the log.
CREATE TABLE brim_handles(
  session bigint NOT NULL,
  digest bytea NOT NULL,
  at int NOT NULL,
  PRIMARY KEY(session, digest)
);
CREATE INDEX brim_handles_digest ON brim_handles(digest);
CREATE TABLE brim_prefixes(key bigint PRIMARY KEY, session bigint NOT NULL, length int NOT NULL);
CREATE INDEX brim_prefixes_session ON brim_prefixes(session);
CREATE TABLE brim_sizes(key bigint PRIMARY KEY, tokens bigint NOT NULL, day int NOT NULL);
CREATE INDEX brim_sizes_day ON brim_sizes(day);
CREATE TABLE brim_usage(
  request text PRIMARY KEY,
  at float8 NOT NULL,
  provider text NOT NULL,
  model text NOT NULL,
  estimated bigint NOT NULL,
  upper bigint NOT NULL,
  actual_in bigint,
  actual_out bigint,
  cached bigint NOT NULL,
  status text NOT NULL
);
CREATE INDEX brim_usage_at ON brim_usage(at);
CREATE TABLE brim_values(key bytea PRIMARY KEY, name text NOT NULL, value bytea NOT NULL);

-- All that a request needs, of one moment and in one round trip.
CREATE FUNCTION brim_load(wanted bytea, prefixes bigint[], start int, at_hand bigint, sizes bigint[])
RETURNS TABLE(
  id text, meta text, created float8, touched float8, records int, size bigint, owner text, epoch bigint,
  until float8, length int, firsts int[], turns bytea[], state bytea, digests bytea[], contents bytea[], places text[],
  size_keys bigint[], size_tokens bigint[]
) LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_column
DECLARE
  s brim_sessions%ROWTYPE;
  place record;
  needed bytea[];
BEGIN
  SELECT * INTO s FROM brim_sessions x WHERE x.key = wanted;
  length := 0;
  IF s.no IS NULL AND cardinality(prefixes) > 0 THEN
    SELECT p.session, p.length INTO place
      FROM brim_prefixes p WHERE p.key = ANY(prefixes) AND EXISTS (SELECT FROM brim_sessions x WHERE x.no = p.session)
      ORDER BY array_position(prefixes, p.key) LIMIT 1;
    IF place.session IS NOT NULL THEN
      SELECT * INTO s FROM brim_sessions x WHERE x.no = place.session;
      length := place.length;
    END IF;
  END IF;
  id := s.id; meta := s.meta; created := s.created; touched := s.touched; records := s.records; size := s.size;
  owner := s.owner; epoch := s.epoch; until := s.until;
  IF s.no IS NOT NULL AND (s.records <> start OR s.epoch IS DISTINCT FROM at_hand) THEN
    state := s.state;
    SELECT array_agg(t.first ORDER BY t.first), array_agg(t.data ORDER BY t.first) INTO firsts, turns
      FROM brim_turns t WHERE t.session = s.no AND t.first + t.count > start;
    SELECT s.shown || coalesce(array_agg(d), '{}') INTO needed
      FROM brim_turns t, unnest(t.shared) d WHERE t.session = s.no AND t.first + t.count > start;
    SELECT array_agg(c.digest), array_agg(c.data), array_agg(c.place) INTO digests, contents, places
      FROM brim_contents c WHERE c.digest = ANY(needed);
  END IF;
  IF cardinality(sizes) > 0 THEN
    SELECT array_agg(z.key), array_agg(z.tokens) INTO size_keys, size_tokens
      FROM brim_sizes z WHERE z.key = ANY(sizes);
  END IF;
  RETURN NEXT;
END $$;

CREATE FUNCTION brim_put_sizes(keys bigint[], amounts bigint[], today int) RETURNS void LANGUAGE sql AS $$
  -- In the order of their keys, so that writers of the same ones never wait for each other in a circle.
  INSERT INTO brim_sizes AS z(key, tokens, day)
    SELECT k, t, today FROM unnest(keys, amounts) AS n(k, t) ORDER BY k
    ON CONFLICT (key) DO UPDATE SET tokens = excluded.tokens, day = excluded.day
    WHERE (z.tokens, z.day) IS DISTINCT FROM (excluded.tokens, excluded.day);
$$;

CREATE FUNCTION brim_put_contents(digests bytea[], sizes int[], datas bytea[], locations text[])
RETURNS void LANGUAGE sql AS $$
  -- A content that is there is locked all the same: nobody deletes it before this transaction has referred to it.
  INSERT INTO brim_contents AS c(digest, size, data, place)
    SELECT d, n, x, p FROM unnest(digests, sizes, datas, locations) AS given(d, n, x, p) ORDER BY d
    ON CONFLICT (digest) DO UPDATE SET digest = excluded.digest WHERE false;
$$;

-- A turn, whole or not at all, in one round trip: the number of its first record, or NULL if another was faster.
CREATE FUNCTION brim_commit(
  wanted bytea, name text, now float8, given_meta text, given_state bytea, given_shown bytea[],
  expected int, given_epoch bigint, given_owner text, given_until float8,
  added int, bytes bigint, given_data bytea, given_shared bytea[], given_blobs bytea[],
  digests bytea[], content_sizes int[], contents bytea[], locations text[],
  prefix_keys bigint[], lengths int[], size_keys bigint[], size_tokens bigint[], today int
) RETURNS int LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  s brim_sessions%ROWTYPE;
  held int;
BEGIN
  FOR round IN 1..2 LOOP
    SELECT * INTO s FROM brim_sessions x WHERE x.key = wanted FOR UPDATE;
    IF expected <> coalesce(s.records, 0) OR given_epoch <> coalesce(s.epoch, 0) THEN
      RETURN NULL;
    END IF;
    EXIT WHEN s.no IS NOT NULL;
    INSERT INTO brim_sessions(key, id, created, touched) VALUES (wanted, name, now, now)
      ON CONFLICT (key) DO NOTHING RETURNING * INTO s;
    EXIT WHEN s.no IS NOT NULL;
  END LOOP;
  IF cardinality(digests) > 0 THEN
    PERFORM brim_put_contents(digests, content_sizes, contents, locations);
  END IF;
  INSERT INTO brim_handles AS h(session, digest, at)
    SELECT s.no, b, s.blobs + n - 1 FROM unnest(given_blobs) WITH ORDINALITY AS g(b, n)
    ON CONFLICT (session, digest) DO UPDATE SET at = excluded.at WHERE h.at < 0;
  INSERT INTO brim_handles(session, digest, at)
    SELECT DISTINCT s.no, d, -1 FROM unnest(given_shared) d ON CONFLICT (session, digest) DO NOTHING;
  IF added > 0 THEN
    INSERT INTO brim_turns(session, first, count, shared, data)
      VALUES (s.no, s.records, added, given_shared, given_data);
  END IF;
  IF cardinality(prefix_keys) > 0 THEN
    INSERT INTO brim_prefixes(key, session, length)
      SELECT DISTINCT ON (k) k, s.no, l FROM unnest(prefix_keys, lengths) AS p(k, l) ORDER BY k, l DESC
      ON CONFLICT (key) DO UPDATE SET session = excluded.session, length = excluded.length;
  END IF;
  UPDATE brim_sessions SET
    touched = now, records = records + added, blobs = blobs + cardinality(given_blobs), size = size + bytes,
    meta = coalesce(given_meta, meta), state = coalesce(given_state, state), shown = coalesce(given_shown, shown),
    length = coalesce((SELECT max(l) FROM unnest(lengths) l), length),
    epoch = epoch + (given_owner <> '' AND given_owner <> owner)::int,
    owner = CASE given_owner WHEN '' THEN owner ELSE given_owner END,
    until = CASE given_owner WHEN '' THEN until ELSE given_until END
    WHERE no = s.no;
  IF cardinality(size_keys) > 0 THEN
    PERFORM brim_put_sizes(size_keys, size_tokens, today);
  END IF;
  RETURN s.records;
END $$;

-- Delete contents that nothing refers to any more; where the data of those lies that lies elsewhere.
CREATE FUNCTION brim_release(candidates bytea[]) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
  found text[];
BEGIN
  PERFORM 1 FROM brim_contents c WHERE c.digest = ANY(candidates) ORDER BY c.digest FOR UPDATE;
  WITH gone AS (
    DELETE FROM brim_contents c WHERE c.digest = ANY(candidates) AND c.loose IS NULL
      AND NOT EXISTS (SELECT FROM brim_handles h WHERE h.digest = c.digest) RETURNING c.place
  ) SELECT coalesce(array_agg(place) FILTER (WHERE place IS NOT NULL), '{}') INTO found FROM gone;
  RETURN found;
END $$;

-- Delete a session with all that only it refers to; NULL if it is not there, or was touched since a time.
CREATE FUNCTION brim_delete(wanted bytea, untouched_since float8) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
  number bigint;
  owned bytea[];
BEGIN
  SELECT no INTO number FROM brim_sessions WHERE key = wanted AND touched < untouched_since FOR UPDATE;
  IF number IS NULL THEN
    RETURN NULL;
  END IF;
  SELECT coalesce(array_agg(digest), '{}') INTO owned FROM brim_handles WHERE session = number;
  DELETE FROM brim_handles WHERE session = number;
  DELETE FROM brim_turns WHERE session = number;
  DELETE FROM brim_prefixes WHERE session = number;
  DELETE FROM brim_sessions WHERE no = number;
  RETURN brim_release(owned);
END $$;

