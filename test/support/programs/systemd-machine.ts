/**
 * A machine for tests: systemd as the first process of namespaces of their own (processes, mounts, network, names) in a
 * root folder that has it, with a group of control groups. Needs root and a mount of cgroup2. It has no network but its
 * own loopback interface.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { run } from './programs.ts';
import { openShell, type Shell } from './shell.ts';

export interface SystemdMachine {
  /** A bash of its root user. */
  openShell(): Shell;
  /** Ends everything that runs in it. */
  stop(): Promise<void>;
}

const BOOT_TIMEOUT_MS = 60_000;
const END_TIMEOUT_MS = 10_000;
const POLL_MS = 200;
const PATH = '/usr/sbin:/usr/bin:/sbin:/bin';
const BOOT = `
mount --make-rprivate / && mount --bind "$0" "$0" && cd "$0"
ip link set lo up
hostname machine
mount -t proc proc proc
mount -t sysfs -o ro sysfs sys
mount -t cgroup2 cgroup2 sys/fs/cgroup
mount -t tmpfs -o mode=755 tmpfs dev
for device in null zero full random urandom tty; do touch dev/$device; mount --bind /dev/$device dev/$device; done
mkdir dev/pts dev/shm
mount -t devpts -o newinstance,ptmxmode=0666,mode=620 devpts dev/pts
ln -s pts/ptmx dev/ptmx
ln -s /proc/self/fd dev/fd
mount -t tmpfs tmpfs dev/shm
mount -t tmpfs -o mode=755 tmpfs run
mkdir -p old
pivot_root . old
exec env -i container=test PATH=${PATH} chroot . sh -c 'umount -l /old; exec /lib/systemd/systemd --unit=multi-user.target'
`;
const NAMESPACES = ['--pid', '--mount', '--uts', '--ipc', '--net', '--cgroup'];

/** @param root with systemd in it */
export async function startSystemdMachine(root: string): Promise<SystemdMachine> {
  const group = join(controlGroups(), `headgate-test-${process.pid}`);
  mkdirSync(group);
  // Only what is started in the group sees it as the root of all groups. It ends with this process, however that ends.
  const enter = 'echo $$ > "$1/cgroup.procs" && shift && exec setpriv --pdeathsig KILL unshare "$@"';
  const namespaces = [...NAMESPACES, '--fork', '--kill-child'];
  const outer = spawn('sh', ['-ec', enter, 'sh', group, ...namespaces, 'sh', '-ec', BOOT, root], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let said = '';
  for (const stream of [outer.stdout, outer.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (said += text));
  const ended = new Promise<void>((done) => outer.once('exit', () => done()));
  const stop = async (): Promise<void> => {
    outer.kill('SIGKILL');
    await ended;
    await removeGroup(group);
  };
  try {
    const first = await untilBooted(outer, () => said);
    return { openShell: () => openShell('/', {}, [...entering(first), 'bash', '-s']), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Where cgroup2 is mounted. */
function controlGroups(): string {
  const [, path] = /^\S+ (\S+) cgroup2 /m.exec(readFileSync('/proc/mounts', 'utf8')) ?? [];
  if (path === undefined) throw new Error('systemd needs control groups, and cgroup2 is not mounted');
  return path;
}

function entering(pid: number): [string, ...string[]] {
  const variables = [`PATH=${PATH}`, 'HOME=/root', 'LANG=C.UTF-8', 'DEBIAN_FRONTEND=noninteractive'];
  return ['nsenter', '--target', String(pid), ...NAMESPACES, '--root', '--wd', 'env', '-i', ...variables];
}

/** @returns the process id of systemd */
async function untilBooted(outer: ChildProcess, said: () => string): Promise<number> {
  for (let waitedMs = 0; waitedMs < BOOT_TIMEOUT_MS && outer.exitCode === null; waitedMs += POLL_MS) {
    await delay(POLL_MS);
    const children = await run('pgrep', ['--parent', String(outer.pid), '--exact', 'systemd']);
    const first = Number(children.stdout.trim());
    if (first === 0) continue;
    const [program, ...args] = entering(first);
    const { stdout } = await run(program, [...args, 'systemctl', 'is-system-running']);
    // `degraded`: some unit could not be started, as the ones for hardware.
    if (/^(?:running|degraded)$/m.test(stdout)) return first;
  }
  throw new Error(`systemd has not booted:\n${said()}`);
}

/** With all that are below it, once what ran in them has ended. */
async function removeGroup(group: string): Promise<void> {
  for (let waitedMs = 0; waitedMs < END_TIMEOUT_MS && existsSync(group); waitedMs += POLL_MS) {
    await run('find', [group, '-depth', '-type', 'd', '-exec', 'rmdir', '{}', ';']);
    await delay(POLL_MS);
  }
}
