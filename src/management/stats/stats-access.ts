/** The time series of the gateway, as the management API asks for them. */
import type { StatsQuestion, StatsReply } from '../../observe/stats/stats-question.ts';
import type { StatsGrid, WindowName } from '../../observe/stats/stats-window.ts';

export interface StatsAccess {
  /** The steps up to now. @param sinceSecs Unix seconds; the first step is the one that contains them */
  grid(window: WindowName, stepSecs: number, sinceSecs?: number): StatsGrid;
  /** The findings of this gateway and of the others on the same database. */
  ask(question: StatsQuestion): Promise<SharedReplies>;
}

/** The findings of gateways, this one first. A gateway that did not answer in time has none. */
export interface SharedReplies {
  /** The requested steps that all gateways with an answer have counted. */
  readonly grid: StatsGrid;
  /** Unix seconds of the end of what all of them have counted. */
  readonly toSecs: number;
  readonly replies: readonly StatsReply[];
}
