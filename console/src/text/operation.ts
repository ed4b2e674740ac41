/** Words of the pages about running the gateway: health of revisions, gateways, settings. */
/** @param isFirst the one that is named is the first of them; otherwise they are looked up */
const targetsText = (total: number, isFirst: boolean): string =>
  `${isFirst ? 'the first of ' : ''}${total} ${total === 1 ? 'target' : 'targets'}`;

export const healthWords = {
  title: 'Health',
  summary: 'Every revision that gets traffic: its circuit breaker, its last error and its last health check.',
  nothingFails: 'No circuit breaker is open, no health check fails, and no app has many errors.',
  search: 'Search apps',
  searchHint: 'By name, slug or path',
  noApps: 'There is no app yet',
  noAppsDetail:
    'An app has versions, and a version has revisions: each is a backend. Their health is shown here.',
  makeApp: 'Create the first app',
  noneFound: 'No app matches',
  noneFoundDetail: 'Search for another part of its name, slug or path.',
  revisionsOf: (app: string): string => `Revisions of ${app}`,
  noRevision: 'No revision gets traffic.',
  columns: {
    revision: 'Revision',
    state: 'State',
    share: 'Traffic',
    backend: 'Backend',
    lastError: 'Last error',
    lastProbe: 'Last health check',
  },
  states: { closed: 'in service', half_open: 'on trial', open: 'failing', none: 'unknown' },
  targets: (total: number, isFirst: boolean): string => targetsText(total, isFirst),
  targetsInService: (count: number, total: number, isFirst: boolean): string =>
    total === 0
      ? 'no targets yet'
      : `${targetsText(total, isFirst)}, ${count === total ? 'all' : count === 0 ? 'none' : count} in service`,
  since: 'since',
  failuresInARow: (count: string): string => `${count} in a row`,
  noError: 'none',
  probing: { off: 'none', while_open: 'only while it fails', always: 'none yet' },
  probeOk: (status: number | null, time: string): string =>
    status === null ? `passed in ${time}` : `passed with ${status} in ${time}`,
  probeFailed: (why: string): string => `failed: ${why}`,
  idle: (count: number): string =>
    count === 1 ? '1 more revision gets no traffic.' : `${count} more revisions get no traffic.`,
} as const;

export const nodesWords = {
  title: 'Gateways',
  summary: (version: number): string =>
    `The running gateways with this database. The latest configuration is version ${version}.`,
  table: 'Running gateways',
  columns: {
    name: 'Name',
    state: 'State',
    applied: 'Config version in force',
    version: 'Headgate',
    started: 'Started',
    seen: 'Last heartbeat',
  },
  self: 'this one',
  states: { live: 'up to date', lagging: 'behind' },
  behind: (count: number): string => (count === 1 ? '1 version behind' : `${count} versions behind`),
  alone:
    'One gateway is enough for most. More of them with one PostgreSQL database share configuration, keys and limits.',
  file: {
    title: 'Configuration files',
    text: 'The configuration of this gateway comes from files, and cannot be changed here.',
    state: 'State',
    states: { current: 'served', refused: 'refused: the previous configuration is served', ok: 'served' },
    path: 'Path',
    loaded: 'Read',
    since: 'Problems since',
    problems: (shown: number, total: number): string =>
      shown === total ? `Problems: ${total}` : `Problems: the first ${shown} of ${total}`,
    columns: { place: 'Place', pointer: 'Value', detail: 'What is wrong' },
    wholeFile: 'the whole file',
  },
} as const;

export const settingsWords = {
  title: 'Settings',
  summary:
    'The settings in force of the gateway that answers. They are read from the environment when it starts: to change one, change the environment and start it again.',
  search: 'Search',
  searchHint: 'In names, values and texts',
  changed: 'Only those that are set',
  shown: (shown: number, total: number): string => `${shown} of ${total} settings`,
  noneFound: 'No setting matches',
  noneFoundDetail: 'Search for another word, or show those that are not set as well.',
  showAll: 'Show all settings',
  value: 'Value',
  default: 'Default',
  unset: 'not set',
  noDefault: 'none',
  empty: 'empty',
  secret: 'secret',
  sources: { default: 'default', environment: 'environment' },
} as const;
