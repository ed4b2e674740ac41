/**
 * docs/how-to/deploy-on-debian.md, typed by its reader: on a Debian of its own with systemd, PostgreSQL, Prometheus and
 * an Alertmanager, from the Debian package to an alert. Then what a unit must do beyond the page. Needs root, cgroup2
 * and the Debian mirror of this machine.
 */
import { execFileSync } from 'node:child_process';
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { makeDebianRoot } from '../support/programs/debian-root.ts';
import { isPrinted, stepsOf } from '../support/programs/docs-page.ts';
import { madePackages } from '../support/programs/made-package.ts';
import type { Shell } from '../support/programs/shell.ts';
import { startSystemdMachine, type SystemdMachine } from '../support/programs/systemd-machine.ts';

const PAGE = resolve(import.meta.dirname, '../../docs/how-to/deploy-on-debian.md');
/** There before the page begins, since the machine has no network. */
const PACKAGES = [
  'systemd-sysv',
  'dbus',
  'postgresql',
  'prometheus',
  'prometheus-alertmanager',
  'redis-server',
  'curl',
  'openssl',
  'python3',
  'procps',
];
const ALERT_MS = 300_000;
const MANY_REQUESTS = 45_000;

let folder = '';
let root = '';
let machine: SystemdMachine | undefined;
let shell: Shell;

beforeAll(async () => {
  if (process.getuid?.() !== 0)
    throw new Error('systemd is started in namespaces of its own: run this as root');
  folder = mkdtempSync(join(tmpdir(), 'headgate-systemd-'));
  root = join(folder, 'root');
  const [deb = ''] = madePackages(folder, 'deb');
  makeDebianRoot(root, PACKAGES);
  // Another one, where something listened on the usual port of the machine on which the package was installed.
  for (const path of globSync('etc/postgresql/*/main/postgresql.conf', { cwd: root }))
    execFileSync('sed', ['-i', 's/^port = .*/port = 5432/', join(root, path)]);
  execFileSync('cp', [deb, join(root, 'root')]);
  machine = await startSystemdMachine(root);
  shell = machine.openShell();
  await shell.type(`cd /root; exec 2>errors.txt; trap 'FAILED="$BASH_COMMAND"' ERR`);
}, 600_000);
afterAll(async () => {
  await shell?.close();
  await machine?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const errors = (): string => readFileSync(join(root, 'root/errors.txt'), 'utf8');

/** What a script prints; it fails with all that was said. Its programs do not read what is typed behind it. */
async function typed(script: string): Promise<string> {
  writeFileSync(join(root, 'root/step.sh'), script);
  const printed = Buffer.from(await shell.type('FAILED=; . ./step.sh < /dev/null'), 'latin1').toString();
  const failed = await shell.type('printf %s "$FAILED"');
  if (failed !== '') {
    const journal = await shell.type(`journalctl --unit='headgate*' --output=cat --no-pager --lines=20`);
    throw new Error(`"${failed}" failed:\n${printed}\n${errors()}\n${journal}`);
  }
  return printed;
}

it('the page goes from the package to an alert', { timeout: ALERT_MS }, async () => {
  for (const { line, script, expected } of stepsOf(readFileSync(PAGE, 'utf8'))) {
    const printed = await typed(script);
    expect(
      expected === undefined || isPrinted(expected, printed),
      `line ${line}: expected\n${expected}\nbut it printed\n${printed}\n${errors()}`,
    ).toBe(true);
  }
});

it('the journal has no secret of the gateway', async () => {
  const journal = await typed('journalctl --unit=headgate --output=cat --no-pager | grep -v circuit_open');
  expect(journal).toContain('The first admin token is in /var/lib/headgate/data/admin-token');
  expect(journal).toContain('headgate is ready');
  const token = (await typed('cat /var/lib/headgate/data/admin-token')).trim();
  expect(token).toMatch(/^hga_/);
  expect(journal).not.toContain(token);
  expect(journal).not.toContain((await typed('printf %s "$DB_PASSWORD"')).trim());
});

it('the journal has a line for each request, however many there are', async () => {
  // By default it takes at most 40,000 of a unit in half a minute, and fewer where the disk is small.
  writeFileSync(
    join(root, 'root/many.js'),
    `const { request, Agent } = require('node:https');
const agent = new Agent({ keepAlive: true, maxSockets: 16, rejectUnauthorized: false });
let left = ${MANY_REQUESTS};
const ask = () => {
  if (left-- <= 0) return;
  const answered = (response) => response.resume().on('end', ask);
  request({ host: '127.0.0.1', port: 443, path: '/many-requests', agent }, answered).end();
};
for (let count = 0; count < 16; count++) ask();
`,
  );
  const lines = await typed(`/usr/lib/headgate/node/bin/node many.js
count() { journalctl --unit=headgate --output=cat --no-pager | grep -c '"path":"/many-requests"'; }
for try in $(seq 50); do
  [ "$(count)" -ge ${MANY_REQUESTS} ] && break
  sleep 0.2
done
count`);
  expect(lines).toBe(`${MANY_REQUESTS}\n`);
});

it('the unit reads its files again, and starts again when its process is killed', async () => {
  // A moment after the signal it is `reloading`, until the gateway says that it has read them.
  const states = await typed(`systemctl reload headgate
sleep 1
for try in $(seq 100); do
  [ "$(systemctl is-active headgate || true)" = active ] && break
  sleep 0.2
done
systemctl is-active headgate
journalctl --unit=headgate --output=cat --no-pager | grep -c 'Reloaded headgate.service'`);
  expect(states).toBe('active\n1\n');
  await typed(`systemctl kill --kill-whom=main --signal=KILL headgate
for try in $(seq 100); do
  [ "$(systemctl show headgate --property=NRestarts --value)" = 1 ] && [ "$(systemctl is-active headgate || true)" = active ] && break
  sleep 0.2
done
ask > /dev/null`);
  expect(await typed('systemctl show headgate --property=NRestarts --value')).toBe('1\n');
});

it('a start that fails is tried again until its cause is gone', async () => {
  const restarts = await typed(`systemctl stop headgate
python3 -m http.server 9091 --bind 127.0.0.1 > /dev/null &
OTHER=$!
sleep 1
systemctl start headgate 2>/dev/null || true
for try in $(seq 150); do
  [ "$(systemctl show headgate --property=NRestarts --value)" -ge 7 ] && break
  sleep 0.2
done
systemctl show headgate --property=NRestarts --value
kill $OTHER
for try in $(seq 100); do
  [ "$(systemctl is-active headgate || true)" = active ] && break
  sleep 0.2
done`);
  expect(Number(restarts)).toBeGreaterThanOrEqual(7);
  expect(await typed('systemctl is-active headgate')).toBe('active\n');
});

it('keeps users outside of the group of operators from its socket', async () => {
  const told = await typed(`useradd eve
cp /home/ada/token /tmp/token; chmod 644 /tmp/token
su eve -c 'headgate apps list --server unix:/run/headgate/management.sock --token-file /tmp/token' 2>&1 || true`);
  expect(told).toContain('this user may not connect');
});

it('an upgrade and a downgrade of the package restart the unit, which keeps what it serves', async () => {
  const version = `journalctl --unit=headgate --output=cat --no-pager | grep 'headgate is ready' | tail -1 | grep -o '"version":"[^"]*"'`;
  const apps = `su - ada -c 'headgate apps list' | grep --count '^demo '`;
  const begins = `for try in $(seq 150); do
  ${version} | grep -q "$WANTED" && [ "$(systemctl is-active headgate || true)" = active ] && break
  sleep 0.2
done
${version}
${apps}
ask > /dev/null && echo served`;
  const before = await typed(version);
  const after = await typed(`dpkg-deb --raw-extract headgate_*.deb newer
sed -i 's/^Version: .*/Version: 99.0.0/' newer/DEBIAN/control
sed -i 's/"version": "[^"]*"/"version": "99.0.0"/' newer/usr/lib/headgate/package.json
dpkg-deb -Znone --build newer newer.deb > /dev/null
apt-get install -y -qq ./newer.deb > /dev/null
WANTED=99.0.0
${begins}`);
  expect(after).toBe('"version":"99.0.0"\n1\nserved\n');
  const back = await typed(`apt-get install -y -qq --allow-downgrades ./headgate_*.deb > /dev/null
WANTED=${before.trim().slice('"version":"'.length, -1)}
${begins}`);
  expect(back).toBe(`${before}1\nserved\n`);
});

it('two instances take turns without a refused connection', async () => {
  const failures = await typed(`systemctl disable headgate 2>/dev/null
systemctl enable --now headgate@a 2>/dev/null
for try in $(seq 100); do [ "$(systemctl is-active headgate || true)" = inactive ] && break; sleep 0.2; done
systemctl is-active headgate || true
(while [ ! -e stop ]; do ask > /dev/null 2>&1 || echo refused; done) > refused.txt &
ASKING=$!
systemctl start headgate@b
for try in $(seq 100); do [ "$(systemctl is-active headgate@a || true)" = inactive ] && break; sleep 0.2; done
systemctl is-active headgate@b
touch stop
wait $ASKING
wc -l < refused.txt`);
  expect(failures).toBe('inactive\nactive\n0\n');
  const socket = await typed(`stat -c '%U %G %a' /run/headgate/management.sock
su - ada -c 'headgate apps list' | grep --count '^demo '`);
  expect(socket).toBe('headgate headgate-operators 660\n1\n');
});

it('is gone after a purge, with the instances that run', async () => {
  await typed(`apt-get purge -y -qq headgate > /dev/null
test ! -e /var/lib/headgate
test ! -e /etc/headgate
test ! -e /run/headgate
test ! -e /usr/share/headgate`);
  const left = await typed(`pgrep --full --list-full headgate || true
find /etc/systemd/system -name 'headgate*'
systemctl list-units --all --plain --no-legend 'headgate*'`);
  expect(left).toBe('');
});
