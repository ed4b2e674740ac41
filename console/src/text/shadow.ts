/** Words of the shadow report. */
import { counted } from './counted.ts';

export const shadowWords = {
  title: 'Shadow mode',
  titleOf: (app: string): string => `Shadow mode: ${app}`,
  summary:
    'What parts of policies that are only tried would have denied. To try a part, tick “Only try (shadow)” at it in a policy.',
  apps: 'Apps',
  app: 'App',
  shadowDenials: 'Would have denied',
  shadowDenialsBelow: 'Would have denied',
  inShadow: 'Shadow, whole app',
  noneFound: 'No app matches',
  noneFoundDetail: 'Search for another part of its name, slug or path.',
  noneInShadow: 'none',
  report: 'Report',
  counting: 'Counting …',
  nothing: 'nothing so far',
  window: 'Period',
  windows: { '15m': 'Last 15 minutes', '24h': 'Last 24 hours' },
  ofTotal: (count: string, total: string): string => `${count} of ${total}`,
  share: (share: string): string => `${share} of the requests of the app`,
  noTotals: 'The gateway keeps no traffic over time, so there is no total to compare with.',
  allNodes: (count: number): string =>
    `The totals are of all ${count} gateways, the report of this one alone: shares are too small.`,
  since: 'Counted since',
  enforce: 'Enforce',
  enforcePart: (part: string): string => `Enforce: ${part}`,
  enforceTitle: (part: string, at: string): string => `Enforce "${part}" at ${at}`,
  enforced: (part: string): string => `"${part}" is in force`,
  notInShadow: 'This part is no longer in shadow mode there.',
  reset: 'Reset',
  resetTitle: 'Start counting from 0 again?',
  resetDetail: 'The counts of this app begin at 0. Policies stay as they are.',
  wasReset: 'The counts start from 0 again',
  by: 'By route and part',
  byTable: 'Requests that would have been denied',
  appsTable: 'Apps with their parts in shadow mode',
  part: 'Part',
  route: 'Route',
  callers: 'Callers',
  last: 'Last',
  noEndpoint: 'no endpoint',
  furtherRoutes: 'further endpoints',
  others: (count: string): string => `others: ${count}`,
  rowsLeftOut: (count: number): string =>
    `${counted(count, 'row with less is', 'rows with less are')} not shown.`,
  anonymous: 'anonymous',
  emptyTitle: 'Nothing is in shadow mode',
  empty:
    'Try a policy before it denies anything: tick “Only try (shadow)” at its parts. They are evaluated for every request, refuse none, and are counted here with route and caller. When the numbers are right, one press enforces them.',
  toPolicy: 'Edit the policy',
  quietTitle: 'It would have denied nothing',
  quiet:
    'Parts are in shadow mode, and no request in this period would have been denied by them. Once enough traffic has passed, enforce them.',
  levels: { app: 'the app', revision: 'the revision', endpoint: 'the endpoint' } as Readonly<
    Record<string, string>
  >,
  noApps: 'There is no app yet',
} as const;
