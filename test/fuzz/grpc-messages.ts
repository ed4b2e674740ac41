/** Fuzzer of what is read of gRPC: the answer of a health check, whole, cut and damaged. */
import { servingStatus } from '../../src/http/grpc/health-message.ts';
import { grpcMessage, OneMessage } from '../../src/http/grpc/grpc-messages.ts';
import { check, checkEqual, type Fuzzer } from './fuzzer.ts';
import { mutate } from './mutate.ts';
import type { Random } from './random.ts';

const STATUSES = ['UNKNOWN', 'SERVING', 'NOT_SERVING', 'SERVICE_UNKNOWN'] as const;
const BYTES_MAX = 1_024;

export const grpcMessagesFuzzer: Fuzzer = {
  name: 'grpc-messages',
  step: (random) => {
    const status = random.below(STATUSES.length);
    const fields = random.repeat(random.below(4), () => otherField(random));
    const answer = Buffer.from(`${fields}\x08${String.fromCharCode(status)}`, 'latin1');
    const whole = grpcMessage(answer);
    random.bytes += whole.length;
    const reader = new OneMessage(BYTES_MAX);
    for (let from = 0; from < whole.length;) {
      const to = Math.min(whole.length, from + 1 + random.below(9));
      check(reader.add(whole.subarray(from, to)) === undefined, `Refused: ${whole.toString('hex')}`);
      from = to;
    }
    checkEqual(
      reader.whole && servingStatus(reader.whole),
      STATUSES[status],
      `Not read: ${whole.toString('hex')}`,
    );
    checkDamaged(Buffer.from(mutate(whole.toString('latin1'), random), 'latin1'));
  },
};

/** Read without an error, and the same at once and byte by byte. */
function checkDamaged(bytes: Buffer): void {
  const once = new OneMessage(BYTES_MAX);
  const refused = once.add(bytes);
  const slow = new OneMessage(BYTES_MAX);
  let slowRefused: string | undefined;
  for (let at = 0; at < bytes.length && slowRefused === undefined; at++)
    slowRefused = slow.add(bytes.subarray(at, at + 1));
  checkEqual(slowRefused === undefined, refused === undefined, `Cut matters: ${bytes.toString('hex')}`);
  if (refused === undefined && once.whole !== undefined) servingStatus(once.whole);
}

/** Field 2 to 15 with a value of each kind. */
function otherField(random: Random): string {
  const tag = (type: number): string => String.fromCharCode((2 + random.below(14)) * 8 + type);
  const some = (count: number): string => random.repeat(count, () => String.fromCharCode(random.below(256)));
  const text = random.below(100);
  return random.pick([
    `${tag(0)}${String.fromCharCode(random.below(128))}`,
    `${tag(1)}${some(8)}`,
    `${tag(2)}${String.fromCharCode(text)}${some(text)}`,
    `${tag(5)}${some(4)}`,
  ]);
}
