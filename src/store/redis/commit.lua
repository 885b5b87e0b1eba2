-- Makes commits in their order.
-- Runs as a whole, or not at all (Redis 7.0).
-- KEYS: 1 values by key (hash), 2 keys in the order of their bytes (sorted set).
-- ARGV: 1 channel, 2 sender; then lists of each commit, each with its length ahead: keys that must exist, ranges without a key,
-- keys with the values that they must have, keys and values to set, keys to remove, topics.
-- Returns 1 or 0 for each commit: done, or refused by its guards.
local records, keys = KEYS[1], KEYS[2]
local place = 3
local function take()
  place = place + 1
  return ARGV[place - 1]
end
-- Calls back with each item of the list that comes next, and the one after it where items are pairs.
local function each(isPair, handle)
  local count = tonumber(take())
  for _ = 1, count do
    local one = take()
    handle(one, isPair and take() or nil)
  end
end

local done, topics = {}, {}
while ARGV[place] do
  local holds = true
  each(false, function(key)
    if holds and redis.call('HEXISTS', records, key) == 0 then holds = false end
  end)
  each(true, function(from, to)
    if holds and #redis.call('ZRANGEBYLEX', keys, '[' .. from, '(' .. to, 'LIMIT', 0, 1) > 0 then holds = false end
  end)
  each(true, function(key, value)
    if holds and redis.call('HGET', records, key) ~= value then holds = false end
  end)
  each(true, function(key, value)
    if holds and redis.call('HSET', records, key, value) == 1 then redis.call('ZADD', keys, 0, key) end
  end)
  each(false, function(key)
    if holds and redis.call('HDEL', records, key) == 1 then redis.call('ZREM', keys, key) end
  end)
  each(false, function(topic)
    if holds then topics[#topics + 1] = topic end
  end)
  done[#done + 1] = holds and 1 or 0
end
if #topics > 0 then redis.call('PUBLISH', ARGV[1], ARGV[2] .. ' ' .. table.concat(topics, ' ')) end
return done
