/** Every setting reaches the settings object, so that none is described and then read by no code. */
import { isDeepStrictEqual } from 'node:util';
import { expect, it } from 'vitest';
import { SETTINGS } from './settings-table.ts';
import { readSettings, type Settings } from './settings.ts';

type Environment = Readonly<Record<string, string>>;

const SIGNALS = ['METRICS', 'LOGS'] as const;
/** What other settings need is on. */
const ALL_ON: Environment = {
  GATEWAY_CONSOLE__FOLDER: '/console',
  GATEWAY_SERVER__TLS__CERT_FILE: 'cert.pem',
  GATEWAY_SERVER__TLS__KEY_FILE: 'key.pem',
  GATEWAY_SERVER__UNIX_SOCKET: '/run/management.sock',
  GATEWAY_OIDC__ISSUER: 'https://id.test/',
  GATEWAY_OIDC__CLIENT_ID: 'id',
  GATEWAY_OIDC__CLIENT_SECRET: 'secret-secret-secret',
  GATEWAY_OIDC__ROLES: 'all=viewer',
  GATEWAY_PROXY__TLS__CERT_FILE: 'cert.pem',
  GATEWAY_PROXY__TLS__KEY_FILE: 'key.pem',
  GATEWAY_PROXY__TLS__PORT: '8443',
  GATEWAY_ACME__DIRECTORY: 'letsencrypt',
  GATEWAY_ACME__ACCEPT_TERMS: 'true',
  GATEWAY_ACME__EAB_KID: 'kid',
  GATEWAY_ACME__EAB_HMAC_KEY: 'a2V5LWtleS1rZXkta2V5LWtleS1rZXkta2V5',
  GATEWAY_RATE_LIMIT_REQUESTS: '10',
  GATEWAY_RATE_LIMIT_WINDOW_SECS: '10',
  GATEWAY_PER_IP_RATE_LIMIT_ENABLED: 'true',
  GATEWAY_PER_IP_RATE_LIMIT_REQUESTS: '10',
  GATEWAY_PER_IP_RATE_LIMIT_WINDOW_SECS: '10',
  GATEWAY_OTEL__ENDPOINT: 'https://collector.test:4318',
  GATEWAY_OTEL__SIGNALS: 'traces,metrics,logs',
  GATEWAY_OTEL__CLIENT_CERT_FILE: 'cert.pem',
  GATEWAY_OTEL__CLIENT_KEY_FILE: 'key.pem',
  ...Object.fromEntries(
    SIGNALS.flatMap((signal) => [
      [`GATEWAY_OTEL__${signal}_CLIENT_CERT_FILE`, 'cert.pem'],
      [`GATEWAY_OTEL__${signal}_CLIENT_KEY_FILE`, 'key.pem'],
    ]),
  ),
};
const ONLY_TRACES: Environment = {
  GATEWAY_OTEL__ENDPOINT: 'https://collector.test:4318',
  GATEWAY_OTEL__TRACES_CLIENT_CERT_FILE: 'cert.pem',
  GATEWAY_OTEL__TRACES_CLIENT_KEY_FILE: 'key.pem',
};
const ENVIRONMENTS: readonly Environment[] = [ALL_ON, ONLY_TRACES, {}];

/** At least two of these are values of each setting. */
const VALUES = [
  'true false 2 3 600 660 5000 20000 70000 100000000 200000000 0.5 0.25',
  'one two /one /two one.pem two.pem openid,one openid,two one=admin two=admin',
  'https://one.test/ https://two.test/ https://one.test/{trace_id} https://two.test/{trace_id}',
  'redis://one.test redis://two.test postgres://one.test/y postgres://two.test/y',
  'sqlite://one.db sqlite://two.db 10.0.0.0/8 11.0.0.0/8 127.0.0.1 127.0.0.2 127.0.0.1:53 127.0.0.2:53',
  'json text none all errors error debug request_id status gzip delta cumulative exact leased use refuse',
  'mailto:a@one.test mailto:a@two.test http-01 tls-alpn-01 rsa-2048 ecdsa-p256 letsencrypt-staging',
  'RS256 ES256 traces metrics',
  `${'h'.repeat(40)} ${'i'.repeat(40)} ${'ab'.repeat(32)} ${'cd'.repeat(32)}`,
].flatMap((line) => line.split(' '));

/** Without it the start is refused; nothing else depends on it. */
const GATES: ReadonlySet<string> = new Set(['GATEWAY_ACME__ACCEPT_TERMS']);

function settingsOf(env: Environment): readonly Settings[] {
  const result = readSettings(env);
  return 'settings' in result ? [result.settings] : [];
}

/** Whether two values of the setting give different settings. */
function makesADifference(name: string, env: Environment): boolean {
  let first: Settings | undefined;
  for (const value of VALUES)
    for (const settings of settingsOf({ ...env, [name]: value })) {
      if (first !== undefined && !isDeepStrictEqual(first, settings)) return true;
      first ??= settings;
    }
  return false;
}

it.each(Object.keys(SETTINGS).filter((name) => !GATES.has(name)))('%s', (name) => {
  const isRead = ENVIRONMENTS.some((env) => makesADifference(name, env));
  expect(isRead, 'src/settings/settings.ts gives each setting to the code that obeys it').toBe(true);
});
