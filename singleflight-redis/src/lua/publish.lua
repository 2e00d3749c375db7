-- Stores a record, if the token holds the lease.
-- KEYS value, lease   ARGV token, kind, hard ms, channel, record
-- -> 1 stored   2 stored before by this token   0 refused   -1 refused for a newer version; the lease is free
-- An error leaves all as it was.
local head = redis.pcall('GETRANGE', KEYS[1], 0, 31)
if redis.call('GETRANGE', KEYS[2], 0, 15) ~= ARGV[1] then
  if type(head) == 'string' and #head == 32 and string.sub(head, 17, 32) == ARGV[1] then return 2 end
  return 0
end
if type(head) == 'table' then return head end
local function free(message)
  redis.call('DEL', KEYS[2])
  -- A missing right to the channel must not undo the write.
  redis.pcall('PUBLISH', ARGV[4], message)
end
if #head == 32 and string.byte(head) == 1 and string.sub(head, 13, 16) == string.sub(ARGV[2], 3, 6)
  and struct.unpack('>I2', head, 3) > struct.unpack('>I2', ARGV[2]) then
  free('a' .. ARGV[1])
  return -1
end
local set = redis.pcall('SET', KEYS[1], ARGV[5], 'PX', ARGV[3])
if set.err then return set end
free('p' .. ARGV[1])
return 1
