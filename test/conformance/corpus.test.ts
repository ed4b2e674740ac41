/** Runs the conformance corpus: every case as a whole, byte by byte, and cut in two at every position. */
import { expect, test } from 'vitest';
import { RequestReader, ResponseReader, type Outcome } from './message-reader.ts';
import { expectedLines, observedLines } from './observe.ts';
import { readCases } from './read-cases.ts';

/** Cases longer than this are cut at a sample of positions only. */
const CUT_EVERYWHERE_BYTES_MAX = 1500;
const SAMPLED_CUTS = 40;

const requests = readCases('request');
const responses = readCases('response');

test('the corpus has the expected size, and no case occurs twice', () => {
  expect(requests.length).toBeGreaterThanOrEqual(410);
  expect(responses.length).toBeGreaterThanOrEqual(160);
  for (const cases of [requests, responses]) {
    const keys = cases.map((one) => `${one.requestMethod} ${one.rawBytes.toString('latin1')}`);
    expect(keys.filter((key, index) => keys.indexOf(key) !== index)).toEqual([]);
  }
});

for (const one of requests) {
  test(`${one.location} ${one.name} (${one.sections})`, () => {
    const whole = readRequest([one.rawBytes]);
    expect(observedLines(one, whole)).toEqual(expectedLines(one));
    for (const pieces of pieceLists(one.rawBytes)) {
      const cut = readRequest(pieces);
      // A head that is refused before it has ended may be refused for another of its faults.
      expect(statusOf(cut.result())).toBe(statusOf(whole.result()));
      expect(cut.result().kind === 'accept' ? observedLines(one, cut) : []).toEqual(
        one.expect.outcome === 'accept' ? expectedLines(one) : [],
      );
    }
  });
}

for (const one of responses) {
  test(`${one.location} ${one.name} (${one.sections})`, () => {
    const whole = readResponse([one.rawBytes], one.requestMethod);
    expect(observedLines(one, whole)).toEqual(expectedLines(one));
    for (const pieces of pieceLists(one.rawBytes)) {
      const cut = readResponse(pieces, one.requestMethod);
      const result = cut.result();
      expect(statusOf(result)).toBe(statusOf(whole.result()));
      // As above; a body is decoded in one way only.
      if (result.kind === 'refuse' && result.at === 'head') continue;
      expect(observedLines(one, cut)).toEqual(expectedLines(one));
    }
  });
}

function readRequest(pieces: readonly Buffer[]): RequestReader {
  const reader = new RequestReader();
  for (const piece of pieces) reader.push(piece);
  return reader;
}

function readResponse(pieces: readonly Buffer[], requestMethod: string): ResponseReader {
  const reader = new ResponseReader(requestMethod);
  for (const piece of pieces) reader.push(piece);
  reader.end();
  return reader;
}

/** Ways to cut `bytes`: all single bytes, and in two at every position. */
function pieceLists(bytes: Buffer): Buffer[][] {
  const lists = [];
  const step = bytes.length <= CUT_EVERYWHERE_BYTES_MAX ? 1 : Math.ceil(bytes.length / SAMPLED_CUTS);
  if (step === 1) lists.push(Array.from(bytes, (_, index) => bytes.subarray(index, index + 1)));
  for (let at = 1; at < bytes.length; at += step) lists.push([bytes.subarray(0, at), bytes.subarray(at)]);
  return lists;
}

function statusOf(outcome: Outcome): number | string {
  return outcome.kind === 'refuse' ? outcome.error.status : outcome.kind;
}
