/**
 * The scripts that run inside Valkey or Redis: one for each algorithm, which takes permits from one counter in one
 * round trip, and one for the heartbeats of nodes. A script touches one key, so that it runs on any server of a
 * cluster. It uses the server's clock, and time never runs backwards for a counter: if the clock is set back by up to a
 * second, it stands still. If it is set back by more, or a failover leads to a server whose clock is behind, the
 * counter is moved to the new time with what it has counted. All input is passed as arguments and never concatenated
 * into a script.
 *
 * A counter is a hash with a time to live: it expires as soon as forgetting it changes nothing. A counter that the
 * server has lost (a restart without persistence, a failover) starts again.
 *
 * There are two kinds of permits. *Needed* permits go to waiting requests. *Extra* permits are a lease, used during the
 * next `leaseMs`: at most the fraction `1/holders` of what is left. Numbers are IEEE doubles; a token bucket that needs
 * more than 2^53 units rounds against the caller.
 */
import { createHash } from 'node:crypto';

export interface RedisScript {
  readonly text: string;
  /** Its name for EVALSHA. */
  readonly sha1: string;
}

function script(text: string): RedisScript {
  return Object.freeze({ text, sha1: createHash('sha1').update(text).digest('hex') });
}

/** A counter that is further ahead of the clock was written before the clock was set back. */
const CLOCK_STEP_MS = 1_000;

/** The arguments in the order of `grantArguments` in redis-server.ts. */
const BEGIN = `
local requests, windowMs, burst = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local consume, need, extra = ARGV[4] == '1', tonumber(ARGV[5]), tonumber(ARGV[6])
local holders, leaseMs = tonumber(ARGV[7]), tonumber(ARGV[8])
local owed, unused = tonumber(ARGV[9]), tonumber(ARGV[10])
local knownWindow = tonumber(ARGV[11])
local owedLately, owedForMs, buckets = tonumber(ARGV[12]), tonumber(ARGV[13]), tonumber(ARGV[14])
local floor, ceil, max, min = math.floor, math.ceil, math.max, math.min
local key = KEYS[1]
local clock = redis.call('TIME')
local now = clock[1] * 1000 + floor(clock[2] / 1000)

-- What is granted of left permits: to requests that wait, and as a lease.
local function share(left)
  if left <= 0 then return 0, 0 end
  local needed = min(need, left)
  return needed, min(extra, floor((left - needed) / holders))
end
`;

/** `w` number of the window, `c` requests in it. */
const FIXED_WINDOW = script(`${BEGIN}
local state = redis.call('HMGET', key, 'w', 'c')
local storedWindow = tonumber(state[1])
local window, count = floor(now / windowMs), 0
if storedWindow and storedWindow >= window then
  count = tonumber(state[2])
  if storedWindow * windowMs - now <= ${CLOCK_STEP_MS} then window = storedWindow end
end
if knownWindow == window then count = max(0, count - unused) end
count = count + owed
local left = requests - count
local needed, leased = share(left)
local endMs = (window + 1) * windowMs - now
left = left - needed - leased
if consume then
  local after = count + needed + leased
  if storedWindow ~= window and after > 0 then
    redis.call('HSET', key, 'w', window, 'c', after)
    redis.call('PEXPIRE', key, endMs + 1000)
  elseif storedWindow == window and after ~= tonumber(state[2]) then
    redis.call('HSET', key, 'c', after)
  end
end
local wait = 0
if left <= 0 then wait = requests > 0 and endMs or windowMs end
return { needed + leased, max(0, left), wait, endMs, endMs, window }
`);

/** Within this time after the first thread calls again, the others report their debts from the same outage. */
const ROUND_MS = 1_000;

/**
 * `t` time at which `o` units were owed (a unit is 1/windowMs token), `k` number of the last time slot in which permits
 * were leased, `l` how many, `p` the same of the slot before. While leased permits may be unused, the bucket fills up
 * only as far as it leaves room for them. Bucket and leases together thus never have more than `burst` tokens, and all
 * nodes admit no more than a single bucket would. Permits are returned with the number of their slot, while the slot
 * counts.
 *
 * Requests admitted without the store are charged even to an empty bucket, which then grants nothing until the debt is
 * paid, up to a depth of `buckets`. They are reported late: a bucket that was full in the meantime has lost refill that
 * was in fact used. For one second from `y`, when the bucket was found full or a debt was reported, `i` is the refill
 * lost until then. A thread that reports gets back the refill lost since its debt began; `u` is the debt computed in
 * this way. Requests admitted within the time in which a bucket fills are always charged. `f` is the size of the
 * bucket.
 */
const TOKEN_BUCKET = script(`${BEGIN}
local state = redis.call('HMGET', key, 't', 'o', 'k', 'l', 'p', 'f', 'u', 'y', 'i')
local at, debt = tonumber(state[1]), tonumber(state[2]) or 0
local aheadMs = at and at - now or 0
local began = tonumber(state[8])
if aheadMs > ${CLOCK_STEP_MS} then
  at = now
  began = began and began - aheadMs
elseif aheadMs > 0 then now = at end
local slot, lease, previous = floor(now / leaseMs), 0, 0
local storedSlot = tonumber(state[3]) or -1
if aheadMs > ${CLOCK_STEP_MS} then storedSlot = slot end
if storedSlot >= slot then
  slot, lease, previous = storedSlot, tonumber(state[4]), tonumber(state[5])
elseif storedSlot == slot - 1 then
  previous = tonumber(state[4])
end
local full = burst * windowMs
local paid = at and (now - at) * requests or 0
if full > 2^53 then paid = paid * (1 - 2^-50) end
-- Under another burst only a whole bucket is owed, or a lowered one would refuse for long.
if tonumber(state[6]) ~= full then debt = min(debt, full) end
local idle, account = tonumber(state[9]), tonumber(state[7])
if began and now - began < ${ROUND_MS} then
  account = account - paid
else
  account = at and debt - paid or -2^52
  began, idle = now, min(2^52, max(0, -account))
  if idle == 0 then began = nil end
  account = max(0, account)
end
debt = max(0, debt - paid, min(debt, (lease + previous) * windowMs))
-- Permits of older slots do not come back: the bucket may have filled up for them already. Those of later slots are from
-- before the clock was set back.
if unused > 0 and knownWindow >= slot - 1 and knownWindow <= slot then
  debt, account = max(0, debt - unused * windowMs), account - unused * windowMs
  if knownWindow == slot then lease = max(0, lease - unused) else previous = max(0, previous - unused) end
end
if owed > 0 then
  began = began or now
  local back = min(idle, owed * windowMs, max(0, began - now + owedForMs) * requests)
  idle, account = idle - back, account + owed * windowMs - back
  debt = max(debt, min(buckets * full, max(account, debt + owedLately * windowMs)))
end
local left = requests > 0 and max(0, floor((full - debt) / windowMs)) or 0
local needed, leased = share(left)
left = left - needed - leased
local taken = (needed + leased) * windowMs
debt, account = debt + taken, account + taken
if full > 2^53 then debt = min(max(full, debt), debt * (1 + 2^-51)) end
-- Beyond that no time is exact, and the server refuses it as a time to live.
local function time(units) return min(2^52, ceil(units / requests)) end
local reset = requests > 0 and time(debt) or windowMs
local wait = 0
if left < 1 then wait = requests > 0 and max(1, time(debt - full + windowMs)) or windowMs end
if consume and (debt > 0 or tonumber(state[2])) then
  redis.call('HSET', key, 't', now, 'o', debt, 'k', slot, 'l', lease + leased, 'p', previous, 'f', full)
  if began then redis.call('HSET', key, 'u', account, 'y', began, 'i', idle) end
  redis.call('PEXPIRE', key, ceil(reset * 1.25) + 2 * leaseMs + 1000)
end
return { needed + leased, left, wait, reset, leaseMs, slot }
`);

/** Entries of the ring of a sliding window; up to this number, requests in a window are counted to the millisecond. */
const SLIDING_RING = 200;

/**
 * `a` number of the first entry, `h` number after the last entry, `n` requests in all of them, `f` time of the first
 * request in the newest entry, `m` latest time seen; `e<number>` an entry, `time:requests`, which counts until a window
 * after that time. As in memory (sliding-window.ts), requests that are closer together than the resolution of the ring
 * share an entry, with the time of the last one; times of entries never decrease.
 *
 * Leased permits count as used at the end of the lease, and unused permits are returned with that time. They are
 * removed from the oldest entry that is not older, so the rest counts for at least as long as the used permits must.
 */
const SLIDING_WINDOW = script(`${BEGIN}
local state = redis.call('HMGET', key, 'a', 'h', 'n', 'f', 'm')
local tail, head = tonumber(state[1]) or 0, tonumber(state[2]) or 0
local total, first = tonumber(state[3]) or 0, tonumber(state[4]) or 0
local latest = tonumber(state[5])
local aheadMs = 0
if latest and latest - now > ${CLOCK_STEP_MS} then
  aheadMs = latest - now
  first = first - aheadMs
elseif latest and latest > now then now = latest end
local function entry(number)
  local time, count = string.match(redis.call('HGET', key, 'e' .. number), '^(%d+):(%d+)$')
  return tonumber(time) - aheadMs, tonumber(count)
end
local function write(number, time, count)
  redis.call('HSET', key, 'e' .. number, string.format('%d:%d', time, count))
end
local moved = consume and aheadMs > 0
if moved then
  for number = tail, head - 1 do
    local time, count = entry(number)
    write(number, time, count)
  end
  aheadMs = 0
end
local gone, returned = {}, false
while tail < head do
  local time, count = entry(tail)
  if time > now - windowMs then break end
  gone[#gone + 1] = 'e' .. tail
  total = total - count
  tail = tail + 1
end
-- An entry that has left the window holds nothing more to take back.
if consume and unused > 0 and knownWindow > now - windowMs then
  local number = head
  while number > tail and entry(number - 1) >= knownWindow do number = number - 1 end
  while number < head and unused > 0 do
    local time, count = entry(number)
    local back = min(unused, count)
    write(number, time, count - back)
    unused, total, returned = unused - back, total - back, true
    number = number + 1
  end
end
local function append(time, count)
  if count <= 0 then return end
  local merge = requests <= ${SLIDING_RING} and 1 or windowMs / (${SLIDING_RING} - 2)
  local length = head - tail
  local newestTime, newestCount = 0, 0
  if length > 0 then newestTime, newestCount = entry(head - 1) end
  if length > 0 and (length >= ${SLIDING_RING} or time - first < merge) then
    write(head - 1, max(newestTime, time), newestCount + count)
  else
    write(head, max(newestTime, time), count)
    first = time
    head = head + 1
  end
  total = total + count
end
local left = requests - total - owed
local needed, leased = share(left)
left = left - needed - leased
local changed = consume and owed + needed + leased > 0
if changed then
  append(now, owed + needed)
  append(now + leaseMs, leased)
end
if consume and #gone > 0 then redis.call('HDEL', key, unpack(gone)) end
if changed or moved or returned or consume and #gone > 0 then
  redis.call('HSET', key, 'a', tail, 'h', head, 'n', total, 'f', first, 'm', now)
end
if changed or moved then redis.call('PEXPIRE', key, ceil((windowMs + leaseMs) * 1.25) + 1000) end
local wait, reset = 0, windowMs
if left <= 0 then
  wait = windowMs
  local excess = total - requests + 1
  if not consume then excess = excess + owed end
  local number = tail
  while requests > 0 and number < head and excess > 0 do
    local time, count = entry(number)
    excess = excess - count
    if excess <= 0 then wait = max(1, time + windowMs - now) end
    number = number + 1
  end
  if total > 0 and needed + leased == 0 then
    local time = entry(head - 1)
    reset = max(1, time + windowMs - now)
  end
end
return { needed + leased, max(0, left), wait, reset, leaseMs, now + leaseMs }
`);

/**
 * Notes that a node is alive or has left. Returns how many nodes live, how many of them sort before it, and whether it
 * was already listed (1). Arguments: the node's id, for how many milliseconds a heartbeat is valid, 1 to leave.
 */
export const HEARTBEAT: RedisScript = script(`
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local ttlMs = tonumber(ARGV[2])
local wasListed = redis.call('ZSCORE', KEYS[1], ARGV[1]) and 1 or 0
-- First what a full server refuses, since it refuses counting as well.
if ARGV[3] == '1' then redis.call('ZREM', KEYS[1], ARGV[1])
else redis.call('ZADD', KEYS[1], now, ARGV[1]) end
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - ttlMs)
-- A server whose clock was set back must not keep the dead of its future.
redis.call('ZREMRANGEBYSCORE', KEYS[1], '(' .. string.format('%d', now + ttlMs), '+inf')
redis.call('PEXPIRE', KEYS[1], ttlMs * 4)
local before = 0
local nodes = redis.call('ZRANGE', KEYS[1], 0, -1)
for _, node in ipairs(nodes) do if node < ARGV[1] then before = before + 1 end end
return { #nodes, before, wasListed }
`);

export const SCRIPT_OF = Object.freeze({
  fixed_window: FIXED_WINDOW,
  sliding_window: SLIDING_WINDOW,
  token_bucket: TOKEN_BUCKET,
});
