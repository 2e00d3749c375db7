-- Stores a record that was staged before, if the token holds the lease. Payloads do not pass through here.
-- KEYS value, lease, staging   ARGV token, kind, hard ms, channel
-- -> as publish
local head = redis.pcall('GETRANGE', KEYS[1], 0, 31)
if redis.call('GETRANGE', KEYS[2], 0, 15) ~= ARGV[1] then
  redis.call('UNLINK', KEYS[3])
  if type(head) == 'string' and #head == 32 and string.sub(head, 17, 32) == ARGV[1] then return 2 end
  return 0
end
if type(head) == 'table' then
  redis.call('UNLINK', KEYS[3])
  return head
end
local function free(message)
  redis.call('DEL', KEYS[2])
  -- A missing right to the channel must not undo the write.
  redis.pcall('PUBLISH', ARGV[4], message)
end
if #head == 32 and string.byte(head) == 1 and string.sub(head, 13, 16) == string.sub(ARGV[2], 3, 6)
  and struct.unpack('>I2', head, 3) > struct.unpack('>I2', ARGV[2]) then
  redis.call('UNLINK', KEYS[3])
  free('a' .. ARGV[1])
  return -1
end
if redis.call('PEXPIRE', KEYS[3], ARGV[3]) == 0 then
  return redis.error_reply('GONE the staged value is no longer there')
end
-- Keeps the TTL just set.
redis.call('RENAME', KEYS[3], KEYS[1])
free('p' .. ARGV[1])
return 1
