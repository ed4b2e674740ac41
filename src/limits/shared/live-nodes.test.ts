import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createLiveNodesMemory, fairShare, liveNodesOf, writeLiveNodes } from './live-nodes.ts';

const rule = (requests: number, burst = requests) =>
  ({ id: 'app:1', algorithm: 'token_bucket', requests, windowMs: 60_000, burst }) as const;

describe('fairShare', () => {
  it('divides every limit completely among any number of nodes', () => {
    const whole = fc.integer({ min: 0, max: 1_000_000_000 });
    fc.assert(
      fc.property(whole, whole, fc.integer({ min: 1, max: 200 }), (requests, burst, count) => {
        const shares = Array.from({ length: count }, (_, rank) =>
          fairShare(rule(requests, burst), { count, rank }),
        );
        expect(shares.reduce((sum, share) => sum + share.requests, 0)).toBe(requests);
        expect(shares.reduce((sum, share) => sum + share.burst, 0)).toBe(burst);
        const parts = shares.map((share) => share.requests);
        expect(Math.max(...parts) - Math.min(...parts)).toBeLessThanOrEqual(1);
      }),
    );
  });

  it('leaves some nodes without a share when the limit is smaller than their number', () => {
    const requests = [0, 1, 2].map((rank) => fairShare(rule(2), { count: 3, rank }).requests);
    expect(requests).toEqual([1, 1, 0]);
  });
});

describe('the shared words', () => {
  it('give one node until the nodes were counted', () => {
    const memory = createLiveNodesMemory();
    const nodes = liveNodesOf(memory);
    expect([nodes.count, nodes.rank]).toEqual([1, 0]);
    writeLiveNodes(memory, { count: 3, rank: 2 });
    expect([nodes.count, nodes.rank]).toEqual([3, 2]);
  });
});
