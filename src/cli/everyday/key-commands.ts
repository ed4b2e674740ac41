/** `headgate keys | admin-tokens`: who may call the apps, and who may manage the gateway. */
import { CliError, type CliIo } from '../io.ts';
import { wholeNumber } from '../whole-number.ts';
import { textOf } from '../input.ts';
import { column, type EverydayCommand, type EverydayGroup } from './everyday-command.ts';

const KEY = '/apps/{app}/tokens/{key}';

const switched = (name: 'revoke' | 'restore', isActive: boolean, summary: string): EverydayCommand => ({
  name,
  summary,
  method: 'PATCH',
  path: KEY,
  body: { is_active: isActive },
  takesDryRun: true,
  shown: {
    as: 'done',
    text: isActive ? 'The key {key} works again.' : 'The key {key} is refused from now on.',
  },
  examples: [`headgate keys ${name} shop acme`],
});

const KEY_COMMANDS: readonly EverydayCommand[] = [
  {
    name: 'list',
    summary: 'list the keys of an app',
    method: 'GET',
    path: '/apps/{app}/tokens',
    isPaged: true,
    shown: {
      as: 'list',
      columns: [
        column('NAME', 'name'),
        column('PREFIX', 'token_prefix'),
        column('ACTIVE', 'is_active'),
        column('EXPIRES', 'expires_at'),
        column('LAST USED', 'last_used_at'),
        column('SCOPES', 'scopes'),
        // Several keys may have one name.
        column('ID', 'id'),
      ],
    },
    examples: ['headgate keys list shop'],
  },
  {
    name: 'show',
    summary: 'show a key, without its value',
    method: 'GET',
    path: KEY,
    shown: { as: 'record' },
    examples: ['headgate keys show shop acme'],
  },
  {
    name: 'create',
    summary: 'create a key; its value is shown once',
    method: 'POST',
    path: '/apps/{app}/tokens',
    made: {
      argument: 'name',
      description: 'a name that tells people whose key it is',
      fields: (name) => ({ name }),
    },
    fields: 'key',
    shown: { as: 'secret', field: 'token' },
    examples: [
      'headgate keys create shop acme',
      'KEY=$(headgate keys create shop acme scopes=read,write expires_at=2030-01-01T00:00:00Z --quiet)',
      'headgate keys create shop globex token=@old-key.txt   # a value that exists already',
    ],
  },
  {
    name: 'edit',
    summary: 'change fields of a key',
    method: 'PATCH',
    path: KEY,
    fields: 'key',
    takesDryRun: true,
    shown: { as: 'record' },
    examples: ['headgate keys edit shop acme rate_limit.requests=10 rate_limit.window_seconds=60'],
  },
  {
    name: 'rotate',
    summary: 'give a key a new value, which is shown once',
    method: 'POST',
    path: `${KEY}/rotate`,
    options: [
      {
        flags: '--overlap <seconds>',
        description: 'how long the old value works beside the new one; default: 0',
        body: (text) => ({ overlap_secs: wholeNumber('--overlap', String(text), 0) }),
      },
    ],
    shown: { as: 'secret', field: 'token' },
    examples: ['headgate keys rotate shop acme --overlap 3600'],
  },
  switched('revoke', false, 'refuse a key from now on'),
  switched('restore', true, 'let a revoked key work again'),
  {
    name: 'delete',
    summary: 'delete a key and its counts',
    method: 'DELETE',
    path: KEY,
    takesDryRun: true,
    shown: { as: 'done', text: 'Deleted: {key}.' },
    examples: ['headgate keys delete shop acme'],
  },
  {
    name: 'usage',
    summary: 'show the requests of a key by day',
    method: 'GET',
    path: `${KEY}/usage`,
    options: [
      { flags: '--from <date>', description: 'first day, UTC, such as 2030-01-31', query: 'from' },
      { flags: '--to <date>', description: 'last day', query: 'to' },
    ],
    shown: {
      as: 'list',
      columns: [
        column('DATE', 'date'),
        column('ALLOWED', 'allowed'),
        column('LIMITED', 'limited'),
        column('DENIED', 'denied'),
      ],
      rows: ({ days, totals }) => [...days, { date: 'total', ...totals }],
    },
    examples: ['headgate keys usage shop acme --from 2030-01-01'],
  },
  {
    name: 'check',
    summary: 'say whose key a value is, and whether it works; reads the value from standard input',
    method: 'POST',
    path: '/tokens/introspect',
    options: [
      {
        flags: '--key-file <file>',
        description: 'file with the value; - is standard input',
        default: '-',
        body: (path, io) => ({ token: keyIn(String(path), io) }),
      },
    ],
    shown: { as: 'record' },
    examples: ['headgate keys check < key.txt'],
  },
];

const ADMIN_COMMANDS: readonly EverydayCommand[] = [
  {
    name: 'list',
    summary: 'list the admin tokens, with the ids that the history and the audit log name',
    method: 'GET',
    path: '/admin/tokens',
    isPaged: true,
    shown: {
      as: 'list',
      columns: [
        column('NAME', 'name'),
        column('ROLE', 'role'),
        column('PREFIX', 'token_prefix'),
        column('EXPIRES', 'expires_at'),
        column('LAST USED', 'last_used_at'),
        column('ID', 'id'),
      ],
    },
    examples: ['headgate admin-tokens list'],
  },
  {
    name: 'create',
    summary: 'create an admin token; its value is shown once',
    method: 'POST',
    path: '/admin/tokens',
    made: { argument: 'name', description: 'who or what uses it', fields: (name) => ({ name }) },
    fields: 'admin-token',
    shown: { as: 'secret', field: 'token' },
    examples: ['headgate admin-tokens create prometheus role=viewer --quiet > prometheus-token'],
  },
  {
    name: 'delete',
    summary: 'delete an admin token; it is refused from now on',
    method: 'DELETE',
    path: '/admin/tokens/{admin_token}',
    shown: { as: 'done', text: 'Deleted: {admin_token}.' },
    examples: ['headgate admin-tokens delete prometheus'],
  },
];

const SESSION_COMMANDS: readonly EverydayCommand[] = [
  {
    name: 'list',
    summary: 'list the browsers that are signed in; all of them for admins, others see their own',
    method: 'GET',
    path: '/sessions',
    isPaged: true,
    shown: {
      as: 'list',
      columns: [
        { title: 'WHO', value: ({ actor }) => actor.name },
        // Without a role the session has ended, because the settings have changed.
        { title: 'ROLE', value: ({ actor }) => actor.role ?? 'ended' },
        column('ADDRESS', 'address'),
        column('SIGNED IN', 'created_at'),
        column('LAST USED', 'last_used_at'),
        column('ENDS', 'expires_at'),
        column('ID', 'id'),
      ],
    },
    examples: ['headgate sessions list'],
  },
  {
    name: 'revoke',
    summary: 'end a session; its next call is refused, on every gateway',
    method: 'DELETE',
    path: '/sessions/{session}',
    shown: { as: 'done', text: 'Ended: {session}.' },
    examples: ['headgate sessions revoke 0190b0a4-6f3e-7c1a-9d52-3f1c5e2a7b10'],
  },
];

/** Reads the value from a file, because other users of the machine can see a command line. */
export function keyIn(path: string, io: CliIo): string {
  const key = textOf(path, io).trim();
  if (key !== '') return key;
  throw new CliError(`There is no key in ${path === '-' ? 'standard input' : path}`);
}

export const ACCESS_GROUPS: readonly EverydayGroup[] = [
  { name: 'keys', summary: 'API keys of an app', commands: KEY_COMMANDS },
  { name: 'admin-tokens', summary: 'tokens for the management API', commands: ADMIN_COMMANDS },
  { name: 'sessions', summary: 'browsers that are signed in to the console', commands: SESSION_COMMANDS },
];
