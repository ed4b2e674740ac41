import { isIPv6 } from 'node:net';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { addressBlock, isBareIPv6, networkAddress, normaliseAddress, readBlock } from './address.ts';

describe('normaliseAddress', () => {
  it.each([
    ['192.0.2.1', '192.0.2.1'],
    ['::ffff:192.0.2.1', '192.0.2.1'],
    ['::FFFF:c000:0201', '192.0.2.1'],
    ['0:0:0:0:0:ffff:192.0.2.1', '192.0.2.1'],
    ['2001:DB8:0:0:0:0:0:1', '2001:db8::1'],
    ['2001:db8::0:1', '2001:db8::1'],
    ['2001:0db8:0:1:1:1:1:1', '2001:db8:0:1:1:1:1:1'],
    ['2001:db8:0:0:1:0:0:1', '2001:db8::1:0:0:1'],
    ['::', '::'],
    ['::1', '::1'],
    ['1::', '1::'],
    ['fe80::1%eth0', 'fe80::1'],
    ['64:ff9b::192.0.2.1', '64:ff9b::c000:201'],
  ])('of %s is %s', (address, canonical) => expect(normaliseAddress(address)).toBe(canonical));

  it.each([
    '',
    'a',
    '1.2.3',
    '01.2.3.4',
    '1.2.3.4.5',
    '256.1.1.1',
    ':::',
    '1:2',
    '12345::',
    '[::1]',
    '1.2.3.4:80',
    '%eth0',
    ' 1.2.3.4',
  ])('is undefined for %j', (address) => expect(normaliseAddress(address)).toBeUndefined());

  it('gives all spellings of an address the same canonical form', () => {
    const group = fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 0xffff }));
    fc.assert(
      fc.property(fc.array(group, { minLength: 8, maxLength: 8 }), (groups) => {
        const long = groups.map((one) => one.toString(16).padStart(4, '0')).join(':');
        const canonical = normaliseAddress(long.toUpperCase());
        expect(normaliseAddress(groups.map((one) => one.toString(16)).join(':'))).toBe(canonical);
        expect(normaliseAddress(canonical ?? '')).toBe(canonical);
        expect(canonical?.includes('.') === true || isIPv6(canonical ?? '')).toBe(true);
      }),
    );
  });
});

describe('an IPv6 address without zone', () => {
  const piece = fc.constantFrom(
    '0',
    '1',
    'fF',
    'abcd',
    '12345',
    'g',
    '',
    ':',
    '::',
    '.',
    '1.2.3.4',
    '256',
    ' ',
  );
  const group = fc.constantFrom('0', '1', 'fF', '0abc', 'abcd');
  const groups = fc.array(group, { maxLength: 8 }).map((some) => some.join(':'));
  const end = fc.oneof(
    groups,
    fc.constant('1.2.3.4'),
    groups.map((some) => `${some}:1.2.3.4`),
  );
  const spelling = fc.oneof(
    fc.array(piece, { maxLength: 16 }).map((pieces) => pieces.join('')),
    fc.array(fc.oneof(group, fc.constant('')), { maxLength: 10 }).map((some) => some.join(':')),
    fc.tuple(groups, end).map((sides) => sides.join('::')),
    end,
  );

  it('is what Node.js takes for one', () => {
    const seen = { true: 0, false: 0 };
    fc.assert(
      fc.property(spelling, (text) => {
        seen[`${isIPv6(text)}`] += 1;
        expect(isBareIPv6(text)).toBe(isIPv6(text));
      }),
      { numRuns: 5_000 },
    );
    expect(Math.min(seen.true, seen.false)).toBeGreaterThan(500);
  });

  it.each(['', ':', '::%lo', '1::2::3', ':1:2:3:4:5:6:7', '1:2:3:4:5:6:7:', `${'0000:'.repeat(7)}1.2.3.4`])(
    'is not %j',
    (text) => expect(isBareIPv6(text)).toBe(false),
  );

  it('may have 45 characters', () =>
    expect(isBareIPv6('0000:0000:0000:0000:0000:ffff:255.255.255.255')).toBe(true));
});

it.each([
  ['192.0.2.1', 64, '192.0.2.1'],
  ['2001:db8:1:2:3:4:5:6', 64, '2001:db8:1:2::/64'],
  ['2001:db8:1:2:3:4:5:6', 128, '2001:db8:1:2:3:4:5:6/128'],
  ['2001:db8:1:2ff:3:4:5:6', 56, '2001:db8:1:200::/56'],
  ['2001:db8:1:2:3:4:5:6', 48, '2001:db8:1::/48'],
  ['::1', 64, '::/64'],
  ['2001:db8::1', 0, '::/0'],
])('%s with /%i is counted as %s', (address, bits, block) => {
  expect(addressBlock(address, bits)).toBe(block);
});

describe('readBlock', () => {
  it.each([
    ['192.0.2.1', '192.0.2.1', 32],
    ['10.1.2.3/8', '10.1.2.3', 8],
    ['0.0.0.0/0', '0.0.0.0', 0],
    ['2001:DB8:0::1', '2001:db8::1', 128],
    ['2001:DB8::/32', '2001:db8::', 32],
    ['::ffff:192.0.2.1', '192.0.2.1', 32],
    ['::FFFF:a00:0/104', '10.0.0.0', 8],
    ['::ffff:0:0/96', '0.0.0.0', 0],
    ['::ffff:192.0.2.1/64', '::ffff:c000:201', 64],
  ])('reads %s as %s with %i bits', (text, address, bits) =>
    expect(readBlock(text)).toEqual({ address, bits }),
  );

  it.each([
    '',
    '/8',
    '10.0.0.0/',
    '10.0.0.0/33',
    '10.0.0.0/-1',
    '10.0.0.0/8/8',
    '10.0.0/8',
    '10.0.0.0/8.0',
    ' 10.0.0.0/8',
    '2001:db8::/129',
    'fe80::1%eth0',
    'fe80::%eth0/64',
    'localhost',
  ])('refuses %j', (text) => expect(readBlock(text)).toBeUndefined());
});

it.each([
  ['10.1.2.3/8', '10.0.0.0'],
  ['10.1.2.3', '10.1.2.3'],
  ['10.1.2.3/0', '0.0.0.0'],
  ['255.255.255.255/17', '255.255.128.0'],
  ['2001:db8:ffff::1/33', '2001:db8:8000::'],
  ['::ffff:192.0.2.1/64', '::'],
])('the network of %s begins at %s', (text, first) => {
  const block = readBlock(text);
  expect(block && networkAddress(block)).toBe(first);
});
