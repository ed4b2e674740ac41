/** The full policy with a JWT (ES256) in place of the API key. */
import { generateKeyPairSync } from 'node:crypto';
import { SignJWT } from 'jose';
import type { Policy } from '../src/policy/registry.ts';
import { SCOPE } from './service.ts';
import { FULL_POLICY } from './workloads/full-policy.ts';

export interface JwtPolicy {
  readonly policy: Policy;
  /** Valid for a day. */
  readonly token: string;
}

/** With keys of its own. */
export async function jwtPolicy(): Promise<JwtPolicy> {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const jwk = { ...publicKey.export({ format: 'jwk' }), kid: 'bench', alg: 'ES256', use: 'sig' };
  const token = await new SignJWT({ scope: SCOPE })
    .setProtectedHeader({ alg: 'ES256', kid: 'bench' })
    .setSubject('bench')
    .setExpirationTime('1d')
    .sign(privateKey);
  const auth = { auth_type: 'jwt' as const, jwt: { jwks: { keys: [jwk] }, algorithms: ['ES256' as const] } };
  return { policy: { ...FULL_POLICY, auth }, token };
}
