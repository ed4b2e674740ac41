/** `headgate apps | versions | revisions | endpoints | traffic`: the records of the configuration, one by one. */
import { shownPlace } from '../../config/backend.ts';
import { sourceText } from '../../config/targets.ts';
import { revisionHealthText } from './revision-health-text.ts';
import { CliError, printable } from '../io.ts';
import type { Column } from '../show/text-table.ts';
import { backendFields } from './backend-url.ts';
import {
  column,
  type EverydayCommand,
  type EverydayGroup,
  type EverydayOption,
  type Json,
} from './everyday-command.ts';

/** A URL, or the source of the targets, such as `https by dns billing.internal:443`. */
const backendOf = (row: Json): string =>
  row.discovery ? `${row.backend_scheme} by ${sourceText(row.discovery)}` : urlOf(row);
const urlOf = (row: Json): string =>
  `${row.backend_scheme}://${shownPlace(row.backend_host, row.backend_port)}${row.backend_base_path === '/' ? '' : row.backend_base_path}`;

/** The path of an app, after its first host and the number of further hosts. */
const placeOf = ({ hosts = [], gateway_path: path }: Json): string =>
  hosts.length === 0 ? path : `${hosts[0]}${hosts.length === 1 ? '' : ` +${hosts.length - 1}`} ${path}`;

const CASCADE: EverydayOption = {
  flags: '--cascade',
  description: 'delete everything below it, too',
  query: 'cascade',
};
const BACKEND: EverydayOption = {
  flags: '--backend <url>',
  description: 'scheme, host, port and base path of the backend as one URL, such as http://10.0.0.5:8080/api',
  body: backendFields,
};

interface Kind {
  readonly name: string;
  readonly one: string;
  /** The path of the list, and the argument that names a record in it. */
  readonly list: string;
  readonly argument: string;
  readonly schema: NonNullable<EverydayCommand['fields']>;
  readonly columns: readonly Column<Json>[];
  readonly made: NonNullable<EverydayCommand['made']>;
  readonly options?: readonly EverydayOption[];
  readonly createOptions?: readonly EverydayOption[];
  readonly hasChildren: boolean;
  /** Examples of the arguments for the records above, and for the record itself. */
  readonly sample: readonly [parents: string, own: string];
  readonly createSample: string;
  readonly editSample: string;
}

/** The commands that every kind of record has. */
function recordCommands(kind: Kind): EverydayCommand[] {
  const { one, list, argument, schema, columns, made, sample, options = [], createOptions = [] } = kind;
  const path = `${list}/{${argument}}`;
  const [parents, own] = sample;
  const command = (verb: string, rest: string): string =>
    ['headgate', kind.name, verb, parents, rest].filter((word) => word !== '').join(' ');
  return [
    {
      name: 'list',
      summary: `list ${kind.name}`,
      method: 'GET',
      path: list,
      isPaged: true,
      shown: { as: 'list', columns },
      examples: [command('list', ''), command('list', '--output json')],
    },
    {
      name: 'show',
      summary: `show ${one}`,
      method: 'GET',
      path,
      shown: { as: 'record' },
      examples: [command('show', own)],
    },
    {
      name: 'create',
      summary: `create ${one}`,
      method: 'POST',
      path: list,
      made,
      fields: schema,
      options: [...options, ...createOptions],
      takesDryRun: true,
      shown: { as: 'record' },
      examples: [command('create', own), command('create', `${own} ${kind.createSample}`)],
    },
    {
      name: 'edit',
      summary: `change fields of ${one}`,
      method: 'PATCH',
      path,
      fields: schema,
      options,
      takesDryRun: true,
      shown: { as: 'record' },
      examples: [
        command('edit', `${own} ${kind.editSample}`),
        command('edit', `${own} --file fields.yaml --dry-run`),
      ],
    },
    {
      name: 'delete',
      summary: `delete ${one}`,
      method: 'DELETE',
      path,
      ...(kind.hasChildren && { options: [CASCADE] }),
      shown: { as: 'done', text: `Deleted: {${argument}}.` },
      examples: [command('delete', `${own}${kind.hasChildren ? ' --cascade' : ''}`)],
    },
  ];
}

const VERSION = '/apps/{app}/versions/{version}';
const REVISION = `${VERSION}/revisions/{revision}`;

const APPS = recordCommands({
  name: 'apps',
  one: 'an app',
  list: '/apps',
  argument: 'app',
  schema: 'app',
  columns: [
    column('APP', 'slug'),
    { title: 'PATH', value: placeOf },
    column('MODE', 'routing_mode'),
    column('NAME', 'name'),
  ],
  made: {
    argument: 'slug',
    description:
      'short name, unique among apps; also used as name and path of the app where these are not given',
    fields: (slug) => ({ slug, name: slug, gateway_path: `/${slug}` }),
  },
  hasChildren: true,
  sample: ['', 'shop'],
  createSample: 'name="The shop" gateway_path=/shop policy.auth.auth_type=api_key',
  editSample:
    'policy.rate_limit.enabled=true policy.rate_limit.requests=10 policy.rate_limit.window_seconds=60',
});

const VERSIONS = recordCommands({
  name: 'versions',
  one: 'a version',
  list: '/apps/{app}/versions',
  argument: 'version',
  schema: 'version',
  columns: [
    column('VERSION', 'version'),
    column('STATUS', 'status'),
    column('SUNSET', 'sunset_at'),
    column('PATH', 'gateway_path'),
  ],
  made: { argument: 'label', description: 'such as v1', fields: (version) => ({ version }) },
  hasChildren: true,
  sample: ['shop', 'v1'],
  createSample: 'gateway_path=/shop/first',
  editSample: 'status=deprecated sunset_at=2030-01-01T00:00:00Z successor=v2',
});

const REVISIONS = recordCommands({
  name: 'revisions',
  one: 'a revision',
  list: `${VERSION}/revisions`,
  argument: 'revision',
  schema: 'revision',
  columns: [
    column('REVISION', 'revision'),
    column('CURRENT', 'is_current'),
    column('WEIGHT', 'traffic_weight'),
    { title: 'BACKEND', value: backendOf },
  ],
  made: { argument: 'label', description: 'such as r1 or canary', fields: (revision) => ({ revision }) },
  options: [BACKEND],
  hasChildren: true,
  sample: ['shop v1', 'canary'],
  createSample: '--backend http://10.0.0.5:8080 copy_endpoints_from=stable',
  editSample: '--backend https://shop.internal health_check_path=/healthz',
});

const ENDPOINTS = recordCommands({
  name: 'endpoints',
  one: 'an endpoint',
  list: `${REVISION}/endpoints`,
  argument: 'endpoint',
  schema: 'endpoint',
  columns: [
    column('METHOD', 'method'),
    column('ACTIVE', 'is_active'),
    column('BACKEND PATH', 'backend_path'),
    column('PATH', 'path'),
  ],
  made: {
    argument: 'endpoint',
    description: 'method and path, such as "GET /items/{id}"',
    fields: (text) => {
      const [method = '', path] = text.split(/ +(.*)/, 2);
      if (path === undefined)
        throw new CliError(
          `"${printable(text)}" is not a method and a path; expected both in quotes, such as "GET /items/{id}"`,
        );
      return { method, path };
    },
  },
  hasChildren: false,
  sample: ['shop v1 stable', '"GET /items/{id}"'],
  createSample: 'backend_path="/catalogue/{id}"',
  editSample: 'policy.rate_limit.requests=5',
});

const activation = (name: 'activate' | 'deactivate', summary: string): EverydayCommand => ({
  name,
  summary,
  method: 'POST',
  path: `${REVISION}/${name}`,
  ...(name === 'activate' && {
    options: [
      {
        flags: '--exclusive',
        description: 'make it the only current revision of its version, in one step',
        body: () => ({ exclusive: true }),
      },
    ],
  }),
  takesDryRun: true,
  shown: { as: 'record' },
  examples: [`headgate revisions ${name} shop v1 canary`],
});

const read = (name: string, summary: string, path: string, example: string): EverydayCommand => ({
  name,
  summary,
  method: 'GET',
  path,
  shown: { as: 'record' },
  examples: [example],
});

const POLICY_COLUMNS: readonly Column<Json>[] = [
  { title: 'PART', value: ({ part }) => part },
  { title: 'FROM', value: ({ source }) => source?.level },
  { title: 'VALUE', value: ({ value }) => value },
];

/**
 * The effective policy. Besides the parts it shows limits that exist only in the settings, such as the limit per
 * client address.
 */
const policy = (path: string, example: string): EverydayCommand => ({
  ...read(
    'policy',
    'show the policy in force, and which level sets each part',
    `${path}/effective-policy`,
    example,
  ),
  shown: {
    as: 'list',
    columns: POLICY_COLUMNS,
    rows: ({ policy: parts, sources, settings }) => [
      ...Object.entries(parts as Record<string, Json>).map(([part, value]) => ({
        part,
        value,
        source: sources[part],
      })),
      ...Object.entries((settings ?? {}) as Record<string, Json>)
        .filter(([name]) => !Object.hasOwn(parts as object, name))
        .map(([part, value]) => ({ part, value, source: { level: 'global' } })),
    ],
  },
});

const SPLIT = {
  as: 'list',
  columns: [column('REVISION', 'revision'), column('WEIGHT', 'weight')],
  rows: (data: Json) => Object.entries(data as object).map(([revision, weight]) => ({ revision, weight })),
} as const;

export const RESOURCE_GROUPS: readonly EverydayGroup[] = [
  {
    name: 'apps',
    summary: 'apps: what clients reach below one path',
    commands: [...APPS, policy('/apps/{app}', 'headgate apps policy shop')],
  },
  { name: 'versions', summary: 'versions of an app', commands: VERSIONS },
  {
    name: 'revisions',
    summary: 'revisions of a version: its backends',
    commands: [
      ...REVISIONS,
      activation('activate', 'give a revision traffic'),
      activation('deactivate', 'take a revision out of traffic'),
      {
        ...read(
          'health',
          'show the health of its backend, and of each of its targets',
          `${REVISION}/health`,
          'headgate revisions health shop v1 canary',
        ),
        shown: { as: 'text', text: revisionHealthText },
      },
      read(
        'breaker',
        'show its circuit breaker',
        `${REVISION}/breaker`,
        'headgate revisions breaker shop v1 canary',
      ),
      policy(REVISION, 'headgate revisions policy shop v1 canary'),
    ],
  },
  {
    name: 'endpoints',
    summary: 'endpoints of a revision',
    commands: [
      ...ENDPOINTS,
      policy(
        `${REVISION}/endpoints/{endpoint}`,
        'headgate endpoints policy shop v1 stable "GET /items/{id}"',
      ),
    ],
  },
  {
    name: 'traffic',
    summary: 'how the traffic of a version is split among its revisions',
    commands: [
      {
        name: 'show',
        summary: 'show the weights',
        method: 'GET',
        path: `${VERSION}/traffic`,
        shown: SPLIT,
        examples: ['headgate traffic show shop v1'],
      },
      {
        name: 'set',
        summary: 'set all weights in one step; revisions that are not named get no traffic',
        method: 'PUT',
        path: `${VERSION}/traffic`,
        fields: 'traffic',
        takesDryRun: true,
        shown: SPLIT,
        examples: [
          'headgate traffic set shop v1 stable=90 canary=10',
          'headgate traffic set shop v1 stable=100   # back to stable alone',
        ],
      },
    ],
  },
];
