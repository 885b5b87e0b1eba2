-- Writes a sign of life by the clock of Redis, and forgets silent ones that are old.
-- Runs as a whole, or not at all (Redis 7.0).
-- KEYS: 1 servers (hash).
-- ARGV: 1 server, 2 process, 3 ms to keep, then silent servers.
-- Returns of all servers: id, time and process.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('HSET', KEYS[1], ARGV[1], string.format('%.0f', now) .. ' ' .. ARGV[2])
for place = 4, #ARGV do
  local id = ARGV[place]
  local seen = tonumber(string.match(redis.call('HGET', KEYS[1], id) or '', '^%d+'))
  if seen and seen < now - ARGV[3] then redis.call('HDEL', KEYS[1], id) end
end
return redis.call('HGETALL', KEYS[1])
