-- Sessions by tenant: how long they are kept may differ, and all of one can be deleted.
CREATE FUNCTION brim_tenant(id text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT CASE WHEN strpos(id, '~') > 0 THEN split_part(id, '~', 1) ELSE '' END
$$;
CREATE INDEX brim_sessions_tenant ON brim_sessions(brim_tenant(id), touched);
