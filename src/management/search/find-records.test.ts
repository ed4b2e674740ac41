import { hash } from 'node:crypto';
import { expect, it } from 'vitest';
import { makeApp, makeEndpoint, makeKey, makeRevision, makeVersion } from '../../../test/contract/records.ts';
import { ConfigState } from '../../control/cluster/config-state.ts';
import type { ConfigChange } from '../../model/config.ts';
import { findRecords, type SearchOutcome } from './find-records.ts';

const ENDPOINTS = 100_000;
const KEYS = 20_000;

const START: ConfigChange = {
  configVersion: 1,
  reset: true,
  apps: [],
  removedAppIds: [],
  versions: [],
  removedVersionIds: [],
  keys: [],
  removedKeyIds: [],
};

function largeState(): ConfigState {
  const app = makeApp({ slug: 'big', name: 'Big', gateway_path: '/big' });
  const version = makeVersion(app, { version: 'v1' });
  const revision = makeRevision(version, { revision: 'r1' });
  const endpoints = Array.from({ length: ENDPOINTS }, (_, index) =>
    makeEndpoint(revision, { method: 'GET', path: `/orders/${index}/lines/{line_id}` }),
  );
  const keys = Array.from({ length: KEYS }, (_, index) =>
    makeKey(app, { name: `partner ${index}`, token_hash: hash('sha256', String(index)) }),
  );
  const state = new ConfigState();
  state.apply({
    ...START,
    apps: [{ app, versions: [{ version, revisions: [{ revision, endpoints }] }] }],
    keys,
  });
  return state;
}

it('finds among 100,000 endpoints and 20,000 keys without holding up the thread', async () => {
  const state = largeState();
  const search = (text: string): Promise<SearchOutcome> =>
    findRecords(state, { text, limit: 5, adminTokens: [], nowMs: () => performance.now() });
  // Of this thread's own computing time, since others compute on the machine, too.
  const computedMs = (): number => {
    const { user, system } = process.threadCpuUsage();
    return (user + system) / 1_000;
  };
  let [longestMs, lastMs, turns, isOver] = [0, computedMs(), 0, false];
  const turn = (): void => {
    const nowMs = computedMs();
    longestMs = Math.max(longestMs, nowMs - lastMs);
    lastMs = nowMs;
    turns += 1;
    if (!isOver) setImmediate(turn);
  };
  try {
    await search('warm');
    const last = await search('get /orders/99999/');
    expect(last).toMatchObject({ total: 1, complete: true });
    expect(last.items).toMatchObject([
      { kind: 'endpoint', match: 'prefix', path: 'big / v1 / r1 / GET /orders/99999/lines/{line_id}' },
    ]);
    expect(await search('PARTNER 19999')).toMatchObject({ total: 1, items: [{ match: 'exact' }] });
    [longestMs, lastMs, turns] = [0, computedMs(), 0];
    setImmediate(turn);
    const all = await search('r');
    expect(all.total).toBe(ENDPOINTS + KEYS + 1);
    expect(all.items[0]).toMatchObject({ kind: 'revision', match: 'prefix' });
  } finally {
    isOver = true;
  }
  expect(turns).toBeGreaterThan(5);
  expect(longestMs).toBeLessThan(50);
});

it('lets other work in between apps, also between those without versions', async () => {
  const apps = ['one', 'two', 'three'].map((slug) => ({
    app: makeApp({ slug, gateway_path: `/${slug}` }),
    versions: [],
  }));
  const state = new ConfigState();
  state.apply({ ...START, apps });
  // Each look at the clock finds that a slice is over.
  let nowMs = 0;
  let turns = 0;
  let isOver = false;
  const turn = (): void => {
    turns += 1;
    if (!isOver) setImmediate(turn);
  };
  setImmediate(turn);
  const found = await findRecords(state, {
    text: 'o',
    limit: 5,
    adminTokens: [],
    nowMs: () => (nowMs += 100),
  });
  isOver = true;
  expect(found).toMatchObject({ total: 2, complete: true });
  expect(turns).toBeGreaterThanOrEqual(apps.length);
});
