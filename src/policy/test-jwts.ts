/** Keys, tokens and policies for the tests of JWTs. */
import { createHmac, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { exportJWK, SignJWT, type JWK } from 'jose';
import type { JwtSettings } from './parts/auth/schema.ts';
import type { Policy } from './registry.ts';
import {
  bearer,
  NOW_MS,
  run,
  testFacts,
  testGateway,
  type TestGateway,
  type Verdict,
} from './test-fixtures.ts';

export const NOW = NOW_MS / 1000;
export const SECRET = 'a-secret-of-at-least-sixty-four-bytes-so-that-every-HMAC-takes-it!';
const secretKey = Buffer.from(SECRET);
export const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
export const rsaOther = generateKeyPairSync('rsa', { modulusLength: 2048 });
export const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' });
export const b64 = (value: unknown): string =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url');

/** A JWK set with the public keys of `rsa` and `ec`. */
export const jwks: { keys: JWK[] } = {
  keys: [
    { ...(await exportJWK(rsa.publicKey)), kid: 'rsa-1' },
    { ...(await exportJWK(ec.publicKey)), kid: 'ec-1' },
  ],
};

export const jwtPolicy = (
  jwt: JwtSettings | undefined,
  rest: Partial<NonNullable<Policy['auth']>> = {},
): Policy => ({
  auth: { auth_type: 'jwt', ...(jwt === undefined ? {} : { jwt }), ...rest },
});
export const withSecret = (settings: JwtSettings = {}): Policy => jwtPolicy({ secret: SECRET, ...settings });

interface Options {
  readonly alg?: string;
  readonly header?: Record<string, unknown>;
  readonly key?: KeyObject | Buffer;
}
export async function sign(claims: Record<string, unknown>, options: Options = {}): Promise<string> {
  const { alg = 'HS256', header = {}, key = secretKey } = options;
  return new SignJWT(claims).setProtectedHeader({ alg, ...header }).sign(key);
}

/** A token with exactly these bytes as header and payload, and a valid HMAC over them. */
export function rawToken(header: unknown, payload: unknown, secret: string | Buffer = SECRET): string {
  const signed = `${b64(header)}.${b64(payload)}`;
  return `${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`;
}

export async function judge(
  policy: Policy,
  token: string,
  gateway: TestGateway = testGateway(),
): Promise<Verdict> {
  return run(gateway.compile(policy), testFacts(bearer(token)));
}
