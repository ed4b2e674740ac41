/**
 * A gateway that runs out of file descriptors: clients that are served stay served, and nothing has to be restarted.
 */
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import * as net from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startGateway, WITH_SPARE, type TestGateway } from '../../support/gateway.ts';
import { startOrigin, type Origin } from '../../support/backends/origin.ts';
import { startFleet } from '../../support/backends/target-fleet.ts';
import { serviceOver } from '../../support/target-service.ts';
import { connectRaw } from '../../support/clients/raw-client.ts';
import { untilSettled } from '../../support/measure/settled-threads.ts';
import { createService, request, requestText } from '../../support/traffic.ts';
import { until } from '../../support/measure/until.ts';

const ROOM = 30;
const CLIENTS = 120;
/** More than there are descriptors for. */
const TARGETS = 250;
/** Of one processor; a loop that tries to accept again and again would take a whole one. */
const BUSY_MAX = 0.5;

let gateway: TestGateway;
let origin: Origin;
beforeAll(async () => {
  [gateway, origin] = await Promise.all([startGateway({ env: WITH_SPARE }), startOrigin()]);
  await createService(gateway, 'a', origin.port);
  await untilSettled(gateway);
});
afterAll(async () => {
  await gateway.stop();
  await origin.close();
});

/** Seconds of processor time of the whole process, proc_pid_stat(5). */
function processorSeconds(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

it(
  'out of file descriptors: no crash, no busy loop, one clear line, and all is well afterwards',
  { timeout: 60_000 },
  async () => {
    const pid = gateway.process.pid ?? 0;
    const steady = await connectRaw(gateway.proxyPort);
    const ask = async (): Promise<number> => {
      steady.write(requestText('/a/v1/x'));
      return (await steady.response()).status;
    };
    expect(await ask()).toBe(200);
    const open = (): number => readdirSync(`/proc/${pid}/fd`).length;
    const limit = (count: number | 'unlimited'): void => {
      execFileSync('prlimit', [`--pid=${pid}`, `--nofile=${count}:`]);
    };
    const [, before] = /^Max open files\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/limits`, 'latin1')) ?? [];
    limit(open() + ROOM);
    const crowd = Array.from({ length: CLIENTS }, () => {
      const socket = net.connect({ port: gateway.proxyPort, host: '127.0.0.1' });
      return socket.on('error', () => undefined);
    });
    const shortage = await until(() =>
      gateway.logs().find(({ msg }) => String(msg).startsWith('the file descriptors are nearly used up')),
    );
    expect(shortage).toMatchObject({ level: 'error', open: expect.any(Number), limit: expect.any(Number) });
    // Who has a connection is served on, over the connection to the backend that is there.
    for (let count = 0; count < 20; count++) expect(await ask()).toBe(200);
    const [beforeSeconds, startedMs] = [processorSeconds(pid), performance.now()];
    await pause(2_000);
    const usedSeconds = processorSeconds(pid) - beforeSeconds;
    expect((usedSeconds * 1_000) / (performance.now() - startedMs)).toBeLessThan(BUSY_MAX);
    const lines = gateway.logs().filter(({ msg }) => String(msg).startsWith('the file descriptors'));
    // At most one each ten seconds.
    expect(lines.length).toBeLessThanOrEqual(3);

    for (const socket of crowd) socket.destroy();
    await until(async () => (await request(gateway, '/a/v1/x').catch(() => undefined))?.status === 200);
    await until(() => gateway.logs().find(({ msg }) => msg === 'there are enough file descriptors again'));
    await until(async () => (await gateway.api('GET', '/health').catch(() => undefined))?.status === 200);
    await gateway.must('PATCH', '/apps/a', { description: 'written afterwards' });
    limit(Number(before));
    // The connection that was idle meanwhile may have made room.
    expect((await request(gateway, '/a/v1/x')).status).toBe(200);
    steady.end();
    expect(gateway.process.exitCode).toBeNull();
  },
);

it('a backend is not to blame for connections that the gateway had no descriptor for', async () => {
  const slow = createServer((_request, response) => setTimeout(() => response.end('ok'), 500));
  await once(slow.listen(0, '127.0.0.1'), 'listening');
  await createService(gateway, 'slow', (slow.address() as net.AddressInfo).port);
  const pid = gateway.process.pid ?? 0;
  const opened = (): number => readdirSync(`/proc/${pid}/fd`).length;
  // The gateway reads its limit once a second: with that of the test before, it would close some of them.
  await pause(1_100);
  const clients = await Promise.all(Array.from({ length: 2 * ROOM }, () => connectRaw(gateway.proxyPort)));
  // Each of them has been accepted.
  for (const client of clients) {
    client.write(requestText('/nothing-here'));
    expect((await client.response()).status).toBe(404);
  }
  const [, before] = /^Max open files\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/limits`, 'latin1')) ?? [];
  execFileSync('prlimit', [`--pid=${pid}`, `--nofile=${opened() + ROOM / 2}:`]);
  try {
    for (const client of clients) client.write(requestText('/slow/v1/x'));
    // Some may have made room.
    const answers = (
      await Promise.all(clients.map((client) => client.response().catch(() => undefined)))
    ).filter((answer) => answer !== undefined);
    const refused = answers.filter(({ status }) => status === 503);
    expect(refused.length, 'more failures than open a circuit breaker').toBeGreaterThan(5);
    expect(new Set(refused.map(({ body }) => JSON.parse(body).code))).toEqual(new Set(['overloaded']));
    expect(new Set(refused.map(({ headers }) => headers['retry-after']))).toEqual(new Set(['1']));
    await until(() =>
      gateway.output().includes('no file descriptor left; raise the limit (ulimit -n) (EMFILE)'),
    );
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200, 503]));
    const health = await gateway.must('GET', '/apps/slow/versions/v1/revisions/r1/health');
    expect(health.state).toBe('closed');
  } finally {
    execFileSync('prlimit', [`--pid=${pid}`, `--nofile=${before}:`]);
    for (const client of clients) client.end();
    slow.closeAllConnections();
    slow.close();
  }
});

it(
  'clients that only have connections keep no newcomer out, neither of traffic nor of management',
  { timeout: 60_000 },
  async () => {
    const pid = gateway.process.pid ?? 0;
    const open = readdirSync(`/proc/${pid}/fd`).length;
    const [, before] = /^Max open files\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/limits`, 'latin1')) ?? [];
    const limit = 4 * (open + ROOM);
    execFileSync('prlimit', [`--pid=${pid}`, `--nofile=${limit}:`]);
    // The gateway reads its limit once a second.
    await pause(1_100);
    const crowd: net.Socket[] = [];
    for (const port of [gateway.proxyPort, gateway.managementPort]) {
      for (let count = 0; count < 2 * limit; count++) {
        crowd.push(net.connect({ port, host: '127.0.0.1' }).on('error', () => undefined));
        if (count % 20 === 0) await pause(5);
      }
    }
    for (let count = 0; count < 20; count++) {
      const client = await connectRaw(gateway.proxyPort);
      client.write(requestText('/a/v1/x'));
      expect((await client.response()).status).toBe(200);
      const operator = await connectRaw(gateway.managementPort);
      operator.write('GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n');
      expect((await operator.response()).status).toBe(200);
    }
    for (const socket of crowd) socket.destroy();
    execFileSync('prlimit', [`--pid=${pid}`, `--nofile=${before}:`]);
  },
);

it(
  'idle connections to backends make room for those to others, and management stays within reach',
  { timeout: 60_000 },
  async () => {
    const fleet = await startFleet(TARGETS);
    await serviceOver(gateway, 'wide', fleet, { load_balancing: { algorithm: 'round_robin' } });
    const pid = gateway.process.pid ?? 0;
    const open = readdirSync(`/proc/${pid}/fd`).length;
    const [, before] = /^Max open files\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/limits`, 'latin1')) ?? [];
    execFileSync('prlimit', [`--pid=${pid}`, `--nofile=${2 * open}:`]);
    // The gateway reads its limit once a second.
    await pause(1_100);
    try {
      for (let count = 0; count < 2 * TARGETS; count++) {
        expect((await request(gateway, '/wide/v1/x')).status).toBe(200);
      }
      expect(fleet.filter(({ requests }) => requests > 0)).toHaveLength(TARGETS);
      expect((await gateway.api('GET', '/health')).status).toBe(200);
      const kept = fleet.reduce((sum, { sockets }) => sum + sockets.size, 0);
      expect(kept, 'most stay open').toBeGreaterThan(open / 2);
    } finally {
      execFileSync('prlimit', [`--pid=${pid}`, `--nofile=${before}:`]);
      await Promise.all(fleet.map((target) => target.close()));
    }
  },
);
