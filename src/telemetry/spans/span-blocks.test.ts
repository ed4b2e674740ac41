import { expect, it } from 'vitest';
import { heapBytes } from '../../../test/support/measure/garbage.ts';
import { SpanBlocks } from './span-blocks.ts';

it('keeps no more of a request than its host', () => {
  const blocks = new SpanBlocks();
  const hosts = 400;
  const ask = (host: number): Uint8Array => {
    // A slice of a long text, as V8 makes it of a head.
    const head = Buffer.from(`Host: host-number-${host}.example\r\n`.padEnd(20_000)).toString('latin1');
    return blocks.place(1, head.slice('Host: '.length, head.indexOf('\r')));
  };
  ask(-1);
  const before = heapBytes();
  for (let host = 0; host < hosts; host++) ask(host);
  expect((heapBytes() - before) / hosts).toBeLessThan(2_000);
  expect(ask(7)).toBe(ask(7));
});
