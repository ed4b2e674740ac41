/**
 * Writes that compete, through the started program: ETag, If-Match and If-None-Match; duplicates; and many clients at
 * once, of whom exactly one may win.
 */
// oxlint-disable vitest/expect-expect -- expectData, expectPage and expectProblem are assertions
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startGateway, type Answer, type TestGateway } from '../../support/gateway.ts';
import { expectData, expectPage, expectProblem } from '../../support/management.ts';
import {
  APP,
  createBase,
  ENDPOINT,
  REVISION,
  TOKEN,
  VERSION,
  type Fields,
} from '../../support/data/management-resources.ts';

const CLIENTS = 12;
let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startGateway();
  await createBase(gateway);
});
afterAll(() => gateway.stop());

const tagOf = (answer: Answer): string => answer.headers.get('etag') ?? '';

/** The same call by all clients at once. */
function all(call: (client: number) => Promise<Answer>): Promise<Answer[]> {
  return Promise.all(Array.from({ length: CLIENTS }, (_, client) => call(client)));
}

/** How often each status came. */
function statuses(answers: readonly Answer[]): Record<number, number> {
  const counts: Record<number, number> = {};
  for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}

describe('duplicates are 409 and name the field', () => {
  const revision = '/apps/base/versions/v1/revisions';

  it.each<[string, string, Fields, string]>([
    ['the slug of another app', '/apps', { name: 'x', slug: 'base', gateway_path: '/free' }, '/slug'],
    ['the path of another app', '/apps', { name: 'x', slug: 'free', gateway_path: '/base' }, '/gateway_path'],
    [
      'the path of another app’s version',
      '/apps',
      { name: 'x', slug: 'free', gateway_path: '/base/v1' },
      '/gateway_path',
    ],
    ['a label of the same app', '/apps/base/versions', { version: 'v1' }, '/version'],
    [
      'the path of a version of the same app',
      '/apps/base/versions',
      { version: 'v2', gateway_path: '/base/v1' },
      '/gateway_path',
    ],
    ['a label of the same version', revision, { revision: 'r1', backend_host: 'x.example' }, '/revision'],
  ])('%s', async (_what, path, body, pointer) => {
    const answer = await gateway.api('POST', path, body);
    expectProblem(answer, 'conflict', { pointers: [pointer] });
  });

  it('the path of a version of another app', async () => {
    await gateway.must('POST', '/apps', { name: 'x', slug: 'rival', gateway_path: '/rival' });
    const body = { version: 'v1', gateway_path: '/base/v1' };
    const answer = await gateway.api('POST', '/apps/rival/versions', body);
    expectProblem(answer, 'conflict', { pointers: ['/gateway_path'] });
  });

  it('by PATCH as well, and nothing changes', async () => {
    const before = await gateway.must('GET', '/apps/rival');
    for (const [body, pointer] of [
      [{ slug: 'base' }, '/slug'],
      [{ gateway_path: '/base' }, '/gateway_path'],
      [{ name: 'renamed', gateway_path: '/base/v1' }, '/gateway_path'],
    ] as const) {
      const answer = await gateway.api('PATCH', '/apps/rival', body);
      expectProblem(answer, 'conflict', { pointers: [pointer] });
    }
    expect(await gateway.must('GET', '/apps/rival')).toEqual(before);
  });

  it('a move of an app that would take the path of another app’s version is refused as a whole', async () => {
    await gateway.must('POST', '/apps/rival/versions', { version: 'v1' });
    await gateway.must('POST', '/apps/base/versions', { version: 'odd', gateway_path: '/new/place/v1' });
    const answer = await gateway.api('PATCH', '/apps/rival', { gateway_path: '/new/place' });
    expectProblem(answer, 'conflict', { pointers: ['/gateway_path'] });
    expect((await gateway.must('GET', '/apps/rival')).gateway_path).toBe('/rival');
    expect((await gateway.must('GET', '/apps/rival/versions/v1')).gateway_path).toBe('/rival/v1');
  });

  it('the same method and path of an endpoint, also with other parameter names', async () => {
    const post = (method: string, path: string): Promise<Answer> =>
      gateway.api('POST', ENDPOINT.collection, { method, path });
    expectData(await post('GET', '/things/{id}'), 201);
    for (const path of ['/things/{id}', '/things/{other}']) {
      expectProblem(await post('GET', path), 'conflict', { pointers: ['/path'] });
    }
    for (const [method, path] of [
      ['POST', '/things/{id}'],
      ['*', '/things/{id}'],
      ['GET', '/things/id'],
      ['GET', '/things/{id}/'],
      ['GET', '/things/*'],
    ] as const) {
      expectData(await post(method, path), 201);
    }
  });

  it('labels of versions and revisions are free under other parents', async () => {
    await gateway.must('POST', revision, { revision: 'shared', backend_host: 'x.example' });
    await gateway.must('POST', '/apps/rival/versions/v1/revisions', {
      revision: 'shared',
      backend_host: 'x.example',
    });
    for (let index = 0; index < 2; index++) {
      expectData(await gateway.api('POST', '/apps/rival/tokens', { name: 'the same' }), 201);
    }
  });
});

describe('exactly one of many clients wins', () => {
  it.each<[string, string, Fields]>([
    ['the same slug', '/apps', { name: 'race', slug: 'race', gateway_path: '/race-%' }],
    ['the same path', '/apps', { name: 'race', slug: 'race-%', gateway_path: '/raced' }],
    ['the same version', '/apps/base/versions', { version: 'race' }],
    ['the same path of versions', '/apps/base/versions', { version: 'race-%', gateway_path: '/raced/v' }],
    ['the same revision', REVISION.collection, { revision: 'race', backend_host: 'x.example' }],
    ['the same endpoint', ENDPOINT.collection, { method: 'GET', path: '/race/{id%}' }],
  ])('that create %s', async (_what, path, body) => {
    const answers = await all((client) =>
      gateway.api('POST', path, JSON.stringify(body).replaceAll('%', String(client))),
    );
    expect(statuses(answers)).toEqual({ 201: 1, 409: CLIENTS - 1 });
    for (const answer of answers.filter(({ status }) => status === 409)) {
      expect(answer.body.code).toBe('conflict');
    }
    const winner = answers.find(({ status }) => status === 201);
    expectData(await gateway.api('GET', `/${winner?.headers.get('location')}`));
  });

  it.each([
    ['app', APP, (client: number) => ({ description: `by ${client}` })],
    ['version', VERSION, (client: number) => ({ gateway_path: `/by/${client}` })],
    ['revision', REVISION, (client: number) => ({ traffic_weight: client })],
    ['endpoint', ENDPOINT, (client: number) => ({ backend_path: `/by/${client}` })],
    ['token', TOKEN, (client: number) => ({ name: `by ${client}` })],
  ] as const)('that PATCH the same %s with the same If-Match', async (_name, resource, change) => {
    const created = await gateway.api('POST', resource.collection, resource.minimal);
    const path = `${resource.collection}/${expectData(created, 201).id}`;
    const answers = await all((client) =>
      gateway.api('PATCH', path, change(client), { 'if-match': tagOf(created) }),
    );
    expect(statuses(answers)).toEqual({ 200: 1, 412: CLIENTS - 1 });
    const winner = answers.findIndex(({ status }) => status === 200);
    expect(await gateway.must('GET', path)).toMatchObject(change(winner));
    for (const answer of answers.filter(({ status }) => status === 412)) {
      expectProblem(answer, 'precondition_failed');
    }
    await gateway.must('DELETE', path);
  });

  it('that DELETE the same record', async () => {
    const { id } = await gateway.must('POST', TOKEN.collection, { name: 'k' });
    const answers = await all(() => gateway.api('DELETE', `${TOKEN.collection}/${id}`));
    expect(statuses(answers)).toEqual({ 204: 1, 404: CLIENTS - 1 });
  });

  it('that activate exclusively: one revision is current afterwards', async () => {
    const labels = Array.from({ length: CLIENTS }, (_, client) => `x${client}`);
    for (const label of labels) {
      await gateway.must('POST', REVISION.collection, { revision: label, backend_host: 'x.example' });
    }
    const answers = await all((client) =>
      gateway.api('POST', `${REVISION.collection}/x${client}/activate`, { exclusive: true }),
    );
    expect(statuses(answers)).toEqual({ 200: CLIENTS });
    const { data } = expectPage(await gateway.api('GET', `${REVISION.collection}?limit=500`));
    expect(data.filter(({ is_current }) => is_current === true)).toHaveLength(1);
  });

  it('without If-Match every change of another field survives', async () => {
    await gateway.must('POST', '/apps', { name: 'shared', slug: 'shared', gateway_path: '/shared' });
    const answers = await all((client) =>
      gateway.api('PATCH', '/apps/shared', { labels: { [`k${client}`]: String(client) } }),
    );
    expect(statuses(answers)).toEqual({ 200: CLIENTS });
    expect(Object.keys((await gateway.must('GET', '/apps/shared')).labels)).toHaveLength(CLIENTS);
    expect(new Set(answers.map(tagOf)).size, 'every change has its own ETag').toBe(CLIENTS);
  });

  it('creating below what another deletes never leaves an orphan', async () => {
    await gateway.must('POST', '/apps', { name: 'doomed', slug: 'doomed', gateway_path: '/doomed' });
    const answers = await all((client) =>
      client === 5
        ? gateway.api('DELETE', '/apps/doomed?cascade=true')
        : gateway.api('POST', '/apps/doomed/versions', { version: `v${client}` }),
    );
    expect(answers[5]?.status).toBe(204);
    const counts = statuses(answers);
    expect((counts[201] ?? 0) + (counts[404] ?? 0)).toBe(CLIENTS - 1);
    expectProblem(await gateway.api('GET', '/apps/doomed'), 'not_found');
    await gateway.must('POST', '/apps', { name: 'doomed', slug: 'doomed', gateway_path: '/doomed' });
    expect(expectPage(await gateway.api('GET', '/apps/doomed/versions')).data).toEqual([]);
    for (let client = 0; client < CLIENTS; client++) {
      await gateway.must('POST', '/apps/doomed/versions', { version: `v${client}` });
    }
  });
});

describe('preconditions', () => {
  const path = '/apps/precious';
  let current = '';
  beforeAll(async () => {
    await gateway.must('POST', '/apps', { name: 'P', slug: 'precious', gateway_path: '/precious' });
  });
  const refresh = async (): Promise<void> => {
    current = tagOf(await gateway.api('GET', path));
  };

  it.each([
    ['an old tag', () => '"AAAAAAAAAAAAAAAAAAAAAA"'],
    ['a weak tag, since the comparison is strong', () => `W/${current}`],
    ['the tag without its quotes', () => current.replaceAll('"', '')],
    ['nonsense', () => 'nonsense'],
    ['nothing', () => ''],
    ['a list without it', () => '"a", "b"'],
  ])('If-Match with %s is 412 for every kind of write', async (_what, header) => {
    await refresh();
    const headers = { 'if-match': header() };
    expectProblem(await gateway.api('PATCH', path, { name: 'no' }, headers), 'precondition_failed');
    expectProblem(await gateway.api('DELETE', path, undefined, headers), 'precondition_failed');
    expect((await gateway.must('GET', path)).name).toBe('P');
  });

  it.each([
    ['the current tag', () => current],
    ['a star', () => '*'],
    ['a list with it', () => `"old", ${current}, W/"older"`],
  ])('If-Match with %s lets the write through', async (_what, header) => {
    await refresh();
    expectData(await gateway.api('PATCH', path, { description: header() }, { 'if-match': header() }));
  });

  it('If-Match on something that does not exist is 404', async () => {
    const answer = await gateway.api('PATCH', '/apps/none', {}, { 'if-match': '*' });
    expectProblem(answer, 'not_found');
  });

  it('activate, deactivate and rotate honour it, too', async () => {
    const { id } = await gateway.must('POST', TOKEN.collection, { name: 'k' });
    const headers = { 'if-match': '"old"' };
    for (const action of [
      `${REVISION.collection}/r1/activate`,
      `${REVISION.collection}/r1/deactivate`,
      `${TOKEN.collection}/${id}/rotate`,
    ]) {
      expectProblem(await gateway.api('POST', action, undefined, headers), 'precondition_failed');
      const record = action.replace(/\/[a-z]+$/, '');
      const tag = tagOf(await gateway.api('GET', record));
      const answer = await gateway.api('POST', action, undefined, { 'if-match': tag });
      expectData(answer);
      expect(tagOf(answer)).not.toBe(tag);
      expect(tagOf(await gateway.api('GET', record))).toBe(tagOf(answer));
    }
  });

  it('If-None-Match answers 304 without a body to whom has it, and 200 to others', async () => {
    await refresh();
    for (const header of [current, `W/${current}`, '*', `"x", ${current}`]) {
      const answer = await gateway.api('GET', path, undefined, { 'if-none-match': header });
      expect([answer.status, answer.body, tagOf(answer)]).toEqual([304, undefined, current]);
    }
    expectData(await gateway.api('GET', path, undefined, { 'if-none-match': '"x"' }));
  });

  it('the tag changes with the record and only with it', async () => {
    await refresh();
    const before = current;
    await gateway.must('PATCH', '/apps/base', { description: 'another app' });
    await gateway.must('POST', '/apps/precious/versions', { version: 'v1' });
    await refresh();
    expect(current).toBe(before);
    await gateway.must('PATCH', path, { description: 'x' });
    await gateway.must('PATCH', path, { description: 'y' });
    await gateway.must('PATCH', path, { description: 'x' });
    await refresh();
    expect(current).not.toBe(before);
  });
});
