import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { headgate } from '../../../src/cli/cli.fixture.ts';
import { ADMIN_TOKEN, startManagement, type Fixture } from '../../../src/management/management.fixture.ts';
import { commandOf } from '../../../console/src/features/save/same-command.ts';
import { OPERATIONS } from '../../../console/src/features/save/operations.ts';

const folder = mkdtempSync(join(tmpdir(), 'headgate-command-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** The words that a shell makes of a command, and what it gives it to read. */
function read(command: string): { readonly args: string[]; readonly stdin: string } {
  const script = `headgate() { for word; do printf '%s\\0' "$word"; done > args; cat > stdin; }\n${command}\n`;
  execFileSync('sh', ['-c', script], { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] });
  const text = (name: string): string => readFileSync(join(folder, name), 'utf8');
  return { args: text('args').split('\0').slice(0, -1), stdin: text('stdin') };
}

type Options = Parameters<typeof commandOf>[1];

const { app, version, revision, endpoint, key, adminToken, webhook } = OPERATIONS;
const list = (item: string): string => item.slice(0, item.lastIndexOf('/'));
const AT = { app_id: 'shop', version_id: 'v1', revision_id: 'r1', endpoint_id: 'GET /items/{id}' };
const KEY = { app_id: 'shop', token_id: 'acme' };
const HOOK = { webhook_id: 'on-call' };
const BACKEND = { backend_scheme: 'http', backend_host: '127.0.0.1', backend_port: 8080 };

/** One after the other, so that each finds what those before it have made. */
const WRITES: readonly (readonly [operation: string, options: Options])[] = [
  [
    `POST ${list(app)}`,
    { body: { slug: 'shop', name: 'The shop', gateway_path: '/shop', labels: { 'a.b': '1' } } },
  ],
  [
    `PATCH ${app}`,
    { path: AT, body: { description: '@home', default_policy: { cors: { allowed_origins: ['*'] } } } },
  ],
  [`POST ${list(version)}`, { path: AT, body: { version: 'v1' } }],
  [
    `POST ${list(revision)}`,
    {
      path: AT,
      body: { revision: 'r1', ...BACKEND, is_current: true, traffic_weight: 50, preserve_host: true },
    },
  ],
  [`POST ${list(revision)}`, { path: AT, body: { revision: '-x', ...BACKEND } }],
  [
    `POST ${list(endpoint)}`,
    { path: AT, body: { method: 'GET', path: '/items/{id}', backend_path: '/i/{id}' } },
  ],
  [`PATCH ${endpoint}`, { path: AT, body: { policy_override: { required_scopes: ['a b'] } } }],
  [`PUT ${version}/traffic`, { path: AT, body: { r1: 90, '-x': 10 } }],
  [`POST ${revision}/activate`, { path: AT, body: { exclusive: true } }],
  [`POST ${revision}/deactivate`, { path: AT }],
  [`POST ${list(key)}`, { path: KEY, body: { name: 'acme', scopes: ['read'], expires_at: null } }],
  [`POST ${list(key)}`, { path: KEY, body: { name: 'globex', token: 'a-value-of-the-former-gateway-1' } }],
  [`PATCH ${key}`, { path: KEY, body: { is_active: false } }],
  [`PATCH ${key}`, { path: KEY, body: { is_active: true } }],
  [`PATCH ${key}`, { path: KEY, body: { scopes: [], rate_limit: { requests: 5, window_seconds: 60 } } }],
  [`POST ${key}/rotate`, { path: KEY, body: { overlap_secs: 3_600 } }],
  ['POST /admin/tokens', { body: { name: 'prometheus', role: 'viewer', expires_at: null } }],
  ['POST /admin/tokens', { body: { name: 'short', role: 'editor', expires_at: '2030-01-01T00:00:00.000Z' } }],
  [`DELETE ${adminToken}`, { path: { admin_token_id: 'short' } }],
  [
    'POST /webhooks',
    { body: { name: 'on-call', url: 'https://hooks.example/', events: ['key.*'], app_ids: [] } },
  ],
  [`PATCH ${webhook}`, { path: HOOK, body: { events: ['*'] } }],
  [
    `PATCH ${webhook}`,
    { path: HOOK, body: { url: 'https://other.example/?a=b&c', events: ['key.*'], app_ids: ['shop'] } },
  ],
  [`PATCH ${webhook}`, { path: HOOK, body: { is_active: false } }],
  [`PATCH ${webhook}`, { path: HOOK, body: { is_active: true } }],
  [`POST ${webhook}/rotate`, { path: HOOK, body: { overlap_secs: 60 } }],
  [`POST ${webhook}/rotate`, { path: HOOK, body: {} }],
  [`DELETE ${webhook}/dead-letters`, { path: HOOK }],
  [`DELETE ${key}`, { path: { app_id: 'shop', token_id: 'globex' } }],
  [`DELETE ${endpoint}`, { path: AT }],
  [`DELETE ${revision}`, { path: AT, query: { cascade: true } }],
  [
    'POST /config/versions/{config_version}/rollback',
    { path: { config_version: '3' }, body: { delete_keys: true, message: '-it\'s "v1"' } },
  ],
  [`DELETE ${webhook}`, { path: HOOK }],
  [`DELETE ${version}`, { path: AT, query: { cascade: true } }],
  [
    'POST /transaction',
    {
      body: {
        operations: [
          {
            id: 'app',
            method: 'POST',
            path: '/api/v1/apps',
            body: { slug: 'b', name: 'B', gateway_path: '/b' },
          },
          { method: 'POST', path: '/api/v1/apps/${app.id}/versions', body: { version: 'v1' } },
        ],
      },
    },
  ],
  [`DELETE ${app}`, { path: AT, query: { cascade: true } }],
];

/** Below the prefix of the API. */
function urlOf(
  template: string,
  path: Readonly<Record<string, string>>,
  query: Options['query'] = {},
): string {
  const named = template.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(path[name] ?? ''));
  return `${named}?${new URLSearchParams(query as Record<string, string>).toString()}`;
}

/** The API knows these records by ids alone. */
async function withIds(
  api: Fixture,
  path: Readonly<Record<string, string>>,
): Promise<Record<string, string>> {
  const found = { ...path };
  const lists: Readonly<Record<string, string>> = {
    endpoint_id: list(endpoint),
    token_id: list(key),
    admin_token_id: list(adminToken),
    webhook_id: list(webhook),
  };
  for (const [parameter, template] of Object.entries(lists)) {
    if (path[parameter] === undefined) continue;
    const { body } = await api.get(urlOf(template, path));
    const records = (body.data ?? []) as Record<string, string>[];
    const named = records.find(({ name, method, path: at }) =>
      [name, `${method} ${at}`].includes(path[parameter]),
    );
    if (named !== undefined) found[parameter] = named['id'] ?? '';
  }
  return found;
}

/** Without ids and values, which are different wherever something is made. */
async function stateOf(api: Fixture): Promise<unknown> {
  const [config, tokens, webhooks] = await Promise.all(
    ['/config', '/admin/tokens', '/webhooks'].map((path) => api.get(path)),
  );
  return JSON.parse(
    JSON.stringify([config?.body.data, tokens?.body.data, webhooks?.body.data], (name, value: unknown) => {
      if (name === 'app_ids') return (value as readonly string[]).length;
      return /^(?:id|.*prefix|.*_at)$/.test(name) && name !== 'expires_at' ? undefined : value;
    }),
  );
}

it('each command does at the real command line what the call does', async () => {
  await using byCall = await startManagement();
  await using byCommand = await startManagement();
  for (const [operation, options] of WRITES) {
    const [method = ''] = operation.split(' ');
    const path = await withIds(byCall, options.path ?? {});
    const url = urlOf(operation.slice(method.length + 1), path, options.query);
    const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
    const reply = await byCall.call(method, url, {
      ...(options.body !== undefined && { body: options.body, headers: { 'content-type': type } }),
    });
    expect([operation, reply.status < 300 ? 'done' : reply.text]).toEqual([operation, 'done']);
    const command = commandOf(operation, options) ?? '';
    const { args, stdin } = read(command);
    const outcome = await headgate(byCommand, args, {}, stdin);
    expect([command, outcome.code, outcome.err]).toEqual([command, 0, expect.any(String)]);
    expect([command, await stateOf(byCommand)]).toEqual([command, await stateOf(byCall)]);
  }
});

/** Of what a gateway without traffic, webhooks and certificates does not have: both are refused alike. */
const ABSENT = '0190b0a4-6f3e-7c1a-9d52-3f1c5e2a7b10';
it.each<readonly [operation: string, options: Options]>([
  [`POST ${webhook}/dead-letters/{event_id}/resend`, { path: { webhook_id: ABSENT, event_id: ABSENT } }],
  [`DELETE ${webhook}/dead-letters/{event_id}`, { path: { webhook_id: ABSENT, event_id: ABSENT } }],
  ['POST /certificates/{name}/renew', { path: { name: '*.shop.test' } }],
  ['DELETE /explain/debug-tokens/{debug_token_id}', { path: { debug_token_id: ABSENT } }],
  ['PUT /explain/sampling', { body: { app: 'absent', rate: 0.25, seconds: 300 } }],
  ['POST /explain/debug-tokens', { body: { app: 'absent', seconds: 300 } }],
  ['POST /profiles', { body: { kind: 'cpu', thread: 'main', seconds: 1 } }],
  ['POST /profiles', { body: { kind: 'heap', thread: 'worker', contains_secrets: true } }],
])(
  '%s is the same operation as its command: the command shows the reason for which the call is refused',
  async (operation, options) => {
    await using api = await startManagement();
    const [method = ''] = operation.split(' ');
    const url = urlOf(operation.slice(method.length + 1), options.path ?? {});
    const reply = await api.call(method, url, options.body === undefined ? {} : { body: options.body });
    const { args, stdin } = read(commandOf(operation, options) ?? '');
    const { code, err } = await headgate(api, args, {}, stdin);
    expect([reply.status >= 400, code, err]).toEqual([true, 1, expect.stringContaining(reply.body.detail)]);
  },
);

it('a session ends by its command', async () => {
  await using api = await startManagement();
  await api.post('/session', { token: ADMIN_TOKEN }, { token: null });
  const sessions = async (): Promise<readonly { readonly id: string }[]> =>
    (await api.get('/sessions')).body.data;
  const [{ id } = { id: '' }] = await sessions();
  const command = commandOf('DELETE /sessions/{session_id}', { path: { session_id: id } }) ?? '';
  const { code } = await headgate(api, read(command).args);
  expect([command, code]).toEqual([`headgate sessions revoke ${id}`, 0]);
  expect(await sessions()).toEqual([]);
});
