/** Commands of the command line whose answers come from workers, against a gateway with traffic. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { headgate } from '../../../src/cli/cli.fixture.ts';
import { startOrigin, type Origin } from '../../support/backends/origin.ts';
import { ADMIN_TOKEN, startGateway, type TestGateway } from '../../support/gateway.ts';

let origin: Origin;
let gateway: TestGateway;
let key: string;

const run = (args: readonly string[], env: Readonly<Record<string, string>> = {}) =>
  headgate({ url: gateway.base }, args, { HEADGATE_TOKEN: ADMIN_TOKEN, ...env });
async function ok(...args: string[]): Promise<string> {
  const { code, out, err } = await run(args);
  expect([args, code, err]).toEqual([args, 0, '']);
  return out;
}

beforeAll(async () => {
  origin = await startOrigin();
  gateway = await startGateway();
  await ok('apps', 'create', 'shop', 'policy.auth.auth_type=api_key');
  await ok('versions', 'create', 'shop', 'v1');
  const backend = `http://127.0.0.1:${origin.port}`;
  await ok('revisions', 'create', 'shop', 'v1', 'r1', '--backend', backend, 'is_current=true');
  key = (await ok('keys', 'create', 'shop', 'acme', 'scopes=read', '--quiet')).trim();
  const warned = await run(['apps', 'edit', 'shop', 'policy.required_scopes=write']);
  if (!warned.err.includes('(scopes_without_holder)')) throw new Error(warned.err);
});
afterAll(async () => {
  await gateway.stop();
  await origin.close();
});

describe('headgate explain', () => {
  it('says why a described request is refused, and what would let it pass', async () => {
    const out = await ok('explain', 'GET', '/shop/v1/items', '--key', key, '--header', 'Accept: text/plain');
    expect(out).toMatch(/^denied: insufficient_scope\n/);
    expect(out).toMatch(/^route +shop v1 r1$/m);
    expect(out).toMatch(/^caller +api_key acme$/m);
    expect(out).toMatch(/^Fix: .*write/m);
    expect(out).not.toContain(key);
    const { out: json } = await run(['explain', 'GET', '/shop/v1/items', '--output', 'json']);
    expect(JSON.parse(json)).toMatchObject({ outcome: 'denied', code: 'credentials_missing' });
  });

  it('says what happened to a recent one', async () => {
    const answer = await fetch(`${gateway.proxy}/shop/v1/items`);
    const id = answer.headers.get('x-request-id') ?? '';
    expect(await ok('explain', id)).toMatch(/^denied: credentials_missing\n/);
    const gone = await run(['explain', 'no-such-request']);
    expect([gone.code, gone.err]).toEqual([
      1,
      expect.stringContaining('No exchange "no-such-request" is kept'),
    ]);
  });

  it('says how a request goes at other config versions', async () => {
    const versions = await ok('explain', 'GET', '/shop/v1/items', '--key', key, '--versions');
    expect(versions).toMatch(/^VERSIONS +OUTCOME +AS NOW/);
    expect(versions).toMatch(/^0-1 +no_route 404 +no/m);
    expect(versions.trimEnd().split('\n').at(-1)).toMatch(/^\d+ +insufficient_scope 403 +yes .*app\.update$/);
    const json = JSON.parse(await ok('explain', 'GET', '/shop/v1/items', '--versions', '--output', 'json'));
    const then = String(json.segments.at(-2).to_version);
    const at = await ok('explain', 'GET', '/shop/v1/items', '--key', key, '--at-version', then);
    expect(at).toMatch(new RegExp(`^At config version ${then}.* other than now:\\n`));
  });

  it.each([
    [['explain', 'GET', '/', '--versions', '--at-version', '1'], 'are both given'],
    [['explain', 'GET', '/', '--at-version', 'x'], '--at-version "x" must be a config version'],
    [['live', '--count', '0'], '--count "0" must be a whole number'],
    [['live', '--app', 'no-such-app'], 'must name an app'],
    [['explain', 'GET'], '"GET" is not a request id'],
    [
      ['explain', '/shop/v1/items'],
      '"/shop/v1/items" is not a request id; expected one, or a method and a path',
    ],
    [['explain', 'GET', '/', '--header', 'nothing'], 'A --header is not "Name: value"'],
    [['explain', 'GET', '/', '--body-bytes', '-1'], '--body-bytes "-1" must be a whole number'],
    [['explain', 'GET', '/', '--key', 'a', '--key-file', 'b'], 'both given'],
  ])('%j is refused', async (args, message) => {
    expect(await run(args)).toMatchObject({ code: 1, err: expect.stringContaining(message) });
  });
});

describe('headgate health', () => {
  it('needs no token, and ends with 0 while all is well and 1 when it is not', async () => {
    const env = { HEADGATE_TOKEN: '' };
    const { code, out } = await run(['health'], env);
    expect([code, out]).toEqual([0, expect.stringMatching(/^healthy +yes\nready +yes\n/)]);
    const refused = await run(['health', '--server', 'http://127.0.0.1:1'], env);
    expect([refused.code, refused.err]).toEqual([1, expect.stringContaining('the connection was refused')]);
  });
});

describe('headgate metrics and nodes', () => {
  it('show this gateway', async () => {
    expect(await ok('metrics', 'headgate_build_info')).toMatch(/^headgate_build_info\{.*\} 1\n$/);
    expect((await run(['metrics', 'no_such_metric'])).code).toBe(1);
    expect(await ok('nodes')).toMatch(/ live .* yes\n$/);
  });
});

describe('headgate sampling and debug-tokens', () => {
  it('keep a share of the requests for a while, and stop', async () => {
    expect(await ok('sampling', 'show')).toBe('Off.\n');
    await ok('sampling', 'start', 'app=shop', 'rate=0.25', 'seconds=300');
    expect(JSON.parse(await ok('sampling', 'show', '--output', 'json'))).toMatchObject({ rate: 0.25 });
    expect(await ok('sampling', 'show')).toMatch(/^rate +0\.25$/m);
    const wrong = await run(['sampling', 'start', 'rate=2', 'seconds=0']);
    expect([wrong.code, wrong.err]).toEqual([1, expect.stringMatching(/\/rate[^]*\/seconds/)]);
    expect(await ok('sampling', 'stop')).toBe('Off.\n');
    expect(await ok('sampling', 'show')).toBe('Off.\n');
  });

  it('make a token that tells the decision, list it without its value, and revoke it', async () => {
    const token = (await ok('debug-tokens', 'create', 'app=shop', 'seconds=60', '--quiet')).trim();
    const decision = async (): Promise<string | null> => {
      const headers = { 'x-headgate-debug': token };
      return (await fetch(`${gateway.proxy}/shop/v1/items`, { headers })).headers.get('x-headgate-decision');
    };
    expect(await decision()).toContain('denied=credentials_missing');
    const listed = await ok('debug-tokens', 'list');
    expect(listed).toMatch(/^ID +APP +CREATED +EXPIRES\n/);
    expect(listed).not.toContain(token);
    const [{ id }] = JSON.parse(await ok('debug-tokens', 'list', '--output', 'json'));
    expect(await ok('debug-tokens', 'revoke', id)).toBe(`Revoked: ${id}.\n`);
    expect(await decision()).toBeNull();
    expect(await ok('debug-tokens', 'list')).toBe('None.\n');
  });
});

describe('headgate live', () => {
  const seen = async (...args: string[]): Promise<string> => {
    let isOver = false;
    const watched = ok('live', ...args).finally(() => (isOver = true));
    // The command watches some time after it was started.
    for (let sent = 0; !isOver && sent < 200; sent += 1) {
      await fetch(`${gateway.proxy}/shop/v1/items`, { headers: { 'User-Agent': 'agent' } });
      await new Promise((done) => setTimeout(done, 50));
    }
    return watched;
  };

  it('writes a line for each exchange, and ends after as many as were asked for', async () => {
    const out = await seen('--app', 'shop', '--status', '4xx', '--count', '2');
    expect(out.trimEnd().split('\n')).toEqual([
      expect.stringMatching(/  401  GET \/shop\/v1\/items  .* app=shop  reason=credentials_missing  id=\S+$/),
      expect.stringMatching(/  401  GET /),
    ]);
  });

  it('writes a JSON document for each', async () => {
    const [line = '', ...more] = (await seen('--count', '1', '--output', 'json')).split('\n');
    expect(JSON.parse(line)).toMatchObject({ path: '/shop/v1/items', status: 401, user_agent: 'agent' });
    expect(more).toEqual(['']);
  });
});
