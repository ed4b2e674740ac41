/** Known attacks with JWTs (RFC 8725 section 2, and later ones): each gets a 401, twice. */
import { createHmac, createSign, generateKeyPairSync } from 'node:crypto';
import { exportJWK, UnsecuredJWT, type JWK } from 'jose';
import { describe, expect, it } from 'vitest';
import type { Policy } from '../../../registry.ts';
import { bearer, run, testFacts, testGateway } from '../../../test-fixtures.ts';
import {
  b64,
  judge,
  jwks,
  jwtPolicy,
  rawToken,
  rsa,
  rsaOther,
  SECRET,
  sign,
  withSecret,
} from '../../../test-jwts.ts';

const withJwks = (): Policy => jwtPolicy({ jwks });
const rs256 = (header: Record<string, unknown>, key = rsa.privateKey): Promise<string> =>
  sign({ sub: 'x' }, { alg: 'RS256', key, header });
const own = async (): Promise<JWK> => exportJWK(rsaOther.publicKey);
const valid = rawToken({ alg: 'HS256' }, { sub: 'x' });
const [head = '', body = '', signature = ''] = valid.split('.');
const flip = (text: string, at: number): string =>
  text.slice(0, at) + (text[at] === 'A' ? 'B' : 'A') + text.slice(at + 1);
/** Another last character for the same bytes: the unused bits are not zero. */
const stray = (text: string): string => {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  return text.slice(0, -1) + alphabet.charAt(alphabet.indexOf(text.slice(-1)) + 1);
};

/** A correctly signed token whose payload is these bytes. */
function rawTokenOfBytes(payload: Buffer): string {
  const signed = `${b64({ alg: 'HS256' })}.${payload.toString('base64url')}`;
  return `${signed}.${createHmac('sha256', SECRET).update(signed).digest('base64url')}`;
}

describe('attacks', () => {
  type Attack = [string, () => string | Promise<string>, (() => Policy)?];
  const table: Attack[] = [
    ['alg none', () => new UnsecuredJWT({ sub: 'x' }).encode()],
    ['alg none with a signature', () => rawToken({ alg: 'none' }, { sub: 'x' })],
    ['alg NoNe', () => rawToken({ alg: 'NoNe' }, { sub: 'x' })],
    ['alg none where public keys are used', () => new UnsecuredJWT({ sub: 'x' }).encode(), withJwks],
    ['no alg', () => rawToken({ typ: 'JWT' }, { sub: 'x' })],
    ['alg that is a list', () => rawToken({ alg: ['HS256'] }, { sub: 'x' })],
    ['alg in another case', () => rawToken({ alg: 'hs256' }, { sub: 'x' })],
    [
      'HMAC with the public key as secret (PEM)',
      () =>
        rawToken({ alg: 'HS256', kid: 'rsa-1' }, {}, rsa.publicKey.export({ type: 'spki', format: 'pem' })),
      withJwks,
    ],
    [
      'HMAC with the public key as secret (DER)',
      () =>
        rawToken({ alg: 'HS256', kid: 'rsa-1' }, {}, rsa.publicKey.export({ type: 'spki', format: 'der' })),
      withJwks,
    ],
    [
      'HMAC with the modulus as secret',
      () => rawToken({ alg: 'HS256' }, {}, jwks.keys[0]?.n ?? ''),
      withJwks,
    ],
    ['HMAC with an empty secret', () => rawToken({ alg: 'HS256' }, {}, '')],
    ['RSA where a secret is used', () => rs256({})],
    ['an RSA algorithm with the kid of an EC key', () => rs256({ kid: 'ec-1' }), withJwks],
    ['a key of its own by jwk', async () => rs256({ jwk: await own() }, rsaOther.privateKey), withJwks],
    [
      'a key of its own by jwk under a known kid',
      async () => rs256({ kid: 'rsa-1', jwk: await own() }, rsaOther.privateKey),
      withJwks,
    ],
    [
      'a key of its own by jku',
      () => rs256({ jku: 'http://127.0.0.1:9/jwks' }, rsaOther.privateKey),
      withJwks,
    ],
    ['a key of its own by x5u', () => rs256({ x5u: 'http://127.0.0.1:9/x' }, rsaOther.privateKey), withJwks],
    ['a key of its own by x5c', () => rs256({ x5c: ['AAAA'] }, rsaOther.privateKey), withJwks],
    ['an unknown kid', () => rs256({ kid: 'rsa-2' }), withJwks],
    ['a kid that is a path', () => rs256({ kid: '../../dev/null' }), withJwks],
    ['a kid that is SQL', () => rs256({ kid: "' OR 1=1 --" }), withJwks],
    ['a kid of Object.prototype', () => rs256({ kid: '__proto__' }), withJwks],
    ['a kid that is a number', () => rawToken({ alg: 'HS256', kid: 1 }, { sub: 'x' })],
    ['a kid that is huge', () => rawToken({ alg: 'HS256', kid: 'k'.repeat(2000) }, { sub: 'x' })],
    ['a known kid and another key', () => rs256({ kid: 'rsa-1' }, rsaOther.privateKey), withJwks],
    ['crit', () => rawToken({ alg: 'HS256', crit: ['exp'], exp: 1 }, { sub: 'x' })],
    ['an empty crit', () => rawToken({ alg: 'HS256', crit: [] }, { sub: 'x' })],
    ['a payload that is not encoded (b64)', () => rawToken({ alg: 'HS256', b64: false, crit: ['b64'] }, {})],
    ['b64 that is not critical', () => rawToken({ alg: 'HS256', b64: false }, { sub: 'x' })],
    ['b64 that is true', () => rawToken({ alg: 'HS256', b64: true }, { sub: 'x' })],
    ['another type', () => rawToken({ alg: 'HS256', typ: 'logout+jwt' }, { sub: 'x' })],
    ['a type that is a number', () => rawToken({ alg: 'HS256', typ: 1 }, { sub: 'x' })],
    ['no signature', () => `${head}.${body}.`],
    ['two parts', () => `${head}.${body}`],
    ['four parts', () => `${valid}.x`],
    ['five parts, as an encrypted token has', () => `${valid}.x.x`],
    ['empty', () => ''],
    ['dots', () => '..'],
    ['a signature cut off', () => valid.slice(0, -1)],
    ['a signature changed', () => `${head}.${body}.${flip(signature, 3)}`],
    ['a payload changed', () => `${head}.${b64({ sub: 'root' })}.${signature}`],
    ['a signature with stray bits', () => `${head}.${body}.${stray(signature)}`],
    ['padding', () => `${head}.${body}.${signature}=`],
    [
      'the other base64 alphabet',
      () => `${head}.${body}.${signature.replaceAll('-', '+').replaceAll('_', '/')}+`,
    ],
    ['space within', () => `${head}. ${body}.${signature}`],
    ['a header that is no JSON', () => rawToken('{"alg":"HS256"', { sub: 'x' })],
    ['a header that is a list', () => rawToken(['HS256'], { sub: 'x' })],
    ['a header with alg twice', () => rawToken('{"alg":"none","alg":"HS256"}', { sub: 'x' })],
    [
      'a header with alg twice, once escaped',
      () => rawToken('{"\\u0061lg":"none","alg":"HS256"}', { sub: 'x' }),
    ],
    ['a payload with sub twice', () => rawToken({ alg: 'HS256' }, '{"sub":"x","sub":"root"}')],
    ['a claim within a claim twice', () => rawToken({ alg: 'HS256' }, '{"a":{"roles":[{"r":1,"r":2}]}}')],
    ['a member twice by its escape', () => rawToken({ alg: 'HS256' }, '{"a":{"b":1,"\\u0062":2}}')],
    [
      'claims that are very deep',
      () => rawToken({ alg: 'HS256' }, `{"a":${'['.repeat(2000)}${']'.repeat(2000)}}`),
    ],
    ['a payload that is a text', () => rawToken({ alg: 'HS256' }, '"x"')],
    ['a payload that is null', () => rawToken({ alg: 'HS256' }, 'null')],
    [
      'a payload that is no UTF-8',
      () => rawTokenOfBytes(Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])),
    ],
    ['a payload after a byte-order mark', () => rawToken({ alg: 'HS256' }, '\ufeff{"sub":"x"}')],
    ['huge', () => rawToken({ alg: 'HS256' }, { pad: 'x'.repeat(8192) })],
    ['an API key', () => testGateway().keys.create().token],
  ];

  it.each(table)('%s: 401', async (_name, make, policy = withSecret) => {
    const gateway = testGateway();
    const compiled = gateway.compile(policy());
    const facts = testFacts(bearer(await make()));
    for (let time = 0; time < 2; time++) {
      const { denial, evaluation } = await run(compiled, facts);
      expect(denial?.code).toBe('credentials_invalid');
      expect(denial?.headerLines).toMatch(/^WWW-Authenticate: Bearer [\x20-\x7e]+\r\n$/);
      expect(evaluation.caller.kind).toBe('anonymous');
    }
    expect(gateway.outcomes).toEqual(['rejected', 'rejected']);
  });

  it('the tokens that the attacks start from are good', async () => {
    expect((await judge(withSecret(), valid)).denial).toBeUndefined();
    expect((await judge(withJwks(), await rs256({ kid: 'rsa-1' }))).denial).toBeUndefined();
    const nested = rawToken({ alg: 'HS256' }, '{"sub":"a:\\"b\\\\","x":{"sub":1,"y":[{"sub":2}]},"z":":"}');
    expect((await judge(withSecret(), nested)).denial).toBeUndefined();
  });

  it('an RSA key that is too short verifies nothing', async () => {
    const weak = generateKeyPairSync('rsa', { modulusLength: 1024 });
    const signed = `${b64({ alg: 'RS256' })}.${b64({ sub: 'x' })}`;
    const token = `${signed}.${createSign('sha256').update(signed).sign(weak.privateKey).toString('base64url')}`;
    const keys = [await exportJWK(weak.publicKey)];
    expect((await judge(jwtPolicy({ jwks: { keys } }), token)).denial?.code).toBe('credentials_invalid');
  });

  it('a private or symmetric key in a JWK set verifies nothing', async () => {
    const key = await exportJWK(rsa.privateKey);
    const asymmetric = await judge(jwtPolicy({ jwks: { keys: [key] } }), await rs256({}));
    expect(asymmetric.denial?.code).toBe('credentials_invalid');
    const oct = { kty: 'oct', k: b64(SECRET), alg: 'HS256' };
    const symmetric = await judge(jwtPolicy({ jwks: { keys: [oct] }, algorithms: ['HS256'] }), valid);
    expect(symmetric.denial?.code).toBe('credentials_invalid');
  });
});
