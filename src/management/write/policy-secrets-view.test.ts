import { describe, expect, it } from 'vitest';
import { isMaskedAt, MASK, maskSecrets, restoreSecrets } from './policy-secrets-view.ts';

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

describe('maskSecrets', () => {
  it('masks shared secrets and private members of keys, and nothing else', () => {
    expect(maskSecrets(policy)).toEqual({
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
    expect(maskSecrets({ labels: { k: 'v', secret: 'open' } })).toEqual({
      labels: { k: 'v', secret: 'open' },
    });
    expect(maskSecrets(null)).toBeNull();
  });
});

describe('restoreSecrets', () => {
  it('puts back what was masked, so that a read policy can be sent again', () => {
    expect(restoreSecrets(maskSecrets(policy), policy)).toEqual(policy);
  });

  it('finds keys by kid when their order changed', () => {
    const masked = maskSecrets(policy);
    masked.auth.jwt.jwks.keys.reverse();
    const restored = restoreSecrets(masked, policy) as typeof policy;
    expect(restored.auth.jwt.jwks.keys.map((key) => key.k ?? key.d)).toEqual(['dd', 'c2VjcmV0']);
  });

  it('takes a new secret as it is, and keeps a mask that has nothing under it', () => {
    expect(restoreSecrets({ jwt: { secret: 'new' } }, { jwt: { secret } })).toEqual({
      jwt: { secret: 'new' },
    });
    expect(restoreSecrets({ jwt: { secret: MASK } }, null)).toEqual({ jwt: { secret: MASK } });
  });
});

describe('isMaskedAt', () => {
  it.each([
    ['/auth/jwt/secret', true],
    ['/auth/jwt/issuer', false],
    ['/auth/nothing/secret', false],
    ['', false],
  ])('%s: %s', (pointer, expected) => {
    expect(isMaskedAt(maskSecrets(policy), pointer)).toBe(expected);
  });
});
