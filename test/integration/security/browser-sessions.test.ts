/**
 * Sessions of browsers at the started program: a kill, a database that is away, files, TLS, and what is kept of them.
 */
import { createHash } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import * as https from 'node:https';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterAll, describe, expect, it, onTestFinished } from 'vitest';
import { configYaml, startFileRig, type FileRig } from '../../support/config-file.ts';
import { ADMIN_TOKEN, startGateway, type Answer, type TestGateway } from '../../support/gateway.ts';
import { startNode, startNodesRig } from '../../support/nodes.ts';

const TIMEOUT = { timeout: 90_000 };
const TLS = resolve(import.meta.dirname, '../../support/tls');

interface Browser {
  readonly value: string;
  readonly csrf: string;
  readonly call: (method: string, path: string, body?: object) => Promise<Reply>;
}

interface Reply {
  readonly status: number;
  readonly stale: string | null;
  readonly text: string;
}

async function signIn(base: string): Promise<Browser> {
  const response = await fetch(`${base}/api/v1/session`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ token: ADMIN_TOKEN }),
  });
  expect(response.status).toBe(201);
  const value = /^headgate_session=([\w-]{43});/.exec(response.headers.get('set-cookie') ?? '')?.[1] ?? '';
  const { data } = (await response.json()) as Answer['body'];
  return { value, csrf: data.csrf_token, call: callerOf(base, value, data.csrf_token) };
}

function callerOf(base: string, value: string, csrf: string): Browser['call'] {
  return async (method, path, body) => {
    const response = await fetch(`${base}/api/v1${path}`, {
      method,
      headers: {
        cookie: `headgate_session=${value}`,
        'x-csrf-token': csrf,
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    return {
      status: response.status,
      stale: response.headers.get('headgate-stale'),
      text: await response.text(),
    };
  };
}

const appOf = (slug: string): object => ({ name: slug, slug, gateway_path: `/${slug}` });

describe('a session', TIMEOUT, () => {
  const running: TestGateway[] = [];
  const rigs: Pick<FileRig, 'end'>[] = [];
  afterAll(async () => {
    for (const gateway of running) await gateway.kill();
    for (const rig of rigs) await rig.end();
  });

  it('survives a kill and an outage of the database, and its value is stored nowhere', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'headgate-sessions-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const path = join(folder, 'headgate.db');
    const env = { GATEWAY_DATABASE_URL: `sqlite://${path}`, GATEWAY_LOG__LEVEL: 'trace' };
    const first = await startGateway({ env, folder });
    const { value, csrf, call } = await signIn(first.base);
    expect((await call('POST', '/apps', appOf('one'))).status).toBe(201);
    await first.kill();

    const second = await startGateway({ env, folder });
    running.push(second);
    const again = callerOf(second.base, value, csrf);
    expect((await again('POST', '/apps', appOf('two'))).status).toBe(201);
    renameSync(path, `${path}.away`);
    expect(await again('GET', '/apps')).toMatchObject({ status: 200, stale: 'true' });
    expect((await again('POST', '/apps', appOf('three'))).status).toBe(503);
    const unknown = await callerOf(second.base, 'A'.repeat(43), csrf)('GET', '/apps');
    expect(unknown.status).toBe(503);
    renameSync(`${path}.away`, path);
    expect(await again('GET', '/apps')).toMatchObject({ status: 200, stale: null });

    const headers = { authorization: `Bearer ${ADMIN_TOKEN}` };
    const backup = await fetch(`${second.base}/api/v1/config/backup`, { headers });
    expect(backup.status).toBe(200);
    const packed = Buffer.from(await backup.arrayBuffer());
    const content = (packed[0] === 0x1f ? gunzipSync(packed) : packed).toString();
    expect(content).toContain('"two"');
    expect(content).not.toContain(createHash('sha256').update(value).digest('hex'));
    expect(content).not.toContain('admin_session');
    const metrics = await (await fetch(`${second.base}/metrics`, { headers })).text();
    const audit = (await again('GET', '/audit?limit=500')).text;
    const stored = readdirSync(folder, { withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ name }) => readFileSync(join(folder, name), 'latin1'))
      .join('');
    expect(audit).toContain('session.sign_in');
    const places = { first: first.output(), second: second.output(), content, metrics, audit, stored };
    for (const secret of [value, csrf]) {
      const found = Object.entries(places).filter(([, text]) => text.includes(secret));
      expect(found.map(([place]) => place)).toEqual([]);
    }
  });

  it('that is revoked at one gateway is refused at once by another on the same PostgreSQL database', async () => {
    const rig = await startNodesRig();
    rigs.push({ end: () => rig.close() });
    const url = await rig.server.createDatabase();
    const one = await startNode({ url, folder: rig.folder, name: 'one' });
    running.push(one);
    const two = await startNode({ url, folder: rig.folder, name: 'two' });
    running.push(two);
    const { value, csrf, call } = await signIn(one.base);
    const elsewhere = callerOf(two.base, value, csrf);
    expect((await elsewhere('GET', '/apps')).status).toBe(200);
    const { data }: Answer['body'] = JSON.parse((await call('GET', '/session')).text);
    expect((await one.api('DELETE', `/sessions/${data.id}`)).status).toBe(204);
    expect((await elsewhere('GET', '/apps')).status).toBe(401);
  });

  it('is in memory where the configuration comes from a file', async () => {
    const rig = await startFileRig();
    rigs.push(rig);
    rig.write('one.yaml', configYaml({ port: rig.origin.port }));
    const gateway = await rig.start('one.yaml');
    const browser = await signIn(gateway.base);
    expect((await browser.call('GET', '/apps')).status).toBe(200);
    const refused = await browser.call('POST', '/apps', appOf('one'));
    expect([refused.status, refused.text]).toEqual([409, expect.stringContaining('configuration_from_file')]);
    expect((await browser.call('GET', '/sessions')).text).toContain('"current":true');
    expect((await browser.call('DELETE', '/session')).status).toBe(204);
    expect((await browser.call('GET', '/session')).status).toBe(401);
  });

  it('has a cookie of this host alone under TLS', async () => {
    const gateway = await startGateway({
      env: {
        GATEWAY_SERVER__TLS__CERT_FILE: join(TLS, 'backend.pem'),
        GATEWAY_SERVER__TLS__KEY_FILE: join(TLS, 'backend-key.pem'),
      },
    });
    running.push(gateway);
    const cookies = await new Promise<string[]>((done, fail) => {
      const request = https.request(
        {
          host: '127.0.0.1',
          port: gateway.managementPort,
          path: '/api/v1/session',
          method: 'POST',
          rejectUnauthorized: false,
          agent: false,
          headers: { 'content-type': 'application/json' },
        },
        (response) => {
          response.resume();
          done(response.headers['set-cookie'] ?? []);
        },
      );
      request.on('error', fail).end(JSON.stringify({ token: ADMIN_TOKEN }));
    });
    expect(cookies).toEqual([
      expect.stringMatching(
        /^__Host-headgate_session=[\w-]{43}; HttpOnly; SameSite=Strict; Path=\/; Secure$/,
      ),
    ]);
  });
});
