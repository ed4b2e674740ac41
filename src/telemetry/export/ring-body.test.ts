import fc from 'fast-check';
import { expect, it } from 'vitest';
import { ProtobufWriter } from '../otlp/protobuf-writer.ts';
import { BatchReader, BatchWriter, createBatchRing } from '../ring/batch-ring.ts';
import { writeRequest } from './export-request.ts';
import { RingBody } from './ring-body.ts';

const origin = { resource: { 'service.name': 'x' }, version: '1' };

it('is the request as it would be written at once, whatever steps it is read in and whatever comes meanwhile', () => {
  const batches = fc.array(fc.integer({ min: 1, max: 600 }), { maxLength: 8 });
  const steps = fc.array(fc.integer({ min: 1, max: 900 }), { minLength: 1, maxLength: 20 });
  const body = new RingBody({ origin, onTaken: (items) => (taken = items) });
  let taken = 0;
  fc.assert(
    fc.property(
      fc.array(batches, { maxLength: 3 }),
      steps,
      fc.integer({ min: 1, max: 4_000 }),
      (lengths, sizes, bytesMax) => {
        const rings = lengths.map((of) => {
          const ring = createBatchRing(8_192);
          const writer = new BatchWriter(ring);
          const pushed = of.map((length, index) => new Uint8Array(length).fill(index + 1));
          for (const batch of pushed) writer.push(batch, 2);
          return { reader: new BatchReader(ring), writer, pushed };
        });
        const { items, bytes } = body.begin(
          rings.map(({ reader }) => reader),
          bytesMax,
        );
        taken = 0;
        for (const { writer } of rings) writer.push(new Uint8Array(50).fill(99), 2);
        const got: number[] = [];
        for (let step = 0; got.length < body.length; step++) {
          const end = Math.min(body.length, got.length + (sizes[step % sizes.length] ?? 1));
          got.push(...body.part(got.length, end));
        }
        const left = rings.map(({ reader }) => remaining(reader));
        const gone = rings.flatMap(({ pushed }, index) =>
          pushed.slice(0, pushed.length + 1 - (left[index] ?? 0)),
        );
        const whole = new ProtobufWriter();
        writeRequest(whole, origin, () => gone.forEach((batch) => whole.raw(batch)));
        expect(Buffer.from(got).equals(whole.bytes)).toBe(true);
        expect([taken, items, bytes]).toEqual([
          2 * gone.length,
          2 * gone.length,
          gone.reduce((sum, { length }) => sum + length, 0),
        ]);
        // An attempt that failed is repeated from the beginning.
        expect(Buffer.from(body.part(0, body.length)).equals(whole.bytes)).toBe(true);
        // At most a batch beyond what was asked for.
        expect(bytes).toBeLessThan(bytesMax + 600);
        if (lengths.some((of) => of.length > 0)) expect(bytes).toBeGreaterThan(0);
      },
    ),
    { numRuns: 200 },
  );
});

/** Batches in it; takes them. */
function remaining(reader: BatchReader): number {
  let count = 0;
  reader.take(Infinity, () => count++);
  return count;
}
