/**
 * A call whose answer goes on for as long as its client listens: it must notice that the client has gone, and that its
 * credential no longer holds.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { withBudget } from '../../lib/deadline-budget.ts';
import { StorageUnavailable } from '../../storage/repository.ts';
import { isFailure, type Failure } from '../api/failure.ts';
import type { Actor } from './admin-auth.ts';

export interface LastingCall {
  /** Of the client, where it resumes a stream of events. */
  readonly lastEventId: string | undefined;
  /** Asks again what was asked before the answer began. While the database cannot say, what was allowed stays so. */
  stillAllowed(): Promise<boolean>;
  /** Called once, when the connection is closed or the answer complete. */
  onGone(listener: () => void): void;
}

/** @param admit authenticates the call again, and checks what its role may */
export function lastingCall(
  request: FastifyRequest,
  reply: FastifyReply,
  admit: () => Promise<Actor | Failure>,
): LastingCall {
  const header = request.headers['last-event-id'];
  return {
    lastEventId: typeof header === 'string' ? header : undefined,
    async stillAllowed() {
      try {
        return !isFailure(await withBudget(undefined, admit));
      } catch (error) {
        if (error instanceof StorageUnavailable) return true;
        throw error;
      }
    },
    onGone(listener) {
      if (reply.raw.closed) listener();
      else reply.raw.once('close', listener);
    },
  };
}
