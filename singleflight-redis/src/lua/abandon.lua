-- Ends a lease without a value, if the token holds it.
-- KEYS lease, failure   ARGV token, channel, '1' = it failed, message, cool-down ms
-- -> 1 freed   0 not owned
local lease = redis.call('GET', KEYS[1])
if not lease or string.sub(lease, 1, 16) ~= ARGV[1] then return 0 end
local failed = ARGV[3] == '1'
local told, cooling = failed and 1000 or 0, tonumber(ARGV[5])
local ttl = math.max(told, cooling)
if ttl > 0 then
  local times = struct.pack('>I4I4', told, cooling)
  -- Where there is no room for it nobody is told, and the lease is free all the same.
  redis.pcall('SET', KEYS[2], string.sub(lease, 17, 20) .. times .. ARGV[1] .. ARGV[4], 'PX', ttl)
end
redis.call('DEL', KEYS[1])
redis.pcall('PUBLISH', ARGV[2], (failed and 'f' or 'a') .. ARGV[1] .. ARGV[4])
return 1
