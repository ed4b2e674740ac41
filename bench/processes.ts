/**
 * Starts programs on given cores, waits until they accept connections, and ends them: at the latest when the bench
 * itself ends, however it ends. Owns the set of what runs and the folder that everything is written to.
 */
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, openSync, closeSync, rmSync } from 'node:fs';
import * as net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { descendants } from './measure.ts';
import { programPath } from './programs.ts';

export interface StartOptions {
  readonly name: string;
  readonly command: readonly string[];
  /** List for `taskset -c`. */
  readonly cores: string;
  /** Standard output and error go to a file in it. */
  readonly folder: string;
  /** Standard output goes to a pipe instead, which a program on these cores reads: what containers have. */
  readonly pipeReaderCores?: string;
  /** Ready when this port takes connections. */
  readonly port: number;
  readonly env?: Readonly<Record<string, string>>;
  readonly startTimeoutMs?: number;
}

export interface RunningProgram {
  readonly pid: number;
  readonly port: number;
  /** SIGTERM, and SIGKILL to it and all its descendants when that does not help. */
  stop(): Promise<void>;
}

const START_TIMEOUT_MS = 30_000;
const STOP_TIMEOUT_MS = 10_000;
const POLL_MS = 5;

const running = new Set<ChildProcess>();
let folder: string | undefined;
let folders = 0;

/** A new folder, removed at the end, that servers which drop their rights can still read. */
export function newFolder(name: string): string {
  if (folder === undefined) {
    folder = mkdtempSync(join(tmpdir(), 'headgate-bench-'));
    chmodSync(folder, 0o755);
  }
  const made = join(folder, `${folders++}-${name}`);
  mkdirSync(made, { mode: 0o755 });
  return made;
}

/** Starts a program; throws with the end of its output when it does not get ready. */
export async function startProgram(options: StartOptions): Promise<RunningProgram> {
  const { command, cores, port, env, startTimeoutMs = START_TIMEOUT_MS } = options;
  const logPath = join(options.folder, 'output.log');
  const log = openSync(logPath, 'a');
  const pipe =
    options.pipeReaderCores === undefined ? undefined : openPipe(options.folder, options.pipeReaderCores);
  const child = spawn(programPath('taskset'), ['-c', cores, ...command], {
    cwd: options.folder,
    env: { PATH: process.env['PATH'] ?? '', ...env },
    stdio: ['ignore', pipe ?? log, log],
  });
  closeSync(log);
  if (pipe !== undefined) closeSync(pipe);
  running.add(child);
  const exited = new Promise<void>((done) => child.once('exit', () => done()));
  void exited.then(() => running.delete(child));
  const deadline = performance.now() + startTimeoutMs;
  while (!(await accepts(port))) {
    if (child.exitCode === null && child.signalCode === null && performance.now() < deadline) {
      await pause(POLL_MS);
      continue;
    }
    await stop(child, exited);
    throw new Error(`${options.name} did not start:\n${readFileSync(logPath, 'utf8').slice(-2000)}`);
  }
  return { pid: child.pid ?? 0, port, stop: () => stop(child, exited) };
}

/** The writing end of a new pipe; its reader ends with the last writer. */
function openPipe(folder: string, readerCores: string): number {
  const path = join(folder, 'output.pipe');
  execFileSync(programPath('mkfifo'), [path]);
  const reader = spawn(programPath('taskset'), ['-c', readerCores, 'cat', path], { stdio: 'ignore' });
  running.add(reader);
  reader.once('exit', () => running.delete(reader));
  return openSync(path, 'w');
}

async function stop(child: ChildProcess, exited: Promise<void>): Promise<void> {
  if (!running.has(child)) return;
  child.kill('SIGTERM');
  const ended = await Promise.race([exited.then(() => true), pause(STOP_TIMEOUT_MS, false, { ref: false })]);
  if (ended) return;
  killTree(child);
  await exited;
}

function killTree(child: ChildProcess): void {
  for (const pid of child.pid === undefined ? [] : descendants(child.pid)) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // Gone already.
    }
  }
}

export function accepts(port: number): Promise<boolean> {
  return new Promise((done) => {
    const socket = net.connect(port, '127.0.0.1');
    socket.once('connect', () => done(true));
    socket.once('error', () => done(false));
    socket.once('connect', () => socket.destroy());
  });
}

/** A loopback port that was free a moment ago. */
export async function freePort(): Promise<number> {
  const server = net.createServer();
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const { port } = server.address() as net.AddressInfo;
  await new Promise((done) => server.close(done));
  return port;
}

/** Ends everything at once; also the last act of the process. */
function cleanUp(): void {
  for (const child of running) killTree(child);
  if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
  folder = undefined;
}

process.on('exit', cleanUp);
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => process.exit(130));
