/** What load balancers write at the beginning of a connection (PROXY protocol), made without the gateway's own code. */
import { isIPv6 } from 'node:net';

const SIGNATURE = Buffer.from('0d0a0d0a000d0a515549540a', 'hex');

export function proxyLine(client: string, port = 40_000): string {
  const [family, own] = isIPv6(client) ? ['TCP6', '2001:db8::ffff'] : ['TCP4', '198.51.100.7'];
  return `PROXY ${family} ${client} ${own} ${port} 443\r\n`;
}

/** Version 2, over IPv4. */
export function proxyBytes(client: string, extensions: Buffer = Buffer.alloc(0)): Buffer {
  const addresses = Buffer.from([...client.split('.').map(Number), 198, 51, 100, 7, 0x9c, 0x40, 0x01, 0xbb]);
  return binaryHeader(0x21, 0x11, Buffer.concat([addresses, extensions]));
}

/** Of the balancer's own connections, such as health checks. */
export const proxyLocal = (): Buffer => binaryHeader(0x20, 0x00, Buffer.alloc(0));

export function binaryHeader(command: number, family: number, rest: Buffer): Buffer {
  const fixed = Buffer.from([command, family, rest.length >> 8, rest.length & 0xff]);
  return Buffer.concat([SIGNATURE, fixed, rest]);
}
