/** The shadow report as the management API asks for it, with what the workers have noted up to the call. */
import type { Clock } from '../../lib/clock.ts';
import type { ShadowReports } from '../../management/context.ts';
import type { WouldDenyReport } from '../../observe/shadow-report.ts';
import type { Supervisor } from './supervisor.ts';

/** Asking the workers for their metrics brings along what they have noted of shadow mode. */
export function shadowReports(report: WouldDenyReport, supervisor: Supervisor, clock: Clock): ShadowReports {
  return {
    read: async (appId, filter) => {
      await supervisor.samples();
      return report.read(appId, filter, clock.nowMs());
    },
    reset: async (appId) => {
      await supervisor.samples();
      report.reset(appId, clock.nowMs());
    },
  };
}
