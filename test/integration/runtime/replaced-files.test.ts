/**
 * An upgrade of a package replaces the files of a gateway that runs. What starts from them before it is restarted would
 * not understand what it shares with the rest of it.
 */
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { startDnsServer } from '../../support/backends/dns-server.ts';
import { freePorts } from '../../support/backends/origin-process.ts';
import { startOrigin } from '../../support/backends/origin.ts';
import { handshake } from '../../support/clients/handshake.ts';
import { closeAfterEach } from '../../support/closers.ts';
import { MAIN, startGateway } from '../../support/gateway.ts';
import { untilSettled } from '../../support/measure/settled-threads.ts';
import { until } from '../../support/measure/until.ts';
import { crashWorkers } from '../../support/programs/crash-worker.ts';
import { INSPECTABLE } from '../../support/programs/inspector.ts';
import { DIRECTORY_CA_FILE, startPebble } from '../../support/programs/pebble.ts';
import { serviceOver } from '../../support/target-service.ts';
import { createApp, createService, request } from '../../support/traffic.ts';
import { jwkOf, KEYS, signed } from '../../support/data/jwts.ts';

const PATIENCE_MS = 30_000;
const NOT_STARTED = 'a replacement worker could not be started';

const closers = closeAfterEach();

/** As an installed package has it. */
function installed(): { readonly main: string; readonly manifest: string; readonly packages: string } {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-installed-'));
  closers.push(() => rmSync(folder, { recursive: true, force: true }));
  const [from, to] = [dirname(MAIN), join(folder, basename(dirname(MAIN)))];
  mkdirSync(to);
  cpSync(from, to, { recursive: true });
  const manifest = join(folder, 'package.json');
  cpSync(join(from, '../package.json'), manifest);
  const [all, packages] = [
    resolve(import.meta.dirname, '../../../node_modules'),
    join(folder, 'node_modules'),
  ];
  mkdirSync(packages);
  for (const name of readdirSync(all)) symlinkSync(join(all, name), join(packages, name));
  return { main: join(to, basename(MAIN)), manifest, packages };
}

it(
  'no worker starts from the files of another version, and the others go on',
  { timeout: 90_000 },
  async () => {
    const { main, manifest } = installed();
    const origin = await startOrigin();
    closers.push(() => origin.close());
    const gateway = await startGateway({
      command: [process.execPath, main],
      env: { GATEWAY_WORKERS: '2', ...INSPECTABLE },
    });
    closers.push(() => gateway.kill());
    await createService(gateway, 'a', origin.port);
    const before = readFileSync(manifest, 'utf8');
    writeFileSync(manifest, before.replace(/"version": "[^"]+"/, '"version": "99.0.0"'));

    await crashWorkers(gateway, (title) => title.includes('proxy-1'));
    const line = await until(() => gateway.logs().find(({ msg }) => msg === NOT_STARTED), PATIENCE_MS);
    expect(line).toMatchObject({
      err: {
        message: expect.stringMatching(/files have version 99\.0\.0: restart it to finish the upgrade$/),
      },
    });
    for (let count = 0; count < 10; count++) expect((await request(gateway, '/a/v1/x')).status).toBe(200);

    const problem = async (): Promise<unknown> => {
      const problems = await gateway.must('GET', '/problems');
      return (problems as unknown as { code: string; detail: string }[]).find(
        ({ code }) => code === 'files_replaced',
      );
    };
    expect(await problem()).toMatchObject({
      detail: expect.stringMatching(/^This gateway has version .*, but its files have version 99\.0\.0\./),
      since: expect.stringMatching(/Z$/),
    });

    // Back to the version that runs.
    writeFileSync(manifest, before);
    expect(await problem()).toBe(undefined);
    const states = (): Promise<unknown> => gateway.must('GET', '/state');
    await expect
      .poll(states, { timeout: PATIENCE_MS })
      .toMatchObject([{ state: { workers: { listening: 2 } } }]);
  },
);

it(
  'a spare worker that serves after its files have gone verifies tokens, and has no need to load anything for it',
  { timeout: 90_000 },
  async () => {
    const { main, packages } = installed();
    const keys = JSON.stringify({ keys: [await jwkOf('ec')] });
    const origin = await startOrigin((incoming, response) => {
      response.end(incoming.url === '/jwks' ? keys : 'served');
    });
    closers.push(() => origin.close());
    const gateway = await startGateway({
      command: [process.execPath, main],
      env: { GATEWAY_WORKERS: '1', ...INSPECTABLE },
    });
    closers.push(() => gateway.kill());
    const jwt = { jwks_uri: `http://127.0.0.1:${origin.port}/jwks` };
    await createService(gateway, 'a', origin.port, {
      app: { default_policy: { auth: { auth_type: 'jwt', jwt } } },
    });
    const token = await signed(
      { sub: 'ann' },
      { alg: 'ES256', key: KEYS.ec.privateKey, header: { kid: 'ec' } },
    );
    const status = async (): Promise<number> =>
      (await request(gateway, '/a/v1/x', { headers: { Authorization: `Bearer ${token}` } })).status;
    expect(await status()).toBe(200);

    // With the spare.
    await untilSettled(gateway);
    // In a bundle and beside the sources.
    const program = dirname(main);
    for (const name of readdirSync(program)) if (name.startsWith('undici-')) rmSync(join(program, name));
    rmSync(join(packages, 'undici'));
    await crashWorkers(gateway, (title) => title.includes('proxy-1'));
    await expect.poll(status, { timeout: PATIENCE_MS }).toBe(200);
  },
);

it(
  'targets are read from a file that is named after the files of the program have gone',
  { timeout: 90_000 },
  async () => {
    const { main, packages } = installed();
    const origin = await startOrigin();
    closers.push(() => origin.close());
    const folder = mkdtempSync(join(tmpdir(), 'headgate-listed-'));
    closers.push(() => rmSync(folder, { recursive: true, force: true }));
    writeFileSync(join(folder, 'a.yaml'), `- { host: 127.0.0.1, port: ${origin.port} }\n`);
    const gateway = await startGateway({
      command: [process.execPath, main],
      env: { GATEWAY_WORKERS: '1', GATEWAY_DISCOVERY__FOLDER: folder },
    });
    closers.push(() => gateway.kill());
    // It loads what it lacks when the start is over.
    await pause(8_000);
    const program = dirname(main);
    for (const name of readdirSync(program))
      if (/^(?:listed-targets|yaml-reader)-/.test(name)) rmSync(join(program, name));
    rmSync(join(packages, 'yaml'));
    const discovery = { type: 'file', path: 'a.yaml' };
    await serviceOver(gateway, 'a', [], { targets: undefined, discovery });
    const status = async (): Promise<number> => (await request(gateway, '/a/v1/x')).status;
    await expect.poll(status, { timeout: PATIENCE_MS }).toBe(200);
  },
);

it.each(['are all of another version', 'have gone, but the manifest'])(
  'replays, searches of the history and imports say what to do when the files %s',
  { timeout: 90_000 },
  async (what) => {
    const { main, manifest, packages } = installed();
    const origin = await startOrigin();
    closers.push(() => origin.close());
    const gateway = await startGateway({ command: [process.execPath, main], env: { GATEWAY_WORKERS: '1' } });
    closers.push(() => gateway.kill());
    await createService(gateway, 'a', origin.port);
    await gateway.must('PATCH', '/apps/a', { description: 'changed' });
    expect((await request(gateway, '/a/v1/x')).status).toBe(200);

    const before = readFileSync(manifest, 'utf8');
    writeFileSync(manifest, before.replace(/"version": "[^"]+"/, '"version": "99.0.0"'));
    const program = dirname(main);
    if (what.startsWith('have gone')) {
      for (const name of readdirSync(program)) rmSync(join(program, name), { recursive: true });
      rmSync(packages, { recursive: true });
    }

    const why = expect.stringMatching(
      /this gateway has version \S+, but its files have version 99\.0\.0: restart it to finish the upgrade/,
    );
    const config = { apps: { a: { gateway_path: '/b' } } };
    const plan = await gateway.must('POST', '/config/plan', { config, max_deletes: 100 });
    expect(plan).toMatchObject({ traffic: { problem: why } });
    const bisect = await gateway.api('POST', '/config/bisect', {
      request: { method: 'GET', url: '/a/v1/x' },
    });
    expect(bisect.status).toBeGreaterThanOrEqual(400);
    expect(bisect.body).toMatchObject({ detail: why });
    const document = { openapi: '3.1.0', info: { title: 'x', version: '1' }, paths: {} };
    const imported = await gateway.api('POST', '/import/openapi', { app: 'b', document });
    expect(JSON.stringify(imported.body)).toEqual(why);
    // The upgrade is no defect, and is reported as a problem.
    expect(gateway.logs().filter(({ level }) => level === 'error')).toEqual([]);
  },
);

it.skipIf(MAIN.endsWith('.ts'))(
  'what is first needed after an upgrade is loaded from the files of before: for a key set, and for ACME',
  { timeout: 120_000 },
  async () => {
    const { main, manifest, packages } = installed();
    const [keys, token] = [
      JSON.stringify({ keys: [await jwkOf('ec')] }),
      await signed({ sub: 'ann' }, { alg: 'ES256', key: KEYS.ec.privateKey, header: { kid: 'ec' } }),
    ];
    const origin = await startOrigin((incoming, response) => {
      response.end(incoming.url === '/jwks' ? keys : 'served');
    });
    closers.push(() => origin.close());
    const [httpPort = 0, tlsPort = 0] = await freePorts(2);
    const dns = await startDnsServer();
    closers.push(() => dns.close());
    dns.setA('late.acme.test', ['127.0.0.1']);
    const pebble = await startPebble({ dnsServer: dns.address, httpPort, tlsPort });
    closers.push(() => pebble.close());
    const gateway = await startGateway({
      command: [process.execPath, main],
      env: {
        GATEWAY_WORKERS: '2',
        GATEWAY_ACME__DIRECTORY: pebble.directory,
        GATEWAY_ACME__ACCEPT_TERMS: 'true',
        GATEWAY_ACME__CA_FILE: DIRECTORY_CA_FILE,
        GATEWAY_ACME__SELF_CHECK: 'false',
        GATEWAY_PROXY__PORT: String(httpPort),
        GATEWAY_PROXY__TLS__PORT: String(tlsPort),
      },
    });
    closers.push(() => gateway.kill());

    const program = dirname(main);
    for (const name of readdirSync(program)) rmSync(join(program, name));
    rmSync(packages, { recursive: true });
    writeFileSync(
      manifest,
      readFileSync(manifest, 'utf8').replace(/"version": "[^"]+"/, '"version": "99.0.0"'),
    );

    const jwt = { jwks_uri: `http://127.0.0.1:${origin.port}/jwks` };
    await createService(gateway, 'a', origin.port, {
      app: { default_policy: { auth: { auth_type: 'jwt', jwt } } },
    });
    const headers = { Authorization: `Bearer ${token}` };
    // Both workers.
    for (let count = 0; count < 20; count++)
      expect((await request(gateway, '/a/v1/x', { headers })).status).toBe(200);
    await createApp(gateway, 'late', { hosts: ['late.acme.test'] });
    const served = async (): Promise<unknown> => handshake(tlsPort, 'late.acme.test');
    await expect.poll(served, { timeout: PATIENCE_MS }).toMatchObject({ names: 'DNS:late.acme.test' });
  },
);
