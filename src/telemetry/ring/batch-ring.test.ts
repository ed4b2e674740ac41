import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BatchReader, BatchWriter, createBatchRing, droppedItems, queuedBytes } from './batch-ring.ts';

const RING_BYTES = 1_024;

describe('a ring of batches', () => {
  it('returns its items in order, as an array would', () => {
    // Steps: how long a batch to push, or how many bytes to take.
    const step = fc.oneof(
      fc.record({ push: fc.integer({ min: 0, max: 600 }) }),
      fc.record({ take: fc.integer({ min: 0, max: 900 }) }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 300 }), (steps) => {
        const ring = createBatchRing(RING_BYTES);
        const [writer, reader] = [new BatchWriter(ring), new BatchReader(ring)];
        const model: Uint8Array[] = [];
        let [number, dropped] = [0, 0];
        for (const each of steps) {
          if ('push' in each) {
            const batch = new Uint8Array(each.push).fill(++number);
            writer.push(batch, 3);
            if (droppedItems(ring) === dropped) model.push(batch);
            // What is refused would have had no room in one piece.
            else expect(queuedBytes(ring) + 2 * (each.push + 16)).toBeGreaterThanOrEqual(RING_BYTES);
            dropped = droppedItems(ring);
          } else {
            const got: number[][] = [];
            const { items } = reader.take(each.take, (memory, start, length) =>
              got.push([...memory.subarray(start, start + length)]),
            );
            expect(items).toBe(3 * got.length);
            expect(got).toEqual(model.splice(0, got.length).map((batch) => [...batch]));
            if (model.length > 0) expect(got.length).toBeGreaterThan(0);
          }
          expect(queuedBytes(ring) > 0).toBe(model.length > 0);
        }
      }),
      { numRuns: 300 },
    );
  });

  it('takes a batch that fills it only if a full ring can be distinguished from an empty one', () => {
    const ring = createBatchRing(RING_BYTES);
    const writer = new BatchWriter(ring);
    writer.push(new Uint8Array(RING_BYTES - 8), 5);
    expect([queuedBytes(ring), droppedItems(ring)]).toEqual([0, 5]);
    writer.push(new Uint8Array(RING_BYTES - 16), 5);
    expect([queuedBytes(ring), droppedItems(ring)]).toEqual([RING_BYTES - 8, 5]);
  });

  it('calls for its reader once when it fills, and again after that', () => {
    const ring = createBatchRing(RING_BYTES);
    let calls = 0;
    const writer = new BatchWriter(ring, () => (calls += 1));
    for (let count = 0; count < 5; count++) writer.push(new Uint8Array(100), 1);
    expect(calls).toBe(1);
    new BatchReader(ring).take(1_000, () => undefined);
    for (let count = 0; count < 5; count++) writer.push(new Uint8Array(100), 1);
    expect(calls).toBe(2);
  });

  it('continues where a reader has ended', () => {
    const ring = createBatchRing(RING_BYTES);
    const writer = new BatchWriter(ring);
    for (let value = 1; value <= 4; value++) writer.push(new Uint8Array(100).fill(value), 1);
    const got: number[] = [];
    new BatchReader(ring).take(200, (memory, start) => got.push(memory[start] as number));
    new BatchReader(ring).take(1_000, (memory, start) => got.push(memory[start] as number));
    expect(got).toEqual([1, 2, 3, 4]);
  });
});
