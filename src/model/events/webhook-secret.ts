/**
 * Secrets and signatures of webhooks in the format of Standard Webhooks: HMAC-SHA256 over `id.timestamp.body`. The
 * key is the bytes after `whsec_`; a signature is base64 after `v1,`, and several are separated by spaces. Pure.
 */
import { createHmac } from 'node:crypto';

const PREFIX = 'whsec_';
export const WEBHOOK_SECRET_BYTES = 32;
const BYTES_MIN = 24;
const BYTES_MAX = 64;
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

export function webhookSecret(bytes: Buffer): string {
  return PREFIX + bytes.toString('base64');
}

/** What is wrong with a secret that was given; undefined when it is valid. */
export function webhookSecretError(secret: string): string | undefined {
  return keyOf(secret) === undefined
    ? `must be "${PREFIX}" and ${BYTES_MIN} to ${BYTES_MAX} bytes in base64`
    : undefined;
}

function keyOf(secret: string): Buffer | undefined {
  const text = secret.startsWith(PREFIX) ? secret.slice(PREFIX.length) : undefined;
  if (text === undefined || !BASE64.test(text)) return undefined;
  const key = Buffer.from(text, 'base64');
  return key.length >= BYTES_MIN && key.length <= BYTES_MAX ? key : undefined;
}

export interface SignedContent {
  readonly id: string;
  readonly timestampSecs: number;
  readonly body: string;
}

/** The value of `webhook-signature`: one signature for each secret. */
export function webhookSignature(
  secrets: readonly string[],
  { id, timestampSecs, body }: SignedContent,
): string {
  return secrets
    .flatMap((secret) => keyOf(secret) ?? [])
    .map((key) => `v1,${createHmac('sha256', key).update(`${id}.${timestampSecs}.${body}`).digest('base64')}`)
    .join(' ');
}
