/**
 * Fuzzer of what is read of a collector's answers: as a library of others reads them, and without an error when
 * damaged.
 */
import protobuf from 'protobufjs';
import { partialSuccess } from '../../src/telemetry/otlp/collector-answer.ts';
import { checkEqual, type Fuzzer } from './fuzzer.ts';
import { mutate } from './mutate.ts';
import type { Random } from './random.ts';

const { root } = protobuf.parse(`
  syntax = "proto3";
  message Answer { PartialSuccess partial_success = 1; string other = 7; fixed64 more = 9; }
  message PartialSuccess { int64 rejected = 1; string message = 2; fixed32 other = 15; }
`);
const Answer = root.lookupType('Answer');
const LARGE = 2 ** 32;

export const otlpAnswersFuzzer: Fuzzer = {
  name: 'otlp-answers',
  step: (random) => {
    const [rejected, message] = [numberOf(random), textOf(random)];
    const bytes = Answer.encode({
      partialSuccess: { rejected, message, other: random.below(LARGE) },
      ...(random.below(2) === 0 && { other: textOf(random), more: random.below(LARGE) }),
    }).finish();
    random.bytes += bytes.length;
    const read = partialSuccess(bytes);
    checkEqual(read.rejected, Math.max(0, rejected), `Rejected: ${Buffer.from(bytes).toString('hex')}`);
    checkEqual(read.message, message, `Message: ${Buffer.from(bytes).toString('hex')}`);
    partialSuccess(Buffer.from(mutate(Buffer.from(bytes).toString('latin1'), random), 'latin1'));
  },
};

function numberOf(random: Random): number {
  return random.pick([0, 1, -1, random.below(300), random.below(LARGE), random.below(LARGE) * 1_000_000]);
}

function textOf(random: Random): string {
  return random.repeat(random.below(200), () => random.pick(['a', 'ü', '€', '😀', ' ']));
}
