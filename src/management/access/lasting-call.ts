/**
 * A call whose answer continues as long as its client listens: it must notice when the client has gone, and when its
 * credential is no longer valid.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { withBudget } from '../../lib/deadline-budget.ts';
import { systemClock } from '../../lib/clock.ts';
import { StorageUnavailable } from '../../storage/storage-errors.ts';
import { isFailure, type Failure } from '../api/failure.ts';
import type { Actor } from './admin-auth.ts';
import { SECONDS, UnansweredPeers } from '../../lib/sockets/unanswered-peers.ts';

export interface LastingCall {
  /** The last event that the client received, when it resumes a stream. */
  readonly lastEventId: string | undefined;
  /** Checks the call's permissions again. While the database cannot answer, the earlier decision stays. */
  stillAllowed(): Promise<boolean>;
  /** Whether the client has not acknowledged for seconds what it was sent: it is gone, and will not say so. */
  isUnanswered(): boolean;
  /** Called once, when the connection is closed or the answer complete. */
  onGone(listener: () => void): void;
}

const unanswered = new UnansweredPeers(systemClock);

/** @param admit authenticates the call again, and checks its role */
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
    isUnanswered: () => unanswered.has(request.raw.socket, SECONDS),
    onGone(listener) {
      if (reply.raw.closed) listener();
      else reply.raw.once('close', listener);
    },
  };
}
