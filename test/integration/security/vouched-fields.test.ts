/**
 * What the gateway vouches for cannot come from a client: neither under the name itself nor under one that a backend
 * may read as it, neither in the head nor in trailers, over HTTP/1.1 and HTTP/2.
 */
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest';
import { foldedName } from '../../../src/lib/folded-name.ts';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import {
  connectHttp2,
  request as request2,
  TLS_PAIR,
  type Http2Client,
} from '../../support/clients/http2-client.ts';
import { SECRET, signed } from '../../support/data/jwts.ts';
import { startOrigin, type Origin, type Seen } from '../../support/backends/origin.ts';
import { createPolicies } from '../../support/policies.ts';
import { startProxy, oneRoute, type TestProxy } from '../../support/proxy.ts';
import { sendRaw } from '../../support/clients/raw-client.ts';
import { createEndpoint, createService, revisionPath } from '../../support/traffic.ts';
import type { Policy } from '../../../src/policy/registry.ts';

const POLICY: Policy = {
  auth: {
    auth_type: 'jwt',
    required: false,
    jwt: { secret: SECRET, claims_to_headers: { email: 'X-User-Email', team: 'Team' } },
  },
};
const FORGED = 'forged.example';
/** Every token character that is neither letter nor digit. */
const SIGNS = "!#$%&'*+-.^_`|~".split('');
const NAMES = [
  'X-User-Email',
  'X-Headgate-Subject',
  'X-Headgate-Anything',
  'X-Forwarded-For',
  'X-Forwarded-Proto',
  'X-Request-Id',
];
const PLAIN_NAMES = ['Team', 'Forwarded', 'Via', 'Traceparent'];

let origin: Origin;
let proxy: TestProxy;
let secure: TestProxy;
let client: Http2Client;

beforeAll(async () => {
  origin = await startOrigin();
  const change = oneRoute({ backendPort: origin.port, policy: POLICY });
  proxy = await startProxy(change);
  secure = await startProxy(change, { tls: TLS_PAIR });
  client = await connectHttp2(secure.port);
});
afterAll(async () => {
  client.session.destroy();
  await Promise.all([proxy.close(), secure.close()]);
  await origin.close();
});

/** Fields of what the backend saw that hold the forged value under a name that may be read as `name`. */
function forgedIn(seen: Seen, name: string): string[] {
  const found: string[] = [];
  const all = [...Object.entries(seen.headers), ...Object.entries(seen.trailers)];
  for (const [field, value] of all)
    if (foldedName(field) === foldedName(name) && String(value).includes(FORGED)) found.push(field);
  return found;
}

async function over1(heads: readonly string[], trailers: readonly string[]): Promise<Seen> {
  const before = origin.seen.length;
  const lines = (fields: readonly string[]): string => fields.map((field) => `${field}\r\n`).join('');
  const response = await sendRaw(
    proxy.port,
    `POST /a/v1/x HTTP/1.1\r\nHost: a\r\nTE: trailers\r\n${lines(heads)}Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n${lines(trailers)}\r\n`,
  );
  expect(response.status).toBe(200);
  return origin.seen[before] as Seen;
}

async function over2(heads: readonly string[], trailers: readonly string[]): Promise<Seen> {
  const before = origin.seen.length;
  const fields = (lines: readonly string[]): Record<string, string> =>
    Object.fromEntries(
      lines.map((line) => [
        line.slice(0, line.indexOf(':')).toLowerCase(),
        line.slice(line.indexOf(':') + 2),
      ]),
    );
  const head = { ':method': 'POST', ':path': '/a/v1/x', ...fields(heads) };
  const response = await request2(client, head, { body: Buffer.from('a'), trailers: fields(trailers) });
  expect(response.status).toBe(200);
  return origin.seen[before] as Seen;
}

const spelled = (name: string): string[] => [
  ...SIGNS.map((sign) => name.replaceAll('-', sign)),
  name.replace('-', '.'),
  name.toUpperCase(),
];

describe.each([
  ['HTTP/1.1', over1],
  ['HTTP/2', over2],
])('over %s', (_protocol, send) => {
  it.each(NAMES)(
    '%s cannot be forged in the head, with any character in place of its dashes',
    async (name) => {
      const seen = await send(
        spelled(name).map((each) => `${each}: ${FORGED}`),
        ['X-Own: kept'],
      );
      expect(forgedIn(seen, name)).toEqual([]);
      expect(seen.trailers).toEqual({ 'x-own': 'kept' });
    },
  );

  it.each([...NAMES, ...PLAIN_NAMES])('%s cannot be forged by a trailer', async (name) => {
    const spellings = new Map(spelled(name).map((each) => [each.toLowerCase(), each]));
    const seen = await send(
      [],
      [...[...spellings.values()].map((each) => `${each}: ${FORGED}`), 'X-Own: kept'],
    );
    expect(forgedIn(seen, name)).toEqual([]);
    expect(seen.trailers).toEqual({ 'x-own': 'kept' });
  });

  it('a claim is passed on, and a field of the client with its name is not', async () => {
    const token = await signed({ sub: 'ann', email: 'ann@example.com' });
    const forged = [`X~User~Email: ${FORGED}`, `X.User.Email: ${FORGED}`];
    const seen = await send([`Authorization: Bearer ${token}`, ...forged], forged);
    expect(seen.headers['x-user-email']).toBe('ann@example.com');
    expect(forgedIn(seen, 'X-User-Email')).toEqual([]);
  });

  it('a field of another name passes, also with a dot', async () => {
    const seen = await send(['X.User.Mail: mine', 'X-User-Emails: mine'], []);
    expect(seen.headers).toMatchObject({ 'x.user.mail': 'mine', 'x-user-emails': 'mine' });
  });
});

test.each([1, 100_000])('a body of %i bytes that is held first brings no forged trailer', async (length) => {
  const policy: Policy = { ...POLICY, buffer_request_bytes: 200_000 };
  const buffered = await startProxy(oneRoute({ backendPort: origin.port, policy }));
  const before = origin.seen.length;
  const trailers = `X-User-Email: ${FORGED}\r\nX_User_Email: ${FORGED}\r\nX-Own: kept\r\n`;
  await sendRaw(
    buffered.port,
    `POST /a/v1/x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n${length.toString(16)}\r\n${'a'.repeat(length)}\r\n0\r\n${trailers}\r\n`,
  );
  expect(origin.seen[before]?.body).toHaveLength(length);
  expect(origin.seen[before]?.trailers).toEqual({ 'x-own': 'kept' });
  await buffered.close();
});

describe('claims_to_headers', () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startGateway();
    await createPolicies(gateway, 'claims', origin.port, []);
  });
  afterAll(() => gateway.stop());

  it('cannot name what a server could take for a field of the gateway, nor one name in two spellings', async () => {
    const put = (claims_to_headers: Record<string, string>) =>
      gateway.api('PATCH', '/apps/claims', {
        default_policy: { auth: { auth_type: 'jwt', jwt: { secret: SECRET, claims_to_headers } } },
      });
    const reserved = await put({ sub: 'X.Headgate.Subject' });
    expect(reserved.status).toBe(422);
    const doubled = await put({ sub: 'X-User', email: 'X~User' });
    expect(doubled.status).toBe(422);
    expect((await put({ sub: 'X-User' })).status).toBe(200);
  });

  it('is unforgeable also where a revision or an endpoint below replaces the authentication', async () => {
    const jwt = { secret: SECRET, claims_to_headers: { email: 'X-User-Email' } };
    const none = { auth: { auth_type: 'none' } };
    const other = {
      auth: { auth_type: 'jwt', required: false, jwt: { ...jwt, claims_to_headers: { a: 'X-A' } } },
    };
    await createService(gateway, 'levels', origin.port, {
      app: { default_policy: { auth: { auth_type: 'jwt', jwt } } },
    });
    await createEndpoint(gateway, 'levels', 'POST', '/open', { policy_override: none });
    await createEndpoint(gateway, 'levels', 'POST', '/other', { policy_override: other });
    const lines = `X-User-Email: ${FORGED}\r\nx~user~email: ${FORGED}\r\nX-Own: kept\r\n`;
    const post = async (path: string): Promise<Seen> => {
      const before = origin.seen.length;
      const head = `POST /levels/v1${path} HTTP/1.1\r\nHost: a\r\nTE: trailers\r\n${lines}Transfer-Encoding: chunked\r\n\r\n`;
      const { status } = await sendRaw(gateway.proxyPort, `${head}1\r\na\r\n0\r\n${lines}\r\n`);
      expect(status).toBe(200);
      return origin.seen[before] as Seen;
    };
    for (const path of ['/open', '/other']) {
      const seen = await post(path);
      expect(forgedIn(seen, 'X-User-Email'), path).toEqual([]);
      expect(seen.headers['x-own']).toBe('kept');
      expect(seen.trailers).toEqual({ 'x-own': 'kept' });
    }
    await gateway.must('PATCH', revisionPath('levels'), { default_policy: none });
    expect(forgedIn(await post('/elsewhere'), 'X-User-Email')).toEqual([]);
  });
});
