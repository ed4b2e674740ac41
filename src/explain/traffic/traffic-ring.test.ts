import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { TrafficRing, unpackTexts } from './traffic-ring.ts';

const textsOf = (ring: TrafficRing): string[] => {
  const packed = ring.packed();
  return packed === undefined ? [] : unpackTexts(structuredClone(packed));
};

describe('TrafficRing', () => {
  it('has nothing to give before the first text', () => {
    expect(new TrafficRing(10).packed()).toBeUndefined();
  });

  it('keeps the latest texts, as a list would that is cut at its start', () => {
    const text = fc
      .record({ char: fc.constantFrom('a', 'é', '…'), length: fc.integer({ min: 0, max: 3_000 }) })
      .map(({ char, length }) => char.repeat(length));
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 60 }), fc.array(text, { maxLength: 200 }), (textsMax, texts) => {
        const ring = new TrafficRing(textsMax);
        const taken: string[] = [];
        for (const each of texts) if (ring.add(each)) taken.push(each);
        const kept = textsOf(ring);
        expect(kept).toEqual(taken.slice(taken.length - kept.length));
        expect(kept.length).toBeLessThanOrEqual(textsMax);
        if (taken.length > 0) expect(kept.length).toBeGreaterThan(0);
      }),
    );
  });

  it('has room for all of them if they have the usual length', () => {
    const ring = new TrafficRing(100);
    for (let index = 0; index < 1_000; index++) ring.add(`${index} `.padEnd(500, '.'));
    expect(textsOf(ring).map((text) => parseInt(text, 10))).toEqual(
      Array.from({ length: 100 }, (_, index) => 900 + index),
    );
  });

  it('leaves out a text that is too long, and keeps the others', () => {
    const ring = new TrafficRing(10);
    ring.add('first');
    expect(ring.add('x'.repeat(8_193))).toBe(false);
    expect(textsOf(ring)).toEqual(['first']);
  });
});
