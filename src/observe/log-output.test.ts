import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { FileOutput } from './log-output.ts';

const run = promisify(execFile);
const outputUrl = new URL('log-output.ts', import.meta.url).href;
let folder = '';
beforeAll(() => (folder = mkdtempSync(join(tmpdir(), 'headgate-output-'))));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** A program that uses `standardOutput`, written to a file and started by the test. */
function program(name: string, body: string): string {
  const path = join(folder, `${name}.mjs`);
  writeFileSync(path, `import { standardOutput } from ${JSON.stringify(outputUrl)};\n${body}`);
  return path;
}

/** Runs `write` on a FIFO whose reader starts when the test calls it. */
async function withFifo(
  name: string,
  write: (fd: number, startReading: () => Promise<string>) => Promise<void>,
): Promise<void> {
  const path = join(folder, name);
  await run('mkfifo', [path]);
  const fd = openSync(path, 'r+');
  const startReading = async (): Promise<string> => {
    const reader = spawn('cat', [path], { stdio: ['ignore', 'pipe', 'ignore'] });
    let text = '';
    reader.stdout.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
    // A reader gets the end of file only after the last writer closes; the marker shows that everything has arrived.
    while (!text.includes('END\n')) await sleep(5);
    reader.kill();
    await once(reader, 'exit');
    return text;
  };
  try {
    await write(fd, startReading);
  } finally {
    closeSync(fd);
  }
}

describe('a file', () => {
  it('gets every line in order', async () => {
    const path = join(folder, 'plain.log');
    const fd = openSync(path, 'w');
    const output = new FileOutput(fd);
    const lines = Array.from({ length: 20_000 }, (_, index) => `line ${index}\n`);
    for (const line of lines) output.write(line);
    while (output.queuedBytes > 0) await sleep(2);
    closeSync(fd);
    expect(readFileSync(path, 'utf8')).toBe(lines.join(''));
    expect(output.droppedLines).toBe(0);
  });

  it('gets queued lines when flushed, without an event loop tick', () => {
    const path = join(folder, 'flush.log');
    const fd = openSync(path, 'w');
    const output = new FileOutput(fd);
    output.flushSync();
    for (let index = 0; index < 1_000; index++) output.write(`${'é'.repeat(100)}\n`);
    output.flushSync();
    const lines = readFileSync(path, 'utf8').split('\n').length - 1;
    // One piece may still be in the thread pool; it is not lost, as the next test shows.
    expect(lines).toBeGreaterThan(600);
    expect(output.droppedLines).toBe(0);
    output.flushSync();
  });
});

describe('appended lines', () => {
  it('wait until they fill a write, also while one is under way, or until they are pushed', async () => {
    const path = join(folder, 'appended.log');
    const fd = openSync(path, 'w');
    const output = new FileOutput(fd);
    const line = `${'x'.repeat(99)}\n`;
    const append = (lines: number): void => output.append(Buffer.from(line.repeat(lines)));
    append(1);
    await output.settled();
    expect(output.queuedBytes).toBe(100);
    append(2_640);
    append(1);
    await output.settled();
    const left = output.queuedBytes;
    expect(left).toBeGreaterThan(0);
    expect(readFileSync(path, 'utf8')).toBe(line.repeat(2_642 - left / 100));
    output.push();
    await output.settled();
    expect(output.queuedBytes).toBe(0);
    expect(readFileSync(path, 'utf8')).toBe(line.repeat(2_642));
    closeSync(fd);
  });
});

describe('the end of a process', () => {
  it('loses no line, even if it is abrupt', async () => {
    const path = program(
      'exit',
      `const output = standardOutput();
       for (let i = 0; i < 5000; i++) output.write('line ' + i + ' ' + 'x'.repeat(80) + '\\n');
       process.exit(3);`,
    );
    const child = spawn(process.execPath, [path], { stdio: ['ignore', 'pipe', 'inherit'] });
    let text = '';
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
    const [code] = (await once(child, 'close')) as [number];
    expect(code).toBe(3);
    const numbers = text
      .split('\n')
      .slice(0, -1)
      .map((line) => Number(line.split(' ')[1]));
    expect(numbers.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 5_000 }, (_, index) => index));
  });

  it('is not delayed for long by a stalled reader', async () => {
    const path = program(
      'stuck',
      `const output = standardOutput();
       process.stdout; // makes the descriptor non-blocking, as it is under many supervisors
       output.write(('x'.repeat(99) + '\\n').repeat(20000));
       process.exit(0);`,
    );
    const child = spawn(process.execPath, [path], { stdio: ['ignore', 'pipe', 'inherit'] });
    const [code] = (await once(child, 'exit')) as [number];
    expect(code).toBe(0);
    child.stdout.destroy();
  }, 10_000);
});

describe('several threads on one pipe', () => {
  it('never mix their lines with a slow reader', async () => {
    const path = program(
      'threads',
      `import { Worker, isMainThread, workerData } from 'node:worker_threads';
       if (isMainThread) {
         for (const letter of 'abcd') new Worker(new URL(import.meta.url), { workerData: letter });
       } else {
         const output = standardOutput();
         for (let i = 0; i < 40; i++) output.write((workerData.repeat(299) + '\\n').repeat(200));
       }`,
    );
    const child = spawn(process.execPath, [path], { stdio: ['ignore', 'pipe', 'inherit'] });
    let text = '';
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
      child.stdout.pause();
      setTimeout(() => child.stdout.resume(), 1);
    });
    await once(child, 'close');
    const lines = text.split('\n').slice(0, -1);
    expect(lines.length).toBe(4 * 40 * 200);
    expect(lines.filter((line) => !/^(?:a{299}|b{299}|c{299}|d{299})$/.test(line))).toEqual([]);
  });
});

describe('a reader that stalls', () => {
  it('loses lines beyond the bound, which are counted and reported when it reads again', async () => {
    await withFifo('stall', async (fd, startReading) => {
      const output = new FileOutput(fd, { queueBytesMax: 200_000, gapLine: (lines) => `GAP ${lines}\n` });
      const line = `${'x'.repeat(99)}\n`;
      for (let index = 0; index < 10_000; index++) output.write(line);
      expect(output.queuedBytes).toBeLessThanOrEqual(200_000);
      const dropped = output.droppedLines;
      // The pipe holds some lines itself.
      expect(dropped).toBeGreaterThan(7_000);
      expect(dropped).toBeLessThanOrEqual(8_000);
      const reading = startReading();
      while (output.queuedBytes > 0) await sleep(2);
      output.write('END\n');
      const text = await reading;
      expect(text).toContain(`GAP ${dropped}\n`);
      expect(text.split(line).length - 1 + dropped).toBe(10_000);
    });
  });
});

describe('a descriptor that cannot be written', () => {
  it('counts the lines and does not throw', async () => {
    const path = join(folder, 'closed.log');
    writeFileSync(path, '');
    const fd = openSync(path, 'r');
    const output = new FileOutput(fd);
    output.write('one\ntwo\n');
    while (output.queuedBytes > 0) await sleep(2);
    output.write('three\n');
    output.flushSync();
    while (output.queuedBytes > 0) await sleep(2);
    expect(output.droppedLines).toBe(3);
    closeSync(fd);
  });
});
