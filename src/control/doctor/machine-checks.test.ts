import { describe, expect, it } from 'vitest';
import { readSettings } from '../../settings/settings.ts';
import { memoryProblem } from '../../settings/memory-shares.ts';
import { machineChecks } from './machine-checks.ts';

const MIB = 1_048_576;

const result = readSettings({
  GATEWAY_WORKERS: '2',
  GATEWAY_WORKER_SPARE: 'true',
  GATEWAY_PROXY__MAX_CONNECTIONS: '1000',
});
const settings = 'settings' in result ? result.settings : undefined;

/** A machine that lacks nothing, but for the files given. */
function found(files: Readonly<Record<string, string>> = {}): string[] {
  const machine: Readonly<Record<string, string>> = {
    '/proc/self/limits': 'Max open files            1048576              1048576              files',
    '/proc/self/cgroup': '0::/system.slice/headgate.service\n',
    '/proc/sys/vm/overcommit_memory': '0\n',
    '/proc/sys/net/core/somaxconn': '4096\n',
    '/proc/sys/net/ipv4/ip_local_port_range': '32768\t60999\n',
    ...files,
  };
  return machineChecks(settings, (path) => machine[path]).map(
    ({ check, state, detail }) => `${check} ${state}: ${detail}`,
  );
}
const GROUP = '/sys/fs/cgroup/system.slice';
const limitOf = (descriptors: string): string => `Max open files            ${descriptors}   4096   files`;

describe('the limits of a machine', () => {
  it('are all right where nothing is short', () => {
    expect(found().filter((line) => !/^\w+ ok: /.test(line))).toEqual([]);
  });

  it('are not called all right where /proc is hidden', () => {
    const hidden = machineChecks(settings, () => undefined);
    expect(hidden.map(({ check, state, detail }) => `${check} ${state}: ${detail}`)).toEqual([
      'descriptors warning: cannot be checked: /proc/self/limits cannot be read',
      'memory warning: cannot be checked: /proc/self/cgroup cannot be read',
      'kernel warning: cannot be checked: /proc/sys/net/core/somaxconn cannot be read',
    ]);
  });

  it('find too little memory exactly where a start warns of it', () => {
    for (let limit = 64 * MIB; limit < 512 * MIB; limit += 8 * MIB) {
      const [memory = ''] = found({ [`${GROUP}/memory.max`]: `${limit}\n` }).filter((line) =>
        line.startsWith('memory '),
      );
      expect(memory.startsWith('memory warning: ')).toBe(memoryProblem(2, limit) !== undefined);
    }
  });

  it.each([
    [
      'too few descriptors',
      { '/proc/self/limits': limitOf('64') },
      'descriptors error: the process may have 64 ',
    ],
    // Two workers, 1,000 connections with a backend each, and the gateway's own.
    ['fewer than connections', { '/proc/self/limits': limitOf('4127') }, 'descriptors warning: '],
    ['enough', { '/proc/self/limits': limitOf('4256') }, 'descriptors ok: 4,256'],
    ['no limit', { '/proc/self/limits': limitOf('unlimited') }, 'descriptors ok: not limited'],
    [
      'little memory of the unit',
      { [`${GROUP}/headgate.service/memory.max`]: '100000000\n' },
      'memory warning: the memory limit of the container or unit is 95 MiB',
    ],
    [
      'little memory of its slice',
      { [`${GROUP}/memory.high`]: '200000000\n' },
      'memory warning: the memory limit of the container or unit is 190 MiB',
    ],
    ['enough memory', { [`${GROUP}/memory.max`]: '1073741824\n' }, 'memory ok: limit 1,024 MiB'],
    ['no memory limit', { [`${GROUP}/memory.max`]: 'max\n' }, 'memory ok: no limit'],
    [
      'none of version 1',
      { '/sys/fs/cgroup/memory/memory.limit_in_bytes': '9223372036854771712\n' },
      'memory ok: no limit',
    ],
    [
      'strict overcommit',
      { '/proc/sys/vm/overcommit_memory': '2\n' },
      'memory warning: vm.overcommit_memory is 2',
    ],
    [
      'a short queue',
      { '/proc/sys/net/core/somaxconn': '128\n' },
      'kernel warning: net.core.somaxconn is 128',
    ],
    [
      'few local ports',
      { '/proc/sys/net/ipv4/ip_local_port_range': '60000 60999\n' },
      'kernel warning: net.ipv4.ip_local_port_range has 1,000 ports',
    ],
  ])('say what is wrong: %s', (_name, files, expected) => {
    expect(found(files as Record<string, string>).join('\n')).toContain(expected);
  });
});
