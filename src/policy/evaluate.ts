/**
 * Runs the stages of a compiled policy in order: the one evaluator that the proxy, explain and shadow mode share. Stays
 * synchronous as long as every stage does, which is the case for everything but a JWT that has to be verified first.
 * Decides nothing itself. The denial of a stage in shadow mode is recorded and not obeyed.
 */
import { ANONYMOUS } from './caller.ts';
import type { CompiledPolicy, Denial, Evaluation, NamedStage, RequestFacts, StageResult } from './stage.ts';

/** A fresh evaluation: the caller is anonymous, no stage has run. */
export function newEvaluation(): Evaluation {
  return {
    caller: ANONYMOUS,
    dropCredential: false,
    limit: undefined,
    limiter: undefined,
    bothLimitsRefuse: false,
    refusedKeyId: '',
    refusedKeyName: '',
    certificate: undefined,
    authFailure: undefined,
    permitStore: undefined,
    permit: 0,
    deniedBy: undefined,
    shadowDenials: undefined,
  };
}

/**
 * @param evaluation filled by the stages; must be new
 * @returns undefined when the request may continue, else the first denial. Expected failures never reject; a
 * rejected promise means a defect (or a limit store that broke its contract), and the caller answers 500.
 */
export function evaluate(
  policy: CompiledPolicy,
  facts: RequestFacts,
  evaluation: Evaluation,
): Denial | undefined | Promise<Denial | undefined> {
  return runFrom(0, policy.stages, facts, evaluation);
}

function runFrom(
  first: number,
  stages: readonly NamedStage[],
  facts: RequestFacts,
  evaluation: Evaluation,
): StageResult | Promise<StageResult> {
  for (let index = first; index < stages.length; index++) {
    const stage = stages[index];
    if (stage === undefined) break;
    const result = stage.run(facts, evaluation);
    if (result === undefined) continue;
    if (result instanceof Promise) {
      return result.then((settled) => {
        const denial = obey(stage, settled, evaluation);
        return denial ?? runFrom(index + 1, stages, facts, evaluation);
      });
    }
    const denial = obey(stage, result, evaluation);
    if (denial !== undefined) return denial;
  }
  return undefined;
}

/** Gives back the permit that the request holds, if it holds one; may be called more than once. */
export function releasePermit(evaluation: Evaluation): void {
  const store = evaluation.permitStore;
  if (store === undefined) return;
  evaluation.permitStore = undefined;
  store.release(evaluation.permit);
}

/** The denial if it counts; a denial in shadow mode is recorded and dropped. */
function obey(stage: NamedStage, denial: StageResult, evaluation: Evaluation): StageResult {
  if (denial === undefined) return undefined;
  const { part, shadow } = stage;
  if (!shadow) {
    evaluation.deniedBy = part;
    return denial;
  }
  (evaluation.shadowDenials ??= []).push({ part, denial });
  return undefined;
}
