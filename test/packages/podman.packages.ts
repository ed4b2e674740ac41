/**
 * The OCI image under Podman with runc, as docs/how-to/install.md says: with a read-only root, a user of its own, its
 * health check, and a stop that lets a request end. Needs root, and Podman or apt. Its containers use the network of
 * the machine and have the limits of this process, which a sandbox may not raise.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { freePort } from '../support/backends/origin-process.ts';
import { startOrigin } from '../support/backends/origin.ts';
import { startGateway } from '../support/gateway.ts';
import { until } from '../support/measure/until.ts';
import { expectWorkingGateway } from '../support/programs/installed-gateway.ts';
import { installedProgram } from '../support/programs/install-program.ts';
import { madePackages } from '../support/programs/made-package.ts';
import { run } from '../support/programs/programs.ts';
import { createService, request } from '../support/traffic.ts';

const DATABASE = 'sqlite:///var/lib/headgate/headgate.db';
const NODE = [
  '/opt/headgate/node/bin/node',
  '--disable-warning=ExperimentalWarning',
  '--single-threaded-gc',
  '--no-memory-reducer',
];
const HEALTH = [...NODE, '/opt/headgate/program/main.js', 'health', '--timeout', '3'];
const USER = 10_001;
const SLOW_MS = 2_000;
const RUN = 'run --rm --name headgate --read-only --tmpfs /tmp --network host --env GATEWAY_*';

let folder = '';
let podman: string[] = [];
let image = '';

beforeAll(() => {
  if (process.getuid?.() !== 0) throw new Error('Podman has storage of its own here: run this as root');
  folder = mkdtempSync(join(tmpdir(), 'headgate-podman-'));
  for (const path of ['storage', 'run', 'packages']) mkdirSync(join(folder, path));
  installedProgram('runc', 'runc');
  const own = `--root ${folder}/storage --runroot ${folder}/run --storage-driver vfs --events-backend file`;
  const options = `${own} --cgroup-manager cgroupfs --runtime runc`.split(' ');
  podman = [installedProgram('podman', 'podman'), ...options];
  const [archive = ''] = madePackages(join(folder, 'packages'), 'image');
  const said = tell('load', '--quiet', '--input', archive);
  [, image = ''] = /^Loaded image: (\S+)$/m.exec(said) ?? [];
  if (image === '') throw new Error(`Podman does not say what it has loaded: ${said}`);
});
afterAll(() => {
  if (podman.length > 0) tell('rm', '--all', '--force');
  rmSync(folder, { recursive: true, force: true });
});

function tell(...args: readonly string[]): string {
  const [program = '', ...own] = podman;
  return execFileSync(program, [...own, ...args], { encoding: 'utf8', stdio: 'pipe' });
}

/** Of this process, since a sandbox may not give more. */
function limits(): string[] {
  const text = readFileSync('/proc/self/limits', 'utf8');
  const hard = (name: string): string =>
    new RegExp(`^Max ${name}\\s+\\S+\\s+(\\d+)`, 'm').exec(text)?.[1] ?? '-1';
  // Below what there is: some of it is in use.
  const processes = Math.min(4_096, Number(hard('processes')));
  const files = hard('open files');
  return ['--ulimit', `nofile=${files}:${files}`, '--ulimit', `nproc=${processes}:${processes}`];
}

it('runs with a read-only root as its own user, is healthy, and ends when its requests have', async () => {
  const origin = await startOrigin((_seen, response) => setTimeout(() => response.end('late'), SLOW_MS));
  const ports = { management: await freePort(), proxy: await freePort() };
  const gateway = await startGateway({
    command: [...podman, ...RUN.split(' '), '--volume', 'headgate:/var/lib/headgate', ...limits(), image],
    ports,
    env: { GATEWAY_DATABASE_URL: DATABASE, GATEWAY_SERVER__SWAGGER_ENABLED: 'true' },
  });
  const inside = async (...command: readonly string[]): Promise<number | null> => {
    const [program = '', ...own] = podman;
    return (await run(program, [...own, 'exec', 'headgate', ...command])).code;
  };
  const write = (path: string): string[] => [
    ...NODE,
    '-e',
    `require('node:fs').writeFileSync('${path}', '')`,
  ];
  let slow: ReturnType<typeof request> | undefined;
  try {
    await expectWorkingGateway(gateway);
    const pid = tell('inspect', 'headgate', '--format', '{{.State.Pid}}').trim();
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    expect(status).toMatch(new RegExp(`^Uid:\\s+${USER}\\s`, 'm'));
    expect(status).toMatch(/^CapEff:\s+0+$/m);
    expect(await inside(...write('/opt/headgate/x'))).not.toBe(0);
    expect(await inside(...write('/var/lib/headgate/x'))).toBe(0);
    expect(await inside(...HEALTH, '--server', gateway.base)).toBe(0);
    expect(await inside(...HEALTH, '--server', `http://127.0.0.1:${await freePort()}`)).not.toBe(0);
    await createService(gateway, 'slow', origin.port);
    slow = request(gateway, '/slow/v1/x');
    await until(() => origin.seen.length === 1);
  } finally {
    expect(await gateway.stop()).toBe(0);
  }
  expect(await slow).toMatchObject({ status: 200, body: 'late' });
  // What it wrote is in the volume, for the next one.
  expect(tell('volume', 'inspect', 'headgate', '--format', '{{.Name}}').trim()).toBe('headgate');
  await origin.close();
});
