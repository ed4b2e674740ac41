/** `headgate api`, against a management API with a real database. */
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
  folder = mkdtempSync(join(tmpdir(), 'headgate-api-'));
});
afterEach(async () => {
  rmSync(folder, { recursive: true });
  await api[Symbol.asyncDispose]();
});

const call = (...args: string[]): Promise<Outcome> => headgate(api, ['api', ...args]);
const SHOP = '{"name": "Shop", "slug": "shop", "gateway_path": "/shop"}';

describe('headgate api', () => {
  it('makes a call with its body, and prints the data of the answer', async () => {
    const made = await call('post', '/apps', SHOP);
    expect([made.code, made.err]).toEqual([0, '']);
    expect(JSON.parse(made.out)).toMatchObject({ slug: 'shop' });
    expect((await api.get('/apps/shop')).status).toBe(200);
    expect(await call('DELETE', '/api/v1/apps/shop')).toEqual({ code: 0, out: '', err: '' });
    expect((await api.get('/apps/shop')).status).toBe(404);
  });

  it('prints an answer without an envelope whole, as that of the OpenAPI document', async () => {
    const { code, out } = await call('GET', '/openapi.json');
    expect([code, JSON.parse(out).openapi]).toEqual([0, expect.stringMatching(/^3\./)]);
  });

  it('reads the body from a file or from standard input', async () => {
    const file = join(folder, 'shop.json');
    writeFileSync(file, SHOP);
    expect((await call('POST', '/apps', `@${file}`)).code).toBe(0);
    const patch = await headgate(api, ['api', 'PATCH', '/apps/shop', '-'], {}, '{"name": "Other"}');
    expect(JSON.parse(patch.out)).toMatchObject({ name: 'Other' });
  });

  it('says on standard error what it warns of, and that a list goes on', async () => {
    const policy = '"default_policy": {"rate_limit": {"requests": 1, "window_seconds": 1}}';
    const { err } = await call('POST', '/apps', SHOP.replace('}', `, ${policy}}`));
    expect(err).toMatch(/^warning: \/default_policy\/rate_limit\/enabled: .* \(rate_limit_not_enabled\)\n$/);
    await call('POST', '/apps', SHOP.replaceAll('shop', 'other'));
    const first = await call('GET', '/apps?limit=1');
    expect(JSON.parse(first.out)).toHaveLength(1);
    const [, cursor = ''] = /^There are more: add cursor=(\S+) to the query\.\n$/.exec(first.err) ?? [];
    const second = await call('GET', `/apps?limit=1&cursor=${cursor}`);
    expect([JSON.parse(second.out).length, second.err]).toEqual([1, '']);
  });

  it.each([
    [
      'a wrong field',
      ['POST', '/apps', '{"name": 1}'],
      /^\/slug is required\n {2}\/gateway_path is required\n {2}\/name must be a string$/,
    ],
    ['what does not exist', ['GET', '/apps/none'], /There is no app "none" here/],
    ['an unknown method', ['FETCH', '/apps'], /The method FETCH is unknown; expected one of GET, POST/],
    [
      'a path',
      ['GET', 'apps'],
      /The path apps is not one of the management API; expected one such as \/apps/,
    ],
    ['a body that is not JSON', ['POST', '/apps', '{name}'], /The body is not JSON: /],
    ['a file that is not there', ['POST', '/apps', '@/nowhere/at-all'], /Cannot read \/nowhere\/at-all: /],
  ])('refuses %s, and says why', async (_what, args, message) => {
    const { code, out, err } = await call(...args);
    expect([code, out]).toEqual([1, '']);
    expect(err).toMatch(message);
  });
});
