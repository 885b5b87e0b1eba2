import { createHash } from 'node:crypto'

/** A step of the layout. */
export interface Migration {
  readonly title: string
  readonly sql: string
}

/** Names of the objects of one store in a database. */
export interface StoreNames {
  /** Schema, quoted. */
  readonly schema: string
  /** Channel of the notifications. */
  readonly channel: string
  /** Number of the advisory lock for commits and migrations. */
  readonly lock: string
}

/** @param schema letters, digits and underscores */
export function namesOf(schema: string): StoreNames {
  const lock = createHash('sha256').update(`agent-host ${schema}`).digest().readBigInt64BE()
  return { schema: `"${schema}"`, channel: `${schema}_topics`, lock: String(lock) }
}

/**
 * Returns the steps of the layout, in order. They only add, so that servers of an earlier version go on beside those of a
 * later one: functions never change, and a new behaviour gets a new name.
 */
export function migrationsOf(names: StoreNames): readonly Migration[] {
  return [
    { title: 'tables of records and servers', sql: tables(names) },
    { title: 'functions that read', sql: reads(names) },
    { title: 'function that commits', sql: commit(names) },
    { title: 'function that reads many ranges', sql: readMany(names) },
    { title: 'functions plan their statements once', sql: planOnce(names) },
  ]
}

// Keys are compared by their bytes, regardless of the collation of the database.
const tables = ({ schema }: StoreNames) => `
  CREATE TABLE ${schema}.records (key text COLLATE "C" PRIMARY KEY, value text NOT NULL);
  CREATE TABLE ${schema}.servers (id text PRIMARY KEY, process text NOT NULL, seen_at timestamptz NOT NULL);
`

// A plan made while the table was small would read all of it later: every access goes by the key.
const BY_KEY =
  'SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off'

const reads = ({ schema }: StoreNames) => `
  CREATE FUNCTION ${schema}.get_1(keys text[]) RETURNS SETOF text LANGUAGE plpgsql STABLE ${BY_KEY} AS $$ BEGIN
    RETURN QUERY SELECT r.value FROM unnest(keys) WITH ORDINALITY AS k(key, place)
      LEFT JOIN ${schema}.records r ON r.key = k.key ORDER BY k.place;
  END $$;

  CREATE FUNCTION ${schema}.range_1(low text, high text, is_descending boolean, size int, has_values boolean)
  RETURNS TABLE (key text, value text) LANGUAGE plpgsql STABLE ${BY_KEY} AS $$ BEGIN
    IF is_descending THEN
      RETURN QUERY SELECT r.key, CASE WHEN has_values THEN r.value END FROM ${schema}.records r
        WHERE r.key >= low AND r.key < high ORDER BY r.key DESC LIMIT size;
    ELSE
      RETURN QUERY SELECT r.key, CASE WHEN has_values THEN r.value END FROM ${schema}.records r
        WHERE r.key >= low AND r.key < high ORDER BY r.key LIMIT size;
    END IF;
  END $$;
`

// The entries of each range come together, in their order; ranges are numbered from 1.
const readMany = ({ schema }: StoreNames) => `
  CREATE FUNCTION ${schema}.ranges_1(lows text[], highs text[], sizes int[])
  RETURNS TABLE (place int, key text, value text) LANGUAGE plpgsql STABLE ${BY_KEY} AS $$ BEGIN
    RETURN QUERY SELECT a.place::int, e.key, e.value
      FROM unnest(lows, highs, sizes) WITH ORDINALITY AS a(low, high, size, place)
      CROSS JOIN LATERAL (
        SELECT r.key, r.value FROM ${schema}.records r WHERE r.key >= a.low AND r.key < a.high ORDER BY r.key LIMIT a.size
      ) e;
  END $$;
`

// Commits are numbered; each row of an array belongs to the commit of that number. One group at a time: the guards of
// all servers hold against each other, as in SQLite. It returns the commits whose guards do not hold.
const commit = ({ schema, channel, lock }: StoreNames) => `
  CREATE FUNCTION ${schema}.commit_1(
    sender text,
    guard_of int[], guard_keys text[], guard_values text[],
    absent_of int[], absent_from text[], absent_to text[],
    set_of int[], set_keys text[], set_values text[],
    remove_of int[], remove_keys text[],
    notify_of int[], notify_topics text[]
  ) RETURNS int[] LANGUAGE plpgsql ${BY_KEY} AS $$
  DECLARE
    refused int[];
    topics text;
  BEGIN
    PERFORM pg_advisory_xact_lock(${lock});
    refused := ARRAY(
      SELECT g.of FROM unnest(guard_of, guard_keys, guard_values) AS g(of, key, value)
        LEFT JOIN ${schema}.records r ON r.key = g.key WHERE r.key IS NULL OR r.value <> g.value
      UNION
      SELECT a.of FROM unnest(absent_of, absent_from, absent_to) AS a(of, low, high)
        WHERE EXISTS (SELECT FROM ${schema}.records r WHERE r.key >= a.low AND r.key < a.high)
    );
    INSERT INTO ${schema}.records (key, value)
      SELECT s.key, s.value FROM unnest(set_of, set_keys, set_values) AS s(of, key, value) WHERE s.of <> ALL (refused)
      ON CONFLICT (key) DO UPDATE SET value = excluded.value;
    DELETE FROM ${schema}.records r USING unnest(remove_of, remove_keys) AS d(of, key)
      WHERE r.key = d.key AND d.of <> ALL (refused);
    SELECT string_agg(DISTINCT n.topic, ' ') INTO topics
      FROM unnest(notify_of, notify_topics) AS n(of, topic) WHERE n.of <> ALL (refused);
    IF topics IS NOT NULL THEN
      -- A payload may have 8000 bytes at most; a star wakes everybody.
      PERFORM pg_notify('${channel}', sender || ' ' || CASE WHEN length(topics) < 7000 THEN topics ELSE '*' END);
    END IF;
    RETURN refused;
  END $$;
`

// Left to itself, PostgreSQL plans statements over arrays again in every call. That takes longer than most groups.
const planOnce = ({ schema }: StoreNames) =>
  ['get_1', 'range_1', 'ranges_1', 'commit_1']
    .map((name) => `ALTER FUNCTION ${schema}.${name} SET plan_cache_mode = force_generic_plan;`)
    .join('\n')
