/** A provider that lies: ID tokens that must not be believed, answers without end, and claims of every shape. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, exportSPKI, generateKeyPair, SignJWT, type JWTPayload } from 'jose';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { OidcSettings } from './oidc-client.ts';
import { startManagement, type Fixture, type Json } from '../../management.fixture.ts';
import { returnPath } from './return-path.ts';

const START = '/api/v1/session/oidc/start';
const CALLBACK = '/api/v1/session/oidc/callback';
const CLIENT = 'headgate';

type Pair = Awaited<ReturnType<typeof generateKeyPair>>;

let server: Server;
let issuer: string;
let api: Fixture;
let keys: Pair;
let others: Pair;
/** What the token endpoint does in this test. */
let answer: (nonce: string, response: ServerResponse, request: IncomingMessage) => Promise<void>;
let nonce = '';
let tokenCalls = 0;

const nowSecs = (): number => Math.floor(Date.now() / 1_000);
const claimsOf = (fields: object = {}): JWTPayload => ({
  iss: issuer,
  aud: CLIENT,
  sub: 'ada',
  iat: nowSecs(),
  exp: nowSecs() + 300,
  nonce,
  groups: ['ops'],
  ...fields,
});
const signed = (claims: JWTPayload, key: Pair['privateKey'] | Uint8Array = keys.privateKey, alg = 'RS256') =>
  new SignJWT(claims).setProtectedHeader({ alg, kid: 'one' }).sign(key);
const encoded = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');

function sendJson(response: ServerResponse, value: object): void {
  response.setHeader('content-type', 'application/json').end(JSON.stringify(value));
}
const sendToken = (response: ServerResponse, idToken: string): void =>
  sendJson(response, { access_token: 'a', token_type: 'Bearer', expires_in: 60, id_token: idToken });

beforeAll(async () => {
  [keys, others] = await Promise.all([generateKeyPair('RS256'), generateKeyPair('RS256')]);
  const jwk = { ...(await exportJWK(keys.publicKey)), kid: 'one', alg: 'RS256', use: 'sig' };
  server = createServer((request, response) => {
    if (request.url === '/.well-known/openid-configuration') {
      sendJson(response, {
        issuer,
        authorization_endpoint: `${issuer}/authorize`,
        token_endpoint: `${issuer}/token`,
        jwks_uri: `${issuer}/jwks`,
        response_types_supported: ['code'],
        subject_types_supported: ['public'],
        // All that a careless or hostile provider may offer.
        id_token_signing_alg_values_supported: ['none', 'HS256', 'RS256'],
      });
    } else if (request.url === '/jwks') sendJson(response, { keys: [jwk] });
    else {
      tokenCalls += 1;
      void answer(nonce, response, request);
    }
  }).listen(0, '127.0.0.1');
  await new Promise((done) => server.once('listening', done));
  issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  api = await startManagement({ oidc: oidcSettings() });
});

const oidcSettings = (): OidcSettings => ({
  issuer,
  clientId: CLIENT,
  clientSecret: 'a-client-secret-of-some-length-for-the-tests',
  name: 'Liar',
  redirectUrl: undefined,
  scopes: ['openid'],
  groupsClaim: 'groups',
  roles: [
    { group: 'staff', role: 'viewer' },
    { group: 'ops', role: 'editor' },
  ],
});
afterAll(async () => {
  await api[Symbol.asyncDispose]();
  server.closeAllConnections();
  await new Promise((done) => server.close(done));
});
beforeEach(async () => {
  await api.reset();
  tokenCalls = 0;
});

interface Begun {
  readonly cookie: string;
  readonly state: string;
}

async function begin(at = api.url): Promise<Begun> {
  const start = await fetch(at + START, { redirect: 'manual' });
  const asked = new URL(start.headers.get('location') ?? '').searchParams;
  nonce = asked.get('nonce') ?? '';
  return {
    cookie: (start.headers.get('set-cookie') ?? '').split(';', 1)[0] ?? '',
    state: asked.get('state') ?? '',
  };
}

const comeBack = ({ cookie, state }: Begun, code = 'code', at = api.url): Promise<Response> =>
  fetch(`${at}${CALLBACK}?code=${code}&state=${state}`, { headers: { cookie } });

async function outcome(response: Response): Promise<string> {
  const text = await response.text();
  const session = response.headers.getSetCookie().some((line) => line.startsWith('headgate_session='));
  if (response.ok) return session ? 'signed in' : 'no session';
  const problem: Json = JSON.parse(text);
  expect(session).toBe(false);
  expect(text).not.toContain('a-client-secret');
  return `${response.status} ${problem.code}`;
}

async function enterWith(make: () => Promise<string> | string): Promise<string> {
  answer = async (_nonce, response) => sendToken(response, await make());
  return outcome(await comeBack(await begin()));
}

describe('an ID token', () => {
  test('that is right lets the browser in once, and not a second time', async () => {
    answer = async (_nonce, response) => sendToken(response, await signed(claimsOf()));
    const begun = await begin();
    const first = await comeBack(begun);
    expect(first.headers.getSetCookie()[0]).toMatch(/^headgate_oidc=; .*Max-Age=0/);
    expect(await outcome(first)).toBe('signed in');
    expect(await outcome(await comeBack({ ...begun, cookie: 'headgate_oidc=' }))).toBe('400 sign_in_failed');
    expect(tokenCalls).toBe(1);
  });

  test('of another signature, person, time or place is not believed', async () => {
    const hmac = new TextEncoder().encode(await exportSPKI(keys.publicKey));
    const wrong: Readonly<Record<string, () => Promise<string> | string>> = {
      'another nonce': () => signed(claimsOf({ nonce: 'x' })),
      'no nonce': () => signed(claimsOf({ nonce: undefined })),
      'alg none': () => `${encoded({ alg: 'none' })}.${encoded(claimsOf())}.`,
      'signed with the public key as a secret': () => signed(claimsOf(), hmac, 'HS256'),
      'another key': () => signed(claimsOf(), others.privateKey),
      expired: () => signed(claimsOf({ iat: nowSecs() - 900, exp: nowSecs() - 600 })),
      'without an end': () => signed(claimsOf({ exp: undefined })),
      'of another audience': () => signed(claimsOf({ aud: 'another' })),
      'of two audiences, for another': () => signed(claimsOf({ aud: [CLIENT, 'x'], azp: 'x' })),
      'of another issuer': () => signed(claimsOf({ iss: 'http://evil.example' })),
      'of no one': () => signed(claimsOf({ sub: undefined })),
      'no token at all': () => 'x',
      'changed after it was signed': async () => {
        const [head, , signature] = (await signed(claimsOf())).split('.');
        return `${head}.${encoded(claimsOf({ sub: 'eve' }))}.${signature}`;
      },
    };
    const seen: Record<string, string> = {};
    for (const [name, make] of Object.entries(wrong)) seen[name] = await enterWith(make);
    const refused = Object.keys(wrong).map((name) => [name, '502 identity_provider_failed']);
    expect(seen).toEqual(Object.fromEntries(refused));
    expect((await api.get('/sessions')).body.data).toEqual([]);
  });
});

describe('groups', () => {
  const NONE = '403 sign_in_forbidden';
  test.each([
    ['missing', undefined, NONE],
    ['null', null, NONE],
    ['an object', { ops: true }, NONE],
    ['a number', 7, NONE],
    ['a list of other things', [1, null, ['ops'], { a: 'ops' }], NONE],
    ['the name with another case', ['OPS'], NONE],
    ['one text', 'ops', 'signed in'],
    [
      'ten thousand, the last of which counts',
      [...Array.from({ length: 9_999 }, (_, n) => `g${n}`), 'ops'],
      'signed in',
    ],
    ['one ten thousand times', Array.from({ length: 10_000 }, () => 'staff'), 'signed in'],
  ])('%s', async (_name, groups, expected) => {
    expect(await enterWith(() => signed(claimsOf({ groups })))).toBe(expected);
  });

  test('that were taken from a person let in no more', async () => {
    expect(await enterWith(() => signed(claimsOf()))).toBe('signed in');
    expect(await enterWith(() => signed(claimsOf({ groups: [] })))).toBe(NONE);
  });
});

describe('the provider', () => {
  test('that sends a gigabyte is cut off at once', async () => {
    const part = Buffer.alloc(1_048_576, 0x20);
    let sent = 0;
    answer = async (_nonce, response) => {
      response.setHeader('content-type', 'application/json');
      const more = (): void => {
        while (!response.destroyed && sent < 1_024) {
          sent += 1;
          if (!response.write(part)) return void response.once('drain', more);
        }
        response.end();
      };
      more();
    };
    expect(await outcome(await comeBack(await begin()))).toBe('502 identity_provider_failed');
    expect(sent).toBeLessThan(64);
  });

  test('that does not answer the code holds the browser up for some seconds only', async () => {
    answer = () => new Promise<void>(() => undefined);
    const startedMs = performance.now();
    expect(await outcome(await comeBack(await begin()))).toBe('502 identity_provider_failed');
    expect(performance.now() - startedMs).toBeLessThan(10_000);
  });
});

test('a provider that knows the client by one of the two methods only, or by none', async () => {
  await using own = await startManagement({ oidc: oidcSettings() });
  const seen: string[] = [];
  let taken = 'body';
  answer = async (_nonce, response, request) => {
    let body = '';
    for await (const part of request) body += String(part);
    const isInBody = new URLSearchParams(body).has('client_secret');
    const method = isInBody ? 'body' : (request.headers.authorization?.split(' ')[0] ?? 'none');
    seen.push(method);
    if (method === taken) return sendToken(response, await signed(claimsOf()));
    response.writeHead(401, {
      'www-authenticate': 'Basic realm="provider"',
      'content-type': 'application/json',
    });
    response.end('{"error":"invalid_client"}');
  };
  const enter = async (): Promise<string> => outcome(await comeBack(await begin(own.url), 'code', own.url));
  expect([await enter(), await enter()]).toEqual(['signed in', 'signed in']);
  taken = 'Basic';
  expect([await enter(), await enter()]).toEqual(['signed in', 'signed in']);
  expect(seen).toEqual(['Basic', 'body', 'body', 'body', 'Basic', 'Basic']);
  seen.length = 0;
  taken = 'neither';
  expect(await enter()).toBe('502 identity_provider_failed');
  expect(seen).toEqual(['Basic', 'body']);
});

test('guessed codes of one address reach the provider a few times a minute, and lock out no other', async () => {
  const settings = { authFailuresPerMinute: 3, isTrustedProxy: () => true, oidc: oidcSettings() };
  await using own = await startManagement(settings);
  const guess = async (address: string): Promise<Response> => {
    const start = await fetch(own.url + START, { redirect: 'manual' });
    const asked = new URL(start.headers.get('location') ?? '').searchParams;
    nonce = asked.get('nonce') ?? '';
    const cookie = (start.headers.get('set-cookie') ?? '').split(';', 1)[0] ?? '';
    const headers = { cookie, 'x-forwarded-for': address };
    return fetch(`${own.url}${CALLBACK}?code=x&state=${asked.get('state')}`, { headers });
  };
  answer = async (_nonce, response) => void response.writeHead(400).end();
  for (let count = 0; count < 3; count += 1)
    expect(await outcome(await guess('198.51.100.7'))).toBe('502 identity_provider_failed');
  const refused = await guess('198.51.100.7');
  expect(refused.headers.get('retry-after')).toBe('20');
  expect(await outcome(refused)).toBe('429 too_many_auth_failures');
  expect(tokenCalls).toBe(3);
  answer = async (_nonce, response) => sendToken(response, await signed(claimsOf()));
  expect(await outcome(await guess('198.51.100.8'))).toBe('signed in');
  own.clock.advance(60_000);
  expect(await outcome(await guess('198.51.100.7'))).toBe('signed in');
});

describe('what a browser brings back', () => {
  test('belongs to its own sign-in, complete and unchanged', async () => {
    answer = async (_nonce, response) => sendToken(response, await signed(claimsOf()));
    const mine = await begin();
    const other = await begin();
    const [name, sealed = ''] = mine.cookie.split('=');
    const flipped = `${name}=${sealed.slice(0, -3)}${sealed.at(-3) === 'A' ? 'B' : 'A'}${sealed.slice(-2)}`;
    const wrong: readonly Begun[] = [
      { cookie: mine.cookie, state: other.state },
      { cookie: other.cookie, state: mine.state },
      { cookie: flipped, state: mine.state },
      { cookie: `${mine.cookie}; ${other.cookie}`, state: mine.state },
      { cookie: 'headgate_oidc=x', state: '' },
      { cookie: `${name}=${'A'.repeat(7_000)}`, state: mine.state },
    ];
    for (const begun of wrong) expect(await outcome(await comeBack(begun))).toBe('400 sign_in_failed');
    const denied = await fetch(`${api.url}${CALLBACK}?error=access_denied&state=${mine.state}`, {
      headers: { cookie: mine.cookie },
    });
    expect(await outcome(denied)).toBe('400 sign_in_failed');
    api.clock.advance(600_000);
    expect(await outcome(await comeBack(mine))).toBe('400 sign_in_failed');
    expect(tokenCalls).toBe(0);
  });

  test('is taken once, also with the cookie of the sign-in: the provider is not asked again', async () => {
    answer = async (_nonce, response) => sendToken(response, await signed(claimsOf()));
    const begun = await begin();
    expect(await outcome(await comeBack(begun))).toBe('signed in');
    expect(await outcome(await comeBack(begun))).toBe('400 sign_in_failed');
    const wrong = await begin();
    answer = async (_nonce, response) => void response.writeHead(400).end();
    for (const expected of ['502 identity_provider_failed', '400 sign_in_failed', '400 sign_in_failed'])
      expect(await outcome(await comeBack(wrong, 'guessed'))).toBe(expected);
    expect(tokenCalls).toBe(2);
  });

  test('leads to no other origin', () => {
    const evil = ['//evil', '/\\evil', '/\\/evil', 'https:evil', 'https://evil', 'javascript:alert(1)'];
    const broken = [
      '/a\r\nSet-Cookie: a=b',
      '/\n/evil',
      '/\t/evil',
      ' //evil',
      '/.//evil',
      '/a/..//evil',
      '/%2e//evil',
    ];
    for (const text of [...evil, ...broken, `/${'a'.repeat(2_048)}`])
      expect(returnPath(text)).toBeUndefined();
    // These stay what they are: no one decodes them again.
    for (const text of ['/%2f%2fevil', '/%5cevil', '/a%0d%0ab', '/apps?return_to=//evil']) {
      expect(returnPath(text)).toBe(text);
    }
  });
});
