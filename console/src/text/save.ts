/** Words of saving: what a change would do, the same change elsewhere, and two changes of one record. */
import { counted } from './counted.ts';

const NUMBER = new Intl.NumberFormat('en');

export const saveWords = {
  why: 'Why (for the history)',
  whyHint: 'Optional. The history shows it beside the change. Empty: the title above.',
  /** @param areNew whether all of them come with the change */
  effects: (endpoints: number, keys: number, areNew: { routes: boolean; keys: boolean }): string => {
    if (endpoints === 0 && keys === 0) return 'This changes no route and no key yet.';
    const parts = [
      endpoints > 0 &&
        (areNew.routes
          ? counted(endpoints, 'new route')
          : counted(endpoints, 'route changes', 'routes change')),
      keys > 0 &&
        (areNew.keys ? counted(keys, 'new API key') : counted(keys, 'API key changes', 'API keys change')),
    ].filter(Boolean);
    return `${parts.join(' and ')}.`;
  },
  onlyRecord: 'This changes no route and no key, but fields of the record:',
  onlyShares: 'The routes stay as they are: only the shares of the traffic change.',
  routes: 'Routes that change',
  route: (method: string, route: string): string => `${method} ${route}`,
  where: (version: string, revision: string): string => `version ${version}, revision ${revision}`,
  kinds: { added: 'new', removed: 'removed', changed: 'changed' } as Readonly<Record<string, string>>,
  notSet: 'not set',
  sameFor: (routes: number): string => `The same for ${counted(routes, 'route')}:`,
  moreGroups: (groups: number): string => `Show ${counted(groups, 'more change')}`,
  andMore: (more: number): string => `… and ${counted(more, 'more route')}`,
  andMoreKeys: (more: number): string => `… and ${counted(more, 'more key')}`,
  showAll: (total: number): string => `Show all ${NUMBER.format(total)}`,
  keys: 'API keys that change',
  keysWithApp: (keys: number): string =>
    keys === 1 ? '1 key is removed with its app.' : `${NUMBER.format(keys)} keys are removed with their app.`,
  starts: 'begins to get requests',
  stops: 'gets no more requests',
  moves: (before: string, after: string): string => `path: ${before} → ${after}`,
  everyHost: 'every host',
  movesHosts: (before: string, after: string): string => `hosts: ${before} → ${after}`,
  opens: 'The key opens it now',
  closes: 'The key no longer opens it',
  level: (level: string): string =>
    (
      { app: 'app', revision: 'revision', endpoint: 'endpoint', global: 'settings', key: 'key' } as Readonly<
        Record<string, string>
      >
    )[level] ?? level,
  warnings: 'The gateway warns',
  traffic: 'Recent requests',
  trafficNone: (requests: number): string =>
    `None of the last ${counted(requests, 'request')} would be answered differently.`,
  trafficChanged: (changed: number, requests: number): string =>
    `Of the last ${counted(requests, 'request')}, ${NUMBER.format(changed)} would be answered differently:`,
  trafficNothing: 'No recent requests are recorded, so the change was not tried on any.',
  trafficProblem: (problem: string): string => `The recent requests could not be tried: ${problem}.`,
  trafficMore: (groups: number): string => `… and others, in ${counted(groups, 'more group')}`,
  trafficUndecided: (requests: number): string =>
    `For ${NUMBER.format(requests)} it is unknown: their credential was not read when they came.`,
  trafficTooLate: (requests: number): string =>
    `There was no time for ${counted(requests, 'older request')}.`,
  trafficUndeclared:
    'The recent requests are not tried: configuration files know a record by its name, so they cannot express this change.',
  trafficNewKey: 'The recent requests are not tried: none of them has the new key.',
  trafficTrying: 'Trying the recent requests …',
  groupBefore: 'Now answered',
  groupAfter: 'Would be answered',
  groupCallers: 'Callers',
  groupFirst: 'First',
  groupCount: 'Requests',
  backend: 'the backend',
  or: ' or ',
  byCors: ' (refused by CORS)',
  byKey: (name: string): string => `key ${name}`,
  bySubject: (id: string): string => `subject ${id}`,
  byAnonymous: 'anonymous',
  same: 'The same change as curl, command or YAML',
  sameCall: 'The same as curl or command',
  curl: 'curl',
  command: 'Command line',
  yaml: 'YAML',
  copyOf: (what: string): string => `Copy: ${what}`,
  yamlHint: 'At this place of the configuration files:',
  yamlKey:
    'At this place of the configuration files, if the files list the keys of the app (they must then list all of them):',
  yamlAbsent: 'In the configuration files, remove this entry with everything below it:',
  yamlAbsentApp:
    'In the configuration files, remove this entry; files without an owner are then applied with --prune:',
  yamlBody: 'The body of the call:',
  yamlFile: 'The configuration file:',
  conflict: 'Meanwhile this was changed by another write',
  conflictAbout:
    'Nothing of yours is lost. Below are the fields in which yours and what is stored now differ: take a side for each, then go on.',
  conflictNone: 'The stored values do not conflict with your change.',
  bothSides: 'Both sides, field by field',
  conflictAt: 'Changed',
  field: 'Field',
  read: 'As you read it',
  theirs: 'Stored now',
  mine: 'Yours',
  take: (side: string, field: string): string => `${field}: take ${side}`,
  changedBy: { mine: 'changed by you', theirs: 'changed by the other', both: 'changed by both' } as const,
  absent: 'not set',
  goOn: 'Go on with this',
  undoFailed: 'Could not undo',
  undone: 'Undone',
} as const;
