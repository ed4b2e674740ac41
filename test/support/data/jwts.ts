/** Keys and JSON Web Tokens for tests, valid and forged. The keys live as long as the test process. */
import { createHmac, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { exportJWK, SignJWT, type JWK } from 'jose';

export const SECRET = 'a-shared-secret-of-at-least-sixty-four-bytes-so-that-HS512-takes-it';

interface KeyPair {
  readonly publicKey: KeyObject;
  readonly privateKey: KeyObject;
}

export const KEYS = {
  rsa: generateKeyPairSync('rsa', { modulusLength: 2048 }),
  ec: generateKeyPairSync('ec', { namedCurve: 'P-256' }),
  ed: generateKeyPairSync('ed25519'),
  /** Never configured anywhere. */
  stranger: generateKeyPairSync('ec', { namedCurve: 'P-256' }),
} as const satisfies Record<string, KeyPair>;
export type KeyName = keyof typeof KEYS;

/** The public key as a member of a JWK set; its name is its `kid`. */
export async function jwkOf(name: KeyName): Promise<JWK> {
  return { ...(await exportJWK(KEYS[name].publicKey)), kid: name, use: 'sig' };
}

export interface SignOptions {
  /** Default HS256 with `SECRET`. */
  readonly alg?: string;
  readonly key?: KeyObject;
  readonly header?: Readonly<Record<string, unknown>>;
}

export function signed(
  claims: Readonly<Record<string, unknown>>,
  { alg = 'HS256', key, header = {} }: SignOptions = {},
): Promise<string> {
  const jwt = new SignJWT({ ...claims }).setProtectedHeader({ alg, ...header });
  return jwt.sign(key ?? Buffer.from(SECRET));
}

/** A token with any header: with an HMAC-SHA-256 over it, or without a signature. */
export function forgedToken(header: unknown, payload: unknown, secret: string | undefined): string {
  const text = [header, payload]
    .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
    .join('.');
  const signature = secret === undefined ? '' : createHmac('sha256', secret).update(text).digest('base64url');
  return `${text}.${signature}`;
}

export function unixSecs(): number {
  return Math.floor(Date.now() / 1000);
}
