import { afterEach, describe, expect, it, vi } from 'vitest';
import { systemClock } from '../../lib/clock.ts';
import { createLogger } from '../../observe/log.ts';
import { StorageRefused, StorageUnavailable } from '../../storage/storage-errors.ts';
import type {
  ClusterStore,
  MembershipEvents,
  NodeDescription,
  NodeRecord,
} from '../../storage/repository.ts';
import { Cluster } from './cluster.ts';
import { awakeMs } from '../../../test/support/measure/steady.ts';

const WAIT_MS = 200;
let stop: () => Promise<void> = async () => undefined;
afterEach(() => stop());

/** Other nodes as the test sets them, and what this node has announced. */
async function setUp(others: Record<string, number>, writeWaitMs = WAIT_MS) {
  const versions = new Map(Object.entries(others));
  const told: number[] = [];
  let self: NodeDescription | undefined;
  let events: MembershipEvents | undefined;
  let looks = 0;
  let careful = 0;
  let left = false;
  const failure: { error: Error | undefined } = { error: undefined };
  const store: ClusterStore = {
    async join(node, _configVersion, given) {
      if (failure.error !== undefined) throw failure.error;
      self = node;
      events = given;
      return {
        applied: (version) => told.push(version),
        leave: async () => {
          left = true;
        },
      };
    },
    send: async () => undefined,
    async liveNodes() {
      if (failure.error !== undefined) throw failure.error;
      const record = (id: string, configVersion: number): NodeRecord => ({
        id,
        name: id,
        programVersion: '1',
        startedAt: '',
        lastSeenAt: '',
        configVersion,
      });
      return [record(self?.id ?? 'self', 1), ...[...versions].map(([id, version]) => record(id, version))];
    },
  };
  const cluster = new Cluster({
    managementPort: () => 9090,
    settings: { nodeName: 'me', heartbeatMs: 1_000, nodeTimeoutMs: 5_000, writeWaitMs },
    programVersion: '1',
    configSync: {
      position: { configVersion: 1, changeId: 'a' },
      catchUp: async () => {
        looks += 1;
      },
      catchUpIfNewer: async () => {
        careful += 1;
      },
    },
    onNodes: () => undefined,
    clock: systemClock,
    log: createLogger({
      level: 'silent',
      format: 'json',
      output: { write: () => undefined },
      clock: systemClock,
    }),
  });
  stop = () => cluster.stop();
  return {
    cluster,
    store,
    versions,
    told,
    failure,
    events: () => events as MembershipEvents,
    looks: () => looks,
    careful: () => careful,
    hasLeft: () => left,
  };
}

async function timed<T>(work: Promise<T>) {
  const [startedMs, startedAwakeMs] = [performance.now(), awakeMs()];
  const value = await work;
  return { value, ms: performance.now() - startedMs, awakeMs: awakeMs() - startedAwakeMs };
}

describe('a write', () => {
  it('is applied when the only node has applied it', async () => {
    const { cluster } = await setUp({});
    await cluster.join(undefined);
    expect(await cluster.settle(7)).toEqual({ applied: 1, nodes: 1 });
    cluster.applied(7);
    expect(await cluster.nodes()).toMatchObject([{ name: 'me', configVersion: 7 }]);
  });

  it('waits until the other nodes report it as applied', async () => {
    const { cluster, store, events } = await setUp({ b: 1, c: 2 }, 5_000);
    await cluster.join(store);
    const settled = timed(cluster.settle(2));
    setTimeout(() => events().onApplied('b', 2), 30);
    const { value, awakeMs: ms } = await settled;
    expect(value).toEqual({ applied: 3, nodes: 3 });
    expect(ms).toBeLessThan(240);
  });

  it('reads from the list what no notification reported', async () => {
    const { cluster, store, versions } = await setUp({ b: 1 }, 5_000);
    await cluster.join(store);
    setTimeout(() => versions.set('b', 2), 30);
    expect(await cluster.settle(2)).toEqual({ applied: 2, nodes: 2 });
  });

  it('waits once for a node that does not apply it, and for a dead node until it is removed', async () => {
    const { cluster, store, versions, events } = await setUp({ b: 1, c: 5 });
    await cluster.join(store);
    const first = await timed(cluster.settle(2));
    expect(first.value).toEqual({ applied: 2, nodes: 3 });
    expect(first.ms).toBeGreaterThan(WAIT_MS - 20);
    const second = await timed(cluster.settle(3));
    expect(second.value).toEqual({ applied: 2, nodes: 3 });
    expect(second.awakeMs).toBeLessThan(WAIT_MS / 2);
    // It has caught up: writes wait for it again.
    events().onApplied('b', 3);
    const third = await timed(cluster.settle(4));
    expect(third.ms).toBeGreaterThan(WAIT_MS - 20);
    versions.delete('b');
    expect(await cluster.settle(5)).toEqual({ applied: 2, nodes: 2 });
  });

  it('does not wait if waiting is off, or if the database is lost', async () => {
    const { cluster, store, events, failure } = await setUp({ b: 1 }, 0);
    await cluster.join(store);
    expect(await cluster.settle(2)).toEqual({ applied: 1, nodes: 2 });
    events().onNodes({ count: 4, rank: 1 });
    failure.error = new StorageUnavailable('gone');
    expect(await cluster.settle(3), 'the number of the last heartbeat').toEqual({
      applied: 1,
      nodes: 4,
    });
    await expect(cluster.nodes()).rejects.toBeInstanceOf(StorageUnavailable);
  });

  it('ignores reports about a history that the database has lost', async () => {
    const { cluster, store, events } = await setUp({ b: 1 });
    await cluster.join(store);
    cluster.applied(9);
    events().onApplied('b', 9);
    cluster.applied(8);
    expect(await cluster.settle(9)).toEqual({ applied: 1, nodes: 2 });
  });
});

describe('a node', () => {
  it('looks for changes when it joins, when it is notified, and when the database is in another state', async () => {
    const { cluster, store, events, looks, careful, told, hasLeft } = await setUp({});
    await cluster.join(store);
    expect(looks()).toBe(1);
    events().onChanged();
    events().onPosition({ configVersion: 1, changeId: 'a' });
    expect(looks()).toBe(2);
    events().onPosition({ configVersion: 1, changeId: 'b' });
    expect(looks()).toBe(3);
    expect(careful()).toBe(0);
    events().onMissed(new StorageUnavailable('gone'));
    expect([looks(), careful()]).toEqual([3, 1]);
    cluster.applied(2);
    expect(told).toEqual([2]);
    await cluster.stop();
    expect(hasLeft()).toBe(true);
  });

  it('joins later after a failure, but not after a refusal', async () => {
    const { cluster, store, failure, looks, careful } = await setUp({});
    failure.error = new StorageUnavailable('gone');
    await cluster.join(store);
    expect(looks()).toBe(0);
    expect(careful(), 'perhaps it can be read').toBe(1);
    await expect.poll(careful, { timeout: 5_000 }).toBe(2);
    failure.error = undefined;
    await expect.poll(looks, { timeout: 5_000 }).toBe(1);
    const other = await setUp({});
    other.failure.error = new StorageRefused('another key');
    await expect(other.cluster.join(other.store)).rejects.toThrow('another key');
  });

  it('that joins again leaves first', async () => {
    const { cluster, store, hasLeft } = await setUp({});
    await cluster.join(store);
    expect(hasLeft()).toBe(false);
    await cluster.join(store);
    expect(hasLeft()).toBe(true);
  });

  it('that is stopped while it tries to join does not try again', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    try {
      const { cluster, store, failure, looks } = await setUp({});
      failure.error = new StorageUnavailable('gone');
      const joining = cluster.join(store);
      await cluster.stop();
      await joining;
      failure.error = undefined;
      await vi.advanceTimersByTimeAsync(10_000);
      expect(looks()).toBe(0);
    } finally {
      vi.useRealTimers();
    }
  });
});
