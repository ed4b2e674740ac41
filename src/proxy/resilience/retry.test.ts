import { describe, expect, it } from 'vitest';
import type { RetryCondition } from '../../policy/stage.ts';
import { DEFAULT_RETRIES } from '../../policy/parts/retries/part.ts';
import {
  conditionOf,
  conditionOfStatus,
  decideRetry,
  isIdempotent,
  type FailedAttempt,
  type RetryVerdict,
} from './retry.ts';

const lost: FailedAttempt = {
  condition: 'reset',
  attempt: 1,
  sent: 'some',
  wasReused: true,
  responseBegun: false,
  method: 'GET',
  replayable: true,
};
const rules = (max: number, ...on: RetryCondition[]) => ({ max, on: new Set(on) });
const unsent: Partial<FailedAttempt> = { sent: 'unsent', method: 'POST' };
const refused: Partial<FailedAttempt> = { sent: 'nothing', condition: 'connect', wasReused: false };

describe('decideRetry', () => {
  it.each<[string, Partial<FailedAttempt>, RetryVerdict]>([
    ['a GET whose connection was lost', {}, 'retry'],
    ['a GET on a new connection', { wasReused: false }, 'retry'],
    ['a PUT with its body at hand', { method: 'PUT' }, 'retry'],
    ['a POST', { method: 'POST' }, 'give_up'],
    ['a PATCH', { method: 'PATCH' }, 'give_up'],
    ['an unknown method', { method: 'PROPFIND' }, 'give_up'],
    ['a body that was streamed', { method: 'PUT', replayable: false }, 'give_up'],
    ['a response that has begun', { responseBegun: true }, 'give_up'],
    ['a failure that is none of the conditions', { condition: undefined }, 'give_up'],
    ['a late first byte', { condition: 'timeout' }, 'give_up'],
    ['a status', { condition: '503' }, 'give_up'],
    ['a refused connection', refused, 'retry'],
    ['… of a POST', { ...refused, method: 'POST' }, 'retry'],
    ['… of a body that is still to come', { ...refused, method: 'POST', replayable: false }, 'retry'],
    ['a connection that was not made in time', { ...refused, condition: 'timeout' }, 'give_up'],
    ['the last attempt', { attempt: 2 }, 'give_up'],
    ['a POST on a pooled connection that was dead', unsent, 'resend'],
    ['… also after the last attempt', { ...unsent, attempt: 2 }, 'resend'],
    ['… but with a body that was streamed', { ...unsent, replayable: false }, 'give_up'],
    ['… but with an answer to nothing', { ...unsent, responseBegun: true }, 'give_up'],
    ['a POST on a new connection that was dead', { ...unsent, wasReused: false }, 'retry'],
  ])('by default: %s', (_name, changes, expected) => {
    expect(decideRetry({ ...lost, ...changes }, DEFAULT_RETRIES)).toBe(expected);
  });

  it.each<[string, Partial<FailedAttempt>, ReturnType<typeof rules>, RetryVerdict]>([
    ['max 0 forbids all', {}, rules(0, 'reset', 'connect'), 'give_up'],
    ['… also what was refused', refused, rules(0, 'reset', 'connect'), 'give_up'],
    ['… but not another connection in place of a dead one', unsent, rules(0), 'resend'],
    ['the third of three', { attempt: 3 }, rules(3, 'reset'), 'retry'],
    ['one beyond', { attempt: 4 }, rules(3, 'reset'), 'give_up'],
    ['what is not listed', {}, rules(3, 'connect'), 'give_up'],
    ['a late first byte', { condition: 'timeout' }, rules(1, 'timeout'), 'retry'],
    ['… of a POST', { condition: 'timeout', method: 'POST' }, rules(1, 'timeout'), 'give_up'],
    [
      'a late connection of a POST',
      { ...refused, condition: 'timeout', method: 'POST' },
      rules(1, 'timeout'),
      'retry',
    ],
    ['a status', { condition: '503' }, rules(1, '503'), 'retry'],
    ['another status', { condition: '502' }, rules(1, '503'), 'give_up'],
    ['a status of a POST', { condition: '503', method: 'POST' }, rules(1, '503'), 'give_up'],
    [
      'a new connection that was dead counts as one that was not made',
      { ...unsent, wasReused: false },
      rules(1, 'reset'),
      'give_up',
    ],
  ])('by policy: %s', (_name, changes, policy, expected) => {
    expect(decideRetry({ ...lost, ...changes }, policy)).toBe(expected);
  });
});

it('causes and statuses fall under their conditions', () => {
  expect(conditionOf('connect')).toBe('connect');
  expect(conditionOf('connect_timeout')).toBe('timeout');
  expect(conditionOf('first_byte_timeout')).toBe('timeout');
  expect(conditionOf('reset')).toBe('reset');
  expect((['tls', 'bad_response', 'idle_timeout', 'total_timeout'] as const).map(conditionOf)).toEqual(
    Array(4).fill(undefined),
  );
  expect([500, 501, 502, 503, 504, 505].map(conditionOfStatus)).toEqual([
    '500',
    undefined,
    '502',
    '503',
    '504',
    undefined,
  ]);
});

it('isIdempotent follows RFC 9110 section 9.2.2', () => {
  expect(['GET', 'HEAD', 'OPTIONS', 'TRACE', 'PUT', 'DELETE'].every(isIdempotent)).toBe(true);
  expect(['POST', 'PATCH', 'get', 'CONNECT'].some(isIdempotent)).toBe(false);
});
