/** Settings of certificates by ACME (RFC 8555). */
import {
  boolean,
  destination,
  integer,
  list,
  oneOf,
  text,
  type Parsed,
  type Setting,
} from '../settings-values.ts';

export const ACME_KEY_TYPES = ['ecdsa-p256', 'ecdsa-p384', 'rsa-2048'] as const;
/** Short names for the URLs of directories. */
export const ACME_DIRECTORIES: Readonly<Record<string, string>> = {
  letsencrypt: 'https://acme-v02.api.letsencrypt.org/directory',
  'letsencrypt-staging': 'https://acme-staging-v02.api.letsencrypt.org/directory',
};

const DIRECTORY = {
  test: (value: string): boolean => value in ACME_DIRECTORIES || isDirectoryUrl(value),
};
const challenge = (value: string): Parsed<'http-01' | 'tls-alpn-01'> =>
  value === 'http-01' || value === 'tls-alpn-01'
    ? { value }
    : { expected: 'http-01, tls-alpn-01 or both, separated by a comma' };
const contact = (value: string): Parsed<string> =>
  /^mailto:[^\s@,?]+@[^\s@,?]+$/.test(value)
    ? { value }
    : { expected: 'mail addresses separated by commas, such as mailto:ops@example.com' };

export const ACME_SETTINGS = {
  GATEWAY_ACME__DIRECTORY: text('https:// URL, or letsencrypt or letsencrypt-staging', {
    default: undefined,
    defaultText: 'none: no certificates are ordered',
    description:
      'ACME directory of the authority that issues certificates for the hosts of apps. Needs `GATEWAY_ACME__ACCEPT_TERMS` and a database. Certificates in files have priority: a name that one of them contains is not ordered.',
    pattern: DIRECTORY,
    expected: 'an absolute URL that starts with https://, or letsencrypt or letsencrypt-staging',
  }),
  GATEWAY_ACME__ACCEPT_TERMS: boolean({
    default: false,
    description: 'Agree to the terms of service of the authority. Nothing is ordered without it.',
  }),
  GATEWAY_ACME__CONTACT: list('mailto: addresses, comma-separated', contact, {
    default: [],
    defaultText: 'none',
    description: 'Addresses to which the authority may write, such as `mailto:ops@example.com`.',
  }),
  GATEWAY_ACME__NAMES: list('host names, comma-separated', destination, {
    default: [],
    defaultText: 'the exact hosts of all apps',
    description:
      'Certificates are ordered only for those hosts of apps that are in this list. `*.example.com` stands for all names below `example.com`.',
  }),
  GATEWAY_ACME__CHALLENGES: list('http-01, tls-alpn-01', challenge, {
    default: ['http-01'],
    description:
      'How the authority verifies that a name points to this gateway; the preferred method first. For `http-01`, the authority connects to port 80, which must lead to the traffic port without TLS; for `tls-alpn-01`, it connects to port 443, which must lead to the traffic port with TLS.',
  }),
  GATEWAY_ACME__KEY_TYPE: oneOf(ACME_KEY_TYPES, {
    default: 'ecdsa-p256',
    description: 'Kind of the private keys of certificates. Each certificate gets a new key.',
  }),
  GATEWAY_ACME__CA_FILE: text('path', {
    default: undefined,
    defaultText: 'the authorities that Node.js trusts',
    description:
      'PEM file with more authorities that the gateway trusts for its connection to the directory.',
  }),
  GATEWAY_ACME__EAB_KID: text('text', {
    default: undefined,
    description:
      'Key id of the account at the authority to which the ACME account is bound (external account binding). Needs `GATEWAY_ACME__EAB_HMAC_KEY`.',
    pattern: /^[\x20-\x7e]{1,512}$/,
    expected: '1 to 512 visible ASCII characters',
  }),
  GATEWAY_ACME__EAB_HMAC_KEY: text('base64url', {
    default: undefined,
    secret: true,
    description: 'The HMAC key that belongs to `GATEWAY_ACME__EAB_KID`.',
  }),
  GATEWAY_ACME__ORDERS_PER_HOUR: integer(
    { min: 1, max: 10_000 },
    {
      default: 80,
      description: 'Maximum number of orders per hour, for all gateways on the database together.',
    },
  ),
  GATEWAY_ACME__RETRY_SECS: integer(
    { min: 1, max: 86_400 },
    {
      default: 900,
      description:
        'Seconds until the next order for a name whose order failed. The time doubles with each failure, up to a day. Certificates whose private keys cannot be decrypted with the secret key are ordered again this long after a start.',
    },
  ),
  GATEWAY_ACME__SELF_CHECK: boolean({
    default: true,
    description:
      'Order a certificate for a name only if this machine resolves the name to an address. Set it to false if the authority can resolve names that this machine cannot.',
  }),
} as const satisfies Record<string, Setting<unknown>>;

function isDirectoryUrl(value: string): boolean {
  const url = URL.parse(value);
  return (
    url !== null && url.protocol === 'https:' && url.hostname !== '' && url.username + url.password === ''
  );
}
