/**
 * Reports of a worker to the main thread about the health of revisions: state changes at once, and the latest failure
 * of each revision once a second, so that an outage with thousands of failures costs one message a second. A worker
 * that dies loses at most its last second; the breakers themselves are in shared memory.
 */
import type { Breaker, BreakerTransition } from '../../proxy/resilience/breaker.ts';
import type { FailureKind } from '../../proxy/interfaces/observer.ts';
import type { Revision } from '../../proxy/interfaces/route.ts';

/** The latest failure of a revision that its breaker counted. */
export interface FailureNote {
  readonly revisionId: string;
  /** Identifies the breaker; a revision with another breaker has another backend. */
  readonly breakerNumber: number;
  readonly atMs: number;
  readonly kind: FailureKind;
  readonly detail: string;
  readonly requestId: string;
}

/** A state change. */
export interface MoveNote {
  readonly revisionId: string;
  readonly breakerNumber: number;
  readonly revision: string;
  readonly backend: string;
  readonly move: BreakerTransition;
  readonly detail: string;
  /** null for health checks. */
  readonly requestId: string | null;
}

export interface HealthMessage {
  readonly type: 'health';
  readonly failures: readonly FailureNote[];
  readonly moves: readonly MoveNote[];
}

/** Bounded, since backends determine part of the text of a failure. */
const DETAIL_CHARS_MAX = 200;

export class HealthReporter {
  readonly #send: (message: HealthMessage) => void;
  readonly #breakerOf: (revisionId: string) => Breaker | undefined;
  readonly #failures = new Map<string, FailureNote>();

  constructor(
    send: (message: HealthMessage) => void,
    breakerOf: (revisionId: string) => Breaker | undefined,
  ) {
    this.#send = send;
    this.#breakerOf = breakerOf;
  }

  failed({ id }: Revision, kind: FailureKind, detail: string, requestId: string, atMs: number): void {
    const breakerNumber = this.#breakerOf(id)?.number;
    if (breakerNumber === undefined) return;
    const note = { revisionId: id, breakerNumber, atMs, kind, detail: cut(detail), requestId };
    this.#failures.set(id, note);
  }

  moved(revision: Revision, move: BreakerTransition, detail: string, requestId: string): void {
    const breakerNumber = this.#breakerOf(revision.id)?.number;
    if (breakerNumber === undefined) return;
    this.#post([
      {
        revisionId: revision.id,
        breakerNumber,
        revision: revision.label,
        backend: revision.backend.authority,
        move,
        detail: cut(detail),
        requestId,
      },
    ]);
  }

  /** Sends the collected reports, if any. */
  send(): void {
    if (this.#failures.size > 0) this.#post([]);
  }

  #post(moves: readonly MoveNote[]): void {
    const failures = [...this.#failures.values()];
    this.#failures.clear();
    this.#send({ type: 'health', failures, moves });
  }
}

function cut(text: string): string {
  return text.length <= DETAIL_CHARS_MAX ? text : `${text.slice(0, DETAIL_CHARS_MAX)}…`;
}
