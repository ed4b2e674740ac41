/** The everyday jobs, as an operator types them, against a management API with a real database. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  ADMIN_TOKEN,
  startManagement,
  type Fixture,
  type Json,
} from '../../management/management.fixture.ts';
import { headgate, type Outcome } from '../cli.fixture.ts';

let api: Fixture;
let folder: string;
beforeEach(async () => {
  api = await startManagement();
  folder = mkdtempSync(join(tmpdir(), 'headgate-everyday-'));
});
afterEach(async () => {
  rmSync(folder, { recursive: true });
  await api[Symbol.asyncDispose]();
});

/** A command line without quotes; a blank inside of an argument is written as `_`. */
const words = (line: string): string[] => line.split(' ').map((word) => word.replaceAll('_/', ' /'));
const run = (line: string, stdin?: string): Promise<Outcome> => headgate(api, words(line), {}, stdin);
/** @returns what a command that must succeed wrote */
async function ok(line: string, stdin?: string): Promise<string> {
  const { code, out, err } = await run(line, stdin);
  expect([line, code, err]).toEqual([line, 0, '']);
  return out;
}
async function json(line: string): Promise<Json> {
  return JSON.parse(await ok(`${line} --output json`));
}

async function shop(): Promise<void> {
  await ok('apps create shop');
  await ok('versions create shop v1');
  await ok('revisions create shop v1 stable --backend http://127.0.0.1:9001 is_current=true');
}

describe('settings', () => {
  it('are described without a gateway and a token', async () => {
    const nowhere = { HEADGATE_SERVER: 'http://127.0.0.1:1', HEADGATE_TOKEN: '' };
    const { out } = await headgate(api, ['settings', '--describe'], nowhere);
    expect(out).toContain(
      'GATEWAY_SERVER__PORT\n  integer, 0 to 65535; default: 9090\n  Port of the management listener.',
    );
    expect(out).toContain('GATEWAY_CONSOLE__ENABLED\n  boolean; default: true\n');
    const asJson = await headgate(api, ['settings', '--describe', '--output', 'json'], nowhere);
    const port = { name: 'GATEWAY_SERVER__PORT', default: 9090, type: 'integer, 0 to 65535' };
    expect(JSON.parse(asJson.out).items).toContainEqual(expect.objectContaining(port));
  });
});

describe('policy', () => {
  it('shows what the settings give, and the limit of each address beside it', async () => {
    await shop();
    expect(await ok('apps policy shop')).toBe('None.\n');
    await using limited = await startManagement({
      limitSettings: {
        globals: { requests: 5, windowSeconds: 60 },
        perIp: { requests: 9, windowSecs: 1 },
        maxBodyBytes: 0,
      },
    });
    await headgate(limited, words('apps create shop policy.allowed_methods=GET'));
    const { out } = await headgate(limited, words('apps policy shop'));
    expect(out).toMatch(/allowed_methods +app +GET\n/);
    expect(out).toMatch(/rate_limit +global +.*requests.*5/);
    expect(out).toMatch(/ip_rate_limit +global +.*requests.*9/);
  });
});

describe('records', () => {
  it('are made with their paths and names, and listed', async () => {
    await shop();
    expect(await ok('apps list')).toBe('APP   PATH   MODE          NAME\nshop  /shop  pass_through  shop\n');
    await ok('apps edit shop hosts=["Shop.test","*.shop.test"]');
    expect(await ok('apps list')).toContain('shop  shop.test +1 /shop  pass_through  shop\n');
    expect(await ok('versions list shop')).toContain('v1       active  -       /shop/v1\n');
    expect(await ok('revisions list shop v1')).toBe(
      'REVISION  CURRENT  WEIGHT  BACKEND\nstable    yes      100     http://127.0.0.1:9001\n',
    );
    expect(await ok('endpoints list shop v1 stable')).toBe('None.\n');
    expect(await json('revisions show shop v1 stable')).toMatchObject({
      backend_scheme: 'http',
      backend_port: 9001,
    });
  });

  it('are changed field by field, and by a file', async () => {
    await shop();
    await ok(
      'apps edit shop policy.rate_limit.requests=10 policy.rate_limit.window_seconds=60 policy.rate_limit.enabled=true',
    );
    await ok('apps edit shop policy.rate_limit.requests=20');
    const limit = { enabled: true, requests: 20, window_seconds: 60 };
    expect((await json('apps show shop')).default_policy).toEqual({ rate_limit: limit });
    const file = join(folder, 'fields.yaml');
    writeFileSync(
      file,
      'description: The shop\ndefault_policy: {cors: {allowed_origins: ["https://a.test"]}}\n',
    );
    await ok(`apps edit shop --file ${file} name=Shop`);
    expect(await json('apps show shop')).toMatchObject({
      name: 'Shop',
      description: 'The shop',
      default_policy: { rate_limit: limit, cors: { allowed_origins: ['https://a.test'] } },
    });
    await ok('versions edit shop v1 status=deprecated sunset_at=2030-01-01T00:00:00Z');
    expect(await ok('versions list shop')).toContain('deprecated  2030-01-01T00:00:00');
  });

  it('change nothing in a dry run', async () => {
    await shop();
    const { out } = await run('apps edit shop policy.auth.auth_type=api_key --dry-run');
    expect(out).toMatch(/^Nothing was changed\. The answer would be: 200 /);
    expect(out).toContain('changed  v1       /shop/v1/*  auth\n');
    expect((await json('apps show shop')).default_policy).toBeNull();
  });

  it('with records below them are deleted with --cascade only', async () => {
    await shop();
    const { code, err } = await run('apps delete shop');
    expect([code, err]).toEqual([1, expect.stringContaining('(here the option --cascade)')]);
    expect(await ok('apps delete shop --cascade')).toBe('Deleted: shop.\n');
    expect(await ok('apps list')).toBe('None.\n');
  });

  it('are endpoints by method and path', async () => {
    await shop();
    await ok('endpoints create shop v1 stable GET_/items/{id} backend_path=/catalogue/{id}');
    await ok('endpoints create shop v1 stable GET_/files/*');
    expect((await run('endpoints create shop v1 stable method=GET path=/x')).err).toContain(
      '"method=GET" is not a method and a path; expected both in quotes, such as "GET /items/{id}"',
    );
    await ok('endpoints edit shop v1 stable GET_/items/{id} policy.max_body_bytes=5 is_active=false');
    expect(await json('endpoints show shop v1 stable GET_/items/{id}')).toMatchObject({
      backend_path: '/catalogue/{id}',
      is_active: false,
      policy_override: { max_body_bytes: 5 },
    });
    expect(await ok('endpoints policy shop v1 stable GET_/items/{id}')).toMatch(
      /^max_body_bytes +endpoint +5$/m,
    );
    await ok('endpoints delete shop v1 stable GET_/files/*');
    expect(await json('endpoints list shop v1 stable')).toHaveLength(1);
    expect((await run('endpoints show shop v1 stable GET_/files/*')).err).toBe(
      'There is no endpoint "GET /files/*" here',
    );
    expect((await run('endpoints show shop v1 stable GET_/item/{id}')).err).toBe(
      'There is no endpoint "GET /item/{id}" here; did you mean "GET /items/{id}"?',
    );
  });

  it('of a backend at an IPv6 address are shown with it in brackets', async () => {
    await ok('apps create six');
    await ok('versions create six v1');
    await ok('revisions create six v1 r1 --backend http://[::1]:9001 is_current=true');
    expect(await ok('revisions list six v1')).toMatch(/ http:\/\/\[::1\]:9001$/m);
  });

  it('are told apart when the gateway refuses them, with every wrong field', async () => {
    expect((await run('apps show nothing')).err).toContain('There is no app "nothing" here');
    const { code, err } = await run('apps create shop gateway_pth=/x allow_encoded_slashes=maybe');
    expect(code).toBe(1);
    expect(err).toMatch(
      /^\/gateway_pth .* did you mean "gateway_path"\?\n {2}\/allow_encoded_slashes must be [^\n]+$/,
    );
    expect((await run('apps edit shop')).err).toContain('No change is given');
    expect((await run('apps show ..')).err).toContain('".." is not the name of a record');
    expect((await run('revisions create shop v1 r1 --backend nowhere')).err).toContain(
      '--backend "nowhere" is not',
    );
  });

  it('come in pages; --limit takes some of them and says so', async () => {
    const apps = Array.from({ length: 503 }, (_, index) => [`a${index}`, { gateway_path: `/a${index}` }]);
    const applied = await api.post('/config/apply', { config: { apps: Object.fromEntries(apps) } });
    expect(applied.status).toBe(200);
    expect(await json('apps list')).toHaveLength(503);
    const { out, err } = await run('apps list --limit 2');
    expect([out.trim().split('\n').length, err]).toEqual([3, 'Shown: 2 of 503; --limit raises it.\n']);
    expect((await run('apps list --limit 0')).err).toContain('--limit "0" must be a whole number');
  });
});

describe('traffic', () => {
  it('is split, shown, and moved back', async () => {
    await shop();
    await ok('revisions create shop v1 canary --backend http://127.0.0.1:9002 copy_endpoints_from=stable');
    expect(await ok('traffic set shop v1 stable=90 canary=10')).toBe(
      'REVISION  WEIGHT\nstable    90\ncanary    10\n',
    );
    await ok('traffic set shop v1 stable=100');
    expect(await json('traffic show shop v1')).toEqual({ stable: 100 });
    await ok('revisions activate shop v1 canary --exclusive');
    expect(await json('traffic show shop v1')).toEqual({ canary: 10 });
    const { code, err } = await run('revisions deactivate shop v1 canary');
    expect([code, err]).toEqual([0, expect.stringMatching(/^warning: .*\(no_current_revision\)\n$/)]);
    expect((await run('traffic set shop v1 stable')).err).toContain(
      '"stable" is not name=value, such as stable=90',
    );
    expect((await run('traffic set shop v1 stable=90,canary=10')).err).toContain(
      '"stable=90,canary=10" has several weights; expected spaces between them',
    );
    expect((await run('traffic set shop v1 other=1')).err).toContain(
      '/other is not a revision of shop/v1; expected one of "stable", "canary"',
    );
    expect((await run('traffic set shop v1 cannary=1')).err).toContain('did you mean "canary"?');
    expect(await ok('revisions health shop v1 stable')).toContain('ECONNREFUSED');
  });
});

describe('keys', () => {
  it('are made, rotated, revoked and deleted by their names', async () => {
    await shop();
    const shown = await ok('keys create shop acme scopes=read,write');
    expect(shown).toMatch(/scopes +read, write\n/);
    const value = /Shown only now: (\S+)\n$/.exec(shown)?.[1] ?? '';
    expect(await ok('keys list shop')).not.toContain(value);
    expect(JSON.parse((await run('keys check --output json', value)).out)).toMatchObject({
      active: true,
      name: 'acme',
    });
    const next = (await ok('keys rotate shop acme --overlap 60 --quiet')).trim();
    expect(next).not.toBe(value);
    expect(await ok('keys check', next)).toMatch(/^active +yes$/m);
    await ok('keys edit shop acme rate_limit.requests=2 rate_limit.window_seconds=3600');
    expect(await ok('keys revoke shop acme')).toBe('The key acme is refused from now on.\n');
    expect(await ok('keys check', next)).toMatch(/^reason +disabled$/m);
    await ok('keys restore shop acme');
    expect(await ok('keys usage shop acme')).toContain('total  0        0        0\n');
    await ok('keys delete shop acme');
    expect(await ok('keys list shop')).toBe('None.\n');
  });

  it('of the same name are distinguished by their ids', async () => {
    await shop();
    const { id } = await json('keys create shop twin');
    await ok('keys create shop twin');
    const { code, err } = await run('keys revoke shop twin');
    expect([code, err]).toEqual([1, expect.stringContaining(`There are 2 records of the name "twin"`)]);
    expect(err).toContain(id);
    // The list says which is which.
    expect(await ok('keys list shop')).toMatch(new RegExp(`^twin .* ${id}$`, 'm'));
    await ok(`keys revoke shop ${id}`);
  });

  it('may have a value that exists, which no message shows', async () => {
    await shop();
    const file = join(folder, 'old');
    writeFileSync(file, 'zK3vQ9xWm2LrT7bYcN5hJ8pDfG4sA6uE\n');
    const out = await ok(`keys create shop old token=@${file}`);
    expect(out).toContain('Shown only now: zK3vQ9xWm2LrT7bYcN5hJ8pDfG4sA6uE');
    const refused = await run(`keys create shop again token=@${file}`);
    expect(refused.code).toBe(1);
    expect(refused.err).not.toContain('zK3v');
  });

  it('for the management API are made with a role', async () => {
    const value = (await ok('admin-tokens create prometheus role=viewer --quiet')).trim();
    const env = { HEADGATE_TOKEN: value };
    expect((await headgate(api, ['apps', 'list'], env)).code).toBe(0);
    expect((await headgate(api, ['apps', 'create', 'x'], env)).err).toContain('viewer');
    expect(await ok('admin-tokens list')).toContain('prometheus  viewer');
    await ok('admin-tokens delete prometheus');
    expect((await headgate(api, ['apps', 'list'], env)).code).toBe(1);
  });

  it('end sessions of browsers', async () => {
    const { id } = await (async (): Promise<Json> => {
      const signed = await api.post('/session', { token: ADMIN_TOKEN }, { token: null });
      const cookie = (signed.headers.get('set-cookie') ?? '').split(';', 1)[0] ?? '';
      return (await api.get('/session', { token: null, headers: { cookie } })).body.data;
    })();
    expect(await ok('sessions list')).toMatch(
      new RegExp(`^WHO .*\\nenvironment +admin +127\\.0\\.0\\.1 .* ${id}\\n$`),
    );
    expect(await ok(`sessions revoke ${id}`)).toBe(`Ended: ${id}.\n`);
    expect(await ok('sessions list')).toBe('None.\n');
    expect((await run(`sessions revoke ${id}`)).err).toContain('session');
  });

  it('for the management API are listed with the id that the history names', async () => {
    const value = (await ok('admin-tokens create deployer role=editor --quiet')).trim();
    await headgate(api, ['apps', 'create', 'shop'], { HEADGATE_TOKEN: value });
    const { versions } = await json('config history --limit 1');
    const [change] = versions;
    expect(change.actor).toMatch(/^[0-9a-f-]{36}$/);
    expect(await ok('admin-tokens list')).toMatch(new RegExp(`^deployer .* ${change.actor}$`, 'm'));
  });
});

describe('the gateway', () => {
  it('says who changed what, newest first', async () => {
    await shop();
    const lines = (await ok('audit --resource-type app')).split('\n');
    expect(lines[1]).toMatch(/environment +127\.0\.0\.1 +app\.create +\d+ +shop$/);
    expect((await json('audit'))[0].action).toBe('revision.create');
    expect(await json('audit --action app.delete')).toEqual([]);
  });

  it('shows reports and nodes as tables', async () => {
    await shop();
    expect(await ok('shadow shop')).toMatch(/^would deny +0$/m);
    expect(await ok('nodes')).toBe('None.\n');
  });
});

describe('a table', () => {
  const terminal = { isTerminal: true, columns: 40 };
  it('is as wide as the terminal, with colour unless NO_COLOR is set', async () => {
    await shop();
    await ok(`apps edit shop name=${'n'.repeat(100)}`);
    const { out } = await headgate(api, ['apps', 'list'], {}, '', terminal);
    expect(out).toBe(
      `\u001B[1mAPP   PATH   MODE          NAME\u001B[0m\nshop  /shop  pass_through  ${'n'.repeat(12)}…\n`,
    );
    expect((await headgate(api, ['apps', 'list'], { NO_COLOR: '1' }, '', terminal)).out).not.toContain(
      '\u001B',
    );
    expect((await headgate(api, ['apps', 'list'], { TERM: 'dumb' }, '', terminal)).out).not.toContain(
      '\u001B',
    );
  });

  it('shows nothing that a terminal obeys', async () => {
    await shop();
    await api.patch('/apps/shop', { description: 'red \u001B[31m and\nlines' });
    expect(await ok('apps show shop')).toContain('red ?[31m and?lines');
  });
});
