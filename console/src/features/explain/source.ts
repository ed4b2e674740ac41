/** The request that is explained: a recorded one, or a described one. */
import type { ExplainInput, Explanation, OutcomeAtVersion } from '../../api/schema.ts';
import { explainWords } from '../../text/explain.ts';
import type { Tone } from '../../ui/display/badge.tsx';

export type ExplainSource =
  | { readonly live_id: string }
  | { readonly request_id: string }
  | { readonly request: ExplainInput };

export function stageName(stage: string): string {
  return explainWords.stages[stage] ?? stage;
}

export function outcomeTone(outcome: string): Tone {
  if (outcome === 'forwarded' || outcome === 'answered') return 'good';
  return outcome === 'failed' ? 'bad' : 'warn';
}

/** For example "Denied: insufficient_scope (403)". */
export function outcomeText({
  outcome,
  code,
  status,
}: Pick<OutcomeAtVersion, 'outcome' | 'code' | 'status'>): string {
  const words = explainWords.outcomes[outcome] ?? outcome;
  return `${words}${code === null ? '' : `: ${code}`}${status === null ? '' : ` (${status})`}`;
}

/** The stage that decided, where one did. */
export function decidingStage({ stages }: Explanation): Explanation['stages'][number] | undefined {
  return stages.find(({ verdict }) => verdict === 'denied' || verdict === 'answered');
}
