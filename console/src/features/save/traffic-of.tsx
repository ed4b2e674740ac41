/** What the recent requests would get after a write, or in a sentence why that cannot be said. */
import type { UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { saveWords as say } from '../../text/save.ts';
import { Note } from '../../ui/display/notes.tsx';
import { planProblem, useTrafficOf, type DeclaredChange } from './declared-change.ts';
import type { Fields } from './merge-patch.ts';
import { TrafficGroups } from './traffic-groups.tsx';

interface TrafficOfProps {
  readonly declared: UseQueryResult<DeclaredChange | null>;
}

export function TrafficOf({ declared: { data: declared, error } }: TrafficOfProps): ReactNode {
  if (declared === null) return <Note tone="neutral">{say.trafficUndeclared}</Note>;
  if (declared?.isNewKey === true) return <Note tone="neutral">{say.trafficNewKey}</Note>;
  return <TrafficPlan config={declared?.config} error={error} />;
}

interface TrafficPlanProps {
  /** The declared tree after the write; undefined as long as it is not known. */
  readonly config: Fields | undefined;
  /** Of reading it. */
  readonly error: Error | null;
}

export function TrafficPlan({ config, error }: TrafficPlanProps): ReactNode {
  const plan = useTrafficOf(config);
  const problem = error ?? plan.error;
  if (problem !== null) return <Note tone="warn">{say.trafficProblem(planProblem(problem))}</Note>;
  const traffic = plan.data?.traffic ?? undefined;
  if (traffic !== undefined) return <TrafficGroups traffic={traffic} />;
  return plan.isFetching && <p role="status">{say.trafficTrying}</p>;
}
