/**
 * `headgate nodes | state | settings | tree | search | audit | shadow`: commands about the gateway as a whole, or
 * about the traffic of an app.
 */
import { bytesText } from '../../lib/text/bytes-text.ts';
import type { CliIo } from '../io.ts';
import { cellText, recordText, tableText, type Column } from '../show/text-table.ts';
import {
  column,
  type EverydayCommand,
  type EverydayGroup,
  type EverydayOption,
  type Json,
} from './everyday-command.ts';
import { counted } from '../../lib/text/counted.ts';

const filter = (name: string, description: string): EverydayOption => ({
  flags: `--${name.replaceAll('_', '-')} <${name.includes('type') ? 'type' : 'value'}>`,
  description,
  query: name,
});

const NODES: EverydayCommand = {
  name: 'nodes',
  summary: 'list the gateways that share the database, and whether each has the latest configuration',
  method: 'GET',
  path: '/nodes',
  shown: {
    as: 'list',
    columns: [
      column('NODE', 'name'),
      column('STATE', 'state'),
      column('CONFIG', 'config_version'),
      column('VERSION', 'version'),
      column('LAST SEEN', 'last_seen_at'),
      column('THIS', 'is_self'),
    ],
    rows: ({ nodes }) => nodes,
  },
  examples: ['headgate nodes'],
};

const STATE: EverydayCommand = {
  name: 'state',
  summary:
    'show database, store of limits, counters, certificates, circuit breakers and export of telemetry of all gateways',
  method: 'GET',
  path: '/state',
  shown: { as: 'text', text: (data, io) => data.map((node: Json) => nodeStateText(node, io)).join('\n') },
  examples: ['headgate state', 'headgate state --output json'],
};

function nodeStateText({ node, state }: Json, io: CliIo): string {
  if (state === null) return recordText({ gateway: node, state: 'no answer' }, io);
  const {
    database,
    limit_store: store,
    limit_counters: counters,
    breakers,
    targets,
    workers,
    telemetry,
  } = state;
  const facts = {
    gateway: node,
    workers: `${workers.listening} of ${workers.configured}`,
    database: partText(database.driver, database.address, database.state, database.latency_ms),
    clock: clockText(database.clock_ahead_ms),
    'limit store':
      store && partText(store.kind, store.address, store.connected ? 'ok' : 'error', store.latency_ms),
    'store memory': store?.memory && storeMemoryText(store.memory),
    fallback: store?.fallback,
    counters: `${counters.counters} with ${bytesText(counters.bytes)} of ${bytesText(counters.bytes_max)}, ${counters.evictions} evicted`,
    breakers: `${breakers.closed} closed, ${breakers.half_open} half open, ${breakers.open} open`,
    targets: `${targets.in_service} in service, ${targets.ejected} ejected, ${targets.unhealthy} unhealthy`,
    zone: state.zone,
    traces: telemetryText(telemetry.traces),
    metrics: telemetryText(telemetry.metrics),
    logs: telemetryText(telemetry.logs),
  };
  const certificates =
    state.certificates.length === 0 ? '' : tableText(CERTIFICATE_COLUMNS, state.certificates, io);
  return recordText(facts, io) + certificates;
}

function storeMemoryText({ bytes, bytes_max: most, policy }: Json): string {
  return most === null
    ? `${bytesText(bytes)}, without a maxmemory`
    : `${bytesText(bytes)} of ${bytesText(most)}, ${policy}`;
}

function clockText(aheadMs: number | null): string | null {
  if (aheadMs === null) return null;
  return `${Math.abs(aheadMs)} ms ${aheadMs < 0 ? 'behind' : 'ahead of'} that of the database`;
}

function partText(kind: string, address: string | null, state: string, latencyMs: number | null): string {
  const latency = latencyMs === null ? '' : `, ${latencyMs} ms`;
  return `${[kind, address].filter((part) => part !== null).join(' ')}: ${state}${latency}`;
}

/** `ok, http://localhost:4318/v1/traces: 12 exported, 0 dropped, 0 failed, 0 bytes waiting`, or `off`. */
function telemetryText(signal: Json): string {
  const {
    state,
    endpoint,
    exported,
    dropped,
    failed,
    waiting_bytes: waiting,
    last_failure: failure,
  } = signal;
  if (state === 'off') return 'off';
  const counts = [`${exported} exported`, `${dropped} dropped`, `${failed} failed`];
  if (waiting !== null) counts.push(`${counted(waiting, 'byte')} waiting`);
  if (failure !== null) counts.push(`last failure at ${failure.at}: ${failure.detail}`);
  return `${state}, ${endpoint}: ${counts.join(', ')}`;
}

const CERTIFICATE_COLUMNS: readonly Column<Json>[] = [
  column('CERTIFICATE OF', 'listener'),
  column('STATE', 'state'),
  column('EXPIRES', 'expires_at'),
  column('DAYS LEFT', 'days_left'),
  column('CRL DUE', 'crl_update_due_at'),
  column('NAMES', 'names'),
];

const SETTINGS: EverydayCommand = {
  name: 'settings',
  summary: 'show the settings of the running gateway, secrets masked, or describe all settings',
  method: 'GET',
  path: '/settings',
  options: [
    { flags: '--changed', description: 'only those that do not come from the default', query: 'changed' },
  ],
  shown: {
    as: 'list',
    columns: [
      column('NAME', 'name'),
      column('SOURCE', 'source'),
      column('UNIT', 'unit'),
      { title: 'VALUE', value: ({ value, default_text: usual }) => asTyped(value ?? usual) },
    ],
    rows: ({ items }) => items,
  },
  offline: {
    flag: 'describe',
    description: 'every setting with its kind of value, default and meaning; needs no gateway',
    data: async () => {
      const { settingsInForce } = await import('../../settings/settings-in-force.ts');
      const items = settingsInForce(() => undefined);
      return { items: items.map(({ value: _value, source: _source, ...described }) => described) };
    },
    text: ({ items }) => items.map(describedSetting).join('\n'),
  },
  examples: ['headgate settings --changed', 'headgate settings --describe | less'],
};

/** A setting takes `true`, not the `yes` of other tables. */
const asTyped = (value: Json): Json => (typeof value === 'boolean' ? String(value) : value);

function describedSetting({ name, type, default: constant, default_text: inWords, doc }: Json): string {
  return `${name}\n  ${type}; default: ${inWords ?? cellText(asTyped(constant ?? 'unset'))}\n  ${doc}\n`;
}

const TREE: EverydayCommand = {
  name: 'tree',
  summary: 'show the versions of an app with their revisions and numbers of endpoints',
  method: 'GET',
  path: '/apps/{app}/tree',
  isPaged: true,
  shown: {
    as: 'list',
    columns: [
      column('VERSION', 'version'),
      column('STATUS', 'status'),
      column('PATH', 'gateway_path'),
      column('ENDPOINTS', 'endpoints'),
      { title: 'REVISIONS', value: ({ revisions }) => revisions.map(revisionText) },
    ],
  },
  examples: ['headgate tree shop', 'headgate tree shop --output json'],
};

/** `canary 10% (12 endpoints)`, or `old - (12 endpoints)` without traffic. */
function revisionText({ revision, is_current: isCurrent, traffic_share: share, endpoints }: Json): string {
  const traffic = isCurrent ? `${Math.round(share * 1000) / 10}%` : '-';
  return `${revision} ${traffic} (${counted(endpoints, 'endpoint')})`;
}

const SEARCH: EverydayCommand = {
  name: 'search',
  summary: 'find apps, versions, revisions, endpoints, keys and admin tokens by a part of their name or path',
  method: 'GET',
  path: '/search',
  options: [{ flags: '--rows <count>', description: 'maximum number of rows; default: 20', query: 'limit' }],
  argument: { name: 'text', description: 'part of a name, label, path or id', query: 'q' },
  shown: {
    as: 'text',
    text: ({ items, total, complete }, io) =>
      tableText(FOUND_COLUMNS, items, io) +
      (total > items.length ? `Shown: ${items.length} of ${total}; --rows raises it.\n` : '') +
      (complete
        ? ''
        : 'Not everything was searched: there are too many records, or the database is unavailable.\n'),
  },
  examples: ['headgate search invoices', 'headgate search "GET /invoices" --rows 50'],
};

const FOUND_COLUMNS: readonly Column<Json>[] = [
  column('KIND', 'kind'),
  column('ID', 'id'),
  column('NAME', 'path'),
];

const AUDIT: EverydayCommand = {
  name: 'audit',
  summary: 'list who changed what, newest first',
  method: 'GET',
  path: '/audit',
  isPaged: true,
  options: [
    {
      flags: '--order <order>',
      description: 'newest_first or oldest_first',
      query: 'order',
      default: 'newest_first',
    },
    filter('actor', 'id of an admin token, environment, anonymous or system'),
    filter('action', 'such as app.delete or login.refused'),
    filter('resource_type', 'such as app'),
    filter('resource_name', 'slug, label, method and path, or name of the changed record'),
    {
      flags: '--since <time>',
      description: 'from this moment on, such as 2030-01-31T00:00:00Z',
      query: 'since',
    },
    { flags: '--until <time>', description: 'before this moment', query: 'until' },
  ],
  shown: {
    as: 'list',
    columns: [
      column('TIME', 'at'),
      column('ACTOR', 'actor'),
      column('ADDRESS', 'address'),
      column('ACTION', 'action'),
      column('CONFIG', 'config_version'),
      { title: 'NAME', value: ({ resource_name: name, resource_id: id }) => name ?? id },
    ],
  },
  examples: ['headgate audit --limit 20', 'headgate audit --action app.delete --since 2030-01-01T00:00:00Z'],
};

const SHADOW: EverydayCommand = {
  name: 'shadow',
  summary: 'show what parts of policies in shadow mode would have denied',
  method: 'GET',
  path: '/apps/{app}/shadow-report',
  options: [
    { flags: '--from <time>', description: 'count from this moment on', query: 'from' },
    { flags: '--part <part>', description: 'only this part of policies, such as rate_limit', query: 'part' },
    { flags: '--rows <count>', description: 'maximum number of rows; default: 100', query: 'limit' },
  ],
  shown: {
    as: 'text',
    text: (data, io) =>
      recordText({ 'would deny': data.total, since: data.from, 'by part': data.by_part }, io) +
      (data.total === 0 ? '' : `\n${tableText(SHADOW_COLUMNS, data.rows, io)}`),
  },
  examples: ['headgate shadow shop', 'headgate shadow shop --part rate_limit'],
};

const SHADOW_COLUMNS: readonly Column<Json>[] = [
  column('PART', 'part'),
  column('REQUESTS', 'total'),
  column('METHOD', 'method'),
  column('ROUTE', 'route'),
  { title: 'LAST', value: ({ last }) => last.at },
  { title: 'CALLERS', value: ({ keys }) => keys.map(({ name, kind }: Json) => (name === '' ? kind : name)) },
];

/** Certificates from files and by ACME. */
const CERTIFICATES: EverydayGroup = {
  name: 'certificates',
  summary: 'show certificates, and order new ones by ACME',
  commands: [
    {
      name: 'list',
      summary: 'list the names that have a certificate, or for which one is ordered',
      method: 'GET',
      path: '/certificates',
      isPaged: true,
      shown: {
        as: 'list',
        columns: [
          column('NAME', 'name'),
          column('SOURCE', 'source'),
          column('STATE', 'state'),
          column('EXPIRES', 'expires_at'),
          column('ORDER', 'order'),
          column('NEXT TRY', 'next_try_at'),
          column('LAST ERROR', 'last_error'),
        ],
      },
      examples: ['headgate certificates list', 'headgate certificates list --output json'],
    },
    {
      name: 'renew',
      summary: 'order a new certificate for a name now',
      method: 'POST',
      path: '/certificates/{host_name}/renew',
      shown: { as: 'done', text: 'A new certificate for {host_name} is being ordered.' },
      examples: ['headgate certificates renew shop.example.com'],
    },
  ],
};

/** The keys that the encrypted values of the database need. */
const SECRETS: EverydayGroup = {
  name: 'secrets',
  summary: 'show which key each encrypted secret of the database needs, and encrypt all with the first key',
  commands: [
    {
      name: 'list',
      summary: 'count the encrypted secrets by the key that they need; needs the role admin',
      method: 'GET',
      path: '/secrets',
      shown: { as: 'text', text: secretsText },
      examples: ['headgate secrets list', 'headgate secrets list --output json'],
    },
    {
      name: 'rekey',
      summary: 'encrypt every secret with the first key of GATEWAY_SECRET_KEY; needs the role admin',
      method: 'POST',
      path: '/secrets/rekey',
      shown: {
        as: 'text',
        text: (data, io) => `${counted(data.rekeyed, 'value')} encrypted again.\n${secretsText(data, io)}`,
      },
      examples: ['headgate secrets rekey'],
    },
  ],
};

const SECRET_COLUMNS: readonly Column<Json>[] = [
  column('PLACE', 'place'),
  column('KEY', 'key_id'),
  column('STATE', 'state'),
  column('VALUES', 'count'),
];

function secretsText({ source, keys, values }: Json, io: CliIo): string {
  const lines = keys.map(({ id, encrypts, values: needed }: Json, index: number) => {
    const use = encrypts ? 'encrypts and decrypts' : 'only decrypts';
    // The counts are the same before the new key encrypts and after everything was encrypted with it.
    const advice =
      encrypts || needed > 0
        ? ''
        : ': if it is the old key, it can be removed; if it is the new one, put it first next';
    return `key ${index + 1} of ${source}: ${id}, ${use}; ${counted(needed, 'value needs', 'values need')} it${advice}\n`;
  });
  const unreadable = values.some(({ state }: Json) => state === 'unreadable')
    ? 'Values that are unreadable need a key that this gateway does not have, or are damaged.\n'
    : '';
  const plain = values.some(({ state }: Json) => state === 'plain')
    ? 'Values that are plain were stored by an older version; headgate secrets rekey encrypts them.\n'
    : '';
  const table = values.length === 0 ? '' : tableText(SECRET_COLUMNS, values, io);
  return table + lines.join('') + unreadable + plain;
}

export const GATEWAY_GROUPS: readonly EverydayGroup[] = [CERTIFICATES, SECRETS];

export const GATEWAY_COMMANDS: readonly EverydayCommand[] = [
  NODES,
  STATE,
  SETTINGS,
  TREE,
  SEARCH,
  AUDIT,
  SHADOW,
];
