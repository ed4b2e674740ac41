/**
 * The Debian package, installed by dpkg into a root of its own that has little more than what it depends on, started
 * there as its user, and purged. `npm test` copies that root from the Debian of this machine; `npm run test:packages`
 * has a plain one from the Debian mirror. There is no systemd in that root: test/packages/systemd.packages.ts has one.
 */
import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  globSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freePort } from '../../support/backends/origin-process.ts';
import { startGateway } from '../../support/gateway.ts';
import { componentsOf, expectChecksums } from '../../support/programs/bill-of-materials.ts';
import { makeDebianRoot } from '../../support/programs/debian-root.ts';
import { expectWorkingGateway } from '../../support/programs/installed-gateway.ts';
import { madePackages, PACKAGING_MS } from '../../support/programs/made-package.ts';
import { brokenLinksBelow } from '../../support/programs/page-links.ts';
import { copyDebianRoot } from '../../support/programs/own-debian-root.ts';
import { run, type Finished } from '../../support/programs/programs.ts';
import { noteNotTried, missingForRoots, TRIES_ALL } from '../../support/programs/tried-here.ts';

/** What the package depends on. */
const DEPENDENCIES = ['libc6', 'libgcc-s1', 'libstdc++6', 'passwd'];

let folder = '';
let root = '';
const inRoot = (path: string): string => join(root, path);

/** In the root, with a /proc of its own processes. */
function chrooted(user: string, ...command: readonly string[]): string[] {
  const script = `mount -t proc proc "$0/proc" && mount --bind /dev "$0/dev" &&
exec chroot --userspec=${user} "$0" "$@"`;
  return ['unshare', '--mount', 'sh', '-ec', script, root, ...command];
}
const asRoot = async (...command: readonly string[]): Promise<Finished> => {
  const [program = '', ...args] = chrooted('root:root', ...command);
  return run(program, args, {
    env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', DEBIAN_FRONTEND: 'noninteractive' },
  });
};

const missing = missingForRoots('dpkg', 'dpkg-deb');
it('the Debian package is tried here', (context) => {
  const note = noteNotTried(context, 'the Debian package', missing, 'test/integration/packages/deb.test.ts');
  expect(note).toBeUndefined();
});

describe.skipIf(missing !== undefined)('the Debian package', () => {
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'headgate-deb-'));
    root = join(folder, 'root');
    const [deb = ''] = madePackages(folder, 'deb');
    if (TRIES_ALL) makeDebianRoot(root);
    else copyDebianRoot(root, DEPENDENCIES);
    execFileSync('cp', [deb, inRoot('tmp/headgate.deb')]);
    process.stdout.write(`the Debian package has ${(statSync(deb).size / 1e6).toFixed(1)} MB\n`);
  }, PACKAGING_MS);
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it('installs on Debian, with its own user and with files that others cannot read', async () => {
    expect(await asRoot('dpkg', '--install', '/tmp/headgate.deb')).toMatchObject({ code: 0 });
    const passwd = readFileSync(inRoot('etc/passwd'), 'utf8');
    const [, uid] = /^headgate:x:(\d+):/m.exec(passwd) ?? [];
    expect(statSync(inRoot('var/lib/headgate'))).toMatchObject({ uid: Number(uid) });
    expect(statSync(inRoot('var/lib/headgate')).mode & 0o777).toBe(0o700);
    expect(statSync(inRoot('etc/headgate/headgate.env')).mode & 0o777).toBe(0o600);
    expect((await asRoot('headgate', '--version')).stdout).toMatch(/^\d/);
    // Nothing but what the package needs to be there.
    expect((await asRoot('dpkg', '--verify', 'headgate')).stdout).toBe('');
  });

  it('has pages whose links lead to files that it installs', () => {
    for (const path of ['usr/share/doc/headgate/index.md', 'usr/share/headgate/observability/README.md'])
      expect(existsSync(inRoot(path))).toBe(true);
    expect(brokenLinksBelow(root, 'usr/share/{doc,}/headgate/**/*.md')).toEqual([]);
  });

  it('has a bill of materials with Node.js and what is in it, a copyright file, and a checksum', async () => {
    const bill = readFileSync(inRoot('usr/lib/headgate/sbom.cdx.json'), 'utf8');
    const components = componentsOf(bill);
    const node = (await asRoot('/usr/lib/headgate/node/bin/node', '--version')).stdout.trim();
    expect(components).toContainEqual(expect.objectContaining({ name: 'node', version: node.slice(1) }));
    expect(components.map(({ name }) => name)).toEqual(expect.arrayContaining(['openssl', 'v8', 'fastify']));
    // Those of the system are packages of their own.
    expect(components.filter(({ purl }) => purl?.startsWith('pkg:deb/'))).toEqual([]);
    const copyright = readFileSync(inRoot('usr/share/doc/headgate/copyright'), 'utf8');
    for (const text of ['Apache License', 'fastify ', 'OpenSSL, located at'])
      expect(copyright).toContain(text);
    await expectChecksums(folder, /^headgate_[\d.]+_\w+\.deb$/);
  });

  it('is a gateway that its user starts', async () => {
    const ports = { management: await freePort(), proxy: await freePort() };
    const gateway = await startGateway({
      command: chrooted('headgate:headgate', '/usr/bin/headgate'),
      ports,
      env: {
        HOME: '/var/lib/headgate',
        GATEWAY_DATABASE_URL: 'sqlite:///var/lib/headgate/headgate.db',
        GATEWAY_SERVER__SWAGGER_ENABLED: 'true',
      },
    });
    try {
      await expectWorkingGateway(gateway);
    } finally {
      expect(await gateway.stop()).toBe(0);
    }
    expect(existsSync(inRoot('var/lib/headgate/headgate.db'))).toBe(true);
  });

  it('keeps settings through an upgrade and data through a removal, and a purge deletes both', async () => {
    writeFileSync(inRoot('etc/headgate/headgate.env'), 'GATEWAY_PROXY__PORT=8081\n');
    expect(await asRoot('dpkg', '--install', '/tmp/headgate.deb')).toMatchObject({ code: 0 });
    makeOtherRelease(inRoot('tmp/headgate.deb'), inRoot('tmp/other.deb'));
    expect(await asRoot('dpkg', '--install', '/tmp/other.deb')).toMatchObject({ code: 0 });
    expect(readFileSync(inRoot('etc/headgate/headgate.env'), 'utf8')).toBe('GATEWAY_PROXY__PORT=8081\n');
    expect(await asRoot('dpkg', '--remove', 'headgate')).toMatchObject({ code: 0 });
    expect(existsSync(inRoot('usr/lib/headgate'))).toBe(false);
    expect(existsSync(inRoot('var/lib/headgate/headgate.db'))).toBe(true);
    expect(existsSync(inRoot('etc/headgate/headgate.env'))).toBe(true);
    expect(await asRoot('dpkg', '--purge', 'headgate')).toMatchObject({ code: 0 });
    for (const path of ['var/lib/headgate', 'etc/headgate', 'usr/bin/headgate'])
      expect(existsSync(inRoot(path))).toBe(false);
    expect(readFileSync(inRoot('etc/passwd'), 'utf8')).not.toContain('headgate');
  });
});

/**
 * A release with another text in the file of settings: an upgrade must not ask which of the two to keep. It has no
 * Node.js, most of a package, as nothing starts it.
 */
function makeOtherRelease(deb: string, other: string): void {
  const tree = `${other}.tree`;
  execFileSync('dpkg-deb', ['--raw-extract', deb, tree]);
  const templates = globSync('{etc,usr/share}/headgate/headgate.env', { cwd: tree });
  expect(templates).toHaveLength(1);
  for (const path of templates) appendFileSync(join(tree, path), '# One more comment.\n');
  rmSync(join(tree, 'usr/lib/headgate/node'), { recursive: true });
  execFileSync('sed', ['-i', 's/^Version: .*/Version: 99.0.0/', join(tree, 'DEBIAN/control')]);
  execFileSync('dpkg-deb', ['-Znone', '--build', tree, other]);
  rmSync(tree, { recursive: true });
}
