-- get_1: values of keys, in their order; NULL for one that is not there.
-- range_1: keys from low (inclusive) to high (exclusive), at most size of them; with their values where has_values.
-- {schema}: quoted. {by_key}: settings that have every access go by the key.
CREATE FUNCTION {schema}.get_1(keys text[]) RETURNS SETOF text LANGUAGE plpgsql STABLE {by_key} AS $$ BEGIN
  RETURN QUERY SELECT r.value FROM unnest(keys) WITH ORDINALITY AS k(key, place)
    LEFT JOIN {schema}.records r ON r.key = k.key ORDER BY k.place;
END $$;

CREATE FUNCTION {schema}.range_1(low text, high text, is_descending boolean, size int, has_values boolean)
RETURNS TABLE (key text, value text) LANGUAGE plpgsql STABLE {by_key} AS $$ BEGIN
  IF is_descending THEN
    RETURN QUERY SELECT r.key, CASE WHEN has_values THEN r.value END FROM {schema}.records r
      WHERE r.key >= low AND r.key < high ORDER BY r.key DESC LIMIT size;
  ELSE
    RETURN QUERY SELECT r.key, CASE WHEN has_values THEN r.value END FROM {schema}.records r
      WHERE r.key >= low AND r.key < high ORDER BY r.key LIMIT size;
  END IF;
END $$;
