/** JWT authentication: accepted tokens and their effect. */
import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { exportJWK } from 'jose';
import { describe, expect, it } from 'vitest';
import type { JwtSettings } from '../schema.ts';
import type { JwtDefaults } from '../../../../model/auth/jwt-defaults.ts';
import { evaluate, newEvaluation } from '../../../evaluate.ts';
import { bearer, NOW_MS, run, testFacts, testGateway, type TestGateway } from '../../../test-fixtures.ts';
import {
  ec,
  judge,
  jwks,
  jwtPolicy,
  NOW,
  rawToken,
  rsa,
  rsaOther,
  SECRET,
  sign,
  withSecret,
} from '../../../test-jwts.ts';

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
    expect(evaluation.dropCredential).toBe(false);
  });

  it('is not forwarded if the policy forbids it', async () => {
    const policy = jwtPolicy({ secret: SECRET }, { forward_credentials: false });
    expect((await judge(policy, await sign({}))).evaluation.dropCredential).toBe(true);
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

  it('needs no kid: matching keys are tried', async () => {
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
    ['an exp that is a text', { ...good, exp: '9999999999' }, 'exp is not a number'],
    ['an exp that is null', { ...good, exp: null }, 'exp is not a number'],
    ['an nbf that is a list', { ...good, nbf: [] }, 'nbf is not a number'],
    ['an iat that is a text', { ...good, iat: 'now' }, 'iat is not a number'],
    ['an exp with a fraction', { ...good, exp: NOW + 0.5 }, undefined],
  ])('%s', async (_name, claims, reason) => {
    const { denial } = await judge(withSecret(settings), rawToken({ alg: 'HS256' }, claims));
    expect(denial?.code).toBe(reason === undefined ? undefined : 'credentials_invalid');
    expect(denial?.detail ?? '').toContain(reason ?? '');
    expect(denial?.headerLines.includes('error="invalid_token"')).toBe(
      reason === undefined ? undefined : true,
    );
  });

  it('a token expires exactly at its exp without leeway', async () => {
    const token = await sign({ exp: NOW + 1 });
    const gateway = testGateway();
    const policy = gateway.compile(withSecret());
    const at = async (nowMs: number): Promise<string | undefined> =>
      (await run(policy, testFacts(bearer(token), { nowMs }))).denial?.detail;
    expect(await at(NOW_MS + 999)).toBeUndefined();
    // The second time the token is cached, and still refused.
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
    const detail = `The token lacks the claim "${missing}"`;
    expect([denial?.code, denial?.detail]).toEqual(
      missing === undefined ? [undefined, undefined] : ['missing_claim', detail],
    );
    expect(gateway.outcomes).toEqual([missing === undefined ? 'jwt' : 'forbidden']);
  });

  it('names of Object.prototype are not claims', async () => {
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
  it('writes strings, numbers and booleans unchanged, the rest as JSON, and escapes line ends', async () => {
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

  it('names the headers that clients must not send, with - instead of _', () => {
    const managed = testGateway().compile(
      withSecret({ claims_to_headers: { a: 'X_User_Id' } }),
    ).managedHeaders;
    expect(managed).toEqual(new Set(['x-user-id']));
    expect(testGateway().compile(withSecret()).managedHeaders).toBeUndefined();
  });
});

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

describe('keys and defaults', () => {
  it('without any keys refuse every token, and change nothing for requests without a token', async () => {
    const gateway = testGateway();
    expect((await judge(jwtPolicy(undefined), await sign({}), gateway)).denial?.code).toBe(
      'credentials_invalid',
    );
    expect((await run(gateway.compile(jwtPolicy(undefined)), testFacts())).denial?.code).toBe(
      'credentials_missing',
    );
  });

  it('come from the settings if the policy has none', async () => {
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
  it('an invalid token is anonymous and is not forwarded', async () => {
    const { denial, evaluation } = await judge(optional, 'bad');
    expect(denial).toBeUndefined();
    expect(evaluation.caller.kind).toBe('anonymous');
    expect(evaluation.dropCredential).toBe(true);
    expect(evaluation.authFailure?.kind.code).toBe('credentials_invalid');
  });

  it('in shadow mode it is forwarded unchanged', async () => {
    const { denial, evaluation } = await judge({ ...withSecret(), shadow: ['auth'] }, 'bad');
    expect(denial).toBeUndefined();
    expect(evaluation.dropCredential).toBe(false);
    expect(evaluation.shadowDenials?.[0]?.denial.kind.code).toBe('credentials_invalid');
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

  it('are cached per settings: another policy may refuse the same token', async () => {
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

  it('are at most ten thousand, and the oldest is removed first', async () => {
    const policy = testGateway().compile(withSecret());
    const tokens = Array.from({ length: 10_001 }, (_, id) => rawToken({ alg: 'HS256' }, { sub: `${id}` }));
    const ask = (index: number) => evaluate(policy, testFacts(bearer(tokens[index] ?? '')), newEvaluation());
    for (let index = 0; index < 10_000; index++) expect(await ask(index)).toBeUndefined();
    expect(ask(0)).toBeUndefined();
    expect(await ask(10_000)).toBeUndefined();
    expect(ask(10_000)).toBeUndefined();
    expect(ask(0)).toBeInstanceOf(Promise);
  });

  it('are shared by policies with equal settings', async () => {
    const gateway = testGateway();
    const facts = testFacts(bearer(await sign({ sub: 'x' })));
    await run(gateway.compile(withSecret()), facts);
    const strict = gateway.compile(jwtPolicy({ secret: SECRET }, { required_claims: ['email'] }));
    expect(evaluate(strict, facts, newEvaluation())).toMatchObject({ kind: { code: 'missing_claim' } });
  });
});
