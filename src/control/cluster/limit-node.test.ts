import { describe, expect, it } from 'vitest';
import { createLiveNodesMemory, liveNodesOf, type ListedNodes } from '../../limits/shared/live-nodes.ts';
import { type HeartbeatServer, LimitNode } from './limit-node.ts';

/** A node whose store is unreachable until the test sets an answer. */
function setUp(assumed: number) {
  let monotonicMs = 10_000;
  const memory = createLiveNodesMemory();
  const store: { listed: ListedNodes | undefined } = { listed: undefined };
  const server: HeartbeatServer = {
    connect: async () => store.listed !== undefined,
    heartbeat: async () => {
      if (store.listed === undefined) throw new Error('out of reach');
      return store.listed;
    },
    memory: async () => undefined,
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
