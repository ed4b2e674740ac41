/** What the main thread asks the workers about explain, and what they answer. Plain data. */
import type { ExplainInput, Explanation } from './schema.ts';
import type { DebugTokenEntry } from './debug-header.ts';
import type { Sampling } from './recorder.ts';

/** What operators have asked for; the same for all workers. */
export interface ExplainSetup {
  readonly sampling: Sampling | undefined;
  readonly debugTokens: readonly DebugTokenEntry[];
}

export type ExplainMessage =
  | { readonly type: 'explain'; readonly id: number; readonly input: ExplainInput }
  | { readonly type: 'explain_recorded'; readonly id: number; readonly requestId: string }
  | { readonly type: 'explain_setup'; readonly id: number; readonly setup: ExplainSetup };

/** The answer to each of them. */
export interface ExplainedMessage {
  readonly type: 'explained';
  readonly id: number;
  /** undefined where there is nothing to explain. */
  readonly explanation: Explanation | undefined;
  readonly error: string | undefined;
}
