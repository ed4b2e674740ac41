/** What waits for a peer of HTTP/2: in order, counted until it is out, and small pieces together. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { BodyQueue } from './body-queue.ts';
import { backlogBytes } from './write-backlog.ts';

const NO_MEMORY = { retain: () => undefined };

/** @returns how many pieces were sent */
function sendAll(queue: BodyQueue, roomBytes: number, onBytes: (bytes: Buffer) => void): number {
  let pieces = 0;
  while (!queue.isEmpty) {
    queue.send(roomBytes, (bytes, from, to, release) => {
      onBytes(Buffer.from(bytes.subarray(from, to)));
      release();
    });
    pieces += 1;
  }
  return pieces;
}

it('joins single bytes, which would take a hundred times their memory each', () => {
  const queue = new BodyQueue();
  const body = Buffer.from(Array.from({ length: 20_000 }, (_, index) => index));
  for (let at = 0; at < body.length; at++) queue.push(body, at, at + 1, NO_MEMORY);
  const sent: Buffer[] = [];
  expect(sendAll(queue, 16_384, (bytes) => sent.push(bytes))).toBe(3);
  expect(Buffer.concat(sent).equals(body)).toBe(true);
});

it('sends what it was given, in order, also where that goes on while a part is on its way', () => {
  const step = fc.oneof(
    fc.record({ push: fc.integer({ min: 1, max: 12_000 }) }),
    fc.record({ owned: fc.integer({ min: 1, max: 12_000 }) }),
    fc.record({ send: fc.integer({ min: 1, max: 20_000 }) }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), fc.boolean(), (steps, isCleared) => {
      const before = backlogBytes();
      const queue = new BodyQueue();
      const given: Buffer[] = [];
      const onTheirWay: { bytes: Buffer; release: () => void }[] = [];
      let value = 0;
      const next = (length: number): Buffer => {
        const bytes = Buffer.from(Array.from({ length }, () => value++));
        given.push(Buffer.from(bytes));
        return bytes;
      };
      let owned = 0;
      const take = (room: number): void =>
        queue.send(room, (bytes, from, to, release) => {
          onTheirWay.push({ bytes: bytes.subarray(from, to), release });
        });
      for (const one of steps) {
        if ('push' in one) {
          const bytes = next(one.push);
          queue.pushCopy(bytes);
          bytes.fill(0);
        } else if ('owned' in one) {
          owned += 1;
          queue.pushOwned(next(one.owned), () => void (owned -= 1));
        } else take(one.send);
      }
      if (isCleared) queue.clear();
      else while (!queue.isEmpty) take(16_384);
      const sent = Buffer.concat(onTheirWay.map(({ bytes }) => bytes));
      expect(
        Buffer.concat(given)
          .subarray(0, isCleared ? sent.length : undefined)
          .equals(sent),
      ).toBe(true);
      for (const { release } of onTheirWay) release();
      expect([owned, backlogBytes()]).toEqual([0, before]);
    }),
    { numRuns: 100 },
  );
});
