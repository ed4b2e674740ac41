/** The addresses of the machine itself, as read from the kernel. */
import { spawnSync } from 'node:child_process';
import { networkInterfaces } from 'node:os';
import { expect, it } from 'vitest';
import { normaliseAddress } from '../http/address.ts';
import { ipv6Addresses, localRoutes, readOwnAddresses } from './own-addresses.ts';

const ROUTES = `Main:
  +-- 0.0.0.0/0 3 0 5
     |-- 0.0.0.0
        /0 universe UNICAST
     +-- 127.0.0.0/8 2 0 2
        +-- 127.0.0.0/31 1 0 0
           |-- 127.0.0.0
              /8 host LOCAL
           |-- 127.0.0.1
              /32 host LOCAL
     +-- 172.17.0.0/16 2 0 2
           |-- 172.17.0.0
              /16 link UNICAST
           |-- 172.17.0.1
              /32 host LOCAL
           |-- 172.17.255.255
              /32 link BROADCAST
`;
const ADDRESSES = `fe8000000000000000fc00fffe000001 04 40 20 80     eth0
00000000000000000000000000000001 01 80 10 80       lo
`;

it('reads the addresses that are routed to the machine, with and without a carrier', () => {
  expect(localRoutes(ROUTES)).toEqual([
    ['127.0.0.0', 8],
    ['127.0.0.1', 32],
    ['172.17.0.1', 32],
  ]);
  expect(ipv6Addresses(ADDRESSES)).toEqual(['fe80::fc:ff:fe00:1', '::1']);
  expect(localRoutes('')).toEqual([]);
  expect(ipv6Addresses('not what was expected\n')).toEqual([]);
});

it('contains every address of an interface, and no other', () => {
  const isOwn = readOwnAddresses();
  for (const { address } of Object.values(networkInterfaces()).flatMap((each) => each ?? []))
    expect(isOwn(normaliseAddress(address) ?? address), address).toBe(true);
  for (const address of ['203.0.113.9', '2001:db8::9']) expect(isOwn(address), address).toBe(false);
});

/** In namespaces of its own: a network that is routed to the machine, and a /proc with processes only. */
const inNamespaces = (command: string) =>
  spawnSync(
    'unshare',
    [
      '--mount',
      '--net',
      'sh',
      '-ec',
      `ip link set lo up; ip route add local 198.51.100.0/24 dev lo; mount -t proc -o subset=pid proc /proc; ${command}`,
    ],
    { encoding: 'utf8' },
  );

it.skipIf(inNamespaces('true').status !== 0)(
  'contains routed networks also where /proc shows only processes',
  () => {
    const source = JSON.stringify(new URL('own-addresses.ts', import.meta.url).href);
    const script = `import { readOwnAddresses } from ${source}; console.log(readOwnAddresses()("198.51.100.7"))`;
    const { stdout } = inNamespaces(`${process.execPath} --input-type=module -e '${script}'`);
    expect(stdout).toBe('true\n');
  },
);
