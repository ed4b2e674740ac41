/** API-key authentication through the compiled policy, as the proxy runs it. */
import { describe, expect, it } from 'vitest';
import type { Policy } from '../../registry.ts';
import type { StoredApiKey } from '../../../model/resources.ts';
import {
  bearer,
  NOW_MS,
  run,
  testApp,
  testFacts,
  testGateway,
  type TestGateway,
} from '../../test-fixtures.ts';

const REQUIRED: Policy = { auth: { auth_type: 'api_key' } };
const OPTIONAL: Policy = { auth: { auth_type: 'api_key', required: false } };
const AT = (ms: number): string => new Date(ms).toISOString();

function knownKey(
  gateway: TestGateway,
  fields: Partial<StoredApiKey>,
): { readonly token: string; readonly id: string } {
  const { token, key } = gateway.keys.create(fields);
  return { token, id: key.id };
}

/** A well-formed token that the directory does not have. */
function unknownToken(gateway: TestGateway): string {
  const { token, key } = gateway.keys.create();
  gateway.keys.remove(key);
  return token;
}

describe('API-key authentication', () => {
  it('identifies the caller, informs the upstream, and removes the key', async () => {
    const gateway = testGateway();
    const { token, key } = gateway.keys.create({ name: 'Büro\r\nX-Evil: 1', scopes: ['read', 'write'] });
    const { denial, evaluation } = await run(gateway.compile(REQUIRED), testFacts(bearer(token)));
    expect(denial).toBeUndefined();
    expect(evaluation.caller).toMatchObject({
      kind: 'api_key',
      id: key.id,
      scopes: new Set(['read', 'write']),
    });
    expect(evaluation.caller.upstreamHeaderLines).toBe(
      `X-Headgate-Key-Id: ${key.id}\r\nX-Headgate-Key-Name: B%C3%BCro%0D%0AX-Evil: 1\r\nX-Headgate-Scopes: read write\r\n`,
    );
    expect(evaluation.dropCredential).toBe(true);
    expect(gateway.outcomes).toEqual(['api_key']);
  });

  it('forwards the key with forward_credentials', async () => {
    const gateway = testGateway();
    const { token } = gateway.keys.create();
    const policy = gateway.compile({ auth: { auth_type: 'api_key', forward_credentials: true } });
    const { evaluation } = await run(policy, testFacts(bearer(token)));
    expect(evaluation.dropCredential).toBe(false);
  });

  it.each([['bearer'], ['BEARER'], ['Bearer'], ['bEaReR']])('accepts the scheme as %s', async (scheme) => {
    const gateway = testGateway();
    const { token } = gateway.keys.create();
    const facts = testFacts({ authorization: `${scheme} ${token}` });
    expect((await run(gateway.compile(REQUIRED), facts)).denial).toBeUndefined();
  });

  const absent: [string, Record<string, string>][] = [
    ['no header', {}],
    ['another scheme', { authorization: 'Basic dXNlcjpwYXNz' }],
    ['a scheme that only starts with Bearer', { authorization: 'Bearers abc' }],
    ['an empty header', { authorization: '' }],
    ['a truncated header', { authorization: 'Bear' }],
  ];
  it.each(absent)('%s: 401 without an error code when required', async (_name, headers) => {
    const gateway = testGateway();
    const { denial } = await run(gateway.compile(REQUIRED), testFacts(headers));
    expect(denial).toMatchObject({
      code: 'credentials_missing',
      headerLines: 'WWW-Authenticate: Bearer realm="billing"\r\n',
    });
    expect(gateway.outcomes).toEqual(['missing']);
  });
  it.each(absent)('%s: anonymous, with an unchanged header, when optional', async (_name, headers) => {
    const gateway = testGateway();
    const { denial, evaluation } = await run(gateway.compile(OPTIONAL), testFacts(headers));
    expect(denial).toBeUndefined();
    expect(evaluation.caller.kind).toBe('anonymous');
    expect(evaluation.dropCredential).toBe(false);
    expect(gateway.outcomes).toEqual(['anonymous']);
  });

  type Bad = [string, (gateway: TestGateway) => string, string];
  const bad: Bad[] = [
    [
      'mistyped',
      (g) => g.keys.create().token.replace(/.$/, (last) => (last === 'A' ? 'B' : 'A')),
      'mistyped',
    ],
    ['cut off', (g) => g.keys.create().token.slice(0, 30), 'mistyped'],
    ['followed by anything', (g) => `${g.keys.create().token} x`, 'mistyped'],
    ['an admin token', () => `hga_${'A'.repeat(49)}`, 'mistyped'],
    ['empty', () => '', 'mistyped'],
    ['unknown', unknownToken, 'not known'],
    ['of another app', (g) => g.keys.create({ app_id: 'app-other' }).token, 'another app'],
    ['disabled', (g) => g.keys.create({ is_active: false }).token, 'disabled'],
    ['expired this very moment', (g) => g.keys.create({ expires_at: AT(NOW_MS) }).token, 'expired'],
    ['with an expiry that cannot be read', (g) => g.keys.create({ expires_at: 'soon' }).token, 'expired'],
  ];
  it.each(bad)('a key that is %s: 401 invalid_token', async (_name, make, reason) => {
    const gateway = testGateway();
    const { denial, evaluation } = await run(gateway.compile(REQUIRED), testFacts(bearer(make(gateway))));
    expect(denial?.code).toBe('credentials_invalid');
    expect(denial?.detail).toContain(reason);
    expect(denial?.headerLines).toMatch(
      /^WWW-Authenticate: Bearer realm="billing", error="invalid_token", error_description="[^"\r\n]+"\r\n$/,
    );
    expect(evaluation.caller.kind).toBe('anonymous');
    expect(gateway.outcomes).toEqual(['rejected']);
  });

  it.each<[string, (gateway: TestGateway) => { readonly token: string; readonly id: string }]>([
    ['disabled', (g) => knownKey(g, { is_active: false })],
    ['expired', (g) => knownKey(g, { expires_at: AT(NOW_MS) })],
    ["another app's", (g) => knownKey(g, { app_id: 'app-other' })],
    ['unknown', (g) => ({ token: unknownToken(g), id: '' })],
  ])('a refused key that is %s is named in its counts, if it is known', async (_name, make) => {
    const gateway = testGateway();
    const { token, id } = make(gateway);
    const { evaluation } = await run(gateway.compile(REQUIRED), testFacts(bearer(token)));
    expect(evaluation.refusedKeyId).toBe(id);
  });

  describe('with more keys in use than the cache keeps', () => {
    const KEYS = 20_100;
    /** Most are not cached. */
    async function crowded(fields: Partial<StoredApiKey> = {}) {
      const gateway = testGateway();
      const policy = gateway.compile({ ...REQUIRED, required_scopes: ['read'] });
      const all = Array.from({ length: KEYS }, (_, index) =>
        gateway.keys.create(index > KEYS - 10 ? fields : {}),
      );
      const ask = (token: string, nowMs = NOW_MS) => run(policy, testFacts(bearer(token), { nowMs }));
      for (let round = 0; round < 2; round++) for (const { token } of all) await ask(token);
      const { token, key } = all.at(-1)!;
      return { gateway, all, ask, token, key };
    }

    it('each identifies its own caller', async () => {
      const { all, ask } = await crowded();
      for (const { token, key } of all) {
        const { denial, evaluation } = await ask(token);
        expect(denial).toBeUndefined();
        if (evaluation.caller.id !== key.id) expect(evaluation.caller.id).toBe(key.id);
      }
    });

    it('a change takes effect with the next request', async () => {
      const { gateway, ask, token, key } = await crowded();
      const other = gateway.keys.create();
      const changes: [Partial<StoredApiKey>, string | undefined][] = [
        [{ is_active: false }, 'disabled'],
        [{}, undefined],
        [{ expires_at: AT(NOW_MS) }, 'expired'],
        [{}, undefined],
        [{ scopes: ['write'] }, 'lacks the scope'],
        [{ app_id: 'app-other' }, 'another app'],
        [{}, undefined],
        [{ token_hash: other.key.token_hash, previous_token_hash: key.token_hash }, 'not known'],
      ];
      for (const [change, reason] of changes) {
        gateway.keys.put({ ...key, ...change });
        const { denial } = await ask(token);
        if (reason === undefined) expect(denial).toBeUndefined();
        else expect(denial?.detail).toContain(reason);
      }
      gateway.keys.put(key);
      expect((await ask(token)).denial).toBeUndefined();
      gateway.keys.remove(key);
      expect((await ask(token)).denial?.detail).toContain('not known');
    });

    it('the end of a key and of an overlap take effect without a change', async () => {
      const { gateway, all, ask, token } = await crowded({ expires_at: AT(NOW_MS + 1000) });
      expect((await ask(token, NOW_MS + 999)).denial).toBeUndefined();
      expect((await ask(token, NOW_MS + 1000)).denial?.detail).toContain('expired');
      const old = all[1]!;
      const { token_hash } = gateway.keys.create().key;
      const overlap = { previous_token_hash: old.key.token_hash, previous_expires_at: AT(NOW_MS + 500) };
      gateway.keys.put({ ...old.key, token_hash, ...overlap });
      expect((await ask(old.token, NOW_MS + 499)).denial).toBeUndefined();
      expect((await ask(old.token, NOW_MS + 500)).denial?.detail).toContain('expired');
    });

    it('a token that differs in one character is malformed', async () => {
      const { ask, token } = await crowded();
      for (let at = 4; at < token.length; at++) {
        const other = token[at] === 'A' ? 'B' : 'A';
        const { denial } = await ask(token.slice(0, at) + other + token.slice(at + 1));
        expect(denial?.detail).toContain('mistyped');
      }
    });
  });

  it('looks a key up twice, and again only after some key has changed', async () => {
    const gateway = testGateway();
    const { token, key } = gateway.keys.create();
    const policy = gateway.compile(REQUIRED);
    for (let count = 0; count < 5; count++) await run(policy, testFacts(bearer(token)));
    expect(gateway.keys.lookups).toBe(2);
    gateway.keys.remove(key);
    expect((await run(policy, testFacts(bearer(token)))).denial?.code).toBe('credentials_invalid');
  });

  it('refuses a disabled key with the next request', async () => {
    const gateway = testGateway();
    const { token, key } = gateway.keys.create();
    const policy = gateway.compile(REQUIRED);
    expect((await run(policy, testFacts(bearer(token)))).denial).toBeUndefined();
    gateway.keys.put({ ...key, is_active: false });
    expect((await run(policy, testFacts(bearer(token)))).denial?.detail).toContain('disabled');
  });

  it('checks the expiry of a cached key for every request', async () => {
    const gateway = testGateway();
    const { token } = gateway.keys.create({ expires_at: AT(NOW_MS + 1000) });
    const policy = gateway.compile(REQUIRED);
    expect((await run(policy, testFacts(bearer(token), { nowMs: NOW_MS + 999 }))).denial).toBeUndefined();
    expect((await run(policy, testFacts(bearer(token), { nowMs: NOW_MS + 1000 }))).denial?.detail).toContain(
      'expired',
    );
  });

  it('accepts the previous value of a rotated key until its overlap or the key ends', async () => {
    const gateway = testGateway();
    const old = gateway.keys.create();
    const present = gateway.keys.create({
      previous_token_hash: old.key.token_hash,
      previous_expires_at: AT(NOW_MS + 5000),
    });
    const policy = gateway.compile(REQUIRED);
    const verdict = async (token: string, afterMs: number): Promise<string | undefined> =>
      (await run(policy, testFacts(bearer(token), { nowMs: NOW_MS + afterMs }))).denial?.code;
    expect(await verdict(old.token, 4999)).toBeUndefined();
    expect(await verdict(old.token, 5000)).toBe('credentials_invalid');
    expect(await verdict(present.token, 5000)).toBeUndefined();
    gateway.keys.put({ ...present.key, expires_at: AT(NOW_MS + 1000) });
    expect(await verdict(old.token, 1000)).toBe('credentials_invalid');
    gateway.keys.put({ ...present.key, previous_expires_at: null });
    expect(await verdict(old.token, 0)).toBe('credentials_invalid');
  });

  it('optional: a bad key is anonymous, and neither key nor reason goes upstream', async () => {
    const gateway = testGateway();
    const { token } = gateway.keys.create({ is_active: false });
    const { denial, evaluation } = await run(gateway.compile(OPTIONAL), testFacts(bearer(token)));
    expect(denial).toBeUndefined();
    expect(evaluation.caller.upstreamHeaderLines).toBe('');
    expect(evaluation.dropCredential).toBe(true);
    expect(gateway.outcomes).toEqual(['ignored']);
  });

  it("optional: a bearer token that is no API key is the upstream's", async () => {
    const gateway = testGateway();
    const { denial, evaluation } = await run(gateway.compile(OPTIONAL), testFacts(bearer('something.else')));
    expect(denial).toBeUndefined();
    expect(evaluation.dropCredential).toBe(false);
    expect(gateway.outcomes).toEqual(['anonymous']);
  });

  it('has no stage without auth, or with auth_type none', () => {
    const gateway = testGateway();
    expect(gateway.compile({}).stages).toEqual([]);
    expect(gateway.compile({ auth: { auth_type: 'none' }, required_scopes: [] }).stages).toEqual([]);
  });
});

describe('the order of stages', () => {
  it('is guard, authentication, scopes, methods, limits', () => {
    const gateway = testGateway({
      authFailuresPerMinute: 5,
      perIp: { requests: 5, windowSecs: 60 },
      globals: { requests: 5, windowSeconds: 60 },
    });
    const policy: Policy = { ...REQUIRED, required_scopes: ['read'], allowed_methods: ['GET'] };
    expect(gateway.compile(policy).stages.map((stage) => stage.part)).toEqual([
      'auth_guard',
      'auth',
      'required_scopes',
      'allowed_methods',
      'rate_limit',
    ]);
  });

  it('lets the first denial answer', async () => {
    const gateway = testGateway();
    const { token } = gateway.keys.create({ scopes: [] });
    const compiled = gateway.compile({ ...REQUIRED, required_scopes: ['read'], allowed_methods: ['GET'] });
    const post = { method: 'POST' };
    expect((await run(compiled, testFacts({}, post))).denial?.code).toBe('credentials_missing');
    expect((await run(compiled, testFacts(bearer(token), post))).denial?.code).toBe('insufficient_scope');
  });
});

describe('the guard against guessing', () => {
  const BAD = bearer('hgk_guess');
  it('refuses an address that has used up its failures, right key or not, until the minute is over', async () => {
    const gateway = testGateway({ authFailuresPerMinute: 3 });
    const { token } = gateway.keys.create();
    const compiled = gateway.compile(REQUIRED);
    const code = async (facts: ReturnType<typeof testFacts>): Promise<string | undefined> =>
      (await run(compiled, facts)).denial?.code;
    for (let count = 0; count < 3; count++) {
      expect(await code(testFacts(BAD))).toBe('credentials_invalid');
    }
    const { denial } = await run(compiled, testFacts(bearer(token), { nowMs: NOW_MS + 20_000 }));
    expect(denial).toMatchObject({ code: 'too_many_auth_failures', headerLines: 'Retry-After: 40\r\n' });
    expect(gateway.outcomes.at(-1)).toBe('throttled');
    expect(await code(testFacts(bearer(token), { clientIp: '192.0.2.2' }))).toBeUndefined();
    expect(await code(testFacts(bearer(token), { nowMs: NOW_MS + 60_000 }))).toBeUndefined();
  });

  it('counts bad optional credentials, but not missing ones', async () => {
    const gateway = testGateway({ authFailuresPerMinute: 1 });
    const optional = gateway.compile(OPTIONAL);
    const required = gateway.compile(REQUIRED);
    for (let count = 0; count < 5; count++) await run(required, testFacts());
    expect((await run(optional, testFacts(BAD))).denial).toBeUndefined();
    expect((await run(optional, testFacts(BAD))).denial?.code).toBe('too_many_auth_failures');
  });

  it('does not exist while authentication is in shadow mode', () => {
    const gateway = testGateway({ authFailuresPerMinute: 1 });
    const parts = gateway.compile({ ...REQUIRED, shadow: ['auth'] }).stages.map((stage) => stage.part);
    expect(parts).toEqual(['auth', 'rate_limit']);
  });
});

describe('shadow mode', () => {
  it('records every part that would have denied and lets the request pass', async () => {
    const gateway = testGateway();
    const { token } = gateway.keys.create({ scopes: [] });
    const compiled = gateway.compile({
      ...REQUIRED,
      required_scopes: ['read'],
      allowed_methods: ['GET'],
      shadow: ['required_scopes', 'allowed_methods'],
    });
    const { denial, evaluation } = await run(compiled, testFacts(bearer(token), { method: 'POST' }));
    expect(denial).toBeUndefined();
    expect(evaluation.shadowDenials?.map((entry) => [entry.part, entry.denial.kind.code])).toEqual([
      ['required_scopes', 'insufficient_scope'],
      ['allowed_methods', 'method_not_allowed'],
    ]);
    expect((await run(compiled, testFacts())).denial?.code).toBe('credentials_missing');
  });

  it('of authentication leaves the request unchanged except for API keys', async () => {
    const gateway = testGateway();
    const compiled = gateway.compile({ ...REQUIRED, shadow: ['auth'] });
    const foreign = await run(compiled, testFacts(bearer('something-else')));
    expect(foreign.denial).toBeUndefined();
    expect(foreign.evaluation.shadowDenials?.[0]?.denial.kind.code).toBe('credentials_invalid');
    expect(foreign.evaluation.dropCredential).toBe(false);
    const { token } = gateway.keys.create({ app_id: testApp('other').id });
    expect((await run(compiled, testFacts(bearer(token)))).evaluation.dropCredential).toBe(true);
  });
});
