/**
 * The OCI image: its digests, and what it is when it runs, unpacked here and started in namespaces of its own with a
 * read-only root, as a container runtime does. Needs root, for the namespaces; test/packages/podman.packages.ts has a
 * container runtime.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freePort } from '../../support/backends/origin-process.ts';
import { startGateway } from '../../support/gateway.ts';
import { componentsOf, expectChecksums } from '../../support/programs/bill-of-materials.ts';
import { expectWorkingGateway } from '../../support/programs/installed-gateway.ts';
import { madePackages, PACKAGING_MS } from '../../support/programs/made-package.ts';
import { run } from '../../support/programs/programs.ts';
import { noteNotTried, missingForRoots } from '../../support/programs/tried-here.ts';

const BYTES_MAX = 70_000_000;

interface Described {
  readonly digest: string;
  readonly size: number;
}
interface ImageConfig {
  readonly config: {
    readonly User: string;
    readonly Env: readonly string[];
    readonly Entrypoint: readonly string[];
    readonly Cmd: readonly string[];
    readonly WorkingDir: string;
    readonly Healthcheck: { readonly Test: readonly string[] };
  };
  readonly rootfs: { readonly diff_ids: readonly string[] };
}

let folder = '';
let archive = '';
let layout = '';
let root = '';
const blobPath = ({ digest }: Described): string => join(layout, 'blobs', digest.replace(':', '/'));
const jsonOf = (path: string): unknown => JSON.parse(readFileSync(path, 'utf8'));
const manifest = (): { config: Described; layers: Described[] } => {
  const { manifests } = jsonOf(join(layout, 'index.json')) as { manifests: [Described] };
  return jsonOf(blobPath(manifests[0])) as ReturnType<typeof manifest>;
};
const imageConfig = (): ImageConfig => jsonOf(blobPath(manifest().config)) as ImageConfig;

/** As the image says, in a root that cannot be written but for its volume and /tmp. */
function contained(command: readonly string[]): string[] {
  const [uid = ''] = imageConfig().config.User.split(':');
  const script = `mount --bind "$0" "$0" && mount -t proc proc "$0/proc" && mount -t tmpfs tmpfs "$0/tmp" &&
mount -t tmpfs -o mode=700,uid=${uid},gid=${uid} tmpfs "$0/var/lib/headgate" && mount -o remount,bind,ro "$0" &&
exec chroot --userspec=${imageConfig().config.User} "$0" "$@"`;
  return ['unshare', '--mount', '--uts', '--ipc', 'sh', '-ec', script, root, ...command];
}
/** Their files, without links. */
async function sharedLibraries(): Promise<string[]> {
  const { stdout } = await run('find', [root, '-type', 'f', '-name', '*.so*']);
  const found = stdout.trim().split('\n');
  expect(found.length).toBeGreaterThan(5);
  return found;
}
const environment = (): Record<string, string> =>
  Object.fromEntries(imageConfig().config.Env.map((line) => line.split(/=(.*)/s).slice(0, 2)));

const missing = missingForRoots('dpkg', 'ldd');
it('the image is tried here', (context) => {
  const note = noteNotTried(context, 'the image', missing, 'test/integration/packages/image.test.ts');
  expect(note).toBeUndefined();
});

describe.skipIf(missing !== undefined)('the image', () => {
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'headgate-image-'));
    [archive = ''] = madePackages(folder, 'image');
    [layout, root] = [join(folder, 'layout'), join(folder, 'root')];
    for (const path of [layout, root]) mkdirSync(path);
    execFileSync('tar', ['xf', archive, '-C', layout]);
    for (const layer of manifest().layers) execFileSync('tar', ['xpzf', blobPath(layer), '-C', root]);
  }, PACKAGING_MS);
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it('is small', () => {
    expect(statSync(archive).size).toBeLessThan(BYTES_MAX);
    process.stdout.write(`the image has ${(statSync(archive).size / 1e6).toFixed(1)} MB\n`);
  });

  it('is what its digests say', () => {
    const { config, layers } = manifest();
    for (const described of [config, ...layers]) {
      const bytes = readFileSync(blobPath(described));
      expect(`sha256:${createHash('sha256').update(bytes).digest('hex')}`).toBe(described.digest);
      expect(bytes.byteLength).toBe(described.size);
    }
    const unpacked = layers.map((layer) =>
      createHash('sha256')
        .update(execFileSync('gzip', ['-dc', blobPath(layer)], { maxBuffer: 512 * 1_048_576 }))
        .digest('hex'),
    );
    expect(unpacked.map((digest) => `sha256:${digest}`)).toEqual(imageConfig().rootfs.diff_ids);
  });

  it('has a bill of materials with each library in it, and the texts of their licences', async () => {
    const components = componentsOf(readFileSync(join(root, 'opt/headgate/sbom.cdx.json'), 'utf8'));
    const system = components.filter(({ purl }) => purl?.startsWith('pkg:deb/'));
    expect(system.map(({ name, licenses }) => [name, licenses])).toEqual([
      ['libc6', [{ license: { id: 'LGPL-2.1-or-later' } }]],
      ['libgcc-s1', [{ expression: 'GPL-3.0-or-later WITH GCC-exception-3.1' }]],
      ['libstdc++6', [{ expression: 'GPL-3.0-or-later WITH GCC-exception-3.1' }]],
    ]);
    expect(components.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['node', 'openssl', 'sqlite', 'fastify', 'react']),
    );
    const notice = readFileSync(join(root, 'opt/headgate/NOTICE'), 'utf8');
    for (const { name, version } of system) {
      const said = await run('dpkg-query', ['--show', '--showformat=${Version}\\n', name]);
      expect(said.stdout.split('\n')).toContain(version);
      expect(notice).toContain(`${name} ${version} (`);
      const copyright = readFileSync(join(root, `usr/share/doc/${name}/copyright`), 'utf8');
      for (const [path] of copyright.matchAll(/\/usr\/share\/common-licenses\/[A-Za-z]+(?:-[\d.]*\d)?/g))
        expect(readFileSync(join(root, path), 'utf8').length).toBeGreaterThan(1_000);
    }
    // Each library in it is one of a package that is named.
    const libraries = (await sharedLibraries()).map((path) => basename(path));
    const { stdout } = await run('dpkg-query', ['--search', ...libraries.map((name) => `*/${name}`)]);
    const own = stdout.split('\n').filter((line) => system.some(({ name }) => line.startsWith(`${name}:`)));
    for (const library of libraries)
      expect(
        own.some((line) => line.endsWith(`/${library}`)),
        library,
      ).toBe(true);
    await expectChecksums(folder, /^headgate-[\d.]+-\w+\.oci\.tar$/);
  });

  it('has no shell, and nothing that its user could write except its volume and /tmp', async () => {
    const found = await run('find', [root, '-name', 'sh', '-o', '-name', 'bash', '-o', '-name', 'busybox']);
    expect(found.stdout).toBe('');
    const writable = await run('find', [root, '!', '-type', 'l', '-perm', '/0022']);
    expect(writable.stdout.trim()).toBe(join(root, 'tmp'));
    const own = await run('find', [root, '-uid', imageConfig().config.User.split(':')[0] ?? '']);
    expect(own.stdout.trim()).toBe(join(root, 'var/lib/headgate'));
  });

  it('is a gateway with a read-only root and its own user, and checks its own health', async () => {
    const { config } = imageConfig();
    const ports = { management: await freePort(), proxy: await freePort() };
    const env = {
      ...environment(),
      // Without an entry of its own, `unshare` and its helpers are found on the machine.
      PATH: process.env['PATH'] ?? '',
      GATEWAY_SERVER__SWAGGER_ENABLED: 'true',
    };
    const gateway = await startGateway({
      command: contained([...config.Entrypoint, ...config.Cmd]),
      ports,
      env,
    });
    const [, ...healthcheck] = config.Healthcheck.Test;
    const [program = '', ...args] = contained([...healthcheck, '--server', gateway.base]);
    try {
      await expectWorkingGateway(gateway);
      const status = readFileSync(`/proc/${gateway.process.pid}/status`, 'utf8');
      expect(status).toMatch(new RegExp(`^Uid:\\s+${config.User.split(':')[0]}\\s`, 'm'));
      expect(status).toMatch(/^CapEff:\s+0+$/m);
      expect(await run(program, args)).toMatchObject({ code: 0 });
    } finally {
      expect(await gateway.stop()).toBe(0);
    }
    expect(await run(program, args)).toMatchObject({ code: 1 });
  });
});
