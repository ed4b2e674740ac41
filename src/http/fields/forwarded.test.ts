import { describe, expect, it } from 'vitest';
import {
  clientAddress,
  clientScheme,
  forwardedForValue,
  forwardedLines,
  viaHolds,
  viaHops,
  viaLine,
} from './forwarded.ts';

const isTrusted = (address: string) => address.startsWith('10.') || address === '2001:db8::1';

describe('clientAddress', () => {
  it.each([
    ['192.0.2.1', '203.0.113.9', '192.0.2.1'],
    ['10.0.0.1', undefined, '10.0.0.1'],
    ['10.0.0.1', '203.0.113.9', '203.0.113.9'],
    ['10.0.0.1', '198.51.100.7, 203.0.113.9', '203.0.113.9'],
    ['10.0.0.1', '198.51.100.7, 203.0.113.9 , 10.0.0.2,10.0.0.3', '203.0.113.9'],
    ['10.0.0.1', '10.0.0.3, 10.0.0.2', '10.0.0.3'],
    ['::ffff:10.0.0.1', '203.0.113.9', '203.0.113.9'],
    ['2001:DB8::1', '2001:DB8:0::2', '2001:db8::2'],
    ['10.0.0.1', '203.0.113.9:4711', '203.0.113.9'],
    ['10.0.0.1', '[2001:db8::2]:443', '2001:db8::2'],
    ['10.0.0.1', '[2001:db8::2]', '2001:db8::2'],
    ['10.0.0.1', '203.0.113.9, unknown', '10.0.0.1'],
    ['10.0.0.1', '203.0.113.9, 10.0.0.2, _hidden, 10.0.0.3', '10.0.0.3'],
    ['10.0.0.1', '', '10.0.0.1'],
    ['10.0.0.1', ',', '10.0.0.1'],
    ['10.0.0.1', '203.0.113.9,', '10.0.0.1'],
    ['10.0.0.1', '[::1', '10.0.0.1'],
    ['10.0.0.1', '203.0.113.9:x', '10.0.0.1'],
  ])('of peer %s with %j is %s', (peer, forwardedFor, client) =>
    expect(clientAddress(peer, forwardedFor, isTrusted)).toBe(client),
  );

  it('stops at a list that is longer than any chain of proxies', () => {
    const forged = `203.0.113.9, ${Array.from({ length: 100 }, () => '10.0.0.2').join(', ')}`;
    expect(clientAddress('10.0.0.1', forged, isTrusted)).toBe('10.0.0.2');
  });
});

describe('clientScheme', () => {
  it.each([
    ['https', undefined, 'https'],
    [' HTTPS ', undefined, 'https'],
    ['', undefined, ''],
    ['http, https', undefined, 'https'],
    ['https, http', undefined, 'http'],
    // What the client wrote itself.
    ['https, http', '203.0.113.9', 'http'],
    ['http,https', '198.51.100.7, 203.0.113.9', 'https'],
    // The outermost trusted proxy, and the next that received from it without TLS.
    ['https, http', '203.0.113.9, 10.0.0.2', 'https'],
    ['http, https', '203.0.113.9, 10.0.0.2', 'http'],
    ['https, http, http', '198.51.100.7, 203.0.113.9, 10.0.0.2', 'http'],
    ['https, http, http', '203.0.113.9, 10.0.0.3, 10.0.0.2', 'https'],
    ['https', '203.0.113.9, 10.0.0.3, 10.0.0.2', 'https'],
    ['https, http', '203.0.113.9, 10.0.0.4, 10.0.0.3, 10.0.0.2', 'https'],
    ['https, http', '10.0.0.3, 10.0.0.2', 'https'],
    ['https, http', 'unknown, 10.0.0.2', 'http'],
    ['https, http', 'unknown', 'http'],
  ])('of %j with the addresses %j is %j', (proto, forwardedFor, scheme) =>
    expect(clientScheme(proto, '10.0.0.1', forwardedFor, isTrusted)).toBe(scheme),
  );
});

describe('forwardedForValue', () => {
  it('appends to the value of a trusted peer and replaces values of other peers', () => {
    expect(forwardedForValue('10.0.0.1', '203.0.113.9', true)).toBe('203.0.113.9, 10.0.0.1');
    expect(forwardedForValue('::ffff:192.0.2.1', '203.0.113.9', false)).toBe('192.0.2.1');
    expect(forwardedForValue('10.0.0.1', undefined, true)).toBe('10.0.0.1');
    expect(forwardedForValue('10.0.0.1', '', true)).toBe('10.0.0.1');
  });

  it('adds nothing for a client of a Unix socket', () => {
    expect(forwardedForValue('unix', '203.0.113.9', true)).toBe('203.0.113.9');
    expect(forwardedForValue('unix', '203.0.113.9', false)).toBe('');
    expect(forwardedLines('', 'http', 'a')).toBe('X-Forwarded-Proto: http\r\nX-Forwarded-Host: a\r\n');
  });
});

describe('viaLine', () => {
  it('appends this hop', () => {
    const hops = viaHops('headgate-1');
    expect(viaLine(hops, 1, undefined)).toBe('Via: 1.1 headgate-1\r\n');
    expect(viaLine(hops, 0, '1.1 a')).toBe('Via: 1.1 a, 1.0 headgate-1\r\n');
    expect(viaLine(hops, 1, undefined, true)).toBe('Via: 2.0 headgate-1\r\n');
  });
});

describe('viaHolds', () => {
  it.each([
    ['1.1 headgate-1', true],
    ['1.0 a, 2.0 headgate-1, 1.1 b', true],
    ['1.0 a,HTTP/1.1 \tHEADGATE-1 (comment)', true],
    ['1.1 headgate-1\t(comment),1.1 b', true],
    ['1.1 headgate-11, 1.1 headgate-1', true],
    ['1.1 headgate', false],
    ['1.1 headgate-11', false],
    ['1.1 x.headgate-1', false],
    ['1.1 headgate-1.example:80', false],
    ['1.1 a (headgate-1)', false],
    ['', false],
  ])('finds headgate-1 in %j: %j', (received, expected) => {
    expect(viaHolds(received, viaHops('Headgate-1'))).toBe(expected);
  });
});
