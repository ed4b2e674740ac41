/**
 * The canonical path as an attacker sees it: every spelling of a protected path, against every kind of protection, in
 * every mode of routing, over HTTP/1.1, HTTP/1.0 and HTTP/2. What counts is what the backend received: nothing that any
 * backend could take for the protected path, and exactly the path that was authorised.
 */
// oxlint-disable vitest/expect-expect -- expectProtected is an assertion
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { referencePath } from '../../fuzz/reference/path.ts';
import {
  bypassOf,
  createBypassServices,
  MODES,
  PROTECTIONS,
  type Mode,
  type Protection,
} from '../../support/data/bypass-services.ts';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import {
  connectHttp2,
  request as requestHttp2,
  type Http2Client,
} from '../../support/clients/http2-client.ts';
import { startOrigin, type Origin, type Seen } from '../../support/backends/origin.ts';
import { SPELLINGS } from '../../support/data/path-spellings.ts';
import { sendRaw } from '../../support/clients/raw-client.ts';
import { requestText } from '../../support/traffic.ts';

const TLS = join(import.meta.dirname, '../../support/tls');
const AT_ONCE = 8;
let origin: Origin;
let gateway: TestGateway;
let secure: TestGateway;
let keys: ReadonlyMap<string, string>;
let secureKeys: ReadonlyMap<string, string>;

beforeAll(async () => {
  origin = await startOrigin();
  [gateway, secure] = await Promise.all([
    startGateway(),
    startGateway({
      env: {
        GATEWAY_PROXY__TLS__CERT_FILE: join(TLS, 'backend.pem'),
        GATEWAY_PROXY__TLS__KEY_FILE: join(TLS, 'backend-key.pem'),
      },
    }),
  ]);
  [keys, secureKeys] = await Promise.all([
    createBypassServices(gateway, origin.port),
    createBypassServices(secure, origin.port),
  ]);
});
afterAll(async () => {
  await Promise.all([gateway.stop(), secure.stop()]);
  await origin.close();
});

interface Attempt {
  readonly what: string;
  readonly mode: Mode;
  readonly protection: Protection;
  readonly target: string;
  readonly tag: string;
}

let tags = 0;

function attemptsAgainst(mode: Mode): Attempt[] {
  return PROTECTIONS.flatMap((protection) =>
    Object.entries(SPELLINGS).map(([what, spell]) => ({
      what: `${protection.area}: ${what}`,
      mode,
      protection,
      target: spell(`/${mode.slug}/v1`, protection.area),
      tag: `t${tags++}`,
    })),
  );
}

/** Sends each attempt; gives the statuses by attempt, 0 for a connection that was closed without an answer. */
async function sendAll(
  attempts: readonly Attempt[],
  send: (attempt: Attempt) => Promise<number>,
): Promise<ReadonlyMap<Attempt, number>> {
  const statuses = new Map<Attempt, number>();
  const left = [...attempts];
  const worker = async (): Promise<void> => {
    for (let next = left.shift(); next !== undefined; next = left.shift())
      statuses.set(next, await send(next));
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  return statuses;
}

function headersOf(
  { mode, protection, tag }: Attempt,
  all: ReadonlyMap<string, string>,
): Record<string, string> {
  const key = protection.keyed === true ? { Authorization: `Bearer ${all.get(mode.slug)}` } : {};
  return { 'X-Tag': tag, ...key };
}

/** Judges all attempts by what the backend saw; returns what is wrong. */
function judge(statuses: ReadonlyMap<Attempt, number>): string[] {
  const seen = new Map(origin.seen.map((each) => [String(each.headers['x-tag']), each]));
  const wrong: string[] = [];
  for (const [attempt, status] of statuses) {
    const report = (text: string): void => void wrong.push(`${attempt.mode.slug} ${attempt.what}: ${text}`);
    const reached = seen.get(attempt.tag);
    if ((status === 200) !== (reached !== undefined))
      report(`status ${status}, reached: ${reached !== undefined}`);
    if (reached === undefined) continue;
    const bypass = bypassOf(reached.method, reached.url, attempt.protection);
    if (bypass !== undefined) report(bypass);
    const expected = authorised(attempt);
    if (reached.url !== expected) report(`the backend got ${reached.url}, authorised was ${expected}`);
  }
  return wrong;
}

/** The canonical path of the target, as the backend must get it, with its query. */
function authorised({ target, mode: { slug, strips } }: Attempt): string {
  const origin = target.replace(/^http:\/\/[^/]*/i, '');
  const end = origin.includes('?') ? origin.indexOf('?') : origin.length;
  const path = referencePath(origin.slice(0, end)) ?? 'nothing';
  // A parameter's endpoint has a backend path of its own, and that is never the full one.
  const rest = path.replace(`/${slug}/v1`, '');
  const isByParameter = /^\/[^/]+\/data$/.test(rest) && rest !== '/public/data';
  return (strips || isByParameter ? rest : path) + origin.slice(end);
}

/**
 * Nothing got through; what is protected answers as it should, and its neighbours are served, so that something could.
 */
function expectProtected(statuses: ReadonlyMap<Attempt, number>): void {
  expect(judge(statuses)).toEqual([]);
  for (const [{ what, protection }, status] of statuses)
    if (what.endsWith(': as it is')) expect([what, status]).toEqual([what, protection.status]);
  expect([...statuses.values()].filter((status) => status === 200).length).toBeGreaterThan(0);
}

/** The one request that the limit of the mode admits, where there has been none yet. */
const firstUse = async (
  { slug }: Mode,
  send: (target: string) => Promise<{ readonly status: number }>,
): Promise<void> => {
  const { status } = await send(`/${slug}/v1/limit/data`);
  expect([200, 429]).toContain(status);
};

describe.each(MODES)('no spelling gets past a policy: %o', (mode) => {
  it('over HTTP/1.1', { timeout: 60_000 }, async () => {
    const send = ({ method }: Protection, target: string, headers: Record<string, string>): Promise<number> =>
      sendRaw(gateway.proxyPort, requestText(target, { method, headers })).then(
        ({ status }) => status,
        () => 0,
      );
    await firstUse(mode, (target) => sendRaw(gateway.proxyPort, requestText(target)));
    const attempts = attemptsAgainst(mode);
    const statuses = await sendAll(attempts, (each) =>
      send(each.protection, each.target, headersOf(each, keys)),
    );
    expectProtected(statuses);
  });

  it('over HTTP/2', { timeout: 60_000 }, async () => {
    const send = async (client: Http2Client, attempt: Attempt): Promise<number> => {
      const { 'X-Tag': tag, Authorization: authorization } = headersOf(attempt, secureKeys);
      const fields = { ':method': attempt.protection.method, ':path': attempt.target, 'x-tag': tag };
      const all = authorization === undefined ? fields : { ...fields, authorization };
      return (await requestHttp2(client, all)).status;
    };
    const statuses = new Map<Attempt, number>();
    const attempts = attemptsAgainst(mode);
    for (const protection of PROTECTIONS) {
      // One connection may have so many streams refused, and no more: then it is closed, and nothing is tried any more.
      const client = await connectHttp2(secure.proxyPort);
      if (protection.area === 'limit')
        await firstUse(mode, (target) => requestHttp2(client, { ':path': target }));
      const some = attempts.filter((attempt) => attempt.protection === protection);
      for (const [attempt, status] of await sendAll(some, (each) => send(client, each)))
        statuses.set(attempt, status);
      expect(client.session.closed).toBe(false);
      await client.close();
    }
    expectProtected(statuses);
  });
});

it('HTTP/1.0 is no way around either', { timeout: 60_000 }, async () => {
  const mode = MODES[0] as Mode;
  const ask = (text: string) => sendRaw(gateway.proxyPort, text.replace('HTTP/1.1', 'HTTP/1.0'));
  await firstUse(mode, (target) => ask(requestText(target)));
  const statuses = await sendAll(attemptsAgainst(mode), (each) => {
    const text = requestText(each.target, { method: each.protection.method, headers: headersOf(each, keys) });
    return ask(text).then(
      ({ status }) => status,
      () => 0,
    );
  });
  expectProtected(statuses);
});

it('the judge knows a bypass when it sees one', () => {
  const [auth, , method] = PROTECTIONS as readonly [Protection, Protection, Protection];
  const seen: readonly Pick<Seen, 'method' | 'url'>[] = [
    { method: 'GET', url: '/Auth/data;x' },
    { method: 'GET', url: '/m0/v1/public/%252e%252e/auth/data/' },
  ];
  for (const each of seen) expect(bypassOf(each.method, each.url, auth)).toMatch(/can be read as/);
  expect(bypassOf('delete', '/method%20/data', method)).toMatch(/can be read as/);
  expect(bypassOf('GET', '/public/data', auth)).toBeUndefined();
});
