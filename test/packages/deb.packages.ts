/**
 * The Debian package, installed by dpkg into a root of its own that has nothing but Debian, started there as its user,
 * and purged. Needs root and debootstrap, which takes the root from the Debian mirror of this machine. There is no
 * systemd in that root: systemd.packages.ts has one.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freePort } from '../support/backends/origin-process.ts';
import { startGateway } from '../support/gateway.ts';
import { makeDebianRoot } from '../support/programs/debian-root.ts';
import { expectWorkingGateway } from '../support/programs/installed-gateway.ts';
import { madePackages } from '../support/programs/made-package.ts';
import { run, type Finished } from '../support/programs/programs.ts';

let folder = '';
let root = '';
let deb = '';
const inRoot = (path: string): string => join(root, path);

/** In the root, with a /proc of its own processes. */
function chrooted(user: string, ...command: readonly string[]): string[] {
  const script = `mount -t proc proc "$0/proc" && exec chroot --userspec=${user} "$0" "$@"`;
  return ['unshare', '--mount', 'sh', '-ec', script, root, ...command];
}
const asRoot = async (...command: readonly string[]): Promise<Finished> => {
  const [program = '', ...args] = chrooted('root:root', ...command);
  return run(program, args, {
    env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', DEBIAN_FRONTEND: 'noninteractive' },
  });
};

beforeAll(() => {
  if (process.getuid?.() !== 0)
    throw new Error('The Debian package is installed into a root of its own: run this as root');
  folder = mkdtempSync(join(tmpdir(), 'headgate-deb-'));
  root = join(folder, 'root');
  [deb = ''] = madePackages(folder, 'deb');
  makeDebianRoot(root);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('the Debian package', () => {
  it('has the same bytes when it is made again', () => {
    const again = join(folder, 'again');
    mkdirSync(again);
    const [other = ''] = madePackages(again, 'deb');
    expect(readFileSync(other).equals(readFileSync(deb))).toBe(true);
    process.stdout.write(`the Debian package has ${(statSync(deb).size / 1e6).toFixed(1)} MB\n`);
  });

  it('installs on plain Debian, with a user of its own and files that others cannot read', async () => {
    execFileSync('cp', [deb, inRoot('tmp/headgate.deb')]);
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
