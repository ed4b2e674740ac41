import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  createBilling,
  REVISION,
  startManagement,
  type Fixture,
} from '../../management/management.fixture.ts';
import { headgate as runHeadgate, type Outcome } from '../cli.fixture.ts';

let api: Fixture;
let folder: string;
beforeEach(async () => {
  api = await startManagement();
  folder = mkdtempSync(join(tmpdir(), 'headgate-history-'));
});
afterEach(async () => {
  rmSync(folder, { recursive: true });
  await api[Symbol.asyncDispose]();
});

const headgate = (...args: readonly string[]): Promise<Outcome> => runHeadgate(api, ['config', ...args]);
const current = async (): Promise<number> => (await api.get('/config')).body.data.config_version;

function git(...args: readonly string[]): string {
  const identity = ['-c', 'user.name=n', '-c', 'user.email=n@example.test'];
  return execFileSync('git', ['-C', folder, ...identity, ...args], { encoding: 'utf8' }).trim();
}

describe('headgate config history', () => {
  it('lists versions, with the Git commit of the files that were applied', async () => {
    const file = join(folder, 'app.yaml');
    writeFileSync(file, 'apps: {orders: {gateway_path: /orders}}\n');
    await api.post('/apps', { name: 'B', slug: 'billing', gateway_path: '/billing' });
    git('init', '-q');
    git('add', '.');
    git('commit', '-qm', 'first');
    const commit = git('rev-parse', 'HEAD');
    expect((await headgate('apply', file, '-m', 'orders go live')).code).toBe(0);
    const { out, code } = await headgate('history');
    expect(code).toBe(0);
    expect(out).toMatch(/^VERSION +WHEN +WHO +FROM +ACTION +RECORDS +MESSAGE\n/);
    expect(out).toContain(`cli ${commit.slice(0, 7)}  config.apply  1        orders go live\n`);
    expect(out).toMatch(/ environment +api +app\.create +1 +-\n/);
    const json = JSON.parse((await headgate('history', '--output', 'json', '--limit', '1')).out);
    expect(json).toMatchObject({
      total: 2,
      versions: [{ source: 'cli', commit, message: 'orders go live' }],
    });
    expect((await headgate('history', '--limit', '1')).out).toContain('… and 1 more; see --limit\n');
    expect((await headgate('history', '--app', 'billing')).out).not.toContain('config.apply');
    expect((await headgate('history', '--source', 'console')).out).toBe('None.\n');
  });

  it('names the admin token that made a version, to those who may list tokens', async () => {
    const { data } = (await api.post('/admin/tokens', { name: 'deploy bot', role: 'editor' })).body;
    await api.post('/apps', { name: 'B', slug: 'billing', gateway_path: '/billing' }, { token: data.token });
    expect((await headgate('history')).out).toMatch(/Z +deploy bot +api +app\.create /);
    expect((await headgate('show', String(await current()))).out).toContain(`deploy bot (${data.id})`);
    const as = (token: string) => runHeadgate(api, ['config', 'history'], { HEADGATE_TOKEN: token });
    expect((await as(data.token)).out).toMatch(new RegExp(`Z +${data.id} +api +app\\.create `));
    await api.delete(`/admin/tokens/${data.id}`);
    expect((await headgate('history')).out).toContain(data.id);
  });

  it('takes a commit from a plan, and from the command line', async () => {
    const file = join(folder, 'app.yaml');
    const plan = join(folder, 'plan.json');
    writeFileSync(file, 'apps: {orders: {gateway_path: /orders}}\n');
    const commitOf = async (): Promise<unknown> =>
      JSON.parse((await headgate('history', '--output', 'json')).out).versions[0].commit;
    git('init', '-q');
    git('add', '.');
    git('commit', '-qm', 'planned');
    const planned = git('rev-parse', 'HEAD');
    expect((await headgate('plan', file, '-o', plan)).code).toBe(2);
    git('commit', '-qm', 'later', '--allow-empty');
    expect((await headgate('apply', plan)).code).toBe(0);
    expect(await commitOf()).toBe(planned);
    writeFileSync(file, 'apps: {orders: {gateway_path: /other}}\n');
    expect((await headgate('apply', file, '--commit', 'ABCDEF0')).code).toBe(0);
    expect(await commitOf()).toBe('abcdef0');
    expect((await headgate('apply', file, '--commit', 'main')).err).toContain('--commit "main" must be');
    rmSync(join(folder, '.git'), { recursive: true });
    writeFileSync(file, 'apps: {orders: {gateway_path: /third}}\n');
    expect((await headgate('apply', file)).code).toBe(0);
    expect(await commitOf()).toBeNull();
  });

  it('warns of what a rollback brings back', async () => {
    await createBilling(api);
    await api.patch(REVISION, { is_current: true, traffic_weight: 0 });
    const then = await current();
    await api.patch(REVISION, { traffic_weight: 10 });
    for (const flags of [['--dry-run'], []]) {
      const { err } = await headgate('rollback', String(then), ...flags);
      expect(err).toMatch(
        /^warning: \/apps\/billing\/versions\/v1\/revisions\/r1\/traffic_weight: .* \(all_weights_zero\)\n$/,
      );
    }
  });

  it('shows a version, and what differs between two', async () => {
    await createBilling(api);
    const from = await current();
    await api.patch(REVISION, { traffic_weight: 10 });
    await api.patch('/apps/billing', { slug: 'invoices' });
    const shown = await headgate('show', String(from + 1));
    expect(shown.code).toBe(0);
    expect(shown.out).toContain(`config_version  ${from + 1}\n`);
    expect(shown.out).toContain(
      '  ~ revision  billing  v1  r1\n      traffic_weight: 100 → 10\n\n0 created, 1 updated, 0 deleted.\n',
    );
    const diff = await headgate('diff', String(from));
    expect(diff.code).toBe(2);
    expect(diff.out).toBe(
      [
        `--- billing.yaml (version ${from})`,
        `+++ invoices.yaml (version ${from + 2})`,
        '@@ -1,5 +1,5 @@',
        ' apps:',
        '-  billing:',
        '+  invoices:',
        '     name: Billing',
        '     gateway_path: /billing',
        '     versions:',
        '@@ -7,3 +7,4 @@',
        '         revisions:',
        '           r1:',
        '             backend_host: backend.test',
        '+            traffic_weight: 10',
        '',
      ].join('\n') +
        '\n  ~ app       invoices\n      slug: "billing" → "invoices"\n  ~ revision  invoices  v1  r1\n      traffic_weight: (default) → 10\n\n0 created, 2 updated, 0 deleted.\n',
    );
    expect(await headgate('diff', String(from), String(from))).toMatchObject({
      code: 0,
      out: 'No difference.\n',
    });
    const json = await headgate('diff', String(from), String(from + 1), '--output', 'json');
    expect([json.code, JSON.parse(json.out).totals]).toEqual([2, { create: 0, update: 1, delete: 0 }]);
    expect((await headgate('diff', String(from), '999')).err).toMatch(
      /There is no config version "999" here; the newest is \d+$/,
    );
    expect((await headgate('diff', 'x')).err).toContain('The version "x" must be a whole number');
    expect((await headgate('dump', '--at', String(from))).out).toContain('\n  billing:\n');
  });

  it('rolls back, after a dry run, and says which keys are not as they were', async () => {
    await createBilling(api);
    const { id } = (await api.post('/apps/billing/tokens', { name: 'mobile' })).body.data;
    const at = await current();
    await api.patch('/apps/billing', { description: 'x' });
    await api.delete(`/apps/billing/tokens/${id}`);
    const tried = await headgate('rollback', String(at), '--dry-run');
    expect(tried).toEqual({
      code: 2,
      err: '',
      out: '  ~ app       billing\n      description: "x" → (default)\n\n0 to create, 1 to update, 0 to delete.\n\nKeys that are not restored in full:\n  billing mobile: it was deleted and does not come back\n',
    });
    const done = await headgate('rollback', String(at), '-m', 'back');
    expect([done.code, done.out]).toEqual([0, expect.stringContaining('0 created, 1 updated, 0 deleted.\n')]);
    expect((await headgate('rollback', String(at))).out).toContain('Nothing to change.\n');
    expect((await headgate('history', '--limit', '1')).out).toMatch(/ cli +config\.rollback +1 +back\n/);
    await api.post('/apps', { name: 'O', slug: 'orders', gateway_path: '/orders' });
    await api.post('/apps/orders/tokens', { name: 'till' });
    const refused = await headgate('rollback', String(at));
    expect([refused.code, refused.out]).toEqual([1, '']);
    expect(refused.err).toContain(
      'Set delete_keys to delete the keys, too (here the option --delete-keys)\n  /apps/orders/keys/till was created',
    );
    expect((await headgate('rollback', String(at), '--app', 'billing')).out).toContain('Nothing to change.');
    expect((await headgate('rollback', String(at), '--delete-keys')).code).toBe(0);
  });
});
