import { expect, it } from 'vitest';
import { AddressCounts } from './address-counts.ts';

it('counts IPv4 by address and IPv6 by its /64 network, and drops addresses without connections', () => {
  const counts = new AddressCounts(2, 64, (address) => address === '10.0.0.1');
  expect(counts.enter('192.0.2.1')).toBe(true);
  expect(counts.enter('192.0.2.1')).toBe(true);
  expect(counts.enter('192.0.2.1')).toBe(false);
  expect(counts.enter('192.0.2.2')).toBe(true);
  expect(counts.enter('2001:db8::1')).toBe(true);
  expect(counts.enter('2001:db8::ffff:1')).toBe(true);
  expect(counts.enter('2001:db8::2')).toBe(false);
  expect(counts.enter('2001:db8:0:1::2')).toBe(true);
  for (let turn = 0; turn < 5; turn++) expect(counts.enter('10.0.0.1')).toBe(true);
  counts.leave('2001:db8::1');
  expect(counts.enter('2001:db8::3')).toBe(true);
  counts.leave('192.0.2.1');
  counts.leave('192.0.2.1');
  expect(counts.enter('192.0.2.1')).toBe(true);
});

it('counts nothing without a limit', () => {
  const counts = new AddressCounts(0, 64, () => false);
  for (let turn = 0; turn < 5; turn++) expect(counts.enter('192.0.2.1')).toBe(true);
  counts.leave('192.0.2.1');
});
