/** The questions of the main thread to the workers about explain, and the answers. Plain data. */
import type { ExplainInput, Explanation } from './schema.ts';
import type { DebugTokenEntry } from './debug-header.ts';
import type { Sampling } from './recorder.ts';

/** What operators have requested; the same for all workers. */
export interface ExplainSetup {
  readonly sampling: Sampling | undefined;
  readonly debugTokens: readonly DebugTokenEntry[];
}

export type ExplainMessage =
  | { readonly type: 'explain'; readonly id: number; readonly input: ExplainInput }
  | { readonly type: 'explain_recorded'; readonly id: number; readonly requestId: string }
  | { readonly type: 'explain_setup'; readonly id: number; readonly setup: ExplainSetup };

/** The answer to each message. */
export interface ExplainedMessage {
  readonly type: 'explained';
  readonly id: number;
  /** undefined when there is nothing to explain. */
  readonly explanation: Explanation | undefined;
  readonly error: string | undefined;
}
