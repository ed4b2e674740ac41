/** The questions of the main thread to the workers about explain, and the answers. Plain data. */
import type { LiveWatch } from './live/live-messages.ts';
import type { ExplainInput, Explanation } from './schema.ts';

/** Which successful exchanges are also recorded. */
export interface Sampling {
  /** undefined: of all apps. */
  readonly appId: string | undefined;
  /** The fraction of exchanges to record, above 0 and up to 1. */
  readonly rate: number;
  /** Unix milliseconds. */
  readonly untilMs: number;
}

/** A debug token as a worker knows it. */
export interface DebugTokenEntry {
  /** SHA-256 of the token, 64 lower-case hex digits. */
  readonly hash: string;
  /** undefined: for all apps. */
  readonly appId: string | undefined;
  /** Unix milliseconds. */
  readonly untilMs: number;
}

/** What operators have requested; the same for all workers. */
export interface ExplainSetup {
  readonly sampling: Sampling | undefined;
  readonly debugTokens: readonly DebugTokenEntry[];
  /** The watches of live traffic. */
  readonly watches: readonly LiveWatch[];
}

/**
 * Names a recorded exchange: by the id that its client knows, which need not be unique, or by that of its live
 * event.
 */
export type ExchangeName = { readonly requestId: string } | { readonly liveId: string };

export type ExplainMessage =
  | { readonly type: 'explain'; readonly id: number; readonly input: ExplainInput }
  | { readonly type: 'explain_recorded'; readonly id: number; readonly name: ExchangeName }
  | { readonly type: 'explain_setup'; readonly id: number; readonly setup: ExplainSetup };

/** The answer to each message. */
export interface ExplainedMessage {
  readonly type: 'explained';
  readonly id: number;
  /** undefined when there is nothing to explain. */
  readonly explanation: Explanation | undefined;
  /**
   * For a recorded exchange: its request in the format of traffic/traffic-record.ts; undefined if it cannot be
   * run again.
   */
  readonly request?: string | undefined;
  readonly error: string | undefined;
}
