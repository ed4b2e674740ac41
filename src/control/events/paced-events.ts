/**
 * Prevents subjects that change back and forth from flooding the event log. Each subject has a budget of events;
 * beyond it only the latest event is kept, and recorded when the budget has grown again, with the number of skipped
 * events. The last event of a subject therefore shows its final state. Owns the budgets, for a bounded number of
 * subjects.
 */
import type { Clock } from '../../lib/clock.ts';
import type { EventLog, NoticedEvent } from '../../model/events/event-log.ts';
import type { EventType } from '../../model/events/events.ts';

/** The number of events about one subject at once. */
export const BURST = 6;
/** One more event is allowed after each such time. */
export const EARN_MS = 300_000;
/** Beyond this, the subject that was quiet for longest is dropped. */
const SUBJECTS_MAX = 10_000;

/** Events whose data can contain the number of skipped events. */
export type PacedEvent = NoticedEvent & { readonly data: { readonly left_out?: number } };

interface Subject {
  tokens: number;
  atMs: number;
  /** Skipped events since the last one, by type. */
  readonly leftOut: Map<EventType, number>;
  waiting: PacedEvent | undefined;
}

export class PacedEvents {
  readonly #log: EventLog;
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #subjects = new Map<string, Subject>();
  readonly #waiting = new Set<string>();

  constructor(log: EventLog, clock: Pick<Clock, 'monotonicMs'>) {
    this.#log = log;
    this.#clock = clock;
  }

  /** @param pace identifies the budget, for example `breaker` and the id of a revision */
  record(pace: string, event: PacedEvent): void {
    const subject = this.#subject(pace);
    if (subject.waiting !== undefined) count(subject, subject.waiting.type);
    subject.waiting = event;
    if (!this.#flush(pace, subject)) this.#waiting.add(pace);
  }

  /** Call it about once a second. */
  tick(): void {
    for (const pace of this.#waiting) {
      const subject = this.#subjects.get(pace);
      if (subject === undefined || this.#flush(pace, subject)) this.#waiting.delete(pace);
    }
  }

  /** Called when the gateway stops: records the waiting events. */
  flush(): void {
    for (const pace of this.#waiting) {
      const subject = this.#subjects.get(pace);
      if (subject !== undefined) this.#flush(pace, { ...subject, tokens: 1 });
    }
    this.#waiting.clear();
  }

  /** Returns false when its budget is used up. */
  #flush(pace: string, subject: Subject): boolean {
    const { waiting } = subject;
    if (waiting === undefined) return true;
    const nowMs = this.#clock.monotonicMs();
    subject.tokens = Math.min(BURST, subject.tokens + (nowMs - subject.atMs) / EARN_MS);
    subject.atMs = nowMs;
    if (subject.tokens < 1) return false;
    subject.tokens -= 1;
    subject.waiting = undefined;
    const leftOut = subject.leftOut.get(waiting.type) ?? 0;
    subject.leftOut.delete(waiting.type);
    this.#subjects.delete(pace);
    this.#subjects.set(pace, subject);
    this.#log.record(leftOut === 0 ? waiting : withLeftOut(waiting, leftOut));
    return true;
  }

  #subject(pace: string): Subject {
    const known = this.#subjects.get(pace);
    if (known !== undefined) return known;
    const subject: Subject = {
      tokens: BURST,
      atMs: this.#clock.monotonicMs(),
      leftOut: new Map(),
      waiting: undefined,
    };
    this.#subjects.set(pace, subject);
    if (this.#subjects.size > SUBJECTS_MAX) this.#forgetOldest();
    return subject;
  }

  #forgetOldest(): void {
    for (const [pace, { waiting }] of this.#subjects) {
      if (waiting !== undefined && this.#waiting.size < SUBJECTS_MAX) continue;
      this.#subjects.delete(pace);
      this.#waiting.delete(pace);
      return;
    }
  }
}

function count({ leftOut }: Subject, type: EventType): void {
  leftOut.set(type, (leftOut.get(type) ?? 0) + 1);
}

/** The schemas of these types have the field. */
function withLeftOut(event: PacedEvent, leftOut: number): NoticedEvent {
  return { ...event, data: { ...event.data, left_out: leftOut } } as NoticedEvent;
}
