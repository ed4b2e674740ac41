/**
 * Contract part 3 through the started program: states and what moves them (version status, endpoint activity, current
 * revisions), with the traffic that obeys each answer at once.
 */
// oxlint-disable vitest/expect-expect -- expectData and expectProblem are assertions
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ADMIN_TOKEN, startGateway, type TestGateway } from '../../support/gateway.ts';
import { expectData, expectPage, expectProblem, RFC3339_UTC } from '../../support/management.ts';
import { startOrigin, type Origin } from '../../support/backends/origin.ts';
import {
  createApp,
  createRevision,
  createService,
  createVersion,
  request,
  revisionPath,
  versionPath,
} from '../../support/traffic.ts';

let gateway: TestGateway;
let origin: Origin;
let second: Origin;
beforeAll(async () => {
  [gateway, origin, second] = await Promise.all([
    startGateway({ env: { GATEWAY_WORKERS: '2' } }),
    startOrigin(),
    startOrigin((_request, response) => response.end('second')),
  ]);
});
afterAll(async () => {
  await gateway.stop();
  await Promise.all([origin.close(), second.close()]);
});

const status = async (target: string): Promise<number> => (await request(gateway, target)).status;

describe('spec 3: version status', () => {
  const STATES = ['active', 'deprecated', 'retired'] as const;
  const version = versionPath('states');
  beforeAll(() => createService(gateway, 'states', origin.port));

  it.each(STATES.flatMap((from) => STATES.map((to) => [from, to] as const)))(
    'from %s to %s, obeyed by the next request',
    async (from, to) => {
      await gateway.must('PATCH', version, { status: from });
      const answer = await gateway.api('PATCH', version, { status: to });
      const record = expectData(answer);
      expect(record.status).toBe(to);
      if (to === 'deprecated') expect(record.deprecated_at).toMatch(RFC3339_UTC);
      else expect(record.deprecated_at).toBeNull();
      const responses = await Promise.all(Array.from({ length: 4 }, () => request(gateway, '/states/v1/x')));
      for (const response of responses) {
        expect(response.status).toBe(to === 'retired' ? 410 : 200);
        expect(response.headers['deprecation'] !== undefined).toBe(to === 'deprecated');
      }
    },
  );

  it.each(STATES)('a version can be created %s', async (initial) => {
    const created = await createVersion(gateway, 'states', `new-${initial}`, { status: initial });
    expect([created.status, created.deprecated_at !== null]).toEqual([initial, initial === 'deprecated']);
  });

  it('staying deprecated keeps the time of deprecation, leaving it forgets it', async () => {
    const first = await gateway.must('PATCH', version, { status: 'deprecated' });
    const same = await gateway.must('PATCH', version, {
      status: 'deprecated',
      sunset_at: '2099-01-01T00:00:00Z',
    });
    expect(same.deprecated_at).toBe(first.deprecated_at);
    await gateway.must('PATCH', version, { status: 'active' });
    const again = await gateway.must('PATCH', version, { status: 'deprecated' });
    expect(Date.parse(again.deprecated_at)).toBeGreaterThanOrEqual(Date.parse(first.deprecated_at));
    expect((await gateway.must('PATCH', version, { status: 'active' })).deprecated_at).toBeNull();
  });

  it('an unknown status is refused, and traffic flows on', async () => {
    const answer = await gateway.api('PATCH', version, { status: 'disabled' });
    expectProblem(answer, 'validation_failed', { pointers: ['/status'] });
    expect(await status('/states/v1/x')).toBe(200);
  });
});

describe('spec 3: endpoint activity', () => {
  it('is_active false answers 404, true serves again, each with the next request', async () => {
    await createService(gateway, 'activity', origin.port, { app: { routing_mode: 'managed_endpoint' } });
    const endpoints = `${revisionPath('activity')}/endpoints`;
    const { id } = await gateway.must('POST', endpoints, { method: 'GET', path: '/x' });
    for (let round = 0; round < 10; round++) {
      const isActive = round % 2 === 1;
      const record = await gateway.must('PATCH', `${endpoints}/${id}`, { is_active: isActive });
      expect(record.is_active).toBe(isActive);
      expect(await status('/activity/v1/x')).toBe(isActive ? 200 : 404);
    }
    await gateway.must('DELETE', `${endpoints}/${id}`);
    expect(await status('/activity/v1/x')).toBe(404);
  });
});

describe('spec 3: activation of revisions', () => {
  const revisions = `${versionPath('weights')}/revisions`;
  const current = async (): Promise<string[]> => {
    const { data } = expectPage(await gateway.api('GET', revisions));
    return data.filter(({ is_current }) => is_current === true).map(({ revision }) => revision as string);
  };
  beforeAll(async () => {
    await createApp(gateway, 'weights');
    await createVersion(gateway, 'weights');
    for (const revision of ['r1', 'r2', 'r3']) {
      await createRevision(gateway, 'weights', origin.port, { revision, is_current: false });
    }
  });

  it('a new revision gets no traffic before it is activated', async () => {
    expect(await current()).toEqual([]);
    expect(await status('/weights/v1/x')).toBe(503);
  });

  it('spec 4: activate needs no body and answers the activated revision', async () => {
    const answer = await gateway.api('POST', `${revisions}/r1/activate`);
    expect(expectData(answer)).toMatchObject({ revision: 'r1', is_current: true });
    expect(await status('/weights/v1/x')).toBe(200);
  });

  it.each(['application/x-www-form-urlencoded', 'application/json', 'text/plain'])(
    'what clients say of a body that is not there does not matter: %s',
    async (type) => {
      const response = await fetch(`${gateway.base}/api/v1${revisions}/r1/activate`, {
        method: 'POST',
        headers: { authorization: `Bearer ${ADMIN_TOKEN}`, 'content-type': type },
      });
      expect(await response.json()).toMatchObject({ data: { revision: 'r1', is_current: true } });
    },
  );

  it('others stay as they are: several are current at once', async () => {
    for (const body of [{}, { exclusive: false }]) {
      await gateway.must('POST', `${revisions}/r2/activate`, body);
      expect(await current()).toEqual(['r1', 'r2']);
    }
  });

  it('exclusive makes it the only one', async () => {
    await gateway.must('POST', `${revisions}/r3/activate`, { exclusive: true });
    expect(await current()).toEqual(['r3']);
  });

  it('deactivate is the opposite; the last one gone is 503', async () => {
    const answer = await gateway.api('POST', `${revisions}/r3/deactivate`);
    expect(expectData(answer)).toMatchObject({ revision: 'r3', is_current: false });
    expect(await current()).toEqual([]);
    expect(await status('/weights/v1/x')).toBe(503);
  });

  it('what is so already does not change: no new ETag, no entry in the audit log', async () => {
    await gateway.must('POST', `${revisions}/r1/activate`, { exclusive: true });
    const etagOf = async (path: string): Promise<string | null> =>
      (await gateway.api('GET', path)).headers.get('etag');
    const before = await etagOf(`${revisions}/r1`);
    const audited = async (): Promise<unknown> => (await gateway.api('GET', '/audit')).body.page.total;
    const entries = await audited();
    for (const body of [undefined, {}, { exclusive: true }]) {
      const answer = await gateway.api('POST', `${revisions}/r1/activate`, body);
      expect(expectData(answer)).toMatchObject({ revision: 'r1', is_current: true });
      expect(answer.headers.get('etag')).toBe(before);
    }
    expect(expectData(await gateway.api('POST', `${revisions}/r2/deactivate`))).toMatchObject({
      is_current: false,
    });
    expect(await audited()).toBe(entries);
    // Already current, but no longer the only one: there is something to do.
    await gateway.must('POST', `${revisions}/r2/activate`);
    await gateway.must('POST', `${revisions}/r1/activate`, { exclusive: true });
    expect(await current()).toEqual(['r1']);
    expect(await etagOf(`${revisions}/r1`)).toBe(before);
    await gateway.must('POST', `${revisions}/r1/deactivate`);
  });

  it('deactivate goes by no body: what is exclusive elsewhere moves nothing here', async () => {
    const isCurrent = async (name: string): Promise<boolean> =>
      (await gateway.must('GET', `${revisions}/${name}`)).is_current;
    await gateway.must('POST', `${revisions}/r1/activate`, { exclusive: true });
    await gateway.must('POST', `${revisions}/r2/activate`);
    await gateway.must('POST', `${revisions}/r1/deactivate`, { exclusive: true });
    expect([await isCurrent('r1'), await isCurrent('r2')]).toEqual([false, true]);
    await gateway.must('POST', `${revisions}/r2/deactivate`);
  });

  it('activating twice is no error, and is_current can be patched, too', async () => {
    await gateway.must('POST', `${revisions}/r1/activate`);
    await gateway.must('POST', `${revisions}/r1/activate`);
    await gateway.must('PATCH', `${revisions}/r2`, { is_current: true });
    expect(await current()).toEqual(['r1', 'r2']);
    await gateway.must('PATCH', `${revisions}/r2`, { is_current: false });
    await gateway.must('DELETE', `${revisions}/r1`);
    expect(await current()).toEqual([]);
    expect(await status('/weights/v1/x')).toBe(503);
  });

  it('an exclusive switch never leaves a request without a revision', async () => {
    await createApp(gateway, 'blue-green');
    await createVersion(gateway, 'blue-green');
    await createRevision(gateway, 'blue-green', origin.port, { revision: 'blue' });
    await createRevision(gateway, 'blue-green', second.port, { revision: 'green', is_current: false });
    let switching = true;
    const seen = new Set<number>();
    const traffic = Promise.all(
      Array.from({ length: 4 }, async () => {
        while (switching) seen.add(await status('/blue-green/v1/x'));
      }),
    );
    const path = `${versionPath('blue-green')}/revisions`;
    for (let round = 0; round < 20; round++) {
      const next = round % 2 === 0 ? 'green' : 'blue';
      await gateway.must('POST', `${path}/${next}/activate`, { exclusive: true });
      const { body } = await request(gateway, '/blue-green/v1/x');
      expect(body === 'second', 'the next request obeys').toBe(next === 'green');
    }
    switching = false;
    await traffic;
    expect([...seen]).toEqual([200]);
  });

  it('activating a revision that does not exist is 404', async () => {
    expectProblem(await gateway.api('POST', `${revisions}/none/activate`), 'not_found');
    expectProblem(await gateway.api('POST', `${revisions}/none/deactivate`), 'not_found');
  });
});

describe('a write that is answered is in force', () => {
  it('on every worker, for creations, changes and deletions', async () => {
    await createService(gateway, 'force', origin.port);
    const everywhere = async (target: string): Promise<number[]> => {
      const found = await Promise.all(Array.from({ length: 8 }, () => status(target)));
      return [...new Set(found)];
    };
    expect(await everywhere('/force/v1/x')).toEqual([200]);
    await gateway.must('PATCH', '/apps/force', { gateway_path: '/moved' });
    expect(await everywhere('/force/v1/x')).toEqual([404]);
    expect(await everywhere('/moved/v1/x')).toEqual([200]);
    await gateway.must('PATCH', '/apps/force', { default_policy: { auth: { auth_type: 'api_key' } } });
    expect(await everywhere('/moved/v1/x')).toEqual([401]);
    await gateway.must('PATCH', '/apps/force', { default_policy: null });
    expect(await everywhere('/moved/v1/x')).toEqual([200]);
    await gateway.must('DELETE', '/apps/force?cascade=true');
    expect(await everywhere('/moved/v1/x')).toEqual([404]);
  });
});
