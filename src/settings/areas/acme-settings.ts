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
      'ACME directory of the authority that issues certificates for the hosts of apps. Needs `GATEWAY_ACME__ACCEPT_TERMS` and a database. Certificates in files come first: no order is made for a name that one of them has.',
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
    description: 'Where the authority may write to, such as `mailto:ops@example.com`.',
  }),
  GATEWAY_ACME__NAMES: list('host names, comma-separated', destination, {
    default: [],
    defaultText: 'the exact hosts of all apps',
    description:
      'Orders are made only for hosts of apps that are in this list. `*.example.com` stands for all names below `example.com`.',
  }),
  GATEWAY_ACME__CHALLENGES: list('http-01, tls-alpn-01', challenge, {
    default: ['http-01'],
    description:
      'How the authority sees that a name leads here, the preferred way first. `http-01` needs the traffic port without TLS to be reached at port 80, `tls-alpn-01` the one with TLS at port 443.',
  }),
  GATEWAY_ACME__KEY_TYPE: oneOf(ACME_KEY_TYPES, {
    default: 'ecdsa-p256',
    description: 'Kind of the private keys of certificates. Each certificate has a new key.',
  }),
  GATEWAY_ACME__CA_FILE: text('path', {
    default: undefined,
    defaultText: 'the authorities that Node.js trusts',
    description:
      'PEM file of further authorities that may have issued the certificate of the directory itself.',
  }),
  GATEWAY_ACME__EAB_KID: text('text', {
    default: undefined,
    description:
      'Key id of an account with the authority that the ACME account is bound to. Needs `GATEWAY_ACME__EAB_HMAC_KEY`.',
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
      description: 'Maximum number of orders that all gateways on the database begin in an hour.',
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
      'Order for a name only when it has an address. Set it to false where this machine cannot resolve names that the authority can.',
  }),
} as const satisfies Record<string, Setting<unknown>>;

function isDirectoryUrl(value: string): boolean {
  const url = URL.parse(value);
  return (
    url !== null && url.protocol === 'https:' && url.hostname !== '' && url.username + url.password === ''
  );
}
