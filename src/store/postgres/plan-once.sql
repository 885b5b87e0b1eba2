-- Left to itself, PostgreSQL plans statements over arrays again in every call. That takes longer than most groups.
-- {schema}: quoted.
ALTER FUNCTION {schema}.get_1 SET plan_cache_mode = force_generic_plan;
ALTER FUNCTION {schema}.range_1 SET plan_cache_mode = force_generic_plan;
ALTER FUNCTION {schema}.ranges_1 SET plan_cache_mode = force_generic_plan;
ALTER FUNCTION {schema}.commit_1 SET plan_cache_mode = force_generic_plan;
