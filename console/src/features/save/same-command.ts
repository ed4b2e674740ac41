/** The same write as a command of `headgate`. Pure; what each command takes is in src/cli/. */
import { stringify } from 'yaml';
import { isFields, leavesOf, type Fields, type Leaf } from './merge-patch.ts';
import { OPERATIONS } from './operations.ts';
import { word } from './shell-words.ts';

interface Call {
  readonly path?: Readonly<Record<string, string>> | undefined;
  readonly query?: Fields | undefined;
  readonly body?: unknown;
}

interface Command {
  readonly words: string;
  /** Of a creation: the fields that its last argument says, one after the other. */
  readonly made?: readonly string[];
  /** The other fields of the body follow as `field=value` or as a file. */
  readonly hasFields?: true;
  readonly options?: (query: Fields, body: Fields) => readonly (string | false)[];
  /** Of a PATCH that changes nothing but `is_active`. */
  readonly switches?: readonly [off: string, on: string];
}

const CASCADE = (query: Fields): readonly (string | false)[] => [
  String(query['cascade']) === 'true' && '--cascade',
];
const OVERLAP = (_query: Fields, body: Fields): readonly (string | false)[] => [
  body['overlap_secs'] !== undefined && `--overlap ${Number(body['overlap_secs'])}`,
];

function recordCommands(
  group: string,
  item: string,
  made: readonly string[],
  switches?: Command['switches'],
): Readonly<Record<string, Command>> {
  const list = item.slice(0, item.lastIndexOf('/'));
  return {
    [`POST ${list}`]: { words: `${group} create`, made, hasFields: true },
    [`PATCH ${item}`]: { words: `${group} edit`, hasFields: true, ...(switches && { switches }) },
    [`DELETE ${item}`]: { words: `${group} delete`, options: CASCADE },
  };
}

const { app, version, revision, endpoint, key, adminToken, webhook } = OPERATIONS;
/** Of a description in the folder where the command is typed; the page does not know where it came from. */
const DESCRIPTION_FILE = 'openapi.yaml';
const IMPORT_OPTIONS = [
  ['app', '--app'],
  ['version', '--api-version'],
  ['revision', '--revision'],
  ['gateway_path', '--gateway-path'],
  ['backend', '--backend'],
] as const;

const COMMANDS: Readonly<Record<string, Command>> = {
  ...recordCommands('apps', app, ['slug']),
  ...recordCommands('versions', version, ['version']),
  ...recordCommands('revisions', revision, ['revision']),
  ...recordCommands('endpoints', endpoint, ['method', 'path']),
  ...recordCommands('keys', key, ['name'], ['keys revoke', 'keys restore']),
  ...recordCommands('webhooks', webhook, ['name'], ['webhooks pause', 'webhooks resume']),
  'POST /admin/tokens': { words: 'admin-tokens create', made: ['name'], hasFields: true },
  [`DELETE ${adminToken}`]: { words: 'admin-tokens delete' },
  [`POST ${revision}/activate`]: {
    words: 'revisions activate',
    options: (_query, body) => [body['exclusive'] === true && '--exclusive'],
  },
  [`POST ${revision}/deactivate`]: { words: 'revisions deactivate' },
  [`PUT ${version}/traffic`]: { words: 'traffic set', hasFields: true },
  [`POST ${key}/rotate`]: { words: 'keys rotate', options: OVERLAP },
  [`POST ${webhook}/rotate`]: { words: 'webhooks rotate', options: OVERLAP },
  [`POST ${webhook}/test`]: { words: 'webhooks test' },
  [`POST ${webhook}/resend`]: { words: 'webhooks resend' },
  [`DELETE ${webhook}/dead-letters`]: { words: 'webhooks forget' },
  [`POST ${webhook}/dead-letters/{event_id}/resend`]: { words: 'webhooks resend-event' },
  [`DELETE ${webhook}/dead-letters/{event_id}`]: { words: 'webhooks forget-event' },
  'DELETE /sessions/{session_id}': { words: 'sessions revoke' },
  'POST /certificates/{name}/renew': { words: 'certificates renew' },
  'PUT /explain/sampling': { words: 'sampling start', hasFields: true },
  'DELETE /explain/sampling': { words: 'sampling stop' },
  'POST /explain/debug-tokens': { words: 'debug-tokens create', hasFields: true },
  'DELETE /explain/debug-tokens/{debug_token_id}': { words: 'debug-tokens revoke' },
  'POST /profiles': {
    words: 'profile',
    options: (_query, { kind, thread, seconds, contains_secrets: agrees }) => [
      kind === 'heap' && '--heap',
      thread === 'main' && '--main',
      seconds !== undefined && `--seconds ${Number(seconds)}`,
      agrees === true && '--yes',
    ],
  },
  'POST /import/openapi': {
    words: `import openapi ${DESCRIPTION_FILE}`,
    options: (_query, body) => [
      ...IMPORT_OPTIONS.map(([field, option]) => {
        const value = body[field];
        if (typeof value !== 'string' || value === '') return false;
        return value.startsWith('-') ? word(`${option}=${value}`) : `${option} ${word(value)}`;
      }),
      body['security'] === true && '--security',
      '--apply',
    ],
  },
  'POST /config/versions/{config_version}/rollback': {
    words: 'config rollback',
    options: (_query, { app: slug, delete_keys: deletesKeys, message }) => [
      typeof slug === 'string' && word(`--app=${slug}`),
      deletesKeys === true && '--delete-keys',
      typeof message === 'string' && word(`--message=${message}`),
    ],
  },
};

/** More are easier to read in a file. */
const FIELDS_MAX = 6;
/** As src/cli/everyday/fields.ts reads one. */
const PLAIN_NUMBER = /^-?(?:0|[1-9]\d{0,14})(?:\.\d{1,15})?$/;
/** Other users of a machine see the words of a command; these values come from standard input. */
const SECRETS = new Set(['token', 'secret']);

/** undefined where there is none for it. */
export function commandOf(
  operation: string,
  { path = {}, query = {}, body: sent }: Call,
): string | undefined {
  const body = isFields(sent) ? sent : {};
  if (operation === 'POST /transaction' && Array.isArray(body['operations']))
    return withFile('headgate transaction -', body['operations']);
  const command = COMMANDS[operation];
  if (command === undefined) return undefined;
  const names = Array.from(operation.matchAll(/\{(\w+)\}/g), ([, name = '']) => word(path[name] ?? ''));
  const onOff = command.switches?.[Number(body['is_active'])];
  if (onOff !== undefined && Object.keys(body).join() === 'is_active') return written(onOff, names);
  const made = command.made?.map((name) => body[name]);
  if (made?.some((text) => typeof text !== 'string') === true) return undefined;
  const operands = made === undefined ? names : [...names, word(made.join(' '))];
  const options = (command.options?.(query, body) ?? []).filter((option) => option !== false);
  const others = Object.entries(body).filter(([name]) => command.made?.includes(name) !== true);
  if (command.hasFields !== true || (made !== undefined && others.length === 0))
    return written(command.words, operands, options);
  const fields = Object.fromEntries(others);
  const words = assignmentsOf(fields);
  if (words !== undefined) return written(command.words, [...operands, ...words], options);
  return withFile(written(command.words, operands, [...options, '--file -']), fields);
}

/** Labels may begin with "-": none of them is an option. */
function written(words: string, operands: readonly string[], options: readonly string[] = []): string {
  const isPlain = !operands.some((operand) => /^'?-/.test(operand));
  const rest = isPlain ? [...operands, ...options] : [...options, '--', ...operands];
  return ['headgate', words, ...rest].join(' ');
}

const withFile = (command: string, content: unknown): string =>
  `${command} <<'EOF'\n${stringify(content)}EOF`;

/** As `field=value`; undefined where a file says it better. */
function assignmentsOf(body: Fields): string[] | undefined {
  const leaves = leavesOf(body);
  const words = leaves.map(assignment);
  const known = words.filter((one) => one !== undefined);
  return leaves.length > FIELDS_MAX || known.length < words.length ? undefined : known;
}

/** undefined where the command line would read it as something else. */
function assignment({ path, value }: Leaf): string | undefined {
  if (path.some((name) => !/^[\w-]+$/.test(name))) return undefined;
  const field = path.join('.').replace(/^(?:default_policy|policy_override)\./, 'policy.');
  if (SECRETS.has(field)) return undefined;
  if (value === null) return `${field}=null`;
  if (typeof value === 'string') {
    return value === '' || value === 'null' || value.startsWith('@') ? undefined : word(`${field}=${value}`);
  }
  if (typeof value === 'number')
    return PLAIN_NUMBER.test(String(value)) ? word(`${field}=${value}`) : undefined;
  return word(`${field}=${JSON.stringify(value)}`);
}
