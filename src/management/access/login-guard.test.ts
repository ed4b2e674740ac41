/** How wrong admin tokens are slowed down, and who is not. */
import { describe, expect, it } from 'vitest';
import { LoginGuard } from './login-guard.ts';

function guardOf(perMinute: number) {
  const time = { ms: 0 };
  const guard = new LoginGuard(perMinute, () => time.ms);
  const fail = (address: string, token: string): number => {
    const wait = guard.admit(address, token);
    if (wait === 0) guard.failed(address, token);
    return wait;
  };
  const succeed = (address: string, token: string): number => {
    const wait = guard.admit(address, token);
    if (wait === 0) guard.succeeded(address, token);
    return wait;
  };
  return { guard, time, fail, succeed };
}

describe('LoginGuard', () => {
  it('lets so many wrong tokens a minute be looked at, and says when the next one may be', () => {
    const { time, fail } = guardOf(10);
    for (let index = 0; index < 10; index++) expect(fail('192.0.2.1', `t${index}`)).toBe(0);
    expect(fail('192.0.2.1', 'x')).toBe(6);
    expect(fail('192.0.2.2', 'x'), 'another address').toBe(0);
    time.ms += 5_999;
    expect(fail('192.0.2.1', 'x')).toBe(1);
    time.ms += 1;
    expect(fail('192.0.2.1', 'x')).toBe(0);
    expect(fail('192.0.2.1', 'y')).toBe(6);
    time.ms += 3_600_000;
    for (let index = 0; index < 10; index++) expect(fail('192.0.2.1', `t${index}`)).toBe(0);
    expect(fail('192.0.2.1', 'x')).toBe(6);
  });

  it('only a token that was right from this address before passes at once', () => {
    const { fail, succeed } = guardOf(2);
    expect(succeed('192.0.2.1', 'good')).toBe(0);
    for (const token of ['a', 'b', 'c']) fail('192.0.2.1', token);
    expect(succeed('192.0.2.1', 'good')).toBe(0);
    expect(succeed('192.0.2.1', 'other')).toBeGreaterThan(0);
    expect(succeed('192.0.2.9', 'other')).toBe(0);
    // Revoked: it has no privilege any more.
    expect(fail('192.0.2.1', 'good')).toBe(0);
    expect(fail('192.0.2.1', 'good')).toBeGreaterThan(0);
  });

  it('right tokens are not counted, however many come at the same time; wrong ones cannot race', () => {
    const { guard } = guardOf(2);
    for (let index = 0; index < 50; index++) expect(guard.admit('192.0.2.1', 'good')).toBe(0);
    for (let index = 0; index < 50; index++) guard.succeeded('192.0.2.1', 'good');
    expect(guard.admit('192.0.2.1', 'a')).toBe(0);
    expect(guard.admit('192.0.2.1', 'b')).toBe(0);
    expect(guard.admit('192.0.2.1', 'c')).toBeGreaterThan(0);
    guard.abandoned('192.0.2.1', 'a');
    expect(guard.admit('192.0.2.1', 'c')).toBe(0);
  });

  it('counts IPv6 clients by their /64, and remembers a bounded number of addresses', () => {
    const { fail } = guardOf(1);
    expect(fail('2001:db8::1', 'a')).toBe(0);
    expect(fail('2001:db8::ffff:2', 'b')).toBeGreaterThan(0);
    expect(fail('2001:db8:0:1::1', 'c')).toBe(0);
    for (let index = 0; index < 20_000; index++) fail(`10.0.${index >> 8}.${index & 255}`, 'x');
    expect(fail('2001:db8::1', 'a'), 'forgotten').toBe(0);
  });

  it('0 is off', () => {
    const { fail } = guardOf(0);
    for (let index = 0; index < 1_000; index++) expect(fail('192.0.2.1', `t${index}`)).toBe(0);
  });
});
