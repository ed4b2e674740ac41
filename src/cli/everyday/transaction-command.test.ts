/** `headgate transaction`, against a management API with a real database. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startManagement, type Fixture } from '../../management/management.fixture.ts';
import { headgate, type Outcome } from '../cli.fixture.ts';

let api: Fixture;
let folder: string;
beforeEach(async () => {
  api = await startManagement();
  folder = mkdtempSync(join(tmpdir(), 'headgate-transaction-'));
});
afterEach(async () => {
  rmSync(folder, { recursive: true });
  await api[Symbol.asyncDispose]();
});

const SHOP = `
- id: app
  method: POST
  path: /api/v1/apps
  body: { name: Shop, slug: shop, gateway_path: /shop }
- method: POST
  path: /api/v1/apps/\${app.id}/versions
  body: { version: v1 }
- method: POST
  path: /api/v1/apps/\${app.id}/tokens
  body: { name: partner }
`;

function run(text: string, ...flags: string[]): Promise<Outcome> {
  const file = join(folder, 'changes.yaml');
  writeFileSync(file, text);
  return headgate(api, ['transaction', file, ...flags]);
}

describe('headgate transaction', () => {
  it('makes everything, and shows the value of a key once', async () => {
    const { code, out, err } = await run(SHOP);
    expect([code, err]).toEqual([0, '']);
    expect(out).toMatch(/^3 operations done\.\n/);
    expect(out).toMatch(/\napp +createApp +201 +shop\n- +createVersion +201 +v1\n- +\w+ +201 +partner\n/);
    const [, key = ''] = /Shown only now, of partner: (\S{20,})\n$/.exec(out) ?? [];
    expect(out.split(key)).toHaveLength(2);
    expect((await api.get('/apps/shop/versions/v1')).status).toBe(200);
    expect((await api.get('/config/versions')).body.data[0]).toMatchObject({ source: 'cli' });
  });

  it('gives programs the answer, also from standard input and of a list in an object', async () => {
    const text = JSON.stringify({ operations: [{ method: 'GET', path: '/api/v1/apps/shop' }] });
    await run(SHOP);
    const { code, out } = await headgate(api, ['transaction', '-', '--output', 'json'], {}, text);
    expect(code).toBe(0);
    expect(JSON.parse(out).operations).toMatchObject([{ status: 200, body: { data: { slug: 'shop' } } }]);
  });

  it('warns, with the place of what it warns of', async () => {
    const text = SHOP.replace(
      '/shop }',
      '/shop, default_policy: { rate_limit: { requests: 1, window_seconds: 1 } } }',
    );
    for (const flags of [['--dry-run'], []]) {
      const { code, err } = await run(text, ...flags);
      expect([code, err]).toEqual([
        0,
        expect.stringMatching(
          /^warning: \S+changes\.yaml:5:\d\d: \/0\/body\/default_policy\/rate_limit\/enabled: .* \(rate_limit_not_enabled\)\n$/,
        ),
      ]);
    }
  });

  it('changes nothing in a dry run', async () => {
    const { code, out } = await run(SHOP, '--dry-run');
    expect(code).toBe(0);
    expect(out).toContain('Nothing was changed. The answer would be: 200 3 operations done.\n');
    expect((await api.get('/apps')).body.data).toEqual([]);
  });

  it('names the place in the file of what is wrong, and does nothing', async () => {
    const { code, out, err } = await run(SHOP.replace('name: partner', 'nmae: partner'));
    expect([code, out]).toEqual([1, '']);
    expect(err).toMatch(
      /^headgate: Operation 2 \(POST [^\n]+\n\S+changes\.yaml:11:3: \/2\/body\/name is required\n\S+:11:11: \/2\/body\/nmae is not a known field; expected one of "name", [^\n]+\n$/,
    );
    expect((await api.get('/apps')).body.data).toEqual([]);
  });

  it('refuses what is no YAML, is no list of operations, or is not there', async () => {
    expect(await run('- {')).toMatchObject({
      code: 1,
      err: expect.stringMatching(/changes\.yaml:\d+:\d+: /),
    });
    expect(await run('{}')).toMatchObject({
      code: 1,
      err: expect.stringContaining('/operations is required'),
    });
    const { code, err } = await headgate(api, ['transaction', join(folder, 'missing.yaml')]);
    expect([code, err]).toEqual([1, expect.stringContaining('missing.yaml')]);
  });
});
