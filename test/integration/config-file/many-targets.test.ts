/**
 * Many targets in configuration files: the bound of one revision is told at its place, and thousands in all are served.
 */
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import {
  configYaml,
  startFileRig,
  statusOf,
  untilState,
  untilStatus,
  type FileRig,
} from '../../support/config-file.ts';
import type { TestGateway } from '../../support/gateway.ts';

let rig: FileRig;
let gateway: TestGateway;
beforeAll(async () => {
  rig = await startFileRig();
  rig.write('many.yaml', configYaml({ port: rig.origin.port }));
  gateway = await rig.start('many.yaml', { env: { GATEWAY_WORKERS: '2' } });
});
afterAll(() => rig.end());

/** The apps `a0`, `a1` and so on, with so many targets each; only the first one has a weight. */
function yamlOf(apps: number, targets: number): string {
  const lists = Array.from({ length: apps }, (_none, app) => {
    const list = Array.from({ length: targets }, (_target, index) =>
      index === 0
        ? `{ host: 127.0.0.1, port: ${rig.origin.port} }`
        : `{ host: 10.${app}.${index >> 8}.${index & 255}, port: 80, weight: 0 }`,
    );
    return `  a${app}:
    gateway_path: /a${app}
    versions:
      v1:
        revisions:
          r1:
            backend_scheme: http
            is_current: true
            targets:
${list.map((target) => `              - ${target}\n`).join('')}`;
  });
  return `apps:\n${lists.join('')}`;
}

it('refuses ten thousand targets of one revision with the bound, and serves what was there before', async () => {
  rig.write('many.yaml', yamlOf(1, 10_000));
  const { problems } = await untilState(gateway, 'refused');
  expect(problems).toHaveLength(1);
  expect(JSON.stringify(problems)).toMatch(/many\.yaml.*targets.*256/);
  expect(await statusOf(gateway, '/a/v1/x')).toBe(200);
});

it('serves ten thousand targets of forty revisions, counts them, and lets them go', async () => {
  rig.write('many.yaml', yamlOf(40, 256));
  await untilStatus(gateway, '/a39/v1/x', 200);
  await untilState(gateway, 'current');
  const [{ state }] = await gateway.must('GET', '/state');
  expect(state.targets).toEqual({ in_service: 40 * 256, ejected: 0, unhealthy: 0 });
  for (const app of [0, 20, 39]) expect(await statusOf(gateway, `/a${app}/v1/x`)).toBe(200);
  const { body: metrics } = await gateway.api('GET', '//metrics');
  const lines = String(metrics)
    .split('\n')
    .filter((line) => line.startsWith('headgate_target_in_service{'));
  expect(lines.length).toBeLessThanOrEqual(5_000);
  rig.write('many.yaml', configYaml({ port: rig.origin.port }));
  await untilStatus(gateway, '/a39/v1/x', 404);
  // Each worker lets them go when it has the new configuration.
  await vi.waitFor(
    async () => {
      const [after] = await gateway.must('GET', '/state');
      expect(after.state.targets).toEqual({ in_service: 0, ejected: 0, unhealthy: 0 });
    },
    { timeout: 10_000, interval: 100 },
  );
});
