/**
 * The addresses that the gateway does not connect to unless `GATEWAY_EGRESS__ALLOW` contains them: they serve the
 * machine itself and not its clients. A machine's metadata service gives credentials to any local program.
 */
import { parseBlock, type Block } from './blocks.ts';

export interface DefaultDenial {
  readonly block: Block;
  /** What the address is, as in "169.254.0.1 is …". */
  readonly what: string;
}

const LINK_LOCAL = 'a link-local address';
const METADATA = 'a cloud metadata address';

/** Sources: RFC 3927, RFC 4291 section 2.5.6, and the documentation of the providers. */
const TEXTS: readonly (readonly [block: string, what: string])[] = [
  // AWS, Google, Azure, DigitalOcean, OpenStack, Oracle and most others.
  ['169.254.169.254', METADATA],
  // AWS: credentials of containers and pods.
  ['169.254.170.2', METADATA],
  ['169.254.170.23', METADATA],
  ['fd00:ec2::254', METADATA],
  ['fd00:ec2::23', METADATA],
  // Google.
  ['fd20:ce::254', METADATA],
  // Alibaba.
  ['100.100.100.200', METADATA],
  // Oracle.
  ['192.0.0.192', METADATA],
  // Azure.
  ['168.63.129.16', METADATA],
  ['169.254.0.0/16', LINK_LOCAL],
  ['fe80::/10', LINK_LOCAL],
];

export const DEFAULT_DENIED_BLOCKS: readonly string[] = TEXTS.map(([text]) => text);

export const DEFAULT_DENIALS: readonly DefaultDenial[] = TEXTS.map(([text, what]) => ({
  block: parseBlock(text),
  what,
}));
