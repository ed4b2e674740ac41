import { describe, expect, it } from 'vitest';
import { isReply, refusalText } from './store-refusals.ts';

const OF_COUNTERS = [
  'WRONGTYPE Operation against a key holding the wrong kind of value script: 60af, on @user_script:18.',
  'ERR Error running script (call to f_60af): @user_script:18: WRONGTYPE Operation against a key holding the wrong kind of value',
  "ERR user_script:24: attempt to perform arithmetic on local 'count' (a nil value) script: 60af, on @user_script:24.",
  'MOVED 3999 127.0.0.1:6381',
  'CLUSTERDOWN Hash slot not served',
];
const OF_ALL = [
  "READONLY You can't write against a read only replica. script: 60af, on @user_script:29.",
  "ERR Error running script (call to f_60af): @user_script:29: @user_script: 29: -READONLY You can't write against a read only replica.",
  'NOAUTH Authentication required.',
  'ERR Protocol error: unauthenticated multibulk length',
  "NOPERM User default has no permissions to run the 'evalsha' command",
  "OOM command not allowed when used memory > 'maxmemory'. script: 60af, on @user_script:29.",
  'LOADING Redis is loading the dataset in memory',
  'BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.',
  'CLUSTERDOWN The cluster is down',
  "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
  'there is no connection: connect ECONNREFUSED 127.0.0.1:6379',
];

describe('an error reply', () => {
  it.each(OF_COUNTERS)('is about one counter, which is named: %s', (reply) => {
    expect(refusalText(reply, 'headgate:limit:{a}').startsWith(`${reply} (headgate:limit:{a}); `)).toBe(true);
  });

  it.each(OF_ALL)('is about the server: %s', (reply) => {
    expect(refusalText(reply, 'headgate:limit:{a}')).not.toContain('headgate:limit');
  });

  it.each([
    [OF_COUNTERS[3], 'redis+cluster://'],
    [OF_ALL[0], 'name the primary'],
    [OF_ALL[1], 'name the primary'],
    [OF_ALL[2], 'put it into GATEWAY_REDIS_URL'],
    [OF_ALL[3], 'put it into GATEWAY_REDIS_URL'],
    [OF_ALL[4], 'allow this user EVAL, EVALSHA'],
  ])('says what to do: %s', (reply = '', advice) => {
    expect(refusalText(reply, 'a')).toContain(advice);
  });

  it('is shortened where it is longer than any of a store', () => {
    expect(refusalText(`ERR ${'x'.repeat(1_000_000)}`, 'a')).toHaveLength(501);
  });

  it('is not mistaken for the failure of a connection', () => {
    expect([...OF_COUNTERS, ...OF_ALL].filter((text) => !isReply(text))).toEqual([OF_ALL.at(-1)]);
  });
});
