/** Settings of connections to backends. */
import { ZONE_PATTERN } from '../../model/patterns.ts';
import { destination, integer, list, text, type Setting } from '../settings-values.ts';

const timeoutMs = { min: 1, max: 86_400_000 };

function folder(value: string): { readonly value: string } | { readonly expected: string } {
  const isPlain = value.startsWith('/') && value !== '/' && !/\/(?:\.{0,2})\//.test(`${value}/`);
  return isPlain
    ? { value }
    : { expected: 'absolute paths of folders, comma-separated, without "." and ".." and a slash at the end' };
}

export const UPSTREAM_SETTINGS = {
  GATEWAY_ZONE: text('token', {
    default: undefined,
    defaultText: 'none',
    description:
      'Zone of this gateway, such as `eu-1a`. If a revision has several targets, those with the same `zone` are preferred, as long as enough of them are in service.',
    pattern: new RegExp(ZONE_PATTERN.replace('*$', '{0,62}$')),
    expected: '1 to 63 letters, digits, dots, underscores and hyphens, the first a letter or digit',
  }),
  GATEWAY_PROXY__CLIENT_CERTIFICATES: text('path', {
    default: undefined,
    defaultText: 'none',
    description:
      'Folder with certificates that the gateway can present to backends: `<name>.crt` and `<name>.key`, in PEM. A revision names one in `backend_tls.client_certificate`. Files are read again when they change.',
  }),
  GATEWAY_PROXY__CONNECT_TIMEOUT_MS: integer(timeoutMs, {
    default: 5_000,
    description: 'Milliseconds for connecting to a backend, TLS handshake included (502).',
  }),
  GATEWAY_PROXY__FIRST_BYTE_TIMEOUT_MS: integer(timeoutMs, {
    default: 60_000,
    description: 'Milliseconds from the end of the request to the head of the backend’s response (504).',
  }),
  GATEWAY_PROXY__MAX_UPSTREAM_CONNECTIONS: integer(
    { min: 0, max: 1_000_000 },
    {
      default: 0,
      description:
        'Maximum number of connections from each worker to one backend. Further requests wait. 0: unlimited.',
    },
  ),
  GATEWAY_PROXY__MAX_UPSTREAM_HTTP2_STREAMS: integer(
    { min: 1, max: 100_000 },
    {
      default: 100,
      description:
        'Maximum number of requests at once on one HTTP/2 connection to a backend. A backend may allow fewer.',
    },
  ),
  GATEWAY_PROXY__MAX_UPSTREAM_HTTP2_CONNECTIONS: integer(
    { min: 1, max: 10_000 },
    {
      default: 16,
      description:
        'Maximum number of HTTP/2 connections from each worker to one backend. When all of them are full, requests wait. Up to four more are opened for apps whose requests would otherwise wait behind bodies of other apps that the backend does not read.',
    },
  ),
  GATEWAY_PROXY__MAX_UPSTREAM_QUEUE: integer(
    { min: 0, max: 1_000_000 },
    {
      default: 1_024,
      description:
        'Maximum number of requests in each worker that wait for a connection to one backend. Beyond it: 503 `overloaded`.',
    },
  ),
  GATEWAY_PROXY__UPSTREAM_QUEUE_TIMEOUT_MS: integer(timeoutMs, {
    default: 1_000,
    description:
      'Milliseconds that a request waits for a connection to its backend before it is answered 503.',
  }),
  GATEWAY_EGRESS__ALLOW: list('addresses, CIDR blocks and host names, comma-separated', destination, {
    default: [],
    defaultText: 'all but what is denied by default',
    description:
      'The only destinations to which the gateway may connect for backends, health checks, key sets, webhooks and ACME directories. `*.example.com` stands for all names below `example.com`. An address or a block here also lifts a default denial (of link-local and cloud metadata addresses, and of the gateway’s own listeners) if it is no wider than what is denied.',
  }),
  GATEWAY_EGRESS__DENY: list('addresses, CIDR blocks and host names, comma-separated', destination, {
    default: [],
    defaultText: 'none',
    description:
      'Destinations to which the gateway must not connect, even if `GATEWAY_EGRESS__ALLOW` names them.',
  }),
  GATEWAY_PROXY__UNIX_SOCKETS_FROM: list('absolute paths of folders, comma-separated', folder, {
    default: [],
    defaultText: 'none',
    description:
      'Folders whose Unix sockets revisions may name as their backends, such as `unix:/run/apps/billing.sock`. Every user that may write revisions can then reach every socket in them.',
  }),
} as const satisfies Record<string, Setting<unknown>>;
