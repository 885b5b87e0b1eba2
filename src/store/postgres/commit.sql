-- commit_1: makes commits that come together. Commits are numbered; each row of an array belongs to the commit of that number (..._of).
-- guard: values that keys must have. absent: ranges, from (inclusive) to (exclusive), that must have no key. set, remove: changes.
-- notify: topics, sent with the name of the sender. One group at a time: the guards of all servers hold against each other, as in SQLite.
-- Makes the commits whose guards hold, and returns the numbers of the others.
-- {schema}: quoted. {channel}: of the notifications. {lock}: number of the advisory lock. {by_key}: settings that have every access go
-- by the key.
CREATE FUNCTION {schema}.commit_1(
  sender text,
  guard_of int[], guard_keys text[], guard_values text[],
  absent_of int[], absent_from text[], absent_to text[],
  set_of int[], set_keys text[], set_values text[],
  remove_of int[], remove_keys text[],
  notify_of int[], notify_topics text[]
) RETURNS int[] LANGUAGE plpgsql {by_key} AS $$
DECLARE
  refused int[];
  topics text;
BEGIN
  PERFORM pg_advisory_xact_lock({lock});
  refused := ARRAY(
    SELECT g.of FROM unnest(guard_of, guard_keys, guard_values) AS g(of, key, value)
      LEFT JOIN {schema}.records r ON r.key = g.key WHERE r.key IS NULL OR r.value <> g.value
    UNION
    SELECT a.of FROM unnest(absent_of, absent_from, absent_to) AS a(of, low, high)
      WHERE EXISTS (SELECT FROM {schema}.records r WHERE r.key >= a.low AND r.key < a.high)
  );
  INSERT INTO {schema}.records (key, value)
    SELECT s.key, s.value FROM unnest(set_of, set_keys, set_values) AS s(of, key, value) WHERE s.of <> ALL (refused)
    ON CONFLICT (key) DO UPDATE SET value = excluded.value;
  DELETE FROM {schema}.records r USING unnest(remove_of, remove_keys) AS d(of, key)
    WHERE r.key = d.key AND d.of <> ALL (refused);
  SELECT string_agg(DISTINCT n.topic, ' ') INTO topics
    FROM unnest(notify_of, notify_topics) AS n(of, topic) WHERE n.of <> ALL (refused);
  IF topics IS NOT NULL THEN
    -- A payload may have 8000 bytes at most; a star wakes everybody.
    PERFORM pg_notify('{channel}', sender || ' ' || CASE WHEN length(topics) < 7000 THEN topics ELSE '*' END);
  END IF;
  RETURN refused;
END $$;
