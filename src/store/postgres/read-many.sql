-- ranges_1: entries of several ranges, low (inclusive) to high (exclusive), at most as many of each as its size. The entries of each range
-- come together, in their order; ranges are numbered from 1 (place).
-- {schema}: quoted. {by_key}: settings that have every access go by the key.
CREATE FUNCTION {schema}.ranges_1(lows text[], highs text[], sizes int[])
RETURNS TABLE (place int, key text, value text) LANGUAGE plpgsql STABLE {by_key} AS $$ BEGIN
  RETURN QUERY SELECT a.place::int, e.key, e.value
    FROM unnest(lows, highs, sizes) WITH ORDINALITY AS a(low, high, size, place)
    CROSS JOIN LATERAL (
      SELECT r.key, r.value FROM {schema}.records r WHERE r.key >= a.low AND r.key < a.high ORDER BY r.key LIMIT a.size
    ) e;
END $$;
