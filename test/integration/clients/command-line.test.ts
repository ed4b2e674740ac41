/** Commands of the command line whose answers come from workers, against a gateway with traffic. */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { headgate } from '../../../src/cli/cli.fixture.ts';
import { startOrigin, type Origin } from '../../support/backends/origin.ts';
import { freePort } from '../../support/backends/origin-process.ts';
import { pem } from '../../support/data/pem.ts';
import { until } from '../../support/measure/until.ts';
import { ADMIN_TOKEN, MAIN, startGateway, type TestGateway } from '../../support/gateway.ts';

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

describe('output that cannot be written', () => {
  /** What bash says of a command line in which `headgate` is the program, and what is on standard error. */
  const inBash = (script: string) => {
    const env = { ...process.env, HEADGATE_SERVER: gateway.base, HEADGATE_TOKEN: ADMIN_TOKEN };
    const program = `headgate() { "${process.execPath}" --disable-warning=ExperimentalWarning "${MAIN}" "$@"; }`;
    const { stdout, stderr } = spawnSync('bash', ['-c', `${program}\n${script}`], { env, encoding: 'utf8' });
    return { stdout, stderr };
  };

  it('ends without a word when its reader has read enough, as with head', () => {
    // More than a pipe holds.
    const script = 'headgate api GET /openapi.json | head -c 1; echo "${PIPESTATUS[0]}"';
    expect(inBash(script)).toEqual({ stdout: '{141\n', stderr: '' });
  });

  it('is an error in one line where the disk is full', () => {
    const { stdout, stderr } = inBash('headgate apps list > /dev/full; echo "$?"');
    expect(stderr).toBe('headgate: Cannot write the output: ENOSPC: no space left on device, write\n');
    expect(stdout).toBe('1\n');
  });
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
    expect(at).toMatch(new RegExp(`^At config version ${then}.* different from now:\\n`));
  });

  it('says to which of several targets a request goes, and why', async () => {
    await ok('apps', 'create', 'spread');
    await ok('versions', 'create', 'spread', 'v1');
    const targets = JSON.stringify([
      { host: '127.0.0.1', port: origin.port },
      { host: '127.0.0.2', port: origin.port, weight: 0 },
    ]);
    const balanced = [`targets=${targets}`, 'load_balancing.algorithm=hash'];
    const hash = ['load_balancing.hash.by=header', 'load_balancing.hash.name=X-User'];
    const made = ['backend_scheme=http', 'is_current=true', ...balanced, ...hash];
    await ok('revisions', 'create', 'spread', 'v1', 'r1', ...made);
    const place = `127\\.0\\.0\\.1:${origin.port}`;
    const hashed = await ok('explain', 'GET', '/spread/v1/', '--header', 'X-User: ann');
    expect(hashed).toMatch(new RegExp(`^target +${place}: the hash of the header x-user leads to it$`, 'm'));
    const other = await ok('explain', 'GET', '/spread/v1/');
    expect(other).toMatch(new RegExp(`^target +${place}: the request has no header x-user to hash; `, 'm'));
    const health = await ok('revisions', 'health', 'spread', 'v1', 'r1');
    expect(health).toMatch(/^TARGET +WEIGHT +ZONE +STATE +UNDER WAY +REQUESTS +FAILED +EJECTIONS +WHY$/m);
    expect(health).toMatch(new RegExp(`^${place} +100 +- +in_service +0 +0 +0 +0 +-$`, 'm'));
    const { targets: told } = JSON.parse(
      await ok('revisions', 'health', 'spread', 'v1', 'r1', '--output', 'json'),
    );
    expect(told).toHaveLength(2);
  });

  it('says what to do where discovery finds nothing, and shows why it does not', async () => {
    await ok('apps', 'create', 'lost');
    await ok('versions', 'create', 'lost', 'v1');
    const source = ['discovery.type=file', 'discovery.path=lost.yaml'];
    const made = await run(['revisions', 'create', 'lost', 'v1', 'r1', 'is_current=true', ...source]);
    expect(made.err).toMatch(/^warning: The file "lost.yaml" is not read.*\(discovery_folder_not_set\)\n$/);
    const { out, err } = await run(['explain', 'GET', '/lost/v1/']);
    expect(err).toBe('');
    expect(out).toMatch(/^denied: no_targets\n/);
    expect(out).toMatch(/^Fix: Let discovery find a target: .* \(revision [0-9a-f-]{36}\)$/m);
    // The first look may be a moment away.
    const health = await until(async () => {
      const shown = await ok('revisions', 'health', 'lost', 'v1', 'r1');
      return shown.includes('stale_since') && shown;
    });
    expect(health).toMatch(/^discovery +file lost\.yaml$/m);
    expect(health).toMatch(/^error +files are not read: GATEWAY_DISCOVERY__FOLDER is not set$/m);
  });

  it('fails where the receiver of a webhook does not take a test event', async () => {
    await ok('webhooks', 'create', 'deaf', `url=http://127.0.0.1:${await freePort()}/`, 'events=key.*');
    const { code, out } = await run(['webhooks', 'test', 'deaf']);
    expect([code, out]).toEqual([1, expect.stringMatching(/^is_delivered +no$/m)]);
    await ok('webhooks', 'edit', 'deaf', `url=http://127.0.0.1:${origin.port}/`);
    expect(await ok('webhooks', 'test', 'deaf')).toMatch(/^is_delivered +yes$/m);
  });

  it('says only in words how long to wait', async () => {
    const policy = 'policy.rate_limit={"enabled":true,"requests":1,"window_seconds":3600}';
    await ok('apps', 'create', 'few', policy);
    await ok('versions', 'create', 'few', 'v1');
    const backend = `http://127.0.0.1:${origin.port}`;
    await ok('revisions', 'create', 'few', 'v1', 'r1', '--backend', backend, 'is_current=true');
    await (await fetch(`${gateway.proxy}/few/v1/`)).text();
    expect(await ok('explain', 'GET', '/few/v1/')).toMatch(/^Fix: Wait (\d+|an?) \w+( \d+ \w+)*$/m);
  });

  it('gives the command of each change that would let the request pass', async () => {
    await ok('apps', 'create', 'fixed', 'routing_mode=managed_endpoint', 'policy.auth.auth_type=api_key');
    await ok(
      'apps',
      'edit',
      'fixed',
      'policy.max_body_bytes=10',
      'policy.ip_access.deny=192.0.2.7,192.0.2.8',
    );
    await ok('versions', 'create', 'fixed', 'v1');
    const backend = `http://127.0.0.1:${origin.port}`;
    const { code, err } = await run(['revisions', 'create', 'fixed', 'v1', 'r1', '--backend', backend]);
    expect([code, err]).toEqual([0, expect.stringContaining('(no_current_revision)')]);
    const secret = (await ok('keys', 'create', 'fixed', "ann's", '--quiet')).trim();
    await ok('keys', 'revoke', 'fixed', "ann's");
    const asked = ['explain', 'GET', '/fixed/v1/i/7', '--client-ip', '192.0.2.7', '--body-bytes', '20'];
    const outcomes: string[] = [];
    for (;;) {
      const { out } = await run([...asked, '--key', secret]);
      outcomes.push(out.slice(0, out.indexOf('\n')));
      if (out.startsWith('forwarded') || outcomes.length > 10) break;
      const command = /^Fix: .*\n {5}headgate (.*)$/m.exec(out)?.[1];
      if (command === undefined) throw new Error(out);
      // A shell takes the words apart, as it would for an operator.
      const words = execFileSync('sh', ['-c', `for word in ${command}; do printf '%s\\0' "$word"; done`]);
      const { code, err } = await run(words.toString().split('\0').slice(0, -1));
      expect([command, code, err]).toEqual([command, 0, expect.not.stringContaining('headgate:')]);
    }
    expect(outcomes).toEqual([
      'denied: no_revision',
      'denied: endpoint_not_found',
      'denied: ip_denied',
      'denied: credentials_invalid',
      'denied: body_too_large',
      'forwarded',
    ]);
  });

  it('sends no private key in place of a certificate', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'headgate-cli-'));
    const file = (name: string, text: string): string => {
      writeFileSync(join(folder, name), text);
      return join(folder, name);
    };
    try {
      for (const [path, message] of [
        [
          file('both.pem', pem('site.pem') + pem('site-key.pem')),
          'has a private key, which must not be sent',
        ],
        [file('none.pem', 'nothing'), 'has no certificate in PEM'],
      ] as const) {
        const { code, err } = await run(['explain', 'GET', '/shop/v1/', '--client-certificate', path]);
        expect([code, err]).toEqual([1, expect.stringContaining(message)]);
      }
    } finally {
      rmSync(folder, { recursive: true });
    }
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

  it('create a token that shows the decision, list it without its value, and revoke it', async () => {
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

describe('a command', () => {
  /** Writes the modules of Node.js that the process has loaded. */
  const TELL_LOADED = `process.on('exit', () => require('node:fs').writeFileSync(process.env.LOADED,
    JSON.stringify(process.moduleLoadList)))`;

  it('starts without cryptography, which would take a quarter of its time', () => {
    const folder = mkdtempSync(join(tmpdir(), 'headgate-loaded-'));
    const [script, loaded] = [join(folder, 'tell.cjs'), join(folder, 'loaded.json')];
    try {
      writeFileSync(script, TELL_LOADED);
      const env = { HEADGATE_SERVER: gateway.base, HEADGATE_TOKEN: ADMIN_TOKEN, LOADED: loaded };
      const out = execFileSync(process.execPath, ['--require', script, MAIN, 'apps', 'list'], { env });
      expect(out.toString()).toContain('shop');
      const modules = JSON.parse(readFileSync(loaded, 'utf8')) as readonly string[];
      expect(modules).toContain('NativeModule http');
      expect(modules.filter((name) => /NativeModule (?:crypto|https|tls)$/.test(name))).toEqual([]);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});
