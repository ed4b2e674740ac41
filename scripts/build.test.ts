import { spawn, spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

const CHECKOUT = join(import.meta.dirname, '..');

/** A checkout with a program of two lines, and the real bundler. */
let root = '';
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'headgate-build-'));
  for (const folder of ['scripts', 'src', 'node_modules']) mkdirSync(join(root, folder));
  for (const name of ['build.sh', 'build.ts'])
    cpSync(join(CHECKOUT, 'scripts', name), join(root, 'scripts', name));
  for (const name of ['rolldown', '@rolldown', '@oxc-project']) {
    const from = join(CHECKOUT, 'node_modules', name);
    if (existsSync(from)) symlinkSync(from, join(root, 'node_modules', name));
  }
  writeFileSync(join(root, 'package.json'), '{"type":"module"}');
  writeFileSync(join(root, 'package-lock.json'), '{}');
  for (const name of ['worker', 'replay-worker', 'import-worker', 'telemetry-worker'])
    writeFileSync(join(root, 'src', `${name}.ts`), 'export {};');
  source('first');
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

function source(text: string): void {
  writeFileSync(join(root, 'src/part.ts'), `export const text: string = '${text}';`);
  writeFileSync(join(root, 'src/main.ts'), `import { text } from './part.ts';\nprocess.stdout.write(text);`);
}

/** As start.sh does, without installing packages; what the program is and what it writes. */
const SCRIPT = `set -eu; ROOT="$1"; NODE="$2"; say() { printf '%s\\n' "$*" >&2; }
. "$ROOT/scripts/build.sh"; echo "$PROGRAM"; "$NODE" "$PROGRAM"`;

function start(): { readonly program: string; readonly output: string; readonly stderr: string } {
  const result = spawnSync('/bin/sh', ['-c', SCRIPT, 'sh', root, process.execPath], { encoding: 'utf8' });
  const [program = '', output = ''] = result.stdout.split('\n');
  return { program, output, stderr: result.stderr };
}

const bundles = (): string[] => readdirSync(join(root, 'dist'));

describe('a start from a checkout', () => {
  it('bundles without comments, but for licences, and in ASCII', () => {
    writeFileSync(
      join(root, 'src/main.ts'),
      "/*! J\u00fcrgen's licence */\n/** Why \u2026 */\nexport const text = 'more \u2026';\nprocess.stdout.write(text);",
    );
    const { program, output } = start();
    expect(output).toBe('more …');
    const bundled = readFileSync(program, 'utf8');
    expect(bundled).toContain(String.raw`/*! J\u00fcrgen's licence */`);
    expect(bundled).not.toMatch(/Why|[\u0080-\uffff]/);
  });

  it('makes one file of the modules that are loaded together, and commands do without those of a start', () => {
    for (const name of ['cli', 'compose', 'part']) mkdirSync(join(root, 'src', name));
    const write = (name: string, text: string): void => writeFileSync(join(root, `src/${name}.ts`), text);
    const parts = ['a', 'b', 'c', 'd'];
    for (const name of parts) write(`part/${name}`, `export const ${name} = 'part-${name}';`);
    const tell = (...names: string[]): string =>
      `${names.map((name) => `import { ${name} } from '../part/${name}.ts';`).join('')}
process.stdout.write([${names.join()}].join());export const told = true;`;
    write('cli/first', tell('a'));
    write('compose/gateway', `${tell('a', 'b', 'c', 'd')}export const later = () => import('../part/c.ts');`);
    write('cli/program', tell('a', 'b'));
    write(
      'main',
      `await import('./cli/first.ts');
if (process.argv[2] === 'command') await import('./cli/program.ts');
else { const { later } = await import('./compose/gateway.ts'); await later(); }`,
    );
    const { program, output } = start();
    expect(output).toBe('part-apart-a,part-b,part-c,part-d');
    expect(spawnSync(process.execPath, [program, 'command'], { encoding: 'utf8' }).stdout).toBe(
      'part-apart-a,part-b',
    );
    const files = readdirSync(join(program, '..')).map((name) =>
      parts
        .filter((part) => readFileSync(join(program, '..', name), 'utf8').includes(`"part-${part}"`))
        .join(''),
    );
    expect(
      files
        .toSorted((one, other) => one.localeCompare(other))
        .join(' ')
        .trim(),
    ).toBe('a b cd');
  });

  it('loads modules of Node.js without what lies behind exports that it does not use', () => {
    writeFileSync(
      join(root, 'src/main.ts'),
      `import process from 'node:process';
import * as net from 'node:net';
import path, { basename as nameOf, sep } from 'node:path';
import { readFileSync } from 'node:fs';
const isThere = path.sep === sep && net.isIPv4('192.0.2.1') && readFileSync(process.argv[1]).length > 0;
const streams = (process as { moduleLoadList?: string[] }).moduleLoadList?.filter((name) => name.endsWith('fs/streams'));
process.stdout.write([nameOf(process.argv[1]), isThere, ...(streams ?? ['unknown'])].join());`,
    );
    expect(start().output).toBe('main.js,true');
  });

  it('bundles the sources once and runs the bundle', () => {
    const first = start();
    expect(first).toMatchObject({ output: 'first' });
    expect(first.program).toContain('/dist/');
    expect(first.stderr).toContain('bundling');
    expect(start()).toEqual({ ...first, stderr: '' });
    expect(bundles()).toHaveLength(1);
  });

  it('never runs a bundle of other sources, whatever their times are', () => {
    const old = start();
    source('other');
    spawnSync('touch', ['-d', '2001-01-01', join(root, 'src/part.ts'), join(root, 'src/main.ts')]);
    expect(start()).toMatchObject({ output: 'other' });
    source('first');
    expect(start()).toEqual({ ...old, stderr: '' });
    // A file more, or another lock file, is another program, too; a test is not.
    writeFileSync(join(root, 'src/part.test.ts'), 'export {};');
    expect(start().program).toBe(old.program);
    writeFileSync(join(root, 'src/more.ts'), 'export {};');
    expect(start().program).not.toBe(old.program);
    writeFileSync(join(root, 'package-lock.json'), '{"lockfileVersion":3}');
    expect(start().stderr).toContain('bundling');
  });

  it('keeps the latest bundles for gateways that run from them, and no more', () => {
    for (const text of ['a', 'b', 'c', 'd', 'e']) {
      source(text);
      expect(start().output).toBe(text);
    }
    expect(bundles()).toHaveLength(3);
  });

  it('runs from the sources when they do not bundle or nothing can be written', () => {
    writeFileSync(join(root, 'src/worker.ts'), 'import "./missing.ts";');
    expect(start()).toMatchObject({ program: join(root, 'src/main.ts'), output: 'first' });
    expect(bundles()).toEqual([]);
    rmSync(join(root, 'dist'), { recursive: true });
    writeFileSync(join(root, 'dist'), 'in the way');
    expect(start()).toMatchObject({ program: join(root, 'src/main.ts'), output: 'first' });
  });

  it('may happen several times at once', async () => {
    const outputs = await Promise.all(
      Array.from({ length: 3 }, async () => {
        const child = spawn('/bin/sh', ['-c', SCRIPT, 'sh', root, process.execPath]);
        const chunks: Buffer[] = [];
        child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
        await new Promise((resolve) => child.on('close', resolve));
        return Buffer.concat(chunks).toString().split('\n')[1];
      }),
    );
    expect(outputs).toEqual(['first', 'first', 'first']);
    expect(start()).toMatchObject({ output: 'first', stderr: '' });
  });
});
