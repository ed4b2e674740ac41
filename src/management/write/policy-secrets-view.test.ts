import { describe, expect, it } from 'vitest';
import { isMaskedAt, MASK, maskPart, maskPolicy, maskRecord, restoreSecrets } from './policy-secrets-view.ts';

const secret = 'a-secret-of-more-than-thirty-two-characters';
const policy = {
  auth: {
    auth_type: 'jwt',
    jwt: {
      issuer: 'd',
      secret,
      jwks: {
        keys: [
          { kty: 'oct', kid: '1', k: 'c2VjcmV0' },
          { kty: 'RSA', kid: '2', n: 'nn', d: 'dd' },
        ],
      },
      claims_to_headers: { d: 'X-D', k: 'X-K' },
    },
  },
};

const record = { default_policy: policy };
const withSecret = (value: string) => ({ policy_override: { auth: { jwt: { secret: value } } } });

describe('maskPolicy', () => {
  it('masks shared secrets and private members of keys, and nothing else', () => {
    expect(maskPolicy(policy)).toEqual({
      auth: {
        auth_type: 'jwt',
        jwt: {
          issuer: 'd',
          secret: MASK,
          jwks: {
            keys: [
              { kty: 'oct', kid: '1', k: MASK },
              { kty: 'RSA', kid: '2', n: 'nn', d: MASK },
            ],
          },
          claims_to_headers: { d: 'X-D', k: 'X-K' },
        },
      },
    });
    expect(maskPolicy(null)).toBeNull();
  });

  it('has the same for one part, and for a record, of which only the policy is looked at', () => {
    expect(maskPart('auth', policy.auth)).toEqual(maskPolicy(policy).auth);
    const labels = { k: 'v', secret: 'open', auth: 'x' };
    expect(maskRecord({ labels, default_policy: policy })).toEqual({
      labels,
      default_policy: maskPolicy(policy),
    });
  });
});

describe('restoreSecrets', () => {
  it('puts back what was masked, so that a read policy can be sent again', () => {
    expect(restoreSecrets(maskRecord(record), record)).toEqual(record);
  });

  it('finds keys by kid when their order changed', () => {
    const masked = maskRecord(record);
    masked.default_policy.auth.jwt.jwks.keys.reverse();
    const restored = restoreSecrets(masked, record) as typeof record;
    expect(restored.default_policy.auth.jwt.jwks.keys.map((key) => key.k ?? key.d)).toEqual([
      'dd',
      'c2VjcmV0',
    ]);
  });

  it('takes a new secret as it is, and keeps a mask that has nothing under it', () => {
    expect(restoreSecrets(withSecret('new'), withSecret(secret))).toEqual(withSecret('new'));
    expect(restoreSecrets(withSecret(MASK), null)).toEqual(withSecret(MASK));
  });
});

describe('isMaskedAt', () => {
  it.each([
    ['/default_policy/auth/jwt/secret', true],
    ['/default_policy/auth/jwt/jwks/keys/1/d', true],
    ['/default_policy/auth/jwt/jwks/keys/1/n', false],
    ['/default_policy/auth/jwt/issuer', false],
    ['/default_policy/auth/nothing/secret', false],
    ['/description', false],
    ['', false],
  ])('%s: %s', (pointer, expected) => {
    expect(isMaskedAt({ ...maskRecord(record), description: MASK }, pointer)).toBe(expected);
  });
});
