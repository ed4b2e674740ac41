import { describe, expect, it } from 'vitest';
import { ATTEMPTS_MAX, isIdempotent, mayRetry, type FailedAttempt } from './retry.ts';

const stale: FailedAttempt = {
  cause: 'reset',
  attempt: 1,
  connected: true,
  wasReused: true,
  responseBegun: false,
  method: 'GET',
  replayable: true,
};

describe('mayRetry', () => {
  it.each<[string, Partial<FailedAttempt>, boolean]>([
    ['a GET on a connection that was closed while idle', {}, true],
    ['a PUT with its body at hand', { method: 'PUT' }, true],
    ['a POST', { method: 'POST' }, false],
    ['a PATCH', { method: 'PATCH' }, false],
    ['an unknown method', { method: 'PROPFIND' }, false],
    ['a body that was streamed', { method: 'PUT', replayable: false }, false],
    ['a fresh connection', { wasReused: false }, false],
    ['a response that has begun', { responseBegun: true }, false],
    ['a bad response', { cause: 'bad_response' }, false],
    ['a time-out', { cause: 'first_byte_timeout' }, false],
    [
      'a connection that was refused, also for a POST',
      { connected: false, cause: 'connect', method: 'POST' },
      true,
    ],
    ['a connection that was not made in time', { connected: false, cause: 'connect_timeout' }, false],
    ['a TLS failure', { connected: false, cause: 'tls' }, false],
    ['the last attempt', { attempt: ATTEMPTS_MAX }, false],
  ])('%s', (_name, changes, expected) => {
    expect(mayRetry({ ...stale, ...changes })).toBe(expected);
  });
});

describe('isIdempotent', () => {
  it('follows RFC 9110 section 9.2.2', () => {
    expect(['GET', 'HEAD', 'OPTIONS', 'TRACE', 'PUT', 'DELETE'].every(isIdempotent)).toBe(true);
    expect(['POST', 'PATCH', 'get', 'CONNECT'].some(isIdempotent)).toBe(false);
  });
});
