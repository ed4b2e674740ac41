/**
 * A new process takes the place of a running one (docs/how-to/upgrade-without-a-gap.md): seen by clients
 * who never stop asking, and by operators who write meanwhile.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import * as http from 'node:http';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  ADMIN_TOKEN,
  COMPILE_CACHE,
  MAIN,
  runToEnd,
  startGateway,
  type TestGateway,
} from '../../support/gateway.ts';
import { isServed } from '../../../src/storage/sqlite/gateway-lock.ts';
import { freePort } from '../../support/backends/origin-process.ts';
import { startOrigin, type Origin } from '../../support/backends/origin.ts';
import { connectRaw, type RawClient } from '../../support/clients/raw-client.ts';
import { createService, echoed, request, requestText, revisionPath } from '../../support/traffic.ts';
import { fillUp, mountSmallDisk } from '../../support/programs/small-disk.ts';
import { until } from '../../support/measure/until.ts';

const TIMEOUT = { timeout: 90_000 };
const TAKE_OVER = ['start', '--take-over'];
/** Of a client; what matters is that one of them asks at any time of a takeover. */
const ASK_PAUSE_MS = 3;

let origin: Origin;
let folder: string;
let env: Record<string, string>;
const running: TestGateway[] = [];

beforeAll(async () => {
  origin = await startOrigin();
});
afterAll(() => origin.close());
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'headgate-takeover-'));
  env = {
    GATEWAY_WORKERS: '1',
    GATEWAY_WORKER_SPARE: 'false',
    GATEWAY_SERVER__PORT: String(await freePort()),
    GATEWAY_PROXY__PORT: String(await freePort()),
  };
});
afterEach(async () => {
  for (const gateway of running.splice(0)) await gateway.kill();
  rmSync(folder, { recursive: true, force: true });
});

async function start(args: readonly string[] = []): Promise<TestGateway> {
  const gateway = await startGateway({ env, folder, args });
  running.push(gateway);
  return gateway;
}

const logged = (gateway: TestGateway, part: string): boolean =>
  gateway.logs().some(({ msg }) => String(msg).includes(part));

/** Asks again and again until told to stop; keeps its connection for as long as it is offered. */
async function askOnAndOn(port: number, keepsAlive: boolean, stop: () => boolean): Promise<string[]> {
  const answers: string[] = [];
  let client: RawClient | undefined;
  while (!stop()) {
    try {
      client ??= await connectRaw(port);
      client.write(requestText('/a/v1/x'));
      const response = await client.response();
      answers.push(String(response.status));
      await pause(ASK_PAUSE_MS);
      if (keepsAlive && response.headers['connection'] !== 'close') continue;
      client.end();
      client = undefined;
    } catch (error) {
      answers.push(String(error));
      client = undefined;
    }
  }
  client?.end();
  return answers;
}

/** A takeover in the folder that must not come about. */
const attempt = (more: Readonly<Record<string, string>>) =>
  runToEnd({ ...env, GATEWAY_DATABASE_URL: `sqlite://${join(folder, 'headgate.db')}`, ...more }, TAKE_OVER);

async function failToListen(): Promise<void> {
  const { code, output } = await attempt({
    GATEWAY_ADMIN_TOKEN: ADMIN_TOKEN,
    // TEST-NET-3 of RFC 5737: no address of this machine.
    GATEWAY_PROXY__HOST: '203.0.113.1',
  });
  expect([code, output]).toEqual([1, expect.stringContaining('Cannot listen for traffic on 203.0.113.1')]);
}

/** After it has claimed the folder: without GATEWAY_ADMIN_TOKEN it writes its first token at the end of its start. */
async function failToWriteToken(): Promise<void> {
  mkdirSync(join(folder, 'admin-token'));
  const { code, output } = await attempt({});
  expect([code, output]).toEqual([1, expect.stringContaining('Cannot write the admin token')]);
}

async function endTakeover(before: TestGateway, signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
  const times = (): number => before.output().split('another process takes over').length;
  const known = times();
  const ended = spawn(process.execPath, [MAIN, ...TAKE_OVER], {
    env: {
      PATH: process.env['PATH'],
      NODE_COMPILE_CACHE: COMPILE_CACHE,
      ...env,
      GATEWAY_DATABASE_URL: `sqlite://${join(folder, 'headgate.db')}`,
      GATEWAY_ADMIN_TOKEN: ADMIN_TOKEN,
    },
    stdio: 'ignore',
  });
  const exited = once(ended, 'exit');
  await until(() => times() > known, 30_000);
  ended.kill(signal);
  expect(await exited).toEqual(signal === 'SIGTERM' ? [0, null] : [null, signal]);
}

describe('headgate start --take-over', () => {
  it('takes the place of the running one: no request fails, and no write is lost', TIMEOUT, async () => {
    env['GATEWAY_WORKERS'] = '2';
    const before = await start();
    await createService(before, 'a', origin.port);
    let done = false;
    const asking = Array.from({ length: 4 }, (_, index) =>
      askOnAndOn(before.proxyPort, index < 2, () => done),
    );
    // An operator who goes on writing, to the gateway that answers at the port.
    let label = 0;
    let stored = 0;
    const writing = (async () => {
      while (!done) {
        label += 1;
        const answer = await before
          .api('PATCH', '/apps/a', { description: `change ${label}` })
          .catch(() => undefined);
        if (answer?.status === 200) stored = label;
        else await pause(10);
      }
    })();

    const exited = once(before.process, 'exit');
    const after = await start(TAKE_OVER);
    expect((await exited)[0]).toBe(0);
    const atExit = stored;
    await until(() => stored > atExit);
    done = true;
    const answers = (await Promise.all(asking)).flat();
    await writing;

    expect(answers.length).toBeGreaterThan(100);
    expect([...new Set(answers)]).toEqual(['200']);
    expect((await after.must('GET', '/apps/a')).description).toBe(`change ${label}`);
    expect(logged(before, 'another process takes over')).toBe(true);
    await until(() => isServed(join(folder, 'headgate.db')), 20_000, 50, 'the new one has the lock');
    // The new one alone answers for the port now, and what is written is obeyed by it.
    await after.must('PATCH', revisionPath('a'), { backend_base_path: '/moved' });
    expect((await request(after, '/a/v1/x')).status).toBe(200);
    expect(origin.seen.at(-1)?.url).toBe('/moved/x');
    expect(await after.stop()).toBe(0);
    expect(existsSync(join(folder, 'headgate.pid'))).toBe(false);
  });

  it(
    'that fails, is killed or is told to stop leaves everything to the running one, and another can take over at once',
    TIMEOUT,
    async () => {
      const path = join(folder, 'traffic.sock');
      env['GATEWAY_PROXY__UNIX_SOCKET'] = path;
      const before = await start();
      await createService(before, 'a', origin.port);
      const { ino } = statSync(path);
      const file = join(folder, 'headgate.pid');
      const named = readFileSync(file, 'latin1');
      for (const [index, fail] of [
        failToListen,
        failToWriteToken,
        () => endTakeover(before, 'SIGKILL'),
        () => endTakeover(before, 'SIGTERM'),
      ].entries()) {
        await fail();
        await until(() => before.output().split('is open again').length - 1 > index);
        await before.must('PATCH', revisionPath('a'), { backend_base_path: `/kept-${index}` });
        expect((await request(before, '/a/v1/x')).status).toBe(200);
        expect(origin.seen.at(-1)?.url).toBe(`/kept-${index}/x`);
        expect(before.process.exitCode).toBeNull();
        await until(() => existsSync(file));
        expect(readFileSync(file, 'latin1')).toBe(named);
        expect(statSync(path).ino).toBe(ino);
      }
      const exited = once(before.process, 'exit');
      const after = await start(TAKE_OVER);
      expect((await exited)[0]).toBe(0);
      expect((await request(after, '/a/v1/x')).status).toBe(200);
      expect(readFileSync(file, 'latin1')).toMatch(new RegExp(`^${after.process.pid} `));
      await after.stop();
      expect(readdirSync(folder).filter((name) => name.startsWith('headgate.pid'))).toEqual([]);
    },
  );

  it('twice at once: one takes over, and the other one is told', TIMEOUT, async () => {
    const before = await start();
    await createService(before, 'a', origin.port);
    let done = false;
    const asking = [true, false].map((keepsAlive) => askOnAndOn(before.proxyPort, keepsAlive, () => done));
    const exited = once(before.process, 'exit');
    const started = await Promise.allSettled([start(TAKE_OVER), start(TAKE_OVER)]);
    expect((await exited)[0]).toBe(0);
    // One of them may be so late that it takes over from the other.
    const serving = () => running.filter(({ process: child }) => child.exitCode === null);
    await until(() => serving().length === 1, 20_000);
    const [after] = serving();
    for (const one of started)
      if (one.status === 'rejected')
        expect(String(one.reason)).toMatch(
          /Cannot take over: the process with the id \d+ takes over from the gateway with the process id \d+ already/,
        );
    await after?.must('PATCH', revisionPath('a'), { backend_base_path: '/kept' });
    done = true;
    expect([...new Set((await Promise.all(asking)).flat())]).toEqual(['200']);
    expect(await after?.stop()).toBe(0);
    expect(readdirSync(folder).filter((name) => name.startsWith('headgate.pid'))).toEqual([]);
  });

  it('on a full disk does not prevent the next one, once there is room', TIMEOUT, async () => {
    const disk = await mountSmallDisk(folder, '24m');
    try {
      const startThere = async (args: readonly string[] = []): Promise<TestGateway> => {
        const gateway = await startGateway({ env, folder, args, through: disk.through });
        running.push(gateway);
        return gateway;
      };
      const file = join(disk.inside, 'headgate.pid');
      const before = await startThere();
      fillUp(disk.inside);
      const beforeExit = once(before.process, 'exit');
      const after = await startThere(TAKE_OVER);
      expect((await beforeExit)[0]).toBe(0);
      await until(() => logged(after, 'cannot write the pid file'));
      expect(existsSync(file)).toBe(false);
      rmSync(join(disk.inside, 'filler'));
      await until(() => existsSync(file), 15_000);
      expect(readFileSync(file, 'latin1')).toMatch(new RegExp(`^${after.process.pid} `));
      const afterExit = once(after.process, 'exit');
      await startThere(TAKE_OVER);
      expect((await afterExit)[0]).toBe(0);
    } finally {
      for (const gateway of running.splice(0)) await gateway.kill();
      await disk.release();
    }
  });

  it('works after one that failed and left the Unix socket to another program', TIMEOUT, async () => {
    const path = join(folder, 'management.sock');
    const traffic = join(folder, 'traffic.sock');
    env['GATEWAY_SERVER__UNIX_SOCKET'] = path;
    env['GATEWAY_PROXY__UNIX_SOCKET'] = traffic;
    const before = await start();
    before.process.kill('SIGUSR2');
    await until(() => logged(before, 'another process takes over') && !existsSync(path));
    writeFileSync(path, 'of another program');
    // As when it has ended right after it had replaced it.
    rmSync(traffic);
    before.process.kill('SIGUSR2');
    await until(() => logged(before, 'cannot reopen the management port or its Unix socket'));
    expect((await before.api('GET', '/apps')).status).toBe(200);
    await until(() => existsSync(traffic));
    const asked = http.get({ socketPath: traffic, path: '/nothing', agent: false });
    const [answer] = (await once(asked, 'response')) as [http.IncomingMessage];
    expect(answer.resume().statusCode).toBe(404);
    rmSync(path);
    const exited = once(before.process, 'exit');
    await start(TAKE_OVER);
    expect((await exited)[0]).toBe(0);
  });

  it(
    'is refused with a copy of the database that lacks a change, and not with one that has all',
    TIMEOUT,
    async () => {
      const before = await start();
      await createService(before, 'a', origin.port);
      const source = `sqlite://${join(folder, 'headgate.db')}`;
      const file = join(folder, 'headgate.sqlite');
      const GATEWAY_DATABASE_URL = `sqlite://${file}`;
      const copy = async (): Promise<void> => {
        rmSync(file, { force: true });
        // In a folder of its own: that of the gateway is locked.
        const made = join(folder, 'copy', 'headgate.db');
        const { code, output } = await runToEnd(env, ['copy', '--from', source, '--to', `sqlite://${made}`]);
        expect([code, output]).toEqual([0, expect.stringContaining('Copied')]);
        renameSync(made, file);
      };
      await copy();
      const app = { name: 'Late', slug: 'late', gateway_path: '/late' };
      await before.must('POST', '/apps', app);
      const { code, output } = await attempt({ GATEWAY_DATABASE_URL, GATEWAY_ADMIN_TOKEN: ADMIN_TOKEN });
      expect([code, output]).toEqual([
        1,
        expect.stringMatching(
          /Cannot take over: the running gateway has config version \d+, and this database has \d+/,
        ),
      ]);
      // The other one goes on.
      await until(
        async () => (await before.api('PATCH', '/apps/late', { name: 'Later' })).status === 200,
        30_000,
      );
      await copy();
      env['GATEWAY_DATABASE_URL'] = GATEWAY_DATABASE_URL;
      const after = await start(TAKE_OVER);
      expect((await after.must('GET', '/apps/late')).name).toBe('Later');
    },
  );

  it('simply starts when no gateway runs, and never signals another program', TIMEOUT, async () => {
    // A file left behind by a crash has the id of a process that is another program now: this one.
    const file = join(folder, 'headgate.pid');
    writeFileSync(file, `${process.pid} 1\n`);
    let signalled = false;
    process.once('SIGUSR2', () => (signalled = true));
    const starting = start(TAKE_OVER);
    let namedWhenReady: string | undefined;
    await until(async () => {
      const answer = await fetch(`http://127.0.0.1:${env['GATEWAY_SERVER__PORT']}/readyz`).catch(
        () => undefined,
      );
      if (answer?.status === 200) namedWhenReady = readFileSync(file, 'latin1');
      return namedWhenReady !== undefined;
    });
    const gateway = await starting;
    expect(logged(gateway, 'there is no running gateway to take over from')).toBe(true);
    // It is ready once its folder names it, not before.
    expect(namedWhenReady).toMatch(new RegExp(`^${gateway.process.pid} \\d+\\n$`));
    expect(signalled).toBe(false);
    process.removeAllListeners('SIGUSR2');
  });
});

describe('GATEWAY_PROXY__DRAIN_GRACE_MS', () => {
  it(
    'keeps accepting traffic after readiness has turned false, and in a takeover, which answers no write until then',
    TIMEOUT,
    async () => {
      env['GATEWAY_WORKERS'] = '2';
      env['GATEWAY_PROXY__DRAIN_GRACE_MS'] = '4000';
      const before = await start();
      await createService(before, 'a', origin.port);
      const exited = once(before.process, 'exit');
      const after = await start(TAKE_OVER);
      // The other one would not obey it, and is accepting connections at the same port.
      await after.must('PATCH', revisionPath('a'), { backend_base_path: '/moved' });
      const urls = [];
      for (let count = 0; count < 30; count++) urls.push(echoed(await request(after, '/a/v1/x')).url);
      expect([...new Set(urls)]).toEqual(['/moved/x']);
      await exited;
      const stopped = after.stop();
      await until(async () => (await after.api('GET', '//readyz')).status === 503);
      const client = await connectRaw(after.proxyPort);
      client.write(requestText('/a/v1/x'));
      expect((await client.response()).status).toBe(200);
      client.end();
      expect(await stopped).toBe(0);
    },
  );
});
