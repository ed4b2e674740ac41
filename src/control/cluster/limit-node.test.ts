import { describe, expect, it } from 'vitest';
import { createLiveNodesMemory, liveNodesOf, type ListedNodes } from '../../limits/shared/live-nodes.ts';
import { type HeartbeatServer, LimitNode } from './limit-node.ts';

/** A node whose store is out of reach until a test says what it answers. */
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
    reconnect: () => undefined,
    close: () => undefined,
  };
  const clock = { nowMs: () => 0, monotonicMs: () => monotonicMs };
  return {
    node: new LimitNode(server, memory, clock, assumed),
    store,
    pass: (ms: number) => (monotonicMs += ms),
    /** As the workers read it. */
    seen: () => {
      const { count, rank } = liveNodesOf(memory);
      return [count, rank];
    },
  };
}

describe('a node that starts while the store of limits is out of reach', () => {
  it('is one of those on its database, or of as many as the setting says', () => {
    const { node, seen } = setUp(3);
    expect(seen()).toEqual([3, 0]);
    node.assume({ count: 2, rank: 1 });
    expect(seen(), 'the setting says more').toEqual([3, 1]);
    node.assume({ count: 5, rank: 4 });
    expect(seen()).toEqual([5, 4]);
  });

  it('believes fewer only when that does not pass', () => {
    const { node, seen, pass } = setUp(1);
    node.assume({ count: 4, rank: 3 });
    node.assume({ count: 1, rank: 0 });
    pass(4_000);
    node.assume({ count: 3, rank: 2 });
    expect(seen(), 'the others are coming back').toEqual([4, 3]);
    node.assume({ count: 4, rank: 3 });
    pass(4_000);
    node.assume({ count: 2, rank: 1 });
    pass(4_900);
    node.assume({ count: 2, rank: 1 });
    expect(seen(), 'anew, since all had come back').toEqual([4, 3]);
    pass(100);
    node.assume({ count: 2, rank: 1 });
    expect(seen()).toEqual([2, 1]);
  });

  it('goes by the store once that has told', async () => {
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
