/**
 * The addresses by which a machine reaches itself, as the kernel routes them. The list of network interfaces is not
 * enough: it lacks addresses of interfaces without a carrier, such as a container bridge while no container runs, which
 * still answer, and networks that are routed to the machine as a whole. Linux lists them in /proc/self/net, also where
 * /proc shows nothing but processes (`subset=pid`); elsewhere the interfaces are used.
 */
import { readFileSync } from 'node:fs';
import { BlockList, isIPv4 } from 'node:net';
import { networkInterfaces } from 'node:os';
import { normaliseAddress } from '../http/address.ts';

const IPV4_ROUTES = '/proc/self/net/fib_trie';
const IPV6_ADDRESSES = '/proc/self/net/if_inet6';
const PREFIX_LINE = /^\s*\|-- (\S+)$/;
const LOCAL_LINE = /^\s*\/(\d{1,2}) host LOCAL$/;
const HEX_GROUPS = /[0-9a-f]{4}/g;

/** Reads the addresses at each call. The returned predicate takes addresses in canonical form. */
export function readOwnAddresses(): (address: string) => boolean {
  const single = new Set<string>();
  for (const addresses of Object.values(networkInterfaces())) {
    for (const { address } of addresses ?? []) single.add(normaliseAddress(address) ?? address);
  }
  for (const address of ipv6Addresses(textOf(IPV6_ADDRESSES))) single.add(address);
  const blocks = new BlockList();
  for (const [network, bits] of localRoutes(textOf(IPV4_ROUTES))) blocks.addSubnet(network, bits, 'ipv4');
  return (address) => single.has(address) || (isIPv4(address) && blocks.check(address, 'ipv4'));
}

/**
 * @param text content of /proc/self/net/fib_trie
 * @returns the networks and addresses that are routed to this machine; single addresses have 32 bits
 */
export function localRoutes(text: string): (readonly [network: string, bits: number])[] {
  const found: (readonly [string, number])[] = [];
  let network: string | undefined;
  for (const line of text.split('\n')) {
    network = PREFIX_LINE.exec(line)?.[1] ?? network;
    const bits = LOCAL_LINE.exec(line)?.[1];
    if (bits !== undefined && network !== undefined) found.push([network, Number(bits)]);
  }
  return found;
}

/** @param text content of /proc/self/net/if_inet6: each line begins with an address of 32 hexadecimal digits */
export function ipv6Addresses(text: string): string[] {
  const found: string[] = [];
  for (const line of text.split('\n')) {
    const groups = line.slice(0, 32).match(HEX_GROUPS) ?? [];
    const address = normaliseAddress(groups.join(':'));
    if (address !== undefined) found.push(address);
  }
  return found;
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return '';
  }
}
