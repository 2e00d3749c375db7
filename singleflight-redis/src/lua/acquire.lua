-- Asks for the lease.
-- KEYS value, lease, failure
-- ARGV token, lease ms, kind (version and identity as in the header), '1' = even if fresh, grant waited on or ''
-- -> {0} fresh   {1} granted   {2, left ms, grant} held   {3, left ms, message} cooling down
local head = redis.call('GETRANGE', KEYS[1], 0, 31)
if ARGV[4] ~= '1' and #head == 32 and string.byte(head) == 1
  and string.sub(head, 3, 4) .. string.sub(head, 13, 16) == ARGV[3]
  and redis.call('PTTL', KEYS[1]) > struct.unpack('>I4', head, 5) then
  return {0}
end
if ARGV[5] ~= '' then
  local note = redis.call('GET', KEYS[3])
  if note and string.sub(note, 1, 16) == ARGV[5] then
    return {3, redis.call('PTTL', KEYS[3]), string.sub(note, 17)}
  end
end
local lease = redis.call('GET', KEYS[2])
if lease and lease ~= ARGV[1] then
  local left = redis.call('PTTL', KEYS[2])
  -- A lease without a TTL is not ours and would last for ever: it is taken over.
  if left >= 0 then
    if #lease > 16 then return {3, left, string.sub(lease, 18)} end
    return {2, left, lease}
  end
end
local set = redis.pcall('SET', KEYS[2], ARGV[1], 'PX', ARGV[2])
if set.err then return set end
return {1}
