/** Settings of the traffic listener: address, TLS, clients. */
import { FULL_SHARES, LESS_MEMORY, memoryShares } from '../memory-shares.ts';
import {
  boolean,
  host,
  integer,
  list,
  oneOf,
  peer,
  SOCKET_MODE,
  SOCKET_PATH,
  text,
  type Setting,
} from '../settings-values.ts';

const PEERS = 'IP addresses, CIDR blocks or unix, comma-separated';
const port = { min: 0, max: 65_535 };
const windowSecs = { min: 1, max: 31_622_400 };
const timeoutMs = { min: 1, max: 86_400_000 };
const countMax = { min: 1, max: 1_000_000 };

export const LISTENER_SETTINGS = {
  GATEWAY_PROXY__HOST: host({ default: '0.0.0.0', description: 'Address of the traffic listener.' }),
  GATEWAY_PROXY__PORT: integer(port, {
    default: 8080,
    description: 'Port of the traffic listener. 0: any free port.',
  }),
  GATEWAY_PROXY__UNIX_SOCKET: text('path', {
    default: undefined,
    defaultText: 'none',
    description:
      'Unix socket for traffic without TLS, beside the ports: an absolute path whose folder exists. An existing socket on which no process listens is replaced. `systemd`: the one socket that the service manager passes (socket activation).',
    pattern: { test: (value) => value === 'systemd' || SOCKET_PATH.test(value) },
    expected: 'an absolute path of at most 96 bytes, or systemd',
  }),
  GATEWAY_PROXY__UNIX_SOCKET_MODE: text('octal digits', {
    default: '660',
    description:
      'Permissions of `GATEWAY_PROXY__UNIX_SOCKET`: clients need write permission. The file belongs to the user and group of the gateway; in a folder with the setgid bit it gets the group of the folder.',
    pattern: SOCKET_MODE,
    expected: 'three octal digits, such as 660 or 666',
  }),
  GATEWAY_PROXY__TLS__CERT_FILE: text('paths, comma-separated', {
    default: undefined,
    description:
      'PEM files with the certificate chains of the traffic listener, one chain each. The client’s server name (SNI) chooses; the first file serves all other names. The files are read again when they change. Needs `GATEWAY_PROXY__TLS__KEY_FILE`.',
  }),
  GATEWAY_PROXY__TLS__KEY_FILE: text('paths, comma-separated', {
    default: undefined,
    description: 'PEM files with the private keys of those certificates, in the same order.',
  }),
  GATEWAY_PROXY__TLS__PORT: integer(port, {
    default: undefined,
    description:
      'Port for traffic with TLS, beside `GATEWAY_PROXY__PORT`, which then has no TLS. Without this setting, `GATEWAY_PROXY__PORT` has TLS as soon as there are certificates. 0: any free port.',
  }),
  GATEWAY_PROXY__HTTPS_REDIRECT_PORT: integer(
    { min: 1, max: 65_535 },
    {
      default: undefined,
      description:
        'Answer requests that did not come over TLS with 308 and the same URL with `https` and this port; 443 is left out of the URL. A request that a proxy of `GATEWAY_TRUSTED_PROXY_IPS` received over TLS (`X-Forwarded-Proto: https`) is served.',
    },
  ),
  GATEWAY_PROXY__HSTS_SECS: integer(
    { min: 0, max: 315_360_000 },
    {
      default: 0,
      description:
        'Seconds for which browsers may ask for this host over TLS only: adds `Strict-Transport-Security` to every response over TLS that has none from its backend. 0: off.',
    },
  ),
  GATEWAY_PROXY__PROXY_PROTOCOL_FROM: list(PEERS, peer, {
    default: [],
    defaultText: 'none',
    description:
      'Load balancers that begin each connection with the client’s address (PROXY protocol, version 1 or 2). If a connection from them begins with anything else, it is closed. From other addresses, such a header is not accepted. `unix`: clients of `GATEWAY_PROXY__UNIX_SOCKET`.',
  }),
  GATEWAY_PROXY__CLIENT_CAS: text('path', {
    default: undefined,
    defaultText: 'none',
    description:
      'Folder with the certificates that client certificates are verified with (`auth_type: mtls`): `<name>.crt`, one or several in PEM, and `<name>.crl` with revocation lists, in PEM or DER. A policy names one in `auth.mtls.ca`. Files are read again when they change.',
  }),
  GATEWAY_PROXY__OVERDUE_CRLS: oneOf(['refuse', 'use'], {
    default: 'refuse',
    description:
      'What happens when the next update of a revocation list is overdue: with `refuse`, every certificate of its issuer is refused; with `use`, the list is used as it is.',
  }),
  GATEWAY_PROXY__TLS__TICKET_ROTATION_SECS: integer(windowSecs, {
    default: 28_800,
    description:
      'Seconds between changes of the keys that seal TLS session tickets. All workers of a node share the keys, so a client can resume its session on any of them.',
  }),
  GATEWAY_PROXY__HTTP2: boolean({
    default: true,
    description: 'Offer HTTP/2 beside HTTP/1.1 to clients that connect with TLS.',
  }),
  GATEWAY_PROXY__HTTP2_WEBSOCKETS: boolean({
    default: true,
    description:
      'Offer WebSockets over streams of HTTP/2 (RFC 8441) to its clients. If it is off, browsers open an HTTP/1.1 connection for each WebSocket.',
  }),
  GATEWAY_PROXY__H2C: boolean({
    default: false,
    description:
      'Serve HTTP/2 without TLS to clients that begin with it (prior knowledge), beside HTTP/1.1 on the same port. Use it in trusted networks, for example behind a proxy that terminates TLS.',
  }),
  GATEWAY_TRUSTED_PROXY_IPS: list(PEERS, peer, {
    default: [],
    defaultText: 'none',
    description:
      'Proxies in front of the gateway, whose `X-Forwarded-*` fields are believed. Set it behind a load balancer. `unix`: clients of `GATEWAY_PROXY__UNIX_SOCKET`.',
  }),
  GATEWAY_IPV6_PREFIX_BITS: integer(
    { min: 1, max: 128 },
    {
      default: 64,
      description:
        'Length of the network prefix, in bits, by which IPv6 clients are counted: in limits and caps per `ip`, in the per-IP limit, in `GATEWAY_PROXY__AUTH_FAILURES_PER_MINUTE`, in `GATEWAY_PROXY__MAX_CONNECTIONS_PER_IP`, and where tokens wait to be verified. 128 counts single addresses. IPv4-mapped addresses count as IPv4.',
    },
  ),
  GATEWAY_PROXY__VIA_NAME: text('token', {
    default: undefined,
    defaultText: '`headgate-` and 16 random digits, new ones at each start',
    description:
      'Name of the gateway in `Via`. A request whose `Via` has this name has been here before and is answered 508 `loop_detected`. Gateways that forward to each other need different names; gateways that replace each other may share one.',
    pattern: /^[A-Za-z0-9._-]{8,64}$/,
    expected: '8 to 64 letters, digits, dots, underscores and hyphens',
  }),
  GATEWAY_PROXY__KEEPALIVE_TIMEOUT_MS: integer(timeoutMs, {
    default: 75_000,
    description: 'Milliseconds for which an idle client connection stays open.',
  }),
  GATEWAY_PROXY__IDLE_TIMEOUT_MS: integer(timeoutMs, {
    default: 60_000,
    description: 'Maximum milliseconds of silence inside a message, from either side.',
  }),
  GATEWAY_PROXY__HALF_CLOSE: boolean({
    default: false,
    description:
      'Answer clients that end their side of the connection (FIN) while their request is under way. By default that ends the exchange, as when a client goes away.',
  }),
  GATEWAY_PROXY__MAX_CONCURRENT_EXCHANGES: integer(countMax, {
    default: FULL_SHARES.exchanges,
    defaultFor: (facts) => memoryShares(facts).exchanges,
    defaultText: `\`10000\`, ${LESS_MEMORY}`,
    description:
      'Maximum number of requests of one app under way in each worker, HTTP/2 streams and tunnels included; all apps together may have one ninth more, so that no app can use up everything alone. Beyond it: 503 `overloaded` with `Retry-After`.',
  }),
  GATEWAY_PROXY__MAX_CONNECTIONS: integer(countMax, {
    default: FULL_SHARES.connections,
    defaultFor: (facts) => memoryShares(facts).connections,
    defaultText: `\`20000\`, ${LESS_MEMORY}`,
    description:
      'Maximum number of client connections to each worker. A further connection replaces the connection that has waited longest for a request, or one whose client does not read its answers. If there is none, it gets 503 `overloaded` and is closed; over TLS it is closed without an answer.',
  }),
  GATEWAY_PROXY__MAX_CONNECTIONS_PER_IP: integer(
    { min: 0, max: 1_000_000 },
    {
      default: 0,
      description:
        'Maximum number of connections of one client address to each worker; IPv6 clients count by network (`GATEWAY_IPV6_PREFIX_BITS`). Beyond it a connection gets 503 `overloaded` and is closed; over TLS it is closed without an answer. `GATEWAY_TRUSTED_PROXY_IPS` are exempt. 0: unlimited.',
    },
  ),
  GATEWAY_PROXY__AUTH_FAILURES_PER_MINUTE: integer(
    { min: 0, max: 1_000_000 },
    {
      default: 0,
      description:
        'Maximum number of failed authentications per minute and client address. Beyond it the address gets 429 before authentication. 0: off.',
    },
  ),
} as const satisfies Record<string, Setting<unknown>>;
