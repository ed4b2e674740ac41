/**
 * What a browser must return from the OpenID provider: sealed (AES-256-GCM) with a key derived from the client's
 * secret, so that every gateway with the same settings can open it, and no gateway stores anything about a sign-in
 * that never ends.
 */
import { createCipheriv, createDecipheriv, hkdfSync } from 'node:crypto';
import { secretBytes } from '../../../lib/ids.ts';

export interface Flow {
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
  readonly returnTo: string;
  /** Unix milliseconds. */
  readonly endsAtMs: number;
}

export const FLOW_SECS = 600;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const SEALED_CHARS_MAX = 6_000;

const keyOf = (secret: string): Buffer =>
  Buffer.from(hkdfSync('sha256', secret, '', 'headgate openid connect flow', 32));

export function sealFlow(flow: Flow, secret: string): string {
  const nonce = secretBytes(NONCE_BYTES);
  const cipher = createCipheriv('aes-256-gcm', keyOf(secret), nonce, { authTagLength: TAG_BYTES });
  const sealed = Buffer.concat([cipher.update(JSON.stringify(flow), 'utf8'), cipher.final()]);
  return Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString('base64url');
}

/** undefined for anything that was not sealed here, and for what is too old. */
export function openFlow(text: string, secret: string, nowMs: number): Flow | undefined {
  const bytes = Buffer.from(text, 'base64url');
  if (text.length > SEALED_CHARS_MAX || bytes.length <= NONCE_BYTES + TAG_BYTES) return undefined;
  const split = NONCE_BYTES + TAG_BYTES;
  const opener = createDecipheriv('aes-256-gcm', keyOf(secret), bytes.subarray(0, NONCE_BYTES), {
    authTagLength: TAG_BYTES,
  });
  opener.setAuthTag(bytes.subarray(NONCE_BYTES, split));
  try {
    const opened = Buffer.concat([opener.update(bytes.subarray(split)), opener.final()]).toString('utf8');
    const flow = JSON.parse(opened) as Flow;
    return flow.endsAtMs > nowMs ? flow : undefined;
  } catch {
    return undefined;
  }
}
