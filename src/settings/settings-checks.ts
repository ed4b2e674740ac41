/** Checks over several settings, and values as messages show them. Pure. */
import { SYMMETRIC_ALGORITHMS } from '../model/auth/jwt-algorithms.ts';
import { SETTINGS, type SettingName, type SettingValues } from './settings-table.ts';
import type { Setting } from './settings-values.ts';

/** The value for a message: quoted, bounded, and without secrets or the user information of a URL. */
export function shown(row: Setting<unknown>, text: string): string {
  if (row.secret) return '(hidden)';
  const masked = text.replace(/\/\/[^/?#]*@/, '//***@');
  return JSON.stringify(masked.length > 200 ? `${masked.slice(0, 200)}…` : masked);
}

/** `NAME="value"` of a valid setting, for messages about a conflict with another setting. */
function given(v: SettingValues, name: SettingName): string {
  const value: unknown = v[name];
  return `${name}=${shown(SETTINGS[name], Array.isArray(value) ? value.join(',') : String(value))}`;
}

/** The variable that a setting is read from: its other name where its own is not set. */
export function nameAsked(
  name: string,
  { otherName }: Setting<unknown>,
  env: Readonly<Record<string, string | undefined>>,
): string {
  return otherName === undefined || (env[name]?.trim() ?? '') !== '' ? name : otherName;
}

export function crossChecks(v: SettingValues, env: Readonly<Record<string, string | undefined>>): string[] {
  const errors: string[] = [];
  const together = (first: SettingName, second: SettingName): void => {
    if ((v[first] === undefined) === (v[second] === undefined)) return;
    const [set, unset] = v[first] === undefined ? [second, first] : [first, second];
    const [name, value] = [nameAsked(set, SETTINGS[set], env), given(v, set).slice(set.length)];
    // Both in the same spelling: with Headgate's names, or with those of OpenTelemetry.
    const missing = name === set ? unset : nameAsked(unset, SETTINGS[unset], env);
    errors.push(`Cannot use ${name}${value} alone: expected ${missing} to be set too.`);
  };
  together('GATEWAY_RATE_LIMIT_REQUESTS', 'GATEWAY_RATE_LIMIT_WINDOW_SECS');
  together('GATEWAY_PROXY__TLS__CERT_FILE', 'GATEWAY_PROXY__TLS__KEY_FILE');
  together('GATEWAY_SERVER__TLS__CERT_FILE', 'GATEWAY_SERVER__TLS__KEY_FILE');
  together('GATEWAY_OTEL__CLIENT_CERT_FILE', 'GATEWAY_OTEL__CLIENT_KEY_FILE');
  for (const signal of ['TRACES', 'METRICS', 'LOGS'] as const)
    together(`GATEWAY_OTEL__${signal}_CLIENT_CERT_FILE`, `GATEWAY_OTEL__${signal}_CLIENT_KEY_FILE`);
  together('GATEWAY_OIDC__ISSUER', 'GATEWAY_OIDC__CLIENT_ID');
  together('GATEWAY_OIDC__ISSUER', 'GATEWAY_OIDC__CLIENT_SECRET');
  if (!v.GATEWAY_OIDC__SCOPES.includes('openid')) {
    errors.push(`Cannot use ${given(v, 'GATEWAY_OIDC__SCOPES')}: expected openid to be one of them.`);
  }
  together('GATEWAY_ACME__EAB_KID', 'GATEWAY_ACME__EAB_HMAC_KEY');
  errors.push(...tlsChecks(v), ...acmeChecks(v), ...portChecks(v));
  if (v.GATEWAY_PER_IP_RATE_LIMIT_ENABLED) {
    for (const name of [
      'GATEWAY_PER_IP_RATE_LIMIT_REQUESTS',
      'GATEWAY_PER_IP_RATE_LIMIT_WINDOW_SECS',
    ] as const) {
      if (v[name] === undefined)
        errors.push(`Cannot use GATEWAY_PER_IP_RATE_LIMIT_ENABLED=true: expected ${name} to be set too.`);
    }
  }
  if (v.GATEWAY_CLUSTER__NODE_TIMEOUT_MS < 2 * v.GATEWAY_CLUSTER__HEARTBEAT_MS) {
    errors.push(
      `Cannot use ${given(v, 'GATEWAY_CLUSTER__NODE_TIMEOUT_MS')}: expected at least twice GATEWAY_CLUSTER__HEARTBEAT_MS, which is ${v.GATEWAY_CLUSTER__HEARTBEAT_MS}.`,
    );
  }
  if (v.GATEWAY_DISCOVERY__MAX_INTERVAL_MS < v.GATEWAY_DISCOVERY__MIN_INTERVAL_MS) {
    errors.push(
      `Cannot use ${given(v, 'GATEWAY_DISCOVERY__MAX_INTERVAL_MS')}: expected at least GATEWAY_DISCOVERY__MIN_INTERVAL_MS, which is ${v.GATEWAY_DISCOVERY__MIN_INTERVAL_MS}.`,
    );
  }
  if (v.GATEWAY_PROXY__MAX_TARGET_BYTES > v.GATEWAY_PROXY__MAX_HEAD_BYTES) {
    errors.push(
      `Cannot use GATEWAY_PROXY__MAX_TARGET_BYTES="${v.GATEWAY_PROXY__MAX_TARGET_BYTES}": expected at most GATEWAY_PROXY__MAX_HEAD_BYTES, which is ${v.GATEWAY_PROXY__MAX_HEAD_BYTES}.`,
    );
  }
  return [...errors, ...socketChecks(v), ...jwtChecks(v)];
}

/** A revision could otherwise reach the management API through its socket. */
function socketChecks(v: SettingValues): string[] {
  const { GATEWAY_SERVER__UNIX_SOCKET: own, GATEWAY_PROXY__UNIX_SOCKETS_FROM: folders } = v;
  if (own === undefined) return [];
  if (own === v.GATEWAY_PROXY__UNIX_SOCKET)
    return [
      `Cannot use ${given(v, 'GATEWAY_SERVER__UNIX_SOCKET')}: expected a path other than the one for traffic.`,
    ];
  const above = folders.find((each) => `${own}/`.startsWith(each.endsWith('/') ? each : `${each}/`));
  if (above === undefined) return [];
  return [
    `Cannot use ${given(v, 'GATEWAY_SERVER__UNIX_SOCKET')}: expected a path that is not below "${above}" of GATEWAY_PROXY__UNIX_SOCKETS_FROM, since a revision could name that socket as its backend.`,
  ];
}

/** Two listeners cannot share a port. */
function portChecks(v: SettingValues): string[] {
  const names = ['GATEWAY_SERVER__PORT', 'GATEWAY_PROXY__PORT', 'GATEWAY_PROXY__TLS__PORT'] as const;
  return names.flatMap((name, index) => {
    const other = names.slice(0, index).find((earlier) => v[earlier] === v[name]);
    if (!v[name] || other === undefined) return [];
    return [`Cannot use ${given(v, name)}: expected a port other than ${other}.`];
  });
}

function tlsChecks(v: SettingValues): string[] {
  const certFiles = pathsOf(v.GATEWAY_PROXY__TLS__CERT_FILE);
  const keyFiles = pathsOf(v.GATEWAY_PROXY__TLS__KEY_FILE);
  if (certFiles.includes('') || keyFiles.includes(''))
    return [
      `Cannot use ${given(v, certFiles.includes('') ? 'GATEWAY_PROXY__TLS__CERT_FILE' : 'GATEWAY_PROXY__TLS__KEY_FILE')}: expected paths, separated by commas.`,
    ];
  if (v.GATEWAY_PROXY__TLS__CERT_FILE === undefined || v.GATEWAY_PROXY__TLS__KEY_FILE === undefined) {
    if (v.GATEWAY_PROXY__TLS__PORT === undefined || v.GATEWAY_ACME__DIRECTORY !== undefined) return [];
    return [
      `Cannot use ${given(v, 'GATEWAY_PROXY__TLS__PORT')} alone: expected GATEWAY_PROXY__TLS__CERT_FILE or GATEWAY_ACME__DIRECTORY to be set too.`,
    ];
  }
  if (certFiles.length === keyFiles.length) return [];
  return [
    `Cannot use ${given(v, 'GATEWAY_PROXY__TLS__KEY_FILE')}: expected as many files as GATEWAY_PROXY__TLS__CERT_FILE has, which is ${certFiles.length}.`,
  ];
}

/** Orders that are begun and then forgotten use up the rate limits of the authority. */
function acmeChecks(v: SettingValues): string[] {
  if (v.GATEWAY_ACME__DIRECTORY === undefined) return [];
  const directory = given(v, 'GATEWAY_ACME__DIRECTORY');
  const expected = (what: string): string => `Cannot use ${directory}: expected ${what}.`;
  const errors: string[] = [];
  if (!v.GATEWAY_ACME__ACCEPT_TERMS) {
    errors.push(expected('GATEWAY_ACME__ACCEPT_TERMS=true, which agrees to the terms of service'));
  }
  if (v.GATEWAY_PROXY__TLS__PORT === undefined && v.GATEWAY_ACME__CHALLENGES.includes('http-01')) {
    errors.push(expected('GATEWAY_PROXY__TLS__PORT, since http-01 needs a port without TLS beside it'));
  }
  if (!/^[A-Za-z0-9_-]*$/.test(v.GATEWAY_ACME__EAB_HMAC_KEY ?? '')) {
    errors.push('Cannot use GATEWAY_ACME__EAB_HMAC_KEY: expected base64url text, as the authority gives it.');
  }
  if (v.GATEWAY_CONFIG_FILE !== undefined) {
    errors.push(expected('a database, which keeps certificates, in place of GATEWAY_CONFIG_FILE'));
  }
  if (/:memory:/.test(v.GATEWAY_DATABASE_URL)) {
    errors.push(expected('a database that outlives the process, which keeps certificates'));
  }
  if (/^postgres(ql)?:/i.test(v.GATEWAY_DATABASE_URL) && v.GATEWAY_SECRET_KEY === undefined) {
    errors.push(expected('GATEWAY_SECRET_KEY, which seals private keys in PostgreSQL'));
  }
  return errors;
}

export function pathsOf(list: string | undefined): string[] {
  return list === undefined ? [] : list.split(',').map((path) => path.trim());
}

/** Public keys and shared secrets must not mix: a public key used as a secret lets anyone who knows it sign tokens. */
function jwtChecks(v: SettingValues): string[] {
  const symmetric: readonly string[] = SYMMETRIC_ALGORITHMS;
  const hasSymmetric = v.GATEWAY_JWT__ALGORITHMS.some((name) => symmetric.includes(name));
  const hasAsymmetric = v.GATEWAY_JWT__ALGORITHMS.some((name) => !symmetric.includes(name));
  const algorithms = given(v, 'GATEWAY_JWT__ALGORITHMS');
  if (v.GATEWAY_JWT__JWKS_URI !== undefined && v.GATEWAY_JWT__SECRET !== undefined) {
    return [
      `Cannot use GATEWAY_JWT__SECRET with ${given(v, 'GATEWAY_JWT__JWKS_URI')}: expected one of the two.`,
    ];
  }
  if (hasSymmetric && hasAsymmetric) {
    return [`Cannot use ${algorithms}: expected HS* algorithms or public-key algorithms, not both.`];
  }
  if (v.GATEWAY_JWT__JWKS_URI !== undefined && hasSymmetric) {
    return [`Cannot use ${algorithms} with GATEWAY_JWT__JWKS_URI: expected public-key algorithms only.`];
  }
  if (v.GATEWAY_JWT__SECRET !== undefined && hasAsymmetric) {
    return [`Cannot use ${algorithms} with GATEWAY_JWT__SECRET: expected HS256, HS384 or HS512 only.`];
  }
  return [];
}

/** Warnings about values that work but are probably not meant. */
export function doubtful(v: SettingValues): string[] {
  const warnings: string[] = [];
  if (/^postgres(ql)?:/i.test(v.GATEWAY_DATABASE_URL) && v.GATEWAY_SECRET_KEY === undefined) {
    warnings.push(
      'GATEWAY_SECRET_KEY is not set: with the PostgreSQL database of GATEWAY_DATABASE_URL, which has no key file beside it, policies with a secret are refused.',
    );
  }
  const perIpSet =
    v.GATEWAY_PER_IP_RATE_LIMIT_REQUESTS !== undefined ||
    v.GATEWAY_PER_IP_RATE_LIMIT_WINDOW_SECS !== undefined;
  if (perIpSet && !v.GATEWAY_PER_IP_RATE_LIMIT_ENABLED) {
    warnings.push(
      'GATEWAY_PER_IP_RATE_LIMIT_* has no effect: GATEWAY_PER_IP_RATE_LIMIT_ENABLED is not true.',
    );
  }
  return [...warnings, ...doubtfulTls(v)];
}

/** Settings for traffic without TLS where all has it, or the reverse. */
function doubtfulTls(v: SettingValues): string[] {
  const hasTls = v.GATEWAY_PROXY__TLS__CERT_FILE !== undefined || v.GATEWAY_ACME__DIRECTORY !== undefined;
  // The socket never has TLS.
  const isAllTls =
    hasTls && v.GATEWAY_PROXY__TLS__PORT === undefined && v.GATEWAY_PROXY__UNIX_SOCKET === undefined;
  const warnings: string[] = [];
  if (v.GATEWAY_PROXY__H2C && isAllTls) {
    warnings.push(
      'GATEWAY_PROXY__H2C has no effect: GATEWAY_PROXY__PORT has TLS, where GATEWAY_PROXY__HTTP2 decides about HTTP/2.',
    );
  }
  if (v.GATEWAY_PROXY__HTTPS_REDIRECT_PORT !== undefined && isAllTls) {
    warnings.push(
      'GATEWAY_PROXY__HTTPS_REDIRECT_PORT has no effect: GATEWAY_PROXY__PORT has TLS, and no port is without it. With GATEWAY_PROXY__TLS__PORT, that port has TLS, and GATEWAY_PROXY__PORT redirects to it.',
    );
  }
  if (v.GATEWAY_PROXY__HSTS_SECS > 0 && !hasTls) {
    warnings.push(
      'GATEWAY_PROXY__HSTS_SECS has no effect: no port for traffic has TLS. A proxy in front that has TLS can add Strict-Transport-Security.',
    );
  }
  return warnings;
}
