/**
 * Runs a page of the docs as a reader would: its `sh` blocks in order, typed into one shell, in a folder with a
 * gateway that was started there for the first time. Where a `text` block follows a block, that must be what it prints.
 * Ports are replaced by free ones, nothing else. A page that starts gateways itself gets none.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { freePort } from '../backends/origin-process.ts';
import { COMPILE_CACHE, MAIN, SHORT_LIVED, START_FLAGS } from '../gateway.ts';
import { CONSOLE_VARIABLE } from './program.ts';
import { plainEnvironment } from './programs.ts';
import { openShell, type Shell } from './shell.ts';

const ROOT = resolve(import.meta.dirname, '../../..');
const START_TIMEOUT_MS = 60_000;
/** As the pages write them: traffic, management, backends. */
const PORTS = ['8080', '9090', '9001', '9002'];

/**
 * What a page may leave in the folder: what a gateway and this test make, and a token that the reader keeps. The log of
 * a gateway that goes on belongs to it.
 */
const KEPT = /^(?:bin|data|errors\.txt|package\.json|prometheus-token|.*\.log)$/;

export interface Step {
  /** Of the block in the page, from 1. */
  readonly line: number;
  readonly script: string;
  /** What it prints; undefined where the page does not say. */
  readonly expected: string | undefined;
}

/** The steps of a page in order. */
export function stepsOf(page: string): Step[] {
  const blocks = /^```sh\n(.*?)^```\n(?:\n```text\n(.*?)^```$)?/gms;
  return [...page.matchAll(blocks)].map((match) => ({
    line: page.slice(0, match.index).split('\n').length,
    script: match[1] ?? '',
    expected: match[2],
  }));
}

/**
 * Whether a block printed what the page shows. `...` stands for any text within a line, and for any number of lines
 * where it is a line of its own; white space at the ends of lines does not count.
 */
export function isPrinted(expected: string, printed: string): boolean {
  const lines = (text: string): string[] =>
    text
      .trim()
      .split('\n')
      .map((line) => line.trim());
  const pattern = lines(expected)
    .map((line) => (line === '...' ? '(?:.*\n)*?' : `${line.split('...').map(literally).join('.*')}\n`))
    .join('');
  return new RegExp(`^${pattern}$`).test(`${lines(printed).join('\n')}\n`);
}

function literally(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}

/**
 * Runs a page of docs/. The first step that fails or prints something else, with all that it printed; undefined: none.
 * @param replacements what the page has for what only this run knows, such as the address of a server
 */
export async function runPage(
  path: string,
  replacements: Readonly<Record<string, string>> = {},
): Promise<string | undefined> {
  const ports = new Map<string, string>();
  for (const port of PORTS) ports.set(port, String(await freePort()));
  const actual = (text: string): string =>
    text.replace(/\b(?:8080|9090|900[12])\b/g, (port) => ports.get(port) ?? port);
  let page = actual(readFileSync(join(ROOT, path), 'utf8'));
  for (const [written, there] of Object.entries(replacements)) page = page.replaceAll(written, there);
  const steps = stepsOf(page);
  const folder = mkdtempSync(join(tmpdir(), 'headgate-page-'));
  makeCommand(folder, path);
  // As in a checkout, where a program of a page with the ending .js would be an ES module.
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }\n');
  const env = {
    ...plainEnvironment(folder),
    GATEWAY_PROXY__PORT: actual('8080'),
    GATEWAY_SERVER__PORT: actual('9090'),
    // No page is about workers.
    GATEWAY_WORKERS: '1',
    GATEWAY_WORKER_SPARE: 'false',
  };
  const shell = openShell(folder, env);
  let gateway: ChildProcess | undefined;
  try {
    if (!steps.some(({ script }) => script.includes('bin/headgate start'))) {
      gateway = await startGateway(folder, env);
    }
    await shell.type(`exec 2>errors.txt; trap 'FAILED="$BASH_COMMAND"' ERR`);
    for (const step of steps) {
      const problem = await runStep(step, shell, join(folder, 'errors.txt'));
      if (problem !== undefined) return `${path}:${step.line}: ${problem}`;
    }
    const left = leftIn(folder);
    return left.length === 0
      ? undefined
      : `${path} leaves ${left.join(', ')} in the folder; expected a clean-up at its end`;
  } finally {
    await shell.type('kill $(jobs -p); wait');
    await shell.close();
    await stop(gateway);
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * bin/headgate of the folder. The tutorial gets that of this checkout, which looks at each call for changes of the
 * sources; this costs more than most commands, so the other pages get one that runs the program, as packages have it.
 */
function makeCommand(folder: string, page: string): void {
  if (page.startsWith('docs/tutorial/')) return symlinkSync(join(ROOT, 'bin'), join(folder, 'bin'));
  mkdirSync(join(folder, 'bin'));
  const lines = [
    '#!/bin/sh',
    `export NODE_COMPILE_CACHE="${COMPILE_CACHE}"`,
    `case "\${1:-start}" in start | -*) export GATEWAY_CONSOLE__FOLDER="${process.env[CONSOLE_VARIABLE] ?? ''}" ;;`,
    // Commands start faster without the flags of a gateway.
    `*) exec "${process.execPath}" --disable-warning=ExperimentalWarning "${MAIN}" "$@" ;; esac`,
    `exec "${process.execPath}" ${[...START_FLAGS, ...SHORT_LIVED].join(' ')} "${MAIN}" "$@"`,
  ];
  writeFileSync(join(folder, 'bin/headgate'), `${lines.join('\n')}\n`, { mode: 0o755 });
}

/** Hidden files belong to the shell and its programs. */
function leftIn(folder: string): string[] {
  return readdirSync(folder).filter((name) => !KEPT.test(name) && !name.startsWith('.'));
}

async function runStep(step: Step, shell: Shell, errors: string): Promise<string | undefined> {
  const printed = Buffer.from(await shell.type(step.script), 'latin1').toString();
  const failed = await shell.type('printf %s "$FAILED"');
  const told = (): string => `${printed}\n${readFileSync(errors, 'utf8')}`;
  if (failed !== '') return `"${failed}" failed:\n${told()}`;
  if (step.expected === undefined || isPrinted(step.expected, printed)) return undefined;
  return `expected\n${step.expected}\nbut it printed\n${told()}`;
}

async function startGateway(cwd: string, env: Record<string, string>): Promise<ChildProcess> {
  const gateway = spawn('bin/headgate', ['start'], { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  await new Promise<void>((done, fail) => {
    const timer = setTimeout(() => fail(new Error(`The gateway is not ready:\n${output}`)), START_TIMEOUT_MS);
    for (const stream of [gateway.stdout, gateway.stderr]) {
      stream.setEncoding('utf8').on('data', (chunk: string) => {
        if (!output.includes('headgate is ready')) output += chunk;
        if (output.includes('headgate is ready')) done(clearTimeout(timer));
      });
    }
    gateway.once('exit', () => fail(new Error(`The gateway did not start:\n${output}`)));
  });
  return gateway;
}

async function stop(gateway: ChildProcess | undefined): Promise<void> {
  if (gateway === undefined || gateway.exitCode !== null) return;
  const ended = new Promise((done) => gateway.once('exit', done));
  gateway.kill('SIGTERM');
  await ended;
}
