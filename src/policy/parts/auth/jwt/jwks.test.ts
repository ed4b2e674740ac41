/** Key sets by URL, from a real server on loopback: caching, rotation, outage, storms of unknown key ids. */
import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, SignJWT, type JWK } from 'jose';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { evaluate, newEvaluation } from '../../../evaluate.ts';
import { REFRESH_AHEAD_MS, RETRY_MS, TTL_MS } from './jwks.ts';
import type { CompiledPolicy } from '../../../stage.ts';
import { bearer, run, testFacts, testGateway, type TestGateway } from '../../../test-fixtures.ts';

interface SigningKey {
  readonly privateKey: KeyObject;
  readonly jwk: JWK;
}
async function signingKey(kid: string): Promise<SigningKey> {
  const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return { privateKey: pair.privateKey, jwk: { ...(await exportJWK(pair.publicKey)), kid } };
}
const tokenOf = (key: SigningKey, kid = key.jwk.kid): Promise<string> =>
  new SignJWT({ sub: 'x' })
    .setProtectedHeader({ alg: 'ES256', ...(kid === undefined ? {} : { kid }) })
    .sign(key.privateKey);

/** The key server of a test; `respond` is its current behaviour. */
let server: Server;
let uri: string;
let fetches = 0;
let respond: RequestListener;
let gateway: TestGateway;
let policy: CompiledPolicy;

const serve = (...keys: SigningKey[]): RequestListener => {
  const body = JSON.stringify({ keys: keys.map((key) => key.jwk) });
  return (_request, response) => response.end(body);
};
const status =
  (code: number): RequestListener =>
  (_request, response) =>
    response.writeHead(code).end();

beforeEach(async () => {
  fetches = 0;
  server = createServer((request, response) => {
    fetches++;
    respond(request, response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  uri = `http://127.0.0.1:${(server.address() as AddressInfo).port}/jwks`;
  gateway = testGateway();
  policy = gateway.compile({ auth: { auth_type: 'jwt', jwt: { jwks_uri: uri } } });
});
afterEach(async () => {
  server.close();
  server.closeAllConnections();
  if (server.listening) await once(server, 'close');
});

async function reason(token: string): Promise<string | undefined> {
  return (await run(policy, testFacts(bearer(token)))).denial?.detail;
}

/** Waits for a condition that changes in the background. */
async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setImmediate(resolve));
}

describe('keys by URL', () => {
  it('are fetched once, on first use, for simultaneous requests', async () => {
    const key = await signingKey('a');
    respond = serve(key);
    const token = await tokenOf(key);
    expect(fetches).toBe(0);
    const reasons = await Promise.all(Array.from({ length: 50 }, () => reason(token)));
    expect(reasons.every((text) => text === undefined)).toBe(true);
    expect(fetches).toBe(1);
  });

  it('are shared by all policies with the same URL', async () => {
    const key = await signingKey('a');
    respond = serve(key);
    const other = gateway.compile({ auth: { auth_type: 'jwt', jwt: { jwks_uri: uri, leeway_secs: 5 } } });
    const token = await tokenOf(key);
    expect(await reason(token)).toBeUndefined();
    expect((await run(other, testFacts(bearer(token)))).denial).toBeUndefined();
    expect(fetches).toBe(1);
  });

  it('are not fetched for a token that cannot be one', async () => {
    respond = status(500);
    await run(policy, testFacts());
    expect(fetches).toBe(0);
  });

  it('are refreshed ahead of time, in the background', async () => {
    const key = await signingKey('a');
    respond = serve(key);
    const facts = testFacts(bearer(await tokenOf(key)));
    await run(policy, facts);
    gateway.time.monotonicMs += REFRESH_AHEAD_MS;
    expect(evaluate(policy, facts, newEvaluation())).toBeUndefined();
    await until(() => fetches === 2);
  });

  it('are awaited when they are too old, and a token whose key is gone is refused', async () => {
    const [old, fresh] = [await signingKey('a'), await signingKey('b')];
    respond = serve(old);
    const token = await tokenOf(old);
    expect(await reason(token)).toBeUndefined();
    respond = serve(fresh);
    gateway.time.monotonicMs += TTL_MS;
    expect(await reason(token)).toContain('unknown key');
    expect(await reason(await tokenOf(fresh))).toBeUndefined();
    expect(fetches).toBe(2);
  });

  it('keep cached tokens if the set is unchanged', async () => {
    const key = await signingKey('a');
    respond = serve(key);
    const facts = testFacts(bearer(await tokenOf(key)));
    await run(policy, facts);
    gateway.time.monotonicMs += TTL_MS;
    expect((await run(policy, facts)).denial).toBeUndefined();
    expect(fetches).toBe(2);
    expect(evaluate(policy, facts, newEvaluation())).toBeUndefined();
  });
});

describe('rotation', () => {
  it('is noticed by an unknown key id, at once', async () => {
    const [old, fresh] = [await signingKey('a'), await signingKey('b')];
    respond = serve(old);
    expect(await reason(await tokenOf(old))).toBeUndefined();
    respond = serve(old, fresh);
    gateway.time.monotonicMs += RETRY_MS;
    expect(await reason(await tokenOf(fresh))).toBeUndefined();
    expect(fetches).toBe(2);
  });

  it.each([
    ['another key under the same key id', 'a'],
    ['another key without a key id', undefined],
  ])('is noticed by a signature of %s, at once', async (_name, kid) => {
    const keyOf = async (): Promise<SigningKey> => {
      const { privateKey, jwk } = await signingKey('a');
      const { kid: _, ...others } = jwk;
      return { privateKey, jwk: kid === undefined ? others : { ...others, kid } };
    };
    const [old, fresh] = [await keyOf(), await keyOf()];
    respond = serve(old);
    expect(await reason(await tokenOf(old))).toBeUndefined();
    respond = serve(fresh);
    gateway.time.monotonicMs += RETRY_MS;
    expect(await reason(await tokenOf(fresh))).toBeUndefined();
    expect(await reason(await tokenOf(old))).toContain('signature');
    expect(fetches).toBe(2);
  });

  it('under the same key id: the token signed with the old key is refused after the refresh', async () => {
    const [old, fresh] = [await signingKey('a'), await signingKey('a')];
    respond = serve(old);
    const token = await tokenOf(old);
    expect(await reason(token)).toBeUndefined();
    respond = serve(fresh);
    gateway.time.monotonicMs += TTL_MS;
    expect(await reason(token)).toContain('signature');
  });

  it('to an empty set refuses everything', async () => {
    const key = await signingKey('a');
    respond = serve(key);
    const token = await tokenOf(key);
    expect(await reason(token)).toBeUndefined();
    respond = serve();
    gateway.time.monotonicMs += TTL_MS;
    expect(await reason(token)).toContain('unknown key');
  });
});

describe('a storm', () => {
  it.each([
    ['unknown key ids', 'unknown key', (index: number) => `no-${index}`],
    ['forged signatures', 'signature', () => 'a'],
  ])('of %s costs one fetch per interval, and other tokens do not wait', async (_name, refusal, kidOf) => {
    const [key, other] = [await signingKey('a'), await signingKey('b')];
    respond = serve(key);
    const facts = testFacts(bearer(await tokenOf(key)));
    await run(policy, facts);
    const bad = await Promise.all(Array.from({ length: 20 }, (_, index) => tokenOf(other, kidOf(index))));
    const storm = async (): Promise<void> => {
      const reasons = await Promise.all(bad.map((token) => reason(token)));
      expect(reasons.every((text) => text?.includes(refusal))).toBe(true);
    };
    await storm();
    expect(fetches).toBe(1);
    gateway.time.monotonicMs += RETRY_MS;
    // The key server hangs: the storm waits for it, other requests do not.
    let release: (() => void) | undefined;
    respond = (request, response) => {
      release = () => serve(key)(request, response);
    };
    const waiting = storm();
    await until(() => release !== undefined);
    expect(evaluate(policy, facts, newEvaluation())).toBeUndefined();
    release?.();
    await waiting;
    await storm();
    expect(fetches).toBe(2);
  });
});

describe('many key sets of others', () => {
  const jwk = { kty: 'EC', crv: 'P-256', x: 'x', y: 'y' };
  const large = JSON.stringify({ keys: Array.from({ length: 500 }, (_, n) => ({ ...jwk, kid: `k${n}` })) });

  /** A policy for each of so many key sets, which `answer` serves; the key of `/jwks` is good. */
  async function policies(count: number, answer: RequestListener) {
    const key = await signingKey('good');
    respond = (request, response) => {
      if (request.url === '/jwks') serve(key)(request, response);
      else answer(request, response);
    };
    const others = Array.from({ length: count }, (_, n) =>
      gateway.compile({ auth: { auth_type: 'jwt', jwt: { jwks_uri: `${uri}/${n}` } } }),
    );
    return { others, good: await tokenOf(key) };
  }

  it('that are large are refused, and a small one has room', async () => {
    const { others, good } = await policies(30, (_request, response) => response.end(large));
    const facts = testFacts(bearer(await tokenOf(await signingKey('other'))));
    const details: string[] = [];
    for (const other of others) details.push((await run(other, facts)).denial?.detail ?? '');
    const refused = details.filter((text) => text.includes('No key set'));
    expect(refused.length).toBeGreaterThan(10);
    expect(refused.length).toBeLessThan(30);
    expect(gateway.jwksFailures).toHaveLength(refused.length);
    expect(gateway.jwksFailures.at(-1)).toMatch(
      /^http:.*\/29: all key sets of a worker together may take 64 MiB, and this one is the largest$/,
    );
    expect(await reason(good)).toBeUndefined();
  });

  it('make room when they are no longer used, without a word', async () => {
    const { others } = await policies(22, (_request, response) => response.end(large));
    const facts = testFacts(bearer(await tokenOf(await signingKey('other'))));
    for (const other of others.slice(0, 11)) await run(other, facts);
    gateway.time.monotonicMs += TTL_MS;
    for (const other of others.slice(11)) await run(other, facts);
    expect(gateway.jwksFailures).toEqual([]);
  });

  it('that are large only because of other members than keys are kept without these', async () => {
    const key = await signingKey('padded');
    const padded = JSON.stringify({
      keys: [{ ...key.jwk, x5c: ['c'.repeat(900_000)] }],
      more: 'm'.repeat(90_000),
    });
    const { others } = await policies(80, (_request, response) => response.end(padded));
    const facts = testFacts(bearer(await tokenOf(key)));
    for (const other of others) expect((await run(other, facts)).denial).toBeUndefined();
    expect(gateway.jwksFailures).toEqual([]);
  });

  it('that hang half-way take no room for good', async () => {
    let hanging = 0;
    const { others, good } = await policies(80, (_request, response) => {
      response.write('x'.repeat(1_000_000));
      hanging++;
    });
    const facts = testFacts(bearer(await tokenOf(await signingKey('other'))));
    const runs = others.map((other) => run(other, facts));
    // On a busy machine, some of them may have timed out before the memory was full.
    const isFull = (): boolean =>
      gateway.jwksFailures.some((text) => text.includes('together may take 64 MiB'));
    await until(() => hanging === 80 && isFull());
    expect(await reason(good)).toBeUndefined();
    await Promise.all(runs);
  }, 30_000);
});

describe('a key that is not used', () => {
  it.each<[string, object, string]>([
    ['private', { d: 'secret' }, 'is a private key'],
    ['malformed', { kid: { deep: [] } }, 'a member kid that is not a string'],
    ['for what is no list', { key_ops: 'verify' }, 'key_ops that is not a list of strings'],
  ])('since it is %s is named in the log', async (_name, change, text) => {
    const [key, good] = [await signingKey('bad'), await signingKey('good')];
    const keys = [{ ...key.jwk, ...change }, good.jwk];
    respond = (_request, response) => response.end(JSON.stringify({ keys }));
    expect(await reason(await tokenOf(key, 'bad'))).toContain('unknown key');
    expect(await reason(await tokenOf(good))).toBeUndefined();
    expect(gateway.jwksFailures).toHaveLength(1);
    expect(gateway.jwksFailures[0]).toContain(text);
    expect(gateway.jwksFailures[0]).not.toContain('secret');
  });

  it('does not include a key whose members without a value are null', async () => {
    const key = await signingKey('bare');
    respond = (_request, response) =>
      response.end(JSON.stringify({ keys: [{ ...key.jwk, x5u: null, use: null }] }));
    expect(await reason(await tokenOf(key))).toBeUndefined();
    expect(gateway.jwksFailures).toEqual([]);
  });

  it('is one of the few that are named, however many there are', async () => {
    const keys = Array.from({ length: 500 }, (_, n) => ({ kty: 'RSA', n: 'AQAB', e: 'AQAB', kid: `k${n}` }));
    respond = (_request, response) => response.end(JSON.stringify({ keys }));
    await reason(await tokenOf(await signingKey('x')));
    expect(gateway.jwksFailures).toHaveLength(10);
    expect(gateway.jwksFailures[0]).toContain('one of 500 unused keys');
  });
});

describe('an outage of the key server', () => {
  const failures: [string, RequestListener][] = [
    ['answers 500', status(500)],
    ['answers 404', status(404)],
    ['redirects', (_request, response) => response.writeHead(302, { location: '/other' }).end()],
    ['resets', (request) => request.socket.destroy()],
    ['sends something else', (_request, response) => response.end('<html>')],
    ['sends null', (_request, response) => response.end('null')],
    ['sends keys that are no list', (_request, response) => response.end('{"keys":{}}')],
    ['sends keys that are no objects', (_request, response) => response.end('{"keys":[1]}')],
    [
      'sends too many keys',
      (_request, response) => response.end(JSON.stringify({ keys: Array.from({ length: 501 }, () => ({})) })),
    ],
    [
      'sends without end',
      (_request, response) => {
        const more = (): void => {
          while (!response.destroyed && response.write(' '.repeat(65_536)));
        };
        response.on('drain', more);
        more();
      },
    ],
  ];
  it.each(failures)(
    'that %s keeps the last good keys and is not repeated at once',
    async (_name, failure) => {
      const key = await signingKey('a');
      respond = serve(key);
      const token = await tokenOf(key);
      expect(await reason(token)).toBeUndefined();
      respond = failure;
      gateway.time.monotonicMs += TTL_MS;
      expect(await reason(token)).toBeUndefined();
      expect(await reason(await tokenOf(key))).toBeUndefined();
      expect(fetches).toBe(2);
      expect(gateway.jwksFailures).toHaveLength(1);
      expect(gateway.jwksFailures[0]).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/jwks: .+/);
      gateway.time.monotonicMs += RETRY_MS;
      respond = serve(key);
      expect(await reason(token)).toBeUndefined();
      await until(() => fetches === 3);
    },
  );

  it('in which the server hangs delays only one request; then the last good keys are used at once', async () => {
    const key = await signingKey('a');
    respond = serve(key);
    const facts = testFacts(bearer(await tokenOf(key)));
    await run(policy, facts);
    respond = () => undefined;
    gateway.time.monotonicMs += TTL_MS;
    expect((await run(policy, facts)).denial).toBeUndefined();
    expect([fetches, gateway.jwksFailures.length]).toEqual([2, 1]);
    respond = serve();
    gateway.time.monotonicMs += RETRY_MS;
    expect(evaluate(policy, facts, newEvaluation()), 'no promise: nothing is waited for').toBeUndefined();
    await until(() => evaluate(policy, facts, newEvaluation()) instanceof Promise);
    expect(await reason(await tokenOf(key))).toContain('unknown key');
  }, 30_000);

  it('from the start refuses every token until it ends', async () => {
    const key = await signingKey('a');
    const token = await tokenOf(key);
    respond = status(503);
    expect(await reason(token)).toContain('No key set');
    expect(await reason(token)).toContain('No key set');
    expect(fetches).toBe(1);
    respond = serve(key);
    gateway.time.monotonicMs += RETRY_MS;
    expect(await reason(token)).toBeUndefined();
  });

  it('without any server refuses every token', async () => {
    server.close();
    await once(server, 'close');
    expect(await reason(await tokenOf(await signingKey('a')))).toContain('No key set');
    expect(gateway.jwksFailures[0]).toContain('ECONNREFUSED');
  });

  it('is logged without user information and query', async () => {
    const secretive = gateway.compile({
      auth: { auth_type: 'jwt', jwt: { jwks_uri: uri.replace('//', '//user:pass@') + '?key=1' } },
    });
    await run(secretive, testFacts(bearer(await tokenOf(await signingKey('a')))));
    expect(gateway.jwksFailures).toHaveLength(1);
    expect(gateway.jwksFailures).toEqual([`${uri}: the URL cannot be used`]);
    expect(fetches).toBe(0);
  });

  it('a fetch from a key server that never answers times out', { timeout: 15_000 }, async () => {
    respond = () => undefined;
    expect(await reason(await tokenOf(await signingKey('a')))).toContain('No key set');
    expect(gateway.jwksFailures[0]).toMatch(/timeout|aborted/i);
  });
});
