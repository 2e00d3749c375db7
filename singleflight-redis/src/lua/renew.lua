-- Lets a lease last so long from now, if the token holds it.
-- KEYS lease   ARGV token, lease ms
-- -> 1 extended   0 lost
if redis.call('GETRANGE', KEYS[1], 0, 15) ~= ARGV[1] then return 0 end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])
