/**
 * Canonical forms of IP addresses, so that a client cannot evade a limit per address or a check of trusted proxies by
 * writing an address differently (RFC 5952, RFC 4291 section 2.5.5.2).
 */
import { isIPv4 } from 'node:net';

/** Stands in place of an address: a client on a Unix socket has none. */
export const UNIX_PEER = 'unix';

const GROUPS = 8;
const GROUP = /^[\da-f]{1,4}$/i;
/** Of the longest IPv6 address, which ends in an IPv4 address. */
const IPV6_CHARACTERS_MAX = 45;
/** Leading bits that all IPv4-mapped IPv6 addresses share. */
const MAPPED_BITS = 96;

/**
 * `address` in canonical form: IPv4 unchanged, IPv4-mapped IPv6 as IPv4, other IPv6 as in RFC 5952 and without zone.
 * Undefined when it is not an IP address.
 */
export function normaliseAddress(address: string): string | undefined {
  if (!address.includes(':')) return isIPv4(address) ? address : undefined;
  const zone = address.indexOf('%');
  const bare = zone < 0 ? address : address.slice(0, zone);
  if (!isBareIPv6(bare)) return undefined;
  const groups = addressGroups(bare);
  if (groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff) {
    return dotted(groups[6] as number, groups[7] as number);
  }
  return formatGroups(groups);
}

/**
 * Whether the text is an IPv6 address without zone. Node's own check is one long expression, whose compiling was 8 ms
 * of a start.
 */
export function isBareIPv6(text: string): boolean {
  if (text.length > IPV6_CHARACTERS_MAX) return false;
  const [head = '', tail, ...more] = text.split('::');
  if (tail === undefined) return countGroups(head, true) === GROUPS;
  return more.length === 0 && countGroups(head, false) + countGroups(tail, true) < GROUPS;
}

/** How many groups the text has, where an IPv4 address at its end may be two; NaN when it has anything else. */
function countGroups(text: string, mayEndInIPv4: boolean): number {
  if (text === '') return 0;
  const parts = text.split(':');
  const isMixed = mayEndInIPv4 && isIPv4(parts.at(-1) ?? '');
  const groups = isMixed ? parts.slice(0, -1) : parts;
  return groups.every((part) => GROUP.test(part)) ? groups.length + (isMixed ? 2 : 0) : NaN;
}

/**
 * The name under which requests from this address are counted: an IPv4 address itself, an IPv6 address as its network
 * of `ipv6PrefixBits` bits, such as `2001:db8::/64`. `address` must be canonical (`normaliseAddress`).
 */
export function addressBlock(address: string, ipv6PrefixBits: number): string {
  if (!address.includes(':') || !isBareIPv6(address)) return address;
  return `${networkAddress({ address, bits: ipv6PrefixBits })}/${ipv6PrefixBits}`;
}

export interface AddressBlock {
  /** In canonical form; it may have bits set after the first `bits`. */
  readonly address: string;
  /** How many leading bits count: 32 or 128 for a single address. */
  readonly bits: number;
}

/**
 * Reads an address, or a block in CIDR notation (RFC 4632 section 3.1, RFC 4291 section 2.3). A block of IPv4-mapped
 * IPv6 addresses is read as the IPv4 block. Undefined when the text is neither; an address with a zone is neither.
 */
export function readBlock(text: string): AddressBlock | undefined {
  const slash = text.indexOf('/');
  const bare = slash < 0 ? text : text.slice(0, slash);
  const address = bare.includes('%') ? undefined : normaliseAddress(bare);
  if (address === undefined) return undefined;
  const bitsMax = bare.includes(':') ? 128 : 32;
  const bitsText = slash < 0 ? String(bitsMax) : text.slice(slash + 1);
  const bits = /^\d{1,3}$/.test(bitsText) ? Number(bitsText) : Infinity;
  if (bits > bitsMax) return undefined;
  if (bitsMax === 32 || address.includes(':')) return { address, bits };
  if (bits >= MAPPED_BITS) return { address, bits: bits - MAPPED_BITS };
  return { address: formatGroups(addressGroups(bare)), bits };
}

/** The first address of a block, in canonical form. */
export function networkAddress({ address, bits }: AddressBlock): string {
  const groups = addressGroups(address).map((group, index) => {
    const groupBits = Math.min(16, Math.max(0, bits - 16 * index));
    return group & (0xffff << (16 - groupBits)) & 0xffff;
  });
  return groups.length === GROUPS ? formatGroups(groups) : dotted(groups[0] as number, groups[1] as number);
}

/** The eight groups of 16 bits of a valid IPv6 address without zone; the two of an IPv4 address. */
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

export const dotted = (high: number, low: number): string =>
  `${high >> 8}.${high & 255}.${low >> 8}.${low & 255}`;

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
