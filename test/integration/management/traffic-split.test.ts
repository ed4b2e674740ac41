/** `PUT …/traffic` and `copy_endpoints_from`: a canary in two calls. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { startOrigin, type Origin } from '../../support/backends/origin.ts';
import {
  createEndpoint,
  createRevision,
  createService,
  createVersion,
  request,
  revisionPath,
  versionPath,
} from '../../support/traffic.ts';

let gateway: TestGateway;
let origin: Origin;
let canary: Origin;

beforeAll(async () => {
  [gateway, origin, canary] = await Promise.all([
    startGateway({ env: { GATEWAY_WORKERS: '1' } }),
    startOrigin(),
    startOrigin(),
  ]);
});
afterAll(async () => {
  await gateway.stop();
  await Promise.all([origin.close(), canary.close()]);
});

const trafficPath = (slug: string): string => `${versionPath(slug)}/traffic`;

/** How many of so many requests came to each of the two backends. */
async function sharesOf(slug: string, count: number): Promise<readonly [number, number]> {
  const before = [origin.seen.length, canary.seen.length] as const;
  for (let sent = 0; sent < count; sent++) {
    expect((await request(gateway, `/${slug}/v1/x`)).status).toBe(200);
  }
  return [origin.seen.length - before[0], canary.seen.length - before[1]];
}

it('splits the traffic in one step, exactly, and names what is out of it', async () => {
  await createService(gateway, 'split', origin.port);
  await createRevision(gateway, 'split', canary.port, { revision: 'r2', is_current: false });
  const put = await gateway.api('PUT', trafficPath('split'), { r1: 90, r2: 10 });
  expect(put.status).toBe(200);
  expect(put.body.data).toEqual({ r1: 90, r2: 10 });
  expect(await sharesOf('split', 100)).toEqual([90, 10]);
  expect((await gateway.must('GET', revisionPath('split', 'v1', 'r2'))).is_current).toBe(true);

  await gateway.must('PUT', trafficPath('split'), { r2: 1 });
  expect(await gateway.must('GET', trafficPath('split'))).toEqual({ r2: 1 });
  expect((await gateway.must('GET', revisionPath('split'))).is_current).toBe(false);
  expect(await sharesOf('split', 10)).toEqual([0, 10]);
});

it('changes nothing where a revision is unknown, the body is empty or the state has moved', async () => {
  await createService(gateway, 'whole', origin.port);
  const unknown = await gateway.api('PUT', trafficPath('whole'), { r1: 50, r9: 50 });
  expect(unknown.status).toBe(422);
  const detail = 'is not a revision of whole/v1; expected only "r1"';
  expect(unknown.body.errors).toEqual([{ pointer: '/r9', detail }]);
  expect((await gateway.api('PUT', trafficPath('whole'), {})).status).toBe(422);
  expect((await gateway.api('PUT', trafficPath('whole'), { r1: -1 })).status).toBe(422);
  const tag = (await gateway.api('GET', trafficPath('whole'))).headers.get('etag') ?? '';
  await gateway.must('PUT', trafficPath('whole'), { r1: 7 });
  const stale = await gateway.api('PUT', trafficPath('whole'), { r1: 8 }, { 'if-match': tag });
  expect(stale.status).toBe(412);
  const dry = await gateway.api('PUT', `${trafficPath('whole')}?dry_run=true`, { r1: 9 });
  expect(dry.status).toBe(200);
  expect(await gateway.must('GET', trafficPath('whole'))).toEqual({ r1: 7 });
});

it('is one config version and one audit entry with the weights before and after', async () => {
  await createService(gateway, 'audited', origin.port);
  await createRevision(gateway, 'audited', canary.port, { revision: 'r2', is_current: false });
  await gateway.must('PUT', trafficPath('audited'), { r1: 3, r2: 1 });
  const [entry] = (await gateway.must('GET', '/audit?limit=1&order=newest_first')) as Record<
    string,
    unknown
  >[];
  expect(entry).toMatchObject({
    action: 'version.traffic',
    resource_type: 'version',
    change: { before: { r1: 100 }, after: { r1: 3, r2: 1 } },
  });
});

it('copies every endpoint with its policy into a new revision, and the copies are its own', async () => {
  await createService(gateway, 'copied', origin.port, { app: { routing_mode: 'managed_endpoint' } });
  await createEndpoint(gateway, 'copied', 'GET', '/x', { backend_path: '/from/x' });
  const policy = { auth: { auth_type: 'jwt', jwt: { secret: 'a-shared-secret-of-some-length-0123' } } };
  await createEndpoint(gateway, 'copied', 'POST', '/secret', { policy_override: policy, is_active: false });
  await createRevision(gateway, 'copied', canary.port, {
    revision: 'r2',
    is_current: false,
    copy_endpoints_from: 'r1',
  });
  const endpoints = async (revision: string) =>
    (await gateway.must('GET', `${revisionPath('copied', 'v1', revision)}/endpoints`)) as Record<
      string,
      unknown
    >[];
  const [before, copies] = [await endpoints('r1'), await endpoints('r2')];
  const plain = (all: Record<string, unknown>[]) =>
    all.map(({ id: _id, revision_id: _revision, created_at: _c, updated_at: _u, ...rest }) => rest);
  expect(plain(copies)).toEqual(plain(before));
  expect(copies.map(({ id }) => id)).not.toEqual(before.map(({ id }) => id));

  await gateway.must('PUT', trafficPath('copied'), { r2: 1 });
  expect((await request(gateway, '/copied/v1/x')).status).toBe(200);
  expect(canary.seen.at(-1)?.url).toBe('/from/x');
  await gateway.must('DELETE', `${revisionPath('copied')}/endpoints/${String(before[0]?.['id'])}`);
  expect(await endpoints('r2')).toHaveLength(2);
});

it('copies from a revision of another version, a thousand endpoints in one write, or refuses as a whole', async () => {
  await createService(gateway, 'large', origin.port);
  const path = `/api/v1${revisionPath('large')}/endpoints`;
  const steps = Array.from({ length: 1_000 }, (_, number) => {
    return { method: 'POST', path, body: { method: 'GET', path: `/e${number}` } };
  });
  await gateway.must('POST', '/transaction', { operations: steps });
  await createEndpoint(gateway, 'large', 'GET', '/e1000');
  await createVersion(gateway, 'large', 'v2');
  const made = await createRevision(
    gateway,
    'large',
    origin.port,
    { revision: 'next', copy_endpoints_from: 'v1/r1' },
    'v2',
  );
  expect(made).not.toHaveProperty('copy_endpoints_from');
  const listed = await gateway.api('GET', `${revisionPath('large', 'v2', 'next')}/endpoints?limit=1`);
  expect(listed.body.page.total).toBe(1001);

  for (const from of ['r9', 'v9/r1', 'v1/r9', 'lonely']) {
    const refused = await gateway.api('POST', `${versionPath('large')}/revisions`, {
      revision: 'lonely',
      backend_host: 'backend.example',
      copy_endpoints_from: from,
    });
    expect(refused.status).toBe(422);
    expect(refused.body.errors[0].pointer).toBe('/copy_endpoints_from');
  }
  expect((await gateway.api('GET', revisionPath('large', 'v1', 'lonely'))).status).toBe(404);
  const patched = await gateway.api('PATCH', revisionPath('large'), { copy_endpoints_from: 'r2' });
  expect(patched.status).toBe(422);
});

it('takes a label for a label, also one that every object has', async () => {
  await createService(gateway, 'odd', origin.port);
  for (const revision of ['constructor', 'toString'])
    await createRevision(gateway, 'odd', canary.port, { revision, is_current: false });
  const unknown = await gateway.api('PUT', trafficPath('odd'), { 'a~b': 1, valueOf: 1 });
  expect(unknown.body.errors).toMatchObject([{ pointer: '/a~0b' }, { pointer: '/valueOf' }]);
  expect((await gateway.api('PUT', trafficPath('odd'), { r1: 2 })).body.data).toEqual({ r1: 2 });
  const both = { constructor: 1, r1: 3 };
  expect((await gateway.api('PUT', trafficPath('odd'), both)).body.data).toEqual(both);
  expect(await sharesOf('odd', 4)).toEqual([3, 1]);
  const unnamable = await gateway.api('POST', `${versionPath('odd')}/revisions`, {
    revision: '__proto__',
    backend_host: '127.0.0.1',
  });
  expect(unnamable.body.errors).toEqual([{ pointer: '/revision', detail: 'must not be "__proto__"' }]);
});
