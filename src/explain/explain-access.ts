/**
 * Explain as the management API uses it: the state of the main thread (explain-control.ts) and the answers of the
 * workers.
 */
import type { DebugToken, SamplingState } from './setup/setup-schema.ts';
import type { ExplainInput, Explanation } from './schema.ts';
import type { ConfigChange } from '../model/config.ts';
import type { ReplayResult } from './replay/replay.ts';
import type { ExplainControl } from './setup/explain-control.ts';
import type { ExchangeName } from './messages.ts';

/** How recorded requests would be answered on a planned configuration. */
export interface TrafficAnswer {
  /** Why this is unknown; undefined when it is known, or when there are no differences. */
  readonly problem: string | undefined;
  /** undefined without recorded requests, and with a problem. */
  readonly result: ReplayResult | undefined;
}

/** Tries configurations that are not in force. */
export interface ConfigTrials {
  /** @param change of the configuration in force, in the form that workers would receive */
  replayTraffic(change: ConfigChange): Promise<TrafficAnswer>;
  /**
   * Runs a task that explains requests on whole configurations. Tasks run one after another, each for a bounded time.
   * @returns undefined when too many tasks wait already
   */
  explainConfigs<T>(task: (explain: ExplainOn) => Promise<T>): Promise<T | undefined>;
}

/** A described request, or that of a record as traffic/traffic-record.ts has it. */
export type TriedRequest = ExplainInput | { readonly recorded: string };

export interface TriedExplanation {
  readonly explanation: Explanation;
  /** The configuration requires a credential that the record does not contain. */
  readonly isGuessed: boolean;
}

/** Rejects with TrialFailed. */
export type ExplainOn = (config: ConfigChange, request: TriedRequest) => Promise<TriedExplanation>;

/** The configuration does not compile with this release, or the time is over; the message is for the client. */
export class TrialFailed extends Error {}

export interface RecordedExchange {
  readonly explanation: Explanation;
  /** In the format of traffic/traffic-record.ts; undefined if it cannot be run again. */
  readonly request: string | undefined;
}

/** The workers of the gateway, as seen by the main thread. */
export interface ExplainWorkers {
  explain(input: ExplainInput): Promise<Explanation | undefined>;
  explainRecorded(name: ExchangeName): Promise<RecordedExchange | undefined>;
  publishExplainSetup(): Promise<void>;
}

export interface ExplainAccess {
  /** Runs a described request in a worker; undefined when no worker answers in time. */
  describe(input: ExplainInput): Promise<Explanation | undefined>;
  /** A recent real exchange; undefined when it was not recorded or was overwritten. */
  recorded(name: ExchangeName): Promise<Explanation | undefined>;
  /** Like `recorded`, with the request for running it again. */
  recordedRequest(name: ExchangeName): Promise<RecordedExchange | undefined>;

  sampling(): SamplingState | undefined;
  startSampling(appId: string | null, rate: number, seconds: number): SamplingState;
  stopSampling(): void;

  listTokens(): readonly DebugToken[];
  /**
   * The token with its value, which is not stored; undefined when there are too many tokens. It is not published before
   * `allowToken`.
   */
  createToken(appId: string | null, seconds: number): (DebugToken & { readonly token: string }) | undefined;
  /** Its creation is in the audit log. */
  allowToken(id: string): void;
  /** False when no token has this id. */
  deleteToken(id: string): boolean;

  /** Sends the current sampling and debug tokens to the workers; resolves when they apply them. */
  publish(): Promise<void>;
}

export function explainAccess(control: ExplainControl, workers: ExplainWorkers): ExplainAccess {
  return {
    describe: (input) => workers.explain(input),
    recorded: async (name) => (await workers.explainRecorded(name))?.explanation,
    recordedRequest: (name) => workers.explainRecorded(name),
    sampling: () => control.sampling,
    startSampling: (appId, rate, seconds) => control.startSampling(appId, rate, seconds),
    stopSampling: () => control.stopSampling(),
    listTokens: () => control.listTokens(),
    createToken: (appId, seconds) => control.createToken(appId, seconds),
    allowToken: (id) => control.allowToken(id),
    deleteToken: (id) => control.deleteToken(id),
    publish: () => workers.publishExplainSetup(),
  };
}
