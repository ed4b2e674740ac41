/**
 * Canonical forms of IP addresses, so that a client cannot evade a limit per address or a check of trusted proxies by
 * writing an address differently (RFC 5952, RFC 4291 section 2.5.5.2).
 */
import { isIP, isIPv4 } from 'node:net';

const GROUPS = 8;

/**
 * `address` in canonical form: IPv4 unchanged, IPv4-mapped IPv6 as IPv4, other IPv6 as in RFC 5952 and without zone.
 * Undefined when it is not an IP address.
 */
export function normaliseAddress(address: string): string | undefined {
  if (!address.includes(':')) return isIPv4(address) ? address : undefined;
  const zone = address.indexOf('%');
  const bare = zone < 0 ? address : address.slice(0, zone);
  if (isIP(bare) !== 6) return undefined;
  const groups = addressGroups(bare);
  if (groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff) {
    const high = groups[6] as number;
    const low = groups[7] as number;
    return `${high >> 8}.${high & 255}.${low >> 8}.${low & 255}`;
  }
  return formatGroups(groups);
}

/**
 * The name under which requests from this address are counted: an IPv4 address itself, an IPv6 address as its network
 * of `ipv6PrefixBits` bits, such as `2001:db8::/64`. `address` must be canonical (`normaliseAddress`).
 */
export function addressBlock(address: string, ipv6PrefixBits: number): string {
  if (!address.includes(':') || isIP(address) !== 6) return address;
  const groups = addressGroups(address).map((group, index) => {
    const bits = Math.min(16, Math.max(0, ipv6PrefixBits - 16 * index));
    return group & (0xffff << (16 - bits)) & 0xffff;
  });
  return `${formatGroups(groups)}/${ipv6PrefixBits}`;
}

/** The eight groups of a valid IPv6 address without zone. */
export function addressGroups(address: string): number[] {
  const gap = address.indexOf('::');
  if (gap < 0) return parseGroups(address);
  const head = parseGroups(address.slice(0, gap));
  const tail = parseGroups(address.slice(gap + 2));
  return [...head, ...Array.from({ length: GROUPS - head.length - tail.length }, () => 0), ...tail];
}

function parseGroups(text: string): number[] {
  const groups: number[] = [];
  if (text === '') return groups;
  for (const part of text.split(':')) {
    if (part.includes('.')) {
      const [a = 0, b = 0, c = 0, d = 0] = part.split('.').map(Number);
      groups.push((a << 8) | b, (c << 8) | d);
    } else {
      groups.push(Number.parseInt(part, 16));
    }
  }
  return groups;
}

/** RFC 5952: lower case, no leading zeros, the first longest run of two or more zero groups as "::". */
function formatGroups(groups: readonly number[]): string {
  let runStart = -1;
  let runLength = 1;
  for (let start = 0; start < GROUPS; start++) {
    let length = 0;
    while (start + length < GROUPS && groups[start + length] === 0) length++;
    if (length > runLength) [runStart, runLength] = [start, length];
  }
  const hex = groups.map((group) => group.toString(16));
  if (runStart < 0) return hex.join(':');
  return `${hex.slice(0, runStart).join(':')}::${hex.slice(runStart + runLength).join(':')}`;
}
