/**
 * Starts the real program as an operator would, on free loopback ports and a database of its own (suite-database.ts),
 * and talks to it through its two ports only. Used by every black-box test.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { PROGRAM_VARIABLE } from './programs/program.ts';
import { OPTIMIZE_LATER, startFlags } from './programs/start-flags.ts';
import { suiteDatabase } from './programs/suite-database.ts';
import { withTargets } from './three-targets.ts';

export const ADMIN_TOKEN = 'test-admin-token-0123456789abcdef0123456789';
/** What `npm start` runs (program.ts); outside of a test run the sources. */
export const MAIN = process.env[PROGRAM_VARIABLE] ?? resolve(import.meta.dirname, '../../src/main.ts');
/** What `npm start` gives Node.js. */
export const START_FLAGS = startFlags(resolve(import.meta.dirname, '../..'));
/** With the thread that stands by for a worker that dies. */
export const WITH_SPARE = { GATEWAY_WORKER_SPARE: 'true' } as const;
const START_TIMEOUT_MS = 60_000;
/**
 * Fewer collections while it starts: a fifth of the CPU time of a short-lived gateway. Not where memory is measured,
 * nor time.
 */
export const SHORT_LIVED = ['--min-semi-space-size=16', ...OPTIMIZE_LATER];
/** Of compiled modules, from start to start. */
export const COMPILE_CACHE = join(tmpdir(), 'headgate-compile-cache');

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  /** Parsed JSON; undefined when there was no body. */
  // oxlint-disable-next-line typescript/no-explicit-any -- answers are looked into freely by tests
  readonly body: any;
}

export interface GatewayOptions {
  /** On top of the defaults: loopback, free ports, ADMIN_TOKEN, one worker. */
  readonly env?: Readonly<Record<string, string>>;
  /** A folder that outlives the gateway (for restarts); made and removed otherwise. */
  readonly folder?: string;
  /** Default: the folder. */
  readonly cwd?: string;
  /** Runs as this user and group, where the tests run as root. */
  readonly uid?: number;
  /** Of the command line. */
  readonly args?: readonly string[];
  /** A program and its arguments that becomes the gateway, such as one that sets limits. */
  readonly through?: readonly string[];
  /** An installed program that is started in place of this checkout's. */
  readonly command?: readonly string[];
  /** Free ports to listen on, for a gateway whose log does not tell them. */
  readonly ports?: GatewayPorts;
}

export interface GatewayPorts {
  readonly management: number;
  readonly proxy: number;
}

export interface TestGateway {
  readonly base: string;
  readonly proxy: string;
  readonly managementPort: number;
  readonly proxyPort: number;
  readonly folder: string;
  readonly process: ChildProcess;
  /** Everything written to standard output so far, parsed; lines that are no JSON are left out. */
  logs(): Record<string, unknown>[];
  output(): string;
  /** A management call; `path` below /api/v1, or absolute when it starts with `//`. */
  api(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>;
  /** As `api`, but anything other than the status expected (default: any 2xx) fails the test. Returns `data`. */
  // oxlint-disable-next-line typescript/no-explicit-any -- see Answer.body
  must(method: string, path: string, body?: unknown): Promise<any>;
  /** SIGTERM; resolves with the exit code. */
  stop(): Promise<number | null>;
  /** SIGKILL. */
  kill(): Promise<void>;
}

export async function startGateway(options: GatewayOptions = {}): Promise<TestGateway> {
  const folder = options.folder ?? mkdtempSync(join(tmpdir(), 'headgate-test-'));
  const named = options.env?.['GATEWAY_DATABASE_URL'] !== undefined;
  const database = named ? undefined : await suiteDatabase(folder);
  const isPlain = options.env?.['GATEWAY_WORKER_SPARE'] === WITH_SPARE.GATEWAY_WORKER_SPARE;
  const [program = '', ...args] = [
    ...(options.through ?? []),
    ...(options.command ?? [process.execPath, ...START_FLAGS, ...(isPlain ? [] : SHORT_LIVED), MAIN]),
    ...(options.args ?? []),
  ];
  const child = spawn(program, args, {
    cwd: options.cwd ?? folder,
    ...(options.uid !== undefined && process.getuid?.() === 0 && { uid: options.uid, gid: options.uid }),
    env: {
      PATH: process.env['PATH'] ?? '',
      // Spares every start but the first one the compiling of its modules.
      NODE_COMPILE_CACHE: COMPILE_CACHE,
      ...database?.env,
      GATEWAY_SERVER__PORT: String(options.ports?.management ?? 0),
      GATEWAY_PROXY__HOST: '127.0.0.1',
      GATEWAY_PROXY__PORT: String(options.ports?.proxy ?? 0),
      GATEWAY_ADMIN_TOKEN: ADMIN_TOKEN,
      GATEWAY_WORKERS: '1',
      // A quarter of what a short-lived gateway costs; what is about workers that die, or measures, starts WITH_SPARE.
      GATEWAY_WORKER_SPARE: 'false',
      ...options.env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let text = '';
  let errors = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => (errors += chunk));
  // Not before the last line of its output was read.
  const exited = new Promise<number | null>((done) => child.once('close', (code) => done(code)));
  const lines = parsedLines();
  const logs = (): Record<string, unknown>[] => lines(text);
  const ports = await readyPorts(child, options.ports, logs, () => `${text}\n${errors}`);
  const base = `http://127.0.0.1:${ports.management}`;
  const finish = async (signal: NodeJS.Signals): Promise<number | null> => {
    child.kill(signal);
    const code = await exited;
    if (options.folder === undefined) {
      rmSync(folder, { recursive: true, force: true });
      await database?.drop();
    }
    return code;
  };
  const api: TestGateway['api'] = (method, path, body, headers) =>
    call(base, method, path, withTargets(method, path, body), headers);
  return {
    base,
    proxy: `http://127.0.0.1:${ports.proxy}`,
    managementPort: ports.management,
    proxyPort: ports.proxy,
    folder,
    process: child,
    logs,
    output: () => text + errors,
    api,
    must: async (method, path, body) => {
      const answer = await api(method, path, body);
      if (answer.status >= 300) {
        throw new Error(`${method} ${path} answered ${answer.status}: ${JSON.stringify(answer.body)}`);
      }
      return answer.body?.data;
    },
    stop: () => finish('SIGTERM'),
    kill: async () => void (await finish('SIGKILL')),
  };
}

export interface RunOptions {
  /** Default: an empty folder of its own, so that a gateway that runs in this checkout has no part in it. */
  readonly cwd?: string;
  /** Runs as this user and group, where the tests run as root. */
  readonly uid?: number;
}

/** Runs the program until it ends by itself, for starts that must fail and for commands. */
export async function runToEnd(
  env: Readonly<Record<string, string>>,
  args: readonly string[] = [],
  { cwd, uid }: RunOptions = {},
): Promise<{ readonly code: number | null; readonly output: string }> {
  const own = cwd === undefined ? mkdtempSync(join(tmpdir(), 'headgate-run-')) : undefined;
  const child = spawn(process.execPath, [MAIN, ...args], {
    cwd: cwd ?? own,
    ...(uid !== undefined && process.getuid?.() === 0 && { uid, gid: uid }),
    env: {
      PATH: process.env['PATH'] ?? '',
      NODE_COMPILE_CACHE: COMPILE_CACHE,
      GATEWAY_SERVER__PORT: '0',
      GATEWAY_PROXY__PORT: '0',
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => (output += chunk));
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => (output += chunk));
  const timer = setTimeout(() => child.kill('SIGKILL'), START_TIMEOUT_MS);
  const code = await new Promise<number | null>((done) => child.once('close', (status) => done(status)));
  clearTimeout(timer);
  if (own !== undefined) rmSync(own, { recursive: true, force: true });
  return { code, output };
}

/** Gives the lines of a text that only grows, and parses each of them once: tests ask for them again and again. */
function parsedLines(): (text: string) => Record<string, unknown>[] {
  const lines: Record<string, unknown>[] = [];
  let readTo = 0;
  return (text) => {
    // What follows the last line end may still be on its way.
    const end = text.lastIndexOf('\n') + 1;
    for (const line of text.slice(readTo, end).split('\n')) {
      if (!line.startsWith('{')) continue;
      try {
        lines.push(JSON.parse(line) as Record<string, unknown>);
      } catch {
        // Not a line of the log.
      }
    }
    readTo = end;
    return [...lines];
  };
}

async function readyPorts(
  child: ChildProcess,
  known: GatewayPorts | undefined,
  logs: () => Record<string, unknown>[],
  everything: () => string,
): Promise<GatewayPorts> {
  const deadline = Date.now() + START_TIMEOUT_MS;
  while (Date.now() < deadline) {
    if (known !== undefined && (await isReady(known.management))) return known;
    const ready = logs().find((line) => line['msg'] === 'headgate is ready');
    if (ready !== undefined) {
      return { management: portOf(ready['management']), proxy: portOf(ready['proxy']) };
    }
    if (child.exitCode !== null) break;
    await new Promise((done) => setTimeout(done, 10));
  }
  child.kill('SIGKILL');
  throw new Error(`The gateway did not start:\n${everything()}`);
}

async function isReady(managementPort: number): Promise<boolean> {
  try {
    const response = await fetch(`http://127.0.0.1:${managementPort}/readyz`);
    await response.arrayBuffer();
    return response.ok;
  } catch {
    return false;
  }
}

function portOf(address: unknown): number {
  return Number(String(address).split(':').at(-1));
}

async function call(
  base: string,
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const url = path.startsWith('//') ? base + path.slice(1) : `${base}/api/v1${path}`;
  const response = await fetch(url, {
    method,
    headers: {
      authorization: `Bearer ${ADMIN_TOKEN}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    redirect: 'manual',
  });
  const text = await response.text();
  const isJson = /json/.test(response.headers.get('content-type') ?? '');
  return {
    status: response.status,
    headers: response.headers,
    body: text === '' ? undefined : isJson ? JSON.parse(text) : text,
  };
}
