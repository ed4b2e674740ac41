/** Explain as the management API uses it: what the main thread keeps (control.ts) and what the workers answer. */
import type { DebugToken, ExplainInput, Explanation, SamplingState } from './schema.ts';
import type { ExplainControl } from './control.ts';

/** The workers of the gateway, as the main thread reaches them. */
export interface ExplainWorkers {
  explain(input: ExplainInput): Promise<Explanation | undefined>;
  explainRecorded(requestId: string): Promise<Explanation | undefined>;
  publishExplainSetup(): Promise<void>;
}

export interface ExplainAccess {
  /** Has a worker run a described request; undefined when no worker answers in time. */
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

  /** Tells the workers what was started, stopped, created and deleted; resolves when they apply it. */
  publish(): Promise<void>;
}

export function explainAccess(control: ExplainControl, workers: ExplainWorkers): ExplainAccess {
  return {
    describe: (input) => workers.explain(input),
    recorded: (requestId) => workers.explainRecorded(requestId),
    sampling: () => control.sampling,
    startSampling: (appId, rate, seconds) => control.startSampling(appId, rate, seconds),
    stopSampling: () => control.stopSampling(),
    listTokens: () => control.listTokens(),
    createToken: (appId, seconds) => control.createToken(appId, seconds),
    deleteToken: (id) => control.deleteToken(id),
    publish: () => workers.publishExplainSetup(),
  };
}
