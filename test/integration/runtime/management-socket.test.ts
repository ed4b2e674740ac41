/** The management API on a Unix socket beside its port: who may use it, what commands see, and whose the file is. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, lstatSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import * as http from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { headgate } from '../../../src/cli/cli.fixture.ts';
import { freePort } from '../../support/backends/origin-process.ts';
import { ADMIN_TOKEN, runToEnd, startGateway, type TestGateway } from '../../support/gateway.ts';
import { until } from '../../support/measure/until.ts';

let folder = '';
let path = '';
let env: Record<string, string> = {};
let gateway: TestGateway;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'headgate-management-'));
  path = join(folder, 'management.sock');
  env = {
    GATEWAY_SERVER__UNIX_SOCKET: path,
    GATEWAY_SERVER__UNIX_SOCKET_MODE: '640',
    GATEWAY_SERVER__PORT: String(await freePort()),
    GATEWAY_PROXY__PORT: String(await freePort()),
    GATEWAY_WORKERS: '1',
    // Proxies of the socket for traffic.
    GATEWAY_TRUSTED_PROXY_IPS: 'unix',
  };
  gateway = await startGateway({ env, folder });
}, 60_000);
afterAll(async () => {
  await gateway.stop();
  rmSync(folder, { recursive: true, force: true });
});

const run = (args: readonly string[], server = `unix:${path}`, token = ADMIN_TOKEN, stdin = '') => {
  const variables = { HEADGATE_SERVER: server, HEADGATE_TOKEN: token, XDG_CONFIG_HOME: folder };
  return headgate({ url: '' }, args, variables, stdin);
};

function statusOf(target: string, headers: http.OutgoingHttpHeaders = {}): Promise<number> {
  return new Promise((done, fail) => {
    const request = http.get({ socketPath: path, path: target, agent: false, headers }, (response) => {
      response.resume();
      done(response.statusCode ?? 0);
    });
    request.on('error', fail);
  });
}

/** Leaves a socket there, as a process does that is killed while it listens. */
async function leaveSocket(): Promise<void> {
  const code = `require('node:net').createServer().listen(${JSON.stringify(path)}, () => console.log('listens'))`;
  const child = spawn(process.execPath, ['-e', code], { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = once(child, 'exit');
  await once(child.stdout, 'data');
  child.kill('SIGKILL');
  await ended;
  expect(existsSync(path)).toBe(true);
}

describe('the management API on a Unix socket', { timeout: 60_000 }, () => {
  it('answers as the port does, and wants a token', async () => {
    expect((lstatSync(path).mode & 0o777).toString(8)).toBe('640');
    expect(await Promise.all(['/healthz', '/api/v1/apps'].map((target) => statusOf(target)))).toEqual([
      200, 401,
    ]);
  });

  it('serves commands, also by a context, and the audit log says that they came by it', async () => {
    expect(await run(['apps', 'create', 'by-socket'])).toMatchObject({ code: 0, err: '' });
    const add = ['context', 'add', 'here', '--server', `unix:${path}`, '--token-file', '-'];
    expect(await run(add, '', '', `${ADMIN_TOKEN}\n`)).toMatchObject({ code: 0 });
    expect((await run(['apps', 'list'], '', '')).out).toContain('by-socket');
    const [entry] = (await gateway.must('GET', '/audit?order=newest_first&action=app.create')) as {
      readonly address: string;
    }[];
    expect(entry?.address).toBe('unix');
    for (const [server, text] of [
      [`unix:${path}.none`, 'there is no such socket'],
      ['unix:', 'is not a path of a Unix socket'],
      [`unix:/${'x'.repeat(107)}`, 'of at most 107 bytes'],
    ] as const)
      expect(await run(['apps', 'list'], server)).toMatchObject({
        code: 1,
        err: expect.stringContaining(text),
      });
  });

  it('counts wrong tokens as those of one address, whatever the requests say about it', async () => {
    const guess = (index: number): Promise<number> =>
      statusOf('/api/v1/apps', { authorization: 'Bearer wrong', 'x-forwarded-for': `192.0.2.${index}` });
    const statuses: number[] = [];
    for (let index = 0; index < 70; index++) statuses.push(await guess(index));
    expect([statuses[0], statuses.at(-1)]).toEqual([401, 429]);
  });

  it('is that of one gateway: another is refused, one that takes over gets it', async () => {
    const other = { ...env, GATEWAY_SERVER__PORT: '0', GATEWAY_PROXY__PORT: '0' };
    const refused = await runToEnd({ ...other, GATEWAY_DATABASE_URL: `sqlite://${folder}/other.db` });
    expect(refused).toMatchObject({
      code: 1,
      output: expect.stringContaining(
        `Cannot listen for management on ${path}: another process listens there`,
      ),
    });
    const exited = once(gateway.process, 'exit');
    gateway = await startGateway({ env, folder, args: ['start', '--take-over'] });
    expect((await exited)[0]).toBe(0);
    expect((await run(['apps', 'list'])).out).toContain('by-socket');
  });

  it('is opened again when the process that took over was killed before it was done', async () => {
    const isLogged = (text: string): boolean => gateway.logs().some(({ msg }) => String(msg).includes(text));
    gateway.process.kill('SIGUSR2');
    await until(() => isLogged('management port closed') && !existsSync(path));
    await leaveSocket();
    gateway.process.kill('SIGUSR2');
    await until(() => isLogged('the management port is open again') || isLogged('cannot reopen'));
    const [byPort] = (await gateway.must('GET', '/apps')) as { readonly slug: string }[];
    expect(byPort?.slug).toBe('by-socket');
    expect(await statusOf('/healthz')).toBe(200);
    expect((lstatSync(path).mode & 0o777).toString(8)).toBe('640');
  });

  it('is not made where a backend could be that socket by a link', async () => {
    const alias = `${folder}-alias`;
    symlinkSync(folder, alias);
    const started = await runToEnd({
      GATEWAY_DATABASE_URL: `sqlite://${folder}/linked.db`,
      GATEWAY_ADMIN_TOKEN: ADMIN_TOKEN,
      GATEWAY_SERVER__UNIX_SOCKET: join(alias, 'linked.sock'),
      GATEWAY_PROXY__UNIX_SOCKETS_FROM: folder,
    });
    rmSync(alias);
    expect(started).toMatchObject({
      code: 1,
      output: expect.stringContaining('a revision could name that socket as its backend'),
    });
    expect(existsSync(join(folder, 'linked.sock'))).toBe(false);
  });

  it('is replaced where a killed gateway has left it, and removed at the end', async () => {
    await gateway.kill();
    expect(existsSync(path)).toBe(true);
    gateway = await startGateway({ env, folder });
    expect(await statusOf('/healthz')).toBe(200);
    expect(await gateway.stop()).toBe(0);
    expect(existsSync(path)).toBe(false);
  });
});
