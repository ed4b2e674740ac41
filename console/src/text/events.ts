/** Words of events: what happened to the gateways, a sentence for each type. */
import { actionText } from './actions.ts';

type Data = Readonly<Record<string, unknown>>;

const text = (data: Data, name: string): string => {
  const value = data[name];
  return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
};
const days = (data: Data, name = 'days_left'): string => {
  const count = Math.abs(Number(data[name] ?? 0));
  return count === 1 ? '1 day' : `${count} days`;
};
const list = (data: Data, name: string): string => (Array.isArray(data[name]) ? data[name].join(', ') : '');
const because = (data: Data): string => (text(data, 'reason') === '' ? '' : `: ${text(data, 'reason')}`);

/** What happened to the subject, which precedes the text. */
const SENTENCES: Readonly<Record<string, (data: Data) => string>> = {
  'config.changed': (data) => actionText(text(data, 'action'), []) || 'The configuration was changed',
  'revision.activated': () => 'Takes traffic now',
  'revision.rolled_back': (data) =>
    list(data, 'replaced') === ''
      ? 'Takes traffic again'
      : `Takes traffic again in place of ${list(data, 'replaced')}`,
  'breaker.opened': (data) => `Its circuit breaker opened${because(data)}`,
  'breaker.closed': () => 'Its circuit breaker closed: its backend gets requests again',
  'target.ejected': (data) => `${text(data, 'target')} gets no requests${because(data)}`,
  'target.returned': (data) => `${text(data, 'target')} gets requests again`,
  'version.deprecated': () => 'Is deprecated',
  'version.sunset_near': (data) => `Its sunset is in ${days(data)}`,
  'version.called_after_sunset': () => 'Was called after its sunset',
  'key.expiring': (data) => `Expires in ${days(data)}`,
  'key.expired': () => 'Has expired: its requests are refused',
  'key.unused': (data) => `Has not been used for ${days(data, 'days')}`,
  'certificate.ending': (data) =>
    Number(data['days_left']) < 0 || text(data, 'days_left') === '0'
      ? 'Ends today, or has ended'
      : `Ends in ${days(data)}`,
  'limit.reached': (data) => text(data, 'limit'),
  'node.joined': (data) => `Joined, with Headgate ${text(data, 'program_version')}`,
  'node.left': (data) => (data['reason'] === 'silent' ? 'Does not answer any more' : 'Stopped'),
  'limits_store.away': (data) => `Does not answer${because(data)}`,
  'limits_store.back': (data) => `Answers again, after ${text(data, 'away_seconds')} s`,
  'database.away': (data) => `Does not answer${because(data)}`,
  'database.back': (data) => `Answers again, after ${text(data, 'away_seconds')} s`,
  'login.refused_repeatedly': (data) => `${text(data, 'refused')} wrong admin tokens were refused`,
  'webhook.test': () => 'Was tested',
};

const WARNINGS: ReadonlySet<string> = new Set([
  'revision.rolled_back',
  'target.ejected',
  'version.sunset_near',
  'version.called_after_sunset',
  'key.expiring',
  'key.expired',
  'certificate.ending',
  'node.left',
  'login.refused_repeatedly',
]);
const ERRORS: ReadonlySet<string> = new Set(['breaker.opened', 'limits_store.away', 'database.away']);

/** The sentence of an event, with how many like it were left out; the type itself when it has no words. */
export function eventText(type: string, data: Data): string {
  const sentence = SENTENCES[type]?.(data) ?? type;
  const leftOut = Number(data['left_out'] ?? 0);
  return leftOut === 0 ? sentence : `${sentence} (and ${leftOut} more like it)`;
}

export function eventLevel(type: string): 'info' | 'warning' | 'error' {
  if (ERRORS.has(type)) return 'error';
  return WARNINGS.has(type) ? 'warning' : 'info';
}

/** The groups that filters and webhooks offer. */
export const EVENT_GROUPS: readonly { readonly value: string; readonly label: string }[] = [
  { value: 'config.*', label: 'Configuration' },
  { value: 'revision.*', label: 'Revisions' },
  { value: 'breaker.*', label: 'Circuit breakers' },
  { value: 'target.*', label: 'Targets' },
  { value: 'version.*', label: 'Versions' },
  { value: 'key.*', label: 'API keys' },
  { value: 'limit.*', label: 'Limits of keys' },
  { value: 'certificate.*', label: 'Certificates' },
  { value: 'node.*', label: 'Gateways' },
  { value: 'database.*', label: 'Database' },
  { value: 'limits_store.*', label: 'Store of limits' },
  { value: 'login.*', label: 'Sign-ins' },
];

/** The text for a group or a type in a webhook. */
export function eventChoiceText(pattern: string): string {
  return EVENT_GROUPS.find(({ value }) => value === pattern)?.label ?? pattern;
}

export const KNOWN_EVENTS: readonly string[] = Object.keys(SENTENCES);

export const eventsWords = {
  title: 'Events',
  summary: 'What happened to the gateways on this database, newest first, as it happens.',
  filters: 'Filters',
  group: 'About',
  any: 'Everything',
  app: 'App',
  appHint: 'Slug or id',
  since: 'From',
  until: 'Up to',
  live: {
    connecting: 'Connecting …',
    open: 'Live',
    lost: 'Connection lost, trying again …',
    refused: 'Not live',
    given_up: 'Not live: other windows are live already',
  },
  liveHere: 'Live here',
  gap: 'Some events are missing here: they were removed before they could be shown. The list has all that are kept.',
  log: 'Events',
  columns: { at: 'Time', about: 'About', what: 'What happened', type: 'Type', node: 'Gateway' },
  kinds: {
    app: 'App',
    version: 'Version',
    revision: 'Revision',
    endpoint: 'Endpoint',
    token: 'API key',
    certificate: 'Certificate',
    node: 'Gateway',
    database: 'Database',
    limits_store: 'Limits',
    network: 'Network',
    config: 'Config version',
    transaction: 'Transaction',
    webhook: 'Webhook',
  } as Readonly<Record<string, string>>,
  emptyTitle: 'No event yet',
  empty:
    'Changes of the configuration, breakers that open, keys that end and more are shown here as they happen. Webhooks send them elsewhere.',
  emptyFiltered: 'No event matches the filters.',
  toWebhooks: 'Webhooks',
} as const;
