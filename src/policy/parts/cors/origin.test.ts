import { describe, expect, it } from 'vitest';
import { parseOrigin } from './origin.ts';

describe('parseOrigin', () => {
  it.each([
    ['https://example.com', 'https://example.com'],
    ['HTTPS://Example.COM', 'https://example.com'],
    ['https://example.com:443', 'https://example.com'],
    ['http://example.com:80', 'http://example.com'],
    ['http://example.com:443', 'http://example.com:443'],
    ['http://localhost:3000', 'http://localhost:3000'],
    ['http://127.0.0.1:08080', 'http://127.0.0.1:8080'],
    ['http://[::1]:3000', 'http://[::1]:3000'],
    ['app://obsidian.md', 'app://obsidian.md'],
    ['chrome-extension://abcdef', 'chrome-extension://abcdef'],
  ])('%s is %s', (text, normal) => {
    expect(parseOrigin(text, false)?.text).toBe(normal);
  });

  it.each([
    '',
    'null',
    '*',
    'example.com',
    '//example.com',
    'https://',
    'https:///',
    'https://example.com/',
    'https://example.com/path',
    'https://example.com?x',
    'https://example.com#x',
    'https://user@example.com',
    'https://example.com:',
    'https://example.com:0',
    'https://example.com:65536',
    'https://example.com:x',
    'https://.example.com',
    'https://example..com',
    'https://exa mple.com',
    'https://example.com\r\nX: y',
    'https://example.com\n',
    'https://*.example.com',
    'https://ex*mple.com',
    'ht tp://example.com',
    `https://${'a'.repeat(64)}.com`,
    `https://${'a.'.repeat(1500)}com`,
  ])('%j is no origin', (text) => {
    expect(parseOrigin(text, false)).toBeUndefined();
  });

  it('takes a wildcard for the first label, where one is allowed', () => {
    expect(parseOrigin('https://*.Example.com:8443', true)).toEqual({
      text: 'https://.example.com:8443',
      wildcard: true,
      schemePart: 'https://',
      hostPart: '.example.com:8443',
    });
    for (const text of [
      'https://*',
      'https://*.',
      'https://*example.com',
      'https://a.*.com',
      '*://a.com',
      'http://*.0.0.1',
    ]) {
      expect(parseOrigin(text, true)).toBeUndefined();
    }
  });
});
