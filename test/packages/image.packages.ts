/**
 * The OCI image: its digests, and what it is when it runs, unpacked here and started in namespaces of its own with a
 * read-only root, as a container runtime does. Needs root, for the namespaces.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freePort } from '../support/backends/origin-process.ts';
import { startGateway } from '../support/gateway.ts';
import { expectWorkingGateway } from '../support/programs/installed-gateway.ts';
import { madePackages } from '../support/programs/made-package.ts';
import { run } from '../support/programs/programs.ts';

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

beforeAll(() => {
  if (process.getuid?.() !== 0)
    throw new Error('The image is started in namespaces of its own: run this as root');
  folder = mkdtempSync(join(tmpdir(), 'headgate-image-'));
  [archive = ''] = madePackages(folder, 'image');
  [layout, root] = [join(folder, 'layout'), join(folder, 'root')];
  for (const path of [layout, root]) mkdirSync(path);
  execFileSync('tar', ['xf', archive, '-C', layout]);
  for (const layer of manifest().layers) execFileSync('tar', ['xpzf', blobPath(layer), '-C', root]);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** As the image says, in a root that cannot be written but for its volume and /tmp. */
function contained(command: readonly string[]): string[] {
  const [uid = ''] = imageConfig().config.User.split(':');
  const script = `mount --bind "$0" "$0" && mount -t proc proc "$0/proc" && mount -t tmpfs tmpfs "$0/tmp" &&
mount -t tmpfs -o mode=700,uid=${uid},gid=${uid} tmpfs "$0/var/lib/headgate" && mount -o remount,bind,ro "$0" &&
exec chroot --userspec=${imageConfig().config.User} "$0" "$@"`;
  return ['unshare', '--mount', '--uts', '--ipc', 'sh', '-ec', script, root, ...command];
}
const environment = (): Record<string, string> =>
  Object.fromEntries(imageConfig().config.Env.map((line) => line.split(/=(.*)/s).slice(0, 2)));

describe('the image', () => {
  it('has the same bytes when it is made again, and is small', () => {
    const again = join(folder, 'again');
    mkdirSync(again);
    const [other = ''] = madePackages(again, 'image');
    expect(readFileSync(other).equals(readFileSync(archive))).toBe(true);
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

  it('has no shell, and nothing that its user could write but for its volume and /tmp', async () => {
    const found = await run('find', [root, '-name', 'sh', '-o', '-name', 'bash', '-o', '-name', 'busybox']);
    expect(found.stdout).toBe('');
    const writable = await run('find', [root, '!', '-type', 'l', '-perm', '/0022']);
    expect(writable.stdout.trim()).toBe(join(root, 'tmp'));
    const own = await run('find', [root, '-uid', imageConfig().config.User.split(':')[0] ?? '']);
    expect(own.stdout.trim()).toBe(join(root, 'var/lib/headgate'));
  });

  it('is a gateway with a read-only root and a user of its own, and knows whether it is well', async () => {
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
