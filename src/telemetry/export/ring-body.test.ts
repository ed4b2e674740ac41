import fc from 'fast-check';
import { expect, it } from 'vitest';
import { ProtobufWriter } from '../otlp/protobuf-writer.ts';
import { BatchReader, BatchWriter, createBatchRing, queuedBytes } from '../ring/batch-ring.ts';
import { writeRequest } from './export-request.ts';
import { RingBody } from './ring-body.ts';

const origin = { resource: { 'service.name': 'x' }, version: '1' };
const RING_BYTES = 8_192;

it('is the request as it would be written at once, whatever steps it is read in and whatever comes meanwhile', () => {
  const batches = fc.array(fc.integer({ min: 1, max: 600 }), { maxLength: 8 });
  const steps = fc.array(fc.integer({ min: 1, max: 900 }), { minLength: 1, maxLength: 20 });
  const body = new RingBody(origin);
  fc.assert(
    fc.property(
      fc.array(batches, { maxLength: 3 }),
      steps,
      fc.integer({ min: 1, max: 4_000 }),
      (lengths, sizes, bytesMax) => {
        const rings = lengths.map((of) => {
          const ring = createBatchRing(RING_BYTES);
          const writer = new BatchWriter(ring);
          const pushed = of.map((length, index) => new Uint8Array(length).fill(index + 1));
          for (const batch of pushed) writer.push(batch, 2);
          return { ring, reader: new BatchReader(ring), writer, pushed };
        });
        const before = rings.map(({ ring }) => queuedBytes(ring));
        body.begin(
          rings.map(({ reader }) => reader),
          bytesMax,
        );
        const { bytes } = body;
        // It all stays in the rings, and what comes meanwhile does not overwrite it.
        expect(rings.map(({ ring }) => queuedBytes(ring))).toEqual(before);
        for (const { writer } of rings)
          for (let count = 0; count < 20; count++) writer.push(new Uint8Array(500).fill(99), 2);
        const got: number[] = [];
        for (let step = 0; got.length < body.length; step++) {
          const end = Math.min(body.length, got.length + (sizes[step % sizes.length] ?? 1));
          got.push(...Buffer.concat(body.parts(got.length, end)));
        }
        // An attempt that failed is repeated from the beginning.
        expect(Buffer.concat(body.parts(0, body.length)).equals(Buffer.from(got))).toBe(true);
        body.release();
        const gone = rings.flatMap(({ reader, pushed }) =>
          pushed.slice(0, pushed.length - remaining(reader)),
        );
        const whole = new ProtobufWriter();
        writeRequest(whole, origin, () => gone.forEach((batch) => whole.raw(batch)));
        expect(Buffer.from(got).equals(whole.bytes)).toBe(true);
        expect([body.items, bytes]).toEqual([
          2 * gone.length,
          gone.reduce((sum, { length }) => sum + length, 0),
        ]);
        // At most a batch beyond what was asked for.
        expect(bytes).toBeLessThan(bytesMax + 600);
        if (lengths.some((of) => of.length > 0)) expect(bytes).toBeGreaterThan(0);
      },
    ),
    { numRuns: 200 },
  );
});

it('takes no more than a quarter of a ring, and a batch, so that there is room for what arrives', () => {
  const ring = createBatchRing(RING_BYTES);
  const writer = new BatchWriter(ring);
  for (let count = 0; count < 50; count++) writer.push(new Uint8Array(100), 1);
  const body = new RingBody(origin);
  body.begin([new BatchReader(ring)], 1_000_000);
  expect(body.bytes).toBeLessThanOrEqual(RING_BYTES / 4 + 100);
});

/** Batches of before that are still in it; takes all. */
function remaining(reader: BatchReader): number {
  let count = 0;
  reader.take(Infinity, (memory, start) => void (memory[start] === 99 || count++));
  return count;
}
