/** Fuzzer of Base64 in pieces, as requests of gRPC-Web bring it: against Node's, quantum by quantum. */
import { Base64Decoder } from '../../src/http/grpc/base64-stream.ts';
import { checkEqual, type Fuzzer } from './fuzzer.ts';
import { mutate } from './mutate.ts';

const QUANTUM = /^(?:[A-Za-z0-9+/]{4}|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{2}==)$/;

export const base64Fuzzer: Fuzzer = {
  name: 'base64',
  step: (random) => {
    let text = '';
    for (let parts = random.below(4); parts > 0; parts--) {
      const length = random.below(60);
      text += Buffer.from(Array.from({ length }, () => random.below(256))).toString('base64');
    }
    if (random.oneIn(2)) text = mutate(text, random);
    const bytes = Buffer.from(text, 'latin1');
    random.bytes += bytes.length;
    const quanta = bytes.toString('latin1').match(/[^]{1,4}/g) ?? [];
    const expected = quanta.every((quantum) => QUANTUM.test(quantum))
      ? Buffer.concat(quanta.map((quantum) => Buffer.from(quantum, 'base64'))).toString('hex')
      : 'refused';
    const decoder = new Base64Decoder();
    let found = '';
    for (let from = 0; from < bytes.length && found !== 'refused';) {
      const to = Math.min(bytes.length, from + 1 + random.below(20));
      const piece = decoder.write(bytes, from, to);
      found = piece === undefined ? 'refused' : found + piece.toString('hex');
      from = to;
    }
    checkEqual(decoder.isWhole ? found : 'refused', expected, `Not the same: ${bytes.toString('hex')}`);
  },
};
