/** JWT authentication: what is accepted, what is refused and why, and what attackers try. */
import { createHmac, createSign, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { exportJWK, SignJWT, UnsecuredJWT, type JWK } from 'jose';
import { beforeAll, describe, expect, it } from 'vitest';
import type { JwtSettings, Policy } from '../model/policy.ts';
import type { JwtDefaults } from './dependencies.ts';
import { evaluate, newEvaluation } from './evaluate.ts';
import {
  bearer,
  NOW_MS,
  run,
  testFacts,
  testGateway,
  type TestGateway,
  type Verdict,
} from './test-fixtures.ts';

const NOW = NOW_MS / 1000;
const SECRET = 'a-secret-of-at-least-sixty-four-bytes-so-that-every-HMAC-takes-it!';
const secretKey = Buffer.from(SECRET);
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
const rsaOther = generateKeyPairSync('rsa', { modulusLength: 2048 });
const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const b64 = (value: unknown): string =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url');

let jwks: { keys: JWK[] };
beforeAll(async () => {
  jwks = {
    keys: [
      { ...(await exportJWK(rsa.publicKey)), kid: 'rsa-1' },
      { ...(await exportJWK(ec.publicKey)), kid: 'ec-1' },
    ],
  };
});

const jwtPolicy = (
  jwt: JwtSettings | undefined,
  rest: Partial<NonNullable<Policy['auth']>> = {},
): Policy => ({
  auth: { auth_type: 'jwt', ...(jwt === undefined ? {} : { jwt }), ...rest },
});
const withSecret = (settings: JwtSettings = {}): Policy => jwtPolicy({ secret: SECRET, ...settings });

interface Options {
  readonly alg?: string;
  readonly header?: Record<string, unknown>;
  readonly key?: KeyObject | Buffer;
}
async function sign(claims: Record<string, unknown>, options: Options = {}): Promise<string> {
  const { alg = 'HS256', header = {}, key = secretKey } = options;
  return new SignJWT(claims).setProtectedHeader({ alg, ...header }).sign(key);
}

/** A token with these very bytes as header and payload and a right HMAC over them. */
function rawToken(header: unknown, payload: unknown, secret: string | Buffer = SECRET): string {
  const signed = `${b64(header)}.${b64(payload)}`;
  return `${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`;
}

async function judge(policy: Policy, token: string, gateway: TestGateway = testGateway()): Promise<Verdict> {
  return run(gateway.compile(policy), testFacts(bearer(token)));
}

describe('a valid JWT', () => {
  it('identifies the caller and is forwarded', async () => {
    const token = await sign({ sub: 'auth0|ü 1', scope: 'read write', exp: NOW + 60 });
    const { denial, evaluation } = await judge(withSecret(), token);
    expect(denial).toBeUndefined();
    expect(evaluation.caller).toMatchObject({
      kind: 'jwt',
      id: 'auth0|ü 1',
      scopes: new Set(['read', 'write']),
    });
    expect(evaluation.caller.upstreamHeaderLines).toBe(
      'X-Headgate-Subject: auth0|%C3%BC 1\r\nX-Headgate-Scopes: read write\r\n',
    );
    expect(evaluation.dropAuthorization).toBe(false);
  });

  it('is not forwarded when the policy says so', async () => {
    const policy = jwtPolicy({ secret: SECRET }, { forward_credentials: false });
    expect((await judge(policy, await sign({}))).evaluation.dropAuthorization).toBe(true);
  });

  const asymmetric: [string, { publicKey: KeyObject; privateKey: KeyObject }][] = [
    ['RS256', rsa],
    ['RS384', rsa],
    ['RS512', rsa],
    ['PS256', rsa],
    ['PS384', rsa],
    ['PS512', rsa],
    ['ES256', ec],
    ['ES384', generateKeyPairSync('ec', { namedCurve: 'P-384' })],
    ['ES512', generateKeyPairSync('ec', { namedCurve: 'P-521' })],
    ['EdDSA', generateKeyPairSync('ed25519')],
  ];
  it.each(asymmetric)('may be signed with %s by a key of a JWK set', async (alg, pair) => {
    const jwk = { ...(await exportJWK(pair.publicKey)), kid: 'k' };
    const token = await sign({ sub: 'x' }, { alg, key: pair.privateKey, header: { kid: 'k' } });
    expect((await judge(jwtPolicy({ jwks: { keys: [jwk] } }), token)).denial).toBeUndefined();
  });

  it.each(['HS256', 'HS384', 'HS512'] as const)('may be signed with %s, if configured', async (alg) => {
    const token = await sign({}, { alg });
    expect((await judge(withSecret({ algorithms: [alg] }), token)).denial).toBeUndefined();
    const others = (['HS256', 'HS384', 'HS512'] as const).filter((name) => name !== alg);
    expect((await judge(withSecret({ algorithms: others }), token)).denial?.detail).toContain('algorithm');
  });

  it('needs no kid: the keys that fit are tried', async () => {
    const keys = [await exportJWK(rsaOther.publicKey), ...jwks.keys];
    const token = await sign({}, { alg: 'RS256', key: rsa.privateKey });
    expect((await judge(jwtPolicy({ jwks: { keys } }), token)).denial).toBeUndefined();
  });

  it.each([undefined, 'JWT', 'jwt', 'at+jwt', 'application/at+jwt'])('may be of type %s', async (typ) => {
    const token = await sign({}, typ === undefined ? {} : { header: { typ } });
    expect((await judge(withSecret(), token)).denial).toBeUndefined();
  });
});

describe('issuer, audience and times', () => {
  const settings: JwtSettings = { issuer: 'https://idp.example', audiences: ['a', 'b'], leeway_secs: 30 };
  const good = { iss: 'https://idp.example', aud: 'a' };
  it.each<[string, Record<string, unknown>, string | undefined]>([
    ['right', good, undefined],
    ['one of several audiences', { ...good, aud: ['x', 'b'] }, undefined],
    ['another issuer', { ...good, iss: 'https://idp.example/' }, 'issuer'],
    ['no issuer', { aud: 'a' }, 'issuer'],
    ['a list of issuers', { ...good, iss: ['https://idp.example'] }, 'issuer'],
    ['another audience', { ...good, aud: 'c' }, 'audience'],
    ['no audience', { iss: good.iss }, 'audience'],
    ['an audience of another type', { ...good, aud: { a: 1 } }, 'audience'],
    ['an empty list of audiences', { ...good, aud: [] }, 'audience'],
    ['expired within the leeway', { ...good, exp: NOW - 29 }, undefined],
    ['expired to the second', { ...good, exp: NOW - 30 }, 'expired'],
    ['not yet valid within the leeway', { ...good, nbf: NOW + 30 }, undefined],
    ['not yet valid by a second', { ...good, nbf: NOW + 31 }, 'not valid yet'],
    ['an exp that is a text', { ...good, exp: '9999999999' }, 'exp is no number'],
    ['an exp that is null', { ...good, exp: null }, 'exp is no number'],
    ['an nbf that is a list', { ...good, nbf: [] }, 'nbf is no number'],
    ['an iat that is a text', { ...good, iat: 'now' }, 'iat is no number'],
    ['an exp with a fraction', { ...good, exp: NOW + 0.5 }, undefined],
  ])('%s', async (_name, claims, reason) => {
    const { denial } = await judge(withSecret(settings), rawToken({ alg: 'HS256' }, claims));
    if (reason === undefined) expect(denial).toBeUndefined();
    else {
      expect(denial?.code).toBe('credentials_invalid');
      expect(denial?.detail).toContain(reason);
      expect(denial?.headerLines).toContain('error="invalid_token"');
    }
  });

  it('a token is dead at its exp, not a second later, without leeway', async () => {
    const token = await sign({ exp: NOW + 1 });
    const gateway = testGateway();
    const policy = gateway.compile(withSecret());
    const at = async (nowMs: number): Promise<string | undefined> =>
      (await run(policy, testFacts(bearer(token), { nowMs }))).denial?.detail;
    expect(await at(NOW_MS + 999)).toBeUndefined();
    // The second time it comes from memory, and is dead all the same.
    expect(await at(NOW_MS + 1000)).toContain('expired');
    expect(await at(NOW_MS + 999)).toBeUndefined();
  });
});

describe('required_claims and required_scopes', () => {
  it.each<[Record<string, unknown>, string | undefined]>([
    [{ sub: 'a', email: 'x' }, undefined],
    [{ sub: 'a', email: '' }, undefined],
    [{ sub: 'a', email: false }, undefined],
    [{ sub: 'a' }, 'email'],
    [{ sub: 'a', email: null }, 'email'],
    [{ email: 'x' }, 'sub'],
  ])('%j', async (claims, missing) => {
    const gateway = testGateway();
    const policy = jwtPolicy({ secret: SECRET }, { required_claims: ['sub', 'email'] });
    const { denial } = await judge(policy, await sign(claims), gateway);
    if (missing === undefined) expect(denial).toBeUndefined();
    else {
      expect(denial).toMatchObject({
        code: 'missing_claim',
        detail: `The token lacks the claim "${missing}"`,
      });
      expect(gateway.outcomes).toEqual(['forbidden']);
    }
  });

  it('names of Object.prototype are no claims', async () => {
    const policy = jwtPolicy({ secret: SECRET }, { required_claims: ['constructor'] });
    expect((await judge(policy, await sign({ sub: 'a' }))).denial?.code).toBe('missing_claim');
  });

  it.each<[Record<string, unknown>, boolean]>([
    [{ scope: 'other read' }, true],
    [{ scp: 'other read' }, true],
    [{ scp: ['other', 'read'] }, true],
    [{ scope: 'other', scp: ['read'] }, false],
    [{ scope: 'reader' }, false],
    [{ scope: ['read'] }, false],
    [{ scp: [['read']] }, false],
    [{ scp: { read: true } }, false],
    [{}, false],
  ])('%j holds the scope: %s', async (claims, holds) => {
    const { denial } = await judge({ ...withSecret(), required_scopes: ['read'] }, await sign(claims));
    expect(denial?.code).toBe(holds ? undefined : 'insufficient_scope');
  });
});

describe('claims_to_headers', () => {
  it('carries texts, numbers and truth values as they are, the rest as JSON, and nothing that ends a line', async () => {
    const claims_to_headers = {
      email: 'X-Email',
      level: 'X-Level',
      admin: 'X-Admin',
      groups: 'X-Groups',
      nothing: 'X-Nothing',
      absent: 'X-Absent',
      evil: 'X-Evil',
      long: 'X-Long',
      constructor: 'X-Constructor',
    };
    const token = await sign({
      email: 'a@b.example',
      level: 3,
      admin: false,
      groups: ['x', 'y,z'],
      nothing: null,
      evil: 'a\r\nX-Headgate-Key-Id: 1\u0000',
      long: 'x'.repeat(5000),
    });
    const gateway = testGateway();
    const policy = gateway.compile(withSecret({ claims_to_headers }));
    const { evaluation } = await run(policy, testFacts(bearer(token)));
    expect(evaluation.caller.upstreamHeaderLines.split('\r\n')).toEqual([
      'X-Email: a@b.example',
      'X-Level: 3',
      'X-Admin: false',
      'X-Groups: ["x","y,z"]',
      'X-Evil: a%0D%0AX-Headgate-Key-Id: 1%00',
      '',
    ]);
    expect(policy.managedHeaders).toEqual(
      new Set(Object.values(claims_to_headers).map((name) => name.toLowerCase())),
    );
  });

  it('names the headers that clients must not send, with - for _', () => {
    const managed = testGateway().compile(
      withSecret({ claims_to_headers: { a: 'X_User_Id' } }),
    ).managedHeaders;
    expect(managed).toEqual(new Set(['x-user-id']));
    expect(testGateway().compile(withSecret()).managedHeaders).toBeUndefined();
  });
});

describe('attacks', () => {
  type Attack = [string, () => string | Promise<string>, (() => Policy)?];
  const withJwks = (): Policy => jwtPolicy({ jwks });
  const rs256 = (header: Record<string, unknown>, key = rsa.privateKey): Promise<string> =>
    sign({ sub: 'x' }, { alg: 'RS256', key, header });
  const own = async (): Promise<JWK> => exportJWK(rsaOther.publicKey);
  const valid = rawToken({ alg: 'HS256' }, { sub: 'x' });
  const [head = '', body = '', signature = ''] = valid.split('.');
  const flip = (text: string, at: number): string =>
    text.slice(0, at) + (text[at] === 'A' ? 'B' : 'A') + text.slice(at + 1);
  /** Another last character with the same bytes: the bits beyond them are not zero. */
  const stray = (text: string): string => {
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
    return text.slice(0, -1) + alphabet.charAt(alphabet.indexOf(text.slice(-1)) + 1);
  };

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
  function rawTokenOfBytes(payload: Buffer): string {
    const signed = `${b64({ alg: 'HS256' })}.${payload.toString('base64url')}`;
    return `${signed}.${createHmac('sha256', SECRET).update(signed).digest('base64url')}`;
  }

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

describe('keys and defaults', () => {
  const defaults = (values: Partial<JwtDefaults>): TestGateway =>
    testGateway({
      jwtDefaults: {
        issuer: undefined,
        audiences: [],
        jwksUri: undefined,
        secret: undefined,
        algorithms: [],
        leewaySecs: 0,
        ...values,
      },
    });

  it('without any keys every token is refused, and without one nothing else changes', async () => {
    const gateway = testGateway();
    expect((await judge(jwtPolicy(undefined), await sign({}), gateway)).denial?.code).toBe(
      'credentials_invalid',
    );
    expect((await run(gateway.compile(jwtPolicy(undefined)), testFacts())).denial?.code).toBe(
      'credentials_missing',
    );
  });

  it('come from the settings where the policy has none', async () => {
    const gateway = defaults({ secret: SECRET, issuer: 'i', audiences: ['a'], algorithms: ['HS384'] });
    const token = await sign({ iss: 'i', aud: 'a' }, { alg: 'HS384' });
    expect((await judge(jwtPolicy(undefined), token, gateway)).denial).toBeUndefined();
    expect((await judge(jwtPolicy({ issuer: 'other' }), token, gateway)).denial?.detail).toContain('issuer');
    expect((await judge(jwtPolicy({ audiences: ['b'] }), token, gateway)).denial?.detail).toContain(
      'audience',
    );
  });

  it("never mix: a policy's public keys do not inherit HMAC, nor its secret public-key algorithms", async () => {
    const symmetric = defaults({ secret: SECRET, algorithms: ['HS256'] });
    const hmac = rawToken({ alg: 'HS256' }, {});
    expect((await judge(jwtPolicy({ jwks }), hmac, symmetric)).denial?.detail).toContain('algorithm');
    const token = await sign({}, { alg: 'RS256', key: rsa.privateKey, header: { kid: 'rsa-1' } });
    expect((await judge(jwtPolicy({ jwks }), token, symmetric)).denial).toBeUndefined();
    const mixed = jwtPolicy({ jwks, algorithms: ['HS256'] });
    expect((await judge(mixed, hmac)).denial?.code).toBe('credentials_invalid');
  });
});

describe('optional JWTs', () => {
  const optional = jwtPolicy({ secret: SECRET }, { required: false });
  it('a token that does not hold is anonymous and does not go on', async () => {
    const { denial, evaluation } = await judge(optional, 'bad');
    expect(denial).toBeUndefined();
    expect(evaluation.caller.kind).toBe('anonymous');
    expect(evaluation.dropAuthorization).toBe(true);
    expect(evaluation.authFailure?.code).toBe('credentials_invalid');
  });

  it('in shadow mode it goes on as it came', async () => {
    const { denial, evaluation } = await judge({ ...withSecret(), shadow: ['auth'] }, 'bad');
    expect(denial).toBeUndefined();
    expect(evaluation.dropAuthorization).toBe(false);
    expect(evaluation.wouldDeny?.[0]?.denial.code).toBe('credentials_invalid');
  });
});

describe('remembered tokens', () => {
  it('are answered at once', async () => {
    const policy = testGateway().compile(withSecret());
    const facts = testFacts(bearer(await sign({ exp: NOW + 60 })));
    expect(evaluate(policy, facts, newEvaluation())).toBeInstanceOf(Promise);
    await run(policy, facts);
    expect(evaluate(policy, facts, newEvaluation())).toBeUndefined();
  });

  it('are remembered per settings: what one policy takes another may not', async () => {
    const gateway = testGateway();
    const token = await sign({ iss: 'a', aud: 'x' });
    const policies = ['a', 'b'].map((issuer) => gateway.compile(withSecret({ issuer })));
    const codes: (string | undefined)[] = [];
    for (let round = 0; round < 2; round++) {
      for (const policy of policies) {
        codes.push((await run(policy, testFacts(bearer(token)))).denial?.code);
      }
    }
    expect(codes).toEqual([undefined, 'credentials_invalid', undefined, 'credentials_invalid']);
  });

  it('are shared by policies with the same settings, whatever else those have', async () => {
    const gateway = testGateway();
    const facts = testFacts(bearer(await sign({ sub: 'x' })));
    await run(gateway.compile(withSecret()), facts);
    const strict = gateway.compile(jwtPolicy({ secret: SECRET }, { required_claims: ['email'] }));
    expect(evaluate(strict, facts, newEvaluation())).toMatchObject({ code: 'missing_claim' });
  });
});
