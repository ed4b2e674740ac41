/**
 * A real Valkey or Redis server for tests, without persistence and on a loopback port of its own: installed through apt
 * where it is missing and that is possible, else the test fails with the command to run.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import * as net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { installedProgram } from './install-program.ts';
import { freePort, ready } from '../backends/origin-process.ts';
import { findProgram, plainEnvironment } from './programs.ts';

export interface TestRedis {
  readonly port: number;
  readonly url: string;
  readonly pid: number;
  /** One command in RESP; the reply as text lines. */
  command(...args: readonly string[]): Promise<string>;
  /** Ends the server and waits for it. */
  stop(): Promise<void>;
  /** Starts it again on the same port, empty. */
  start(): Promise<void>;
  /** SIGSTOP and SIGCONT. */
  freeze(): void;
  thaw(): void;
  close(): Promise<void>;
}

export function redisProgram(): string {
  return findProgram('valkey-server') ?? installedProgram('redis-server', 'redis-server');
}

/** @param options on top of the defaults, as on the command line */
export async function startRedis(options: readonly string[] = []): Promise<TestRedis> {
  const program = redisProgram();
  const port = await freePort();
  const folder = mkdtempSync(join(tmpdir(), 'headgate-redis-'));
  let child: ChildProcess | undefined;
  const start = async (): Promise<void> => {
    child = spawn(
      program,
      ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no', ...options],
      { cwd: folder, env: plainEnvironment(folder), stdio: 'ignore' },
    );
    await ready(
      async () => (await redisCommand(port, ['PING']).catch(() => '')).includes('PONG'),
      'redis-server',
    );
  };
  const stop = async (): Promise<void> => {
    const ending = child;
    child = undefined;
    if (ending === undefined || ending.exitCode !== null || ending.signalCode !== null) return;
    const exited = new Promise((done) => ending.once('exit', done));
    ending.kill('SIGCONT');
    ending.kill('SIGTERM');
    await exited;
  };
  await start();
  return {
    port,
    url: `redis://127.0.0.1:${port}`,
    get pid() {
      return child?.pid ?? 0;
    },
    command: (...args) => redisCommand(port, args),
    stop,
    start,
    freeze: () => void child?.kill('SIGSTOP'),
    thaw: () => void child?.kill('SIGCONT'),
    close: async () => {
      await stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Sends one command on a connection of its own; resolves with the reply, which must be a small one. */
export async function redisCommand(port: number, args: readonly string[]): Promise<string> {
  const socket = net.connect(port, '127.0.0.1');
  const parts = args.map((arg) => `$${Buffer.byteLength(arg)}\r\n${arg}\r\n`);
  socket.write(`*${args.length}\r\n${parts.join('')}`);
  try {
    return await new Promise<string>((done, fail) => {
      socket.once('data', (bytes) => done(bytes.toString()));
      socket.once('error', fail);
      socket.once('close', () => fail(new Error('closed without a reply')));
    });
  } finally {
    socket.destroy();
  }
}
