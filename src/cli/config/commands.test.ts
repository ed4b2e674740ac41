import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startManagement, type Fixture } from '../../management/management.fixture.ts';
import { headgate as runHeadgate } from '../cli.fixture.ts';

let api: Fixture;
let folder: string;
beforeEach(async () => {
  api = await startManagement();
  folder = mkdtempSync(join(tmpdir(), 'headgate-config-'));
});
afterEach(async () => {
  rmSync(folder, { recursive: true });
  await api[Symbol.asyncDispose]();
});

const headgate = (args: readonly string[], env?: Readonly<Record<string, string>>, stdin?: string) =>
  runHeadgate(api, args, env, stdin);

function file(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

const BILLING = `owner: team-a
apps:
  billing:
    gateway_path: /billing
    versions:
      v1:
        revisions:
          r1:
            backend_host: 127.0.0.1
            backend_port: \${env:PORT}
            is_current: true
            default_policy:
              auth:
                auth_type: jwt
                jwt: {secret: "\${file:secret.txt}"}
            endpoints:
              GET /invoices:
    keys:
      mobile: {}
`;
const SECRET = 'a-secret-of-at-least-32-characters-here';

function billing(): string {
  file('secret.txt', `${SECRET}\n`);
  return file('billing.yaml', BILLING);
}

describe('headgate config', () => {
  it('plans with exit code 2, applies, and then plans with exit code 0', async () => {
    const path = billing();
    const env = { PORT: '8081' };
    const planned = await headgate(['config', 'plan', path], env);
    expect(planned).toMatchObject({ code: 2, err: '' });
    expect(planned.out).toContain('  + endpoint  billing  v1  r1  GET /invoices\n');
    expect(planned.out).toContain('\n5 to create, 0 to update, 0 to delete.\n');
    const applied = await headgate(['config', 'apply', path, '-m', 'first'], env);
    expect(applied).toMatchObject({ code: 0, err: '' });
    expect(applied.out).toContain(
      '5 created, 0 updated, 0 deleted.\nKey mobile of billing (shown only now): hgk_',
    );
    expect((await api.get('/apps/billing/versions/v1/revisions/r1')).body.data.backend_port).toBe(8081);
    expect(await headgate(['config', 'plan', path], env)).toEqual({
      code: 0,
      out: 'Nothing to change.\n',
      err: '',
    });
  });

  it('shows what a change is, field by field', async () => {
    const path = billing();
    await headgate(['config', 'apply', path], { PORT: '8081' });
    const { out } = await headgate(['config', 'plan', path], { PORT: '8082' });
    expect(out).toBe(
      '  ~ revision  billing  v1  r1\n      backend_port: 8081 → 8082\n\n0 to create, 1 to update, 0 to delete.\n',
    );
    const { out: json } = await headgate(['config', 'plan', path, '--output', 'json'], { PORT: '8082' });
    expect(JSON.parse(json)).toMatchObject({
      totals: { update: 1 },
      changes: [{ path: ['billing', 'v1', 'r1'] }],
    });
  });

  it('keeps a plan in a file without secrets, and applies it where nothing has moved', async () => {
    const path = billing();
    const plan = join(folder, 'plan.json');
    const env = { PORT: '8081' };
    expect((await headgate(['config', 'plan', path, '-o', plan], env)).code).toBe(2);
    expect(readFileSync(plan, 'utf8')).not.toContain(SECRET);
    expect(statSync(plan).mode & 0o777).toBe(0o600);
    await api.post('/apps', { name: 'O', slug: 'orders', gateway_path: '/orders' });
    const refused = await headgate(['config', 'apply', plan], env);
    expect(refused.code).toBe(1);
    expect(refused.err).toContain('since then: app.create orders by environment');
    expect((await headgate(['config', 'apply', plan, '--rebase'], env)).out).toContain('5 created');
  });

  it('dumps what was applied, by owner or app, and applying the dump is no change', async () => {
    const env = { PORT: '8081' };
    await headgate(['config', 'apply', billing()], env);
    await api.post('/apps', { name: 'orders', slug: 'orders', gateway_path: '/orders' });
    const dumped = await headgate(['config', 'dump']);
    expect(dumped.out).toContain(
      '${sealed:/apps/billing/versions/v1/revisions/r1/default_policy/auth/jwt/secret}',
    );
    expect(dumped.out).not.toContain(SECRET);
    expect(await headgate(['config', 'plan', '-'], {}, dumped.out)).toMatchObject({ code: 0, err: '' });
    expect((await headgate(['config', 'dump', '--app', 'orders'])).out).toBe(
      'apps:\n  orders:\n    gateway_path: /orders\n',
    );
    const json = await headgate(['config', 'dump', '--owner', 'team-a', '--output', 'json']);
    expect(Object.keys((JSON.parse(json.out) as { apps: object }).apps)).toEqual(['billing']);
  });

  it('writes no file that has the name of standard output or lies in no folder', async () => {
    const nowhere = join(folder, 'no', 'file');
    for (const args of [
      ['config', 'dump', '--out'],
      ['config', 'plan', billing(), '--out'],
      ['config', 'backup'],
    ]) {
      const dash = await headgate([...args, '-'], { PORT: '8081' });
      expect([dash.code, dash.err]).toEqual([
        1,
        'Cannot write "-": expected the name of a file, such as ./out',
      ]);
      const { code, err } = await headgate([...args, nowhere], { PORT: '8081' });
      expect([code, err.startsWith(`Cannot write ${nowhere}: `)]).toEqual([1, true]);
    }
  });

  it('dumps texts that look like references so that an apply reads them back as they are', async () => {
    const description = 'see ${env:PORT}, $${env:PORT} and ${file:/etc/hostname}';
    await api.post('/apps', { name: 'O', slug: 'orders', gateway_path: '/orders', description });
    for (const output of ['yaml', 'json']) {
      const dumped = await headgate(['config', 'dump', '--output', output]);
      expect(await headgate(['config', 'plan', '-'], { PORT: '8081' }, dumped.out)).toEqual({
        code: 0,
        out: 'Nothing to change.\n',
        err: '',
      });
    }
    await api.patch('/apps/orders', { description: '${env:HOME}' });
    const { out } = await headgate(['config', 'diff', '1', '2']);
    expect(out).toContain('-    description: "see $${env:PORT}, $$${env:PORT} and $${file:/etc/hostname}"');
    expect(out).toContain('+    description: "$${env:HOME}"');
  });

  it('reads folders, and says where one thing is given twice', async () => {
    mkdirSync(join(folder, 'apps'));
    writeFileSync(join(folder, 'apps', 'a.yaml'), 'apps:\n  a: {gateway_path: /a}\n');
    writeFileSync(join(folder, 'apps', 'b.yml'), 'apps:\n  a:\n    versions: {v1: {}}\n');
    writeFileSync(join(folder, 'apps', '.hidden.yaml'), 'nonsense: [');
    writeFileSync(join(folder, 'apps', 'notes.txt'), 'nonsense: [');
    expect(await headgate(['config', 'validate', join(folder, 'apps')])).toMatchObject({ code: 0, err: '' });
    writeFileSync(join(folder, 'apps', 'c.json'), '{"apps": {"a": {"gateway_path": "/a"}}}');
    const twice = await headgate(['config', 'validate', join(folder, 'apps')]);
    expect(twice.code).toBe(1);
    expect(twice.err).toMatch(
      /c\.json:1:17: \/apps\/a\/gateway_path is given twice; the first one is at .*a\.yaml:2:7\n/,
    );
  });

  it('says what to do with the files of two owners', async () => {
    writeFileSync(join(folder, 'a.yaml'), 'owner: team-a\napps: {}\n');
    writeFileSync(join(folder, 'b.yaml'), 'owner: team-b\napps: {}\n');
    const both = await headgate(['config', 'validate', join(folder, 'a.yaml'), join(folder, 'b.yaml')]);
    expect(both.code).toBe(1);
    expect(both.err).toMatch(
      /b\.yaml:1:1: \/owner is given twice; the first one is at .*a\.yaml:1:1\. Plan and apply the files of each owner apart\n/,
    );
  });

  it.each([
    [
      'apps:\n  a: {gateway_pth: /a}',
      '2:7: /apps/a/gateway_pth is not a known field; did you mean "gateway_path"?',
    ],
    ['apps:\n  a: {gateway_path: a}', '2:7: /apps/a/gateway_path must'],
    ['apps:\n  a:\n    description: x', '2:3: /apps/a/gateway_path is required'],
    [
      'apps:\n  a: {gateway_path: /a}\n  b: {gateway_path: /a}',
      '3:7: /apps/b/gateway_path "/a" is already taken by the app "a"',
    ],
    [
      'apps:\n  a: {gateway_path: "${env:NONE}"}',
      '2:7: /apps/a/gateway_path needs the environment variable NONE',
    ],
    [
      'apps:\n  a: {gateway_path: /a, description: no}',
      '2:38: /apps/a/description "no" is a boolean to some readers',
    ],
    ['apps:\n  a: {gateway_path: "/a\\n"}', 'percent-encoded; the value ends in a line break\n'],
    ['apps: [', 'is not valid YAML'],
  ])('validates offline: %j', async (text, message) => {
    const path = file('x.yaml', text);
    const { code, err } = await headgate(['config', 'validate', path], {
      HEADGATE_SERVER: 'http://127.0.0.1:1',
    });
    expect(code).toBe(1);
    expect(err).toContain(message);
    expect(err).toContain(`${path}:`);
  });

  it('warns of what is valid and not meant, with its place: validate, plan, apply', async () => {
    const path = file(
      'limit.yaml',
      'apps:\n  a:\n    gateway_path: /a\n    default_policy:\n      rate_limit: {requests: 1, window_seconds: 1}\n',
    );
    const warning = new RegExp(
      `^warning: ${path}:5:\\d+: /apps/a/default_policy/rate_limit/enabled: [^\\n]+ \\(rate_limit_not_enabled\\)\\n$`,
    );
    for (const command of ['validate', 'plan', 'apply']) {
      const { err, out } = await headgate(['config', command, path, '--output', 'json']);
      expect(err, command).toMatch(warning);
      expect(() => JSON.parse(out), command).not.toThrow();
    }
    expect((await headgate(['config', 'plan', path])).err).toBe('');
  });

  it('also names the place of what the gateway refuses', async () => {
    await api.post('/apps', { name: 'O', slug: 'orders', gateway_path: '/a' });
    const path = file('x.yaml', 'apps:\n  a:\n    gateway_path: /a\n');
    const { code, err } = await headgate(['config', 'plan', path]);
    expect([code, err]).toEqual([
      1,
      `${path}:3:5: /apps/a/gateway_path "/a" is already taken by the app "orders"\n`,
    ]);
  });

  it('says plainly what is missing: a token, a gateway, a file', async () => {
    const path = billing();
    const env = { PORT: '1' };
    expect((await headgate(['config', 'plan', path], { ...env, HEADGATE_TOKEN: '' })).err).toContain(
      'HEADGATE_TOKEN',
    );
    const away = await headgate(['config', 'plan', path], { ...env, HEADGATE_SERVER: 'http://127.0.0.1:1' });
    expect(away.err).toContain('Cannot reach the gateway at http://127.0.0.1:1: ');
    const wrong = await headgate(['config', 'plan', path], {
      ...env,
      HEADGATE_TOKEN: 'wrong-token-of-some-length',
    });
    expect([wrong.code, wrong.err]).toEqual([1, expect.stringContaining('admin token')]);
    expect((await headgate(['config', 'plan', join(folder, 'none.yaml')])).err).toContain(
      'none.yaml:1:1: cannot be read: it does not exist',
    );
  });
});
