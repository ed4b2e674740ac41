/**
 * Puts the check of answers (answer-bounds.ts) in front of the decoder of the client library, for all of its
 * connections: also for those of TLS, and for those that it opens by itself to the servers of a cluster and to
 * Sentinels. The library has no place for it, so two functions of its decoder are replaced.
 *
 * After the first rubbish of a connection nothing more of it is read: what follows could be taken for the answer to
 * another call. The library reports the error as an event of the client and goes on, so calls get no answer, and the
 * caller replaces the connection.
 */
import decoding from '@redis/client/dist/lib/RESP/decoder.js';
import { AnswerBounds, RubbishAnswer } from './answer-bounds.ts';

interface Guard {
  readonly bounds: AnswerBounds;
  isBroken: boolean;
  /** The library resets the decoder after an error, without a new connection. */
  isThrowing: boolean;
}

const guards = new WeakMap<object, Guard>();
let isInstalled = false;

/** Call it before a client is made. */
export function guardDecoders(): void {
  if (isInstalled) return;
  isInstalled = true;
  const { prototype } = decoding.Decoder;
  // oxlint-disable-next-line typescript/unbound-method -- both are called with the decoder below
  const { write, reset } = prototype;
  prototype.write = function guardedWrite(chunk): void {
    const guard = guardOf(this);
    if (guard.isBroken) return;
    try {
      guard.bounds.check(chunk);
      write.call(this, chunk);
    } catch (error) {
      guard.isBroken = guard.isThrowing = true;
      throw error instanceof RubbishAnswer ? error : unasked(error);
    }
  };
  prototype.reset = function guardedReset(): void {
    const guard = guardOf(this);
    if (!guard.isThrowing) {
      guard.isBroken = false;
      guard.bounds.reset();
    }
    guard.isThrowing = false;
    reset.call(this);
  };
}

function guardOf(decoder: object): Guard {
  let guard = guards.get(decoder);
  if (guard === undefined) guards.set(decoder, (guard = newGuard()));
  return guard;
}

const newGuard = (): Guard => ({ bounds: new AnswerBounds(), isBroken: false, isThrowing: false });

/** The library has no call that this is the answer to. */
function unasked(error: unknown): RubbishAnswer {
  return new RubbishAnswer('an answer that nothing has asked for', { cause: error });
}
