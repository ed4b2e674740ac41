/**
 * The README's first route: its commands, run by a shell as they are written there, against a gateway that was
 * started for the first time in an empty folder. Only port numbers are replaced, and only those that are taken.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import * as net from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freePort } from '../../support/backends/origin-process.ts';
import { plainEnvironment, requireProgram } from '../../support/programs/programs.ts';
import { shellBlocks } from '../../support/programs/readme.ts';
import { openShell } from '../../support/programs/shell.ts';

const START = resolve(import.meta.dirname, '../../../scripts/start.sh');
/** What the example requests. */
const SERVED = resolve(import.meta.dirname, '../../../docs/README.md');
const START_TIMEOUT_MS = 60_000;
const BACKEND_PORT = 9000;
const MANAGEMENT_PORT = 9090;
const PROXY_PORT = 8080;
const LIMIT = 100;

let folder: string;
let gateway: ChildProcess;
let output = '';
/** By the number in the README. */
const ports = new Map<number, number>();

beforeAll(async () => {
  requireProgram('curl');
  requireProgram('python3');
  requireProgram('bash');
  folder = mkdtempSync(join(tmpdir(), 'headgate-readme-'));
  mkdirSync(join(folder, 'docs'));
  copyFileSync(SERVED, join(folder, 'docs/README.md'));
  for (const port of [BACKEND_PORT, MANAGEMENT_PORT, PROXY_PORT]) ports.set(port, await portFor(port));
  gateway = spawn('sh', [START], {
    cwd: folder,
    env: {
      ...plainEnvironment(folder),
      ...setWhenTaken('GATEWAY_SERVER__PORT', MANAGEMENT_PORT),
      ...setWhenTaken('GATEWAY_PROXY__PORT', PROXY_PORT),
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  await new Promise<void>((done, fail) => {
    for (const stream of [gateway.stdout, gateway.stderr]) {
      stream?.setEncoding('utf8').on('data', (chunk: string) => {
        output += chunk;
        if (output.includes('headgate is ready')) done();
      });
    }
    gateway.once('exit', () => fail(new Error(`The gateway did not start:\n${output}`)));
  });
}, START_TIMEOUT_MS);

afterAll(async () => {
  if (gateway?.exitCode === null) {
    const ended = new Promise((done) => gateway.once('exit', done));
    gateway.kill('SIGTERM');
    await ended;
  }
  if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
});

/** The port itself when it is free, else any free one. */
async function portFor(wanted: number): Promise<number> {
  const server = net.createServer();
  const isFree = await new Promise<boolean>((done) => {
    server.once('error', () => done(false));
    server.listen(wanted, () => done(true));
  });
  if (!isFree) return freePort();
  await new Promise((done) => server.close(done));
  return wanted;
}

function setWhenTaken(name: string, port: number): Record<string, string> {
  const actual = ports.get(port);
  return actual === port ? {} : { [name]: String(actual) };
}

function withPorts(text: string): string {
  let result = text;
  for (const [written, actual] of ports) result = result.replaceAll(String(written), String(actual));
  return result;
}

describe('README.md', { timeout: 60_000 }, () => {
  it('the first start makes an admin token, shows it once and keeps it for its owner alone', () => {
    const path = join(folder, 'data/admin-token');
    const token = readFileSync(path, 'utf8').trim();
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(output.split(token)).toHaveLength(2);
  });

  it('the five calls make a route that needs a key and is limited', async () => {
    const blocks = shellBlocks('The first route in five calls').map(withPorts);
    const [preparation = '', ...calling] = blocks;
    const calls = calling.flatMap((block) => block.trim().split('\n'));
    expect(calls).toHaveLength(5);
    const shell = openShell(folder, plainEnvironment(folder));
    try {
      await shell.type(preparation);
      const backend = `http://127.0.0.1:${ports.get(BACKEND_PORT)}/`;
      await expect.poll(() => statusOf(backend)).toBe(200);
      expect(await statusOf(`${backend}data/admin-token`), 'the backend must not serve the token').toBe(404);

      for (const call of calls.slice(0, 3)) {
        const answer = await shell.type(call);
        expect(JSON.parse(answer)).toMatchObject({ status: 201, data: { id: expect.any(String) } });
      }
      await shell.type(calls[3] ?? '');
      const key = await shell.type('printf %s "$KEY"');
      expect(key).toMatch(/^hgk_[\w-]{49}$/);
      const [head = '', body] = (await shell.type(calls[4] ?? '')).split(/\r\n\r\n(.*)/s);
      expect(head).toMatch(/^HTTP\/1\.1 200 /);
      expect(body).toBe(readFileSync(SERVED, 'latin1'));
      await expectKeyAndLimit(key);
    } finally {
      await shell.close();
    }
  });
});

/** "Without the key the same request gets 401, the 101st within one minute of the clock gets 429 with Retry-After." */
async function expectKeyAndLimit(key: string): Promise<void> {
  const url = `http://127.0.0.1:${ports.get(PROXY_PORT)}/demo/v1/README.md`;
  expect(await statusOf(url)).toBe(401);
  // A new minute may begin meanwhile, but not two.
  for (let count = 0; count < 2 * LIMIT; count++) {
    const response = await fetch(url, { headers: { authorization: `Bearer ${key}` } });
    await response.arrayBuffer();
    if (response.status === 200) continue;
    expect(response.status).toBe(429);
    expect(Number(response.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    expect(Number(response.headers.get('retry-after'))).toBeLessThanOrEqual(60);
    return;
  }
  expect.unreachable('the limit was never reached');
}

async function statusOf(url: string): Promise<number | undefined> {
  try {
    const response = await fetch(url);
    await response.arrayBuffer();
    return response.status;
  } catch {
    return undefined;
  }
}
