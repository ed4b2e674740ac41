/**
 * A part's contribution to the explanation of a request. `src/explain/` uses the registry: for each declared stage it
 * asks `decider` which value decided, and after a denial asks the part that denied for the one change that would let
 * the request pass. The hooks run after the exchange. They get its final state and must not change it.
 */
import type { LimitDecision } from '../limits/store.ts';
import type { ErrorCode } from '../model/errors.ts';
import type { AppName, StoredApiKey } from '../model/resources.ts';
import type { Reason } from '../model/reason.ts';
import type { LimitSettings } from './dependencies.ts';
import type { CounterReads } from './trial/read-only-context.ts';
import type { CompiledPolicy, Evaluation, RequestFacts } from './stage.ts';

/** The settings that apply when no record says otherwise. */
export interface ExplainSettings extends Pick<LimitSettings, 'globals' | 'perIp'> {
  readonly authFailuresPerMinute: number;
  /** The URL of a page that shows a trace, with `{trace_id}`. */
  readonly traceUrl?: string | undefined;
}

/** How requests are forwarded where the policy does not say it. */
interface ForwardingDefaults {
  readonly connectTimeoutMs: number;
  readonly firstByteTimeoutMs: number;
  readonly idleTimeoutMs: number;
  readonly minBodyBytesPerSec: number;
}

/** The level that set the deciding value, and the value without secrets. */
export interface Decider {
  readonly level: 'app' | 'revision' | 'endpoint' | 'global' | 'key' | null;
  readonly sourceId: string | null;
  readonly value: unknown;
}

interface ExplainSubject<Prepared> {
  readonly policy: CompiledPolicy;
  /** What the part has prepared of its value; undefined where no level has it. */
  readonly prepared: Prepared | undefined;
  readonly evaluation: Evaluation;
  readonly clientIp: string;
  readonly appId: string | null;
  readonly settings: ExplainSettings;
  /** The limit of the settings; 0: unlimited. */
  readonly maxBodyBytes: number;
  /** The level that set the part, with its value; undefined where no level has it or it is off. */
  readonly own: Decider | undefined;
}

export interface DeniedRequest {
  readonly policy: CompiledPolicy;
  readonly evaluation: Evaluation;
  readonly app: Pick<AppName, 'id' | 'slug'> | null;
  readonly method: string;
  readonly bodyBytes: number;
  readonly maxBodyBytes: number;
  /** Unix milliseconds. */
  readonly startedMs: number;
  /** SHA-256 of the credential, where it was refused. */
  readonly refusedTokenHash: string | undefined;
  readonly findKey: FindKey;
}

export type FindKey = (tokenHash: string) => StoredApiKey | undefined;

/** What a fix changes; `detail` describes it in words. */
export const FIX_ACTIONS = [
  'correct_request',
  'shorten_request',
  'correct_path',
  'create_version',
  'allow_encoded_slashes',
  'set_version_status',
  'register_endpoint',
  'enable_endpoint',
  'activate_revision',
  'create_revision',
  'set_traffic_weight',
  'send_credentials',
  'replace_credentials',
  'enable_token',
  'extend_token',
  'add_scopes',
  'request_token',
  'set_policy',
  'wait',
  'fix_keys',
  'fix_backend',
] as const;
export type FixAction = (typeof FIX_ACTIONS)[number];

export interface PartFix {
  readonly action: FixAction;
  /** The change in words. */
  readonly detail: string;
  /** The record or setting to change; a part: the level that set it, whose name is added to `detail`. Absent: none. */
  readonly target?: { readonly type: 'token' | 'setting'; readonly id: string } | { readonly part: string };
  /** The new value, in the terms of the management API. */
  readonly value?: unknown;
}

/** Kinds of limits, as an explanation names them. */
export const LIMIT_KINDS = ['policy', 'key', 'ip', 'auth_guard', 'concurrency'] as const;
type ShownLimitKind = (typeof LIMIT_KINDS)[number];

/** A counter that a described request has asked. */
export interface AskedCounter {
  readonly store: keyof CounterReads;
  /** The id of the rule or cap. */
  readonly id: string;
  readonly subject: string;
}

/** How a counter is shown: `id`, and the subject, which may be a credential. */
export interface ShownCounter {
  readonly kind: ShownLimitKind;
  readonly id: string;
  readonly subject: string;
}

/** The limit that a response has announced. */
export interface AnnouncedLimit {
  readonly kind: ShownLimitKind;
  readonly counter: string;
  readonly algorithm: string;
  readonly decision: LimitDecision;
}

export interface PartExplain<Value, Prepared = unknown> {
  /** Codes with which the engine refuses a request in the part's name, each with the stage that it belongs to. */
  readonly engineStages?: Readonly<Partial<Record<ErrorCode, string>>>;
  /**
   * Default: `own`.
   * @returns undefined where the stage does not apply to the request
   */
  decider?(stage: string, value: Value | undefined, subject: ExplainSubject<Prepared>): Decider | undefined;
  /**
   * How the part changes the request on its way to the backend, for a part that denies nothing; undefined when
   * it does not.
   */
  forwarding?(
    value: Value | undefined,
    policy: CompiledPolicy,
    defaults: ForwardingDefaults,
  ): Readonly<Record<string, unknown>> | undefined;
  /** The stage that a denial belongs to, when another stage returned it. */
  stageOf?(denial: Reason): string | undefined;
  /** True for a stage that was not asked although it precedes the one that denied. */
  wasSkipped?(stage: string, stoppedAt: string | undefined, evaluation: Evaluation): boolean;
  /** Why a browser withholds the response from the page that made the request; undefined when it does not. */
  browserRefusal?(policy: CompiledPolicy, facts: RequestFacts): Reason<unknown, string> | undefined;
  /** SHA-256 of the credential, where the part has refused it with this code. */
  refusedTokenHash?(code: ErrorCode, policy: CompiledPolicy, facts: RequestFacts): string | undefined;
  /** Default: as a counter of the policy, by its id. @returns undefined for a counter of another part */
  shownCounter?(counter: AskedCounter): ShownCounter | undefined;
  /** @param deciderOf a stage; undefined where the stage does not apply */
  announcedLimit?(
    evaluation: Evaluation,
    deciderOf: (stage: string) => Decider | undefined,
  ): AnnouncedLimit | undefined;
  /** Default: to wait, for a denial that says how long. @returns undefined where no change helps */
  fix?(
    denial: Reason<unknown, string>,
    value: Value | undefined,
    request: DeniedRequest,
  ): PartFix | undefined;
}

export function ofSettings(value: unknown): Decider {
  return { level: 'global', sourceId: null, value };
}
