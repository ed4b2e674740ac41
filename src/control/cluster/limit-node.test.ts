import { describe, expect, it, vi } from 'vitest';
import { createLiveNodesMemory, liveNodesOf, type ListedNodes } from '../../limits/shared/live-nodes.ts';
import { type HeartbeatServer, LimitNode } from './limit-node.ts';

/** A node whose store is unreachable until the test sets an answer. */
function setUp(assumed: number) {
  let monotonicMs = 10_000;
  const memory = createLiveNodesMemory();
  const store: { listed: ListedNodes | undefined; refusal: string; asked: number } = {
    listed: undefined,
    refusal: '',
    asked: 0,
  };
  const server: HeartbeatServer = {
    connect: async () => store.listed !== undefined,
    heartbeat: async () => {
      if (store.listed === undefined) throw new Error('out of reach');
      return store.listed;
    },
    memory: async () => {
      store.asked += 1;
      if (store.refusal !== '') throw new Error(store.refusal);
      return { usedBytes: 1, maxBytes: undefined, policy: 'noeviction' };
    },
    reconnect: () => undefined,
    close: () => undefined,
  };
  const clock = { nowMs: () => 0, monotonicMs: () => monotonicMs };
  return {
    node: new LimitNode(server, memory, clock, assumed),
    store,
    pass: (ms: number) => (monotonicMs += ms),
    /** The values that workers read. */
    seen: () => {
      const { count, rank } = liveNodesOf(memory);
      return [count, rank];
    },
  };
}

describe('a node that starts while the limit store is unreachable', () => {
  it('counts the nodes on its database, or uses the setting if that is larger', () => {
    const { node, seen } = setUp(3);
    expect(seen()).toEqual([3, 0]);
    node.assume({ count: 2, rank: 1 });
    expect(seen(), 'the setting is larger').toEqual([3, 1]);
    node.assume({ count: 5, rank: 4 });
    expect(seen()).toEqual([5, 4]);
  });

  it('accepts a smaller count only if it lasts', () => {
    const { node, seen, pass } = setUp(1);
    node.assume({ count: 4, rank: 3 });
    node.assume({ count: 1, rank: 0 });
    pass(4_000);
    node.assume({ count: 3, rank: 2 });
    expect(seen(), 'the others are returning').toEqual([4, 3]);
    node.assume({ count: 4, rank: 3 });
    pass(4_000);
    node.assume({ count: 2, rank: 1 });
    pass(4_900);
    node.assume({ count: 2, rank: 1 });
    expect(seen(), 'again, since all had returned').toEqual([4, 3]);
    pass(100);
    node.assume({ count: 2, rank: 1 });
    expect(seen()).toEqual([2, 1]);
  });

  it('uses the count of the store once it is known', async () => {
    const { node, store, seen } = setUp(1);
    node.assume({ count: 2, rank: 1 });
    store.listed = { count: 3, rank: 0, wasListed: true };
    await node.start();
    try {
      expect(seen()).toEqual([3, 0]);
      node.assume({ count: 6, rank: 5 });
      expect(seen()).toEqual([3, 0]);
    } finally {
      await node.stop();
    }
  });
});

describe('the memory of the limit store', () => {
  it.each([
    { refusal: '', asked: 13 },
    { refusal: 'ERR busy', asked: 13 },
    { refusal: "NOPERM User default has no permissions to run the 'info' command", asked: 1 },
  ])('is asked for $asked times in a minute, refusal "$refusal"', async ({ refusal, asked }) => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    const { node, store, pass } = setUp(1);
    store.listed = { count: 1, rank: 0, wasListed: true };
    store.refusal = refusal;
    try {
      await node.start();
      for (let second = 0; second < 60; second++) {
        pass(1_000);
        await vi.advanceTimersByTimeAsync(1_000);
      }
      expect(store.asked).toBe(asked);
      expect(node.memoryOfStore).toEqual(
        refusal === '' ? { usedBytes: 1, maxBytes: undefined, policy: 'noeviction' } : undefined,
      );
    } finally {
      await node.stop();
      vi.useRealTimers();
    }
  });
});
