/** Words of the page that edits the declared configuration. */
import { counted } from './counted.ts';

const NUMBER = new Intl.NumberFormat('en');

export const editWords = {
  title: 'Edit the configuration',
  apps: 'Apps',
  summary:
    'The declared configuration as YAML: change it, look at the plan, then apply it. All of it is applied at once, or nothing.',
  app: 'App',
  allApps: 'All apps',
  yaml: 'Configuration as YAML',
  plan: 'Plan',
  planAgain: 'Plan again',
  planTitle: 'What it would change',
  discard: 'Discard the changes',
  readAt: (version: number): string => `Read at config version ${NUMBER.format(version)}`,
  restored: 'These are changes that you have not applied yet.',
  notChanged: 'Nothing is changed yet. Change the text, then plan.',
  planning: 'Making the plan, and trying recent requests on it …',
  planFirst: 'The text has changed. Plan to see what it would do.',
  broken: (message: string): string => `The YAML has an error: ${message}`,
  long: 'The text is very long: it is read when it is planned. One app at a time is quicker.',
  noChange: 'Nothing to change: the gateway has this configuration.',
  totals: (create: number, update: number, remove: number): string =>
    [
      create > 0 && `${counted(create, 'record')} to create`,
      update > 0 && `${counted(update, 'record')} to change`,
      remove > 0 && `${counted(remove, 'record')} to delete`,
    ]
      .filter(Boolean)
      .join(', ') + '.',
  kinds: { create: 'create', update: 'change', delete: 'delete' } as const,
  below: (records: number): string => `with ${counted(records, 'record')} below`,
  andMore: (more: number): string => `… and ${counted(more, 'more change')}`,
  default: 'default',
  mayDelete: (records: number): string => `Delete ${counted(records, 'record')}`,
  adopt: 'Also change apps that other files declare',
  adoptHint: 'Such apps have the label owner. The next apply of those files would undo the change.',
  apply: 'Apply',
  applied: 'Configuration applied',
  why: 'Why (for the history)',
  movedSinceRead: (read: number, now: number): string =>
    `Others have changed this configuration since you read it (version ${read}, now ${now}). Applied as it is, your text would undo that.`,
  merge: 'Look at both',
  whatChanged: 'What has changed since',
  createdKeys: 'New API keys: their values are shown only now',
  command: 'The same on the command line',
  commandHint: 'With the text in a file:',
  mayNotApply: 'You may plan. Applying needs the role editor.',
} as const;
