/**
 * curl moves 256 MiB through the gateway in each direction and framing, with a backend that makes and consumes
 * the bytes without keeping them, and the gateway's memory stays where it was: bodies are streamed.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  mkdtempSync,
  openSync,
  closeSync,
  ftruncateSync,
  rmSync,
  writeSync,
  createReadStream,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  bodyOf,
  digestOf,
  startByteStreamOrigin,
  type ByteStreamOrigin,
  type Digest,
} from '../../support/backends/byte-stream.ts';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { watchMemory, type MemoryUse } from '../../support/measure/process-memory.ts';
import { finished, plainEnvironment, requireProgram, run } from '../../support/programs/programs.ts';

const MEBIBYTE = 1024 * 1024;
/** Four times of what the memory may grow by. */
const BODY_BYTES = 256 * MEBIBYTE;
/** Above what the process held before: socket buffers in flight and garbage that is not yet collected. */
const GROWTH_BYTES_MAX = 64 * MEBIBYTE;
const AHEAD_BYTES_MAX = 64 * MEBIBYTE;

let curl: string;
let folder: string;
let origin: ByteStreamOrigin;
let gateway: TestGateway;
let expected: Digest;

beforeAll(async () => {
  curl = requireProgram('curl');
  folder = mkdtempSync(join(tmpdir(), 'headgate-curl-'));
  origin = await startByteStreamOrigin();
  gateway = await startGateway();
  await gateway.must('POST', '/apps', { name: 'Bytes', slug: 'bytes', gateway_path: '/bytes' });
  await gateway.must('POST', '/apps/bytes/versions', { version: 'v1' });
  await gateway.must('POST', '/apps/bytes/versions/v1/revisions', {
    revision: 'r1',
    backend_scheme: 'http',
    backend_host: '127.0.0.1',
    backend_port: origin.port,
    is_current: true,
  });
  expected = await digestOf(bodyOf(BODY_BYTES));
  // A first small exchange, so that what is loaded lazily does not count as growth.
  await download(`/sized/${8 * MEBIBYTE}`);
});

afterAll(async () => {
  await gateway?.stop();
  await origin?.close();
  if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
});

const options = () => ({ env: plainEnvironment(folder) });
const url = (path: string): string => `${gateway.proxy}/bytes/v1${path}`;
const watched = (work: () => Promise<void>): Promise<MemoryUse> =>
  watchMemory(gateway.process.pid ?? 0, work);

async function download(path: string): Promise<Digest> {
  const child = spawn(curl, ['--fail', '--silent', '--show-error', url(path)], {
    ...options(),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [digest, [code]] = await Promise.all([digestOf(child.stdout), once(child, 'close')]);
  expect(code).toBe(0);
  return digest;
}

function expectFlat(use: MemoryUse): void {
  expect(use.duringBytes.length).toBeGreaterThan(0);
  expect(use.peakBytes - use.beforeBytes).toBeLessThan(GROWTH_BYTES_MAX);
  expect(use.afterBytes - use.beforeBytes).toBeLessThan(GROWTH_BYTES_MAX);
}

describe('curl', { timeout: 120_000 }, () => {
  it.each(['sized', 'chunked'])('downloads 256 MiB, %s, with flat memory', async (framing) => {
    let digest: Digest | undefined;
    const use = await watched(async () => {
      digest = await download(`/${framing}/${BODY_BYTES}`);
    });
    expect(digest).toEqual(expected);
    expectFlat(use);
  });

  it('uploads 256 MiB from a pipe, chunked, with flat memory', async () => {
    let answer = '';
    const use = await watched(async () => {
      const child = spawn(curl, ['--fail', '--silent', '--show-error', '-T', '-', url('/upload')], {
        ...options(),
        stdio: ['pipe', 'pipe', 'pipe'],
      });
      pipeline(bodyOf(BODY_BYTES), child.stdin, () => undefined);
      const { code, stdout, stderr } = await finished(child);
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      answer = stdout;
    });
    expect(JSON.parse(answer)).toEqual({ ...expected, framing: 'chunked' });
    expectFlat(use);
  });

  it('uploads a file of 256 MiB with its length, asking for 100 (Continue) first, with flat memory', async () => {
    const path = join(folder, 'file');
    writeSparseFile(path, BODY_BYTES);
    let trace = '';
    let answer = '';
    const use = await watched(async () => {
      const { code, stdout, stderr } = await run(
        curl,
        ['--fail', '--silent', '--verbose', '-T', path, url('/upload')],
        options(),
      );
      expect(code).toBe(0);
      answer = stdout;
      trace = stderr;
    });
    expect(trace).toMatch(/^> Expect: 100-continue/m);
    expect(trace).toMatch(/^< HTTP\/1\.1 100 Continue/m);
    const digest = await digestOf(createReadStream(path, { highWaterMark: MEBIBYTE }));
    expect(digest.bytes).toBe(BODY_BYTES);
    expect(JSON.parse(answer)).toEqual({ ...digest, framing: String(BODY_BYTES) });
    expectFlat(use);
  });

  it('a slow reader holds the backend back, does not fill the gateway, and takes its download with it', async () => {
    const before = origin.produced();
    const use = await watched(async () => {
      const child = spawn(curl, ['--silent', '--limit-rate', '4M', url(`/sized/${BODY_BYTES}`)], {
        ...options(),
        stdio: ['ignore', 'pipe', 'ignore'],
      });
      let received = 0;
      for await (const chunk of child.stdout as AsyncIterable<Buffer>) {
        received += chunk.length;
        if (received > 20 * MEBIBYTE) break;
      }
      child.kill();
    });
    // What is ahead of the client is in the sockets of three processes, whose buffers the kernel bounds.
    expect(origin.produced() - before).toBeLessThan(AHEAD_BYTES_MAX);
    expectFlat(use);
    await expect.poll(() => origin.downloads()).toBe(0);
  });
});

/** A file with a number at every 64 KiB and holes between: long, but little of it on the disk. */
function writeSparseFile(path: string, bytes: number): void {
  const file = openSync(path, 'w');
  const mark = Buffer.alloc(8);
  for (let at = 0; at < bytes; at += 65_536) {
    mark.writeBigUInt64BE(BigInt(at) + 1n);
    writeSync(file, mark, 0, mark.length, at);
  }
  ftruncateSync(file, bytes);
  closeSync(file);
}
