/** Contract parts 3 "Revision" and 9.4: activation, and exact proportions among current revisions. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { startOrigin, type Origin } from '../../support/backends/origin.ts';
import { connectRaw } from '../../support/clients/raw-client.ts';
import {
  createApp,
  createEndpoint,
  createRevision,
  createVersion,
  echoed,
  problem,
  request,
  requestText,
  revisionPath,
  type Fields,
} from '../../support/traffic.ts';

let gateway: TestGateway;
let origin: Origin;

beforeAll(async () => {
  [gateway, origin] = await Promise.all([startGateway(), startOrigin()]);
});
afterAll(async () => {
  await gateway.stop();
  await origin.close();
});

/** An app whose revisions tell their label by their base path; `fields` by label. */
async function weighted(
  slug: string,
  revisions: Readonly<Record<string, Fields>>,
  app: Fields = {},
): Promise<void> {
  await createApp(gateway, slug, app);
  await createVersion(gateway, slug);
  for (const [revision, fields] of Object.entries(revisions)) {
    await createRevision(gateway, slug, origin.port, {
      revision,
      backend_base_path: `/${revision}`,
      ...fields,
    });
  }
}

/** Sends requests one after another on one connection and tells which revision served each. */
async function servedBy(target: string, count: number, method = 'GET'): Promise<string[]> {
  const client = await connectRaw(gateway.proxyPort);
  const labels: string[] = [];
  for (let index = 0; index < count; index++) {
    client.write(requestText(target, { method }));
    const response = await client.response();
    labels.push(response.status === 200 ? (echoed(response).url.split('/')[1] ?? '') : `${response.status}`);
  }
  client.end();
  return labels;
}

function countsOf(labels: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const label of labels) counts[label] = (counts[label] ?? 0) + 1;
  return counts;
}

describe('proportions', () => {
  it('spec 3: traffic is distributed proportionally to traffic_weight, exactly in every full cycle', async () => {
    await weighted('exact', { a: { traffic_weight: 5 }, b: { traffic_weight: 2 }, c: { traffic_weight: 1 } });
    const labels = await servedBy('/exact/v1/x', 80);
    for (let cycle = 0; cycle < 10; cycle++) {
      expect(countsOf(labels.slice(cycle * 8, cycle * 8 + 8))).toEqual({ a: 5, b: 2, c: 1 });
    }
  });

  it('the choice is smooth: a small revision is not served in a burst', async () => {
    await weighted('smooth', { big: { traffic_weight: 90 }, small: { traffic_weight: 10 } });
    const labels = await servedBy('/smooth/v1/x', 100);
    expect(countsOf(labels)).toEqual({ big: 90, small: 10 });
    const places = labels.flatMap((label, index) => (label === 'small' ? [index] : []));
    for (const [index, place] of places.entries()) {
      if (index > 0) expect(place - (places[index - 1] ?? 0)).toBe(10);
    }
  });

  it('spec 2: without a weight all current revisions get the same share (default 100)', async () => {
    await weighted('equal', { a: {}, b: {}, c: { traffic_weight: 100 } });
    expect(countsOf(await servedBy('/equal/v1/x', 30))).toEqual({ a: 10, b: 10, c: 10 });
  });

  it('the proportions hold over many connections at once', async () => {
    await weighted('many', { a: { traffic_weight: 3 }, b: { traffic_weight: 1 } });
    const labels = await Promise.all(Array.from({ length: 20 }, () => servedBy('/many/v1/x', 10)));
    expect(countsOf(labels.flat())).toEqual({ a: 150, b: 50 });
  });

  it('spec 9: a PATCH of traffic_weight moves the traffic', async () => {
    await weighted('rollout', { stable: { traffic_weight: 100 }, canary: { traffic_weight: 0 } });
    expect(countsOf(await servedBy('/rollout/v1/x', 20))).toEqual({ stable: 20 });
    const steps: readonly (readonly [number, number, Record<string, number>])[] = [
      [95, 5, { stable: 19, canary: 1 }],
      [50, 50, { stable: 10, canary: 10 }],
      [0, 100, { canary: 20 }],
    ];
    for (const [stable, canary, expected] of steps) {
      await gateway.must('PATCH', revisionPath('rollout', 'v1', 'stable'), { traffic_weight: stable });
      await gateway.must('PATCH', revisionPath('rollout', 'v1', 'canary'), { traffic_weight: canary });
      expect(countsOf(await servedBy('/rollout/v1/x', 20))).toEqual(expected);
    }
  });

  it('weight 0 gets nothing; with nothing but weight 0 the answer is 503', async () => {
    await weighted('zero', { a: { traffic_weight: 1 }, b: { traffic_weight: 0 } });
    expect(countsOf(await servedBy('/zero/v1/x', 20))).toEqual({ a: 20 });
    await gateway.must('PATCH', revisionPath('zero', 'v1', 'a'), { traffic_weight: 0 });
    const none = await request(gateway, '/zero/v1/x');
    expect(problem(none)).toMatchObject({ status: 503, code: 'no_revision' });
    await gateway.must('DELETE', revisionPath('zero', 'v1', 'b'));
    expect(problem(await request(gateway, '/zero/v1/x')).code).toBe('no_revision');
  });
});

describe('candidates', () => {
  beforeAll(async () => {
    await weighted(
      'canary',
      { stable: { traffic_weight: 3 }, canary: { traffic_weight: 1 } },
      { routing_mode: 'managed_endpoint' },
    );
    for (const revision of ['stable', 'canary']) {
      await createEndpoint(gateway, 'canary', 'GET', '/both', {}, { revision });
    }
    await createEndpoint(gateway, 'canary', 'GET', '/new', {}, { revision: 'canary' });
    await createEndpoint(gateway, 'canary', 'GET', '/old', {}, { revision: 'stable' });
    await createEndpoint(gateway, 'canary', 'POST', '/method', {}, { revision: 'stable' });
    await createEndpoint(gateway, 'canary', 'GET', '/method', {}, { revision: 'canary' });
    await createEndpoint(gateway, 'canary', 'GET', '/half', {}, { revision: 'stable' });
    await createEndpoint(gateway, 'canary', 'GET', '/half', { is_active: false }, { revision: 'canary' });
  });

  it('an endpoint of the canary alone does not answer 404 by turns', async () => {
    expect(countsOf(await servedBy('/canary/v1/new', 12))).toEqual({ canary: 12 });
    expect(countsOf(await servedBy('/canary/v1/old', 12))).toEqual({ stable: 12 });
    expect(countsOf(await servedBy('/canary/v1/method', 12))).toEqual({ canary: 12 });
    expect(countsOf(await servedBy('/canary/v1/method', 12, 'POST'))).toEqual({ stable: 12 });
  });

  it('an endpoint that is disabled on one revision is served by the other alone', async () => {
    expect(countsOf(await servedBy('/canary/v1/half', 12))).toEqual({ stable: 12 });
  });

  it('requests that only one revision can serve do not disturb the proportions of the others', async () => {
    const labels: string[] = [];
    for (let cycle = 0; cycle < 10; cycle++) {
      labels.push(...(await servedBy('/canary/v1/both', 2)));
      await servedBy('/canary/v1/new', 1);
      await servedBy('/canary/v1/old', 3);
      labels.push(...(await servedBy('/canary/v1/both', 2)));
    }
    expect(countsOf(labels)).toEqual({ stable: 30, canary: 10 });
  });

  it('spec 7: an endpoint that no current revision has is 404; of a revision that is not current, too', async () => {
    expect(countsOf(await servedBy('/canary/v1/none', 8))).toEqual({ 404: 8 });
    await createRevision(gateway, 'canary', origin.port, { revision: 'idle', is_current: false });
    await createEndpoint(gateway, 'canary', 'GET', '/idle', {}, { revision: 'idle' });
    expect(countsOf(await servedBy('/canary/v1/idle', 4))).toEqual({ 404: 4 });
  });
});

describe('activation', () => {
  it('a new revision is not current and gets no traffic until it is activated', async () => {
    await weighted('fresh', { r1: { is_current: false } });
    expect(problem(await request(gateway, '/fresh/v1/x'))).toMatchObject({
      status: 503,
      code: 'no_revision',
    });
    const activated = await gateway.must('POST', `${revisionPath('fresh')}/activate`);
    expect(activated).toMatchObject({ revision: 'r1', is_current: true });
    expect((await request(gateway, '/fresh/v1/x')).status).toBe(200);
    expect((await gateway.must('GET', revisionPath('fresh'))).is_current).toBe(true);
  });

  it('activate leaves the other revisions as they are: several are current at once', async () => {
    await weighted('several', { r1: {}, r2: { is_current: false } });
    expect(countsOf(await servedBy('/several/v1/x', 4))).toEqual({ r1: 4 });
    await gateway.must('POST', `${revisionPath('several', 'v1', 'r2')}/activate`);
    expect(countsOf(await servedBy('/several/v1/x', 4))).toEqual({ r1: 2, r2: 2 });
    expect((await gateway.must('GET', revisionPath('several'))).is_current).toBe(true);
  });

  it('activate {"exclusive": true} makes it the only current one in one step', async () => {
    await gateway.must('POST', `${revisionPath('several', 'v1', 'r2')}/activate`, { exclusive: true });
    expect(countsOf(await servedBy('/several/v1/x', 4))).toEqual({ r2: 4 });
    expect((await gateway.must('GET', revisionPath('several'))).is_current).toBe(false);
  });

  it('deactivate is the opposite of activate', async () => {
    await gateway.must('POST', `${revisionPath('several')}/activate`);
    const off = await gateway.must('POST', `${revisionPath('several', 'v1', 'r2')}/deactivate`);
    expect(off.is_current).toBe(false);
    expect(countsOf(await servedBy('/several/v1/x', 4))).toEqual({ r1: 4 });
    await gateway.must('POST', `${revisionPath('several')}/deactivate`);
    expect((await request(gateway, '/several/v1/x')).status).toBe(503);
  });

  it('spec 2: is_current marks a revision as eligible, also by PATCH', async () => {
    await gateway.must('PATCH', revisionPath('several'), { is_current: true });
    expect(countsOf(await servedBy('/several/v1/x', 4))).toEqual({ r1: 4 });
    await gateway.must('PATCH', revisionPath('several'), { is_current: false });
    expect((await request(gateway, '/several/v1/x')).status).toBe(503);
  });

  it('spec 3: activating twice is no error and changes nothing', async () => {
    for (let time = 0; time < 2; time++) {
      const again = await gateway.api('POST', `${revisionPath('several')}/activate`);
      expect([again.status, again.body.data.is_current]).toEqual([200, true]);
    }
    expect(countsOf(await servedBy('/several/v1/x', 4))).toEqual({ r1: 4 });
  });
});
