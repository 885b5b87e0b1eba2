// Scripts of Redis 7.0 run as a whole, or not at all. KEYS[1] holds the values by key, KEYS[2] the keys in the order of
// their bytes. Their arguments are lists, each with its length ahead.

/**
 * Makes commits in their order.
 *
 * ARGV: channel, sender; then of each commit: keys that must exist, ranges without a key, keys with the values that they must
 * have, keys and values to set, keys to remove, topics.
 *
 * @returns 1 or 0 for each commit: done, or refused by its guards
 */
export const COMMIT = `
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
`

/**
 * Reads ranges. ARGV, of each: from (inclusive), to (exclusive), `asc` or `desc`, limit.
 *
 * @returns for each range: key, value, key, value
 */
export const ENTRIES = `
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
`

/**
 * Writes a sign of life by the clock of Redis, and forgets silent ones that are old. KEYS[1]: servers. ARGV: server, process, ms to keep, silent servers.
 *
 * @returns of all servers: id, time and process
 */
export const BEAT = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('HSET', KEYS[1], ARGV[1], string.format('%.0f', now) .. ' ' .. ARGV[2])
for place = 4, #ARGV do
  local id = ARGV[place]
  local seen = tonumber(string.match(redis.call('HGET', KEYS[1], id) or '', '^%d+'))
  if seen and seen < now - ARGV[3] then redis.call('HDEL', KEYS[1], id) end
end
return redis.call('HGETALL', KEYS[1])
`
