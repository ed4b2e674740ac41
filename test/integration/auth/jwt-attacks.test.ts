/**
 * What attackers try with JWTs (RFC 8725 section 2 and what has been found since), through the real gateway: each
 * credential of the table gets 401 with a challenge, twice (the second time what was learnt is remembered), and the
 * backend is not asked. src/policy/parts/auth/jwt/jwt-attacks.test.ts has the same for the verifier alone.
 */
import { createHmac, createSign, generateKeyPairSync, sign as rawSign } from 'node:crypto';
import { exportJWK } from 'jose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { forgedToken, jwkOf, KEYS, SECRET, signed, unixSecs } from '../../support/data/jwts.ts';
import { startOrigin, type Origin } from '../../support/backends/origin.ts';
import { bearer, createPolicies } from '../../support/policies.ts';
import { connectRaw, type RawClient } from '../../support/clients/raw-client.ts';
import { problem, request } from '../../support/traffic.ts';

let gateway: TestGateway;
let origin: Origin;
let client: RawClient;
/** Where forged tokens point to for keys; it must never be asked. */
let trap: Origin;

const p384 = generateKeyPairSync('ec', { namedCurve: 'P-384' });
const jwt = (fields: object) => ({ auth: { auth_type: 'jwt', jwt: { leeway_secs: 0, ...fields } } });

beforeAll(async () => {
  [gateway, origin, trap] = await Promise.all([startGateway(), startOrigin(), startOrigin()]);
  const keys = [await jwkOf('rsa'), await jwkOf('ec'), await jwkOf('ed')];
  await createPolicies(gateway, 'id', origin.port, [
    { path: '/hs', policy: jwt({ secret: SECRET }) },
    { path: '/keys', policy: jwt({ jwks: { keys } }) },
    { path: '/iss', policy: jwt({ secret: SECRET, issuer: 'https://id.test', audiences: ['orders'] }) },
  ]);
  client = await connectRaw(gateway.proxyPort);
});
afterAll(async () => {
  client.end();
  await gateway.stop();
  await Promise.all([origin.close(), trap.close()]);
});

const b64 = (text: string | Buffer): string => Buffer.from(text).toString('base64url');
const now = unixSecs();
const claims = { sub: 'ann', exp: now + 3600 };

/** HMAC over these very texts as header and payload. */
function hs(
  header: object | string,
  payload: object | string = claims,
  secret: string | Buffer = SECRET,
): string {
  const part = (value: object | string) => b64(typeof value === 'string' ? value : JSON.stringify(value));
  const text = `${part(header)}.${part(payload)}`;
  return `${text}.${createHmac('sha256', secret).update(text).digest('base64url')}`;
}
const HS = { alg: 'HS256' };
const good = hs(HS);
const [head = '', body = '', mac = ''] = good.split('.');

const rs = (header: object = {}, key = KEYS.rsa.privateKey) =>
  signed(claims, { alg: 'RS256', key, header: { ...header } });
const spki = (format: 'pem' | 'der') =>
  format === 'pem'
    ? KEYS.rsa.publicKey.export({ type: 'spki', format })
    : KEYS.rsa.publicKey.export({ type: 'spki', format });
const stranger = generateKeyPairSync('rsa', { modulusLength: 2048 });
const ownJwk = async () => ({ ...(await exportJWK(stranger.publicKey)), kid: 'rsa' });
const trapUrl = () => `http://127.0.0.1:${trap.port}/keys.json`;

/** A token of ES256 under the configured key's id, whose signature is `make`'s. */
function es(make: (text: Buffer) => Buffer): string {
  const text = `${b64(JSON.stringify({ alg: 'ES256', kid: 'ec' }))}.${b64(JSON.stringify(claims))}`;
  return `${text}.${b64(make(Buffer.from(text)))}`;
}

type Token = string | Promise<string>;
type Case = readonly [name: string, route: '/hs' | '/keys' | '/iss', make: () => Token];

const NONE: readonly Case[] = ['none', 'None', 'NONE', 'nOnE', 'none ', 'none\u0000', ''].flatMap(
  (alg): Case[] => [
    [`alg "${alg}", no signature`, '/hs', () => forgedToken({ alg }, claims, undefined)],
    [
      `alg "${alg}", no signature, where keys are public`,
      '/keys',
      () => forgedToken({ alg }, claims, undefined),
    ],
    [`alg "${alg}", signed`, '/hs', () => hs({ alg })],
  ],
);

const ALGORITHMS: readonly Case[] = [
  ['no alg', '/hs', () => hs({ typ: 'JWT' })],
  ['alg null', '/hs', () => hs({ alg: null })],
  ['alg as a list', '/hs', () => hs({ alg: ['HS256'] })],
  ['alg in lower case', '/hs', () => hs({ alg: 'hs256' })],
  ['alg with a letter that looks the same (Cyrillic)', '/hs', () => hs({ alg: 'НS256' })],
  ['an HMAC other than the configured one', '/hs', () => hs({ alg: 'HS384' })],
  ['the public key (PEM) as HMAC secret', '/keys', () => hs({ ...HS, kid: 'rsa' }, claims, spki('pem'))],
  ['the public key (PEM, trimmed) as HMAC secret', '/keys', () => hs(HS, claims, String(spki('pem')).trim())],
  ['the public key (DER) as HMAC secret', '/keys', () => hs({ ...HS, kid: 'rsa' }, claims, spki('der'))],
  [
    'the public key (JWK) as HMAC secret',
    '/keys',
    async () => hs(HS, claims, JSON.stringify(await jwkOf('rsa'))),
  ],
  ['the modulus as HMAC secret', '/keys', async () => hs(HS, claims, String((await jwkOf('rsa')).n))],
  ['an empty HMAC secret', '/hs', () => hs(HS, claims, '')],
  ['a signature of a private key where a secret is shared', '/hs', () => rs()],
];

const KEY_IDS: readonly Case[] = [
  ['kid that is a path', '/keys', () => rs({ kid: '../../../../dev/null' })],
  ['kid that is a path, HMAC with nothing', '/keys', () => hs({ ...HS, kid: '/dev/null' }, claims, '')],
  ['kid that is SQL', '/keys', () => rs({ kid: "x' UNION SELECT 'secret" })],
  ['kid that is a command', '/keys', () => rs({ kid: 'rsa; cat /etc/passwd' })],
  ['kid that is a URL', '/keys', () => rs({ kid: trapUrl() })],
  ['kid of Object.prototype', '/keys', () => rs({ kid: '__proto__' })],
  ['kid very long', '/keys', () => rs({ kid: 'k'.repeat(4000) })],
  ['kid a number', '/hs', () => hs({ ...HS, kid: 1 })],
  ['kid null', '/hs', () => hs({ ...HS, kid: null })],
  ['kid a list', '/hs', () => hs({ ...HS, kid: ['rsa'] })],
  ['kid an object', '/hs', () => hs({ ...HS, kid: { $ne: '' } })],
  ['kid with a NUL after a known one', '/keys', () => rs({ kid: 'rsa\u0000' })],
  ['a known kid, another key', '/keys', () => rs({ kid: 'rsa' }, stranger.privateKey)],
  ['the kid of a key of another kind', '/keys', () => rs({ kid: 'ec' })],
];

const BROUGHT_KEYS: readonly Case[] = [
  ['its own key by jwk', '/keys', async () => rs({ jwk: await ownJwk() }, stranger.privateKey)],
  [
    'its own key by jwk under a known kid',
    '/keys',
    async () => rs({ kid: 'rsa', jwk: await ownJwk() }, stranger.privateKey),
  ],
  ['its own key by jku', '/keys', () => rs({ kid: 'rsa', jku: trapUrl() }, stranger.privateKey)],
  ['its own key by x5u', '/keys', () => rs({ kid: 'rsa', x5u: trapUrl() }, stranger.privateKey)],
  ['its own key by x5c', '/keys', () => rs({ x5c: [spki('der').toString('base64')] }, stranger.privateKey)],
  ['its own secret by jwk', '/hs', () => hs({ ...HS, jwk: { kty: 'oct', k: b64('mine') } }, claims, 'mine')],
];

const EXTENSIONS: readonly Case[] = [
  ['crit with a name that is there', '/hs', () => hs({ ...HS, crit: ['exp'], exp: 1 })],
  ['crit, empty', '/hs', () => hs({ ...HS, crit: [] })],
  ['b64 false and critical, payload as it is', '/hs', () => unencodedToken()],
  ['b64 false, not critical', '/hs', () => hs({ ...HS, b64: false })],
  ['typ of another token', '/hs', () => hs({ ...HS, typ: 'logout+jwt' })],
  ['typ of a DPoP proof', '/hs', () => hs({ ...HS, typ: 'dpop+jwt' })],
  ['typ a number', '/hs', () => hs({ ...HS, typ: 1 })],
  ['typ null', '/hs', () => hs({ ...HS, typ: null })],
  ['typ empty', '/hs', () => hs({ ...HS, typ: '' })],
];

function unencodedToken(): string {
  const text = `${b64('{"alg":"HS256","b64":false,"crit":["b64"]}')}.${JSON.stringify({ sub: 'ann' })}`;
  return `${text}.${createHmac('sha256', SECRET).update(text).digest('base64url')}`;
}

/** Another last character for the same bytes: bits beyond them are set (RFC 4648 section 3.5). */
function withStrayBits(text: string): string {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  return text.slice(0, -1) + alphabet.charAt(alphabet.indexOf(text.slice(-1)) + 1);
}

const ENCODINGS: readonly Case[] = [
  ['no signature', '/hs', () => `${head}.${body}.`],
  ['no signature and no dot', '/hs', () => `${head}.${body}`],
  ['a signature cut off by one character', '/hs', () => good.slice(0, -1)],
  ['a signature cut in half', '/hs', () => `${head}.${body}.${mac.slice(0, 21)}`],
  ['a signature with a byte more', '/hs', () => `${head}.${body}.${mac}AA`],
  ['a signature with stray bits', '/hs', () => `${head}.${body}.${withStrayBits(mac)}`],
  ['padding', '/hs', () => `${good}=`],
  ['padding in the header', '/hs', () => `${head}=.${body}.${mac}`],
  ['the other alphabet', '/hs', () => `${head}.${body}.${Buffer.from(mac, 'base64url').toString('base64')}`],
  ['percent-encoded', '/hs', () => good.replaceAll('.', '%2E')],
  ['a trailing dot', '/hs', () => `${good}.`],
  ['a leading dot', '/hs', () => `.${good}`],
  ['dots only', '/hs', () => '..'],
  [
    'five parts, an encrypted token (JWE)',
    '/keys',
    () => `${b64('{"alg":"dir","enc":"A256GCM"}')}..AAAA.AAAA.AAAA`,
  ],
  ['a token within a token', '/hs', () => hs({ ...HS, cty: 'JWT' }, JSON.stringify(good))],
  ['JSON serialisation', '/hs', () => JSON.stringify({ protected: head, payload: body, signature: mac })],
  ['white space within', '/hs', () => `${head}. ${body}.${mac}`],
  ['a tab within', '/hs', () => `${head}.\t${body}.${mac}`],
  ['another token after it', '/hs', () => `${good} ${good}`],
  ['a comma and another token', '/hs', () => `${good}, ${good}`],
  ['in quotes', '/hs', () => `"${good}"`],
  [
    'characters that look like dots',
    '/hs',
    () => Buffer.from(good.replaceAll('.', '․'), 'utf8').toString('latin1'),
  ],
  [
    'a full-width letter at the end',
    '/hs',
    () => Buffer.from(`${good.slice(0, -1)}Ａ`, 'utf8').toString('latin1'),
  ],
  ['huge', '/hs', () => hs(HS, { ...claims, pad: 'x'.repeat(8_192) })],
  ['signed by another secret', '/hs', () => hs(HS, claims, `${SECRET}x`)],
  [
    'a payload of one token and the signature of another',
    '/hs',
    () => `${head}.${b64('{"sub":"root"}')}.${mac}`,
  ],
];

const JSON_TEXTS: readonly Case[] = [
  ['alg twice in the header', '/hs', () => hs('{"alg":"none","alg":"HS256"}')],
  ['alg twice, once escaped', '/hs', () => hs('{"\\u0061lg":"none","alg":"HS256"}')],
  ['a claim twice', '/hs', () => hs(HS, '{"sub":"ann","sub":"root"}')],
  ['a claim twice, deep inside', '/hs', () => hs(HS, '{"realm":{"access":[{"role":"user","role":"root"}]}}')],
  ['a header that is no JSON', '/hs', () => hs('{"alg":"HS256"')],
  ['a header that is a list', '/hs', () => hs('["HS256"]')],
  ['text after the header', '/hs', () => hs('{"alg":"HS256"} x')],
  ['a byte-order mark', '/hs', () => hs(HS, '\ufeff{"sub":"ann"}')],
  ['claims that are a text', '/hs', () => hs(HS, '"ann"')],
  ['claims that are null', '/hs', () => hs(HS, 'null')],
  ['claims that are a list', '/hs', () => hs(HS, '[{"sub":"ann"}]')],
  ['no claims at all', '/hs', () => hs(HS, '')],
  ['very deep claims', '/hs', () => hs(HS, `{"a":${'['.repeat(2_500)}${']'.repeat(2_500)}}`)],
  ['a very deep header', '/hs', () => hs(`{"alg":"HS256","a":${'{"a":'.repeat(500)}1${'}'.repeat(500)}}`)],
];

const TIMES: readonly Case[] = [
  ['expired by a second', '/hs', () => hs(HS, { exp: now - 1 })],
  ['expired this very second', '/hs', () => hs(HS, { exp: unixSecs() })],
  ['expired in 1970', '/hs', () => hs(HS, { exp: 0 })],
  ['exp negative', '/hs', () => hs(HS, { exp: -1 })],
  ['exp a text', '/hs', () => hs(HS, { exp: String(now + 3600) })],
  ['exp a text that is no number', '/hs', () => hs(HS, { exp: 'never' })],
  ['exp beyond all numbers', '/hs', () => hs(HS, '{"exp":1e400}')],
  ['exp NaN', '/hs', () => hs(HS, '{"exp":NaN}')],
  ['exp null', '/hs', () => hs(HS, { exp: null })],
  ['exp true', '/hs', () => hs(HS, { exp: true })],
  ['exp a list', '/hs', () => hs(HS, { exp: [now + 3600] })],
  ['nbf in the future', '/hs', () => hs(HS, { ...claims, nbf: now + 600 })],
  ['nbf a text', '/hs', () => hs(HS, { ...claims, nbf: '0' })],
  ['iat a text', '/hs', () => hs(HS, { ...claims, iat: 'yesterday' })],
];

const PARTIES: readonly Case[] = [
  ['no issuer', '/iss', () => hs(HS, { ...claims, aud: 'orders' })],
  ['another issuer', '/iss', () => hs(HS, { ...claims, iss: 'https://id.test/', aud: 'orders' })],
  ['the issuer as a list', '/iss', () => hs(HS, { ...claims, iss: ['https://id.test'], aud: 'orders' })],
  [
    'the issuer with a letter that looks the same',
    '/iss',
    () => hs(HS, { ...claims, iss: 'https://іd.test', aud: 'orders' }),
  ],
  ['no audience', '/iss', () => hs(HS, { ...claims, iss: 'https://id.test' })],
  ['another audience', '/iss', () => hs(HS, { ...claims, iss: 'https://id.test', aud: 'orders2' })],
  [
    'an audience that holds the right one',
    '/iss',
    () => hs(HS, { ...claims, iss: 'https://id.test', aud: 'orders bills' }),
  ],
  [
    'the audience as an object',
    '/iss',
    () => hs(HS, { ...claims, iss: 'https://id.test', aud: { 0: 'orders' } }),
  ],
];

const SIGNATURES: readonly Case[] = [
  ['ECDSA with r and s of zero', '/keys', () => es(() => Buffer.alloc(64))],
  ['ECDSA with r and s of the order of the curve', '/keys', () => es(() => Buffer.concat([ORDER, ORDER]))],
  ['ECDSA in DER', '/keys', () => es((text) => createSign('sha256').update(text).sign(KEYS.ec.privateKey))],
  ['ECDSA without a signature', '/keys', () => es(() => Buffer.alloc(0))],
  [
    'ECDSA on another curve',
    '/keys',
    () => es((text) => rawSign('sha256', text, { key: p384.privateKey, dsaEncoding: 'ieee-p1363' })),
  ],
  [
    'ES384 under the kid of a P-256 key',
    '/keys',
    () => signed(claims, { alg: 'ES384', key: p384.privateKey, header: { kid: 'ec' } }),
  ],
  [
    'EdDSA with a signature of zeros',
    '/keys',
    () => `${b64('{"alg":"EdDSA","kid":"ed"}')}.${body}.${b64(Buffer.alloc(64))}`,
  ],
  [
    'RSA with a signature of zeros',
    '/keys',
    () => `${b64('{"alg":"RS256","kid":"rsa"}')}.${body}.${b64(Buffer.alloc(256))}`,
  ],
  [
    'RSA with a signature of one',
    '/keys',
    () => `${b64('{"alg":"RS256","kid":"rsa"}')}.${body}.${b64(Buffer.alloc(256, 0).fill(1, 255))}`,
  ],
  [
    'RS256 called PS256',
    '/keys',
    async () =>
      `${b64('{"alg":"PS256","kid":"rsa"}')}.${(await rs({ kid: 'rsa' })).split('.').slice(1).join('.')}`,
  ],
];
const ORDER = Buffer.from('ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551', 'hex');

const TABLE: readonly (readonly [string, readonly Case[]])[] = [
  ['the unsigned token', NONE],
  ['the wrong algorithm', ALGORITHMS],
  ['injection through kid', KEY_IDS],
  ['keys that the token brings along', BROUGHT_KEYS],
  ['extensions and types', EXTENSIONS],
  ['encodings', ENCODINGS],
  ['JSON', JSON_TEXTS],
  ['times', TIMES],
  ['issuer and audience', PARTIES],
  ['signatures', SIGNATURES],
];

/** On one connection, which a refusal must not end. */
async function ask(route: string, token: string) {
  client.write(`GET /id/v1${route} HTTP/1.1\r\nHost: gateway.test\r\nAuthorization: Bearer ${token}\r\n\r\n`);
  return client.response();
}

describe.each(TABLE)('%s', (_group, cases) => {
  it.each(cases)('%s: 401', async (_name, route, make) => {
    const token = await make();
    const before = origin.seen.length;
    for (const time of ['first', 'second']) {
      const response = await ask(route, token);
      expect(response.status, `the ${time} time`).toBe(401);
      expect(problem(response).code).toBe('credentials_invalid');
      expect(response.headers['www-authenticate']).toMatch(/^Bearer realm="id", error="invalid_token"/);
      expect(response.body, 'nothing of the token is said back').not.toContain(token.slice(0, 24) || '\0');
    }
    expect(origin.seen.length, 'the backend is not asked').toBe(before);
  });
});

describe('around the table', () => {
  it.each<Case>([
    ['HS256', '/hs', () => good],
    ['RS256 by kid', '/keys', () => rs({ kid: 'rsa' })],
    ['RS256 without kid', '/keys', () => rs()],
    [
      'RS256 with keys of its own that are never looked at',
      '/keys',
      async () => rs({ kid: 'rsa', jku: trapUrl(), x5u: trapUrl(), jwk: await ownJwk() }),
    ],
    [
      'ES256',
      '/keys',
      () => es((text) => rawSign('sha256', text, { key: KEYS.ec.privateKey, dsaEncoding: 'ieee-p1363' })),
    ],
    [
      'EdDSA',
      '/keys',
      () => signed(claims, { alg: 'EdDSA', key: KEYS.ed.privateKey, header: { kid: 'ed' } }),
    ],
    ['typ JWT and at+jwt', '/hs', () => hs({ ...HS, typ: 'at+jwt' })],
    [
      'issuer and audience as they should be',
      '/iss',
      () => hs(HS, { ...claims, iss: 'https://id.test', aud: ['x', 'orders'] }),
    ],
    ['a token with a long life left', '/hs', () => hs(HS, { exp: 4_102_444_800 })],
  ])('what the attacks start from is good: %s', async (_name, route, make) => {
    expect((await ask(route, await make())).status).toBe(200);
  });

  it.each([
    ['lower case', 'bearer'],
    ['upper case', 'BEARER'],
  ])('the scheme in %s is the same scheme', async (_name, scheme) => {
    const response = await request(gateway, '/id/v1/hs', { headers: { Authorization: `${scheme} ${good}` } });
    expect(response.status).toBe(200);
  });

  it.each([
    ['another scheme', `Token ${good}`],
    ['no scheme', good],
    ['a scheme that goes on', `Bearerx ${good}`],
    ['an empty token', 'Bearer'],
    ['a tab after the scheme', `Bearer\t${good}`],
  ])('%s: 401', async (_name, value) => {
    const response = await request(gateway, '/id/v1/hs', { headers: { Authorization: value } });
    expect(response.status).toBe(401);
  });

  it('two Authorization fields, a good one among them: refused whichever comes first', async () => {
    const before = origin.seen.length;
    for (const tokens of [
      [good, 'x'],
      ['x', good],
      [good, good],
    ]) {
      const fields = tokens.map((token) => `Authorization: Bearer ${token}\r\n`).join('');
      const each = await connectRaw(gateway.proxyPort);
      each.write(`GET /id/v1/hs HTTP/1.1\r\nHost: gateway.test\r\n${fields}\r\n`);
      expect([400, 401]).toContain((await each.response()).status);
      each.end();
    }
    expect(origin.seen.length).toBe(before);
  });

  it('a token in the query, in the body or in a cookie does not count', async () => {
    const none = {
      method: 'POST',
      body: `access_token=${good}`,
      headers: { Cookie: `access_token=${good}` },
    };
    const response = await request(gateway, `/id/v1/hs?access_token=${good}`, none);
    expect([response.status, problem(response).code]).toEqual([401, 'credentials_missing']);
  });

  it('a token that holds is refused once a character of it changes, whichever one', async () => {
    expect((await ask('/hs', good)).status).toBe(200);
    for (let at = 0; at < good.length; at += 7) {
      const changed = good.slice(0, at) + (good[at] === 'A' ? 'B' : 'A') + good.slice(at + 1);
      expect((await ask('/hs', changed)).status, `character ${at}`).toBe(401);
    }
  });

  it('no server was asked for keys, and nothing of a token is in the log', async () => {
    expect(trap.seen).toHaveLength(0);
    await request(gateway, '/id/v1/hs', { headers: bearer(good) });
    expect(gateway.output()).not.toContain(mac);
    expect(gateway.output()).not.toContain(body);
  });
});
