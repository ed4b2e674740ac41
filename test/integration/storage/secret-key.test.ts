/**
 * Nothing secret is stored in the clear, also what must be read back: the shared secret of a JWT policy and the URL of
 * a webhook, through the program. What the folder of the database holds, which key opens it, and what the start says
 * when there is none that does.
 */
import { setTimeout as pause } from 'node:timers/promises';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ADMIN_TOKEN, runToEnd, startGateway, type TestGateway } from '../../support/gateway.ts';
import { forgedToken } from '../../support/data/jwts.ts';
import { freePort } from '../../support/backends/origin-process.ts';
import { startOrigin, type Origin } from '../../support/backends/origin.ts';
import { bearer, createPolicies } from '../../support/policies.ts';
import { request } from '../../support/traffic.ts';

const SECRET = 'stored-secret-0123456789-0123456789-0123456789';
const TOKEN = forgedToken({ alg: 'HS256' }, { sub: 'ann' }, SECRET);
const STRANGER = forgedToken({ alg: 'HS256' }, { sub: 'ann' }, SECRET.replace('stored', 'forged'));
const KEY = '0123456789abcdef'.repeat(4);
const OTHER_KEY = 'fedcba9876543210'.repeat(4);
const PASSWORD = 'T0-path-is-the-password';
const HOOK = `http://127.0.0.1:1/services/${PASSWORD}?thread=7`;

let origin: Origin;
let folder: string;
beforeAll(async () => {
  origin = await startOrigin();
});
afterAll(() => origin.close());
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'headgate-secret-key-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

async function withGateway<T>(
  env: Record<string, string>,
  work: (gateway: TestGateway) => Promise<T>,
): Promise<T> {
  const gateway = await startGateway({ folder, env });
  try {
    return await work(gateway);
  } finally {
    expect(await gateway.stop()).toBe(0);
  }
}

async function createJwtRoute(gateway: TestGateway, app = 'shop'): Promise<void> {
  const jwt = { auth_type: 'jwt', jwt: { secret: SECRET } };
  await createPolicies(gateway, app, origin.port, [{ path: '/orders', policy: { auth: jwt } }]);
  await gateway.must('PATCH', `/apps/${app}`, { default_policy: { auth: jwt } });
  await gateway.must('PATCH', `/apps/${app}/versions/v1/revisions/r1`, { default_policy: { auth: jwt } });
}

async function hookOf(gateway: TestGateway) {
  const [webhook] = await gateway.must('GET', '/webhooks');
  return webhook;
}

async function expectTokens(gateway: TestGateway, app = 'shop'): Promise<void> {
  for (const target of [`/${app}/v1/orders`, `/${app}/v1/elsewhere`]) {
    expect((await request(gateway, target, { headers: bearer(TOKEN) })).status, target).toBe(200);
    expect((await request(gateway, target, { headers: bearer(STRANGER) })).status, target).toBe(401);
  }
}

/** The files of the folder that hold the text, in any usual spelling. */
function filesWith(text: string): string[] {
  const spellings = [text, ...(['base64url', 'hex'] as const).map((as) => Buffer.from(text).toString(as))];
  return filesOf().flatMap(([name, bytes]) =>
    spellings.some((spelling) => bytes.includes(spelling)) ? [name] : [],
  );
}

/** With what they hold; listed again where one was renamed meanwhile, as a new snapshot file is. */
function filesOf(triesLeft = 20): (readonly [name: string, bytes: Buffer])[] {
  try {
    return readdirSync(folder).map((name) => [name, readFileSync(join(folder, name))] as const);
  } catch (error) {
    if (triesLeft === 0) throw error;
    return filesOf(triesLeft - 1);
  }
}

/** The one plain line of a start, or of the command `migrate`, that must fail. */
async function failure(env: Record<string, string>, args: readonly string[] = []): Promise<string> {
  const database = { GATEWAY_DATABASE_URL: `sqlite://${join(folder, 'headgate.db')}` };
  const settings = { GATEWAY_PROXY__HOST: '127.0.0.1', GATEWAY_WORKERS: '1', ...database, ...env };
  const { code, output } = await runToEnd(settings, args);
  expect(code, output).toBe(1);
  expect(output.trimEnd().split('\n'), 'one plain line, no stack').toHaveLength(1);
  for (const key of [KEY, OTHER_KEY, SECRET]) expect(output).not.toContain(key);
  return output.trimEnd();
}

describe('the secret of a JWT policy', { timeout: 120_000 }, () => {
  it('is in no file while the gateway runs and after it, and works on after restarts and kill -9', async () => {
    await withGateway({}, async (gateway) => {
      await createJwtRoute(gateway);
      await expectTokens(gateway);
      expect(filesWith('/shop'), 'the search finds what is there').not.toEqual([]);
      expect(filesWith(SECRET)).toEqual([]);
      expect(statSync(join(folder, 'secret-key')).mode & 0o777).toBe(0o600);
    });
    const key = readFileSync(join(folder, 'secret-key'), 'utf8');
    expect(filesWith(SECRET)).toEqual([]);
    expect(filesWith('"secret":"enc:v1:')).toEqual(['headgate.db', 'headgate.db.snapshot']);
    const again = await startGateway({ folder });
    await expectTokens(again);
    await again.must('PATCH', '/apps/shop', { name: 'renamed' });
    await expectTokens(again);
    await createJwtRoute(again, 'second');
    await expectTokens(again, 'second');
    await again.kill();
    expect(readFileSync(join(folder, 'secret-key'), 'utf8'), 'the key stays').toBe(key);
    expect(filesWith(SECRET)).toEqual([]);
    await withGateway({}, (gateway) => expectTokens(gateway, 'second'));
  });

  it('opens with GATEWAY_SECRET_KEY and nothing else', async () => {
    await withGateway({ GATEWAY_SECRET_KEY: KEY }, (gateway) => createJwtRoute(gateway));
    expect(readdirSync(folder), 'no key beside the database').toEqual([
      'headgate.db',
      'headgate.db.snapshot',
    ]);
    await withGateway({ GATEWAY_SECRET_KEY: Buffer.from(KEY, 'hex').toString('base64url') }, (gateway) =>
      expectTokens(gateway),
    );

    for (const args of [[], ['migrate']])
      expect(await failure({ GATEWAY_SECRET_KEY: OTHER_KEY }, args)).toBe(
        `headgate: Cannot open the database "${join(folder, 'headgate.db')}": its secrets were not encrypted with the key of GATEWAY_SECRET_KEY; expected GATEWAY_SECRET_KEY, or while that is unset the file "${join(folder, 'secret-key')}", to contain the key with which they were encrypted`,
      );
    expect(await failure({})).toMatch(
      /it contains encrypted secrets, but there is no key for them; expected GATEWAY_SECRET_KEY, or .*secret-key"/,
    );
    expect(readdirSync(folder), 'nothing was made or lost').toEqual(['headgate.db', 'headgate.db.snapshot']);
    writeFileSync(join(folder, 'secret-key'), KEY);
    await withGateway({}, (gateway) => expectTokens(gateway));
  });
});

describe('a change of the key', { timeout: 240_000 }, () => {
  const keys = (...all: string[]) => ({ GATEWAY_SECRET_KEY: all.join(', ') });
  const linesOf = async (gateway: TestGateway, ...args: string[]): Promise<string> => {
    const { code, output } = await runToEnd({ HEADGATE_SERVER: gateway.base, HEADGATE_TOKEN: ADMIN_TOKEN }, [
      'secrets',
      ...args,
    ]);
    expect(code, output).toBe(0);
    return output;
  };
  const problemsOf = async (gateway: TestGateway): Promise<string[]> =>
    (await gateway.must('GET', '/problems')).map(({ code }: { readonly code: string }) => code);

  /** More than are encrypted again in one transaction (PAGE_ROWS of stored-secrets.ts). */
  const MANY = 230;
  /** Of a gateway with the old key, in a file, that has secrets, and a backup that was made then. */
  const old = mkdtempSync(join(tmpdir(), 'headgate-old-key-'));
  const backup = join(old, 'before.backup');
  const keyFile = join(old, 'secret-key');
  let oldKey: string;
  let problemsBefore: string[];
  let backedUp: Awaited<ReturnType<typeof runToEnd>>;
  beforeAll(async () => {
    const gateway = await startGateway({ folder: old });
    oldKey = readFileSync(keyFile, 'utf8').trim();
    await createJwtRoute(gateway);
    await createPolicies(
      gateway,
      'many',
      origin.port,
      Array.from({ length: MANY }, (_, index) => ({
        path: `/p${index}`,
        policy: { auth: { auth_type: 'jwt', jwt: { secret: SECRET } } },
      })),
    );
    const input = { name: 'on-call', url: HOOK, events: ['key.*'] };
    await gateway.must('POST', '/webhooks', input);
    problemsBefore = await problemsOf(gateway);
    const env = { HEADGATE_SERVER: gateway.base, HEADGATE_TOKEN: ADMIN_TOKEN };
    backedUp = await runToEnd(env, ['config', 'backup', backup]);
    await gateway.stop();
  });
  afterAll(() => rmSync(old, { recursive: true, force: true }));

  /** The folder of that gateway, without its key. */
  const copyOld = (): void => cpSync(old, folder, { recursive: true, filter: (path) => path !== keyFile });

  it('opens everything meanwhile, and needs the old key no more after it', async () => {
    expect(problemsBefore).not.toContain('secret_key_changing');
    copyOld();
    const oldId = /enc:v1:([\w-]{8}):/.exec(readFileSync(join(folder, 'headgate.db'), 'latin1'))?.[1] ?? '';
    expect(oldId).not.toBe('');
    await withGateway(keys(KEY, oldKey), async (gateway) => {
      await expectTokens(gateway);
      expect(await problemsOf(gateway)).toContain('secret_key_changing');
      const before = await linesOf(gateway, 'list');
      expect(before).toMatch(new RegExp(`^policies +${oldId} +other +${MANY + 3}$`, 'm'));
      expect(before).toMatch(
        new RegExp(`^key 2 of GATEWAY_SECRET_KEY: ${oldId}, only decrypts; \\d+ values need it$`, 'm'),
      );
      const after = await linesOf(gateway, 'rekey');
      expect(after).toMatch(/^\d+ values encrypted again\.$/m);
      expect(after).toMatch(
        new RegExp(
          `${oldId}, only decrypts; 0 values need it: if it is the old key, it can be removed; if it is the new one, put it first next$`,
          'm',
        ),
      );
      expect(after).not.toMatch(/ other | unreadable /);
      await expectTokens(gateway);
      const audit = await gateway.must('GET', '/audit?action=secrets.rekey');
      expect(audit).toHaveLength(1);
      expect(await hookOf(gateway)).toMatchObject({ url: HOOK });
    });
    const snapshot = readFileSync(join(folder, 'headgate.db.snapshot'), 'latin1');
    expect(snapshot).toContain('enc:v1:');
    expect(snapshot, 'the snapshot file needs the new key too').not.toContain(oldId);
    await withGateway(keys(KEY), async (gateway) => {
      await expectTokens(gateway);
      expect(await hookOf(gateway)).toMatchObject({ url: HOOK });
    });
    const refused = await failure(keys(oldKey));
    expect(refused).toMatch(/its secrets were not encrypted with the key of/);
    expect(refused).not.toContain(oldKey);
  });

  it('may be killed at any moment, and continues', async () => {
    copyOld();
    for (const delayMs of [0, 10, 40]) {
      const gateway = await startGateway({ folder, env: keys(KEY, oldKey) });
      const cut = gateway.api('POST', '/secrets/rekey').catch(() => undefined);
      await pause(delayMs);
      await gateway.kill();
      await cut;
    }
    await withGateway(keys(KEY, oldKey), async (gateway) => {
      await expectTokens(gateway);
      await linesOf(gateway, 'rekey');
    });
    await withGateway(keys(KEY), async (gateway) => {
      await expectTokens(gateway);
      const { values } = await gateway.must('GET', '/secrets');
      expect(values.map(({ place, state }: Record<string, string>) => `${place} ${state}`)).toEqual([
        'policies current',
        'history current',
        'webhooks current',
      ]);
      expect(values[0].count).toBe(MANY + 3);
    });
  });

  it('a backup from before it is restored with both keys', async () => {
    expect(backedUp.code, backedUp.output).toBe(0);
    const restored = join(folder, 'restored');
    mkdirSync(restored);
    const restore = (...all: string[]) =>
      runToEnd({ ...keys(...all), GATEWAY_DATABASE_URL: `sqlite://${join(restored, 'headgate.db')}` }, [
        'config',
        'restore',
        backup,
      ]);
    expect(await restore(KEY)).toMatchObject({
      code: 1,
      output: expect.stringContaining(
        'list the old key behind the new one, and run "headgate secrets rekey"',
      ),
    });
    const { code, output } = await restore(KEY, oldKey);
    expect(code, output).toBe(0);
    folder = restored;
    try {
      await withGateway(keys(KEY, oldKey), (gateway) => expectTokens(gateway));
    } finally {
      folder = dirname(restored);
    }
  });

  it('begins with the file: the new key goes in front of the one that the first start made', async () => {
    copyOld();
    const file = join(folder, 'secret-key');
    writeFileSync(file, `${KEY}\n${oldKey}\n`);
    await withGateway({}, async (gateway) => {
      expect(await linesOf(gateway, 'rekey')).toContain(`key 1 of the file "${file}"`);
    });
    writeFileSync(file, `${KEY}\n`);
    await withGateway({}, (gateway) => expectTokens(gateway));
  });
});

describe('the URL of a webhook', { timeout: 120_000 }, () => {
  const input = { name: 'on-call', url: HOOK, events: ['key.*'] };
  /** Without anything secret. */
  const BARE = { name: 'bare', url: 'https://hooks.example.com' };
  const SEALED_URL = /^http:\/\/127\.0\.0\.1:1\/enc:v1:[\w-]{8}:[\w-]+$/;
  const inDatabase = (work: (db: DatabaseSync) => void): void => {
    const db = new DatabaseSync(join(folder, 'headgate.db'));
    work(db);
    db.close();
  };
  /** As a version that did not encrypt it. */
  const storePlain = (): void =>
    inDatabase((db) => {
      db.prepare('update webhook set url = ? where name = ?').run(HOOK, input.name);
      const change = JSON.stringify({ ...input, app_ids: [] });
      const ofIt = "action = 'webhook.create' and resource_name = ?";
      db.prepare(`update audit_entry set change = ? where ${ofIt}`).run(change, input.name);
    });
  const storedUrl = (): string => {
    let url = '';
    const ofIt = 'select url from webhook where name = ?';
    inDatabase((db) => (url = String(db.prepare(ofIt).get(input.name)?.['url'])));
    return url;
  };
  const audited = async (gateway: TestGateway): Promise<unknown> => {
    const entries = await gateway.must('GET', '/audit?action=webhook.create');
    return entries.find((entry: Record<string, unknown>) => entry['resource_name'] === input.name)?.change;
  };

  it('is in no file, but for its host, and what an older version stores is encrypted with the others', async () => {
    await withGateway({}, async (gateway) => {
      await gateway.must('POST', '/webhooks', input);
      expect(filesWith(PASSWORD)).toEqual([]);
      storePlain();
      expect(await hookOf(gateway)).toMatchObject({ url: HOOK });
      const states = ({ values }: { readonly values: readonly Record<string, unknown>[] }): unknown =>
        values.filter(({ place }) => place === 'webhooks').map(({ state, count }) => [state, count]);
      expect(states(await gateway.must('GET', '/secrets'))).toEqual([
        ['current', 1],
        ['plain', 1],
      ]);
      const done = await gateway.must('POST', '/secrets/rekey');
      expect([done.rekeyed, states(done)]).toEqual([1, [['current', 2]]]);
      expect(storedUrl()).toMatch(SEALED_URL);
      expect(await hookOf(gateway)).toMatchObject({ url: HOOK });
      expect(await audited(gateway)).toMatchObject({ url: 'http://127.0.0.1:1/********' });
    });
    expect(filesWith(PASSWORD)).toEqual([]);
  });

  it('that an older version stored is encrypted by the next start, with its host, and masked in the audit log', async () => {
    await withGateway({}, async (gateway) => {
      await gateway.must('POST', '/webhooks', input);
      await gateway.must('POST', '/webhooks', BARE);
    });
    expect(filesWith(PASSWORD)).toEqual([]);
    expect(storedUrl()).toMatch(SEALED_URL);
    storePlain();
    expect(filesWith(PASSWORD)).toEqual(['headgate.db']);
    await withGateway({}, async (gateway) => {
      expect(await gateway.must('GET', '/webhooks')).toMatchObject([{ url: HOOK }, { url: BARE.url }]);
      expect(await audited(gateway)).toEqual({ ...input, app_ids: [], url: 'http://127.0.0.1:1/********' });
    });
    expect(filesWith(PASSWORD)).toEqual([]);
    // It does not follow its path to another host.
    inDatabase((db) =>
      db.prepare('update webhook set url = replace(url, ?, ?)').run('127.0.0.1:1', '127.0.0.2:1'),
    );
    await withGateway({}, async (gateway) => {
      expect(await hookOf(gateway)).toMatchObject({ url: 'http://127.0.0.2:1/********' });
    });
  });

  it('that an older version stored stays readable for it until it has ended', async () => {
    const env: Record<string, string> = {
      GATEWAY_SERVER__PORT: String(await freePort()),
      GATEWAY_PROXY__PORT: String(await freePort()),
    };
    const old = await startGateway({ folder, env });
    let young: TestGateway | undefined;
    try {
      await old.must('POST', '/webhooks', input);
      storePlain();
      // The traffic port is the last thing that a start needs.
      const failing = {
        ...env,
        GATEWAY_ADMIN_TOKEN: ADMIN_TOKEN,
        GATEWAY_DATABASE_URL: `sqlite://${join(folder, 'headgate.db')}`,
        GATEWAY_PROXY__HOST: '127.0.0.1',
        GATEWAY_PROXY__PORT: String(origin.port),
        GATEWAY_WORKERS: '1',
      };
      const { code, output } = await runToEnd(failing, ['start', '--take-over']);
      expect([code, output]).toEqual([1, expect.stringContaining(`127.0.0.1:${origin.port}`)]);
      expect(storedUrl()).toBe(HOOK);
      await expect.poll(async () => (await old.must('GET', '/webhooks'))[0].url).toBe(HOOK);
      young = await startGateway({ folder, env, args: ['start', '--take-over'] });
      await expect.poll(storedUrl, { timeout: 30_000 }).toContain('/enc:v1:');
      expect(old.process.exitCode, 'it had ended before').toBe(0);
    } finally {
      await young?.stop();
      await old.kill();
    }
  });

  it('needs its key at the start; with a new key it is masked, stays stored, and is there again with the old one', async () => {
    const sealed = (): unknown => {
      let row: unknown;
      const all = "select url, secret, previous_secret from webhook where name <> 'other'";
      inDatabase((db) => (row = db.prepare(all).get()));
      return row;
    };
    await withGateway({ GATEWAY_SECRET_KEY: KEY }, async (gateway) => {
      const { id } = await gateway.must('POST', '/webhooks', input);
      await gateway.must('POST', `/webhooks/${id}/rotate`, { overlap_secs: 3600 });
      await gateway.must('POST', '/webhooks', { ...input, name: 'other' });
    });
    const before = sealed();
    for (const args of [[], ['migrate']])
      expect(await failure({}, args)).toMatch(
        /it contains encrypted secrets, but there is no key for them; .* If that key is lost, set GATEWAY_SECRET_KEY to a new one/,
      );
    expect(readdirSync(folder), 'no key was made').not.toContain('secret-key');
    await withGateway({ GATEWAY_SECRET_KEY: OTHER_KEY }, async (gateway) => {
      await expectUnreadable(
        gateway,
        '5 stored values cannot be decrypted (webhooks): add the key with which they were encrypted to GATEWAY_SECRET_KEY, behind the first one, and run headgate secrets rekey',
      );
      const [kept, other] = await gateway.must('GET', '/webhooks');
      await gateway.must('PATCH', `/webhooks/${kept.id}`, { is_active: false });
      await gateway.must('PATCH', `/webhooks/${kept.id}`, { url: kept.url, name: 'paused' });
      expect(await hookOf(gateway)).toMatchObject({ url: kept.url, name: 'paused', is_active: false });
      await expectSetAgain(gateway, other);
      await gateway.must('DELETE', `/webhooks/${other.id}`);
    });
    expect(sealed()).toEqual(before);
    await withGateway({ GATEWAY_SECRET_KEY: KEY }, async (gateway) => {
      expect(await hookOf(gateway)).toMatchObject({ url: HOOK, name: 'paused', is_active: false });
      const ready = await fetch(`${gateway.base}/readyz`);
      expect(await ready.json()).toMatchObject({ data: { reason: null } });
      expect(gateway.output()).not.toContain('secrets cannot be decrypted');
    });
  });
});

/** Values of webhooks, and it says so in its log, in its readiness and among its problems. */
async function expectUnreadable(gateway: TestGateway, problem: string): Promise<void> {
  await expect.poll(() => gateway.output()).toContain('secrets cannot be decrypted');
  expect(gateway.output()).toContain(problem);
  const ready = await fetch(`${gateway.base}/readyz`);
  expect([ready.status, await ready.json()]).toMatchObject([200, { data: { ready: true, reason: problem } }]);
  const problems = await gateway.must('GET', '/problems');
  expect(problems).toContainEqual(expect.objectContaining({ code: 'secrets_unreadable', detail: problem }));
}

/** A webhook whose URL cannot be decrypted is not used, and has to be set again. */
async function expectSetAgain(gateway: TestGateway, { id, url }: { id: string; url: string }): Promise<void> {
  expect(url).toBe('http://127.0.0.1:1/********');
  const { error } = await gateway.must('POST', `/webhooks/${id}/test`);
  expect(error).toContain('its URL cannot be read');
  const masked = { errors: [expect.objectContaining({ pointer: '/url' })] };
  expect((await gateway.api('POST', `/webhooks/${id}/rotate`)).body).toMatchObject(masked);
  const other = url.replace('127.0.0.1', '127.0.0.2');
  expect((await gateway.api('PATCH', `/webhooks/${id}`, { url: other })).body).toMatchObject(masked);
  await gateway.must('PATCH', `/webhooks/${id}`, { url: HOOK });
  await gateway.must('POST', `/webhooks/${id}/rotate`);
  expect(await gateway.must('GET', `/webhooks/${id}`)).toMatchObject({ url: HOOK });
}

// What else is no key: src/lib/secret-key-text.test.ts.
it.each(['correct horse battery staple', `${KEY},${KEY}`])(
  'GATEWAY_SECRET_KEY=%s stops the start, is named and not shown',
  async (key) => {
    const message = await failure({ GATEWAY_SECRET_KEY: key });
    expect(message).toMatch(
      /^headgate: Cannot use GATEWAY_SECRET_KEY=\(hidden\): expected 32 bytes as base64url/,
    );
    expect(message).not.toContain(key);
    expect(readdirSync(folder)).toEqual([]);
  },
);
