-- Reads ranges.
-- Runs as a whole, or not at all (Redis 7.0).
-- KEYS: as commit.lua.
-- ARGV, of each range: from (inclusive), to (exclusive), asc or desc, limit.
-- Returns for each range: key, value, key, value.
local all = {}
for place = 1, #ARGV, 4 do
  local from, to = '[' .. ARGV[place], '(' .. ARGV[place + 1]
  local found
  if ARGV[place + 2] == 'asc' then found = redis.call('ZRANGEBYLEX', KEYS[2], from, to, 'LIMIT', 0, ARGV[place + 3])
  else found = redis.call('ZREVRANGEBYLEX', KEYS[2], to, from, 'LIMIT', 0, ARGV[place + 3]) end
  local entries = {}
  for _, key in ipairs(found) do
    entries[#entries + 1] = key
    entries[#entries + 1] = redis.call('HGET', KEYS[1], key)
  end
  all[#all + 1] = entries
end
return all
