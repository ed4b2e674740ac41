/** What the management API needs to explain requests; implemented in src/control/workers/explain-access.ts. */
import type { DebugToken, ExplainInput, Explanation, SamplingState } from '../model/schemas/explain.ts';

export interface ExplainAccess {
  /** Has a worker run a described request; undefined when none answers in time. */
  describe(input: ExplainInput): Promise<Explanation | undefined>;
  /** A recent real exchange; undefined when it was not recorded or is no longer there. */
  recorded(requestId: string): Promise<Explanation | undefined>;

  sampling(): SamplingState | undefined;
  startSampling(appId: string | null, rate: number, seconds: number): SamplingState;
  stopSampling(): void;

  listTokens(): readonly DebugToken[];
  /** The token with its value, which is not kept; undefined when there are too many. */
  createToken(appId: string | null, seconds: number): (DebugToken & { readonly token: string }) | undefined;
  /** False when there is none with this id. */
  deleteToken(id: string): boolean;

  /** Brings what was started, stopped, created and deleted to the workers; resolves when they go by it. */
  publish(): Promise<void>;
}
