/**
 * Packages for the processor that this machine does not have: what they are named and labelled, and that every program
 * and library in them is for it. The image needs Debian's libraries for that processor, and `apt-get` adds them.
 */
import { execFileSync } from 'node:child_process';
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { readElf } from '../../scripts/package/node/elf.ts';
import { expectChecksums } from '../support/programs/bill-of-materials.ts';
import { madePackages } from '../support/programs/made-package.ts';

const [OTHER, DEBIAN] = process.arch === 'x64' ? ['arm64', 'arm64'] : ['x64', 'amd64'];

let folder = '';
beforeAll(() => void (folder = mkdtempSync(join(tmpdir(), 'headgate-other-'))));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

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
  expect(jsonOf(blobOf(config))).toMatchObject({ architecture: DEBIAN });
  const root = unpacked('image-root');
  for (const layer of layers) execFileSync('tar', ['-xzf', join(layout, blobOf(layer)), '-C', root]);
  expect(machinesBelow(root)).toEqual([OTHER]);
});
