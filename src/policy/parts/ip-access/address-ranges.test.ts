import fc from 'fast-check';
import { BlockList } from 'node:net';
import { describe, expect, it } from 'vitest';
import { addressGroups, networkAddress, normaliseAddress, readBlock } from '../../../http/address.ts';
import { addressKey, coversRange, findRange, rangeOf, rangesOf } from './address-ranges.ts';

const find = (entries: readonly string[], address: string): string | undefined =>
  findRange(rangesOf(entries), addressKey(normaliseAddress(address) ?? '') ?? '')?.entry;

const word = fc.nat(0xffff);
const IPV4 = fc.tuple(word, word).map(([a, b]) => `${a >> 8}.${a & 255}.${b >> 8}.${b & 255}`);
const IPV6 = fc
  .array(fc.oneof(fc.constant(0), word), { minLength: 8, maxLength: 8 })
  .map((groups) => groups.map((group) => group.toString(16)).join(':'))
  .filter((address) => !isMapped(address));
const network = (address: string, bits: number): string =>
  `${networkAddress(readBlock(`${address}/${bits}`)!)}/${bits}`;
const BLOCK4 = fc.tuple(IPV4, fc.integer({ min: 0, max: 32 })).map(([one, bits]) => network(one, bits));
const BLOCK6 = fc.tuple(IPV6, fc.integer({ min: 0, max: 128 })).map(([one, bits]) => network(one, bits));

/** One block after the other, each with node's own comparison. */
function slowFind(entries: readonly string[], address: string): boolean {
  const family = address.includes(':') ? 'ipv6' : 'ipv4';
  return entries.some((entry) => {
    const [start = '', bits] = entry.split('/');
    const list = new BlockList();
    if (start.includes(':') !== address.includes(':')) return false;
    list.addSubnet(start, Number(bits), family);
    return list.check(address, family);
  });
}

describe('findRange', () => {
  it('agrees with a comparison with each block', () => {
    const lists = fc.array(fc.oneof(BLOCK4, BLOCK6), { maxLength: 20 });
    fc.assert(
      fc.property(lists, fc.array(fc.oneof(IPV4, IPV6), { maxLength: 20 }), (entries, others) => {
        const edges = entries.flatMap((entry) => [entry.split('/')[0]!, lastAddress(entry)]);
        for (const address of [...others, ...edges.filter((edge) => !isMapped(edge))]) {
          const found = find(entries, address);
          expect(found !== undefined, `${address} in ${entries.join()}`).toBe(slowFind(entries, address));
          if (found !== undefined) expect(slowFind([found], address)).toBe(true);
        }
      }),
    );
  });

  it('finds the widest of the entries that have an address', () => {
    const entries = ['10.1.2.3', '10.1.0.0/16', '10.0.0.0/8', '10.255.255.255', '11.0.0.0'];
    expect(['10.1.2.3', '10.255.255.255', '11.0.0.0', '11.0.0.1'].map((one) => find(entries, one))).toEqual([
      '10.0.0.0/8',
      '10.0.0.0/8',
      '11.0.0.0',
      undefined,
    ]);
  });

  it('takes IPv4-mapped addresses and entries for IPv4, and nothing else of IPv6', () => {
    expect(find(['::ffff:192.0.2.0/120'], '192.0.2.7')).toBe('::ffff:192.0.2.0/120');
    expect(find(['192.0.2.0/24'], '::FFFF:c000:0207')).toBe('192.0.2.0/24');
    expect(find(['::/0'], '192.0.2.7')).toBeUndefined();
    expect(find(['0.0.0.0/0'], '64:ff9b::192.0.2.7')).toBeUndefined();
  });

  it('does not find the mapped addresses that a block of IPv6 ends in', () => {
    expect(find(['::/80'], '::fffe:ffff:ffff')).toBe('::/80');
    expect(find(['::/80'], '::ffff:ffff:ffff')).toBeUndefined();
    expect(find(['::/80', '255.255.255.255'], '::ffff:ffff:ffff')).toBe('255.255.255.255');
  });

  it('has no key for a text that is not an address', () => {
    for (const text of ['', 'unix', '1.2.3', '10.0.0.0/8']) expect(addressKey(text)).toBeUndefined();
  });
});

/** Written as IPv6, taken for IPv4: the twin takes it for IPv6. */
function isMapped(address: string): boolean {
  return address.includes(':') && normaliseAddress(address)?.includes(':') !== true;
}

/** The last address that a block has. */
function lastAddress(entry: string): string {
  const [start = '', bits] = entry.split('/');
  const groups = addressGroups(start).map((group, index) => {
    const hostBits = Math.min(16, Math.max(0, 16 * (index + 1) - Number(bits)));
    return group | (2 ** hostBits - 1);
  });
  const [a = 0, b = 0] = groups;
  if (groups.length === 2) return `${a >> 8}.${a & 255}.${b >> 8}.${b & 255}`;
  return groups.map((group) => group.toString(16)).join(':');
}

describe('coversRange', () => {
  const covers = (entries: readonly string[], entry: string): boolean =>
    coversRange(rangesOf(entries), rangeOf(entry)!);

  it.each([
    [['10.0.0.0/8'], '10.1.0.0/16', true],
    [['10.0.0.0/9', '10.128.0.0/9'], '10.0.0.0/8', true],
    [['10.0.0.0/9', '10.128.0.0/10', '10.192.0.1'], '10.0.0.0/8', false],
    [['0.0.0.0/1', '128.0.0.0/1'], '0.0.0.0/0', true],
    [['::/1', '8000::/1'], '::/0', true],
    [['2001:db8::/33', '2001:db8:8000::/33'], '2001:db8::/32', true],
    [['10.0.0.0/16'], '10.0.0.0/8', false],
    [['::/0'], '10.0.0.1', false],
    [[], '10.0.0.1', false],
  ])('%j over %s: %s', (entries, entry, expected) => expect(covers(entries, entry)).toBe(expected));
});
