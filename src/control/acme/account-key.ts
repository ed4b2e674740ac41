/**
 * Keys and signatures of ACME (RFC 8555 section 6.2): the account's key signs every request as a JWS, an external
 * key binds the account to an account of the authority's own system (section 7.3.4), and the thumbprint of the key
 * is part of each answer to a challenge.
 */
import { createPrivateKey, createPublicKey, generateKeyPair, type KeyObject } from 'node:crypto';
import { promisify } from 'node:util';
import { calculateJwkThumbprint, exportJWK, FlattenedSign, type JWK } from 'jose';

const ALGORITHM = 'ES256';

export interface AccountKey {
  /** PEM. */
  readonly pem: string;
  readonly jwk: JWK;
  /** RFC 7638, base64url. */
  readonly thumbprint: string;
  /** @param account URL of the account; undefined: the request contains the key itself, as for a new account */
  sign(
    payload: string,
    header: { readonly nonce: string; readonly url: string },
    account?: string,
  ): Promise<string>;
}

export async function newAccountKey(): Promise<AccountKey> {
  const { privateKey } = await promisify(generateKeyPair)('ec', { namedCurve: 'P-256' });
  return accountKey(privateKey.export({ type: 'pkcs8', format: 'pem' }).toString());
}

/** @throws when the text is not a P-256 key */
export async function accountKey(pem: string): Promise<AccountKey> {
  const key = createPrivateKey(pem);
  const jwk = await exportJWK(createPublicKey(key));
  return {
    pem,
    jwk,
    thumbprint: await calculateJwkThumbprint(jwk),
    sign: (payload, header, account) =>
      flattened(payload, key, {
        alg: ALGORITHM,
        ...header,
        ...(account === undefined ? { jwk } : { kid: account }),
      }),
  };
}

/** Proves that the owner of an account in the authority's system agrees to the new ACME account. */
export async function externalBinding(
  { jwk }: AccountKey,
  { kid, hmacKey }: { readonly kid: string; readonly hmacKey: string },
  url: string,
): Promise<unknown> {
  const secret = Buffer.from(hmacKey, 'base64url');
  const text = await flattened(JSON.stringify(jwk), secret, { alg: 'HS256', kid, url });
  return JSON.parse(text);
}

async function flattened(
  payload: string,
  key: KeyObject | Uint8Array,
  header: { readonly alg: string; readonly [field: string]: unknown },
): Promise<string> {
  const signed = await new FlattenedSign(Buffer.from(payload, 'utf8')).setProtectedHeader(header).sign(key);
  return JSON.stringify(signed);
}
