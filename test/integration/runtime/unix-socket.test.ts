/**
 * Traffic over a Unix socket: who its clients are, whose the file is, and that none of them is refused when gateways or
 * workers change.
 */
import { once } from 'node:events';
import { existsSync, lstatSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import * as http from 'node:http';
import * as http2 from 'node:http2';
import * as net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ADMIN_TOKEN, runToEnd, startGateway, WITH_SPARE, type TestGateway } from '../../support/gateway.ts';
import { freePort } from '../../support/backends/origin-process.ts';
import { crashWorkers } from '../../support/programs/crash-worker.ts';
import { requireProgram } from '../../support/programs/programs.ts';
import { INSPECTABLE } from '../../support/programs/inspector.ts';
import { startOrigin, type Origin } from '../../support/backends/origin.ts';
import { createService } from '../../support/traffic.ts';
import { until } from '../../support/measure/until.ts';

let origin: Origin;
let folder = '';
let path = '';
const running: TestGateway[] = [];

beforeAll(async () => {
  origin = await startOrigin();
});
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'headgate-socket-'));
  path = join(folder, 'traffic.sock');
});
afterEach(async () => {
  for (const gateway of running.splice(0)) await gateway.kill();
  rmSync(folder, { recursive: true, force: true });
});
afterAll(() => origin.close());

async function start(env: Record<string, string> = {}, args: readonly string[] = []): Promise<TestGateway> {
  const gateway = await startGateway({ env: { GATEWAY_PROXY__UNIX_SOCKET: path, ...env }, folder, args });
  running.push(gateway);
  return gateway;
}

interface Answer {
  readonly status: number;
  readonly body: string;
}

const isWorker = (title: string): boolean => /proxy-[0-9]+$/.test(title);

/** Over a connection of its own. */
function ask(headers: Record<string, string> = {}, body?: string): Promise<Answer> {
  return new Promise((done, fail) => {
    const method = body === undefined ? 'GET' : 'POST';
    const request = http.request(
      { socketPath: path, path: '/a/v1/x', method, headers, agent: false },
      (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
        response.on('end', () => done({ status: response.statusCode ?? 0, body: text }));
        response.on('error', fail);
      },
    );
    request.on('error', fail);
    request.end(body);
  });
}

const seen = ({ body }: Answer) => JSON.parse(body) as { headers: Record<string, string>; body: string };

describe('clients of a Unix socket', () => {
  it('are served, without an address', async () => {
    const gateway = await start({
      GATEWAY_WORKERS: '2',
      GATEWAY_PROXY__H2C: 'true',
      GATEWAY_LOG__ACCESS: 'all',
    });
    await createService(gateway, 'a', origin.port);
    expect((lstatSync(path).mode & 0o777).toString(8)).toBe('660');
    const posted = await ask({ 'x-forwarded-for': '203.0.113.9' }, 'x'.repeat(200_000));
    expect(posted.status).toBe(200);
    expect(seen(posted).body).toHaveLength(200_000);
    // No proxy is trusted, and there is no address to tell.
    expect(seen(posted).headers['x-forwarded-for']).toBeUndefined();
    expect(seen(posted).headers['x-forwarded-proto']).toBe('http');
    const session = http2.connect('http://localhost', { createConnection: () => net.connect(path) });
    const stream = session.request({ ':path': '/a/v1/x' });
    const [fields] = (await once(stream, 'response')) as [http2.IncomingHttpHeaders];
    expect(fields[':status']).toBe(200);
    session.destroy();
    const accessed = () => gateway.logs().filter(({ path: at }) => at === '/a/v1/x');
    await until(() => accessed().length >= 2);
    expect(new Set(accessed().map((line) => line['client_ip']))).toEqual(new Set(['unix']));

    // A list of allowed addresses has none for them; per address, they count as one.
    await gateway.must('PATCH', '/apps/a', {
      default_policy: { ip_access: { allow: ['0.0.0.0/0', '::/0'] } },
    });
    expect((await ask()).status).toBe(403);
    const perIp = { enabled: true, requests: 2, window_seconds: 60, per: 'ip' };
    await gateway.must('PATCH', '/apps/a', { default_policy: { ip_access: null, rate_limit: perIp } });
    expect([(await ask()).status, (await ask()).status, (await ask()).status]).toEqual([200, 200, 429]);
    expect(await gateway.stop()).toBe(0);
    expect(existsSync(path)).toBe(false);
  });

  it('have the address that their proxy reports, if it is trusted', async () => {
    const gateway = await start({
      GATEWAY_TRUSTED_PROXY_IPS: 'unix',
      GATEWAY_PROXY__UNIX_SOCKET_MODE: '600',
    });
    await createService(gateway, 'a', origin.port);
    expect((lstatSync(path).mode & 0o777).toString(8)).toBe('600');
    await gateway.must('PATCH', '/apps/a', { default_policy: { ip_access: { allow: ['203.0.113.0/24'] } } });
    expect((await ask()).status).toBe(403);
    const passed = await ask({ 'x-forwarded-for': '198.51.100.7, 203.0.113.9' });
    expect(passed.status).toBe(200);
    expect(seen(passed).headers['x-forwarded-for']).toBe('198.51.100.7, 203.0.113.9');
  });

  it('have the address of the PROXY header', async () => {
    const gateway = await start({ GATEWAY_PROXY__PROXY_PROTOCOL_FROM: 'unix' });
    await createService(gateway, 'a', origin.port);
    const socket = net.connect(path);
    let text = '';
    socket.setEncoding('latin1').on('data', (chunk: string) => (text += chunk));
    socket.write(
      'PROXY TCP4 203.0.113.5 192.0.2.1 5000 80\r\nGET /a/v1/x HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n',
    );
    await once(socket, 'close');
    expect(text).toContain('"x-forwarded-for":"203.0.113.5"');
    await expect(ask()).rejects.toThrow();
  });
});

describe('the file', () => {
  const refusal = async (): Promise<readonly [number | null, string]> => {
    const env = {
      GATEWAY_PROXY__UNIX_SOCKET: path,
      GATEWAY_DATABASE_URL: `sqlite://${join(folder, 'other.db')}`,
    };
    const { code, output } = await runToEnd({ ...env, GATEWAY_ADMIN_TOKEN: ADMIN_TOKEN });
    return [code, output];
  };

  it('of a gateway that was killed is replaced; of one that runs, and anything else, is not', async () => {
    const killed = await start();
    await createService(killed, 'a', origin.port);
    expect(await refusal()).toEqual([1, expect.stringContaining('another process listens there')]);
    expect((await ask()).status).toBe(200);
    await killed.kill();
    expect(lstatSync(path).isSocket()).toBe(true);
    await expect(ask()).rejects.toThrow('ECONNREFUSED');
    await start();
    expect((await ask()).status).toBe(200);
    await running.pop()?.stop();
    writeFileSync(path, 'mine');
    expect(await refusal()).toEqual([1, expect.stringContaining('the file at this path is not a socket')]);
    rmSync(path);
  });
});

describe('a socket of the service manager', () => {
  /** As systemd does: descriptor 3 listens, and outlives the gateway. */
  const ACTIVATE = `
import os, socket, sys
path, *command = sys.argv[1:]
s = socket.socket(socket.AF_UNIX)
s.bind(path); s.listen(100)
for turn in range(2):
    pid = os.fork()
    if pid == 0:
        os.dup2(s.fileno(), 3)
        os.set_inheritable(3, True)
        os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS='1')
        os.execv(command[0], command)
    os.waitpid(pid, 0)
`;

  it('keeps its clients while the gateway restarts', async () => {
    const through = [requireProgram('python3'), '-c', ACTIVATE, path];
    const env = { GATEWAY_PROXY__UNIX_SOCKET: 'systemd' };
    const gateway = await startGateway({ env, folder, through });
    running.push(gateway);
    await createService(gateway, 'a', origin.port);
    expect((await ask()).status).toBe(200);
    const pidOf = () => Number(readFileSync(join(folder, 'headgate.pid'), 'utf8').split(' ')[0]);
    const first = pidOf();
    process.kill(first, 'SIGTERM');
    await until(() => gateway.output().includes('headgate has stopped'));
    // It waits for the next one.
    expect((await ask()).status).toBe(200);
    expect(pidOf()).not.toBe(first);
    process.kill(pidOf(), 'SIGTERM');
    await once(gateway.process, 'exit');
  });
});

describe('no client is refused', () => {
  /** Connects again and again until told to stop. */
  async function askOn(stop: () => boolean): Promise<string[]> {
    const answers: string[] = [];
    while (!stop()) {
      const answer = await ask().catch((error: Error) => ({ status: error.message }));
      answers.push(String(answer.status));
      await pause(5);
    }
    return answers;
  }

  it('when all workers have died and were replaced, also again and again while they start', async () => {
    const gateway = await start({ GATEWAY_WORKERS: '2', ...WITH_SPARE, ...INSPECTABLE });
    await createService(gateway, 'a', origin.port);
    const expectServed = async (): Promise<void> => {
      const answers = await Promise.all(Array.from({ length: 20 }, () => ask()));
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    };
    await crashWorkers(gateway, isWorker);
    // The queue of the socket is none of theirs: clients wait in it.
    await expectServed();
    // More often than copies of the socket were made in advance.
    for (let round = 0; round < 6; round++) {
      await until(() =>
        crashWorkers(gateway, isWorker).then(
          () => true,
          () => false,
        ),
      );
    }
    await expectServed();
  });

  it('while another gateway takes over', async () => {
    const env = {
      GATEWAY_WORKERS: '2',
      GATEWAY_SERVER__PORT: String(await freePort()),
      GATEWAY_PROXY__PORT: String(await freePort()),
    };
    const before = await start(env);
    await createService(before, 'a', origin.port);
    let done = false;
    const asking = [1, 2].map(() => askOn(() => done));
    const exited = once(before.process, 'exit');
    const after = await start(env, ['start', '--take-over']);
    expect((await exited)[0]).toBe(0);
    await pause(200);
    done = true;
    const answers = (await Promise.all(asking)).flat();
    expect(answers.length).toBeGreaterThan(50);
    expect([...new Set(answers)]).toEqual(['200']);
    expect(existsSync(path)).toBe(true);
    expect(await after.stop()).toBe(0);
    expect(existsSync(path)).toBe(false);
  });
});
