/** Settings of target discovery. */
import { isIP } from 'node:net';
import { integer, list, text, type Parsed, type Setting } from '../settings-values.ts';

const PORT_MAX = 65_535;

export const DISCOVERY_SETTINGS = {
  GATEWAY_DISCOVERY__DNS_SERVERS: list('IP addresses, with or without a port, comma-separated', dnsServer, {
    default: [],
    defaultText: 'those of `/etc/resolv.conf`',
    description:
      'DNS servers that are asked for targets, such as `10.0.0.2,10.0.0.3:8600`. Put an IPv6 address with a port in brackets.',
  }),
  GATEWAY_DISCOVERY__DNS_TIMEOUT_MS: integer(
    { min: 50, max: 60_000 },
    {
      default: 2_000,
      description:
        'Milliseconds to wait for the answer of a DNS server. A server that does not answer is asked once more.',
    },
  ),
  GATEWAY_DISCOVERY__MIN_INTERVAL_MS: integer(
    { min: 100, max: 3_600_000 },
    {
      default: 5_000,
      description:
        'Minimum milliseconds between an answer of DNS and the next query, even if the TTL is shorter.',
    },
  ),
  GATEWAY_DISCOVERY__MAX_INTERVAL_MS: integer(
    { min: 100, max: 86_400_000 },
    {
      default: 300_000,
      description:
        'Maximum milliseconds between an answer of DNS and the next query, even if the TTL is longer or DNS has failed many times.',
    },
  ),
  GATEWAY_DISCOVERY__SRV_INTERVAL_MS: integer(
    { min: 100, max: 3_600_000 },
    {
      default: 10_000,
      description:
        'Milliseconds between queries for SRV records, because the gateway does not see their TTL. It asks earlier if the TTL of an address is shorter.',
    },
  ),
  GATEWAY_DISCOVERY__FOLDER: text('path', {
    default: undefined,
    defaultText: 'none: no files are read',
    description:
      'Folder of the files that list targets (`discovery` of type `file`). No other files are read.',
    pattern: /^[^\0]{1,4096}$/,
    expected: 'a path',
  }),
} as const satisfies Record<string, Setting<unknown>>;

function dnsServer(value: string): Parsed<string> {
  const parts = /^(?:\[([^\]]*)\]|([^:[\]]*))(?::(\d{1,5}))?$/.exec(value);
  const address = isIP(value) === 0 ? (parts?.[1] ?? parts?.[2] ?? '') : value;
  const family = address.includes('%') ? 0 : isIP(address);
  const port = isIP(value) === 0 ? parts?.[3] : undefined;
  const portFits = port === undefined || (Number(port) > 0 && Number(port) <= PORT_MAX);
  // An IPv4 address must not have brackets.
  const isWellFormed = family === 6 || (family === 4 && !value.startsWith('['));
  if (isWellFormed && portFits) return { value };
  return {
    expected:
      'IP addresses separated by commas, each with or without a port, such as 10.0.0.2,[2001:db8::1]:53',
  };
}
