/** What one gateway tells about itself as it happens: breakers, keys at their limits, ends of versions, logins. */
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ADMIN_TOKEN, startGateway, type TestGateway } from '../../support/gateway.ts';
import { openEvents, type EventClient } from '../../support/clients/event-stream.ts';
import { startOrigin, type Origin } from '../../support/backends/origin.ts';
import { until } from '../../support/measure/until.ts';
import { bearer, createKey, createPolicies, send } from '../../support/policies.ts';
import { createService, request, versionPath, type Served } from '../../support/traffic.ts';
import { callPlain, expectPage, expectProblem } from '../../support/management.ts';
import { SECRET_PLACES } from '../../../src/policy/secret-places.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { openSqlite } from '../../../src/storage/sqlite/sqlite.ts';
import { createProgram } from '../../../src/cli/program.ts';

const STREAM = { Accept: 'text/event-stream' };
let gateway: TestGateway;
let origin: Origin;
let failing = false;
const open: EventClient[] = [];

beforeAll(async () => {
  [gateway, origin] = await Promise.all([
    startGateway(),
    startOrigin((_incoming, response) => {
      response.statusCode = failing ? 503 : 200;
      response.end();
    }),
  ]);
});
afterAll(async () => {
  for (const client of open) client.close();
  await gateway.stop();
  await origin.close();
});

async function watch(
  query = '',
  headers: Record<string, string> = {},
  token = ADMIN_TOKEN,
): Promise<EventClient> {
  const client = await openEvents(`${gateway.base}/api/v1/events${query}`, token, { ...STREAM, ...headers });
  open.push(client);
  return client;
}

const eventsOf = async (query: string): Promise<Served[]> =>
  (await gateway.api('GET', `/events?${query}`)).body.data;

describe('events', () => {
  it('tell that the breaker of a revision opened and closed, live and in the list', async () => {
    const client = await watch('?type=breaker.*');
    await createService(gateway, 'fragile', origin.port, {
      revision: { circuit_breaker: { failures: 1, open_secs: 1, count_5xx: true, recovery_secs: 0 } },
    });
    await gateway.must('POST', `${versionPath('fragile')}/revisions/r1/endpoints`, {
      method: 'GET',
      path: '/x',
    });
    failing = true;
    await request(gateway, '/fragile/v1/x');
    await until(() => client.of('event').length === 1, 5_000);
    failing = false;
    await until(async () => {
      await request(gateway, '/fragile/v1/x');
      return client.of('event').length === 2;
    });
    const listed = await eventsOf('type=breaker.*&app=fragile&order=oldest_first');
    expect(client.of('event')).toEqual(listed);
    const subject = { kind: 'revision', name: 'fragile v1 r1' };
    const data = { app: 'fragile', version: 'v1', revision: 'r1' };
    expect(listed).toMatchObject([
      { type: 'breaker.opened', subject, data: { ...data, reason: expect.stringContaining('503') } },
      { type: 'breaker.closed', subject, data },
    ]);
  });

  it('tell the first time a key reaches a limit, and once only', async () => {
    await createPolicies(gateway, 'limited', origin.port, [
      { path: '/x', policy: { auth: { auth_type: 'api_key', required: true } } },
    ]);
    const key = await createKey(gateway, 'limited', {
      name: 'partner',
      rate_limit: { enabled: true, requests: 2, window_seconds: 60 },
    });
    for (let at = 0; at < 6; at += 1) await send(gateway, '/limited/v1/x', { headers: bearer(key.token) });
    const events = await until(async () => {
      const found = await eventsOf('type=limit.reached');
      return found.length > 0 && found;
    });
    expect(events).toMatchObject([
      {
        subject: { kind: 'token', id: key.id, name: 'partner' },
        data: {
          app: 'limited',
          limit: 'The limit of 2 requests in 1 minute is used up (key)',
          window_seconds: 60,
        },
      },
    ]);
  });

  it('tell of each limit of a key, also where two have the same numbers', async () => {
    const rate_limit = { enabled: true, requests: 1, window_seconds: 86_400 };
    const auth = { auth_type: 'api_key', required: true };
    await createPolicies(gateway, 'several', origin.port, [
      { path: '/x', policy: { auth, rate_limit } },
      { path: '/y', policy: { auth, rate_limit } },
    ]);
    const key = await createKey(gateway, 'several', { name: 'partner' });
    for (const path of ['/x', '/x', '/x', '/y', '/y', '/y'])
      await send(gateway, `/several/v1${path}`, { headers: bearer(key.token) });
    const events = await until(async () => {
      const found = await eventsOf('type=limit.reached&app=several');
      return found.length > 1 && found;
    });
    const told = {
      subject: { id: key.id },
      data: { limit: 'The limit of 1 request in 1 day is used up (endpoint)', window_seconds: 86_400 },
    };
    expect(events).toMatchObject([told, told]);
  });

  it('tell that a version is deprecated, and that it is called after its sunset', async () => {
    await createService(gateway, 'old', origin.port);
    await gateway.must('POST', `${versionPath('old')}/revisions/r1/endpoints`, { method: 'GET', path: '/x' });
    const sunset = '2026-01-31T12:00:00.000Z';
    await gateway.must('PATCH', versionPath('old'), { status: 'deprecated', sunset_at: sunset });
    for (let at = 0; at < 3; at += 1) await request(gateway, '/old/v1/x');
    const events = await until(async () => {
      const found = await eventsOf('type=version.*&order=oldest_first');
      return found.length === 2 && found;
    });
    const types = events.map(({ type }): string => type).toSorted();
    expect(types).toEqual(['version.called_after_sunset', 'version.deprecated']);
    expect(events[0].data).toEqual({ app: 'old', version: 'v1', sunset_at: sunset });
  });

  it('tell that wrong admin tokens keep coming, by their network', async () => {
    for (let at = 0; at < 6; at += 1)
      await gateway.api('GET', '/apps', undefined, { authorization: `Bearer headgate_wrong_${at}` });
    const events = await until(async () => {
      const found = await eventsOf('type=login.*');
      return found.length > 0 && found;
    });
    expect(events).toMatchObject([
      { subject: { kind: 'network', name: '127.0.0.0/24' }, data: { refused: 5 } },
    ]);
  });

  it('come in pages, by type, app and time; what is mistyped is refused', async () => {
    const all = expectPage(await gateway.api('GET', '/events?limit=2'));
    const next = expectPage(await gateway.api('GET', `/events?limit=2&cursor=${all.page.next_cursor}`));
    const ids = [...all.data, ...next.data].map(({ id }): string => id);
    expect(ids).toEqual(ids.toSorted().toReversed());
    expect(new Set(ids).size).toBe(4);
    const [newest] = all.data;
    expect((await eventsOf(`since=${newest.at}`))[0].id).toBe(newest.id);
    expect(await eventsOf(`until=${all.data[0].at}&since=${all.data[0].at}`)).toEqual([]);
    for (const query of ['type=breaker.openend', 'app=nowhere', 'since=2026-02-31T00:00:00Z'])
      expectProblem(await gateway.api('GET', `/events?${query}`), 'invalid_query');
    expect((await gateway.api('GET', '/events?type=breaker.openend')).body.detail).toMatch(
      /there is no type "breaker\.openend"; did you mean "breaker\.opened"\? Types are config\.changed, /,
    );
  });
});

describe('streams of events', () => {
  const renamed = async (name: string): Promise<void> =>
    void (await gateway.must('PATCH', '/apps/fragile', { description: name }));

  it('go on where a reader was, with nothing lost or doubled, also before its first event', async () => {
    const seen: string[] = [];
    let lastId: string | undefined;
    for (let round = 0; round < 5; round += 1) {
      const client = await watch(
        '?type=config.changed',
        lastId === undefined ? {} : { 'Last-Event-ID': lastId },
      );
      // The first two read nothing but where they began.
      await until(() => /^id: /m.test(client.text()));
      for (let at = 0; at < 3; at += 1) await renamed(`${round} ${at}`);
      if (round >= 2) await until(() => client.of('event').length > 0);
      client.close();
      const ids = [...client.text().matchAll(/^id: (.*)\n(?:event: .*\ndata: .*\n)?\n/gm)].map(
        ([, id]) => id,
      );
      lastId = ids.at(-1);
      seen.push(...client.events.filter(({ id }) => id !== undefined).map(({ id }) => id ?? ''));
    }
    const rest = await watch('?type=config.changed', { 'Last-Event-ID': lastId ?? '' });
    const [newest] = await eventsOf('type=config.changed&limit=1');
    await until(() => lastId === newest.id || rest.events.at(-1)?.id === newest.id);
    seen.push(...rest.events.map(({ id }) => id ?? ''));
    const written = await eventsOf('type=config.changed&limit=15&order=newest_first');
    expect(seen).toEqual(written.map(({ id }) => id).toReversed());
  });

  it('begin at a time, and are refused with an id that is not valid', async () => {
    const [oldest] = await eventsOf('limit=1&order=oldest_first');
    const client = await watch(`?since=${oldest.at}`);
    const all = await eventsOf('limit=200&order=oldest_first');
    await until(() => client.of('event').length >= all.length);
    expect(client.of('event').slice(0, all.length)).toEqual(all);
    expect((await watch('', { 'Last-Event-ID': 'x' })).status).toBe(400);
  });

  it('go on with what comes, after an id that is ahead of all events, as of another database', async () => {
    const client = await watch('?type=config.changed', {
      'Last-Event-ID': 'ffffffff-ffff-7fff-bfff-ffffffffffff',
    });
    await until(() => client.of('gap').length === 1);
    await renamed('after a gap');
    const found = await until(() => client.of('event')[0]);
    expect(found).toMatchObject({ type: 'config.changed' });
    client.close();
  });

  it('are bounded for each caller, and end when the token is revoked', async () => {
    const { token, id } = await gateway.must('POST', '/admin/tokens', { name: 'v', role: 'viewer' });
    const clients = await Promise.all(Array.from({ length: 9 }, () => watch('', {}, token)));
    expect(clients.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([
      ...Array.from({ length: 8 }, () => 200),
      503,
    ]);
    await gateway.must('DELETE', `/admin/tokens/${id}`);
    await until(() => clients.every(({ ended, status }) => ended || status === 503), 12_000);
  });
});

describe('headgate events', () => {
  function run(...args: string[]): { readonly lines: string[]; readonly done: Promise<unknown> } {
    const lines: string[] = [];
    const env: Readonly<Record<string, string>> = {
      HEADGATE_SERVER: gateway.base,
      HEADGATE_TOKEN: ADMIN_TOKEN,
    };
    const program = createProgram(
      '1',
      {} as never,
      {
        env: (name: string) => env[name],
        out: (text: string) => void lines.push(...text.split('\n').filter((line) => line !== '')),
        err: () => undefined,
      } as never,
    );
    return { lines, done: program.parseAsync(['node', 'headgate', 'events', ...args]) };
  }

  it('names the admin token that has changed the configuration; JSON has its id, too', async () => {
    const { id, token } = await gateway.must('POST', '/admin/tokens', { name: 'deployer', role: 'editor' });
    const headers = { authorization: `Bearer ${token}` };
    await callPlain(gateway, headers, 'PATCH', '/apps/fragile', { description: 'by name' });
    const listed = run('--type', 'config.changed', '--limit', '1');
    await listed.done;
    expect(listed.lines[0]?.split('  ').filter((word) => word.startsWith('actor'))).toEqual([
      'actor=deployer',
    ]);
    expect((await eventsOf('type=config.changed&limit=1'))[0].data).toMatchObject({
      actor: id,
      actor_name: 'deployer',
    });
  });

  it('lists the last ones in their order, and follows those to come', async () => {
    const listed = run('--type', 'breaker.*', '--app', 'fragile');
    await listed.done;
    expect(listed.lines.map((line) => line.split('  ').slice(1, 3))).toEqual([
      ['breaker.opened', 'revision fragile v1 r1'],
      ['breaker.closed', 'revision fragile v1 r1'],
    ]);
    const [last] = await eventsOf('limit=1');
    const followed = run('--follow', '--since', last.at, '--count', '2', '--output', 'json');
    await gateway.must('PATCH', '/apps/fragile', { description: 'followed' });
    await followed.done;
    expect(followed.lines.map((line) => JSON.parse(line).type)).toContain('config.changed');
  });
});

/** Removes nearly all events, so it is the last. */
describe('streams of events that are no longer all kept', () => {
  it('tell a gap to a reader that lacks what is too old, and to no other', async () => {
    for (const description of ['a', 'b', 'c']) await gateway.must('PATCH', '/apps/fragile', { description });
    const [newest, last, early] = (await eventsOf('type=config.changed&limit=3')).map(({ id }): string => id);
    const path = join(gateway.folder, 'headgate.db');
    const options = { secretPlaces: SECRET_PLACES, path, autoMigrate: false, clock: systemClock };
    const repository = await openSqlite(options);
    // All but the newest.
    while (!(await repository.events.trim({ maxEvents: 1_000_000, maxAgeMs: -60_000 }))) continue;
    await repository.close();
    expect((await eventsOf('limit=9')).map(({ id }) => id)).toEqual([newest]);
    const gaps = async (query: string, id = ''): Promise<number> => {
      const client = await watch(query, { 'Last-Event-ID': id });
      await until(() => client.of('event').length === 1);
      return client.of('gap').length;
    };
    expect(await gaps('', last), 'it has received what is gone').toBe(0);
    expect(await gaps('', early)).toBe(1);
    expect(await gaps('?type=config.changed', early)).toBe(1);
    const other = await watch('?type=key.*', { 'Last-Event-ID': early ?? '' });
    await until(() => /^id: /m.test(other.text()));
    expect(other.of('gap'), 'nothing that it reads is gone').toEqual([]);
  });
});
