/** `headgate copy` of a million API keys, to a real PostgreSQL server and back: what it takes of time and memory. */
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { makeKeys } from '../scenarios/copying.ts';
import { MAIN } from '../support/gateway.ts';
import { startPostgres } from '../support/programs/postgres.ts';

const KEYS = 1_000_000;
/** A tenth of what the keys would take as objects. */
const MEMORY_BYTES_MAX = 400_000_000;
const SAMPLE_INTERVAL_MS = 200;

interface Copied {
  readonly code: number | null;
  readonly output: string;
  readonly seconds: number;
  readonly peakBytes: number;
}

async function copy(from: string, to: string): Promise<Copied> {
  const startedMs = performance.now();
  const child = spawn(process.execPath, [MAIN, 'copy', '--from', from, '--to', to], { env: {} });
  let output = '';
  let peakBytes = 0;
  child.stdout.on('data', (chunk: Buffer) => (output += String(chunk)));
  child.stderr.resume();
  const timer = setInterval(() => {
    const [, kilobytes = '0'] = /^VmHWM:\s+(\d+) kB$/m.exec(statusOf(child.pid)) ?? [];
    peakBytes = Math.max(peakBytes, Number(kilobytes) * 1024);
  }, SAMPLE_INTERVAL_MS);
  const code = await new Promise<number | null>((done) => child.once('close', done));
  clearInterval(timer);
  return { code, output, peakBytes, seconds: (performance.now() - startedMs) / 1_000 };
}

/** proc_pid_status(5); empty once the process is gone. */
function statusOf(pid: number | undefined): string {
  try {
    return readFileSync(`/proc/${pid}/status`, 'utf8');
  } catch {
    return '';
  }
}

it('a million keys arrive, a page at a time', { timeout: 1_800_000 }, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-copy-soak-'));
  const server = await startPostgres();
  try {
    await makeKeys(join(folder, 'from.db'), KEYS);
    const url = await server.createDatabase();
    const ways = [
      ['SQLite to PostgreSQL', `sqlite://${join(folder, 'from.db')}`, url],
      ['PostgreSQL to SQLite', url, `sqlite://${join(folder, 'to.db')}`],
    ] as const;
    for (const [name, from, to] of ways) {
      const { code, output, seconds, peakBytes } = await copy(from, to);
      const figures = { seconds: Math.round(seconds), peakMB: Math.round(peakBytes / 1e6) };
      process.stdout.write(`${name}: ${JSON.stringify(figures)}\n`);
      expect(code, output).toBe(0);
      expect(output).toContain(`api_key ${KEYS},`);
      expect(peakBytes).toBeLessThan(MEMORY_BYTES_MAX);
    }
  } finally {
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  }
});
