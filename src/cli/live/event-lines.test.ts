import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readEvents, type StreamEvent } from './event-lines.ts';

async function* piecesOf(text: string, cuts: readonly number[]): AsyncGenerator<string> {
  let at = 0;
  for (const cut of [...cuts.map((each) => each % (text.length + 1)), text.length].toSorted(
    (a, b) => a - b,
  )) {
    yield text.slice(at, cut);
    at = cut;
  }
}

async function read(text: string, cuts: readonly number[] = []): Promise<StreamEvent[]> {
  const events: StreamEvent[] = [];
  for await (const event of readEvents(piecesOf(text, cuts))) events.push(event);
  return events;
}

const ENDS = ['\n', '\r\n', '\r'];
const word = fc.stringMatching(/^[a-z{}": ]{0,12}$/);

describe('events of a stream', () => {
  it('are the same however the text is cut and lines end', async () => {
    const events = fc.array(fc.record({ event: fc.stringMatching(/^[a-z]{1,8}$/), data: word }), {
      maxLength: 6,
    });
    await fc.assert(
      fc.asyncProperty(events, fc.constantFrom(...ENDS), fc.array(fc.nat()), async (sent, end, cuts) => {
        const text = sent.map(
          ({ event, data }) => `id: 1${end}event: ${event}${end}data: ${data}${end}${end}`,
        );
        expect(await read(`: hello${end}${end}${text.join('')}`, cuts)).toEqual(sent);
      }),
    );
  });

  it('count only when they have ended, and may have several lines', async () => {
    expect(await read('data: a\ndata:b\n\ndata: unfinished')).toEqual([{ event: 'message', data: 'a\nb' }]);
    expect(await read('event: x\n\n')).toEqual([]);
  });

  it('refuse a line without an end', async () => {
    await expect(read(`data: ${'a'.repeat(1_100_000)}`)).rejects.toThrow('without an end');
  });
});
