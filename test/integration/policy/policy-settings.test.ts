/**
 * A bad value stops the start and names the variable, the value and what was expected: the settings of rate limits,
 * trusted proxies, JWTs, the guard and bodies. All errors are told at once, so one start shows many.
 */
import { describe, expect, it } from 'vitest';
import { runToEnd } from '../../support/gateway.ts';

interface BadStart {
  readonly name: string;
  readonly env: Readonly<Record<string, string>>;
  /** For each error what its line must say: the variable, the value, the expectation. */
  readonly lines: readonly (readonly string[])[];
}

const SECRET = 'x'.repeat(40);
const STARTS: readonly BadStart[] = [
  {
    name: 'values that cannot be read',
    env: {
      GATEWAY_RATE_LIMIT_REQUESTS: 'many',
      GATEWAY_RATE_LIMIT_WINDOW_SECS: '-1',
      GATEWAY_PER_IP_RATE_LIMIT_ENABLED: 'maybe',
      GATEWAY_PER_IP_RATE_LIMIT_REQUESTS: '5x',
      GATEWAY_PER_IP_RATE_LIMIT_WINDOW_SECS: '1e99',
      GATEWAY_TRUSTED_PROXY_IPS: '127.0.0.1, lb.test',
      GATEWAY_JWT__JWKS_URI: 'id.test/jwks',
      GATEWAY_JWT__ALGORITHMS: 'RS256,none',
      GATEWAY_JWT__LEEWAY_SECS: '601',
      GATEWAY_JWT__SECRET: 'too short a secret',
      GATEWAY_PROXY__AUTH_FAILURES_PER_MINUTE: 'off',
      GATEWAY_PROXY__MAX_BODY_BYTES: '1MB',
    },
    lines: [
      ['GATEWAY_RATE_LIMIT_REQUESTS="many"', 'expected an integer'],
      ['GATEWAY_RATE_LIMIT_WINDOW_SECS="-1"', 'expected an integer, 1 to'],
      ['GATEWAY_PER_IP_RATE_LIMIT_ENABLED="maybe"', 'expected true or false'],
      ['GATEWAY_PER_IP_RATE_LIMIT_REQUESTS="5x"', 'expected an integer'],
      ['GATEWAY_PER_IP_RATE_LIMIT_WINDOW_SECS="1e99"', 'expected an integer'],
      ['GATEWAY_TRUSTED_PROXY_IPS="127.0.0.1, lb.test"', 'expected', 'CIDR'],
      ['GATEWAY_JWT__JWKS_URI="id.test/jwks"', 'expected', 'http'],
      ['GATEWAY_JWT__ALGORITHMS="RS256,none"', 'expected names from RS256'],
      ['GATEWAY_JWT__LEEWAY_SECS="601"', 'expected an integer, 0 to 600'],
      ['GATEWAY_JWT__SECRET=(hidden)', 'expected 32 to 4096 characters'],
      ['GATEWAY_PROXY__AUTH_FAILURES_PER_MINUTE="off"', 'expected an integer, 0 to'],
      ['GATEWAY_PROXY__MAX_BODY_BYTES="1MB"', 'expected an integer, 0 to'],
    ],
  },
  {
    name: 'values out of range, and what goes with nothing',
    env: {
      GATEWAY_RATE_LIMIT_REQUESTS: '0',
      GATEWAY_PER_IP_RATE_LIMIT_ENABLED: 'true',
      GATEWAY_TRUSTED_PROXY_IPS: '10.0.0.0/33',
      GATEWAY_JWT__ALGORITHMS: 'RS256, HS256',
    },
    lines: [
      ['GATEWAY_RATE_LIMIT_REQUESTS="0"', 'expected an integer, 1 to'],
      ['GATEWAY_PER_IP_RATE_LIMIT_ENABLED=true', 'expected GATEWAY_PER_IP_RATE_LIMIT_REQUESTS to be set'],
      ['GATEWAY_PER_IP_RATE_LIMIT_ENABLED=true', 'expected GATEWAY_PER_IP_RATE_LIMIT_WINDOW_SECS to be set'],
      ['GATEWAY_TRUSTED_PROXY_IPS="10.0.0.0/33"', 'expected', 'CIDR'],
      ['GATEWAY_JWT__ALGORITHMS="RS256,HS256"', 'expected', 'not both'],
    ],
  },
  {
    name: 'requests without a window; a secret beside public keys',
    env: {
      GATEWAY_RATE_LIMIT_REQUESTS: '5',
      GATEWAY_JWT__SECRET: SECRET,
      GATEWAY_JWT__JWKS_URI: 'https://id.test/jwks',
    },
    lines: [
      ['GATEWAY_RATE_LIMIT_REQUESTS="5"', 'expected GATEWAY_RATE_LIMIT_WINDOW_SECS to be set'],
      ['GATEWAY_JWT__SECRET', 'GATEWAY_JWT__JWKS_URI="https://id.test/jwks"', 'expected one of the two'],
    ],
  },
  {
    name: 'a window without requests; public-key algorithms for a secret',
    env: {
      GATEWAY_RATE_LIMIT_WINDOW_SECS: '60',
      GATEWAY_JWT__SECRET: SECRET,
      GATEWAY_JWT__ALGORITHMS: 'ES256',
    },
    lines: [
      ['GATEWAY_RATE_LIMIT_WINDOW_SECS="60"', 'expected GATEWAY_RATE_LIMIT_REQUESTS to be set'],
      ['GATEWAY_JWT__ALGORITHMS="ES256"', 'GATEWAY_JWT__SECRET', 'expected HS256, HS384 or HS512'],
    ],
  },
  {
    name: 'half a request; HMAC for public keys',
    env: {
      GATEWAY_RATE_LIMIT_REQUESTS: '1.5',
      GATEWAY_RATE_LIMIT_WINDOW_SECS: '60',
      GATEWAY_JWT__JWKS_URI: 'https://id.test/jwks',
      GATEWAY_JWT__ALGORITHMS: 'HS256',
    },
    lines: [
      ['GATEWAY_RATE_LIMIT_REQUESTS="1.5"', 'expected an integer'],
      ['GATEWAY_JWT__ALGORITHMS="HS256"', 'GATEWAY_JWT__JWKS_URI', 'expected public-key algorithms'],
    ],
  },
];

describe('a bad setting stops the start', () => {
  it.each(STARTS)('$name', async ({ env, lines }) => {
    const { code, output } = await runToEnd({ GATEWAY_DATABASE_URL: 'sqlite://:memory:', ...env });
    expect(code).toBe(1);
    expect(output).not.toContain('headgate is ready');
    const told = output.split('\n');
    for (const words of lines) {
      const line = told.find((text) => words.every((word) => text.includes(word)));
      expect(line, `a line with ${words.join(' … ')} in:\n${output}`).toBeDefined();
    }
    expect(output).not.toContain(SECRET);
    expect(output).not.toContain('too short a secret');
  });
});
