/**
 * `headgate sampling | debug-tokens`: preparations for explain that last for a while. The gateway keeps served
 * requests, or sends a client its decisions with the responses.
 */
import { recordText } from '../show/text-table.ts';
import { column, type EverydayCommand, type EverydayGroup } from '../everyday/everyday-command.ts';

const SAMPLING = '/explain/sampling';
const TOKENS = '/explain/debug-tokens';

const SAMPLING_COMMANDS: readonly EverydayCommand[] = [
  {
    name: 'show',
    summary: 'show the sampling in force',
    method: 'GET',
    path: SAMPLING,
    shown: { as: 'text', text: (data, io) => (data === null ? 'Off.\n' : recordText(data, io)) },
    examples: ['headgate sampling show'],
  },
  {
    name: 'start',
    summary:
      'keep served requests for some time, so that they can be explained; replaces the sampling in force',
    method: 'PUT',
    path: SAMPLING,
    fields: 'sampling',
    shown: { as: 'record' },
    examples: [
      'headgate sampling start seconds=300',
      'headgate sampling start app=shop rate=0.1 seconds=300   # a tenth of the requests of one app',
    ],
  },
  {
    name: 'stop',
    summary: 'end the sampling now',
    method: 'DELETE',
    path: SAMPLING,
    shown: { as: 'done', text: 'Off.' },
    examples: ['headgate sampling stop'],
  },
];

const TOKEN_COMMANDS: readonly EverydayCommand[] = [
  {
    name: 'list',
    summary: 'list the debug tokens in force',
    method: 'GET',
    path: TOKENS,
    shown: {
      as: 'list',
      columns: [
        column('ID', 'id'),
        { title: 'APP', value: ({ app_id: app }) => app ?? 'all' },
        column('CREATED', 'created_at'),
        column('EXPIRES', 'expires_at'),
      ],
    },
    examples: ['headgate debug-tokens list'],
  },
  {
    name: 'create',
    summary: 'make a debug token, which clients send as X-Headgate-Debug; its value is shown once',
    method: 'POST',
    path: TOKENS,
    fields: 'debug-token',
    shown: { as: 'secret', field: 'token' },
    examples: ['headgate debug-tokens create app=shop seconds=600 --quiet > debug-token'],
  },
  {
    name: 'revoke',
    summary: 'revoke a debug token; from now on it has no effect on requests',
    method: 'DELETE',
    path: `${TOKENS}/{debug_token}`,
    shown: { as: 'done', text: 'Revoked: {debug_token}.' },
    examples: ['headgate debug-tokens revoke 0190b0a4-6f3e-7c1a-9d52-3f1c5e2a7b10'],
  },
];

export const EXPLAIN_GROUPS: readonly EverydayGroup[] = [
  {
    name: 'sampling',
    summary: 'keep served requests for some time, so that they can be explained',
    commands: SAMPLING_COMMANDS,
  },
  {
    name: 'debug-tokens',
    summary: 'tokens with which a client gets the decision of the gateway with its responses',
    commands: TOKEN_COMMANDS,
  },
];
