/** The time series of the gateway, as the management API asks for them. */
import type { StatsQuestion, StatsReply } from '../../observe/stats/stats-question.ts';
import type { StatsGrid, WindowName } from '../../observe/stats/stats-window.ts';

export interface StatsAccess {
  /**
   * The steps up to now. @param sinceSecs Unix seconds of which the step is the first
   */
  grid(window: WindowName, stepSecs: number, sinceSecs?: number): StatsGrid;
  /** Unix seconds of the end of what is counted. */
  toSecs(): number;
  /** This gateway's reply, then one for each other gateway with the same database, without findings. */
  ask(question: StatsQuestion): Promise<readonly StatsReply[]>;
}
