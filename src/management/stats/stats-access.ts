/** The time series of the gateways with the same database, as the management API asks for them. */
import type { StatsQuestion, StatsReply } from '../../observe/stats/stats-question.ts';
import type { StatsGrid, WindowName } from '../../observe/stats/stats-window.ts';

export interface StatsAccess {
  /**
   * The steps up to now. @param sinceSecs Unix seconds of which the step is the first
   */
  grid(window: WindowName, stepSecs: number, sinceSecs?: number): StatsGrid;
  /** Unix seconds of the end of what is counted. */
  toSecs(): number;
  /** Asks this gateway and the others, and waits a bounded time for them. This one's reply is the first. */
  ask(question: StatsQuestion): Promise<readonly StatsReply[]>;
}
