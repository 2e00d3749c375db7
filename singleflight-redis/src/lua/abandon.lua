-- Ends a lease without a value, if the token holds it.
-- KEYS lease, failure   ARGV token, channel, '1' = it failed, message, cool-down ms
-- -> 1 freed   0 not owned
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
local failed = ARGV[3] == '1'
if failed then
  redis.pcall('SET', KEYS[2], ARGV[1] .. ARGV[4], 'PX', 1000)
elseif ARGV[5] ~= '0' then
  -- Of several ends the last is remembered.
  redis.call('DEL', KEYS[2])
end
-- At least 17 bytes long, hence never taken for a token.
local cooling = ARGV[5] ~= '0' and redis.pcall('SET', KEYS[1], '!' .. ARGV[1] .. ARGV[4], 'PX', ARGV[5])
if not cooling or cooling.err then redis.call('DEL', KEYS[1]) end
redis.pcall('PUBLISH', ARGV[2], (failed and 'f' or 'a') .. ARGV[1] .. ARGV[4])
return 1
