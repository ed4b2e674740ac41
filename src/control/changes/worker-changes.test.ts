import { describe, expect, it } from 'vitest';
import {
  appRecord,
  appTree,
  configChange,
  endpointRecord,
  revisionRecord,
  versionRecord,
  versionTree,
} from '../../../test/support/data/config-records.ts';
import { SnapshotHolder } from '../../config/holder.ts';
import { inOneTurn } from '../../config/changes/slices.ts';
import type { AppTree, ConfigChange } from '../../model/config.ts';
import { testGateway } from '../../policy/test-fixtures.ts';
import type { CompiledPolicy } from '../../policy/stage.ts';
import { packChange } from './change-parts.ts';
import { WorkerChanges } from './worker-changes.ts';

const MANY = 20_000;

function large(limit: number, endpoints = MANY): AppTree {
  const records = Array.from({ length: endpoints }, (_, index) =>
    endpointRecord({
      id: `e${index}`,
      path: `/Resources/${index}/{id}`,
      policy_override: {
        rate_limit: { enabled: true, requests: limit + index, window_seconds: 60, per: 'ip' },
        cors: { allowed_origins: [`https://app-${index}.example`] },
      },
    }),
  );
  const revision = revisionRecord({ id: 'r', version_id: 'v1' });
  const version = versionTree(versionRecord({ id: 'v1', app_id: 'large' }), { revision, endpoints: records });
  return appTree(appRecord({ id: 'large' }), version);
}

const small = appTree(
  appRecord({ id: 'small' }),
  versionTree(versionRecord({ id: 'w1', app_id: 'small' }), {
    revision: revisionRecord({ id: 's', version_id: 'w1' }),
    endpoints: [endpointRecord({ path: '/a' })],
  }),
);

function setUp(...apps: AppTree[]) {
  const gateway = testGateway();
  const holder = new SnapshotHolder<CompiledPolicy>(({ policy }) => {
    if (policy['required_scopes'] !== undefined) throw new Error('no such key set');
    return gateway.compile(policy);
  });
  holder.apply(configChange(1, { reset: true, apps }));
  const changes = new WorkerChanges(holder);
  const prepare = (change: ConfigChange) =>
    changes.prepare({ type: 'prepare', id: 1, parts: inOneTurn(packChange(change)) });
  return { holder, changes, prepare };
}

/** Milliseconds of processor time of this thread: others may use the processors too. */
function cpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}

/** Calls a function once in each turn of the event loop until a promise is settled. */
async function eachTurn(until: Promise<unknown>, turn: () => void): Promise<void> {
  let isDone = false;
  const settled = until.finally(() => (isDone = true));
  while (!isDone) {
    await new Promise((resolve) => setImmediate(resolve));
    turn();
  }
  await settled;
}

type Holder = SnapshotHolder<CompiledPolicy>;

const limitsOf = (holder: Holder): unknown[] =>
  holder.current
    .findVersion('/large/v1')
    ?.revisions.flatMap(({ endpoints }) =>
      endpoints.entries.map(
        ({ effective }) => (effective.policy['rate_limit'] as { requests: number }).requests,
      ),
    ) ?? [];

describe('a large change', () => {
  it('is prepared in many turns of the event loop, each a small part of the whole', async () => {
    const { holder, prepare } = setUp(large(1_000), small);
    const change = configChange(2, { apps: [large(2_000)] });
    const before = cpuMs();
    const atOnce = inOneTurn(holder.prepare(change));
    const wholeMs = cpuMs() - before;
    expect(atOnce).toBeTypeOf('function');

    const turns: number[] = [];
    let last = cpuMs();
    await eachTurn(prepare(change), () => {
      const now = cpuMs();
      turns.push(now - last);
      last = now;
      expect(holder.current.findVersion('/small/w1')?.id).toBe('w1');
    });
    // V8 may collect all garbage in one of them.
    const [, second = NaN] = turns.toSorted((a, b) => b - a);
    expect(second).toBeLessThan(wholeMs / 5);
    expect(turns.length).toBeGreaterThan(20);
  });

  it('is seen by requests as a whole when it is applied, and not before', async () => {
    const { holder, changes, prepare } = setUp(large(1_000, 500), small);
    const seen = new Set<string>();
    const look = (): void => {
      const [first, last] = [limitsOf(holder).at(0), limitsOf(holder).at(-1)];
      seen.add(`${holder.current.configVersion}: ${String(first)} ${String(last)}`);
    };
    await eachTurn(prepare(configChange(2, { apps: [large(2_000, 500)] })), look);
    expect(changes.apply(undefined)).toBeUndefined();
    look();
    const ends = (holder1: Holder): string => [limitsOf(holder1).at(0), limitsOf(holder1).at(-1)].join(' ');
    expect(seen).toEqual(
      new Set([`1: ${ends(setUp(large(1_000, 500)).holder)}`, `2: ${ends(setUp(large(2_000, 500)).holder)}`]),
    );
  });

  it('that does not compile leaves the state as it is, and the next change is applied', async () => {
    const { holder, changes, prepare } = setUp(large(1_000, 500));
    const broken = large(2_000, 500);
    const [version] = broken.versions;
    const bad = endpointRecord({ path: '/bad', policy_override: { required_scopes: ['x'] } });
    const endpoints = [...(version?.revisions[0]?.endpoints ?? []), bad];
    const tree = { ...version!, revisions: [{ ...version!.revisions[0]!, endpoints }] };
    const answer = await prepare(configChange(2, { apps: [{ ...broken, versions: [tree] }] }));
    expect(answer.error).toBe('Cannot compile the policy of endpoint GET /bad: no such key set');
    expect(changes.apply(undefined)).toMatch(/was not prepared/);
    expect(holder.current.configVersion).toBe(1);
    expect(limitsOf(holder)).toContain(1_000);
    expect(changes.apply(configChange(2, { apps: [small] }))).toBeUndefined();
    expect(holder.current.findVersion('/small/w1')?.id).toBe('w1');
  });

  it('of single endpoints changes a version that a request takes into use meanwhile', async () => {
    const { holder, changes, prepare } = setUp(large(1_000, 1_000));
    const [tree] = large(5_000, 1_000).versions;
    const { revision, endpoints = [] } = tree?.revisions[0] ?? {};
    const single = endpoints.map((endpoint) => ({
      versionId: 'v1',
      revision: revision!,
      endpointId: endpoint.id,
      endpoint,
    }));
    await eachTurn(prepare(configChange(2, { endpoints: single })), () => {
      expect(limitsOf(holder)).toContain(1_000);
    });
    expect(changes.apply(undefined)).toBeUndefined();
    expect(Math.min(...(limitsOf(holder) as number[]))).toBe(5_000);
  });

  it('is refused when it does not follow the state', async () => {
    const { holder, prepare } = setUp(small);
    const answer = await prepare(configChange(5, { apps: [large(1_000, 500)] }));
    expect(answer.error).toMatch(/config version 5 to 1: must follow it/);
    expect(holder.current.configVersion).toBe(1);
  });
});
