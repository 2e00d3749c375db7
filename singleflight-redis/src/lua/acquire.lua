-- Asks for the lease.
-- KEYS value, lease, failure
-- ARGV token, lease ms, kind (version and identity as in the header), '1' = even if fresh, grant waited on or '',
--   '1' = even while a failure cools down
-- -> {0} fresh   {1} granted   {2, left ms, grant} held   {3, left ms, message} cooling down
local identity = string.sub(ARGV[3], 3, 6)
local head = redis.call('GETRANGE', KEYS[1], 0, 31)
if ARGV[4] ~= '1' and #head == 32 and string.byte(head) == 1
  and string.sub(head, 3, 4) .. string.sub(head, 13, 16) == ARGV[3]
  and redis.call('PTTL', KEYS[1]) > struct.unpack('>I4', head, 5) then
  return {0}
end
local note = ARGV[6] ~= '1' and redis.call('GET', KEYS[3])
if note and #note >= 28 and string.sub(note, 1, 4) == identity then
  local left = redis.call('PTTL', KEYS[3])
  local told, cooling = struct.unpack('>I4I4', note, 5)
  -- Those who waited are told as long as the note is there, newcomers while it cools down.
  local waited = string.sub(note, 13, 28) == ARGV[5]
  local still = waited and left or left - math.max(told - cooling, 0)
  if left >= 0 and (waited or still > 0) then return {3, still, string.sub(note, 29)} end
end
local lease = redis.call('GET', KEYS[2])
if lease and #lease == 20 and string.sub(lease, 1, 16) ~= ARGV[1] then
  local left = redis.call('PTTL', KEYS[2])
  -- A lease without a TTL is not ours and would last for ever: it is taken over.
  if left >= 0 then return {2, left, string.sub(lease, 1, 16)} end
end
local set = redis.pcall('SET', KEYS[2], ARGV[1] .. identity, 'PX', ARGV[2])
if set.err then return set end
if ARGV[6] == '1' then redis.call('DEL', KEYS[3]) end
return {1}
