/** What a workload is: a question with contestants, and the targets that the answer is held against. */
import type { Figures, Pace } from '../contest.ts';
import { contest, type Contestant } from '../contest.ts';
import type { PeerSetup } from '../peers/peer.ts';
import type { WorkloadResult } from '../report.ts';

export interface WorkloadContext {
  readonly setup: PeerSetup;
  readonly pace: Pace;
  /** Short runs that only show that everything works: smaller configurations, fewer connections. */
  readonly quick: boolean;
  readonly progress: (text: string) => void;
}

export interface Workload {
  readonly id: string;
  readonly title: string;
  run(context: WorkloadContext): Promise<WorkloadResult>;
}

export function compete(
  { setup, pace, progress }: WorkloadContext,
  contestants: readonly Contestant[],
): Promise<Figures[]> {
  return contest(contestants, setup, pace, progress);
}

export const CONNECTIONS = 64;
