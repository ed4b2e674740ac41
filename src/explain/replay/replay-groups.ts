/**
 * Counts what recorded requests would be answered differently, in groups of the same change for the same caller. Pure.
 */
import { maskCredentials } from '../../observe/log.ts';
import type { RecordedRequest, TrafficRecord } from '../traffic/traffic-record.ts';
import type { ReplayCaller, ReplayOutcome } from './replay-outcome.ts';

/** Further groups are only counted. */
const GROUPS_MAX = 50;
const BACKENDS_MAX = 8;
const FIRST_CHARS_MAX = 300;

interface GroupSide {
  /** null: a backend answers, and did not when the request was recorded. */
  readonly status: number | null;
  readonly code: string | null;
  /** The backends that may get it; empty when the gateway answers. */
  readonly backends: readonly string[];
  /** Whether a browser keeps the answer from the page that asked. */
  readonly cors_refused: boolean;
}

export interface ReplayGroup {
  readonly from: GroupSide;
  readonly to: GroupSide;
  readonly by: ReplayCaller & { readonly app: string | null };
  readonly count: number;
  /** Method and path of the earliest of them. */
  readonly first: string;
}

export class ReplayGroups {
  readonly #groups = new Map<string, Omit<ReplayGroup, 'count'> & { count: number }>();
  /** Requests that would be answered differently. */
  changed = 0;

  /** In the order of the records. */
  add(
    record: TrafficRecord,
    { method, path }: RecordedRequest,
    before: ReplayOutcome,
    after: ReplayOutcome,
  ): void {
    this.changed += 1;
    const showsBackends = before.status === null && after.status === null;
    // When the request was recorded, its answer came from a backend and not from the gateway.
    const answered = before.status === null && record.forwarded ? record : undefined;
    const from = sideOf(before, answered?.status, answered?.code, showsBackends);
    const to = sideOf(after, undefined, undefined, showsBackends);
    const by = { ...callerOf(before, after), app: before.app ?? after.app };
    const key = JSON.stringify([from, to, by]);
    const known = this.#groups.get(key);
    if (known !== undefined) known.count += 1;
    else {
      const first = maskCredentials(`${method} ${path}`).slice(0, FIRST_CHARS_MAX);
      this.#groups.set(key, { from, to, by, count: 1, first });
    }
  }

  get total(): number {
    return this.#groups.size;
  }

  /** The largest first. */
  list(): ReplayGroup[] {
    return [...this.#groups.values()].toSorted((a, b) => b.count - a.count).slice(0, GROUPS_MAX);
  }
}

function sideOf(
  { status, code, backends, isBrowserRefused }: ReplayOutcome,
  answered: number | undefined,
  answeredCode: string | undefined,
  showsBackends: boolean,
): GroupSide {
  return {
    status: status ?? answered ?? null,
    code: code ?? (answeredCode === undefined || answeredCode === '' ? null : answeredCode),
    backends: showsBackends ? backends.slice(0, BACKENDS_MAX) : [],
    cors_refused: isBrowserRefused,
  };
}

/** Either configuration may know the caller. */
function callerOf(before: ReplayOutcome, after: ReplayOutcome): ReplayCaller {
  return before.caller.kind === 'anonymous' ? after.caller : before.caller;
}
