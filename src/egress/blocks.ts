/**
 * Blocks of IP addresses (RFC 4632, RFC 4291 section 2.3) and the IPv4 addresses that are embedded in IPv6 addresses.
 * Pure. An address is checked in all of its forms, so that `::ffff:169.254.169.254` or its NAT64 form cannot bypass a
 * rule about `169.254.169.254`.
 */
import { BlockList, isIPv4 } from 'node:net';
import {
  addressGroups,
  dotted,
  normaliseAddress,
  readBlock,
  UNIX_PEER,
  type AddressBlock,
} from '../http/address.ts';

export interface Block {
  /** The number of significant leading bits; 32 or 128 for a single address. */
  readonly bits: number;
  readonly isSingle: boolean;
  contains(address: string): boolean;
}

/** @param text an address or a block, already validated by the settings */
export function parseBlock(text: string): Block {
  const { address, bits } = checkedBlock(text);
  const list = new BlockList();
  addBlock(list, text);
  const isSingle = bits === (isIPv4(address) ? 32 : 128);
  return { bits, isSingle, contains: (one) => inList(list, one) };
}

/** A predicate that checks all blocks in one look-up. */
export function blockList(texts: readonly string[]): (address: string) => boolean {
  if (texts.length === 0) return () => false;
  const list = new BlockList();
  for (const text of texts) addBlock(list, text);
  return (address) => inList(list, address);
}

/**
 * Like `blockList`, for the peers of a listener: peers on its Unix socket have no address and match the entry
 * `unix`.
 */
export function peerList(texts: readonly string[]): (peer: string) => boolean {
  const isInBlocks = blockList(texts.filter((text) => text !== UNIX_PEER));
  const hasUnix = texts.includes(UNIX_PEER);
  return (peer) => (peer === UNIX_PEER ? hasUnix : isInBlocks(peer));
}

function addBlock(list: BlockList, text: string): void {
  const { address, bits } = checkedBlock(text);
  list.addSubnet(address, bits, isIPv4(address) ? 'ipv4' : 'ipv6');
}

function checkedBlock(text: string): AddressBlock {
  const block = readBlock(text);
  if (block === undefined) throw new TypeError(`"${text}" is neither an IP address nor a block`);
  return block;
}

function inList(list: BlockList, address: string): boolean {
  return list.check(address, isIPv4(address) ? 'ipv4' : 'ipv6');
}

/**
 * The canonical form of an address, followed by the IPv4 address that it represents, if any: IPv4-mapped and
 * IPv4-compatible (RFC 4291 section 2.5.5), IPv4-translated (RFC 2765), NAT64 (RFC 6052, RFC 8215) and 6to4 (RFC 3056).
 * Empty when the text is not an address.
 */
export function addressForms(address: string): readonly string[] {
  const canonical = normaliseAddress(address);
  if (canonical === undefined) return [];
  if (isIPv4(canonical)) return [canonical];
  const within = carriedIPv4(addressGroups(canonical));
  return within === undefined ? [canonical] : [canonical, within];
}

function carriedIPv4(groups: readonly number[]): string | undefined {
  const [g0 = 0, g1 = 0, g2 = 0, g3 = 0, g4 = 0, g5 = 0, g6 = 0, g7 = 0] = groups;
  const isZeroTo4 = (g0 | g1 | g2 | g3) === 0;
  if (isZeroTo4 && g4 === 0 && g5 === 0 && g6 !== 0) return dotted(g6, g7);
  if (isZeroTo4 && g4 === 0xffff && g5 === 0) return dotted(g6, g7);
  if (g0 === 0x2002) return dotted(g1, g2);
  if (g0 !== 0x64 || g1 !== 0xff9b) return undefined;
  if ((g2 | g3 | g4 | g5) === 0) return dotted(g6, g7);
  // 64:ff9b:1::/48 allows prefixes of any length from 48 on; these are the two usual ones.
  if (g2 !== 1) return undefined;
  const isLong = (g3 | g4 | g5) === 0 || (g6 | g7) !== 0;
  return isLong ? dotted(g6, g7) : dotted(g3, ((g4 & 0xff) << 8) | (g5 >> 8));
}
