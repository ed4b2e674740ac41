/**
 * What a part says of itself when a request is explained. `src/explain/` goes over the registry: for each declared
 * stage it asks `decider` which value decided, and after a denial asks the part that denied for the one change that
 * would let the request pass. Both get what the exchange left behind; they run after it and may not change it.
 */
import type { EffectivePolicy } from '../model/policy.ts';
import type { CompiledPolicy, Denial, Evaluation, RequestFacts } from './stage.ts';

export interface ExplainSubject {
  readonly policy: CompiledPolicy;
  readonly effective: EffectivePolicy;
  readonly evaluation: Evaluation;
  readonly facts: RequestFacts;
}

/** Which level set the value that decided, and the value without secrets. */
export interface Decider {
  readonly level: 'app' | 'revision' | 'endpoint' | 'global' | 'key' | null;
  readonly sourceId: string | null;
  readonly value: unknown;
}

export interface PartFix {
  /** What to do, such as `set_policy`; the list is in explain/schema.ts. */
  readonly action: string;
  /** The change in words. */
  readonly detail: string;
  /** The part as it would have to be, where the policy is what to change. */
  readonly value: unknown;
}

export interface PartExplain<Value> {
  /**
   * Default: the level that set the part, with its value; not applicable where no level has it or it is off.
   * @returns undefined where the stage does not apply to the request
   */
  decider?(stage: string, value: Value | undefined, subject: ExplainSubject): Decider | undefined;
  /** @returns undefined where no change of the part or of the request helps */
  fix?(denial: Denial, value: Value | undefined, subject: ExplainSubject): PartFix | undefined;
}
