/**
 * docs/how-to/two-gateways.md: its commands, run by shells as they are written there, on a real PostgreSQL and a real
 * store. The machines are addresses of the loopback interface and a folder each. What needs a machine of its own is
 * stood in for: `sudo` runs its command, `systemctl` does nothing (the test starts the store with the file that the
 * page has written), and ports are free ones.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { freePort } from '../../support/backends/origin-process.ts';
import { type PostgresServer, startPostgres } from '../../support/programs/postgres.ts';
import { plainEnvironment, requireProgram } from '../../support/programs/programs.ts';
import { shellBlocks } from '../../support/programs/readme.ts';
import { redisCommand, redisProgram } from '../../support/programs/redis.ts';
import { PATIENT } from '../../scenarios/limit-outage-scenario.ts';
import { openShell, type Shell } from '../../support/programs/shell.ts';
import { until } from '../../support/measure/until.ts';

const ROOT = resolve(import.meta.dirname, '../../..');
const PAGE = join(ROOT, 'docs/how-to/two-gateways.md');
const MACHINES = { data: '127.0.0.1', first: '127.0.0.11', second: '127.0.0.12' };
const START_TIMEOUT_MS = 60_000;

let folder: string;
let postgres: PostgresServer;
let store: ChildProcess | undefined;
let storePort: number;
let replacements: readonly (readonly [string, string])[];
let settings: Readonly<Record<string, string>>;
const shells: Shell[] = [];
const gateways: ChildProcess[] = [];

beforeAll(async () => {
  for (const program of ['bash', 'curl', 'openssl', 'python3']) requireProgram(program);
  requireProgram('psql', 'postgresql-client');
  folder = mkdtempSync(join(tmpdir(), 'headgate-how-to-'));
  postgres = await startPostgres('fsync=off');
  storePort = await freePort();
  const ports = { backend: await freePort(), management: await freePort(), traffic: await freePort() };
  replacements = [
    ['10.0.0.0/24', '127.0.0.0/8'],
    ['127.0.0.1 10.0.0.5', '127.0.0.1'],
    ['10.0.0.5', MACHINES.data],
    ['10.0.0.11', MACHINES.first],
    ['10.0.0.12', MACHINES.second],
    [':5432', `:${postgres.port}`],
    [':6379', `:${storePort}`],
    ['9000', String(ports.backend)],
    [':9090', `:${ports.management}`],
    [':8080', `:${ports.traffic}`],
    ['/etc/', `${folder}/etc/`],
  ];
  settings = {
    GATEWAY_PROXY__PORT: String(ports.traffic),
    GATEWAY_SERVER__PORT: String(ports.management),
    // As on a machine with one processor; what the page shows does not depend on it.
    GATEWAY_WORKERS: '1',
    GATEWAY_WORKER_SPARE: 'false',
  };
  makeMachines();
}, START_TIMEOUT_MS);

afterAll(async () => {
  for (const gateway of gateways) await ended(gateway);
  for (const shell of shells) await shell.close();
  await ended(store);
  await postgres?.stop();
  if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
});

function makeMachines(): void {
  for (const machine of ['data', 'first', 'second', 'programs', 'etc/redis']) {
    mkdirSync(join(folder, machine), { recursive: true });
  }
  for (const machine of ['first', 'second']) symlinkSync(join(ROOT, 'bin'), join(folder, machine, 'bin'));
  writeFileSync(join(folder, 'etc/redis/redis.conf'), `port ${storePort}\ndir ${folder}\n`);
  const program = (name: string, text: string): void => {
    writeFileSync(join(folder, 'programs', name), `#!/bin/sh\n${text}\n`);
    chmodSync(join(folder, 'programs', name), 0o755);
  };
  program('sudo', 'if [ "$1" = -u ]; then shift 2; fi\nexec "$@"');
  program('systemctl', 'exit 0');
}

function environment(extra: Readonly<Record<string, string>> = {}): Record<string, string> {
  const plain = plainEnvironment(folder);
  const path = `${join(folder, 'programs')}:${plain['PATH']}`;
  // A machine that others use too may keep the store waiting for longer than a real one does.
  return { ...plain, PATH: path, ...PATIENT, ...settings, ...extra };
}

function shellOf(machine: 'data' | 'first' | 'second', extra?: Readonly<Record<string, string>>): Shell {
  const shell = openShell(join(folder, machine), environment(extra));
  shells.push(shell);
  return shell;
}

/** The commands of a section, with the addresses and ports of this test. */
function blocksOf(heading: string): string[] {
  return shellBlocks(heading, PAGE).map((block) =>
    replacements.reduce((text, [written, actual]) => text.replaceAll(written, actual), block),
  );
}

async function ended(child: ChildProcess | undefined): Promise<void> {
  if (child === undefined || child.exitCode !== null) return;
  const exited = new Promise((done) => child.once('exit', done));
  child.kill('SIGTERM');
  await exited;
}

/** In the foreground of a terminal of its own, until the test ends it. */
async function startGateway(
  machine: 'first' | 'second',
  block: string,
  env: Record<string, string>,
): Promise<void> {
  const cwd = join(folder, machine);
  const text = block.replace('bin/headgate start', 'exec bin/headgate start');
  const gateway = spawn('bash', ['-c', text], {
    cwd,
    env: environment(env),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  gateways.push(gateway);
  let output = '';
  for (const stream of [gateway.stdout, gateway.stderr]) {
    stream.setEncoding('utf8').on('data', (chunk: string) => (output += chunk));
  }
  await until(() => output.includes('headgate is ready') || gateway.exitCode !== null, START_TIMEOUT_MS);
  expect(output).toContain('headgate is ready');
}

it(
  'the page leads from nothing to a limit that is exact over two gateways',
  { timeout: 180_000 },
  async () => {
    const dataBlocks = blocksOf('1. The data machine');
    expect(dataBlocks).toHaveLength(5);
    const data = shellOf('data', {
      PGHOST: '127.0.0.1',
      PGPORT: String(postgres.port),
      PGUSER: 'headgate_test',
      PGDATABASE: 'postgres',
    });
    for (const block of dataBlocks) await data.type(block);
    await postgres.query(`postgres://headgate@127.0.0.1:${postgres.port}/headgate`, 'select 1');
    store = spawn(redisProgram(), [join(folder, 'etc/redis/redis.conf')], { stdio: 'ignore' });
    await expect.poll(() => redisCommand(storePort, ['PING']).catch(() => '')).toMatch(/NOAUTH/);
    for (const machine of ['first', 'second']) {
      copyFileSync(join(folder, 'data/headgate.env'), join(folder, machine, 'headgate.env'));
    }

    const [migrate = '', start = '', ...more] = blocksOf('2. The gateways');
    expect(more).toEqual([]);
    const first = shellOf('first');
    await first.type(migrate);
    await startGateway('first', start, { GATEWAY_PROXY__HOST: MACHINES.first });
    const port = String(await freePort());
    await startGateway('second', start, { GATEWAY_PROXY__HOST: MACHINES.second, GATEWAY_SERVER__PORT: port });

    const [seen = '', ...others] = blocksOf('3. Check that they see each other');
    expect(others).toEqual([]);
    await expect.poll(() => first.type(seen)).toMatch(/^headgate_limit_nodes\S* 2$/m);
    const told = await first.type(seen);
    expect(told.match(/^\S+:\d+ +live +/gm)).toHaveLength(2);
    expect(told).toMatch(/^headgate_limit_store_connected\{.*\} 1$/m);
    expect(told).not.toMatch(/^headgate_limit_store_connected\{.*\} 0$/m);

    const [app = '', requests = '', ...rest] = blocksOf('4. A limit over both');
    expect(rest).toEqual([]);
    expect(await first.type(app)).toMatch(/headgate-nodes-applied: 2\/2/i);
    expect((await first.type(requests)).trim().split(/\s+/)).toEqual(['10', '200', '20', '429']);
  },
);
