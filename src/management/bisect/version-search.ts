/** What the calls that explain a request at several config versions have in common. */
import { Type } from 'typebox';
import { TrialFailed, type ExplainOn } from '../../explain/explain-access.ts';
import { Admission } from '../api/admission.ts';
import { fail, type Answer, type Failure } from '../api/failure.ts';
import type { ManagementContext } from '../context.ts';

/** Limits the running searches of viewers: each delays the others, and plans. */
export const viewerSearches = new Admission(2);

/** A config version in the body of a call. */
export const configVersion = (description: string) =>
  Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, description });

/** Runs a search when it is its turn in the thread for trials. */
export async function searched(
  { trials }: ManagementContext,
  search: (explainOn: ExplainOn) => Promise<Answer | Failure>,
): Promise<Answer | Failure> {
  try {
    const found = await trials.explainConfigs(search);
    return found ?? fail('overloaded', 'Other plans and searches are running; try again later');
  } catch (error) {
    if (error instanceof TrialFailed) return fail('overloaded', error.message);
    throw error;
  }
}
