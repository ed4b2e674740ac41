import { describe, expect, it } from 'vitest';
import { isHostAndPort } from './host.ts';

describe('isHostAndPort', () => {
  it.each([
    'a',
    'a.b',
    'a.b.',
    'A-1_b',
    '192.0.2.1',
    'a:0',
    'a:65535',
    '[::1]',
    '[::ffff:1.2.3.4]:1',
    `${'a'.repeat(255)}:1`,
  ])('accepts %s', (host) => expect(isHostAndPort(host)).toBe(true));
  it.each([
    '',
    '.',
    '.a',
    'a..b',
    'a:',
    'a:65536',
    'a:123456',
    'a:1x',
    ':1',
    'a:1:2',
    '::1',
    '[]',
    '[::1',
    '[::1]]',
    '[::1]1',
    '[::1]:',
    '[a]',
    '[1.2.3.4]',
    '[::1%1]',
    'a@b',
    'a/',
    'a?',
    'a b',
    ' a',
    'a%41',
    'a,b',
    'é',
    'a'.repeat(256),
  ])('refuses %j', (host) => expect(isHostAndPort(host)).toBe(false));
});
