/**
 * Packages for the processor that this machine does not have: what they are named and labelled, and that every program
 * and library in them is for it. The image needs Debian's libraries for that processor, and `apt-get` adds them; its
 * gateway serves on a processor that QEMU emulates. Needs root and the right to mount.
 */
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { copyFileSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { readElf } from '../../scripts/package/node/elf.ts';
import { freePort } from '../support/backends/origin-process.ts';
import { until } from '../support/measure/until.ts';
import { expectChecksums } from '../support/programs/bill-of-materials.ts';
import { madePackages } from '../support/programs/made-package.ts';

const [OTHER, DEBIAN, EMULATOR] =
  process.arch === 'x64' ? ['arm64', 'arm64', 'qemu-aarch64-static'] : ['x64', 'amd64', 'qemu-x86_64-static'];
/** An emulated start takes some ten times as long. */
const START_MS = 120_000;

let folder = '';
/** The files of the image, and what it starts. */
let imageRoot = '';
let entrypoint: readonly string[] = [];
let gateway: ChildProcess | undefined;
beforeAll(() => void (folder = mkdtempSync(join(tmpdir(), 'headgate-other-'))));
afterAll(() => {
  gateway?.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});

const made = (kind: string): string => {
  const [path = ''] = madePackages(folder, kind, '--arch', OTHER);
  return path;
};

/** Of all programs and libraries below a folder. */
function machinesBelow(root: string): string[] {
  const files = globSync('**/{node,*.so,*.so.*}', { cwd: root, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name));
  expect(files.length).toBeGreaterThan(0);
  return [...new Set(files.map((path) => readElf(path).machine))];
}

function unpacked(name: string): string {
  const place = join(folder, name);
  mkdirSync(place);
  return place;
}

it('the Debian package is for it, and has its Node.js', async () => {
  const deb = made('deb');
  expect(basename(deb)).toMatch(new RegExp(`^headgate_[\\d.]+_${DEBIAN}\\.deb$`));
  expect(execFileSync('dpkg-deb', ['--field', deb, 'Architecture'], { encoding: 'utf8' }).trim()).toBe(
    DEBIAN,
  );
  const root = unpacked('deb');
  execFileSync('dpkg-deb', ['--extract', deb, root]);
  expect(machinesBelow(root)).toEqual([OTHER]);
  await expectChecksums(folder, /\.deb$/);
});

it('the npm package of Node.js is for it', () => {
  const root = unpacked('npm');
  execFileSync('tar', ['-xzf', made('npm-node'), '-C', root]);
  const manifest = JSON.parse(readFileSync(join(root, 'package/package.json'), 'utf8')) as object;
  expect(manifest).toMatchObject({ name: `headgate-node-linux-${OTHER}`, os: ['linux'], cpu: [OTHER] });
  expect(machinesBelow(root)).toEqual([OTHER]);
});

it('the image is for it, with its libraries', () => {
  const packages = ['libc6', 'libgcc-s1', 'libstdc++6'].map((name) => `${name}:${DEBIAN}`);
  packages.push('qemu-user-static');
  execFileSync('dpkg', ['--add-architecture', DEBIAN]);
  execFileSync('apt-get', ['update', '-qq'], { stdio: 'ignore' });
  execFileSync('apt-get', ['install', '-y', '-qq', '--no-install-recommends', ...packages], {
    stdio: 'ignore',
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
  });
  const layout = unpacked('image');
  execFileSync('tar', ['-xf', made('image'), '-C', layout]);
  const jsonOf = (path: string): unknown => JSON.parse(readFileSync(join(layout, path), 'utf8'));
  const blobOf = ({ digest }: { digest: string }): string => `blobs/${digest.replace(':', '/')}`;
  interface Described {
    readonly digest: string;
    readonly platform: object;
  }
  const { manifests } = jsonOf('index.json') as { manifests: [Described] };
  const { config, layers } = jsonOf(blobOf(manifests[0])) as { config: Described; layers: Described[] };
  expect(manifests[0].platform).toEqual({ architecture: DEBIAN, os: 'linux' });
  const described = jsonOf(blobOf(config)) as { config: { Entrypoint: string[] } };
  expect(described).toMatchObject({ architecture: DEBIAN });
  entrypoint = described.config.Entrypoint;
  const root = unpacked('image-root');
  for (const layer of layers) execFileSync('tar', ['-xzf', join(layout, blobOf(layer)), '-C', root]);
  expect(machinesBelow(root)).toEqual([OTHER]);
  imageRoot = root;
});

it('its gateway serves', { timeout: 2 * START_MS }, async () => {
  copyFileSync(join('/usr/bin', EMULATOR), join(imageRoot, EMULATOR));
  const [management, traffic] = [await freePort(), await freePort()];
  const settings = {
    GATEWAY_DATABASE_URL: 'sqlite:///var/lib/headgate/headgate.db',
    GATEWAY_SERVER__PORT: String(management),
    GATEWAY_PROXY__PORT: String(traffic),
    GATEWAY_WORKERS: '1',
    GATEWAY_ADMIN_TOKEN: 'a-token-for-this-test',
    // Emulated threads take long for their first steps.
    GATEWAY_WORKER_STALL_TIMEOUT_MS: String(START_MS),
  };
  const variables = Object.entries(settings).flatMap(([name, value]) => ['-E', `${name}=${value}`]);
  // In a mount namespace, so that nothing stays mounted.
  const script = `mount --rbind /proc "$0/proc" && mount --rbind /dev "$0/dev" && exec chroot --userspec=10001:10001 "$0" "$@"`;
  const words = [imageRoot, `/${EMULATOR}`, ...variables, ...entrypoint, 'start'];
  const started = spawn('unshare', ['--mount', 'sh', '-c', script, ...words], {
    env: { PATH: process.env['PATH'] },
  });
  gateway = started;
  let output = '';
  for (const stream of [started.stdout, started.stderr])
    stream.on('data', (chunk) => (output += String(chunk)));
  const call = async (url: string, init?: RequestInit): Promise<number> => {
    if (started.exitCode !== null) throw new Error(output);
    return fetch(url, init).then(
      ({ status }) => status,
      () => 0,
    );
  };
  const api = `http://127.0.0.1:${management}`;
  await until(async () => (await call(`${api}/readyz`)) === 200, START_MS);
  const headers = { Authorization: 'Bearer a-token-for-this-test', 'Content-Type': 'application/json' };
  const body = JSON.stringify({ name: 'shop', slug: 'shop', gateway_path: '/shop' });
  expect(await call(`${api}/api/v1/apps`, { method: 'POST', headers, body })).toBe(201);
  expect(await call(`http://127.0.0.1:${traffic}/shop/v1`)).toBe(404);
  const ended = new Promise((resolve) => started.once('exit', resolve));
  started.kill('SIGTERM');
  expect(await ended, output).toBe(0);
});
