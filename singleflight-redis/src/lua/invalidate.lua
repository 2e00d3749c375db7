-- Removes the value and voids lease, cool-down and failure: loads begun before this are refused from here on.
-- KEYS value, lease, failure   ARGV channel
-- -> 1 there was a value   0 there was none
redis.call('DEL', KEYS[2], KEYS[3])
local removed = redis.call('UNLINK', KEYS[1])
redis.pcall('PUBLISH', ARGV[1], 'x')
return removed
